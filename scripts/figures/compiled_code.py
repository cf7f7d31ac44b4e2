# SPDX-License-Identifier: Apache-2.0
"""Whether figures were measured with the kernels that a build holds. docs/project/measuring.md says how."""
import collections
import json

LIST = "stale.txt"  # in bench/results: the marked figures, a line each, for when nothing can be compared
LIST_HEAD = "# Figures whose code has changed since they were taken: file, number of the record, kernel. Written by scripts/figures/report.py.\n"


class Table:
    """A table of fingerprint.py --table: the compiler, and the code of a build's kernels by architecture."""

    def __init__(self, path):
        content = json.loads(path.read_text())
        self.compiler, self.kernels = content["compiler"], {
            name: set(codes) for name, codes in content["kernels"].items()
        }

    def why_not_comparable(self, figure):
        """Why a figure cannot be compared with the build, as the end of a message; None if it can."""
        if not figure.code:
            return "do not tell the code of their kernels"
        compiler = figure.file.machine.get("cuda", {}).get("built_with")
        if compiler != self.compiler:
            return f"were compiled with CUDA {compiler}, and this build's {self.compiler} makes other code"
        others = sorted({architecture for architecture, _ in figure.code if architecture not in self.kernels})
        return (
            f"were compiled for {others[0]}, this build for {', '.join(sorted(self.kernels))}"
            if others
            else None
        )

    def holds(self, figure):
        return all(code in self.kernels[architecture] for architecture, code in figure.code)


class Judge:
    """Decides which figures are stale: by a build's table where they can be compared, else by the list."""

    def __init__(self, figures, folder, table):
        self.path, self.table, self.counts, self.unknown = (
            folder / LIST,
            table,
            collections.Counter(),
            collections.Counter(),
        )
        listed = self.path.read_text().splitlines() if self.path.exists() else []
        self.lines = {}  # stale figure: its line of the list
        for figure in figures:
            line = f"{figure.file.path.name} {figure.number} {figure.kernel}"
            why_not = table.why_not_comparable(figure) if table else ""
            stale = line in listed if why_not is not None else not table.holds(figure)
            if why_not is None:
                self.counts["stale" if stale else "current"] += 1
            else:
                self.unknown[why_not] += 1
            if stale:
                self.lines[figure] = line

    def stale(self, figure):
        return figure in self.lines

    def list_text(self):
        return (
            LIST_HEAD + "".join(f"{line}\n" for line in sorted(self.lines.values())) if self.lines else None
        )

    def verdict(self):
        if not self.table:
            return (
                "code of the figures: not checked: there is no table of kernels; "
                "a build with the CUDA toolkit and its cuobjdump writes tool/kernels.json"
            )
        unknown = "; ".join(f"{count} {why}" for why, count in sorted(self.unknown.items()))
        if not self.counts:
            return f"code of the figures: not checked: {unknown or 'there are no figures'}"
        return (
            f"code of the figures: checked, {self.counts['current']} records current, {self.counts['stale']} stale"
            + (f"; not checked: {unknown}" if unknown else "")
        )
