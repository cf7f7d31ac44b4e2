# SPDX-License-Identifier: Apache-2.0
"""Finds races, missing waits and bad accesses in a CUDA kernel, without a GPU, on NumPy arrays.

    import numpy as np
    from antiphase.checking import check, unwritten

    x = np.arange(1000, dtype=np.float32)
    report = check("scale.cu", "scale", grid=4, block=256,
                   args=[x, unwritten(1000, np.float32), 1000], expected={1: 2 * x})
    assert report.clean, report

capture() checks the kernels of a Python program: torch's load_inline(), CuPy's RawKernel, PyCUDA's SourceModule.

It needs g++ and the program antiphase, but neither CUDA nor a GPU. docs/plain_cuda.md lists what is found
and which CUDA features a source may use.
"""
import dataclasses
import json
import numbers
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Optional

import numpy as np

from antiphase_check.capture import capture

from . import _library

__all__ = ["Finding", "Report", "capture", "check", "unwritten"]

_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float16": "__half",
    "float32": "float",
    "float64": "double",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One fault: the access (`action`) at `file` and `line` (0: unknown), and the earlier access that it
    conflicts with, if any (`earlier`, ""; `earlier_line`, 0). `missing`: the synchronization that would order
    them, a sentence; `order`: the same as a word, such as "block_barrier" or "mbarrier_phase" (docs/checking.md).
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


@dataclasses.dataclass(frozen=True)
class _Unwritten:
    size: int
    dtype: np.dtype


def unwritten(shape, dtype):
    """An argument of check(): an uninitialised device array, for what a kernel only writes. Reading an
    element before writing it is a finding.

    shape: a size or a tuple. dtype: as for NumPy.
    """
    return _Unwritten(int(np.prod(shape)), np.dtype(dtype))


def _c_type(dtype, what):
    if dtype.name not in _TYPES:
        raise TypeError(f"{what} has elements of type {dtype}: expected one of {', '.join(_TYPES)}")
    return _TYPES[dtype.name]


def _extent(of, what):
    sizes = (of,) if isinstance(of, numbers.Integral) else tuple(of)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(s, numbers.Integral) and s >= 1 for s in sizes):
        raise ValueError(f"{what} = {of}: expected a size, or up to three, each 1 or more")
    return f"dim3({', '.join(str(int(s)) for s in sizes)})"


def _scalar(value, number):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.generic):
        return f"static_cast<{_c_type(value.dtype, f'argument {number}')}>({value.item()!r})"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    raise TypeError(
        f"argument {number} is a {type(value).__name__}: expected an array, a number, or unwritten()"
    )


def _driver(kernel, grid, block, shared_bytes, args, expected, tolerance, folder):
    lines, names, checks = (
        ["#include <antiphase/plain/driver.h>", "int main() {", "  using namespace antiphase::driver;"],
        [],
        [],
    )

    def file_of(array, name):
        path = folder / f"{name}.bin"
        path.write_bytes(np.ascontiguousarray(array).tobytes())
        return json.dumps(str(path))

    for number, value in enumerate(args):
        if isinstance(value, (np.ndarray, _Unwritten)):
            kind = _c_type(value.dtype, f"argument {number}")
            start = (
                value.size
                if isinstance(value, _Unwritten)
                else f"contents<{kind}>({file_of(value, f'argument{number}')})"
            )
            lines.append(f"  array<{kind}> a{number}({start});")
            names.append(f"static_cast<{kind}*>(a{number})")
        else:
            names.append(_scalar(value, number))
    for number, array in (expected or {}).items():
        if not 0 <= number < len(args) or not isinstance(args[number], (np.ndarray, _Unwritten)):
            raise ValueError(f"expected[{number}]: there is no array among the arguments with this number")
        if np.size(array) != args[number].size:
            raise ValueError(
                f"expected[{number}] has {np.size(array)} elements, the argument {args[number].size}"
            )
        array = np.asarray(array, dtype=args[number].dtype)
        kind = _c_type(array.dtype, f"expected[{number}]")
        checks.append(f"  const auto e{number} = contents<{kind}>({file_of(array, f'expected{number}')});")
        checks.append(
            f'  good = holds("argument {number}", a{number}, [&](std::size_t i) {{ return e{number}[i]; }}, {tolerance!r}) && good;'
        )
    lines.append(f"  {kernel}<<<{grid}, {block}, {int(shared_bytes)}>>>({', '.join(names)});")
    lines += [
        "  cudaDeviceSynchronize();",
        "  bool good = cudaGetLastError() == cudaSuccess;",
        *checks,
        "  return good ? 0 : 1;",
        "}",
    ]
    return "\n".join(lines) + "\n"


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
        got=differs and float(got),
        expected=differs and float(expected),
    )


def _shortened(errors):
    """A compiler's output up to its third error."""
    lines = errors.strip().split("\n")
    starts = [number for number, line in enumerate(lines) if ": error: " in line]
    if len(starts) <= 3:
        return "\n".join(lines)
    more = len(starts) - 3
    return "\n".join([*lines[: starts[3]], f"and {more} more error{'s' if more > 1 else ''}"])


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

    source: the path of a .cu file, or its text. Its main and its bindings to PyTorch or pybind11 are left
    out.
    kernel: its name, with template arguments if it has any: "sum<float, 128>".
    grid, block: a size, or up to three (x, y, z).
    args: NumPy arrays (copied to the device, in C order), unwritten(shape, dtype), and numbers, in the
    kernel's order.
    expected: the values that arrays must hold afterwards, by the argument's number from 0.
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
    grid, block = _extent(grid, "grid"), _extent(block, "block")
    with tempfile.TemporaryDirectory(prefix="antiphase-check-") as name:
        folder = pathlib.Path(name)
        path = pathlib.Path(folder / "kernel.cu")
        if isinstance(source, str) and any(sign in source for sign in "\n{;"):
            path.write_text(source + "\n")
        else:
            path = pathlib.Path(source).resolve()
        driver = folder / "driver.cpp"
        driver.write_text(_driver(kernel, grid, block, shared_bytes, args, expected, tolerance, folder))
        command = [
            str(tool),
            "check",
            str(path),
            "--kernels",
            str(driver),
            "--schedules",
            str(int(schedules)),
            "--seconds",
            str(int(seconds)),
            "--json",
        ]
        for option in options:
            if option[:2] not in ("-I", "-D", "-U", "-L", "-l"):
                raise ValueError(
                    f"options: {option!r} is not for the compiler: expected -I, -D, -U, -L or -l"
                )
            command.append(option)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode not in (0, 4, 5) or not done.stdout.strip():
        raise ValueError(_shortened(done.stderr) or f"{tool} ended with {done.returncode}")
    program = json.loads(done.stdout)["programs"][0]
    refused = [why["text"] for why in program["refused"]]
    if refused and not program["findings"]:
        raise ValueError(_shortened(done.stderr))
    return Report(
        findings=tuple(_finding(f) for f in program["findings"]),
        notes=(*program["notes"], *refused),
        schedules=program["schedules"],
        accesses=program["accesses"],
        finished=done.returncode != 4 and not program["unfinished"] and not refused,
    )
