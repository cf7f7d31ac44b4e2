# SPDX-License-Identifier: Apache-2.0
"""The result files in bench/results: reads and checks them, and selects the current figures.
docs/project/measuring.md describes the files."""
import json
import math
import pathlib

SCHEMA = 2
WITHOUT_CODE = 1  # the schema whose records lack the code of their compiled kernels
EXTENTS = {
    "gemm": ("m", "n", "k"),
    "scan": ("n",),
    "attention": ("members", "heads", "queries", "keys", "depth"),
}
# Bytes of an element; 4 for all other types.
SIZES = {"f64": 8, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i64": 8, "u64": 8}
NO_LIST = (None, None, None)  # set, group and name of a figure that belongs to no list of products
PROTOCOLS = ("rested", "hot", "graph", "event")
CHOSEN = ("gemm.fp32", "gemm.strict")  # kernels of products that are computed as auto chooses


def prefix(ladder):
    """The prefix of a ladder's kernel names. A ladder is a family, or "family-type" for steps that take
    operands of another type."""
    family, _, type = ladder.partition("-")
    return f"{family}.ladder-{type}." if type else f"{family}.ladder."


def type_of(ladder):
    return ladder.partition("-")[2] or "f32"


def bytes_of(type):
    """Bytes of an element. A user-defined type is given as, say, "16 bytes"."""
    return int(type.split()[0]) if type.endswith(" bytes") else SIZES.get(type, 4)


class BadResult(Exception):
    """A result file is invalid; the message names it."""


def codes(values):
    """(architecture, fingerprint) of each kernel that ran; None if they were not known."""
    pairs = [tuple(value.split(":")) for value in values] if isinstance(values, list) else [()]
    for pair in pairs:
        if len(pair) != 2:
            raise BadResult(
                f"code {values}: expected a list of architectures with fingerprints, such as sm_90a:0123456789abcdef"
            )
    return pairs


class Figure:
    """One record of a result file."""

    def __init__(self, record, file, number):
        self.kernel = record["kernel"]
        self.family, self.step = self.kernel.split(".")[0], self.kernel.split(".")[-1]
        self.shape = tuple(record["shape"][extent] for extent in EXTENTS[self.family])
        self.protocol = record["protocol"]
        if self.family == "attention":
            self.shape += (record["mask"],)
        self.layout, self.data = record.get("layout", "nn"), record.get("data", "uniform")
        self.type = record.get("type", "f32")
        self.adds = record.get("adds", "")
        # for products of a list: the list, and the place within it
        self.set, self.name, self.group = record.get("set"), record.get("name"), record.get("group")
        self.count, self.beta = record.get("count", 1), record.get("beta", 0)
        self.chosen = self.kernel in CHOSEN
        self.times = record["time_us"]
        self.code = codes(record["code"]) if file.schema != WITHOUT_CODE else []
        self.overlap = record.get("overlap", {}).get("formula")
        self.record = record
        self.file, self.number = file, number  # the record's number within the file

    @property
    def key(self):
        return (
            self.kernel,
            self.shape,
            self.protocol,
            self.layout,
            self.data,
            self.type,
            self.set,
            self.group,
            self.name,
        )

    @property
    def operations(self):
        """Operations of a product or a batch of products."""
        return 2 * self.count * math.prod(self.shape)

    @property
    def bytes_moved(self):
        """Bytes that a product has to read and to write."""
        m, n, k = self.shape
        return 4 * self.count * (m * k + k * n + m * n * (1 if self.beta == 0 else 2))

    def times_faster(self, than="cublas_fp32"):
        return self.times[than] / self.times["ours"] if than in self.times else None

    def rate(self, who="ours"):
        """TFLOP/s of a product or of attention, GB/s of a scan (each element read once and written once); None
        if the record lacks the rival."""
        if who not in self.times:
            return None
        if self.family == "attention":
            return self.record["tflops"] * self.times["ours"] / self.times[who]
        if self.family == "gemm":
            return self.operations / self.times[who] * 1e-6
        return 2 * bytes_of(self.type) * self.shape[0] / self.times[who] * 1e-3


class File:
    def __init__(self, path):
        self.path = path
        try:
            content = json.loads(path.read_text())
        except ValueError as failure:
            raise BadResult(f"{path.name}: not JSON: {failure}") from None
        try:
            if content["schema"] not in (WITHOUT_CODE, SCHEMA):
                raise BadResult(f"schema {content['schema']}: expected {SCHEMA}")
            self.schema = content["schema"]
            if content.get("partial"):
                raise BadResult("partial: the run was interrupted before all was measured, take it again")
            self.machine, self.date, self.commit = content["machine"], content["date"], content["commit"]
            self.name = self.machine["name"]
            records = [
                (number, record)
                for number, record in enumerate(content["records"])
                if "refused" not in record
            ]
            for _, record in records:
                require_sensible(record)
            self.figures = [Figure(record, self, number) for number, record in records]
        except (KeyError, TypeError) as failure:
            raise BadResult(f"{path.name}: {failure} is missing or is not what it has to be") from None
        except BadResult as failure:
            raise BadResult(f"{path.name}: {failure}") from None


def require_sensible(record):
    kernel = record["kernel"]
    if kernel.split(".")[0] not in EXTENTS:
        raise BadResult(f"kernel '{kernel}': expected a name that begins with one of {', '.join(EXTENTS)}")
    if record["verified"] is not True:
        raise BadResult(f"{kernel} at {record['shape']}: not verified, so its time means nothing")
    if record["protocol"] not in PROTOCOLS:
        raise BadResult(f"{kernel}: protocol '{record['protocol']}': expected one of {', '.join(PROTOCOLS)}")
    for who, time in record["time_us"].items():
        if not isinstance(time, (int, float)) or not time > 0:
            raise BadResult(f"{kernel}: time of {who} is {time}: expected a positive number of microseconds")
    if "ours" not in record["time_us"]:
        raise BadResult(f"{kernel}: no time of ours")


class Results:
    """The current figures of a folder of result files: those of the machine measured last, and the newest
    where several files have the same figure."""

    def __init__(self, folder):
        files = sorted(
            (File(path) for path in sorted(pathlib.Path(folder).glob("*.json"))),
            key=lambda file: (file.date, file.path.name),
        )
        self.files = [file for file in files if file.name == files[-1].name]
        self.figures = {}
        for file in self.files:
            for figure in file.figures:
                self.figures[figure.key] = figure

    def steps(self, ladder):
        """The steps of a ladder, in the order of the file that has most of them, the newest of several."""
        lists = [[f.step for f in file.figures if f.kernel.startswith(prefix(ladder))] for file in self.files]
        order = []
        for steps in sorted(reversed(lists), key=lambda steps: -len(set(steps))):
            order += [step for step in dict.fromkeys(steps) if step not in order]
        return order

    def of_ladder(self, ladder, protocol):
        return [
            f
            for f in self.figures.values()
            if f.kernel.startswith(prefix(ladder)) and (f.protocol, f.type) == (protocol, type_of(ladder))
        ]

    def shapes(self, ladder, protocol="rested"):
        return sorted(
            {f.shape for f in self.of_ladder(ladder, protocol)},
            key=lambda shape: (len(set(shape)) > 1, shape),  # cubes first
        )

    def find(self, ladder, step, shape, protocol="rested"):
        return self.figures.get(
            (f"{prefix(ladder)}{step}", shape, protocol, "nn", "uniform", type_of(ladder), *NO_LIST)
        )

    def product(self, precision, shape, protocol="rested", layout="nn", data="normal"):
        """The figure of `bench gemm` for one product."""
        return self.figures.get((f"gemm.{precision}", shape, protocol, layout, data, "f32", *NO_LIST))

    def products(self, **wanted):
        """All figures of `bench gemm` with these values of precision, shape, protocol, layout or data."""
        found = [
            f
            for f in self.figures.values()
            if f.family == "gemm" and f.kernel in ("gemm.fp32", "gemm.strict") and not f.set
        ]
        return [
            f
            for f in found
            if all(
                {"precision": f.step}.get(key, getattr(f, key, None)) == value
                for key, value in wanted.items()
            )
        ]

    def lists(self, kind):
        """Figures of `bench gemm` for lists of a kind: suite, random, serving or map. By the list's name,
        those of its newest file, in their order."""
        found = {}
        for file in self.files:
            for name in dict.fromkeys(f.set for f in file.figures if f.set and f.set.split()[0] == kind):
                found[name] = [f for f in file.figures if f.set == name]
        return found

    def sums(self, protocol="rested"):
        """Figures of `bench scan`: running sums."""
        return [f for f in self.figures.values() if f.kernel == "scan.sum" and f.protocol == protocol]

    def other_sums(self, protocol="rested"):
        """Figures of `bench scan`: sums by row, by key and in wider types."""
        return [
            f
            for f in self.figures.values()
            if f.kernel in ("scan.rows", "scan.by-key", "scan.wider") and f.protocol == protocol
        ]

    def own_scans(self, protocol="rested"):
        """Figures of `bench scan`: scans with a user-defined type and operator."""
        return [f for f in self.figures.values() if f.kernel == "scan.own" and f.protocol == protocol]

    def rival(self, ladder, shape, who, protocol="rested"):
        """The newest figure for that shape that has the rival's time."""
        known = [f for f in self.of_ladder(ladder, protocol) if f.shape == shape and who in f.times]
        return max(known, key=lambda f: (f.file.date, f.file.path.name), default=None)

    def gains(self, ladder, shape, protocol="rested"):
        """By step: the relative gain in speed over the previous measured step, such as 0.1; negative for a
        loss, None for the first step."""
        gains, before = {}, None
        for step in self.steps(ladder):
            figure = self.find(ladder, step, shape, protocol)
            if figure:
                gains[step] = before.times["ours"] / figure.times["ours"] - 1 if before else None
                before = figure
        return gains


def shape_text(shape):
    if len(shape) == 6:
        members, heads, queries, keys, depth, mask = shape
        rows = queries if queries == keys else f"{queries}×{keys}"
        return f"{members}×{heads}×{rows}×{depth}{', causal' * (mask == 'causal')}"
    if len(shape) == 3:
        return f"{shape[0]}³" if len(set(shape)) == 1 else "×".join(map(str, shape))
    n = shape[0]
    return (
        "2" + str(n.bit_length() - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        if n & (n - 1) == 0
        else str(n)
    )


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def gain_text(gain):
    return "" if gain is None else f"{gain * 100:+.1f} %".replace("-", "−")


def rate_text(rate):
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 10 else f"{rate:.2f}"
