# SPDX-License-Identifier: Apache-2.0
"""A plug-in of pytest: with --antiphase-check, each CUDA program is a test that `antiphase check` passes; a test
with the fixture antiphase_kernels runs its kernels under the checker."""
import os
import shlex
import subprocess

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("antiphase")
    group.addoption(
        "--antiphase-check", action="store_true", help="test .cu files that have a main by `antiphase check`"
    )
    parser.addini("antiphase_check_options", "options of `antiphase check` for each program", default="")


_without_main = pytest.StashKey[list]()


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".cu" and parent.config.getoption("antiphase_check"):
        from .each import has_main

        if has_main(file_path):
            return Program.from_parent(parent, path=file_path)
        parent.config.stash.setdefault(_without_main, []).append(file_path)
    return None


def pytest_collection_finish(session):
    without = session.config.stash.get(_without_main, [])
    if without and not any(isinstance(item, Check) for item in session.items):
        raise pytest.UsageError(
            f"--antiphase-check: none of {len(without)} .cu files has a main: nothing to check"
        )


def pytest_terminal_summary(terminalreporter, config):
    if without := config.stash.get(_without_main, []):
        terminalreporter.write_line(
            f"antiphase check: {len(without)} .cu files without a main were not checked"
        )


@pytest.fixture
def antiphase_kernels(request):
    """Kernels in Triton, Numba, CuPy and others that the test launches run under the checker: the test fails if
    something is found."""
    from .capture import capture

    with capture() as kernels:
        yield kernels
    options = shlex.split(request.config.getini("antiphase_check_options"))
    report = kernels.check(options=options)
    if not report.clean:
        pytest.fail(f"antiphase check: {report}", pytrace=False)


class Program(pytest.File):
    def collect(self):
        yield Check.from_parent(self, name="antiphase check")


class Check(pytest.Item):
    def runtest(self):
        from .each import tool

        options = shlex.split(self.config.getini("antiphase_check_options"))
        root = self.config.rootpath
        command = [tool(), "check", os.path.relpath(self.path, root), *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=root)
        if done.returncode != 0:
            raise Failed(done.stdout + done.stderr)

    def repr_failure(self, excinfo):
        return str(excinfo.value) if isinstance(excinfo.value, Failed) else super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, f"antiphase check {self.path.name}"


class Failed(Exception):
    """What the program was found to do; or why it could not be checked."""
