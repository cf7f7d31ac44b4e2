#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the machine code of the ladder's kernels.

    check_codegen.py resources --objects FILE... --cuobjdump TOOL
    check_codegen.py resources --source FILE.cu --nvcc TOOL --include DIR...
    check_codegen.py WHAT --objects FILE... --cuobjdump TOOL

resources No stack frame, no spills, and register counts as expected. They are read from object files, or,
          without cuobjdump, from the report of a compilation.
packets   Kernels whose policy copies 16 bytes at a time do so (LDGSTS.128), and read and write 16 bytes at a
          time (LDS.128, STG.128). No other kernel copies packets.
product   The main loop of the split product is short, uses no local memory (hardly any, if it splits A
          itself) and waits for the Tensor Cores once. The epilogue stores pairs (STG.64). The rest uses
          little local memory.
tf32      The main loop of products of TF32 parts is short, computes addresses warp-uniformly, reads a long
          operand along k by ldmatrix, and uses no local memory. In kernels that keep the short operand, warps
          stay together.
vector    A matrix times a vector issues all loads of a turn before it uses the first.
memory    Tensor Core kernels with loops that use all registers keep nothing in local memory or, with split
          operands, no more than recomputation may.
rows      For operands with rows of any alignment, warps copy eight rows in few instructions. Outputs on their
          way through shared memory are read together before the first is stored, not one by one.
reads     Lanes that read operands straight into registers issue all reads before they wait for any.
releases  No read from shared memory is in flight when a warp releases a slot that bulk copies fill again.

Exit status: 0 as expected, 1 not, 2 usage, 77 nothing to check here.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

from policies import arguments_in, policy_in

ARCHITECTURE = "sm_90a"
NOTHING_TO_CHECK = 77


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Kernel:
    """One kernel: the policy in its name, and the compiler's report on its code."""

    def __init__(self, name):
        self.name = name.replace("antiphase::", "")
        self.registers = self.memory = None  # memory: bytes of stack and local memory per thread
        how = policy_in(self.name, "policy")
        self.tiled = how is not None
        self.outputs = how["thread"]["m"] * how["thread"]["n"] if how else 1
        self.threads = how["tile"]["m"] * how["tile"]["n"] // self.outputs if how else 1024
        operands = [how["a"], how["b"]] if how else []
        self.copy_widths = [one["copy_width"] for one in operands]
        # Operands that are contiguous along k and stored k-major are transposed in registers on the way.
        self.copies_packets = any(
            one["copy_width"] == 4 and (one["order"], one["along"]) != ("k_major", "k") for one in operands
        )
        self.one_block = how is not None and how["unroll"] > 0
        self.loads = how is None or how.get("run", "all") != "compute_only"

    def short(self):
        """The name without the parameter type, which repeats the policy."""
        return self.name.split(">(")[0].removeprefix("void cuda::run_kernel<").strip("> ")

    def most_registers(self):
        """Register limit. Blocks of 1024 threads leave a thread 64 registers. Kernels that copy packets keep
        512 threads of a multiprocessor resident; the others with several outputs per thread also hold
        addresses of single floats, and more of them the smaller the block. Kernels with code for partial
        tiles (strict) have a multiprocessor to themselves."""
        if "dots_vector" in self.name:  # blocks of 256 threads along k, one of 512 across
            how = arguments_in(self.name, "dots_vector")
            return 128 if how["Across"] else {1: 64, 2: 80}[how["Rows"]]
        if "short_product" in self.name:  # four blocks of 128 threads
            return 128
        if "dots_by_lanes" in self.name:  # five blocks of 128 threads; for operands across k one of 1024
            return 64 if arguments_in(self.name, "dots_by_lanes")["Across"] else 96
        if self.threads == 1024:
            return 64
        if self.one_block:
            return 255
        if 4 in self.copy_widths:
            return 128
        return 168 if self.threads >= 256 else 224

    def faults(self):
        if self.memory > 0:
            yield f"{self.memory} bytes of stack and local memory per thread, expected none"
        if self.registers > self.most_registers():
            yield f"{self.registers} registers per thread, expected at most {self.most_registers()}"
        if self.registers < self.outputs:
            yield f"{self.registers} registers per thread cannot hold its {self.outputs} sums"


