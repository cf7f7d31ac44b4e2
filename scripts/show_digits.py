#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows the demo's results: nearest neighbours of digits from a product, and the ink used, from a scan.

It needs the standard library only: the arrays are the small .npy files of examples/data and of the demo.
"""

import argparse
import ast
import array
import pathlib
import struct
import sys

TYPES = {"<f4": "f", "|u1": "B", "<i4": "i", "<i8": "q"}
SHADES = " .:-=+*#%@"


def read_npy(path):
    """The shape, the order ('C' or 'F') and the elements of an array."""
    data = pathlib.Path(path).read_bytes()
    if data[:6] != b"\x93NUMPY" or data[6] != 1:
        raise ValueError(f"{path}: not an .npy file of version 1")
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode("latin-1"))
    elements = array.array(TYPES[header["descr"]])
    elements.frombytes(data[10 + length :])
    return header["shape"], "F" if header["fortran_order"] else "C", elements


def picture(pixels):
    """An image of 8 x 8 values from 0 to 16 as eight lines of text."""
    return ["".join(2 * SHADES[round(pixels[8 * y + x] * 9 / 16)] for x in range(8)) for y in range(8)]


def nearest(products, squares):
    """The training image t nearest to a test image s. |t|^2 - 2 s.t is the squared distance without |s|^2,
    which is the same for all t."""
    return min(range(len(squares)), key=lambda j: squares[j] - 2 * products[j])


def show_neighbours(folder, product):
    (pixels, train_count), order, train = read_npy(folder / "digits_train.npy")
    (test_count, _), _, test = read_npy(folder / "digits_test.npy")
    shape, product_order, products = read_npy(product)
    if shape != (test_count, train_count) or order != "F" or product_order != "C":
        raise ValueError(f"{product}: shape {shape}, expected {(test_count, train_count)}")
    _, _, train_labels = read_npy(folder / "labels_train.npy")
    _, _, test_labels = read_npy(folder / "labels_test.npy")

    def image(images, i):
        return images[i * pixels : (i + 1) * pixels]

    squares = [sum(x * x for x in image(train, j)) for j in range(train_count)]
    neighbours = [
        nearest(products[i * train_count : (i + 1) * train_count], squares) for i in range(test_count)
    ]
    right = sum(train_labels[j] == test_labels[i] for i, j in enumerate(neighbours))
    wrong = next((i for i, j in enumerate(neighbours) if train_labels[j] != test_labels[i]), None)

    shown = [0, 5, 9] + ([wrong] if wrong is not None else [])
    columns = []
    for i in shown:
        j = neighbours[i]
        verdict = "" if train_labels[j] == test_labels[i] else "  (wrong)"
        title = f"a {test_labels[i]}, nearest: a {train_labels[j]}{verdict}"
        columns.append(
            [title.ljust(36)]
            + [f"{a}  {b}".ljust(36) for a, b in zip(picture(image(test, i)), picture(image(train, j)))]
        )
    for line in zip(*columns):
        print("  " + "".join(line).rstrip())
    print(
        f"  {right} of {test_count} test images have a nearest neighbour that shows the same digit ({100 * right / test_count:.1f} %)"
    )
    return 0 if right > 0.9 * test_count else 1


def show_ink(sums):
    (count,), _, totals = read_npy(sums)
    half = next(i for i, total in enumerate(totals) if 2 * total >= totals[-1])
    print(
        f"  writing {count} digits takes {totals[-1]} dots of ink; half of it is used up by digit {half + 1}"
    )
    return 0 if all(a <= b for a, b in zip(totals, totals[1:])) else 1


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = arguments.add_subparsers(dest="what", required=True)
    neighbours = what.add_parser("neighbours", help="from the product of test and training images")
    neighbours.add_argument("folder", type=pathlib.Path)
    neighbours.add_argument("product", type=pathlib.Path)
    ink = what.add_parser("ink", help="from the inclusive sum of the ink per image")
    ink.add_argument("sums", type=pathlib.Path)
    given = arguments.parse_args()
    try:
        return (
            show_neighbours(given.folder, given.product)
            if given.what == "neighbours"
            else show_ink(given.sums)
        )
    except (OSError, ValueError, KeyError) as problem:
        print(f"show_digits.py: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
