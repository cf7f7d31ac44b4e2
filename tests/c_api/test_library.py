#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libantiphase.so.0 as users see it.

    test_library.py WHAT --root ROOT --library FILE --version VERSION ...

    program_gcc, program_clang    test_c_api.c and the example, as C11 by --compiler
    forks             test_forks.c: children of a program whose threads are inside calls
    headers           antiphase.h alone, as C99 and C++, without a warning
    symbols           the library's exported symbols and its dependencies
    stored_interface  antiphase.h against antiphase.abi, by abidiff: --store writes that file
    changed_interface that comparison finds functions, arguments, members and values that differ
    fortran           the module, its test and the example, by gfortran
    loaded_behind_200, loaded_behind_all
                      by ctypes, after --count copies of --neighbour: all of them, or as many as fit the
                      static thread-local storage

Exit status: 0 right, 1 wrong, 77 a program that this needs is not installed.
"""
import argparse
import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
# Libraries of any program: the C library, in one file or, in older versions, in several.
OF_THE_SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux[\w-]*)\.so\.\d+")


def need(program, package):
    if shutil.which(program) is None:
        print(f"skipped: {program} is not installed (package {package})")
        sys.exit(77)
    return program


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nreturned {done.returncode}:\n{done.stdout}")
    return done.stdout


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")


def linked_with(library):
    return [library, f"-Wl,-rpath,{library.parent}"]


def program(options, work):
    compiler = need(options.compiler, options.compiler)
    include = f"-I{options.root / 'include'}"
    major, minor, patch = map(int, options.version.split("."))
    run(
        compiler,
        "-std=c11",
        "-O1",
        *STRICT[:3],
        "-Werror",
        f"-DANTIPHASE_EXPECTED_VERSION={10000 * major + 100 * minor + patch}",
        include,
        options.root / "tests/c_api/test_c_api.c",
        "-o",
        work / "test",
        *linked_with(options.built),
        "-lm",
        "-pthread",
    )
    print(run(work / "test"), end="")
    run(
        compiler,
        "-std=c99",
        *STRICT,
        include,
        options.root / "examples/gemm.c",
        "-o",
        work / "example",
        *linked_with(options.built),
    )
    expect(run(work / "example"), "600\n", "the example's output")


def forks(options, work):
    run(
        "gcc",
        "-std=c11",
        "-O1",
        *STRICT[:3],
        "-Werror",
        f"-I{options.root / 'include'}",
        options.root / "tests/c_api/test_forks.c",
        "-o",
        work / "forks",
        *linked_with(options.built),
        "-pthread",
    )
    expect(run(work / "forks"), "60 children compute\n", "what it says")


def headers(options, work):
    source = work / "header.c"
    source.write_text(
        "#include <antiphase.h>\n#include <antiphase.h>\nextern size_t bytes(void);\nsize_t bytes(void) {\n"
        "  const antiphase_sgemm_args product = ANTIPHASE_SGEMM_ARGS_INIT;\n"
        "  const antiphase_scan_args scan = ANTIPHASE_SCAN_ARGS_INIT;\n"
        "  return product.size + scan.size;\n}\n"
    )
    # -Wpadded: no padding bytes in the arguments.
    for compiler, language, standards in (
        ("gcc", "c", ("c99", "c11", "c17")),
        ("clang", "c", ("c99", "c17")),
        ("g++", "c++", ("c++11", "c++20")),
        ("clang++", "c++", ("c++11", "c++20")),
    ):
        if shutil.which(compiler) is None:
            print(f"skipped: {compiler} is not installed")
            continue
        for standard in standards:
            run(
                compiler,
                "-x",
                language,
                f"-std={standard}",
                *STRICT,
                "-Wpadded",
                f"-I{options.root / 'include'}",
                "-c",
                source,
                "-o",
                work / "header.o",
            )


def symbols(options, _):
    dynamic = run(need("readelf", "binutils"), "--dynamic", "--wide", options.built)
    expect(re.findall(r"SONAME.*\[(.*)\]", dynamic), ["libantiphase.so.0"], "the library's name")
    needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
    expect([name for name in needed if not OF_THE_SYSTEM.fullmatch(name)], [], "libraries that it asks for")
    if "TEXTREL" in dynamic:
        sys.exit("its code has to be changed to be loaded: some object is not position independent")
    if re.search(r"FLAGS.*STATIC_TLS", dynamic):
        sys.exit(
            "it asks for thread-local storage at a fixed place, which a program that runs may not have left"
        )
    shown = sorted(
        line.split()[-1] for line in run("nm", "--dynamic", "--defined-only", options.built).splitlines()
    )
    listed = [
        line
        for line in (options.root / "tests/c_api/symbols.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    expect(shown, ["ANTIPHASE_0", *listed], "symbols that it shows")
    declared = sorted(
        re.findall(
            r"^ANTIPHASE_API [^;(]*?(\w+)\(", (options.root / "include/antiphase.h").read_text(), re.MULTILINE
        )
    )
    expect([f"{name}@@ANTIPHASE_0" for name in declared], listed, "functions that antiphase.h declares")
    # A static variable that a function initializes has a lock. In a child that was forked while another thread
    # held it, it stays locked: made_once is for those. The counter of forks is initialized at loading; the others
    # are the C++ library's and the CUDA compiler's, whose launches no forked child makes.
    of_others = re.compile(r"std::|__device_stub__|\(anonymous namespace\)::get_locale_(cache_)?mutex")
    locks = re.findall(
        r"guard variable for (.*?) *\|.*OBJECT", run("nm", "--demangle", "--format=sysv", options.built)
    )
    expect(
        [name for name in locks if not of_others.match(name)],
        ["antiphase::per_process_detail::counting"],
        "static variables with a lock",
    )


def interface_of(options, work, header):
    """A library of empty functions with the interface of a header: with the types of arguments in its debug
    information, as the library itself has none."""
    for name in ("abidw", "abidiff"):
        need(name, "abigail-tools")
    (work / "antiphase.h").write_text(header)
    declared = re.findall(r"^ANTIPHASE_API ([^;]*?\));", header, re.MULTILINE | re.DOTALL)
    # Unused parameters and missing returns are fine: these functions are never called.
    (work / "empty.c").write_text(
        "#include <antiphase.h>\n#include <stdlib.h>\n"
        + "".join(f"{text} {{ abort(); }}\n" for text in declared)
    )
    run(
        "gcc",
        "-g",
        "-gdwarf-4",
        "-shared",
        "-fPIC",
        f"-I{work}",
        f"-Wl,--version-script={options.root / 'library/c_api/antiphase.map'}",
        "-Wl,-soname,libantiphase.so.0",
        work / "empty.c",
        "-o",
        work / "libantiphase.so.0",
    )
    return work / "libantiphase.so.0"


def compared(options, built):
    """abidiff's answer: bit 4 of the return code says that something differs, 8 that older programs break."""
    stored = options.root / "tests/c_api/antiphase.abi"
    return subprocess.run(["abidiff", str(stored), str(built)], text=True, capture_output=True)


