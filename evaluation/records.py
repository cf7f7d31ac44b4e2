#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The records of the evaluations: what was drawn and what came of it, plain or in records.tar.xz.

    records.py pack    packs the plain files that scripts here have written, and removes them

../bench/packed.py lists and prints them: `bench/packed.py print corpus/outcome evaluation`.
"""
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "bench"))
import packed

PACK = "records.tar.xz"
RECORDS = (
    "corpus/files.json",
    "corpus/outcome.json",
    "corpus_languages/list.json",
    "corpus_languages/outcome.json",
    "mutants/gpu.json",
    "upstream/gpu.json",
    "upstream/outcome.json",
)


def read(name, folder=FOLDER):
    """A record, the plain file if there is one; None without either."""
    if (folder / name).exists():
        return json.loads((folder / name).read_text())
    files = packed.files_of(folder / PACK) if (folder / PACK).exists() else {}
    return json.loads(files[name]) if name in files else None


def pack(folder=FOLDER):
    files = packed.files_of(folder / PACK) if (folder / PACK).exists() else {}
    plain = [name for name in RECORDS if (folder / name).exists()]
    files.update({name: (folder / name).read_bytes() for name in plain})
    packed.write_pack(folder / PACK, files)
    for name in plain:
        (folder / name).unlink()
        print(f"packed {name}")


if __name__ == "__main__":
    if sys.argv[1:] != ["pack"]:
        sys.exit(__doc__.strip())
    pack()
