# SPDX-License-Identifier: Apache-2.0
"""Faults that scripts/pages/page_commands.py must find in a page, and what it writes: test_page_commands.py SCRIPT."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv[1]
# stands for the tool: prints its arguments, and ends with the number that follows --end
TOOL = """#!/bin/sh
if [ "$1" = help ]; then
  case "$*" in
    help) echo commands;; "help a" | "help run") echo "--well --end, -o";; "help examples" | "help check") echo none;;
    *) exit 2;;
  esac
  exit
fi
echo "$@"; echo "byte 7, 12 accesses"; echo note >&2
case "$1" in --end) exit "$2";; esac
"""


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()
        (self.root / "data").mkdir()
        (self.root / "data/words.txt").write_text("one\n")
        self.tool = self.root / "antiphase"
        self.tool.write_text(TOOL)
        self.tool.chmod(0o755)
        self.page = self.root / "docs/page.md"

    def run_on(self, text, *options):
        self.page.write_text(text)
        done = subprocess.run(
            [sys.executable, SCRIPT, *options, "--root", str(self.root), str(self.tool)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def fine(self, text):
        code, said = self.run_on(text)
        self.assertEqual(code, 0, said)
        self.assertIn("1 commands of pages", said)

    def bad(self, text, *words):
        code, said = self.run_on(text)
        self.assertEqual(code, 1, said)
        for word in words:
            self.assertIn(word, said)

    def test_what_agrees(self):
        self.fine("<!-- run: antiphase a b -->\n```\na b\nbyte 7, 12 accesses\n```\n")
        self.fine("<!-- run: antiphase a b -->\n```\na b\nbyte 9, 13 accesses\n```\n")  # which vary
        self.fine("<!-- run lines 1-1: antiphase a b -->\n```text\na b\n```\n")
        self.fine("<!-- run lines 2-: antiphase a b -->\n```text\nbyte 7, 12 accesses\n```\n")
        self.fine("<!-- run exit 5 lines 1-1: antiphase --end 5 -->\n```\n--end 5\n```\n")
        self.fine("<!-- run: cat data/words.txt -->\n```\none\n```\n")
        self.fine("<!-- run -->\n```sh\nantiphase a > new.txt\ntest -s new.txt\n```\n")
        self.assertFalse((self.root / "new.txt").exists())

    def test_what_differs(self):
        self.bad(
            "<!-- run: antiphase a b -->\n```\na c\nbyte 7, 12 accesses\n```\n", "page.md", "antiphase a b"
        )
        self.bad("<!-- run: antiphase a b -->\n```\na b\n```\n", "not what this prints")
        self.bad("<!-- run: antiphase --end 5 -->\n```\n--end 5\n```\n", "exit status 5, expected 0")
        self.bad("<!-- run exit 5: antiphase a -->\n```\na\n```\n", "exit status 0, expected 5")
        self.bad("<!-- run -->\n```sh\nantiphase --end 3\nantiphase b\n```\n", "exit status 3")

    def test_marks_that_are_none(self):
        self.bad("<!-- run: antiphase a -->\n\n```\na\n```\n", "no code block after it")
        self.bad("<!-- run exits 5: antiphase a -->\n```\na\n```\n", "no code block after it")
        self.bad("<!-- run -->\n```\na\n```\n", "not sh")
        self.bad("Nothing is run here.\n", "no page has a command")

    def test_commands_that_are_shown(self):
        """Those of a user of the wheel, who has the examples that the page has copied, and no other file of the tree."""
        for name in ("examples/plain/a.cu", "tests/b.cu", "examples/c.py"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text("")
        copied = "`antiphase examples plain` copies it.\n"
        run = "<!-- run lines 1-1: antiphase a -->\n```\na\n```\n"
        for shown in (
            "`antiphase check my.cu`, `antiphase check src/b.cu other.cu`",
            f"{copied}`antiphase check examples/plain/a.cu`",
            "```sh\nantiphase examples all\nantiphase check examples/plain/a.cu && antiphase check examples/c.py\n```",
            "```sh\nantiphase examples c.py .   # here\nantiphase check c.py\n```",
            "```sh\nX=1 antiphase a -o examples/made.svg\nantiphase check examples/made.svg\n```",
            "`antiphase run --end 3 python3 program.py`, `antiphase run ./program --other`, `python -m antiphase run a.py`",
            "`./run test tests/b.cu`, `python3 tests/b.cu examples/c.py`, `build/antiphase check tests/b.cu`",
            "```sh\nantiphase a --well=2 -o b 'one; two | three' | cat\n```",
            "```cpp\nantiphase check tests/b.cu\n```",
            "`antiphase check my.cu -- --any`",
            "`antiphase examples c.py` copies it.",
            "In a clone, this\nis `antiphase check tests/b.cu`.",
            "In a clone:\n\n```sh\nantiphase check tests/b.cu\n```",
        ):
            self.fine(run + shown)
        for shown, word in (
            ("`antiphase check examples/plain/a.cu`", "no command before it copies examples/plain/a.cu"),
            (f"`antiphase check examples/plain/a.cu`\n\n{copied}", "examples/plain/a.cu"),
            (f"{copied}`antiphase check examples/c.py`", "examples/c.py"),
            (f"{copied}`antiphase check -D X\ntests/b.cu`", "tests/b.cu"),
            ("```sh\n./run wheel\nantiphase check tests/b.cu\n```", "tests/b.cu"),
            ("```sh\ncc a.cu\n```", "no command before it copies a.cu"),
            ("In a clone.\n\nThis is `antiphase check tests/b.cu`.", "tests/b.cu"),
            ("In a clone.\n\nThis:\n\n```sh\nantiphase check tests/b.cu\n```\n\nIn a clone.", "tests/b.cu"),
            ("`antiphase examples none`", "there is no example none"),
            ("`antiphase run program.py`", "program.py is started by python3"),
            ("`antiphase run --well program.py 3`", "program.py is started by python3"),
            ("```python\nx()  # or `antiphase run program.py`\n```", "program.py is started by python3"),
            ("`antiphase bench x`", "there is no command bench"),
            ("`antiphase a --wel`", "antiphase a has no option --wel"),
            ("```sh\nls\nantiphase a b; antiphase a --ell\n```", "antiphase a has no option --ell"),
        ):
            self.bad(run + shown, "page.md: ", word)

    def test_writing(self):
        text = "A.\n<!-- run lines 1-1: antiphase a b -->\n```\nold\n```\nB.\n"
        code, said = self.run_on(text, "--write")
        self.assertEqual((code, self.page.read_text()), (0, text.replace("old", "a b")), said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