def demangled(names):
    return subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout.split("\n")


def kernels_of(reports):
    """Kernels from (mangled name, registers, bytes of memory)."""
    reports = [r for r in reports if "run_kernel" in r[0]]
    kernels = [Kernel(name) for name in demangled([r[0] for r in reports])][: len(reports)]
    for kernel, (_, kernel.registers, kernel.memory) in zip(kernels, reports):
        pass
    return kernels


def resources_in_object(cuobjdump, path):
    text = output_of(cuobjdump, "-arch", ARCHITECTURE, "--dump-resource-usage", path)
    found = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", text)
    return kernels_of([(name, int(reg), int(stack) + int(local)) for name, reg, stack, local in found])


def resources_of_compilation(nvcc, includes, source):
    with tempfile.TemporaryDirectory() as folder:
        code = ARCHITECTURE.removeprefix("sm_")
        text = output_of(
            nvcc,
            "-cubin",
            "-o",
            f"{folder}/out.cubin",
            f"-gencode=arch=compute_{code},code={ARCHITECTURE}",
            "-std=c++20",
            "-O3",
            "-DNDEBUG",
            "--expt-relaxed-constexpr",
            "-Xptxas=-v",
            *[f"-I{folder}" for folder in includes],
            source,
        )
    found = re.findall(
        r"Function properties for (\S+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\s+"
        r"ptxas info\s*: Used (\d+) registers",
        text,
    )
    return kernels_of(
        [(name, int(reg), int(stack) + int(stores) + int(loads)) for name, stack, stores, loads, reg in found]
    )


def disassembles(cuobjdump):
    """True if cuobjdump finds nvdisasm, which some of its packages lack."""
    beside = os.path.join(os.path.dirname(os.path.realpath(cuobjdump)), "nvdisasm")
    return "NVDISASM_PATH" in os.environ or os.access(beside, os.X_OK) or shutil.which("nvdisasm") is not None


def code_in_object(cuobjdump, path):
    """Returns pairs of kernel and instructions."""
    parts = re.split(
        r"^\s*Function : (\S+)\n",
        output_of(cuobjdump, "-arch", ARCHITECTURE, "-sass", path),
        flags=re.MULTILINE,
    )
    pairs = [(name, code) for name, code in zip(parts[1::2], parts[2::2]) if "run_kernel" in name]
    return list(
        zip([Kernel(name) for name in demangled([name for name, _ in pairs])], [code for _, code in pairs])
    )


def missing_packets(kernel, code):
    in_packets = kernel.loads and 4 in kernel.copy_widths
    for wanted, pattern, what in (
        (in_packets and kernel.copies_packets, r"\bLDGSTS\S*\.128\b", "16-byte asynchronous copies"),
        (in_packets, r"\bLDS\S*\.128\b", "16-byte reads from shared memory"),
        (in_packets, r"\bSTG\S*\.128\b", "16-byte writes of C"),
    ):
        found = re.search(pattern, code) is not None
        if wanted and not found:
            yield f"no {what}"
        if found and kernel.loads and what.endswith("copies") and not wanted:
            yield f"{what}, which its policy does not ask for"


MAIN_LOOP = 240  # instructions at most: 12 HGMMA, 64 additions, 2 waits, 2 releases, addresses
TAIL_MEMORY = 16  # bytes of local memory: for recomputation, which hardly ever runs, or addresses of loads


def instructions(code):
    """Returns pairs of address and instruction."""
    return [
        (int(address, 16), text)
        for address, text in re.findall(r"^\s+/\*([0-9a-f]+)\*/\s+(.*?)\s*;", code, flags=re.MULTILINE)
    ]


def loops_of(lines):
    """Indices in `lines` of the first and last instruction of each backward jump."""
    places = {address: i for i, (address, _) in enumerate(lines)}
    jumps = [
        (places[int(target, 16)], i)
        for i, (_, text) in enumerate(lines)
        for target in re.findall(r"BRA 0x([0-9a-f]+)", text)
        if int(target, 16) in places
    ]
    return [(first, last) for first, last in jumps if first < last]


