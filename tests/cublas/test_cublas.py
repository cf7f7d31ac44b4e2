#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libantiphase_cublas.so in front of a fake cuBLAS with the real one's names and version node, on the CPU
executor.

    test_cublas.py WHAT --root ROOT --interposer FILE

    linked      a program that is linked with cuBLAS, with lazy and with immediate binding
    lt          cublasLtMatmul
    halves      products in 16 bits, and of FP32, that are to be batch-invariant
    loaded      libraries that a program loads with RTLD_LOCAL, with two versions of cuBLAS in one process
    by_name     libraries that ask for functions by dlsym()
    unusual     values, extents and threads that hardly any program has; RTLD_DEEPBIND and dlmopen()
    enabled     a program that switches to the interposer at runtime
    settings    environment variables, predictions, the report
    calls       single products: the environment's effect on them, and their reports
    triangles   functions of triangles and symmetric matrices, split into blocks
    ended       programs that are killed, crash or leave, as children of antiphase_cublas_run()
    symbols     the interposer's exported symbols and its dependencies
    signatures  types of its entries' parameters, against cuBLAS's own header

Exit status: 0 right, 1 wrong, 77 there is no header of cuBLAS 12 or later.
"""
import argparse
import errno
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

OF_THE_SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux[\w-]*)\.so\.\d+")
ON_THE_CPU = {"ANTIPHASE_DEVICE": "cpu", "ANTIPHASE_LEAST": "0"}


class Clients:
    """A folder of compiled programs and libraries, with the interposer to preload."""

    def __init__(self, options, folder):
        self.root, self.sources = options.root, options.root / "tests/cublas"
        self.interposer, self.folder = options.interposer, folder
        for version in (12, 13, 14):
            (folder / "fake.map").write_text(f"libcublas.so.{version} {{ global: cublas*; local: *; }};\n")
            self.compile(
                "fake_cublas.c",
                f"libcublas.so.{version}",
                "-shared",
                f"-DLIBRARY={version}",
                f"-Wl,-soname,libcublas.so.{version}",
                f"-Wl,--version-script={folder / 'fake.map'}",
            )
        for name, define in (("libfirst.so", "FIRST"), ("libsecond.so", "SECOND"), ("libother.so", "OTHER")):
            self.compile("neighbours.c", name, "-shared", f"-D{define}", f"-Wl,-soname,{name}")

    def compile(self, source, output, *flags):
        self.execute(
            "gcc",
            "-std=gnu11",
            "-O1",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{self.root}",
            f"-I{self.sources}",
            self.sources / source,
            "-o",
            self.folder / output,
            "-Wl,--no-as-needed",
            *(flag for flag in flags),
            f"-Wl,-rpath,{self.folder}",
            "-ldl",
            "-lm",
        )
        return self.folder / output

    def client(self, name, version=13, *flags):
        return self.compile(
            "client.c",
            name,
            "-shared",
            f"-DLIBRARY_EXPECTED={version}",
            *flags,
            self.folder / f"libcublas.so.{version}",
        )

    def table(self):
        """The interposer's entries: each name with the types of its parameters."""
        rows = self.folder / "rows.c"
        rows.write_text(
            """#include "preload/cublas/interpose/entry_points.h"
                           #define TYPE(type, name) , type
                           #define OTHER(entry) entry takes;
                           #define PRODUCT(entry, SIGNATURE, INT) entry takes void* SIGNATURE(TYPE, INT);
                           #define TRIANGLE(entry, SIGNATURE, INT, family) PRODUCT(entry, SIGNATURE, INT)
                           AP_CUBLAS_ENTRIES(PRODUCT, TRIANGLE, OTHER)"""
        )
        said = self.execute("gcc", "-E", "-P", f"-I{self.root}", rows).stdout
        return {
            name: ["".join(one.split()) for one in types.split(",")]
            for name, types in re.findall(r"(\w+) takes([^;]*);", said)
        }

    def host(self):
        return self.compile("host.c", "host", self.folder / "libfirst.so", self.folder / "libsecond.so")

    @staticmethod
    def execute(*command, **environment):
        words = [str(word) for word in command]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHASE_")}
        done = subprocess.run(words, text=True, capture_output=True, env=clean | environment, timeout=100)
        done.raw = done.stderr
        # remove the process number: see calls()
        done.stderr = re.sub(r"^antiphase\[\d+\]", "antiphase", done.stderr, flags=re.M)
        if done.returncode != 0:
            sys.exit(
                f"{' '.join(words)} with {environment}\nreturned {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done

    def run(self, taken, *command, **environment):
        """Runs a client. It expects its products to be taken (1), all but those with arrays of pointers (2),
        or none (0). Returns its output and the interposer's."""
        program, *words = command
        return self.execute(program, taken, *words, LD_PRELOAD=str(self.interposer), **environment)


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")


def fake_lt(clients):
    (clients.folder / "fake.map").write_text("libcublasLt.so.13 { global: cublas*; local: *; };\n")
    return clients.compile(
        "fake_cublas_lt.c",
        "libcublasLt.so.13",
        "-shared",
        "-Wl,-soname,libcublasLt.so.13",
        f"-Wl,--version-script={clients.folder / 'fake.map'}",
    )


def halves(clients):
    lt = fake_lt(clients)
    client = clients.compile(
        "client_halves.c", "libclient.so", "-shared", lt, clients.folder / "libcublas.so.13"
    )
    clients.execute(clients.host(), 0, client)
    clients.run(0, clients.host(), client, **ON_THE_CPU)
    invariant = {"ANTIPHASE_DEVICE": "cpu", "ANTIPHASE_BATCH_INVARIANT": "1"}
    said = clients.run(1, clients.host(), client, **invariant)
    expect(re.search(r"(\d+) taken, \d+ passed on, 0 faults", said.stdout) is not None, True, said.stdout)
    clients.run(0, clients.host(), client, **invariant, ANTIPHASE_DISABLE="1")
    # Profiles take nothing; a precision that is none passes everything on.
    clients.run(0, clients.host(), client, **invariant, ANTIPHASE_PROFILE="1")
    clients.run(0, clients.host(), client, **invariant, ANTIPHASE_PRECISION="no")
    # FP32 under the switch, of any size, TF32 asked for included.
    all_of_fp32 = clients.client("libclient_fp32.so")
    clients.run(1, clients.host(), all_of_fp32, **invariant, ANTIPHASE_TF32="take")


def linked(clients):
    for name, flags in (("lazy", ["-Wl,-z,lazy"]), ("now", ["-Wl,-z,now"])):
        client = clients.client(f"libclient_{name}.so", 13, *flags)
        through_a_library = clients.compile(
            "host.c", f"through_{name}", "-DLINKED", *flags, client, clients.folder / "libcublas.so.13"
        )
        # A version whose symbol node the interposer does not know.
        by_itself = clients.compile(
            "host.c",
            name,
            "-DLINKED",
            "-DLIBRARY_EXPECTED=14",
            clients.sources / "client.c",
            *flags,
            clients.folder / "libcublas.so.14",
        )
        for program in (through_a_library, by_itself):
            clients.execute(program, 0)  # the client alone
            clients.run(1, program, **ON_THE_CPU)


def lt(clients):
    fake = fake_lt(clients)
    client = clients.compile("client_lt.c", "libclient.so", "-shared", fake)
    clients.execute(clients.host(), 0, client)
    clients.run(1, clients.host(), client, **ON_THE_CPU)
    clients.run(1, clients.host(), client, **ON_THE_CPU, ANTIPHASE_TF32="take")
    invariant = {"ANTIPHASE_DEVICE": "cpu", "ANTIPHASE_BATCH_INVARIANT": "1"}
    clients.run(1, clients.host(), client, **invariant, ANTIPHASE_TF32="take")
    clients.run(0, clients.host(), client, **ON_THE_CPU, ANTIPHASE_DISABLE="1")
    # (13 * 9 * 11)^(1/3) = 10.9
    clients.run(0, clients.host(), client, **ON_THE_CPU | {"ANTIPHASE_LEAST": "11"})
    profile = clients.run(0, clients.host(), client, **ON_THE_CPU, ANTIPHASE_PROFILE="1").stderr
    for said in (
        "bias",
        "ReLU",
        "bias + ReLU",
        "GELU",
        "bias + GELU",
        "ReLU + an auxiliary matrix",
        "gradient of GELU + an auxiliary matrix",
        "sums of A",
    ):
        expect(f", {said} " in profile, True, f"epilogue '{said}' in {profile}")


def loaded(clients):
    # Linked with the interposer itself before cuBLAS: the originals follow it in the lookup order.
    before = clients.compile(
        "client.c",
        "libclient_before.so",
        "-shared",
        "-DLIBRARY_EXPECTED=13",
        clients.interposer,
        f"-Wl,-rpath,{clients.interposer.parent}",
        clients.folder / "libcublas.so.13",
    )
    clients.run(1, clients.host(), before, **ON_THE_CPU)
    both = [clients.client(f"libclient_{version}.so", version) for version in (13, 12)]
    clients.execute(clients.host(), 0, *both)
    clients.run(1, clients.host(), *both, **ON_THE_CPU)
    clients.run(1, clients.host(), *both[::-1], **ON_THE_CPU)


def by_name(clients):
    both = []
    for version in (13, 14):  # the interposer does not know the node of version 14
        client = clients.compile(
            "client.c",
            f"libclient_{version}.so",
            "-shared",
            f"-DLIBRARY_EXPECTED={version}",
            f'-DBY_NAME="libcublas.so.{version}"',
        )
        clients.execute(clients.host(), 0, client)
        clients.run(1, clients.host(), client, **ON_THE_CPU)
        both.append(client)
    # Both have resolved their functions before either calls.
    clients.execute(clients.host(), 0, *both)
    clients.run(1, clients.host(), *both, **ON_THE_CPU)
    clients.run(1, clients.host(), *both[::-1], **ON_THE_CPU)


def unusual(clients):
    program = clients.compile("unusual.c", "unusual", clients.folder / "libcublas.so.13")
    expect(clients.execute(program, "passed").stdout, "0 taken\n", "the program alone")
    expect(
        clients.execute(program, "taken", LD_PRELOAD=str(clients.interposer), **ON_THE_CPU).stdout,
        "13 taken\n",
        "after the interposer",
    )
    # Libraries that see their own cuBLAS first, and those in another namespace of the dynamic linker, keep
    # it.
    apart = clients.compile(
        "host.c", "apart", "-DAPART", clients.folder / "libfirst.so", clients.folder / "libsecond.so"
    )
    client = clients.client("libclient.so")
    for way in ("deepbind", "namespace"):
        for environment in ({}, {"LD_PRELOAD": str(clients.interposer), **ON_THE_CPU}):
            clients.execute(apart, 0, way, client, **environment)


def enabled(clients):
    clients.client("libclient_gone.so")
    early = [
        clients.client("libclient_lazy.so", 12, "-Wl,-z,lazy"),
        clients.client("libclient_no_plt.so", 13, "-fno-plt"),
        clients.client("libclient_now.so", 13, "-Wl,-z,now,-z,relro"),
    ]
    late = clients.client("libclient_late.so", 13, "-Wl,-z,now,-z,relro")
    program = clients.compile("host_enabled.c", "host_enabled")
    clients.execute(program, clients.interposer, *early, "--", late, **ON_THE_CPU)
    for name, flags in (("itself_lazy", ["-Wl,-z,lazy"]), ("itself_now", ["-Wl,-z,now,-z,relro"])):
        itself = clients.compile(
            "host_enabled.c",
            name,
            "-DLINKED",
            "-DLIBRARY_EXPECTED=14",
            clients.sources / "client.c",
            *flags,
            clients.folder / "libcublas.so.14",
        )
        clients.execute(itself, clients.interposer, "--", late, **ON_THE_CPU)


def settings(clients):
    program = (clients.host(), clients.client("libclient.so"))
    clients.run(0, *program, **ON_THE_CPU, ANTIPHASE_DISABLE="1")
    clients.run(1, *program, **ON_THE_CPU, ANTIPHASE_DISABLE="0")
    clients.run(2, *program, **ON_THE_CPU, ANTIPHASE_PRECISION="strict")
    clients.run(1, *program, **ON_THE_CPU | {"ANTIPHASE_LEAST": "10"})  # (13 * 9 * 11)^(1/3) = 10.9
    clients.run(0, *program, **ON_THE_CPU | {"ANTIPHASE_LEAST": "11"})
    clients.run(1, *program, **ON_THE_CPU, ANTIPHASE_TF32="take")
    clients.run(1, *program, ANTIPHASE_DEVICE="cpu")  # a gain is predicted for small ones
    said = clients.run(1, *program, **ON_THE_CPU)
    count = re.search(r"(\d+) taken, (\d+) passed on, 0 faults", said.stdout)
    # The last two come from an original that calls another.
    report = re.fullmatch(
        r"antiphase: (\d+) of (\d+) products computed \(\d+ %\), \d+ of them small products, \S+ s saved as predicted; passed on: (.*)\n",
        said.stderr,
    )
    if not report:
        sys.exit(f"the report: {said.stderr!r}")
    reasons = {words: int(number) for number, words in (one.split(" ", 1) for one in report[3].split(", "))}
    expect((report[1], int(report[2])), (count[1], int(count[1]) + int(count[2]) + 2), "the report's numbers")
    expect(sum(reasons.values()), int(count[2]) + 2, "reasons")
    expect(
        set(reasons),
        {"within cuBLAS", "not FP32", "factors on the device", "unusual arguments", "refused"},
        "kinds of reasons",
    )


def tell_gain(clients, program, eager, driver, profile):
    work, wait = "nowhere:512:512:16:25:0", "rest:20"
    for words, saved, least, most in (
        ((work, wait), 25, 0.95, 1.05),
        (("queue:512:512:16:400:400", "rest:60"), 400, 0.75, 1.05),
        ((work, wait, work, wait), 50, 0.95, 1.05),
        (("paced:512:512:16:25:1500", wait), 25, 0.02, 0.2),
        (("other:0:0:0:25:0", wait), 25, 0.95, 1.05),
        (("other:0:0:0:25:1500", wait), 25, 0.02, 0.2),
    ):
        profile.unlink(missing_ok=True)
        told = clients.execute(
            program,
            *words,
            LD_PRELOAD=f"{eager}:{clients.interposer}:{driver}",
            FAKE_GPU_US="400",
            ANTIPHASE_PROFILE="1",
            ANTIPHASE_PROFILE_JSON=str(profile),
        )
        expect(told.stdout, "", "what the driver complains of")
        read = json.loads(profile.read_text())
        gain, kinds = read["gain"], read["kinds"]
        expect(
            abs(gain["gpu_seconds"] / (saved * 300e-6) - 1) < 0.05,
            True,
            f"what the GPU saves: {gain}, {words}",
        )
        share = gain["seconds"] / gain["gpu_seconds"]
        expect(least <= share <= most and gain["measured"], True, f"what the program gains: {gain}, {words}")
        kind = "attention" if words[0].startswith("other") else "small products"
        expect(
            (list(kinds), kinds[kind]["calls"], abs(kinds[kind]["would_be"] * 1e4 / saved - 1) < 0.1),
            ([kind], saved, True),
            f"kinds: {kinds}",
        )
        line = next(x for x in told.stderr.splitlines() if "GPU would save" in x)
        expect(line.endswith(": for the rest, the GPU would wait for the host"), most < 0.9, line)


def calls(clients):
    """Single products: the environment's effect on them, and their reports."""
    program = clients.compile("calls.c", "calls", clients.folder / "libcublas.so.13")

    def run(*words, **environment):
        done = clients.execute(
            program,
            *words,
            **{"LD_PRELOAD": str(clients.interposer), "ANTIPHASE_DEVICE": "cpu"} | environment,
        )
        return done.stdout.split(), done.stderr

    def said(*words, **environment):
        return run(*words, **environment)[1]

    def refused(name, value, words, taken, profile=False):
        out, err = run("real:33:21:17:2:0", **{"ANTIPHASE_LEAST": "0", "ANTIPHASE_REPORT": "0", name: value})
        expect(out, [taken] * 2, f"{name}={value}")
        expect(
            err.splitlines(True)[0] if profile else err,
            f"antiphase: {name} is '{value}': expected {words}\n",
            f"{name}={value}",
        )

    one = "real:33:21:17:1:0"
    least = {"ANTIPHASE_LEAST": "0"}
    # A product that is taken is checked once, with or without C; one that is not is checked once for each; a
    # repeated one never.
    counting = clients.compile("neighbours.c", "libcounting.so", "-shared", "-DCOUNTING")
    for words, environment, count in (
        (one, least, 1),
        ("real:33:21:17:9:0", least, 1),
        ("adds:33:21:17:9:0", least, 1),
        ("nowhere:1:4096:4096:9:0", {}, 2),
    ):
        told = said(words, ANTIPHASE_REPORT="0", LD_PRELOAD=f"{counting}:{clients.interposer}", **environment)
        expect(told, f"{count} judgements\n", f"how often {words} is checked")
    # A product that would be passed on, and one that would be taken, on a GPU that was not measured.
    unmeasured = clients.compile("neighbours.c", "libunmeasured.so", "-shared", "-DUNMEASURED")
    for words, otherwise in (
        ("nowhere:1:4096:4096:2:0", "2 no gain predicted"),
        ("real:256:256:256:2:0", None),
    ):
        for library, why in (
            (unmeasured, "2 not measured on this GPU (see antiphase tune)"),
            (None, otherwise),
        ):
            preloaded = ":".join(map(str, filter(None, (library, clients.interposer))))
            found = said(words, ANTIPHASE_REPORT="1", LD_PRELOAD=preloaded)
            begins = (
                f"antiphase: 0 of 2 products computed (0 %); passed on: {why}\n"
                if why
                else "antiphase: 2 of 2"
            )
            expect(found[: len(begins)], begins, f"{words} with {library}")
    # Requests for emulation: only GPUs that were measured are known not to emulate.
    for is_measured, math, begins in (
        (0, 4, "0 of 2 products computed (0 %); passed on: 2 not measured on this GPU"),
        (0, 8, "2 of 2"),
        (1, 4, "2 of 2"),
    ):
        gains = clients.compile(
            "neighbours.c", f"libgains{is_measured}.so", "-shared", f"-DGAINS={is_measured}"
        )
        found = said(
            f"nowhere:4096:4096:4096:2:{math}",
            ANTIPHASE_REPORT="1",
            ANTIPHASE_DEVICE="",
            LD_PRELOAD=f"{gains}:{clients.interposer}",
        )
        expect(found.startswith(f"antiphase: {begins}"), True, found)
    # Conditions for the summary line.
    expect(
        said(one, **least).startswith("antiphase: 1 of 1 products computed (100 %), "), True, "a line unasked"
    )
    expect(said(one, **least, ANTIPHASE_REPORT="0"), "", "no line")
    none = {"ANTIPHASE_LEAST": "100"}
    expect(said(one, **none), "", "nothing was computed")
    expect(
        said(one, **none, ANTIPHASE_REPORT="1"),
        "antiphase: 0 of 1 products computed (0 %); passed on: 1 below ANTIPHASE_LEAST\n",
        "nothing was computed, and it is asked for",
    )
    expect(said(ANTIPHASE_REPORT="1"), "", "no products")
    # Children: one that continues the program, and another program.
    out, err = run(one, "fork:33:21:17:2:0", "exec", **least)
    expect(out, ["taken"] * 3, "products of a child")
    expect(
        [line.split(",")[0] for line in err.splitlines()],
        ["antiphase: 2 of 2 products computed (100 %)", "antiphase: 1 of 1 products computed (100 %)"],
        "each tells its own",
    )

    # Which process reports, also without products: only the process that was started. A shell that execs the
    # program keeps its process number.
    def started(*words, **environment):
        command = (
            "sh",
            "-c",
            'export ANTIPHASE_STARTED=$$ LD_PRELOAD="$0"; echo $$; exec "$@"',
            clients.interposer,
            *words,
        )
        done = clients.execute(*command, ANTIPHASE_DEVICE="cpu", **environment)
        number, *out = done.stdout.split()
        return number, out, done.raw

    number, _, err = started(program, one, **least, RANK="3")
    expect(err.startswith(f"antiphase[{number}, rank 3]: 1 of 1 products computed"), True, err)
    number, _, err = started(program, one, "fork:33:21:17:2:0", **least)
    speakers = re.findall(r"^antiphase\[(\d+)\]: ", err, flags=re.M)
    expect((len(set(speakers)), number in speakers), (2, True), err)
    nothing, profile = clients.folder / "nothing.json", {"ANTIPHASE_PROFILE": "1"}
    for words, why in (
        (("/bin/true",), "no cuBLAS was loaded"),
        ((program,), "cuBLAS was loaded, but no call of a product reached antiphase"),
    ):
        number, _, err = started(*words, ANTIPHASE_REPORT="1")
        expect(err.startswith(f"antiphase[{number}]: no products: {why}"), True, err)
        expect(started(*words)[2], "", "no thread has asked")
        started(*words, **profile, ANTIPHASE_PROFILE_JSON=str(nothing))
        read = json.loads(nothing.read_text())
        expect(
            (read["products"], read["decision"].startswith(f"no products: {why}")),
            ([], True),
            "the file of none",
        )
        nothing.unlink()
    # A child's list does not overwrite its parent's.
    number, _, _ = started(
        program,
        "nowhere:512:512:16:5:0",
        "fork:512:512:16:2:0",
        **profile,
        ANTIPHASE_PROFILE_JSON=str(nothing),
    )
    lists = {
        file.name: sum(one["calls"] for one in json.loads(file.read_text())["products"])
        for file in clients.folder.glob("nothing.json*")
    }
    expect(
        (lists.pop("nothing.json"), len(lists), number in str(lists)),
        (5, 1, False),
        "two processes, two lists",
    )
    # Threads: half of them have their products taken.
    err = said("threads:40:30:30:20:0", ANTIPHASE_LEAST="30")
    expect(
        re.sub("[0-9.e-]+ s saved", "S s saved", err),
        "antiphase: 80 of 160 products computed (50 %), 80 of them small products, S s saved as predicted; passed on: 80 below ANTIPHASE_LEAST\n",
        "products of threads",
    )
    out = clients.execute(
        program, "storm:40:30:30:60:0", **ON_THE_CPU, INTERPOSER=str(clients.interposer)
    ).stdout
    expect(out, "taken ", "the last product, after many changes")
    # TF32.
    tf32 = "real:33:21:17:1:3"
    expect(
        run(tf32, **least)[0]
        + run(tf32, **least, ANTIPHASE_TF32="pass")[0]
        + run(tf32, **least, ANTIPHASE_TF32="take")[0],
        ["passed", "passed", "taken"],
        "TF32",
    )
    expect(run("real:33:21:17:1:2", **least, ANTIPHASE_TF32="take")[0], ["passed"], "pedantic")
    # Working memory: policy fp16 needs some, and fp64 none.
    expect(run(one, **least, ANTIPHASE_WORKSPACE_LIMIT="0")[0], ["taken"], "a product that needs no memory")
    large, needed = "real:129:257:513:1:0", 837888
    for limit, taken in (
        (needed, "taken"),
        (needed - 1, "passed"),
        ("0", "passed"),
        ("819K", "taken"),
        ("818K", "passed"),
        ("1M", "taken"),
        ("1G", "taken"),
    ):
        out, err = run(large, **least, ANTIPHASE_WORKSPACE_LIMIT=str(limit), ANTIPHASE_REPORT="1")
        expect(out, [taken], f"a limit of {limit}")
        expect("1 workspace beyond the limit" in err, taken == "passed", "the reason")
    # Every other product is computed twice: results stay the interposer's.
    out, err = run("real:70:60:50:5:0", **least, ANTIPHASE_VERIFY="2")
    expect(" ".join(out), "taken taken twice taken taken twice taken", "products computed twice")
    expect(
        err.endswith("; compared with cuBLAS: 2, the worst differs by 7e-06, of 70 x 60 x 50 NN\n"), True, err
    )
    # One log file per process.
    run(one, "fork:12:11:10:2:0", **least, ANTIPHASE_LOG_FILE=f"{clients.folder}/log.%p")
    logs = sorted(path.read_text() for path in clients.folder.glob("log.*"))
    expect(
        [re.sub(r"^antiphase\[\d+\]", "antiphase", log.split(" products")[0]) for log in logs],
        ["antiphase: 1 of 1", "antiphase: 2 of 2"],
        "logs",
    )
    for words in (" 2 ", "12 x 11 x 10 NN", "cublasSgemm_v2", "computed"):
        expect(words in logs[1].splitlines()[-1], True, f"{words} in {logs[1]}")
    expect(
        "cannot write '/no/such/file'" in said(one, **least, ANTIPHASE_LOG_FILE="/no/such/file"),
        True,
        "a file that cannot be written",
    )
    # Profiles: nothing is taken, everything is reported.
    profile = clients.folder / "profile.json"
    out, err = run(
        "nowhere:4096:4096:4096:3:0",
        "nowhere:512:512:16:5:0",
        "nowhere:2048:2048:2048:2:3",
        "nowhere:1:4096:4096:7:0",
        ANTIPHASE_PROFILE="1",
        ANTIPHASE_PROFILE_JSON=str(profile),
    )
    read = json.loads(profile.read_text())
    expect(
        [(one["m"], one["calls"], one["taken"], one["why"], one["layout"]) for one in read["products"]],
        [
            (4096, 3, True, "computed", "TNN"),
            (1, 7, False, "no gain predicted", "TNN"),
            (512, 5, False, "no gain predicted", "TNN"),
            (2048, 2, False, "not FP32", "TNN"),
        ],
        "the profile",
    )
    lines = err.splitlines()
    expect(
        lines[0], "antiphase: products of this program, all computed by cuBLAS", "the profile's first line"
    )
    expect(
        [
            re.sub(r" +|\d\.\d+(e-\d+)?", lambda of: "#" if of[0].strip() else " ", lines[at]).strip()
            for at in (2, 4)
        ],
        [
            "3 #~ # 4096 x 4096 x 4096 TN cublasSgemm_v2 would be computed",
            "5 #~ # 512 x 512 x 16 TN cublasSgemm_v2 passed on: no gain predicted",
        ],
        "its lines",
    )
    expect(lines[-1], read["decision"], "its last line")
    saved = r"antiphase would compute 3 of 17 products: 0\.\d+ s of products would become 0\.\d+ s, [45]\.\d+ times as fast \(predicted"
    expect(re.match(saved, lines[-1]) is not None, True, lines[-1])
    expect(
        said("nowhere:1:4096:4096:7:0", ANTIPHASE_PROFILE="1").splitlines()[-1],
        "antiphase would compute none of the 7 products: it would not help this program",
        "nothing to gain",
    )
    # More products than remembered decisions: no decision is used for another product.
    err = said("sweep:4096:4096:4096:2000:0", "sweep:4096:4096:4096:2000:0", ANTIPHASE_PROFILE="1")
    expect(
        err.splitlines()[-1].startswith("antiphase would compute 2000 of 4000 products: "),
        True,
        err.splitlines()[-1],
    )
    # With a fake driver: every third product is captured, and not measured. antiphase finds no device after
    # it and refuses.
    driver = clients.compile("fake_cuda.c", "libcuda.so.1", "-shared", "-Wl,-soname,libcuda.so.1")
    done = clients.execute(
        program,
        "nowhere:4096:4096:4096:30:0",
        "nowhere:512:512:16:3:0",
        LD_PRELOAD=f"{clients.interposer}:{driver}",
        ANTIPHASE_PROFILE="1",
        ANTIPHASE_PROFILE_JSON=str(profile),
    )
    expect(done.stdout, "", "what the driver complains of")
    expect(
        [
            (one["why"], one["calls"], one["measured"], one["seconds"])
            for one in json.loads(profile.read_text())["products"]
        ],
        [("refused", 30, True, 0.075), ("refused", 3, True, 0.0075)],
        "times measured",
    )
    # A product that gains only by the host's time is passed on while its stream is captured.
    eager = clients.compile("neighbours.c", "libeager.so", "-shared", "-DEAGER")
    clients.execute(
        program,
        "nowhere:512:512:16:30:0",
        LD_PRELOAD=f"{eager}:{clients.interposer}:{driver}",
        ANTIPHASE_PROFILE="1",
        ANTIPHASE_PROFILE_JSON=str(profile),
    )
    expect(
        {(one["why"], one["calls"]) for one in json.loads(profile.read_text())["products"]},
        {("computed", 20), ("no gain predicted", 10)},
        "a decision for each kind of stream",
    )
    # What the program would gain: all that the GPU saves where the host has waited for it, next to nothing
    # where the GPU waits for the host.
    tell_gain(clients, program, eager, driver, profile)
    # Invalid values: one sentence each.
    refused("ANTIPHASE_TF32", "yes", "pass or take; they are passed on", "taken")
    refused("ANTIPHASE_LEAST", "big", "a number from 0 on; it is ignored", "taken")
    refused("ANTIPHASE_LEAST", "-1", "a number from 0 on; it is ignored", "taken")
    refused("ANTIPHASE_PRECISION", "double", "fp32 or strict; all products are passed on", "passed")
    refused("ANTIPHASE_VERIFY", "2x", "a number, or 0 for none; it is ignored", "taken")
    for value in ("1T", "M", "-1", "1KB", "99999999999G"):
        refused(
            "ANTIPHASE_WORKSPACE_LIMIT",
            value,
            "bytes, such as 65536, 64K, 512M or 2G; products that need any are passed on",
            "taken",
        )
    refused("ANTIPHASE_DEVICE", "gpu", "cpu, or nothing; it is ignored", "passed")
    refused("ANTIPHASE_DISABLE", "no", "0 or 1; it is taken as 1", "passed")
    refused("ANTIPHASE_PROFILE", "yes", "0 or 1; it is taken as 1", "passed", profile=True)
    refused(
        "ANTIPHASE_PROFILE_JSON",
        f"{clients.folder}/none.json",
        "ANTIPHASE_PROFILE=1 next to it; it is ignored",
        "taken",
    )
    expect((clients.folder / "none.json").exists(), False, "a profile that is not asked for")
    out, err = run("real:33:21:17:2:0", **least, ANTIPHASE_TUNING="/no/such/file", ANTIPHASE_REPORT="0")
    expect(out, ["passed"] * 2, "products without the tuning that was asked for")
    expect(
        re.fullmatch(r"antiphase: [^\n]*/no/such/file[^\n]*; all products are passed on\n", err) is not None,
        True,
        err,
    )
    # The cost of a call that is passed on: 0.15 and 0.3 microseconds on an idle machine.
    for shape in ("512:512:16", "4096:4096:4"):
        nanoseconds = [
            int(clients.execute(program, f"bench:{shape}:200000:0", **environment).stdout.split()[0])
            for environment in ({}, {"LD_PRELOAD": str(clients.interposer), "ANTIPHASE_DEVICE": "cpu"})
        ]
        print(f"a call of {shape}: {nanoseconds[0]} ns alone, {nanoseconds[1]} after the interposer")
        if nanoseconds[1] - nanoseconds[0] > 5000:
            sys.exit("a call that is passed on costs too much")


def triangles(clients):
    """Functions of triangles: their errors compared with the fake's, which computes in FP32 as cuBLAS may."""
    program = clients.compile("client_triangles.c", "triangles", clients.folder / "libcublas.so.13")

    def run(*words, **environment):
        return clients.execute(program, *words, LD_PRELOAD=str(clients.interposer), **environment)

    def errors(done):
        """Of each call: its error in units of rounding, and how often the fake was called."""
        lines = [line.rsplit(": ", 1) for line in done.stdout.splitlines()]
        return {call: (float(values.split()[0]), int(values.split()[1])) for call, values in lines}

    # 101 rows in blocks of 32: four calls for the diagonal, and products that are all ours.
    original, ours = (
        errors(start("residuals", 101, 37))
        for start in (
            lambda *words: clients.execute(program, *words),
            lambda *words: run(*words, **ON_THE_CPU, ANTIPHASE_REPORT="0"),
        )
    )
    expect((len(original) > 200, ours.keys()), (True, original.keys()), "calls")
    expect({calls for _, calls in original.values()}, {1}, "calls of the fake by the program alone")
    expect({calls for _, calls in ours.values()}, {4}, "calls of the fake by the interposer")
    for call, (error, _) in original.items():
        expect(error < 20, True, f"{call}: an error of {error}")
        # Two roundings are allowed everywhere: of updates by two products there is one more.
        expect(ours[call][0] <= max(1.2 * error, 2), True, f"{call}: {ours[call][0]} after {error}")
    # Small products are left to cublasSgemm_v2: of blocks of 33, which are four on the diagonal, two of three.
    for environment, calls in (
        ({"ANTIPHASE_LEAST": "33"}, 6),
        ({"ANTIPHASE_LEAST": "0", "ANTIPHASE_DISABLE": "1"}, 1),
        ({"ANTIPHASE_LEAST": "0", "ANTIPHASE_BATCH_INVARIANT": "1"}, 1),
        ({"ANTIPHASE_LEAST": "0", "ANTIPHASE_PRECISION": "strict"}, 4),
        ({"ANTIPHASE_LEAST": "63"}, 1),
    ):
        environment |= {"ANTIPHASE_DEVICE": "cpu", "ANTIPHASE_REPORT": "0"}
        found = errors(run("residuals", 101, 21, "cublasStrsm_v2", **environment))
        expect({values[1] for values in found.values()}, {calls}, f"calls of the fake with {environment}")
        # The fake's products are off by 1e-6, which is 17 roundings.
        expect(all(error < 60 for error, _ in found.values()), True, environment)
    told = run("residuals", 70, 33, **ON_THE_CPU, ANTIPHASE_VERIFY="1").stderr
    compared = re.search(r"(\d+) of \1 products computed .*; compared with cuBLAS: \1, .* by (\S+), of", told)
    expect(compared is not None and float(compared[2]) < 1e-3, True, told)
    run("rules", **ON_THE_CPU)
    # Predictions: solves gain with many rows and right sides, updates of a symmetric matrix with many terms.
    calls = {
        "cublasStrsm_v2": ((0, 8192, 4096, 0), (1, 2048, 8192, 0), (0, 2048, 4096, 0), (0, 2047, 8192, 0)),
        "cublasStrmm_v2_64": ((0, 8192, 8192, 0), (0, 8192, 255, 0)),
        "cublasSsyrk_v2": ((0, 0, 8192, 8192), (0, 0, 2048, 256)),
        "cublasSsyr2k_v2": ((0, 0, 8192, 64),),
    }
    words = [word for name, all_of in calls.items() for one in all_of for word in (name, *one)]
    profile = clients.folder / "triangles.json"
    run("nowhere", *words, ANTIPHASE_DEVICE="cpu", ANTIPHASE_PROFILE="1", ANTIPHASE_PROFILE_JSON=str(profile))
    read = json.loads(profile.read_text())
    expect({kind: one["calls"] for kind, one in read["kinds"].items()}, {"solvers": 9}, "kinds of calls")
    found = {
        (one["m"], one["n"], one["k"]): (one["why"], one["predicted"]["cublas"] > one["predicted"]["ours"])
        for one in read["products"]
    }
    gains, none, small = ("computed", True), ("no gain predicted", True), ("no gain predicted", False)
    expected = {
        (8192, 4096, 8192): gains,
        (2048, 8192, 8192): gains,
        (2048, 4096, 2048): none,
        (2047, 8192, 2047): small,
        (8192, 8192, 8192): gains,
        (8192, 255, 8192): small,
        (2048, 2048, 256): none,
        (8192, 8192, 64): small,
    }
    expect(found, expected, "predictions")


STARTER = """
import ctypes, sys
words = [word.encode() for word in sys.argv[2:]]
sys.exit(ctypes.CDLL(sys.argv[1]).antiphase_cublas_run((ctypes.c_char_p * (len(words) + 1))(*words)))
"""


def ended(clients):
    """The report and the starter's exit status follow the program, however it ends."""
    program = str(clients.compile("calls.c", "calls", clients.folder / "libcublas.so.13"))
    folders = clients.folder / "tmp"
    folders.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHASE_")}
    clean |= ON_THE_CPU | {"LD_PRELOAD": str(clients.interposer), "TMPDIR": str(folders)}
    one, report, profile = "real:33:21:17:1:0", {"ANTIPHASE_REPORT": "1"}, {"ANTIPHASE_PROFILE": "1"}
    killed = "no products: none was seen of a program that was killed"

    def start(*words, asked=None, **how):
        words = (sys.executable, "-c", STARTER, clients.interposer, *words)
        return subprocess.Popen(
            words,
            env=clean | (report if asked is None else asked),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **how,
        )

    def end(starter):
        out, err = starter.communicate(timeout=60)
        expect(os.listdir(folders), [], "the folder of records afterwards")
        return starter.returncode, out.split(), err

    def counts(err):
        return sorted(re.findall(r"^antiphase\[(\d+).*?\]: (\d+) of \d+ products computed", err, flags=re.M))

    # The program ends itself: exit status and signals.
    numbers = (signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL)
    for word in ("quit:0", "quit:3", *(f"signal:{number}" for number in numbers)):
        alone = subprocess.run([program, word], env=clean, timeout=60).returncode
        status, out, err = end(start(program, "pid", one, word))
        expect((status, counts(err)), (alone, [(out[0], "1")]), word)
    # Another process ends it: through the starter, the program, or a terminal's process group.
    for who, number in (
        ("starter", signal.SIGTERM),
        ("starter", signal.SIGUSR1),
        ("program", signal.SIGTERM),
        ("program", signal.SIGKILL),
        ("group", signal.SIGINT),
        ("group", signal.SIGQUIT),
    ):
        starter = start(program, one, "wait", start_new_session=True)
        process = starter.stdout.readline().split()[-1]
        (os.killpg if who == "group" else os.kill)(int(process) if who == "program" else starter.pid, number)
        status, _, err = end(starter)
        expect((status, counts(err)), (-number, [(process, "1")]), f"{number} to the {who}")
    # Children that leave by _exit; one that outlives the folder and reports by itself; ranks.
    status, out, err = end(start(program, "pid", one, "leave:33:21:17:2:0", "signal:9"))
    expect((status, dict(counts(err))[out[0]], sorted(n for _, n in counts(err))), (-9, "1", ["1", "2"]), err)
    status, out, err = end(start(program, one, "stay:33:21:17:1:0", "drop:33:21:17:3:0"))
    expect((status, sorted(n for _, n in counts(err))), (0, ["1", "2", "3"]), err)
    both = f"{program} leave:33:21:17:2:0; exec {program} {one} signal:9"
    status, out, err = end(start("sh", "-c", both, asked=report | {"RANK": "3"}))
    expect((status, sorted(re.findall(r", rank 3\]: (\d)", err))), (-9, ["1", "2"]), err)
    # Without products.
    listed = clients.folder / "list.json"
    asked = profile | {"ANTIPHASE_PROFILE_JSON": str(listed)}
    status, out, err = end(start(program, "pid", "signal:11", asked=asked))
    expect((status, err.startswith(f"antiphase[{out[0]}]: {killed}")), (-11, True), err)
    expect(json.loads(listed.read_text())["products"], [], "the list of none")
    expect(end(start("true"))[2].count("no cuBLAS was loaded\n"), 1, "a program that tells by itself")
    # The same profile, whether the program or the starter reports.
    words, told = ("nowhere:4096:4096:4096:3:0", "nowhere:512:512:16:5:0"), []
    for last in ((), ("signal:9",)):
        status, _, err = end(start(program, *words, *last, asked=asked))
        told.append((re.sub(r"\d+\]", "]", err), listed.read_text()))
        expect(status, -9 if last else 0, last)
    expect(told[1], told[0], "the profile of a program that is killed")
    expect([one["calls"] for one in json.loads(told[0][1])["products"]], [3, 5], "its list")
    log = clients.folder / "log.txt"
    logs = start(program, one, "signal:9", asked={"ANTIPHASE_LOG_FILE": str(log)})
    expect(end(logs)[2], "", "told into a file")
    expect("33 x 21 x 17 NN" in log.read_text().splitlines()[-1], True, log.read_text())
    # More products than a list holds.
    end(start(program, "sweep:16:16:16:20000:0", "signal:9", asked=asked))
    read = json.loads(listed.read_text())
    expect(sum(one["calls"] for one in read["products"]) + read["calls_not_listed"], 20000, "calls")
    expect(15000 < len(read["products"]) <= 16384, True, f"{len(read['products'])} rows")
    # Without settings, the starter becomes the program.
    starter = start(program, "pid", one, "signal:9", asked={})
    expect(end(starter), (-9, [str(starter.pid), "taken"], ""), "nothing is asked for")
    # With SIGCHLD ignored.
    ignoring = start(program, "quit:3", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    expect(end(ignoring)[0], 3, "a status without SIGCHLD")
    # No program.
    for word, error in (("/no/such/program", errno.ENOENT), (str(clients.folder), errno.EACCES)):
        expect(end(start(word))[::2], (error, ""), word)
    # Without a folder the program runs, and reports by itself.
    status, _, err = end(start(program, one, asked=report | {"TMPDIR": "/no/such/folder"}))
    expect(err.startswith("antiphase: cannot make the folder '/no/such/folder/antiphase-run-"), True, err)
    expect((status, [n for _, n in counts(err)]), (0, ["1"]), err)
    # If the starter is killed, so is the program: it holds the other end of the pipe.
    starter = start(program, "wait")
    starter.stdout.readline()
    starter.kill()
    began = time.monotonic()
    starter.communicate(timeout=60)
    expect(time.monotonic() - began < 10, True, "the program ends with its starter")


def symbols(clients):
    text = clients.execute("readelf", "--dynamic", "--version-info", "--wide", clients.interposer).stdout
    if "Version definition" in text:
        sys.exit(
            "it has a version node of its own: programs would bind to cuBLAS's functions, which have another"
        )
    needed = re.findall(r"NEEDED.*\[(.*)\]", text)
    expect(
        [name for name in needed if not OF_THE_SYSTEM.fullmatch(name)],
        ["libantiphase.so.0"],
        "libraries that it asks for",
    )
    shown = {
        line.split()[-1]
        for line in clients.execute(
            "nm", "--dynamic", "--defined-only", clients.interposer
        ).stdout.splitlines()
    }
    served = set(clients.table())
    own = {f"antiphase_cublas_{name}" for name in ("begin", "enable", "end", "disable", "report", "run")}
    expect(shown, served | {"dlsym"} | own, "symbols that it shows")
    page = (clients.root / "docs/use/cublas.md").read_text()
    listed = re.search(r"^## Which calls\n+(.*?) All other calls", page, re.DOTALL | re.MULTILINE)[1]
    told = set(re.findall(r"`(cublas\w+)`", listed))
    expect({name.removesuffix("_64") for name in served}, told, "entries that docs/use/cublas.md tells of")


def signatures(clients):
    files = [
        pathlib.Path(folder) / "cublas_api.h"
        for folder in ("/usr/local/cuda/include", "/usr/local/include", "/usr/include")
    ]
    text = next((file.read_text() for file in files if file.exists()), "")
    version = re.search(r"define CUBLAS_VER_MAJOR (\d+)", text)
    if version is None or int(version[1]) < 12:  # earlier ones have no 64-bit functions
        print("skipped: there is no header of cuBLAS 12 or later")
        sys.exit(77)

    def plain(parameter):
        kind, _, is_array = re.fullmatch(r"(.*?)(\w+)(\[\])?", parameter.strip(), re.DOTALL).groups()
        kind = re.sub(
            "cublas(Operation|SideMode|FillMode|DiagType|ComputeType|GemmAlgo)_t|cudaDataType", "int", kind
        )
        kind = kind.replace("cublasHandle_t", "void*").replace("long long int", "long long")
        return "".join((kind + "*" * bool(is_array)).split())

    compared = clients.table()
    del compared["cublasLtMatmul"]  # declared in another header
    for name, parameters in compared.items():
        declared = re.search(rf"cublasStatus_t CUBLASWINAPI {name}\((.*?)\);", text, re.DOTALL)
        expected = [plain(one) for one in declared[1].split(",")] if declared else "no function"
        expect(parameters, expected, f"how {name} is called")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what",
        choices=(
            "linked",
            "lt",
            "halves",
            "loaded",
            "by_name",
            "unusual",
            "enabled",
            "settings",
            "calls",
            "triangles",
            "ended",
            "symbols",
            "signatures",
        ),
    )
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--interposer", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        globals()[options.what](Clients(options, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
