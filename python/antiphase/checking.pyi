# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["Finding", "Report", "capture", "check", "unwritten"]

@dataclass(frozen=True)
class Finding:
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
    severity: str = ...
    order: str = ...

@dataclass(frozen=True)
class Report:
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    schedules: int
    accesses: int
    finished: bool
    @property
    def clean(self) -> bool: ...

class _Summary:
    findings: list[dict[str, Any]]
    refused: list[str]
    notes: list[str]
    @property
    def clean(self) -> bool: ...

class _Session:
    def check(self, schedules: int = 20, options: Sequence[str] = ()) -> _Summary: ...

def capture(seconds: int = 60) -> AbstractContextManager[_Session]: ...

class _Unwritten: ...

def unwritten(shape: int | Sequence[int], dtype: DTypeLike) -> _Unwritten: ...
def check(
    source: str | os.PathLike[str],
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[NDArray[Any] | _Unwritten | float],
    *,
    expected: Mapping[int, ArrayLike] | None = None,
    tolerance: float = 0.0,
    shared_bytes: int = 0,
    schedules: int = 20,
    seconds: int = 60,
    options: Sequence[str] = (),
    tool: str | os.PathLike[str] | None = None,
) -> Report: ...