def main_loop(code, multiplies):
    """Returns the shortest loop around the kernel's `multiplies` HGMMA; all of its code; and the fault if there
    is no such loop."""
    lines = instructions(code)
    found = [i for i, (_, text) in enumerate(lines) if "HGMMA" in text]
    if len(found) != multiplies:
        return [], lines, f"{len(found)} Tensor Core instructions, expected the {multiplies} of one chunk"
    around = [loop for loop in loops_of(lines) if loop[0] < found[0] and loop[1] > found[-1]]
    first, last = min(around, key=lambda loop: loop[1] - loop[0])
    return [text for _, text in lines[first : last + 1]], lines, None


def of_opcode(loop, names):
    return sum(re.search(rf"\b({names})\b", text) is not None for text in loop)


# instructions at most: 24 for Tensor Cores, 128 + 48 to split and inspect elements, 64 additions, addresses,
# waits, and 50 that find nonzeros, of which most chunks skip all
TF32_LOOP = 415
# more if the long operand lies across k, and again if threads copy: 32 reads instead of 8, and as many to
# count nonzeros
READ_ONE_BY_ONE = 75
TO_UNIFORM = 8  # R2UR at most: each shared-memory address took two, for 24 HGMMA


def tf32_faults(kernel, code):
    how = policy_in(kernel.name, "tf32_policy")
    by_tma = how["loader"] == "tma"
    by_matrices = how["long_along_k"] and by_tma
    loop, _, fault = main_loop(code, 24)
    if fault:
        yield fault
        return
    most = TF32_LOOP + (0 if by_matrices else READ_ONE_BY_ONE) + (0 if by_tma else READ_ONE_BY_ONE)
    if len(loop) > most:
        yield f"{len(loop)} instructions in the main loop, expected at most {most}"
    if of_opcode(loop, "R2UR") > TO_UNIFORM:
        yield f"{of_opcode(loop, 'R2UR')} registers become uniform in the main loop, expected at most {TO_UNIFORM}"
    if by_matrices and of_opcode(loop, "LDS") > 0:
        yield f"{of_opcode(loop, 'LDS')} reads from shared memory that are none of matrices, expected none"
    if of_opcode(loop, "LDL|STL") > 0:
        yield f"{of_opcode(loop, 'LDL|STL')} accesses to local memory in the main loop, expected none"


DIVERGENT = 4  # branches at most for a warp whose lanes may have parted


def kept_faults(_, code):
    """The compiler must see that all lanes of a warp walk through the same tiles: a condition that was the same
    in all lanes, but no vote, made each wait and store ready for lanes that had parted, and products with few k
    a fifth slower on an H200."""
    lines = [text for _, text in instructions(code)]
    if (parted := of_opcode(lines, r"BRA\.DIV")) > DIVERGENT:
        yield f"{parted} branches for lanes that have parted, expected at most {DIVERGENT}"
    if (local := of_opcode(lines, "LDL|STL")) > 0:
        yield f"{local} accesses to local memory, expected none"


LOADS_ACROSS = 60  # instructions at most, from the first to the last load of two groups of k


