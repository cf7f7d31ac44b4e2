# SPDX-License-Identifier: Apache-2.0
"""Whether auto takes the policies today that products were measured with. docs/project/measuring.md says how."""
import collections
import json
import os
import subprocess

# In bench/results: the marked choices, a line each, for when no program is there to ask.
LIST = "rechosen.txt"
LIST_HEAD = "# Products for which auto takes another policy today: file, number of the record, way, policy. Written by scripts/figures/report.py.\n"
# The ways in which a record's product was computed: where the record has the policy of each.
WAYS = {
    "policy": lambda record: record.get("policy"),
    "batch_invariant": lambda record: record.get("batch_invariant", {}).get("policy"),
}


class BadTool(Exception):
    """A program that does not say what auto takes; the message names it."""


class Tool:
    """What a built program antiphase says that auto takes, by file, number of the record, and way."""

    def __init__(self, path, files):
        self.now = {}
        if not files:
            return
        command = [str(path), "model", "--choices", "--all", "--json", *map(str, files)]
        try:
            alone = {name: value for name, value in os.environ.items() if name != "ANTIPHASE_TUNING"}
            done = subprocess.run(command, capture_output=True, text=True, env=alone)
            if done.returncode != 0:
                raise BadTool(f"{path}: model --choices failed: {done.stderr.strip()}")
            for choice in json.loads(done.stdout)["choices"]:
                name = choice["file"].rpartition("/")[2]
                self.now[name, choice["record"], choice["way"]] = choice["now"]
        except (OSError, ValueError, KeyError, TypeError) as failure:
            raise BadTool(f"{path}: expected the program antiphase of a build: {failure}") from None


class Judge:
    """Decides which products auto computes otherwise today: by the tool where it knows, else by the list."""

    def __init__(self, figures, folder, tool):
        self.path, self.tool, self.counts = folder / LIST, tool, collections.Counter()
        listed = self.path.read_text().splitlines() if self.path.exists() else []
        listed = dict(line.rpartition(" ")[::2] for line in listed if not line.startswith("#"))
        self.now = {}  # line of a choice that is another today, without the policy: the policy
        for figure in figures:
            for way, policy_of in WAYS.items():
                then = policy_of(figure.record)
                if not figure.chosen or then is None:
                    continue
                line = self.line(figure, way)
                now = tool.now.get((figure.file.path.name, figure.number, way)) if tool else None
                self.counts["unknown" if now is None else "other" if now != then else "same"] += 1
                if now is None:
                    now = listed.get(line, then)
                if now != then:
                    self.now[line] = now

    def line(self, figure, way):
        return f"{figure.file.path.name} {figure.number} {way}"

    def changed(self, figure, way="policy"):
        return self.line(figure, way) in self.now

    def any_changed(self, figure):
        return any(self.changed(figure, way) for way in WAYS)

    def list_text(self):
        lines = "".join(f"{line} {now}\n" for line, now in sorted(self.now.items()))
        return LIST_HEAD + lines if lines else None

    def verdict(self):
        if not self.tool:
            return "choices of the products: not checked: there is no program antiphase to ask"
        unknown = self.counts["unknown"]
        return (
            f"choices of the products: checked, {self.counts['same']} as today, {self.counts['other']} others"
            + (f"; not checked: {unknown} of which the program says nothing" if unknown else "")
        )
