# SPDX-License-Identifier: Apache-2.0
"""The program that checking.check() compiles with a kernel's source: it launches the kernel on NumPy arrays, and
compares what it has written."""
import collections.abc
import dataclasses
import json
import math
import numbers
import re

import numpy as np

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
class Unwritten:
    size: int
    dtype: np.dtype


def native(dtype):
    """The type in this machine's byte order."""
    return dtype.newbyteorder("=")


def whole(value, what, least):
    if not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{what} = {value!r}: expected a whole number, {least} or more")
    return int(value)


def size_of(shape):
    """Elements of a shape, which is a size or several."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return math.prod(whole(size, "a size of unwritten()", 0) for size in sizes)


def _c_type(dtype, what):
    if dtype.name not in _TYPES:
        raise TypeError(f"{what} has elements of type {dtype}: expected one of {', '.join(_TYPES)}")
    return _TYPES[dtype.name]


def _extent(of, what):
    sizes = tuple(of) if isinstance(of, (tuple, list, np.ndarray)) else (of,)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(s, numbers.Integral) and s >= 1 for s in sizes):
        raise ValueError(
            f"{what} = {of!r}: expected a size, or up to three, each a whole number of 1 or more"
        )
    return f"dim3({', '.join(str(int(s)) for s in sizes)})"


# A number that not every type holds: a parameter of another type than these is a compiler's error.
_LARGE = """template <auto value> struct large {
  template <class T> constexpr operator T() const {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<decltype(value)>)
      static_assert(std::in_range<T>(value), "a parameter is too small for a number");
    else
      static_assert(value <= std::numeric_limits<T>::max() && value >= std::numeric_limits<T>::lowest(),
                    "a parameter is too small for a number");
    return static_cast<T>(value);
  }
};"""


def _number(value):
    """A Python number in C++; None if it has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        if not -(1 << 63) <= value < 1 << 64:
            return None
        if -(1 << 31) <= value < 1 << 31:
            return str(int(value))
        # the least one has no literal: it would be the negative of a number that no signed type holds
        least = f"({int(value) + 1}LL - 1)" if value == -(1 << 63) else f"{int(value)}LL"
        return f"{int(value)}ULL" if value >= 1 << 63 else least
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "__builtin_inf()" if value > 0 else "-__builtin_inf()"
    return repr(float(value))


def _scalar(value, number):
    of = _c_type(native(value.dtype), f"argument {number}") if isinstance(value, np.generic) else None
    plain = value.item() if of is not None else value
    if not isinstance(plain, numbers.Real):
        raise TypeError(
            f"argument {number} is a {type(value).__name__}: expected an array, a number, or unwritten()"
        )
    text = _number(plain)
    if text is None:
        raise ValueError(f"argument {number} is {plain}: expected a number of 64 bits")
    if of is not None:
        return f"static_cast<{of}>({text})"
    most = (1 << 31) - 1 if isinstance(plain, numbers.Integral) else float(np.finfo(np.float32).max)
    return f"large<{text}>()" if most < abs(plain) < math.inf else text


@dataclasses.dataclass(frozen=True)
class Launch:
    """A launch, whose arguments have been checked."""

    kernel: str
    configuration: str
    args: tuple
    types: tuple  # of arguments, in C++; of Python's numbers, which have none, their literals

    def refuse_if_the_driver_fails(self, errors, driver):
        """Raises ValueError if it is the launch that does not compile, and not the kernel's source."""
        first = re.search(r"^(.*):\d+:\d+: error: (.*)$", errors, re.MULTILINE)
        if first is None or first[1] != str(driver):
            return
        shown = (
            of if isinstance(value, (np.ndarray, Unwritten)) else repr(value)
            for value, of in zip(self.args, self.types)
        )
        takes = re.search(r"antiphase::plain::call<(.*)>\) \(", first[2])
        why = f"expected ({takes[1]})" if takes else first[2].removeprefix("static assertion failed: ")
        raise ValueError(f"{self.kernel} cannot be launched with the arguments ({', '.join(shown)}): {why}")


