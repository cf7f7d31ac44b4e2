#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes stand-ins of this system's C library and unwinder to link with, so that a program runs with older ones.

    old_glibc.py VERSION CC FOLDER

A linker takes the newest version of each symbol that the C library offers. The stand-ins in FOLDER offer
only versions up to VERSION, such as 2.28: a program linked with them (-L FOLDER) asks for no newer one, and
the linker names the functions that an older C library lacks. In it, threads and dlopen() are libraries of
their own, so programs must name those too. Of libgcc_s they offer what that of g++ 8 has: the unwinder, which a
process must share; newer functions, such as conversions of _Float16, are then taken from the archive libgcc.a. CC is
the C compiler. Exit status: 0, or 1 with a message.
"""
import collections
import pathlib
import re
import subprocess
import sys

import manylinux

# The stand-ins, by the names that the linker searches for. Until 2.34 those of threads and after had contents of their
# own.
LIBRARIES = {
    "libgcc_s": "libgcc_s.so.1",
    "libc": "libc.so.6",
    "libm": "libm.so.6",
    "libpthread": "libpthread.so.0",
    "libdl": "libdl.so.2",
    "librt": "librt.so.1",
}


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"old_glibc.py: {' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def number(version):
    """GLIBC_2.2.5 as (2, 2, 5); None for GLIBC_PRIVATE."""
    found = re.fullmatch(r"(?:GLIBC|GCC)_([\d.]+)", version)
    return found and tuple(map(int, found[1].split(".")))


def symbols(library, newest):
    """The defined symbols as {name: (version, is it data, size)}, each in its newest version that is allowed."""
    found = {}
    for line in run("readelf", "--dyn-syms", "--wide", library).splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "ABS", "Ndx") or words[3] == "TLS" or "@" not in words[7]:
            continue
        name, version = re.fullmatch(r"([^@]+)@@?(.+)", words[7]).groups()
        of = number(version)
        if of and of <= newest and (name not in found or of > number(found[name][0])):
            found[name] = (version, words[3] == "OBJECT", int(words[2], 0))
    return found


def source(offered):
    """Assembly that defines the symbols, and the linker's version script for it."""
    lines, versions = [".text"], collections.defaultdict(list)
    for name, (version, data, size) in sorted(offered.items()):
        kind = "@object" if data else "@function"
        lines += [".data" if data else ".text", f".globl at_{name}", f".type at_{name}, {kind}"]
        # programs copy variables, and so need their sizes
        lines += [
            f".size at_{name}, {size}" if data else "",
            f"at_{name}: .skip {max(size, 1) if data else 1}",
        ]
        lines += [f".symver at_{name}, {name}@@{version}"]
        versions[version].append(name)
    script = "".join(f"{version} {{ }};\n" for version in sorted(versions, key=number))
    return "\n".join([*lines, '.section .note.GNU-stack, "", @progbits', ""]), script


def main():
    if len(sys.argv) != 4 or not re.fullmatch(r"2\.\d+", sys.argv[1]):
        sys.exit(__doc__.strip())
    newest, cc, folder = number(f"GLIBC_{sys.argv[1]}"), sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    for name, soname in LIBRARIES.items():
        real = pathlib.Path(run(cc, f"-print-file-name={soname}")).resolve()
        if not real.is_file():
            sys.exit(f"old_glibc.py: {cc} finds no {soname}: expected the GNU C library")
        newest_of = {"libc": newest, "libm": newest, "libgcc_s": manylinux.NEWEST_UNWINDER}
        offered = symbols(real, newest_of[name]) if name in newest_of else {}
        assembly, script = source(offered)
        (folder / f"{name}.s").write_text(assembly)
        (folder / f"{name}.map").write_text(script)
        # the names of libc.so and libgcc_s.so stay free for the linker scripts below
        file = folder / (soname if name in ("libc", "libgcc_s") else f"{name}.so")
        versions = [f"-Wl,--version-script={folder / f'{name}.map'}"] if offered else []
        run(cc, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", *versions, "-o", file, folder / f"{name}.s")
    # as in the system's: atexit() and a few others are linked into every program
    rest, loader = run(cc, "-print-file-name=libc_nonshared.a"), run(
        cc, "-print-file-name=ld-linux-x86-64.so.2"
    )
    (folder / "libc.so").write_text(f"GROUP ( {folder / 'libc.so.6'} {rest} AS_NEEDED ( {loader} ) )\n")
    (folder / "libgcc_s.so").write_text(f"GROUP ( {folder / 'libgcc_s.so.1'} -lgcc )\n")


if __name__ == "__main__":
    main()
