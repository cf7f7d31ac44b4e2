# SPDX-License-Identifier: Apache-2.0
"""The ways that scripts/pages/release_check.py goes, in a made-up project whose wheel is small, and the faults that it
must find: test_release_check.py SCRIPTS."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop())
RUN = """#!/bin/sh
case "$1" in
  demo) test -z "$ANTIPHASE_WHEEL" || exit 8; echo "Done." ;;
  wheel) test ! -e fails || { echo "no compiler"; exit 3; }
         mkdir -p build/wheels && python3 make_wheel.py && touch build/wheels/antiphase-0.1.0.tar.gz ;;
  *) exit 9 ;;
esac
"""
MAKE_WHEEL = """
import zipfile
about = "antiphase-0.1.0.dist-info/"
with zipfile.ZipFile("build/wheels/antiphase-0.1.0-py3-none-any.whl", "w") as wheel:
    for name, text in {
        "antiphase/__init__.py": "",
        "antiphase/__main__.py": open("tool.py").read(),
        about + "METADATA": "Metadata-Version: 2.1\\nName: antiphase\\nVersion: 0.1.0\\n",
        about + "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        about + "entry_points.txt": "[console_scripts]\\nantiphase = antiphase.__main__:main\\n",
        about + "RECORD": "",
    }.items():
        wheel.writestr(name, text)
"""
TOOL = """
import pathlib, sys
def main():
    words = sys.argv[1:]
    if words[-1:] == ["--help"]:
        known = {("run",): "antiphase run [--profile]", ("bench", "overlap"): "antiphase bench overlap"}
        print("Usage: " + known.get(tuple(words[:-1]), "antiphase"))
    elif words[:1] == ["examples"]:
        pathlib.Path("examples").mkdir()
        pathlib.Path("examples/sum.cu").touch()
    elif words[:1] == ["check"]:
        if not pathlib.Path(words[1]).exists():
            sys.exit(2)
        print("found in " + words[1])
        sys.exit(0 if words[1] == "my.cu" else 5)
    elif words[:1] == ["hang"]:
        input()
    elif words[:1] not in (["--version"], ["info"], ["demo"], ["run"]):
        sys.exit(2)
if __name__ == "__main__":
    main()
"""
README = """# Made up

In a clone:

```sh
./run demo     # shown first
./run wheel
```

With the wheel:

```sh
antiphase examples \\
  all                # copies
antiphase check my.cu
pip install build/wheels/antiphase-*.whl
```

Commands `antiphase run`, `antiphase run --profile` and `antiphase bench overlap`; `antiphase examples sum.cu` copies.

In a clone, `antiphase check programs/other.cu` finds, as `antiphase check examples/sum.cu` does, with `sudo apt install cc`:

<!-- run exit 5: antiphase check programs/other.cu -->
```
found in programs/other.cu
```

