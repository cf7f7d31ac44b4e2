#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_docs.py on made-up documents: finds every fault with its place, and nothing else."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop())


class CheckDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write(
            "README.md",
            "# A project\n\nSee [the use](docs/use.md), [a part](docs/use.md#a-part-of-it) and [the web](https://example.com/x.md).\n",
        )
        self.write(
            "docs/use.md",
            "# Use\n\nBack [to the start](../README.md#a-project), [down](#a-part-of-it).\n\n## A `part` of it\n\nEnd.\n",
        )
        self.write("core/a.cpp", "// See docs/use.md.\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, text):
        self.write("docs/use.md", (self.root / "docs/use.md").read_text() + text)

    def found(self, code=1):
        done = subprocess.run([sys.executable, SCRIPT, self.root], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_good_documents(self):
        self.assertEqual(self.found(0), ["2 documents: all links lead somewhere, all lines are short"])

    def test_a_link_to_no_file(self):
        self.add("\nA [link](design/none.md) there.\n")
        self.assertEqual(self.found(), ["docs/use.md:9: the link to design/none.md leads nowhere"])

    def test_a_link_broken_over_lines(self):
        self.add("\nA [link\nof two lines](none.md) there.\n")
        self.assertEqual(self.found(), ["docs/use.md:9: the link to none.md leads nowhere"])

    def test_a_link_in_a_table_and_behind_code_with_brackets(self):
        self.add("\n| `a[i]` | [x](none.md) | `f(x)[` [`y`](gone.md) |\n")
        self.assertEqual(
            self.found(),
            [
                "docs/use.md:9: the link to none.md leads nowhere",
                "docs/use.md:9: the link to gone.md leads nowhere",
            ],
        )

    def test_links_to_headings(self):
        self.add("\n[here](#use) [there](../README.md#no-project) [and](#part)\n")
        self.assertEqual(
            self.found(),
            [
                "docs/use.md:9: the link to ../README.md#no-project: there is no such heading",
                "docs/use.md:9: the link to #part: there is no such heading",
            ],
        )

    def test_headings_of_one_name_are_counted(self):
        self.add("\n## Twice\n\n## Twice\n\n[one](#twice) [two](#twice-1) [three](#twice-2)\n")
        self.assertEqual(self.found(), ["docs/use.md:13: the link to #twice-2: there is no such heading"])

    def test_headings_in_code_are_none(self):
        self.add("\n```sh\n# Not a heading\n```\n\n[x](#not-a-heading)\n")
        self.assertEqual(
            self.found(), ["docs/use.md:13: the link to #not-a-heading: there is no such heading"]
        )

    def test_pictures_are_links(self):
        self.add("\n![A picture](pictures/none.svg)\n")
        self.assertEqual(self.found(), ["docs/use.md:9: the link to pictures/none.svg leads nowhere"])

    def test_links_out_of_the_project(self):
        self.add("\n[out](../../)\n")
        self.assertEqual(self.found(), ["docs/use.md:9: the link to ../../ leads out of the project"])

    def test_what_looks_like_a_link_in_code_is_none(self):
        self.add("\n`[a](none.md)`\n\n```cpp\nmap[a](none.md);\n```\n")
        self.found(0)

    def test_long_lines(self):
        self.add("\n" + "x" * 120 + "\n" + "y" * 121 + "\n")
        self.assertEqual(self.found(), ["docs/use.md:10: 121 characters: expected at most 120"])

    def test_lines_that_may_be_long(self):
        word = "x" * 130
        self.add(
            f"\n| {word} |\n\n```\n{word}\n```\n\n![{word}](../README.md)\n\n<!-- rate gemm {word} -->1<!-- end -->\n\n"
            f"<!-- table speed -->\n{word}\n<!-- table end -->\n\n[short](https://example.com/{word})\n"
        )
        self.found(0)
        self.add(word + "\n")  # after the table
        self.assertEqual(self.found(), ["docs/use.md:24: 130 characters: expected at most 120"])

    def test_a_package_that_is_not_published_is_not_installed_by_name(self):
        self.add("\n```sh\npip install build/wheels/antiphase-*.whl\n```\n")
        self.write("docs/project/releasing.md", "# Releases\n\n`pip install antiphase`\n")
        self.found(0)
        self.add("\n```sh\npip install -U antiphase    # all of it\n```\n")
        self.assertEqual(
            self.found(),
            [
                "docs/use.md:14: 'pip install antiphase' finds no package before one is published: expected a wheel's file"
            ],
        )

    def test_paths_of_the_page_on_adding_exist(self):
        self.write(
            "docs/project/adding.md",
            "# Adding\n\nIn `core/a.cpp` of `core`, or `core/NAME.cpp`; `build/a` is made.\n",
        )
        self.found(0)
        self.write("docs/project/adding.md", "# Adding\n\nIn `core/a.cpp` and\n`core/b.cpp`, `core/none`.\n")
        expected = [
            "docs/project/adding.md:4: core/none does not exist",
            "docs/project/adding.md:4: core/b.cpp does not exist",
        ]
        self.assertEqual(self.found(), expected)
        self.write("docs/use.md", "# Use\n\nIn `core/none`.\n\n## A `part` of it\n")
        self.assertEqual(self.found(), expected)

    def test_functions_that_pages_name_exist(self):
        self.write("core/run.cpp", "void run() {}\nstruct ring { void go_on(); };\n")
        self.write(
            "docs/use.md",
            "# Use\n\nBy `run()` and `ring::go_on()`; code says `run(gone())`.\n\n## A `part` of it\n",
        )
        self.found(0)
        self.write("docs/use.md", "# Use\n\nBy `run()`, `ring::gone()` and `lost()`.\n\n## A `part` of it\n")
        expected = ["docs/use.md:3: ring::gone() is in no source", "docs/use.md:3: lost() is in no source"]
        self.assertEqual(self.found(), expected)

    def test_sources_name_documents_that_exist(self):
        self.write("library/gemm/b.cuh", "\n// Why: docs/design/none.md.\n")
        self.assertEqual(self.found(), ["library/gemm/b.cuh:2: docs/design/none.md does not exist"])

    def test_texts_name_files_that_exist(self):
        for name in ("scripts/style/style.py", "scripts/figures/on_gpu", "tests/test_a.py", "run"):
            self.write(name, "# Not of this tree: core/gone.cpp.\n" if "test_" in name else "")
        self.write(
            "tests/CMakeLists.txt",
            'f("${PROJECT_SOURCE_DIR}/scripts/style/style.py" "${X}/core/gone.cpp" "${PROJECT_SOURCE_DIR}/scripts/style/check_${X}.py")\n',
        )
        self.write(
            "core/b.cpp",
            "// core/a.cpp, core/NAME.cpp, core/no_such.cpp, bench/results/stale.txt, ../core/gone.h\n",
        )
        self.write(".github/ci.yml", "run: scripts/figures/on_gpu build\npaths: [scripts/**]\n")
        self.found(0)
        for name, text, missing in (
            ("core/b.cpp", "\n// In core/c/d.cuh.\n", "2: core/c/d.cuh"),
            ("tests/CMakeLists.txt", 'f("${PROJECT_SOURCE_DIR}/scripts/style.py")\n', "1: scripts/style.py"),
            ("scripts/pages/site", 'python3 "$root/scripts/pages.py"\n', "1: scripts/pages.py"),
            (".github/ci.yml", "run: scripts/on_gpu build\n", "1: scripts/on_gpu"),
            ("run", "scripts/style.py format\n", "1: scripts/style.py"),
            ("core/b.cpp", "// By scripts/lost.\n", "1: scripts/lost"),
            ("docs/use.md", "# Use\n\n## A `part` of it\n\nIn tests/a.py.\n", "5: tests/a.py"),
        ):
            there = self.root / name
            before = there.read_text() if there.exists() else ""
            self.write(name, text)
            self.assertEqual(self.found(), [f"{name}:{missing} does not exist"])
            self.write(name, before)

    def test_a_folder_without_documents_is_refused(self):
        (self.root / "README.md").unlink()
        (self.root / "docs/use.md").unlink()
        self.assertEqual(self.found(), [])


if __name__ == "__main__":
    unittest.main()