def vector_faults(kernel, code):
    """A thread must issue all loads of a turn before it uses the first, or memory idles: a matrix of 64 MB
    took 20.7 us instead of 17.1 when the last three of twelve loads followed the first multiplications.
    Inspects loops whose loads are all of 16 bytes.
    """
    how = arguments_in(kernel.name, "dots_vector")
    across, rows = how["Across"], how["Rows"]
    lines = instructions(code)
    loops = [[text for _, text in lines[first : last + 1]] for first, last in loops_of(lines)]
    loops = [
        loop
        for loop in loops
        if of_opcode(loop, r"LDG\.E\.128") and not any(re.search(r"\bLDG\.E R", text) for text in loop)
    ]
    wanted, loads = (
        (1, 10) if across else (4, 4 * rows + 4)
    )  # a loop for each number of slots; 4 groups, and the vector's
    if len(loops) != wanted:
        yield f"{len(loops)} loops that load 16 bytes at a time, expected {wanted}"
    for loop in loops:
        at = [i for i, text in enumerate(loop) if "LDG.E.128" in text]
        first_use = next(i for i, text in enumerate(loop) if "F2F.F64.F32" in text and i > at[0])
        if len(at) != loads:
            yield f"{len(at)} loads of 16 bytes in a loop, expected {loads}"
        elif not across and at[-1] > first_use:
            yield f"{sum(i > first_use for i in at)} of {loads} loads after the first use of one"
        elif across and at[-1] - at[0] > LOADS_ACROSS:
            yield f"{at[-1] - at[0]} instructions from the first load to the last, expected at most {LOADS_ACROSS}"


def product_faults(code):
    loop, lines, fault = main_loop(code, 12)
    if fault:
        yield fault
        return
    if len(loop) > MAIN_LOOP:
        yield f"{len(loop)} instructions in the main loop, expected at most {MAIN_LOOP}"
    local = of_opcode(loop, "LDL|STL")
    if local > 0:
        yield f"{local} accesses to local memory in the main loop, expected none"
    waits = sum("WARPGROUP.DEPBAR" in text for text in loop)
    if waits != 1:
        yield f"{waits} waits for the Tensor Cores in the main loop, expected 1"
    shared_by = policy_in(code.split("\n", 1)[0], "product_policy")["cluster"]
    pairs = sum("STG.E.64" in text for _, text in lines)
    if pairs < 31 // shared_by:
        yield f"{pairs} stores of pairs, expected {32 // shared_by}"


def of_split_operands(kernel):
    return re.search(r"split_(mma_)?product", kernel.name) is not None


def memory_faults(kernel):
    most = TAIL_MEMORY if of_split_operands(kernel) or "mma_product" in kernel.name else 0
    if kernel.memory > most:
        yield f"{kernel.memory} bytes of stack and local memory per thread, expected at most {most}"


# instructions at most, from the first 4-byte copy to the eighth: a few for each address
EIGHT_COPIES = 44
# outputs at most that are read and stored one after the other: what is seldom stored, or computed again by the
# kernels that keep an operand, has no registers to wait in
READ_AND_STORED, COMPUTED_AGAIN = 5, 11


def row_faults(kernel, code):
    """A generic store may alias shared memory, so the compiler does not move the next read before it."""
    lines = [text for _, text in instructions(code)]
    copies = [i for i, text in enumerate(lines) if re.search(r"\bLDGSTS\.E \[", text)]
    for first, last in zip(copies[::8], copies[7::8]):
        if last - first >= EIGHT_COPIES:
            yield f"{last - first + 1} instructions for eight copies of 4 bytes, expected at most {EIGHT_COPIES}"
    accesses = [
        found[1]
        for found in (re.search(r"\b(LDS|ST|STG|STS|LD|LDG)\b(?! RZ)", text) for text in lines)
        if found
    ]
    pairs = most = 0
    for before, now in zip(accesses, accesses[1:]):
        pairs = (
            pairs + 1
            if before == "LDS" and now in ("ST", "STG")
            else pairs
            if before in ("ST", "STG") and now == "LDS"
            else 0
        )
        most = max(most, pairs)
    limit = COMPUTED_AGAIN if "tf32_kept" in kernel.name else READ_AND_STORED
    if most > limit:
        yield f"{most} outputs are read from shared memory and stored one after the other, expected at most {limit}"


READ_TOGETHER = 3  # a branch with at least this many reads of two floats counts


def is_whole(kernel):
    return "kept_lines" in kernel.name and policy_in(kernel.name, "fp64_policy").get("whole", False)


