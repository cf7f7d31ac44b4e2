# SPDX-License-Identifier: Apache-2.0
"""Finds races, missing waits and bad accesses in a CUDA kernel, without a GPU, on NumPy arrays.

    import numpy as np
    from antiphase.checking import check, unwritten

    x = np.arange(1000, dtype=np.float32)
    report = check("scale.cu", "scale", grid=4, block=256,
                   args=[x, unwritten(1000, np.float32), 1000], expected={1: 2 * x})
    assert report.clean, report

capture() checks the kernels of a Python program: torch's load_inline(), CuPy's RawKernel, PyCUDA's SourceModule.

It needs g++ and the program antiphase, but neither CUDA nor a GPU. docs/check/plain_cuda.md lists what is found
and which CUDA features a source may use.
"""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Optional

import numpy as np

from antiphase_check.capture import capture

from . import _driver, _library

__all__ = ["Finding", "Report", "capture", "check", "unwritten"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """One fault: the access (`action`) at `file` and `line` (0: unknown), and the earlier access that it
    conflicts with, if any (`earlier`, ""; `earlier_line`, 0). `missing`: the synchronization that would order
    them, a sentence; `order`: the same as a word, such as "block_barrier" or "mbarrier_phase" (docs/check/checking.md).
    `times`: how often it was seen. `severity`: "error", or "pedantic" where GPUs do not need the rule. Of a wrong result that `expected` shows: the first `element` of an `argument` that differs, in C order,
    what the kernel `got` and what was `expected`."""

    kind: str
    kernel: str
    memory: str
    action: str
    file: str
    line: int
    earlier: str
    earlier_file: str
    earlier_line: int
    missing: str
    times: int
    severity: str = "error"
    order: str = "none"
    argument: Optional[int] = None
    element: Optional[int] = None
    got: Optional[float] = None
    expected: Optional[float] = None

    def __str__(self):
        place = f"{self.file}:{self.line}: " if self.line > 0 else ""
        text = f"{place}{self.kind}: {self.action}"
        text += f", {self.memory}" if self.memory else ""
        text += (
            f"; earlier: {self.earlier} at {self.earlier_file}:{self.earlier_line}" if self.earlier else ""
        )
        return text + (f"; missing: {self.missing}" if self.missing else "")


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of a check. `notes`: what was not examined. `schedules` and `accesses`: how many were
    followed. `finished`: False if a run was stopped, so that the absence of findings proves nothing."""

    findings: tuple
    notes: tuple
    schedules: int
    accesses: int
    finished: bool

    @property
    def clean(self):
        """Whether all runs ended and nothing was found."""
        return self.finished and not self.findings

    def __str__(self):
        lines = [str(f) for f in self.findings] + [f"note: {note}" for note in self.notes]
        found = "1 finding" if len(self.findings) == 1 else f"{len(self.findings)} findings"
        return "\n".join(
            [*lines, f"{found} in {self.schedules} schedule{'s' if self.schedules != 1 else ''}"]
        )


def unwritten(shape, dtype):
    """An argument of check(): an uninitialised device array, for what a kernel only writes. Reading an
    element before writing it is a finding.

    shape: a size or a tuple. dtype: as for NumPy.
    """
    return _driver.Unwritten(_driver.size_of(shape), _driver.native(np.dtype(dtype)))


def _number(text):
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _finding(f):
    at, earlier = f["access"]["at"], f["earlier"]
    differs = re.search(r": argument (\d+)\[(\d+)\] is (\S+): expected (\S+)$", f["access"]["action"])
    argument, element, got, expected = differs.groups() if differs else (None,) * 4
    return Finding(
        kind=f["kind"],
        kernel=f["kernel"],
        memory=f["memory"],
        action=f["access"]["action"],
        file=at["file"],
        line=at["line"],
        earlier=earlier["action"] if earlier else "",
        earlier_file=earlier["at"]["file"] if earlier else "",
        earlier_line=earlier["at"]["line"] if earlier else 0,
        missing=f["missing"]["text"],
        times=f["times"],
        severity=f["severity"],
        order=f["missing"]["order"],
        argument=differs and int(argument),
        element=differs and int(element),
        got=differs and _number(got),
        expected=differs and _number(expected),
    )


def _shortened(errors):
    """A compiler's output up to its third error."""
    lines = errors.strip().split("\n")
    starts = [number for number, line in enumerate(lines) if ": error: " in line]
    if len(starts) <= 3:
        return "\n".join(lines)
    more = len(starts) - 3
    return "\n".join([*lines[: starts[3]], f"and {more} more error{'s' if more > 1 else ''}"])


def _is_text(source):
    """Whether it is a source's text, and not the path of one."""
    if not isinstance(source, str) or not any(sign in source for sign in "\n{;"):
        return False
    if "\n" not in source and source.endswith(".cu"):
        return False
    try:
        return not os.path.isfile(source)
    except ValueError:  # no path has a null character
        return True


def check(
    source,
    kernel,
    grid,
    block,
    args,
    *,
    expected=None,
    tolerance=0.0,
    shared_bytes=0,
    schedules=20,
    seconds=60,
    options=(),
    tool=None,
):
    """Launches one kernel under many schedules on the CPU executor and reports its faults.

    source: the path of a .cu file, or its text, which has a brace, a semicolon or several lines. Its main and its
    bindings to PyTorch or pybind11 are left out.
    kernel: its name, with template arguments if it has any: "sum<float, 128>".
    grid, block: a size, or up to three (x, y, z).
    args: NumPy arrays (copied to the device, in C order and in this machine's byte order), unwritten(shape, dtype), and
    numbers, in the kernel's order.
    expected: the values that arrays must hold afterwards, by the argument's number from 0: rounded to the array's type
    if that is floating, otherwise values of that type.
    tolerance: the allowed relative error of each expected value.
    shared_bytes: dynamic shared memory of the launch, for extern __shared__.
    schedules: the number of runs. seconds: the time limit of each.
    options: compiler options, such as "-DN=4".
    tool: the program antiphase; by default $ANTIPHASE_TOOL, else the wheel's, else the one on PATH.

    Returns a Report. Raises TypeError and ValueError for arguments that do not fit, ValueError with the
    compiler's output if the source does not compile or uses unsupported features, and FileNotFoundError if
    there is no program antiphase.
    """
    tool = tool or os.environ.get("ANTIPHASE_TOOL") or _library.tool() or shutil.which("antiphase")
    if tool is None:
        raise FileNotFoundError(
            "there is no program antiphase: expected the wheel's, or one on PATH; set ANTIPHASE_TOOL to where it is"
        )
    launch = _driver.launch_of(kernel, grid, block, shared_bytes, args)
    schedules, seconds = _driver.whole(schedules, "schedules", 1), _driver.whole(seconds, "seconds", 1)
    if isinstance(options, (str, bytes)):
        raise ValueError(f"options = {options!r}: expected a list of them, such as ['-DN=4']")
    options = tuple(options)
    for option in options:
        if not isinstance(option, str) or option[:2] not in ("-I", "-D", "-U", "-L", "-l"):
            raise ValueError(f"options: {option!r} is not for the compiler: expected -I, -D, -U, -L or -l")
    with tempfile.TemporaryDirectory(prefix="antiphase-check-") as name:
        folder = pathlib.Path(name)
        path = folder / "kernel.cu"
        if _is_text(source):
            path.write_text(source + "\n")
        else:
            path = pathlib.Path(source).resolve()
        driver = folder / "driver.cpp"
        driver.write_text(_driver.text_of(launch, expected, tolerance, folder))
        command = [str(tool), "check", str(path), "--kernels", str(driver), "--schedules", str(schedules)]
        command += ["--seconds", str(seconds), "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode not in (0, 4, 5) or not done.stdout.strip():
        launch.refuse_if_the_driver_fails(done.stderr, driver)
        raise ValueError(_shortened(done.stderr) or f"{tool} ended with {done.returncode}")
    program = json.loads(done.stdout)["programs"][0]
    refused = [why["text"] for why in program["refused"]]
    if refused and not program["findings"]:
        launch.refuse_if_the_driver_fails(done.stderr, driver)
        raise ValueError(_shortened(done.stderr))
    return Report(
        findings=tuple(_finding(f) for f in program["findings"]),
        notes=(*program["notes"], *refused),
        schedules=program["schedules"],
        accesses=program["accesses"],
        finished=done.returncode != 4 and not program["unfinished"] and not refused,
    )
