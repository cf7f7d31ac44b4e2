#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the wheel, packed from the libraries of a build, in an empty environment.

    test_wheel.py ROOT BUILD

Exit status: 0 passed, 1 failed, 77 the packages that pack it are not installed.
"""
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile

SKIPPED = 77


def run(*words, **environment):
    """The output of a command run in /, since Python imports modules from the current folder."""
    done = subprocess.run(
        [str(word) for word in words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=os.environ | environment,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\nreturned {done.returncode}:\n{done.stdout}")
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit(what)


def dynamic_symbols(binary):
    """The names that a checked program can find in a tool."""
    table = run("readelf", "--wide", "--dyn-syms", binary)
    return set(re.findall(r" (?:GLOBAL|WEAK) +DEFAULT +\d+ (\S+)", table))


# Gives each reference of the packed tool to what the tool has in front of the CUDA runtime, and compares with the
# code of the tool as it was built: shared_gpu_code PACKED BUILT OFFSET SIZE ... prints how many agree, and what is missing.
DRIVER = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include "core/portable/shared_gpu_code.hpp"
extern "C" {
void** __wrap___cudaRegisterFatBinary(void*);
void** __real___cudaRegisterFatBinary(void* of) { return static_cast<void**>(of); }
}
std::string all_of(const char* name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
int main(int count, char** words) {
  const std::string packed = all_of(words[1]), built = all_of(words[2]);
  int same = 0;
  for (int i = 3; i + 1 < count; i += 2) {
    const std::size_t at = std::strtoull(words[i], nullptr, 10), size = std::strtoull(words[i + 1], nullptr, 10);
    struct { unsigned magic, version; const void* code; void* more; } of{0x466243b1, 1, packed.data() + at, nullptr};
    __wrap___cudaRegisterFatBinary(&of);
    if (std::memcmp(of.code, built.data() + at, 16) != 0) continue;
    same += std::memcmp(of.code, built.data() + at, size) == 0;
  }
  const char* const missing = antiphase::missing_gpu_code();
  std::printf("%d%s%s\n", same, missing ? " " : "", missing ? missing : "");
}
"""


def try_shared_gpu_code(root, build, package, work):
    """The tool holds no GPU code that the library has, and finds the library's in its place."""
    from wheel import pieces_of_gpu_code

    tool, library = package / "bin/antiphase", package / "lib/libantiphase.so.0"
    in_library = len(list(pieces_of_gpu_code(library)))
    every = list(pieces_of_gpu_code(build / "antiphase"))
    if not every:
        return  # a build without the GPU part
    data = tool.read_bytes()
    shared = [(at, size) for at, size in every if data[at : at + 16] == b"antiphase lib v1"]
    expect(0 < in_library == len(shared), f"{len(shared)} of {in_library} pieces of GPU code are shared")
    (work / "gpu/bin").mkdir(parents=True)
    (work / "driver.cpp").write_text(DRIVER)
    driver = work / "gpu/bin/driver"
    run(
        "c++",
        "-std=c++20",
        "-O2",
        work / "driver.cpp",
        root / "core/portable/shared_gpu_code.cpp",
        "-I",
        root,
        "-o",
        driver,
    )
    words = [driver, tool, build / "antiphase", *(number for piece in every for number in piece)]
    place = work / "gpu/lib/libantiphase.so.0"
    expected = f"{place}, which has this program's GPU code, "
    said = run(*words)
    expect(
        said.startswith(f"{len(every) - len(shared)} {expected}cannot be read: expected"),
        f"without the library: {said}",
    )
    shutil.copytree(library.parent, work / "gpu/lib")
    said = run(*words)
    expect(said == f"{len(every)}\n", f"with the library: {said}")
    place.write_bytes(place.read_bytes() + b"more")
    said = run(*words)
    expect(
        said.startswith(f"{len(every) - len(shared)} {expected}is another one: "), f"with another one: {said}"
    )
    # The tool says so, too.
    shutil.copy(tool, work / "gpu/bin/antiphase")
    (work / "gpu/bin/antiphase").chmod(0o755)
    said = " ".join(run(work / "gpu/bin/antiphase", "info").split())
    expect(f"{expected}is another one" in said, f"antiphase info says {said}")