def read_faults(kernel, code):
    """A read must not be used in the branch that issues it. If the branches for an operand's layouts move
    their reads to the same registers, each read is waited for before the other operand's are issued, and a
    round over k takes up to 1.7 times as long. Kernels for a single layout only have to read both operands
    before they use either."""
    one_way = "kept_lines" in kernel.name
    lines = instructions(code)
    targets = {
        int(target, 16) for _, text in lines for target in re.findall(r"\bBRA\b.*?0x([0-9a-f]+)", text)
    }
    # registers that this branch has read; number of reads before each use
    branches, waiting, reads, used = 0, set(), 0, []
    for address, text in [*lines, (0, "EXIT")]:
        opcode, _, operands = re.sub(r"^@!?U?P\w+ ", "", text).partition(" ")
        if address in targets or opcode.startswith(("BRA", "EXIT", "BAR")):
            if reads >= READ_TOGETHER:
                branches += 1
                if early := sum(before < reads or not one_way for before in used):
                    yield f"{early} uses of what was read in a branch of {reads} reads of two floats"
            waiting, reads, used = set(), 0, []
        if found := re.match(r"R(\d+), desc", operands) if opcode.startswith("LDG.E.64") else None:
            waiting |= {int(found[1]), int(found[1]) + 1}
            reads += 1
        elif any(
            int(register) in waiting for register in re.findall(r"\bR(\d+)\b", operands.partition(",")[2])
        ):
            used.append(reads)
    if branches == 0:
        yield "no branch was found that reads by two floats"


def release_faults(kernel, code):
    """An arrival does not wait for reads in flight, and orders nothing for bulk copies: on an H200 the next tile
    overwrote scales that attention's kernels had yet to read. Sums in shared memory that pass from one warpgroup to
    the other are written by threads, for which the arrival suffices."""
    of_gradients = policy_in(kernel.name, "gradient_policy")
    most = 1 if of_gradients and of_gradients["shared"] else 0
    in_flight = []  # sets of registers that an instruction reads together: all are there once one is used
    early = 0
    for _, text in instructions(code):
        opcode, _, operands = re.sub(r"^@!?U?P\w+ ", "", text).partition(" ")
        first, _, rest = operands.partition(",")
        if opcode.startswith("FENCE.VIEW.ASYNC"):
            in_flight.clear()
        elif opcode.startswith("SYNCS.ARRIVE"):
            early += bool(in_flight)
        used = set(re.findall(r"\bR\d+\b", operands if opcode.startswith("ST") else rest))
        in_flight = [registers for registers in in_flight if not registers & used]
        if opcode.split(".")[0] == "LDS" and (to := re.fullmatch(r"R(\d+)", first)):
            registers = {"64": 2, "128": 4}.get(opcode.split(".")[-1], 1)
            in_flight.append({f"R{int(to[1]) + i}" for i in range(registers)})
    if early > most:
        yield f"{early} arrivals while reads are in flight, expected at most {most}"


def linear_faults(code):
    """A vector instruction between two products of a slot costs more than the product of a narrow tile, a vote
    around a copy serialises the loading warp, and a wait whose address is in a vector register tells of a loop
    that is computed by each lane: of 64 x 64 tiles it took a third longer on an H200."""
    lines = instructions(code)
    found = [i for i, (_, text) in enumerate(lines) if "HGMMA" in text]
    if not found:
        yield "no Tensor Core instruction"
        return
    between = [text for _, text in lines[found[0] : found[-1]] if not re.match(r"HGMMA|U|NOP", text)]
    if between:
        yield f"between the products of a slot: {'; '.join(between[:3])}"
    waits = [text for _, text in lines if "SYNCS.PHASECHK" in text]
    by_lane = [text for text in waits if "[UR" not in text]
    if by_lane or len(waits) < 2:
        yield f"{len(waits)} waits, by each lane: {'; '.join(by_lane[:3]) or 'none'}"
    # VOTEU.ALL makes a predicate of lanes uniform, once: whom a warp of a pair of blocks releases
    votes = sum(("VOTE" in text and "VOTEU.ALL" not in text) or "U.ANY" in text for _, text in lines)
    if votes > 0:
        yield f"{votes} votes, expected none"


