#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the arrays of examples/data from the table of handwritten digits (see examples/data/README.md)."""

import argparse
import csv
import gzip
import pathlib
import sys

import numpy as np

IMAGES = 1797
PIXELS = 64  # 8 x 8, each the count of dark dots in a 4 x 4 block of the scan
TRAIN = 1500  # the first ones; the rest is for testing


def read_table(path):
    """Rows of 64 pixels (0 to 16) and the digit; plain or gzip-compressed CSV without a header line."""
    opened = gzip.open(path, "rt", newline="") if path.suffix == ".gz" else open(path, newline="")
    with opened as lines:
        table = np.array([[int(float(cell)) for cell in row] for row in csv.reader(lines) if row])
    if table.shape != (IMAGES, PIXELS + 1):
        raise ValueError(f"{path}: the table has the shape {table.shape}, expected {(IMAGES, PIXELS + 1)}")
    pixels, digits = table[:, :PIXELS], table[:, PIXELS]
    if pixels.min() < 0 or pixels.max() > 16 or digits.min() < 0 or digits.max() > 9:
        raise ValueError(f"{path}: values out of range, expected pixels from 0 to 16 and digits from 0 to 9")
    return pixels, digits


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("table", type=pathlib.Path, help="digits.csv or digits.csv.gz")
    arguments.add_argument(
        "--folder", type=pathlib.Path, default=root / "examples" / "data", help="where the arrays go"
    )
    given = arguments.parse_args()

    try:
        pixels, digits = read_table(given.table)
    except (OSError, ValueError) as problem:
        sys.exit(f"make_digits.py: {problem}")
    arrays = {
        # One image per column: the right operand of a product with the test images. The transposed view is
        # stored in Fortran order, without moving bytes.
        "digits_train": pixels[:TRAIN].astype("<f4").T,
        "digits_test": pixels[TRAIN:].astype("<f4"),
        "labels_train": digits[:TRAIN].astype("u1"),
        "labels_test": digits[TRAIN:].astype("u1"),
        "ink": pixels.sum(axis=1).astype("<i4"),
    }
    for name, array in arrays.items():
        np.save(given.folder / f"{name}.npy", array)
        print(f"{name}.npy: {array.dtype.str[1:]} {array.shape}")


if __name__ == "__main__":
    main()
