"""antiphase scan as a process."""
import itertools
import json
import math
import struct

from process import ToolTest, main, parse_npy

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
    bits = 8 * int(type_name[1])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_name[0] == "i" else (0, (1 << bits) - 1)
    return high if operation == "min" else low


def scan_line(line, operation, type_name, exclusive=False, reverse=False):
    keep = (lambda v: v) if type_name[0] == "f" else (lambda v: wrapped(v, type_name))
    line = [keep(v) for v in (line[::-1] if reverse else line)]
    result = [keep(v) for v in itertools.accumulate(line, lambda a, b: keep(OPERATIONS[operation](a, b)))]
    if exclusive:
        result = [identity(operation, type_name), *result][:len(line)]
    return result[::-1] if reverse else result


def scan_axis(values, shape, axis, *arguments, **options):
    result = list(values)
    inner = math.prod(shape[axis + 1:])
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
    return type_name[0] + "8"


def whole(count, type_name, seed=3):
    """Integers that fit every type, so that the same pattern serves all of them."""
    low = 0 if type_name[0] == "u" else -50
    return [(i * 31 + seed * 17 + i // 7) % 101 + low for i in range(count)]


class Scan(ToolTest):
    def scan(self, values, shape, type_name, *arguments, order="C", mark="<"):
        self.write("X.npy", values, shape, type_name, order=order, mark=mark)
        self.run_tool("scan", "X.npy", "--output", "Y.npy", *arguments, *CPU)
        return self.read("Y.npy")

    def test_types_and_operations(self):
        for type_name, operation in itertools.product((*INTEGERS, "f4", "f8"), OPERATIONS):
            count = 40 if operation == "product" else 700
            values = [v % 3 + 1 if operation == "product" else v for v in whole(count, type_name)]
            if type_name[0] == "f":
                values = [float(v) if operation != "product" else 2.0 ** (v % 3 - 1) for v in values]
            to = accumulator(type_name, operation)
            self.assertEqual(self.scan(values, (count,), type_name, "--op", operation), (scan_line(values, operation, to), (count,), to),
                             (type_name, operation))

    def test_product_of_floats_is_exact_for_powers_of_two(self):
        values = [2.0 ** (i % 5 - 2) for i in range(300)]
        self.assertEqual(self.scan(values, (300,), "f8", "--op", "product")[0], scan_line(values, "product", "f8"))

    def test_exclusive_and_reverse(self):
        for operation, exclusive, reverse, type_name in itertools.product(OPERATIONS, (False, True), (False, True), ("i4", "u1", "f4")):
            values = whole(530, type_name) if operation != "product" else [v % 2 + 1 for v in whole(20, type_name)]
            to = accumulator(type_name, operation)
            flags = ["--exclusive"] * exclusive + ["--reverse"] * reverse
            self.assertEqual(self.scan(values, (len(values),), type_name, "--op", operation, *flags)[0],
                             scan_line(values, operation, to, exclusive, reverse), (operation, flags, type_name))

    def test_axes(self):
        shape = (3, 41, 5)
        values = whole(math.prod(shape), "i2")
        for axis, order in itertools.product((0, 1, 2, -1, -2, -3), "CF"):
            self.assertEqual(self.scan(values, shape, "i2", "--axis", axis, order=order),
                             (scan_axis(values, shape, axis % 3, "sum", "i8"), shape, "i8"), (axis, order))

    def test_axis_with_direction_and_kind(self):
        shape = (7, 300, 2)
        values = whole(math.prod(shape), "f8")
        self.assertEqual(self.scan(values, shape, "f8", "--axis", "1", "--exclusive", "--reverse", "--op", "max")[0],
                         scan_axis(values, shape, 1, "max", "f8", exclusive=True, reverse=True))

    def test_flattened(self):
        values = whole(24, "i4")
        for order in "CF":
            self.assertEqual(self.scan(values, (2, 3, 4), "i4", order=order), (scan_line(values, "sum", "i8"), (24,), "i8"))

    def test_long(self):
        for count in (4095, 4096, 4097, 70001):
            values = whole(count, "u2")
            self.assertEqual(self.scan(values, (count,), "u2"), (scan_line(values, "sum", "u8"), (count,), "u8"))

    def test_big_endian(self):
        for type_name in ("f4", "f8", "i2", "i8", "u4"):
            values = whole(100, type_name)
            self.assertEqual(self.scan(values, (100,), type_name, mark=">")[0], scan_line(values, "sum", accumulator(type_name, "sum")))

    def test_wrapping(self):
        values = [100] * 10
        for to in ("i1", "u1"):
            self.assertEqual(self.scan(values, (10,), to, "--accumulate", to), (scan_line(values, "sum", to), (10,), to))
        largest = [2 ** 63 - 1, 1, 5]
        self.assertEqual(self.scan(largest, (3,), "i8")[0], [2 ** 63 - 1, -2 ** 63, -2 ** 63 + 5])

    def test_accumulate(self):
        values = [200, 100, 7, 255]
        for to in (*INTEGERS, "f4", "f8"):
            expected = scan_line([wrapped(v, to) if to[0] != "f" else float(v) for v in values], "sum", to)
            self.assertEqual(self.scan(values, (4,), "u1", "--accumulate", to), (expected, (4,), to))
        self.assertEqual(self.scan([0.5, 0.25], (2,), "f4", "--accumulate", "f8"), ([0.5, 0.75], (2,), "f8"))
        self.assertEqual(self.scan([-1, -2], (2,), "i4", "--op", "min", "--accumulate", "u1"), ([255, 254], (2,), "u1"))

    def test_halves(self):
        values = [v / 8 for v in whole(100, "i4")]  # sums of them, below 2048, are eighths and f2 holds them; or they are rounded once
        half = lambda v: struct.unpack("<e", struct.pack("<e", v))[0]
        found = self.scan(values, (100,), "f2")
        self.assertEqual(found, ([half(v) for v in scan_line(values, "sum", "f8")], (100,), "f2"))
        self.assertEqual(self.scan(values, (100,), "f2", "--accumulate", "f4"), (scan_line(values, "sum", "f4"), (100,), "f4"))
        self.assertEqual(self.scan(values, (100,), "f2", mark=">"), found)
        for axis in (0, 1):
            for operation in ("sum", "max"):
                expected = [half(v) for v in scan_axis(values, (4, 25), axis, operation, "f8")]
                self.assertEqual(self.scan(values, (4, 25), "f2", "--axis", str(axis), "--op", operation), (expected, (4, 25), "f2"))
        self.assertEqual(self.scan(values, (4, 25), "f2", order="F")[0], found[0])

    def by_key(self, values, keys, type_name, key_type, operation="sum", **options):
        to, result = accumulator(type_name, operation), []
        for _, run in itertools.groupby(range(len(values)), key=lambda i: keys[i]):
            result += scan_line([values[i] for i in run], operation, to, **options)
        self.write("K.npy", keys, (len(keys),), key_type)
        flags = [f"--{name}" for name, given in options.items() if given]
        found = self.scan(values, (len(values),), type_name, "--by-key", "K.npy", "--op", operation, *flags)
        self.assertEqual(found, (result, (len(values),), to), (type_name, key_type, operation))

    def test_by_key(self):
        keys = [i * i // 900 % 7 for i in range(7000)]
        for type_name, key_type in (("i1", "i2"), ("u2", "u1"), ("f4", "f4"), ("f8", "i8"), ("u8", "f8")):
            values = [float(v) for v in whole(7000, type_name)] if type_name[0] == "f" else whole(7000, type_name)
            self.by_key(values, keys, type_name, key_type)
        self.by_key(whole(7000, "i4"), keys, "i4", "i4", "max", reverse=True)
        self.by_key(whole(7000, "i4"), keys, "i4", "i4", "min", exclusive=True)
        self.by_key([], [], "i4", "i4")

    def test_wrong_keys(self):
        self.write("X.npy", whole(6, "i4"), (6,), "i4")
        self.write("K.npy", [1, 2], (2,), "i4")
        self.write("L.npy", whole(6, "i4"), (6,), "i4")
        self.write("H.npy", [1.0] * 6, (6,), "f2")
        base = ("scan", "X.npy", "--output", "Y.npy", "--by-key")
        self.refused(2, ["'K.npy'", "2 keys", "expected 6"], *base, "K.npy", *CPU)
        self.refused(2, ["'H.npy'", "f2", ".astype('f4')"], *base, "H.npy", *CPU)
        self.refused(2, ["--axis"], *base, "L.npy", "--axis", "0", *CPU)
        self.refused(2, ["'L.npy'"], "scan", "X.npy", "--output", "L.npy", "--by-key", "L.npy", *CPU)
        self.write("B.npy", whole(6, "i1"), (6,), "i1")
        self.refused(4, ["max of i8, by key"], "scan", "B.npy", "--output", "Y.npy", "--by-key", "L.npy", "--op", "max", *CPU)

    def test_empty_and_scalar(self):
        self.assertEqual(self.scan([], (0,), "i4"), ([], (0,), "i8"))
        self.assertEqual(self.scan([], (0, 7), "f4"), ([], (0,), "f4"))
        self.assertEqual(self.scan([], (0, 7), "f4", "--axis", "1"), ([], (0, 7), "f4"))
        self.assertEqual(self.scan([], (7, 0), "u1", "--axis", "0"), ([], (7, 0), "u8"))
        self.assertEqual(self.scan([5], (), "u1"), ([5], (1,), "u8"))
        self.assertEqual(self.scan([5], (1, 1), "u1", "--axis", "0", "--exclusive"), ([0], (1, 1), "u8"))

    def test_nan_and_infinity(self):
        nan, inf = math.nan, math.inf
        values = [1.0, 2.0, nan, 4.0, 5.0]
        for operation, before in (("sum", [1, 3]), ("min", [1, 1]), ("max", [1, 2]), ("product", [1, 2])):
            found = self.scan(values, (5,), "f4", "--op", operation)[0]
            self.assertEqual(found[:2], before)
            self.assertTrue(all(math.isnan(v) for v in found[2:]), (operation, found))
        found = self.scan([inf, 1.0, -inf, 3.0], (4,), "f8")[0]
        self.assertEqual(found[:2], [inf, inf])
        self.assertTrue(all(math.isnan(v) for v in found[2:]))

    def test_wrong_axis(self):
        self.write("X.npy", whole(6, "i4"), (2, 3), "i4")
        for axis in ("2", "-3", "9223372036854775807"):
            self.refused(2, [f"--axis {axis}", "(2, 3)", "-2 to 1"], "scan", "X.npy", "--output", "Y.npy", "--axis", axis, *CPU)
        self.refused(2, ["--axis", "integer", "'1.5'"], "scan", "X.npy", "--output", "Y.npy", "--axis", "1.5", *CPU)
        self.write("S.npy", [5], (), "i4")
        self.refused(2, ["--axis 0", "()", "no axis"], "scan", "S.npy", "--output", "Y.npy", "--axis", "0", *CPU)

    def test_wrong_options(self):
        self.write("X.npy", whole(6, "i4"), (6,), "i4")
        self.write("F.npy", [0.5], (1,), "f4")
        base = ("scan", "X.npy", "--output", "Y.npy")
        self.refused(2, ["'mean'", "sum, product, min or max"], *base, "--op", "mean", *CPU)
        self.refused(2, ["'i3'", "i1, i2, i4, i8", "numpy's names"], *base, "--accumulate", "i3", *CPU)
        self.refused(2, ["--accumulate", "''"], *base, "--accumulate", "", *CPU)
        self.refused(2, ["'F.npy'", "f4", "i4", "fractions"], "scan", "F.npy", "--output", "Y.npy", "--accumulate", "i4", *CPU)
        self.refused(2, ["'reference'", "cpu, cuda or cuda:N"], *base, "--on", "reference")
        self.refused(2, ["'--exclusiv'", "did you mean --exclusive"], *base, "--exclusiv")

    def test_json(self):
        self.write("X.npy", whole(12, "i4"), (3, 4), "i4")
        done = self.run_tool("scan", "X.npy", "--output", "Y.npy", "--axis", "0", "--op", "min", "--reverse", "--json", *CPU)
        result = json.loads(done.stdout)
        self.assertEqual((result["schema"], result["operation"], result["kind"], result["direction"]), (1, "min", "inclusive", "reverse"))
        self.assertEqual((result["type"], result["shape"]), ("i4", [3, 4]))

    def test_pipe(self):
        self.write("X.npy", whole(1000, "i4"), (1000,), "i4")
        done = self.run_tool("scan", "-", "--output", "-", *CPU, input=(self.folder / "X.npy").read_bytes())
        self.assertEqual(parse_npy(done.stdout), (scan_line(whole(1000, "i4"), "sum", "i8"), (1000,), "i8"))
        self.assertEqual(self.names(), ["X.npy"])


if __name__ == "__main__":
    main()