def try_examples(tool, folder, clean):
    """The README's commands on the examples that the wheel holds."""
    said = run(tool, "examples", **clean)
    expect("plain_cuda/sum.cu" in said and "gemm.f90" in said, f"antiphase examples says {said}")
    run(tool, "examples", "plain_cuda", folder / "examples", **clean)
    done = subprocess.run(
        [tool, "check", folder / "examples/plain_cuda/sum.cu"], env=os.environ | clean, capture_output=True
    )
    expect(done.returncode == 5, f"check of the copied example returned {done.returncode}")


def try_in_c(python, root, folder, clean):
    """Programs in C and Fortran, by flags, by pkg-config and by CMake, against the installed wheel."""
    (folder / "built").mkdir(parents=True)
    gemm, clean = root / "examples/gemm.c", {**clean, "LD_LIBRARY_PATH": ""}

    def told(*options):
        return shlex.split(run(python, "-m", "antiphase", "info", *options, **clean))

    def expect_600(what, expected="600\n"):
        said = run(folder / "built" / what, **clean)
        expect(said == expected, f"the program in {what} says {said}")

    run("cc", "-std=c99", gemm, "-o", folder / "built/c", *told("--cflags", "--libs"), **clean)
    expect_600("c")
    (script,) = told("--libs")[:1]
    run(
        "cc",
        gemm,
        *told("--cflags"),
        f"{script[2:]}/libantiphase.so",
        "-o",
        folder / "built/path",
        f"-Wl,-rpath,{script[2:]}",
    )
    expect_600("path")
    (config,) = told("--pkg-config-dir")
    if shutil.which("pkg-config"):
        flags = run("pkg-config", "--cflags", "--libs", "antiphase", **clean, PKG_CONFIG_PATH=config)
        run("cc", gemm, "-o", folder / "built/pc", *shlex.split(flags), **clean)
        expect_600("pc")
    if shutil.which("gfortran"):
        words = ["-J", folder, *told("--fortran"), root / "examples/gemm.f90", *told("--libs")]
        run("gfortran", *words, "-o", folder / "built/fortran", **clean)
        expect_600("fortran", "600.0\n")
    (config,) = told("--cmake-dir")
    configure = [
        "cmake",
        "--fresh",
        f"-DCONSUMER_MAIN={gemm}",
        f"-Dantiphase_DIR={config}",
        "-DCONSUMER_COMPONENTS=shared",
    ]
    run(*configure, "-S", root / "tests/consume/project_c", "-B", folder / "built/cmake", **clean)
    run("cmake", "--build", folder / "built/cmake", **clean)
    expect_600("cmake/consumer")
    # The library for C++ is not there, and CMake says so.
    (folder / "cpp").mkdir()
    (folder / "cpp/CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(antiphase CONFIG REQUIRED)\n"
    )
    done = subprocess.run(
        ["cmake", "-S", folder / "cpp", "-B", folder / "built/cpp", f"-Dantiphase_DIR={config}"],
        text=True,
        capture_output=True,
    )
    said = " ".join(done.stderr.split())
    expect(
        done.returncode and "the library for C++ and the component checker are built from" in said,
        f"CMake says {said}",
    )


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    for name in ("pip", "scikit_build_core", "wheel", "venv"):
        if importlib.util.find_spec(name) is None:
            print(f"skipped: {name} is not installed for {sys.executable}")
            sys.exit(SKIPPED)
    sys.path.insert(0, str(root / "scripts/build"))
    from manylinux import platform_of

    with tempfile.TemporaryDirectory(prefix="antiphase-wheel-") as folder:
        folder = pathlib.Path(folder)
        said = run(sys.executable, root / "scripts/build/wheel.py", build, folder / "wheels")
        print(said, end="")
        (wheel,) = (folder / "wheels").iterdir()
        version = re.search(
            r"project\(antiphase[^)]*VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text()
        )[1]
        expect(
            re.fullmatch(rf"antiphase-{re.escape(version)}-py3-none-manylinux_2_\d+_x86_64\.whl", wheel.name),
            f"{wheel.name}: expected one wheel for every Python",
        )
        megabytes = wheel.stat().st_size / 1e6
        expect(megabytes <= 25, f"{wheel.name} has {megabytes:.1f} MB: expected at most 25")
        names = zipfile.ZipFile(wheel).namelist()
        code = {
            str(path.relative_to(root / "python"))
            for package in ("antiphase", "antiphase_check")
            for path in (root / "python" / package).rglob("*")
            if path.suffix in (".py", ".pyi", ".typed")
        }
        packed = {name for name in names if not name.startswith(f"antiphase-{version}.dist-info/")}
        carried = {
            f"antiphase/{where}{path.relative_to(root / what)}"
            for what, where in (
                ("include", "include/"),
                ("examples", "share/antiphase/examples/"),
                ("docs/course", "share/antiphase/course/"),
                ("bench/results/timelines/steps", "share/antiphase/recordings/"),
            )
            for path in (root / what).rglob("*")
            if path.is_file() and path.parent.name != "solutions"
        }
        binaries = {
            "antiphase/bin/antiphase",
            "antiphase/lib/libantiphase.so.0",
            "antiphase/lib/libantiphase_cublas.so",
            "antiphase/lib/libantiphase_torch.so",
        }
        in_c = {
            "lib/libantiphase.so",
            "lib/pkgconfig/antiphase.pc",
            "share/antiphase/antiphase.f90",
            "cmake/AntiphaseCheck.cmake",
            *(
                f"lib/cmake/antiphase/{name}.cmake"
                for name in (
                    "antiphaseConfig",
                    "antiphaseConfigVersion",
                    "antiphaseSharedTargets",
                    "AntiphaseCheck",
                )
            ),
        }
        expected = code | carried | binaries | {"antiphase/py.typed"} | {f"antiphase/{name}" for name in in_c}
        data = f"antiphase-{version}.data/data/share"
        expected |= {
            f"{data}/bash-completion/completions/antiphase",
            f"{data}/fish/vendor_completions.d/antiphase.fish",
            f"{data}/zsh/site-functions/_antiphase",
        }
        pages = {name for name in packed if name.startswith(f"{data}/man/man1/antiphase")}
        expect(
            {f"{data}/man/man1/antiphase{name}.1" for name in ("", "-gemm", "-check", "-run")} <= pages,
            f"the wheel's pages of the manual are {pages}",
        )
        packed -= pages
        expect(packed == expected, f"the wheel has {sorted(packed ^ expected)} too much, or not")
        zipfile.ZipFile(wheel).extractall(folder / "unpacked")
        platform = platform_of([folder / "unpacked" / name for name in sorted(binaries)])
        expect(
            wheel.name.endswith(f"-{platform}.whl") and int(platform.split("_")[2]) <= 28,
            f"{wheel.name} runs on {platform}: expected 2.28 or older, and what its name says",
        )
        sections = run("readelf", "--wide", "--sections", folder / "unpacked/antiphase/bin/antiphase")
        expect(" .debug_line " in sections, "the tool has lost the source lines of its kernels")
        expect(" .symtab " not in sections, "the tool has its symbols twice")

        for file in ("LICENSE", "NOTICE_THIRD_PARTY", "LICENSES/LGPL-3.0.txt"):
            expect(
                any(
                    name.startswith(f"antiphase-{version}.dist-info/") and name.endswith(f"/{file}")
                    for name in names
                ),
                f"the wheel has no {file}",
            )

        run(sys.executable, "-m", "venv", "--without-pip", folder / "empty")
        python = folder / "empty/bin/python"
        run(
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            "--disable-pip-version-check",
            wheel,
        )
        clean = {"PYTHONPATH": "", "ANTIPHASE_LIBRARY": "", "PYTHONDONTWRITEBYTECODE": ""}
        script = folder / "script.py"
        script.write_text(
            "import time\nstart = time.perf_counter()\nimport antiphase\nprint(time.perf_counter() - start, antiphase.__file__)\n"
            "print([line for line in open('/proc/self/maps') if 'libantiphase_cublas' in line] != [])\n"
        )
        times = []
        for _ in range(5):
            time, place = run(python, script, **clean).splitlines()[0].split()
            expect(place.startswith(str(folder)), f"{place} was imported: expected the wheel's")
            times.append(float(time))
        print(f"import: {1000 * min(times):.0f} ms")
        expect(min(times) < 0.2, f"an import took {min(times):.3f} s: expected less than 0.2")
        expect(
            run(python, "-m", "antiphase", "run", script, **clean).splitlines()[1] == "True",
            "python -m antiphase run: the library was not in the process",
        )
        expect(
            "which is missing" not in run(python, "-m", "antiphase", "info", **clean),
            "python -m antiphase info: a library is missing",
        )
        # Both libraries are those of the wheel: one finds the other in its own folder.
        found = run(
            python,
            "-c",
            "import ctypes, antiphase\nfrom antiphase import _cublas\nctypes.CDLL(_cublas.place())\n"
            "print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libantiphase' in line})",
            **clean,
        ).split()
        expect(
            len(found) == 2 and all(path.startswith(str(folder)) for path in found),
            f"in the process are {found}",
        )

        # The tool: the command on the path, its libraries, its examples, and headers for what it checks.
        tool = folder / "empty/bin/antiphase"
        said = run(tool, "--version", **clean)
        expect(said.startswith(f"antiphase {version} "), f"antiphase --version says {said}")
        kernels = root / "examples/plain_cuda/scale.cu"
        said = run(folder / "empty/bin/antiphase-check", "--allow-none", kernels, **clean)
        expect("scale.cu: no main: not checked\n" in said, f"antiphase-check says {said}")
        said = run(tool, "demo", folder / "demo", **clean)
        for sign in (
            *(f"[{step}/5] " for step in range(1, 6)),
            "same digit",
            "dots of ink",
            "overwritten in use: kernel sum",
            "Done.",
        ):
            expect(sign in said, f"the demonstration does not say '{sign}':\n{said}")
        run(tool, "course", "start", "1", folder, **clean)
        lab = folder / "01-two-barriers/start.cu"
        lab.write_text((root / "docs/course/solutions/01-two-barriers.cu").read_text())
        said = run(tool, "course", "check", "1", lab, **clean)
        expect(said.startswith("lab 1 is done"), f"course check says {said}")
        expect(
            run(tool, "run", python, script, **clean).splitlines()[1] == "True",
            "antiphase run: the library was not in the process",
        )

        try_examples(tool, folder, clean)
        try_shared_gpu_code(root, build, folder / "unpacked/antiphase", folder)
        try_in_c(python, root, folder / "in c", clean)
        (binary,) = (folder / "empty").glob("lib/python*/site-packages/antiphase/bin/antiphase")
        print(
            run(
                sys.executable,
                root / "tests/checker/plain/run_programs.py",
                binary,
                root / "tests/checker/plain/programs",
                "--few",
            ),
            end="",
        )
        symbols = dynamic_symbols(build / "antiphase")
        expect(
            len(symbols) > 1000 and symbols == dynamic_symbols(binary),
            f"what programs find in the packed tool differs: {sorted(symbols ^ dynamic_symbols(binary))[:9]}",
        )

        # A first product, with the tests' NumPy in the same environment.
        if importlib.util.find_spec("numpy") is None:
            print(f"no product: numpy is not installed for {sys.executable}")
            return
        paths = {"PYTHONPATH": str(pathlib.Path(importlib.util.find_spec("numpy").origin).parent.parent)}
        answer = run(
            python,
            "-c",
            "import numpy, antiphase\na, b = numpy.full((3, 200), 1.5, 'f4'), numpy.full((200, 2), 2, 'f4')\n"
            "print(antiphase.matmul(a, b)[2, 1], antiphase.cumsum(a[:, 0])[2])",
            **clean | paths,
        )
        expect(answer == "600.0 4.5\n", f"the products are {answer}")


if __name__ == "__main__":
    main()
