# SPDX-License-Identifier: Apache-2.0
"""The modelled clock is monotone: a barrier more or a slot less never makes a kernel faster.

Barriers are inserted into the course's solutions, after each statement of a block in which all threads meet anyway;
the kernels of bench/costs/pairs.cu differ by a slot or a barrier. Nor does the model turn round what an H200 gained
or lost by these.
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
import packed

PAIRS = ROOT / "bench/costs/pairs.cu"
NEARLY = 0.99
BARRIER = "__syncthreads();"
MEASURED = "experiments/20261130-pairs-h200.json"
# Form, slots and barriers of a step: each after those that it must not be slower than.
FORMS = {
    "next": ((2, 1), (2, 2), (1, 2)),
    "late": ((2, 1), (2, 2), (1, 2)),
    "first": ((2, 1), (1, 2)),
    "copies": ((3, 1), (2, 1), (2, 2), (1, 2)),
    "ahead": ((4, 2), (3, 2), (2, 2)),
}

NAMES = {
    "next": "next tile in registers",
    "late": "stored after computing",
    "first": "stored before computing",
    "copies": "copies",
    "ahead": "copies before the wait",
}
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4}
SMALL = [(form, tile) for form in FORMS for tile in ((8, 16) if form in ("next", "copies") else (16,))]
LARGE = [("next", 32)]


def traced(source: str, *options: str) -> dict[str, dict]:
    """Timelines by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.cu"
        program.write_text(source)
        done = subprocess.run(
            [
                TOOL,
                "trace",
                program,
                "-I",
                PAIRS.parent,
                "--record",
                "256",
                "--as",
                "H200",
                "--json",
                *options,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {t["policy"]: t for t in json.loads(done.stdout)["timelines"]}


def end_of_block(text: str, begin: int) -> int:
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth < 0:
            return at
    return len(text)


def statement_ends(block: str) -> list[int]:
    """Where statements of a block end, those in it left out."""
    ends, braces, brackets = [], 0, 0
    for at, c in enumerate(block):
        braces += {"{": 1, "}": -1}.get(c, 0)
        brackets += {"(": 1, ")": -1, "[": 1, "]": -1}.get(c, 0)
        ended = c == ";" or (c == "}" and not re.match(r"\s*(;|,|\)|else\b)", block[at + 1 :]))
        if ended and braces == 0 and brackets == 0:
            ends.append(at + 1)
    return ends


def with_barriers(source: str, kernel: str) -> tuple[str, int]:
    """The program with a kernel for each barrier more, kernel_1 to kernel_n, next to kernel_0."""
    source = re.sub(r"//[^\n]*", "", source)
    head = re.search(
        rf"(?:template <(?P<of>[^>]*)>\s*)?__global__[^{{;]*?\b{kernel}\((?P<takes>[^{{]*?)\) {{", source
    )
    body_at = head.end()
    body = source[body_at : end_of_block(source, body_at)]
    places = set()
    for barrier in re.finditer(re.escape(BARRIER), body):
        begin, depth = barrier.start(), 0
        while begin > 0 and depth >= 0:  # the block that it is in
            begin -= 1
            depth += {"}": 1, "{": -1}.get(body[begin], 0)
        begin += depth < 0
        block = body[begin : end_of_block(body, begin)]
        places |= {begin + end for end in statement_ends(block) if "return" not in block[:end]}
    changed = body
    for number, at in sorted(enumerate(sorted(places), 1), reverse=True):
        changed = f"{changed[:at]} if constexpr (more == {number}) {BARRIER}{changed[at:]}"
    names = ", ".join(re.findall(r"(\w+)(?:,|$)", head["takes"]))
    call = re.compile(rf"(?<!void )\b{kernel}(?:<(\w+)>)?(<<<.*?;)", re.S)
    given = call.search(source)[1]
    numbers = range(len(places) + 1)
    kernels = "".join(
        f"__global__ void {kernel}_{i}({head['takes']}) {{ {kernel}<{i}{f', {given}' if given else ''}>({names}); }}\n"
        for i in numbers
    )
    after = call.sub(
        lambda launch: " ".join(f"{kernel}_{i}{launch[2]}" for i in numbers),
        source[body_at + len(body) + 1 :],
    )
    after = re.sub(
        rf"cudaFuncSetAttribute\({kernel}(, .*?;)",
        lambda rest: " ".join(f"cudaFuncSetAttribute({kernel}_{i}{rest[1]}" for i in numbers),
        after,
    )
    of = f"int more, {head['of']}" if head["of"] else "int more"
    before = f"{source[:head.start()]}template <{of}> __device__ void {kernel}({head['takes']}) {{"
    return f"{before}{changed}}}\n{kernels}{after}", len(places)


def name_of(form: str, tile: int, slots: int, barriers: int) -> str:
    return f"{form}_{tile}_{slots}_{barriers}"


def modelled(cases: list, blocks: int) -> dict[str, dict]:
    """Timelines of the kernels of pairs.cu, by name, with so many blocks on a multiprocessor."""
    kernels, launches = [], []
    for form, tile in cases:
        for slots, barriers in FORMS[form]:
            name = name_of(form, tile, slots, barriers)
            kernels.append(
                f"__global__ void {name}(const float* a, const float* b, float* c, block_clocks* w) {{"
                f" multiply<{tile}, form::{form}, {slots}, {barriers}>(a, b, c, {tile}, steps * {tile}, w); }}"
            )
            launches.append(f"{name}<<<1, dim3({tile}, {tile})>>>(a, b, c, w);")
    for slots in (1, 2):
        kernels.append(
            f"__global__ void add_up_{slots}(const int* in, int* out, block_clocks* w) {{ add_up<{slots}>(in, out, w); }}"
        )
        launches.append(f"add_up_{slots}<<<1, scanned>>>(in, out, w);")
    arrays = "".join(
        f"{kind}* {name}; cudaMalloc(&{name}, {count} * sizeof({kind})); cudaMemset({name}, 0, {count} * sizeof({kind}));\n"
        for kind, name, count in (
            ("float", "a", "1024 * steps"),
            ("float", "b", "1024 * steps"),
            ("float", "c", 1024),
            ("int", "in", "scanned"),
            ("int", "out", "scanned"),
            ("block_clocks", "w", 1),
        )
    )
    lines = [
        "#define ANTIPHASE_MODELLED",
        '#include "pairs.cu"',
        *kernels,
        "int main() {",
        arrays,
        *launches,
        "}",
    ]
    return traced("\n".join(lines), "--blocks", str(blocks))


def measured() -> dict[str, dict[int, float]]:
    """Clocks a step of all blocks of a multiprocessor, by kernel and blocks; 0: one block alone."""
    clocks: dict[str, dict[int, float]] = {}
    for row in json.loads((packed.unpacked(ROOT / "bench/results") / MEASURED).read_text())["series"]:
        slots, barriers = (NUMBERS[words.split()[0]] for words in row["kernel"].split(", "))
        name = f"add_up_{slots}"
        if row["pair"] != "scan":
            what, tile = row["pair"].rsplit(", ", 1)
            name = name_of(next(form for form in NAMES if NAMES[form] == what), int(tile), slots, barriers)
        clocks.setdefault(name, {})[row["blocks"]] = row["multiprocessor"]
    return clocks


class Monotone(unittest.TestCase):
    def expect_no_gain(self, plain: dict, more: dict, what: str) -> None:
        with self.subTest(what=what):
            self.assertGreaterEqual(more["duration"], NEARLY * plain["duration"], what)

    def check_barriers(self, source: str, kernel: str) -> None:
        program, places = with_barriers(source, kernel)
        self.assertGreater(places, 0)
        times = traced(program)
        same = 0
        for i in range(1, places + 1):
            plain, more = times[f"{kernel}_0"], times[f"{kernel}_{i}"]
            if (more["stages"], more["steps"]) != (plain["stages"], plain["steps"]):
                continue  # a fill in two parts
            same += 1
            self.expect_no_gain(plain, more, f"{kernel}, barrier {i}")
        self.assertGreater(2 * same, places)

    def test_a_barrier_more_in_a_solution(self):
        for solution in sorted((ROOT / "docs/course/solutions").glob("*.cu")):
            source = solution.read_text()
            for kernel in re.findall(r"__global__ void (?:__launch_bounds__\(\w+\) )?(\w+)\(", source):
                if BARRIER in source:
                    with self.subTest(solution=solution.name):
                        self.check_barriers(source, kernel)

    def test_a_slot_less_or_a_barrier_more(self):
        for cases, blocks in ((SMALL + LARGE, 1), (SMALL, 4), (LARGE, 2)):
            times = modelled(cases, blocks)
            for form, tile in cases:
                order = [times[name_of(form, tile, *of)] for of in FORMS[form]]
                for better, worse in zip(order, order[1:]):
                    self.expect_no_gain(better, worse, f'{worse["policy"]} with {blocks} blocks')
            self.expect_no_gain(times["add_up_2"], times["add_up_1"], f"a scan with {blocks} blocks")

    def test_no_gain_of_an_h200_is_a_loss_of_the_model(self):
        on_h200 = measured()
        for cases, blocks, alone in ((SMALL + LARGE, 1, True), (SMALL, 4, False), (LARGE, 2, False)):
            times = {name: t["duration"] for name, t in modelled(cases, blocks).items()}
            groups = [[name_of(*case, *of) for of in FORMS[case[0]]] for case in cases] + [
                ["add_up_2", "add_up_1"]
            ]
            compared = 0
            for group in groups:
                for better, worse in itertools.permutations(group, 2):
                    gain = on_h200[worse][0 if alone else blocks] / on_h200[better][0 if alone else blocks]
                    if gain < 1.05:
                        continue
                    compared += 1
                    with self.subTest(better=better, worse=worse, blocks=blocks, h200=f"{gain:.2f}"):
                        # of 24 steps, the first loads among them
                        self.assertGreater(times[worse] / times[better], 0.98)
                        if alone and gain > 1.2 and better.startswith(("copies", "add_up")):
                            self.assertGreater(times[worse] / times[better], 1.05)
            self.assertGreater(compared, 0)


if __name__ == "__main__":
    unittest.main()
