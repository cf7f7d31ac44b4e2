#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts new files of bench/results into packs, and writes the digests of all that are there.

    pack.py                 packs plain files: results into measured.tar.xz, series of experiments into a pack that
                            is named after the newest of them; writes both digests
    pack.py --drop NAME...  leaves results of these names out of measured.tar.xz, as newer ones have all their figures
    pack.py --check         writes nothing, and fails if a digest is not what the files say

The digests are results/digest.md, a line for each figure, and results/experiments/README.md, what each series asks.
packed.py reads packs. Exit status: 0 fine, 1 a digest differs or there is no such file, 2 usage.
"""
import argparse
import json
import pathlib
import re
import sys
import textwrap

import packed

WIDTH = 118
WRITTEN = "Written by `bench/pack.py`. "
PRINTS = "`bench/packed.py print NAME` prints the file below a heading's name, with all that was recorded."


def json_files(folder):
    """The content of each file directly in a folder or its packs, by name; sorted."""
    of = {pathlib.PurePath(path): content for path, content in packed.read(folder).items()}
    return {path.stem: json.loads(text) for path, text in sorted(of.items()) if len(path.parts) == 1}


# ---- The digest of results


def microseconds(value):
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"


def row(record):
    shape = " x ".join(str(extent) for extent in record["shape"].values())
    about = [record.get(key) for key in ("type", "layout", "data", "set", "name", "mask")]
    about += [f"{record['count']} products"] if record.get("count", 1) > 1 else []
    about += [f"beta {record['beta']}"] if record.get("beta") else []
    what = [record["kernel"], record.get("policy", ""), shape, ", ".join(str(word) for word in about if word)]
    if "refused" in record:
        return [*what, "refused"]
    times = ", ".join(f"{who} {microseconds(us)}" for who, us in record["time_us"].items())
    return [*what, f"{record['protocol']}: {times}"]


def table(rows):
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n" for cells in rows)


def origin(content):
    """Where and when a file was measured, as far as it says."""
    machine = content.get("machine", {})
    name = machine if isinstance(machine, str) else machine.get("name", "")
    driver = machine.get("driver") if isinstance(machine, dict) else None
    words = [name, f"driver {driver}" if driver else "", str(content.get("date", ""))[:10]]
    words += [f"commit {content['commit']}"] if "commit" in content else []
    return ", ".join(word for word in words if word)


def digest_of_results(folder):
    text = "# Figures that were measured\n\n"
    about = "Times are medians in microseconds; what the names mean: [the members](README.md#members)."
    text += "\n".join(textwrap.wrap(f"{WRITTEN}{PRINTS} {about}", WIDTH)) + "\n"
    for name, content in json_files(folder).items():
        text += f"\n## {name}\n\n`{content['command']}`; {origin(content)}.\n\n"
        text += table([["kernel", "policy", "shape", "of", "times"], ["---"] * 5])
        text += table(row(record) for record in content["records"])
    return text


# ---- The digest of series


def question(content):
    """What a series asks, or else the beginning of what it says of itself."""
    if "question" in content:
        return content["question"]
    for about in filter(None, map(content.get, ("about", "what", "program"))):
        said = ""
        for sentence in re.split(r"(?<=\w\w[.:;]) ", about):
            said += f" {sentence}" if len(said) < 80 else ""
        return said.strip()
    return f"what `antiphase {content['command']}` printed" if "command" in content else content["unit"]


def digest_of_series(folder):
    text = "# Series of experiments\n\n"
    about = "What came of a series is on the page that links to it."
    text += "\n".join(textwrap.wrap(f"{WRITTEN}{PRINTS} {about}", WIDTH)) + "\n"
    for name, content in json_files(folder).items():
        asked = re.sub(r"([|*_<>\[\]])", r"\\\1", question(content)).rstrip(".:;")
        said = f"{asked[0].upper()}{asked[1:]}." + (f" {origin(content)}." if origin(content) else "")
        text += f"\n## {name}\n\n"
        text += "\n".join(textwrap.wrap(said, WIDTH, break_long_words=False, break_on_hyphens=False)) + "\n"
    return text


# ---- Packing


def add(pack, plain, without=()):
    """Adds plain files to a pack, and removes them and the names to leave out."""
    files = packed.files_of(pack) if pack.exists() else {}
    files.update({file.name: file.read_bytes() for file in plain})
    packed.write_pack(pack, {name: files[name] for name in files if name not in without})
    for file in plain:
        file.unlink()


def pack_all(results, dropped):
    measured, experiments = results / "measured.tar.xz", results / "experiments"
    without = [re.sub(r"\.json$", "", name) + ".json" for name in dropped]
    known = packed.files_of(measured) if measured.exists() else {}
    for name in without:
        if name not in known:
            sys.exit(f"pack.py: there is no {name} in {measured}")
    plain = sorted(results.glob("*.json"))
    if plain or without:
        add(measured, plain, without)
    if plain := sorted(experiments.glob("*.json")):
        newest = max((file.name[:8] for file in plain if file.name[:8].isdigit()), default="undated")
        add(experiments / f"until_{newest}.tar.xz", plain)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=pathlib.Path, default=packed.RESULTS, help="the folder")
    parser.add_argument("--drop", metavar="NAME", nargs="+", default=[], help="results to leave out")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a digest differs")
    options = parser.parse_args()
    experiments = options.results / "experiments"
    if not options.check:
        pack_all(options.results, options.drop)
    made = {
        options.results / "digest.md": digest_of_results(options.results),
        experiments / "README.md": digest_of_series(experiments),
    }
    differing = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in differing:
        if options.check:
            print(f"pack.py: {path} is not what the files say: run bench/pack.py", file=sys.stderr)
        else:
            path.write_text(made[path])
            print(f"wrote {path}")
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
