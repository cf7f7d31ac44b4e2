#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libantiphase_cublas.so in front of a fake cuBLAS with the real one's names and version node, on the CPU executor.

    test_cublas.py WHAT --root ROOT --interposer FILE

    linked      a program that is linked with cuBLAS, with lazy and with immediate binding
    lt          cublasLtMatmul
    loaded      libraries that a program loads for itself alone (RTLD_LOCAL), of two versions of cuBLAS in one process
    by_name     one that asks for functions by dlsym()
    enabled     a program that is led to the interposer while it runs
    settings    what the environment says; what is predicted; the report
    symbols     what the interposer shows and asks for

Exit status: 0 right, 1 wrong.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

OF_THE_SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux[\w-]*)\.so\.\d+")
ON_THE_CPU = {"ANTIPHASE_DEVICE": "cpu", "ANTIPHASE_LEAST": "0"}


class Clients:
    """Programs and libraries in a folder, and the interposer to put in front of them."""

    def __init__(self, options, folder):
        self.sources, self.interposer, self.folder = options.root / "tests/cublas", options.interposer, folder
        for version in (12, 13, 14):
            (folder / "fake.map").write_text(f"libcublas.so.{version} {{ global: cublas*; local: *; }};\n")
            self.compile("fake_cublas.c", f"libcublas.so.{version}", "-shared", f"-DLIBRARY={version}", f"-Wl,-soname,libcublas.so.{version}",
                         f"-Wl,--version-script={folder / 'fake.map'}")
        for name, define in (("libfirst.so", "FIRST"), ("libsecond.so", "SECOND"), ("libother.so", "OTHER")):
            self.compile("neighbours.c", name, "-shared", f"-D{define}", f"-Wl,-soname,{name}")

    def compile(self, source, output, *flags):
        self.execute("gcc", "-std=gnu11", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{self.sources}", self.sources / source, "-o",
                     self.folder / output, "-Wl,--no-as-needed", *(flag for flag in flags), f"-Wl,-rpath,{self.folder}", "-ldl", "-lm")
        return self.folder / output

    def client(self, name, version=13, *flags):
        return self.compile("client.c", name, "-shared", f"-DLIBRARY_EXPECTED={version}", *flags, self.folder / f"libcublas.so.{version}")

    def host(self):
        return self.compile("host.c", "host", self.folder / "libfirst.so", self.folder / "libsecond.so")

    @staticmethod
    def execute(*command, **environment):
        words = [str(word) for word in command]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHASE_")}
        done = subprocess.run(words, text=True, capture_output=True, env=clean | environment, timeout=100)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} with {environment}\nreturned {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def run(self, taken, *command, **environment):
        """A client that expects its products to be taken (1), or all to be passed on (0). Its output, and what the interposer said."""
        program, *words = command
        return self.execute(program, taken, *words, LD_PRELOAD=str(self.interposer), **environment)


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")


def linked(clients):
    for name, flags in (("lazy", ["-Wl,-z,lazy"]), ("now", ["-Wl,-z,now"])):
        client = clients.client(f"libclient_{name}.so", 13, *flags)
        through_a_library = clients.compile("host.c", f"through_{name}", "-DLINKED", *flags, client, clients.folder / "libcublas.so.13")
        # Of a version whose name the interposer does not know.
        by_itself = clients.compile("host.c", name, "-DLINKED", "-DLIBRARY_EXPECTED=14", clients.sources / "client.c", *flags,
                                    clients.folder / "libcublas.so.14")
        for program in (through_a_library, by_itself):
            clients.execute(program, 0)  # the client alone
            clients.run(1, program, **ON_THE_CPU)


def lt(clients):
    (clients.folder / "fake.map").write_text("libcublasLt.so.13 { global: cublas*; local: *; };\n")
    fake = clients.compile("fake_cublas_lt.c", "libcublasLt.so.13", "-shared", "-Wl,-soname,libcublasLt.so.13",
                           f"-Wl,--version-script={clients.folder / 'fake.map'}")
    client = clients.compile("client_lt.c", "libclient.so", "-shared", fake)
    clients.execute(clients.host(), 0, client)
    clients.run(1, clients.host(), client, **ON_THE_CPU)
    clients.run(0, clients.host(), client, **ON_THE_CPU, ANTIPHASE_DISABLE="1")


def loaded(clients):
    # Linked with the interposer itself, in front of cuBLAS: the originals lie behind it.
    before = clients.compile("client.c", "libclient_before.so", "-shared", "-DLIBRARY_EXPECTED=13", clients.interposer,
                             f"-Wl,-rpath,{clients.interposer.parent}", clients.folder / "libcublas.so.13")
    clients.run(1, clients.host(), before, **ON_THE_CPU)
    both = [clients.client(f"libclient_{version}.so", version) for version in (13, 12)]
    clients.execute(clients.host(), 0, *both)
    clients.run(1, clients.host(), *both, **ON_THE_CPU)
    clients.run(1, clients.host(), *both[::-1], **ON_THE_CPU)


def by_name(clients):
    for version in (13, 14):  # the latter has a name that the interposer does not know
        client = clients.compile("client.c", f"libclient_{version}.so", "-shared", f"-DLIBRARY_EXPECTED={version}", f'-DBY_NAME="libcublas.so.{version}"')
        clients.execute(clients.host(), 0, client)
        clients.run(1, clients.host(), client, **ON_THE_CPU)


def enabled(clients):
    clients.client("libclient_gone.so")
    early = [clients.client("libclient_lazy.so", 12, "-Wl,-z,lazy"), clients.client("libclient_no_plt.so", 13, "-fno-plt"),
             clients.client("libclient_now.so", 13, "-Wl,-z,now,-z,relro")]
    late = clients.client("libclient_late.so", 13, "-Wl,-z,now,-z,relro")
    program = clients.compile("host_enabled.c", "host_enabled")
    clients.execute(program, clients.interposer, *early, "--", late, **ON_THE_CPU)
    for name, flags in (("itself_lazy", ["-Wl,-z,lazy"]), ("itself_now", ["-Wl,-z,now,-z,relro"])):
        itself = clients.compile("host_enabled.c", name, "-DLINKED", "-DLIBRARY_EXPECTED=14", clients.sources / "client.c", *flags,
                                 clients.folder / "libcublas.so.14")
        clients.execute(itself, clients.interposer, "--", late, **ON_THE_CPU)


def settings(clients):
    program = (clients.host(), clients.client("libclient.so"))
    clients.run(0, *program, **ON_THE_CPU, ANTIPHASE_DISABLE="1")
    clients.run(1, *program, **ON_THE_CPU, ANTIPHASE_DISABLE="0")
    clients.run(1, *program, **ON_THE_CPU, ANTIPHASE_PRECISION="strict")
    clients.run(1, *program, **ON_THE_CPU | {"ANTIPHASE_LEAST": "10"})  # (13 * 9 * 11)^(1/3) = 10.9
    clients.run(0, *program, **ON_THE_CPU | {"ANTIPHASE_LEAST": "11"})
    clients.run(0, *program, ANTIPHASE_DEVICE="cpu")  # nothing is predicted to be gained by small ones
    said = clients.run(1, *program, **ON_THE_CPU, ANTIPHASE_REPORT="1")
    count = re.search(r"(\d+) taken, (\d+) passed on, 0 faults", said.stdout)
    # The last one is the call of an original that calls another.
    report = re.fullmatch(r"antiphase: (\d+) products computed, (\d+) passed on to cuBLAS, (\d+) of them refused\n", said.stderr)
    if not report:
        sys.exit(f"the report: {said.stderr!r}")
    expect((report[1], int(report[2])), (count[1], int(count[2]) + 1), "the report's numbers")
    expect(clients.run(1, *program, **ON_THE_CPU).stderr, "", "what is said unasked")
    expect(clients.execute("true", LD_PRELOAD=str(clients.interposer), ANTIPHASE_REPORT="1").stderr, "", "what a program without products says")


def symbols(clients):
    text = clients.execute("readelf", "--dynamic", "--version-info", "--wide", clients.interposer).stdout
    if "Version definition" in text:
        sys.exit("it has a version node of its own: programs would bind to cuBLAS's functions, which have another")
    needed = re.findall(r"NEEDED.*\[(.*)\]", text)
    expect([name for name in needed if not OF_THE_SYSTEM.fullmatch(name)], ["libantiphase.so.0"], "libraries that it asks for")
    shown = {line.split()[-1] for line in clients.execute("nm", "--dynamic", "--defined-only", clients.interposer).stdout.splitlines()}
    kinds = ("Sgemm_v2", "SgemmEx", "GemmEx", "SgemmStridedBatched", "GemmStridedBatchedEx")
    expect(shown, {f"cublas{kind}{suffix}" for kind in kinds for suffix in ("", "_64")} | {"cublasLtMatmul", "dlsym"}, "symbols that it shows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("linked", "lt", "loaded", "by_name", "enabled", "settings", "symbols"))
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--interposer", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        globals()[options.what](Clients(options, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
