#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goes all ways to what a release hands out, as a user would who knows only the pages.

    release_check.py [--only STEPS | --all] [--wheel FILE] [--folder FOLDER]

Steps, separated by commas in STEPS; those in brackets take an hour or more and are left out unless they are named, or
with --all:

    clone      this commit, into an empty folder; uncommitted changes are not in it
    demo       ./run demo in the clone, which builds it
    wheel      ./run wheel in the clone; --wheel FILE: that wheel instead
    install    the wheel in an empty environment: imports, the tool, its libraries
    readme     each command that README shows, by the wheel's tool: in an empty folder, or in the clone where the
               paragraph says so. A command without arguments is a name: its help must know it
    pages      the commands of pages whose output they show (page_commands.py), by the wheel's tool
    lines      each line of a page that installs something: a pip install with the wheel, others without installing
    [build]    ./run build, and a program that uses what it installs
    [source]   pip install . in the clone
    [test]     ./run test --quick in the clone

A step runs those that it needs, clone and wheel, if they have not run. A failure does not stop the others. FOLDER
holds the clone, the environments and a log of each step; by default it is a new one below the system's folder for such,
and is removed if all is fine. A FOLDER of an earlier run is continued: steps that are named run again, and use its clone
and wheel. Nothing asks for input. Exit status: 0 all fine, 1 something failed, 2 usage.
"""
import argparse
import glob
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import check_docs
import page_commands
from shown_commands import commands_of, installing

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = ("clone", "demo", "wheel", "install", "readme", "pages", "lines", "build", "source", "test")
LONG = ("build", "source", "test")
SECONDS = {"demo": 3600, "wheel": 6 * 3600, "build": 6 * 3600, "source": 6 * 3600, "test": 6 * 3600}
COMMAND_SECONDS = 1800
TAIL = 15  # lines of a failed command's output
# Commands of ./run in README that a step of its own runs.
STEP_OF = {"wheel": "wheel", "build": "build", "test": "test"}
# Files that README's commands name and every user has an own one of.
OF_THE_USER = {
    "my.cu": """\
#include <cstdio>
__global__ void twice(const int* from, int* to) { to[threadIdx.x] = 2 * from[threadIdx.x]; }
int main() {
  int *from, *to, got = 0;
  cudaMalloc(&from, 64 * sizeof(int)), cudaMalloc(&to, 64 * sizeof(int));
  cudaMemset(from, 0, 64 * sizeof(int));
  twice<<<1, 64>>>(from, to);
  cudaMemcpy(&got, to + 63, sizeof got, cudaMemcpyDeviceToHost);
  std::printf("%d\\n", got);
}
""",
    "train.py": 'print("trained")\n',
}
IN_TRITON = {"model.py": "examples/languages/total.py"}  # has a race
FOUND = 5  # exit status of `antiphase check`


class Failed(Exception):
    pass


def stop(process):
    """Ends a process and what it has started: first by a signal that Ninja hands on to its compilers."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, way)
            process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