def stored_interface(options, work):
    built = interface_of(options, work, (options.root / "include/antiphase.h").read_text())
    stored = options.root / "tests/c_api/antiphase.abi"
    if options.store:
        run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", stored, built)
        stored.write_text(re.sub(r"path='[^']*/empty\.c'", "path='empty.c'", stored.read_text()))
        return
    done = compared(options, built)
    if done.returncode != 0:
        sys.exit(
            f"antiphase.h is not what tests/c_api/antiphase.abi says:\n{done.stdout}{done.stderr}\nIf older programs go on working (functions "
            "and members at the end of arguments may come), store the new one: test_library.py stored_interface --store ..."
        )


def changed_interface(options, work):
    header = (options.root / "include/antiphase.h").read_text()
    for what, before, after, code, told in (
        ("a function is gone", "ANTIPHASE_API int antiphase_version(void);", "", 8, "antiphase_version"),
        (
            "an argument is another",
            "int antiphase_version(void);",
            "int antiphase_version(int);",
            4,
            "antiphase_version",
        ),
        ("a member is wider", "  int32_t reproducible;", "  int64_t reproducible;", 4, "reproducible"),
        ("a status is another", "ANTIPHASE_FAILED = 5", "ANTIPHASE_FAILED = 7", 4, "ANTIPHASE_FAILED"),
    ):
        expect(header.count(before), 1, f"places in antiphase.h of {before!r}")
        done = compared(options, interface_of(options, work, header.replace(before, after)))
        if done.returncode & 3 or not done.returncode & code or told not in done.stdout:
            sys.exit(f"{what}: abidiff returned {done.returncode}:\n{done.stdout}{done.stderr}")


