#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads folders of JSON files, of which most are in packs: NAME.tar.xz, whose files belong to the folder of the pack.

    packed.py list [FOLDER]              names of all files below FOLDER, which is bench/results if not given
    packed.py print NAME [FOLDER]        prints the file of that name, such as 20261122-shapes, byte by byte; NAME may
                                         have folders
    packed.py unpack TARGET [FOLDER]     writes all of them as plain files to TARGET, which is emptied, in the same folders

pack.py makes the packs. A plain file replaces the one of the same name in a pack. `tar --list --file PACK` lists
one, too. Exit status: 0 fine, 1 there is no such file, 2 usage.
"""
import atexit
import io
import lzma
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def files_of(pack):
    """Name and content of each file in a pack."""
    with tarfile.open(pack, "r:xz") as archive:
        return {file.name: archive.extractfile(file).read() for file in archive}


def write_pack(pack, files):
    """The same bytes for the same files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    pack.write_bytes(lzma.compress(made.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def read(folder):
    """The content of each JSON file below a folder, plain or packed, by its path in there."""
    found = {}
    for pack in sorted(folder.rglob("*.tar.xz")):
        below = pack.parent.relative_to(folder)
        found.update({(below / name).as_posix(): content for name, content in files_of(pack).items()})
    found.update(
        {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*.json"))}
    )
    return found


def unpack(folder, destination):
    """Writes what read() gives as plain files."""
    shutil.rmtree(destination, ignore_errors=True)
    destination.mkdir(parents=True)
    for name, content in read(folder).items():
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        (destination / name).write_bytes(content)


def unpacked(folder):
    """A folder with plain files of all that a folder has: for programs that read files, and until this one ends."""
    scratch = tempfile.TemporaryDirectory()
    atexit.register(scratch.cleanup)
    unpack(folder, pathlib.Path(scratch.name, folder.name))
    return pathlib.Path(scratch.name, folder.name)


def main(arguments):
    what, *given = arguments or [""]
    if what == "unpack" and 1 <= len(given) <= 2:
        unpack(pathlib.Path(*given[1:] or [RESULTS]), pathlib.Path(given[0]))
        return 0
    if what == "list" and len(given) <= 1:
        print("\n".join(sorted(read(pathlib.Path(*given or [RESULTS])))))
        return 0
    if what != "print" or not 1 <= len(given) <= 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    name, folder = re.sub(r"\.json$", "", given[0]), pathlib.Path(*given[1:] or [RESULTS])
    content = {}
    for path, text in read(folder).items():
        content[pathlib.PurePath(path).stem] = content[path[: -len(".json")]] = text
    if name not in content:
        print(f"packed.py: there is no file '{name}.json' in {folder} or its packs", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(content[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