<!-- run exit 5 lines 1-1: antiphase check examples/sum.cu -->
```
found in examples/sum.cu
```
"""


class Ways(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.root, cls.folder = pathlib.Path(cls.scratch.name, "project"), pathlib.Path(
            cls.scratch.name, "check"
        )
        files = {
            "run": RUN,
            "make_wheel.py": MAKE_WHEEL,
            "tool.py": TOOL,
            "README.md": README,
            "programs/other.cu": "A.\n",
        }
        files["examples/sum.cu"] = ""
        for name, text in files.items():
            (cls.root / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.root / name).write_text(text)
        (cls.root / "run").chmod(0o755)
        names = ("release_check", "shown_commands", "check_docs", "page_commands")
        for name in (f"pages/{name}.py" for name in names):
            (cls.root / "scripts" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SCRIPTS / name, cls.root / "scripts" / name)
        (cls.root / ".gitignore").write_text("build\n__pycache__\n")
        for words in ("init --quiet", "add .", "-c user.name=A -c user.email=a commit --quiet -m A"):
            subprocess.run(["git", "-C", cls.root, *words.split()], check=True)
        apt = pathlib.Path(cls.scratch.name, "bin/apt-get")
        apt.parent.mkdir()
        apt.write_text('#!/bin/sh\ntest "$*" = "install --simulate --quiet cc"\n')
        apt.chmod(0o755)
        cls.environment = {
            **os.environ,
            "PATH": f"{apt.parent}:{os.environ['PATH']}",
            "ANTIPHASE_WHEEL": "none",
        }
        cls.first = cls.check(cls, "--folder", cls.folder)

    def check(self, *words, script=None):
        done = subprocess.run(
            [sys.executable, script or self.root / "scripts/pages/release_check.py", *words],
            text=True,
            capture_output=True,
            timeout=600,
            env=self.environment,
        )
        return done.returncode, done.stdout, done.stderr

    def test_all_is_fine(self):
        code, said, errors = self.first
        self.assertEqual((code, errors), (0, ""), said)
        for line in (
            r"(?m)^clone +ok +\d+ s  [0-9a-f]{12}$",
            r"(?m)^demo +ok +\d+ s  built$",
            r"(?m)^wheel +ok +\d+ s  antiphase-0\.1\.0-py3-none-any\.whl$",
            r"(?m)^install +ok +\d+ s  antiphase demo demo$",
            r"(?m)^readme +ok +\d+ s  ./run wheel  \(step wheel\)$",
            r"(?m)^readme +ok +\d+ s  antiphase examples all$",
            r"(?m)^readme +ok +\d+ s  antiphase run --profile  \(a name\)$",
            r"(?m)^pages +ok +\d+ s  2 commands of pages: all print what the pages show$",
            r"(?m)^lines +ok +\d+ s  pip install build/wheels/antiphase-\*\.whl, README\.md$",
            r"(?m)^lines +ok +\d+ s  sudo apt install cc, README\.md  \(without installing\)$",
            r"(?m)^all fine; not asked for: build, source, test$",
        ):
            self.assertRegex(said, line)

    def readme(self, new, old="antiphase check my.cu"):
        """What the step says of another README in the clone."""
        page = self.folder / "clone/README.md"
        page.write_text(README.replace(old, new))
        self.addCleanup(page.write_text, README)
        code, said, _ = self.check("--only", "readme", "--folder", self.folder)
        self.assertIn("not asked for: clone, demo, wheel", said)
        return code, said

    def test_commands_that_do_not_work(self):
        for command, why in (
            ("antiphase check there.cu", "exit status 2, expected 0"),
            ("antiphase check examples/../my.cu", "exit status 5, expected 0"),
            ("antiphase nosuch", "exit status 2, expected 0"),
            ("antiphase hang", "EOFError"),  # asks for input
        ):
            code, said = self.readme(command)
            self.assertEqual(code, 1, said)
            self.assertRegex(said, rf"(?m)^readme +FAILED +\d+ s  {command}: ")
            self.assertIn(why, said)
            self.assertRegex(said, r"(?m)^readme +FAILED +\d+ s  1 of \d+ failed$")
            self.assertRegex(said, r"(?m)^FAILED: readme; logs are in ")

    def test_names_that_are_not_known(self):
        for name in ("antiphase bench nothing", "antiphase run --nothing"):
            code, said = self.readme(name, "antiphase bench overlap")
            self.assertEqual(code, 1, said)
            self.assertRegex(said, rf"{name}: the help does not know '(antiphase bench|--)")

    def test_where_commands_are_run(self):
        """A file of the project is not there for those who have the wheel alone."""
        code, said = self.readme("`antiphase check programs", "In a clone, `antiphase check programs")
        self.assertEqual(code, 1, said)
        self.assertIn("antiphase check programs/other.cu: exit status 2, expected 5", said)

    def test_a_wheel_that_is_not_built(self):
        clone = self.folder.parent / "other"
        shutil.copytree(self.root, clone)
        (clone / "fails").touch()
        for words in ("add .", "-c user.name=A -c user.email=a commit --quiet -m B"):
            subprocess.run(["git", "-C", clone, *words.split()], check=True)
        (clone / "README.md").write_text("changed")
        folder = self.folder.parent / "without"
        words = ["--only", "wheel,install,lines", "--folder", folder]
        code, said, errors = self.check(*words, script=clone / "scripts/pages/release_check.py")
        self.assertEqual((code, errors), (1, ""), said)
        self.assertIn(", without the uncommitted changes here", said)
        self.assertRegex(
            said, r"(?m)^wheel +FAILED +\d+ s  ./run wheel: exit status 3, expected 0\n +\| no compiler$"
        )
        self.assertEqual(said.count("./run wheel: exit"), 1, said)  # and is not built again for others
        self.assertRegex(said, r"(?m)^install +FAILED +\d+ s  needs the step wheel$")
        self.assertIn("FAILED: wheel, install, lines; logs are in", said)
        # A wheel of elsewhere in its place.
        (wheel,) = (self.folder / "clone/build/wheels").glob("*.whl")
        words = ["--only", "wheel,lines", "--wheel", wheel, "--folder", folder]
        code, said, _ = self.check(*words, script=clone / "scripts/pages/release_check.py")
        self.assertEqual(code, 0, said)
        self.assertIn(f"{wheel.name}, given", said)

    def test_usage(self):
        for words, why in (
            (["--only", "wheels"], "there is no step 'wheels': expected some of clone, demo"),
            (["--wheel", "nosuch.whl"], "--wheel nosuch.whl: expected the file of a wheel"),
            (["--folder", self.root], "expected an empty folder, or that of an earlier run"),
        ):
            code, said, errors = self.check(*words)
            self.assertEqual((code, said), (2, ""))
            self.assertIn(why, " ".join(errors.split()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