def report(checked, wanted):
    faults = 0
    for kernel, found in checked:
        for fault in found:
            faults += 1
            print(f"{kernel.short()}: {fault}", file=sys.stderr)
    print(f"{len(checked)} kernels checked for {ARCHITECTURE}, {faults} faults")
    if not checked or not any(wanted(kernel) for kernel, _ in checked):
        sys.exit("the kernels that this check is about were not found")
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "check",
        choices=(
            "resources",
            "packets",
            "product",
            "tf32",
            "vector",
            "memory",
            "rows",
            "reads",
            "linear",
            "releases",
        ),
    )
    parser.add_argument("--objects", nargs="*", default=[])
    parser.add_argument("--cuobjdump")
    parser.add_argument("--source")
    parser.add_argument("--nvcc")
    parser.add_argument("--include", nargs="*", default=[])
    options = parser.parse_args()

    if options.check == "resources" and options.source:
        kernels = resources_of_compilation(options.nvcc, options.include, options.source)
        return report([(k, list(k.faults())) for k in kernels], lambda k: k.tiled)
    if not options.cuobjdump:
        print("skipped: there is no cuobjdump to read the compiled code with")
        return NOTHING_TO_CHECK
    objects = [o for o in options.objects if ARCHITECTURE in output_of(options.cuobjdump, "--list-elf", o)]
    if not objects:
        print(f"skipped: the kernels were not compiled for {ARCHITECTURE}")
        return NOTHING_TO_CHECK
    if options.check == "resources":
        kernels = [k for o in objects for k in resources_in_object(options.cuobjdump, o)]
        return report([(k, list(k.faults())) for k in kernels], lambda k: k.tiled)
    if options.check == "memory":
        kernels = [k for o in objects for k in resources_in_object(options.cuobjdump, o)]
        return report(
            [(k, list(memory_faults(k))) for k in kernels],
            lambda k: "mma_product" in k.name or of_split_operands(k),
        )
    if not disassembles(options.cuobjdump):
        print("skipped: there is no nvdisasm for cuobjdump to read the compiled code with")
        return NOTHING_TO_CHECK
    code = [pair for o in objects for pair in code_in_object(options.cuobjdump, o)]
    if options.check == "rows":
        return report(
            [(k, list(row_faults(k, text))) for k, text in code],
            lambda k: "ring_product" in k.name or "tf32_product" in k.name,
        )
    if options.check == "reads":
        own = [
            (k, text) for k, text in code if re.search(r"warp_tile|block_tile|kept_lines.* true\}", k.name)
        ]
        return report([(k, list(read_faults(k, text))) for k, text in own], lambda k: "block_tile" in k.name)
    if options.check == "vector":
        own = [(k, text) for k, text in code if "dots_vector" in k.name]
        return report([(k, list(vector_faults(k, text))) for k, text in own], lambda k: True)
    if options.check == "linear":
        own = [(k, text) for k, text in code if "tile_product" in k.name]
        return report([(k, list(linear_faults(text))) for k, text in own], lambda k: True)
    if options.check == "releases":
        own = [(k, text) for k, text in code if re.search(r"(forward|gradient)_kernel", k.name)]
        return report([(k, list(release_faults(k, text))) for k, text in own], lambda k: "forward" in k.name)
    if options.check == "tf32":
        faults_of = {"tf32_product": tf32_faults, "tf32_kept": kept_faults}
        own = [(k, text, faults_of[word]) for k, text in code for word in faults_of if f"{word}<" in k.name]
        return report(
            [(k, list(faults(k, text))) for k, text, faults in own], lambda k: "tf32_kept" in k.name
        )
    if options.check == "product":
        memory = {k.name: k.memory for o in objects for k in resources_in_object(options.cuobjdump, o)}
        for k, text in code:
            k.excess = [f"{memory[k.name]} bytes of local memory"] if memory[k.name] > TAIL_MEMORY else []
        return report(
            [(k, k.excess + list(product_faults(f"{k.name}\n{text}"))) for k, text in code], of_split_operands
        )
    return report([(k, list(missing_packets(k, text))) for k, text in code], lambda k: 4 in k.copy_widths)


if __name__ == "__main__":
    sys.exit(main())
