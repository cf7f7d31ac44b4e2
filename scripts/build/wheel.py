#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the Python wheel from the libraries of a build; compiles nothing.

    wheel.py [--audit] BUILD FOLDER

BUILD is a build folder in which antiphase_wheel is built. The wheel's platform tag is the oldest manylinux whose C
library has what its binaries need (manylinux.py). --audit: it must run there by auditwheel's rules, too, else there is
no wheel. Prints the wheel's file and size. Needs pip, scikit-build-core and wheel. Exit status: 0, or 1 with a message.
"""
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import manylinux

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command):
    done = subprocess.run(
        [str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0:
        sys.exit(f"wheel.py: {' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def tag_of(binaries):
    try:
        return manylinux.platform_of(binaries)
    except manylinux.NotPortable as fault:
        sys.exit(f"wheel.py: {fault}")


def audit(wheel):
    """Fails if auditwheel's tag is newer than the wheel's."""
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    named, found = re.search(r"manylinux_2_(\d+)_", wheel.name), re.search(r'"manylinux_2_(\d+)_', said)
    if not (named and found and int(found[1]) <= int(named[1])):
        sys.exit(f"wheel.py: auditwheel says of {wheel.name}:\n{said}expected its tag, or an older one")
    print(said)


def pieces_of_gpu_code(binary):
    """(offset, size) of each piece in a binary: nvcc makes one of each source."""
    sections = run("readelf", "--sections", "--wide", binary)
    section = re.search(r" \.nv_fatbin +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", sections)
    if not section:
        return
    first, size = (int(word, 16) for word in section.groups())
    data = binary.read_bytes()[first : first + size]
    at = 0
    while (at := data.find(b"\x50\xed\x55\xba", at)) >= 0:
        header_bytes, bytes_after = struct.unpack_from("<HQ", data, at + 6)
        yield first + at, header_bytes + bytes_after
        at += header_bytes + bytes_after


def share_gpu_code(tool, library):
    """Puts a reference in place of each piece of GPU code in the tool that the library has, too: see
    core/portable/shared_gpu_code.cpp, which reads it. Returns the number of pieces."""
    mark, code, shared = b"antiphase lib v1", library.read_bytes(), 0
    places = {code[at : at + size]: at for at, size in pieces_of_gpu_code(library)}
    data = bytearray(tool.read_bytes())
    if mark not in data:  # built without what reads references
        return 0
    for at, size in pieces_of_gpu_code(tool):
        place = places.get(bytes(data[at : at + size]))
        if place is not None:
            data[at : at + size] = (mark + struct.pack("<QQQ", place, size, len(code))).ljust(size, b"\0")
            shared += 1
    tool.write_bytes(data)
    return shared


def complete(wheel, installed, platform):
    """Adds to a wheel what a build installs: the package's files, and what pip puts into the environment's prefix,
    man pages and completions for shells. It is compressed here for the first time, as that takes longest."""
    unpacked = wheel.parent / "unpacked"
    run(sys.executable, "-m", "wheel", "unpack", wheel, "--dest", unpacked)
    (content,) = unpacked.iterdir()
    shutil.copytree(installed / "antiphase", content / "antiphase", dirs_exist_ok=True)
    shutil.copytree(installed / "data", content / f"{content.name}.data/data")
    (tags,) = content.glob("*.dist-info/WHEEL")
    text, count = re.subn(r"(?m)^(Tag: py3-none-)\S+$", rf"\g<1>{platform}", tags.read_text())
    if count != 1:
        sys.exit(f"wheel.py: {wheel.name} has {count} tags: expected one, py3-none-...")
    tags.write_text(text)
    wheel.unlink()
    run(sys.executable, "-m", "wheel", "pack", content, "--dest-dir", wheel.parent)


def pack(build, folder, audited):
    with tempfile.TemporaryDirectory(prefix="antiphase-wheel-") as work:
        stage, packed, installed = (pathlib.Path(work) / name for name in ("stage", "packed", "installed"))
        stage.mkdir()
        for package in ("antiphase", "antiphase_check"):
            shutil.copytree(
                ROOT / "python" / package,
                stage / "python" / package,
                ignore=shutil.ignore_patterns("__pycache__", "bin", "cmake", "include", "lib", "share"),
            )
        shutil.copytree(ROOT / "LICENSES", stage / "LICENSES")
        for file in ("pyproject.toml", "python/README.md", "LICENSE", "NOTICE_THIRD_PARTY"):
            shutil.copy(ROOT / file, stage / file)
        # with debug information: the checker reads the source lines of the tool's kernels
        run("cmake", "--install", build, "--component", "python", "--prefix", installed)
        package = installed / "antiphase"
        libraries = ("antiphase.so.0", "antiphase_cublas.so", "antiphase_torch.so")
        names = (*(f"lib/lib{name}" for name in libraries), "bin/antiphase")
        binaries = [path for path in (package / name for name in names) if path.exists()]
        if len(binaries) != len(names):
            sys.exit(
                f"wheel.py: {build} has {', '.join(path.name for path in binaries)}: expected a build with the three shared libraries and the tool"
            )
        share_gpu_code(package / "bin/antiphase", package / "lib/libantiphase.so.0")
        # Its symbols are there twice: programs find those of the dynamic table.
        run("objcopy", "--strip-all", "--keep-section=.debug_*", package / "bin/antiphase")
        run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            stage,
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--disable-pip-version-check",
            "--wheel-dir",
            packed,
            "--config-settings=wheel.cmake=false",
            "--config-settings=wheel.platlib=true",
        )
        (wheel,) = packed.glob("*.whl")
        complete(wheel, installed, tag_of(binaries))
        (wheel,) = packed.glob("*.whl")
        if audited:
            audit(wheel)
        folder.mkdir(parents=True, exist_ok=True)
        return pathlib.Path(shutil.copy(wheel, folder))


def main():
    words = [word for word in sys.argv[1:] if word != "--audit"]
    if len(words) != 2 or words[0].startswith("-"):
        sys.exit(__doc__.strip())
    wheel = pack(pathlib.Path(words[0]).resolve(), pathlib.Path(words[1]).resolve(), "--audit" in sys.argv)
    print(f"{wheel}\n{wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