def fortran(options, work):
    compiler = need("gfortran", "gfortran")
    module = options.root / "bindings/fortran/antiphase.f90"
    for source, output in (("tests/c_api/test_fortran.f90", "0 faults\n"), ("examples/gemm.f90", "600.0\n")):
        run(
            compiler,
            "-std=f2018",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Wno-compare-reals",
            "-Werror",
            module,
            options.root / source,
            "-o",
            work / "program",
            *linked_with(options.built),
            cwd=work,
        )
        expect(run(work / "program"), output, f"the output of {source}")


class Arguments(ctypes.Structure):
    """The first members of antiphase_sgemm_args, as an older caller knows them."""

    _fields_ = (
        [("size", ctypes.c_size_t), ("device", ctypes.c_int32), ("precision", ctypes.c_int32)]
        + [(name, ctypes.c_int64) for name in "mnk"]
        + [
            field
            for name in "abc"
            for field in (
                (name, ctypes.c_void_p),
                (f"{name}_row", ctypes.c_int64),
                (f"{name}_column", ctypes.c_int64),
            )
        ]
        + [("alpha", ctypes.c_float), ("beta", ctypes.c_float)]
    )


def expect_a_product(library):
    library.antiphase_last_message.restype = ctypes.c_char_p
    m, n, k = 19, 23, 31
    a = (ctypes.c_float * (m * k))(*[(i * 7919 % 101 - 50) / 8 for i in range(m * k)])
    b = (ctypes.c_float * (k * n))(*[(i * 104729 % 103 - 51) / 8 for i in range(k * n)])
    c = (ctypes.c_float * (m * n))(*[float("nan")] * (m * n))
    address = ctypes.addressof
    arguments = Arguments(
        ctypes.sizeof(Arguments), -1, 0, m, n, k, address(a), 0, 0, address(b), 0, 0, address(c), 0, 0, 1, 0
    )
    if library.antiphase_sgemm(ctypes.byref(arguments), None) != 0:
        sys.exit(library.antiphase_last_message().decode())
    for i in range(m):
        for j in range(n):
            # exact in FP32
            expect(c[i * n + j], sum(a[i * k + p] * b[p * n + j] for p in range(k)), f"output {i}, {j}")
    arguments.m = -1
    expect(library.antiphase_sgemm(ctypes.byref(arguments), None), 1, "the status of a bad request")
    if b"extents must not be negative" not in library.antiphase_last_message():
        sys.exit("the sentence of a bad request is missing")


def loaded_behind(options, work):
    for i in range(options.count):
        copy = work / f"{i}.so"
        shutil.copyfile(options.neighbour, copy)
        try:
            expect(ctypes.CDLL(str(copy)).next_of_neighbour(), 1, "a neighbour's first number")
        except OSError:
            if options.count == 200:
                raise
            break  # no static TLS is left
    else:
        expect(options.count, 200, "libraries that the C library has loaded")
    expect_a_product(ctypes.CDLL(str(options.built)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what")
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--library", dest="built", type=pathlib.Path)
    parser.add_argument("--version")
    parser.add_argument("--compiler")
    parser.add_argument("--neighbour", type=pathlib.Path)
    parser.add_argument("--count", type=int)
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    what = {
        "program_gcc": program,
        "program_clang": program,
        "forks": forks,
        "headers": headers,
        "symbols": symbols,
        "stored_interface": stored_interface,
        "changed_interface": changed_interface,
        "fortran": fortran,
        "loaded_behind_200": loaded_behind,
        "loaded_behind_all": loaded_behind,
    }[options.what]
    with tempfile.TemporaryDirectory() as folder:
        what(options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
