#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_sources.py on small made-up trees: clean ones pass, each kind of fault is found: test_check_sources.py SCRIPT."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop())


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"core/list.hpp": "#include <vector>\n", **files}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True, text=True)


class Sources(unittest.TestCase):
    def accepted(self, files):
        result = run(files)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def refused(self, files, *words):
        result = run(files)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_a_compute_capability_is_looked_at_in_one_place(self):
        self.refused(
            {"library/gemm/choice/asks.cpp": "int f(const device_limits& d) { return d.major; }\n"},
            "library/gemm/choice/asks.cpp looks at a compute capability",
        )
        self.refused(
            {"tool/commands/trace/asks.cpp": "int f(const device_limits* d) { return d->minor; }\n"},
            "features.hpp",
        )
        self.accepted(
            {
                "library/gemm/choice/text.cpp": 'const char* text = "d.major";  // d.minor\n',
                "include/antiphase/executor/limits.hpp": "int m = d.major;\n",
            }
        )

    def test_policies_are_not_known_by_their_names(self):
        rows = {
            "library/gemm/fp64/candidate.cpp": 'candidate a{.name = "fp64"};\ncandidate b{.name = "fp64-short"};\n'
        }
        for text in (
            'if (name == "fp64") f();',
            'if ("fp64-short" != name) f();',
            'name.starts_with("fp64")',
        ):
            self.refused(
                rows | {"tool/commands/asks.cpp": text + "\n"}, "tool/commands/asks.cpp knows policies"
            )
        self.refused(rows | {"core/trace/lists.cpp": 'names = {"fp64", "fp64-short"};\n'}, "by their names")
        self.accepted(
            rows
            | {
                "tool/commands/asks.cpp": 'run({.policy = "fp64"});  // not == "fp64"\nif (a == "fp") f("fp64");\n',
                "checker/plain/translate/types.cpp": 'if (type == "fp64") f();\n',
            }
        )

    def test_python_modules_that_import_each_other(self):
        package = {
            "python/one/__init__.py": "from . import a, b\n",
            "python/one/a.py": "import os\n",
            "python/one/b.py": "from . import a\nfrom .a import f\n",
        }
        self.accepted(package)
        for line in ("from . import b", "from .b import f", "from one import b", "import one.b"):
            self.refused(
                {**package, "python/one/a.py": f"def f():\n    {line}\n"},
                "cycle of imports in python/one: a -> b -> a",
            )

    def test_a_root_without_sources_is_a_mistake_of_the_caller(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("holds no sources", result.stderr)


if __name__ == "__main__":
    unittest.main()
