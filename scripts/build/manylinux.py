#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which Linux systems binaries run on, as the platform tag of a Python wheel.

    manylinux.py FILE...    prints the tag of the oldest C library that has what the files need

Files may need the C library, g++'s unwinder (libgcc_s) of a version that systems with that C library have, and each
other. scripts/build/wheel.py names the wheel by the tag. Exit status: 0, or 1 with a message that names what is too new.
"""
import pathlib
import re
import subprocess
import sys

# The C library, which every program has: one file, or several in older versions; and the unwinder of g++.
OF_THE_SYSTEM = re.compile(r"(libc|libm|libpthread|libdl|librt|libgcc_s|ld-linux[\w-]*)\.so\.\d+")
OLDEST = (2, 17)  # manylinux2014
# That of g++ 8, in RHEL 8 and Debian 10, has no newer symbols; so say the policies of manylinux_2_27 to 2_34.
NEWEST_UNWINDER = (7, 0, 0)


class NotPortable(Exception):
    """A binary that needs what systems of no tag have."""


def output_of(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != 0:
        raise NotPortable(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def needed_versions(binary):
    """{symbol: (GLIBC or GCC, version)} of what a binary takes from the C library and the unwinder."""
    found = {}
    for line in output_of("objdump", "--dynamic-syms", "--wide", binary).splitlines():
        symbol = re.search(r" \*UND\*\s.*\(?\b(GLIBC|GCC)_([\d.]+)\)? +(\S+)$", line)
        if symbol:
            found[symbol[3]] = (symbol[1], tuple(map(int, symbol[2].split("."))))
    return found


def platform_of(binaries):
    """The platform tag of files that lie next to each other."""
    newest, names = OLDEST, {name_of(binary) for binary in binaries}
    for binary in map(pathlib.Path, binaries):
        dynamic = output_of("readelf", "--dynamic", "--wide", binary)
        needed = [
            name for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic) if not OF_THE_SYSTEM.fullmatch(name)
        ]
        foreign = set(needed) - names
        if foreign:
            raise NotPortable(
                f"{binary.name} asks for {', '.join(sorted(foreign))}: expected what every Linux has, and what lies next to it"
            )
        for symbol, (of, version) in needed_versions(binary).items():
            if of == "GLIBC":
                newest = max(newest, version[:2])
            elif version > NEWEST_UNWINDER:
                raise NotPortable(
                    f"{binary.name} takes {symbol} of GCC_{'.'.join(map(str, version))} from libgcc_s: expected "
                    f"nothing newer than GCC_{'.'.join(map(str, NEWEST_UNWINDER))}, as older systems lack it"
                )
    return f"manylinux_{newest[0]}_{newest[1]}_{output_of('uname', '-m').strip()}"


def name_of(binary):
    """The name by which others ask for a library: a build's file has a longer one."""
    soname = re.search(r"\(SONAME\).*\[(.*)\]", output_of("readelf", "--dynamic", "--wide", binary))
    return soname[1] if soname else pathlib.Path(binary).name


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    try:
        print(platform_of(sys.argv[1:]))
    except NotPortable as fault:
        sys.exit(f"manylinux.py: {fault}")


if __name__ == "__main__":
    main()