def launch_of(kernel, grid, block, shared_bytes, args):
    if isinstance(args, (np.ndarray, Unwritten, str)):
        raise TypeError(f"args is a {type(args).__name__}: expected a list of the kernel's arguments")
    args, types = tuple(args), []
    for number, value in enumerate(args):
        if isinstance(value, (np.ndarray, Unwritten)):
            types.append(_c_type(native(value.dtype), f"argument {number}") + "*")
        else:
            types.append(_scalar(value, number))
    configuration = [
        _extent(grid, "grid"),
        _extent(block, "block"),
        str(whole(shared_bytes, "shared_bytes", 0)),
    ]
    return Launch(kernel, ", ".join(configuration), args, tuple(types))


def _as_type(values, dtype, what):
    """What an array of that type must hold: values rounded to a floating type, or exactly those of another."""
    given = np.asarray(values)
    if given.dtype.kind in "SUmMc":
        raise TypeError(f"{what} has elements of type {given.dtype}: expected real numbers")
    with np.errstate(all="ignore"):
        cast = given.astype(dtype)
        if dtype.kind == "f":
            kept = np.isfinite(cast) | ~np.isfinite(given.astype(np.float64))
        else:
            kept = cast == given
    if not np.all(kept):
        place = int(np.argmin(np.ravel(kept)))
        raise ValueError(
            f"{what} has {np.ravel(given)[place]} at {place}: expected what {dtype.name} holds, the type of the argument"
        )
    return cast


def _stored(pointer):
    """The type of an array's elements on the host: a vector of bools would be packed."""
    return pointer[:-1].replace("bool", "unsigned char")


def text_of(launch, expected, tolerance, folder):
    """The program's source. Contents of arrays go into files of the folder."""
    lines, names, checks = [], [], []

    def file_of(array, name):
        path = folder / f"{name}.bin"
        path.write_bytes(np.ascontiguousarray(array, native(array.dtype)).tobytes())
        return json.dumps(str(path))

    if not isinstance(tolerance, numbers.Real) or not 0 <= tolerance < math.inf:
        raise ValueError(f"tolerance = {tolerance!r}: expected a number, 0 or more")
    for number, (value, of) in enumerate(zip(launch.args, launch.types)):
        if isinstance(value, (np.ndarray, Unwritten)):
            start = (
                value.size
                if isinstance(value, Unwritten)
                else f"contents<{_stored(of)}>({file_of(value, f'argument{number}')})"
            )
            lines.append(f"  array<{_stored(of)}> a{number}({start});")
            names.append(f"reinterpret_cast<{of}>(a{number}.data())")
        else:
            names.append(of)
    if expected is not None and not isinstance(expected, collections.abc.Mapping):
        raise TypeError(f"expected is a {type(expected).__name__}: expected arrays by the argument's number")
    for number, array in (expected or {}).items():
        if number not in range(len(launch.args)) or not isinstance(
            launch.args[number], (np.ndarray, Unwritten)
        ):
            raise ValueError(f"expected[{number!r}]: there is no array among the arguments with this number")
        of = launch.args[number]
        if np.size(array) != of.size:
            raise ValueError(f"expected[{number}] has {np.size(array)} elements, the argument {of.size}")
        array = _as_type(array, native(of.dtype), f"expected[{number}]")
        kind = _stored(launch.types[number])
        checks.append(f"  const auto e{number} = contents<{kind}>({file_of(array, f'expected{number}')});")
        checks.append(
            f'  good = holds("argument {number}", a{number}, [&](std::size_t i) {{ return e{number}[i]; }}, '
            f"{float(tolerance)!r}) && good;"
        )
    return "\n".join(
        [
            "#include <antiphase/plain/driver.h>",
            *(["#include <cuda_fp16.h>"] if any("__half" in of for of in launch.types) else []),
            *(
                ["#include <limits>", "#include <utility>", _LARGE]
                if any("large<" in of for of in launch.types)
                else []
            ),
            "int main() {",
            "  using namespace antiphase::driver;",
            *lines,
            f"  {launch.kernel}<<<{launch.configuration}>>>({', '.join(names)});",
            "  cudaDeviceSynchronize();",
            "  bool good = cudaGetLastError() == cudaSuccess;",
            *checks,
            "  return good ? 0 : 1;",
            "}",
            "",
        ]
    )