class Release:
    def __init__(self, folder, wheel):
        self.folder, self.given, self.clone = folder, wheel, folder / "clone"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTIPHASE_", "PYTHON", "PIP_TARGET")) and name != "VIRTUAL_ENV"
        }
        self.environment |= {
            "PIP_NO_INPUT": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }
        self.environment["DEBIAN_FRONTEND"] = "noninteractive"
        self.log = None
        self.ran, self.failed = set(), set()

    def run(self, *words, where=None, path=None, expected=0, seconds=COMMAND_SECONDS):
        """The output of a command that ends as expected; a single word is a command line of sh."""
        words = [str(word) for word in words]
        shown = words[0] if len(words) == 1 else shlex.join(words)
        environment = dict(self.environment)
        if path:
            environment["PATH"] = f"{path}:{environment['PATH']}"
        with self.log.open("ab") as log:
            log.write(f"\n$ {shown}\n".encode())
            log.flush()
            begin = log.tell()
            try:
                process = subprocess.Popen(
                    ["sh", "-ec", shown] if len(words) == 1 else words,
                    cwd=where or self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as fault:
                raise Failed(f"{shown}: {fault}") from None
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = f"still running after {seconds} s"
            finally:
                stop(process)
        with self.log.open("rb") as log:
            log.seek(begin)
            output = log.read().decode(errors="replace")
        if code != expected:
            end = "\n".join(output.strip().splitlines()[-TAIL:])
            how = code if isinstance(code, str) else f"exit status {code}, expected {expected}"
            raise Failed(f"{shown}: {how}\n{end}")
        return output

    def report(self, step, verdict, begun, what=""):
        first, _, rest = what.partition("\n")
        print(f"{step:8} {verdict:8} {time.monotonic() - begun:6.0f} s  {first}".rstrip(), flush=True)
        for line in rest.splitlines():
            print(f"         | {line}", flush=True)

    def each(self, step, work):
        """Runs (name, function) pairs, a line for each. Raises Failed if one of them fails."""
        failed = 0
        for what, function in work:
            begun = time.monotonic()
            try:
                note = function()
                self.report(step, "ok", begun, what + (f"  ({note})" if note else ""))
            except Failed as fault:
                failed += 1
                self.report(step, "FAILED", begun, str(fault))
        if failed:
            raise Failed(f"{failed} of {len(work)} failed")
        return f"{len(work)} commands"

    # Needs of steps.

    def needs(self, step):
        there = {"clone": lambda: (self.clone / ".git").exists(), "wheel": self.wheels}[step]
        if not there() and step not in self.ran:
            self.step(step)
        if not there() or step in self.failed:
            raise Failed(f"needs the step {step}")

    def wheels(self):
        return sorted(self.clone.glob("build/wheels/antiphase-*.whl"))

    def python(self, *packages):
        """The folder of programs of an environment that has the wheel, and packages."""
        self.needs("wheel")
        programs = self.folder / "-".join(["env", *(re.sub(r"\W+", "_", name) for name in packages)]) / "bin"
        if not (programs / "antiphase").exists():
            shutil.rmtree(programs.parent, ignore_errors=True)
            self.run(sys.executable, "-m", "venv", programs.parent)
            self.run(programs / "python", "-m", "pip", "install", "--quiet", self.wheels()[-1], *packages)
        return programs

    # The steps.

    def step_clone(self):
        if self.clone.exists():
            raise Failed(f"{self.clone} is there already: expected an empty folder")
        commit = self.run("git", "-C", ROOT, "rev-parse", "HEAD").strip()
        changed = self.run("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no").splitlines()
        self.run("git", "clone", "--quiet", "--no-hardlinks", ROOT, self.clone)
        self.run("git", "-C", self.clone, "-c", "advice.detachedHead=false", "checkout", "--quiet", commit)
        without = ", without the uncommitted changes here" if changed else ""
        return f"{commit[:12]}{without}"

    def step_demo(self):
        self.needs("clone")
        said = self.run("ANTIPHASE_WHEEL= ./run demo", where=self.clone, seconds=SECONDS["demo"])  # built
        if "Done." not in said:
            raise Failed("./run demo does not say 'Done.'")
        return "built"

    def step_wheel(self):
        self.needs("clone")
        if self.given:
            (self.clone / "build/wheels").mkdir(parents=True, exist_ok=True)
            shutil.copy(self.given, self.clone / "build/wheels")
            return f"{self.given.name}, given"
        self.run("./run wheel", where=self.clone, seconds=SECONDS["wheel"])
        made = sorted(path.name for path in self.clone.glob("build/wheels/antiphase-*"))
        if [name for name in made if name.endswith((".whl", ".tar.gz"))] != made or len(made) != 2:
            raise Failed(f"./run wheel made {made}: expected a wheel and a source distribution")
        return self.wheels()[0].name

    def step_install(self):
        shutil.rmtree(self.folder / "env", ignore_errors=True)
        programs = self.python()
        within = "import antiphase, pathlib, sys; assert pathlib.Path(antiphase.__file__).is_relative_to(sys.prefix)"
        info = "python -m antiphase info"
        work = [
            (f"python -c '{within}'", lambda: self.run(f"python -c '{within}'", path=programs) and ""),
            *(
                (command, lambda command=command: self.run(command, path=programs) and "")
                for command in ("antiphase --version", "antiphase info", "antiphase demo demo", "pip check")
            ),
            (info, lambda: self.without("which is missing", self.run(info, path=programs))),
        ]
        return self.each("install", work)

    def without(self, words, said):
        if words in said:
            raise Failed(f"it says '{words}'\n{said}")
        return ""

    def step_readme(self):
        programs = self.python()
        folder = self.folder / "readme"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, text in OF_THE_USER.items():
            (folder / name).write_text(text)
        for name, file in IN_TRITON.items():
            if (self.clone / file).exists():
                shutil.copy(self.clone / file, folder / name)
        text = (self.clone / "README.md").read_text()
        exits = {mark["command"]: int(mark["exit"] or 0) for mark in page_commands.marks_of(text)}
        known = {}
        for command, cloned, in_block in commands_of(text):
            known.setdefault(command, (cloned, in_block))
        if not known:
            raise Failed("README.md shows no command")

        def run(command, cloned, in_block):
            words = command.split()
            if words[0] == "./run" and words[1] in STEP_OF:
                return f"step {STEP_OF[words[1]]}"
            if not in_block and re.fullmatch(r"antiphase( [a-z]+)+( --[a-z-]+)*", command):
                return self.known_name(words, programs)
            with_triton = any(name in words for name in (*IN_TRITON, *IN_TRITON.values()))
            path = self.python("triton", "numpy") if with_triton else programs
            expected = exits.get(command, FOUND if with_triton else 0)
            where = self.clone if cloned else folder
            if (
                words[:2] == ["antiphase", "examples"] and not in_block
            ):  # what is there stays: "all" has made it
                where = pathlib.Path(tempfile.mkdtemp(dir=folder))
            self.run(command, where=where, path=path, expected=expected)
            return ""

        return self.each(
            "readme", [(command, lambda c=command, how=how: run(c, *how)) for command, how in known.items()]
        )

    def known_name(self, words, programs):
        """Fails if the help of a command does not name it, or one of its options."""
        commands = [word for word in words if not word.startswith("-")]
        said = self.run(*commands, "--help", path=programs)
        for name in [" ".join(commands), *(word for word in words if word.startswith("-"))]:
            if name not in " ".join(said.split()):
                raise Failed(f"{' '.join(words)}: the help does not know '{name}'\n{said}")
        return "a name"

    def step_pages(self):
        programs = self.python()
        pages = []
        for page in check_docs.documents(self.clone):
            marks = page_commands.marks_of(page.read_text())
            commands = " ".join(mark["command"] or mark["body"] for mark in marks)
            if marks and "check_smooth" not in commands:  # an example's program, which a build makes
                pages.append(page)
        script = self.clone / "scripts/pages/page_commands.py"
        said = self.run(sys.executable, script, programs / "antiphase", *pages, seconds=4 * COMMAND_SECONDS)
        return said.strip().splitlines()[-1]

    def step_lines(self):
        lines = {}
        for page in check_docs.documents(self.clone):
            # These two name what is to be, or was.
            if page.relative_to(self.clone).as_posix() not in ("docs/project/releasing.md", "CHANGELOG.md"):
                for line in installing(page.read_text()):
                    lines.setdefault(line, page.relative_to(self.clone).as_posix())
        if not lines:
            raise Failed("no page installs anything")
        work = [(f"{line}, {page}", lambda line=line: self.install_by(line)) for line, page in lines.items()]
        return self.each("lines", work)

    def install_by(self, line):
        program, _, *words = shlex.split(line.removeprefix("sudo "))
        if program == "pip" and any(word.endswith(".whl") for word in words):
            self.needs("wheel")
            for word in words:  # as the shell reads them, where the wheel is
                if word.endswith(".whl") and not glob.glob(
                    str(self.clone / "build/wheels" / pathlib.Path(word).name)
                ):
                    raise Failed(f"{line}: {word} is not the name of the wheel, {self.wheels()[-1].name}")
            self.python(*(word for word in words if not word.endswith(".whl")))
            return ""
        if program == "pip":
            programs = self.python()
            self.run(programs / "python", "-m", "pip", "install", "--quiet", "--dry-run", *words)
            return "without installing"
        if not shutil.which("apt-get"):
            return "not tried: no apt-get here"
        self.run("apt-get", "install", "--simulate", "--quiet", *words)
        return "without installing"

    def step_build(self):
        self.needs("clone")
        prefix = self.folder / "prefix"
        self.run(f"./run build {shlex.quote(str(prefix))}", where=self.clone, seconds=SECONDS["build"])
        built = self.folder / "own_kernel"
        source = self.clone / "examples/own_kernel"
        self.run("cmake", "-S", source, "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}")
        self.run("cmake", "--build", built)
        return self.run(prefix / "bin/antiphase", "--version").strip().splitlines()[0]

    def step_source(self):
        self.needs("clone")
        environment = self.folder / "env-source"
        shutil.rmtree(environment, ignore_errors=True)
        self.run(sys.executable, "-m", "venv", environment)
        self.run(environment / "bin/pip", "install", ".", where=self.clone, seconds=SECONDS["source"])
        return self.run(environment / "bin/antiphase", "--version").strip().splitlines()[0]

    def step_test(self):
        self.needs("clone")
        return (
            self.run("./run test --quick", where=self.clone, seconds=SECONDS["test"]).strip().splitlines()[-1]
        )

    def step(self, name):
        begun, before = time.monotonic(), self.log
        self.log = self.folder / f"{name}.log"
        self.log.unlink(missing_ok=True)
        self.ran.add(name)
        self.failed.add(name)  # until it ends
        try:
            note = getattr(self, f"step_{name}")()
            self.failed.remove(name)
            self.report(name, "ok", begun, note)
        except (Failed, OSError, page_commands.BadPage, UnicodeDecodeError) as fault:
            self.report(name, "FAILED", begun, str(fault))
        finally:
            self.log = before


def main(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage="%(prog)s [options]"
    )
    parser.add_argument("--only", metavar="STEPS", default="", help="these steps, separated by commas")
    parser.add_argument("--all", action="store_true", help="all steps")
    parser.add_argument("--wheel", metavar="FILE", type=pathlib.Path, help="a wheel that has been built")
    parser.add_argument(
        "--folder", metavar="FOLDER", type=pathlib.Path, help="where clone, environments and logs go"
    )
    options = parser.parse_args(arguments)
    chosen = [name for name in options.only.split(",") if name]
    for name in chosen:
        if name not in STEPS:
            parser.error(f"there is no step '{name}': expected some of {', '.join(STEPS)}")
    if options.wheel and not (options.wheel.name.startswith("antiphase-") and options.wheel.is_file()):
        parser.error(f"--wheel {options.wheel}: expected the file of a wheel, antiphase-....whl")
    steps = chosen or [name for name in STEPS if options.all or name not in LONG]
    folder = options.folder
    if folder is None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="antiphase-release-"))
    elif folder.is_dir() and any(folder.iterdir()) and not (folder / "clone.log").exists():
        parser.error(f"--folder {folder}: expected an empty folder, or that of an earlier run")
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"in {folder}", flush=True)
    release = Release(folder, options.wheel and options.wheel.resolve())
    for name in STEPS:
        if name in steps and name not in release.ran:
            release.step(name)
    left = [name for name in STEPS if name not in release.ran]
    left_out = f"; not asked for: {', '.join(left)}" if left else ""
    if release.failed:
        failed = ", ".join(name for name in STEPS if name in release.failed)
        print(f"FAILED: {failed}; logs are in {folder}{left_out}")
        return 1
    if options.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"all fine{left_out}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
