# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of antiphase scan: numpy's rules in plain Python, and a comparison of the tool with
them."""
import itertools
import math

from process import ToolTest

CPU = ("--on", "cpu")
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
OPERATIONS = {"sum": lambda a, b: a + b, "product": lambda a, b: a * b, "min": min, "max": max}


def wrapped(value, type_name):
    bits = 8 * int(type_name[1])
    value &= (1 << bits) - 1
    return value - (1 << bits) if type_name[0] == "i" and value >> (bits - 1) else value


def identity(operation, type_name):
    if operation in ("sum", "product"):
        return 0 if operation == "sum" else 1
    if type_name[0] == "f":
        return math.inf if operation == "min" else -math.inf
    if type_name == "b1":
        return operation == "min"
    bits = 8 * int(type_name[1])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_name[0] == "i" else (0, (1 << bits) - 1)
    return high if operation == "min" else low


def scan_line(line, operation, type_name, exclusive=False, reverse=False):
    keep = (lambda v: v) if type_name[0] in "fb" else (lambda v: wrapped(v, type_name))
    line = [keep(v) for v in (line[::-1] if reverse else line)]
    result = [keep(v) for v in itertools.accumulate(line, lambda a, b: keep(OPERATIONS[operation](a, b)))]
    if exclusive:
        result = [identity(operation, type_name), *result][: len(line)]
    return result[::-1] if reverse else result


def scan_axis(values, shape, axis, *arguments, **options):
    result = list(values)
    inner = math.prod(shape[axis + 1 :])
    for outer in range(math.prod(shape[:axis])):
        for j in range(inner):
            start = outer * shape[axis] * inner + j
            places = range(start, start + shape[axis] * inner, inner)
            for place, value in zip(places, scan_line([values[p] for p in places], *arguments, **options)):
                result[place] = value
    return result


def accumulator(type_name, operation):
    if type_name[0] == "f" or operation in ("min", "max"):
        return type_name
    return "i8" if type_name == "b1" else type_name[0] + "8"


def whole(count, type_name, seed=3):
    """Integers that fit every type, so that one pattern serves all of them."""
    low = 0 if type_name[0] == "u" else -50
    return [(i * 31 + seed * 17 + i // 7) % 101 + low for i in range(count)]


class ScanTest(ToolTest):
    def scan(self, values, shape, type_name, *arguments, order="C", mark="<", on="cpu"):
        self.write("X.npy", values, shape, type_name, order=order, mark=mark)
        self.run_tool("scan", "X.npy", "--output", "Y.npy", *arguments, "--on", on)
        return self.read("Y.npy")

    def by_key(self, values, keys, type_name, key_type, operation="sum", on="cpu", **options):
        to, result = accumulator(type_name, operation), []
        for _, run in itertools.groupby(range(len(values)), key=lambda i: keys[i]):
            result += scan_line([values[i] for i in run], operation, to, **options)
        self.write("K.npy", keys, (len(keys),), key_type)
        flags = [f"--{name}" for name, given in options.items() if given]
        found = self.scan(
            values, (len(values),), type_name, "--by-key", "K.npy", "--op", operation, *flags, on=on
        )
        self.assertEqual(found, (result, (len(values),), to), (type_name, key_type, operation, options, on))

    def message_of(self, values, shape, type_name, *arguments, on="cpu"):
        self.write("X.npy", values, shape, type_name)
        message = self.run_tool("scan", "X.npy", "--output", "Y.npy", *arguments, "--on", on).message
        lines = [line for line in message.splitlines() if "left the range" in line]
        self.assertLess(len(lines), 2)
        return lines[0] if lines else ""
