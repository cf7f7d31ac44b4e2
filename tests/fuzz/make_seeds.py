#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed files for fuzzing the .npy reader: make_seeds.py FOLDER. Every version, type, byte order
and element order, headers as other writers produce them, and files with a single fault."""
import pathlib
import struct
import sys

TYPES = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def npy(header, data=b"", version=1, aligned=64, length=None):
    length_format = "<H" if version == 1 else "<I"
    fixed = 8 + struct.calcsize(length_format)
    text = header.encode("latin1")
    text += b" " * (-(fixed + len(text) + 1) % aligned) + b"\n"
    return (
        b"\x93NUMPY"
        + bytes((version, 0))
        + struct.pack(length_format, len(text) if length is None else length)
        + text
        + data
    )


def header(descr="'<f4'", order=False, shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def positions(count):
    return bytes((i * 37 + i // 251) % 256 for i in range(count))


def seeds():
    for number, name in enumerate(TYPES):
        size = int(name[1])
        for mark in "<>":
            yield f"type_{name}_{'little' if mark == '<' else 'big'}", npy(
                header(f"'{mark}{name}'", number % 2 == 1), positions(6 * size), 1 + number % 3
            )
    for number, shape in enumerate(
        ("()", "(5,)", "(0, 7)", "(2, 3, 4)", "(1, 24, 1)", "(3, 2, 1, 4)", "(" + "1, " * 64 + ")")
    ):
        yield f"shape_{number}", npy(header("'<i2'", True, shape), positions(48))
    whole = npy(header(), positions(24), 2)
    for size in (0, 3, 9, 11, 40, len(whole) - 5):
        yield f"cut_{size}", whole[:size]
    yield "trailing", whole + b"more"
    yield "two", whole + whole
    for number, text in enumerate(
        (
            "{\"shape\" : ( 2 , ) , 'fortran_order':False,'descr':\"<f4\"}",
            "{'shape':(2,),'descr':'<f4','fortran_order':True}",
            "{}",
            "{'descr': '<f4'}",
            header("[('a', '<f4')]"),
            header("'|O'"),
            header("'<f2'"),
            header("'<M8[ns]'"),
            header("'|f4'"),
            header(shape="(2)"),
            header(shape="(-2,)"),
            header(shape="(-2, -3)"),
            header(shape="(2.0,)"),
            header(shape="(2L,)"),
            header(shape="(True,)"),
            header(shape="(4294967296, 4294967296)"),
            header(shape="(1099511627776,)"),
            header(shape="(9223372036854775808,)"),
            header(order=0),
            header() + " or 1",
            header("open('x')"),
            header()[:-2] + "'extra': 1}",
            header()[:-2] + "'shape': (1,)}",
        )
    ):
        yield f"header_{number}", npy(text, positions(24), aligned=16)
    yield "header_unaligned", npy(header(), positions(24), aligned=1)
    for version in (0, 2, 3, 4):
        yield f"length_{version}", npy(
            header(), positions(24), version, length=0xFFFF if version == 1 else 0x10000000
        )
    yield "length_10001", npy(header(), positions(24), length=10001)
    yield "text", b"a,b\n1,2\n"
    yield "zip", b"PK\x03\x04" + positions(20)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
