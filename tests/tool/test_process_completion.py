#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in shells, run there, and man pages: both know what --help knows."""
import json
import os
import re
import shlex
import shutil
import subprocess

import process
from process import ToolTest, pattern

WIDE = os.environ | {"COLUMNS": "1000"}


def shell(*words, **options):
    done = subprocess.run(words, text=True, capture_output=True, timeout=60, **options)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{words} returned {done.returncode}:\n{done.stderr}")
    return done.stdout


class Completion(ToolTest):
    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def help(self, command):
        return self.run_tool(*command, "--help", env=WIDE).stdout.decode()

    def section(self, command, title):
        """First words of a help's lines: names of options, or of commands."""
        found = re.search(rf"^{title}:\n((?:  .*\n)+)", self.help(command), re.MULTILINE)
        return [line.split()[0] for line in found[1].splitlines() if line[2] != " "] if found else []

    def options(self, command):
        return [name for names in self.section(command, "Options") for name in names.split(",")]

    def commands(self, command=()):
        """The command's words, and those of all below it."""
        below = [self.commands((*command, name)) for name in self.section(command, "Commands")]
        return [command, *(one for some in below for one in some)]

    def script(self, name):
        path = self.folder / f"completion.{name}"
        path.write_bytes(self.run_tool("completion", name).stdout)
        return path

    def bash(self, *lines):
        """What bash completes the last word of each line to."""
        text = f". {shlex.quote(str(self.script('bash')))}\n"
        for words in lines:
            quoted = " ".join(map(shlex.quote, ("antiphase", *words)))
            text += f'COMP_WORDS=({quoted}) COMP_CWORD={len(words)} COMPREPLY=()\n_antiphase; echo "${{COMPREPLY[*]}}"\n'
        found = shell("bash", "--norc", "-c", text).split("\n")
        self.assertEqual(len(found), len(lines) + 1)
        return [line.split() for line in found[:-1]]

    def test_bash_knows_all_that_help_names(self):
        commands = self.commands()
        self.assertGreater(len(commands), 15)
        self.assertIn(("bench", "gemm"), commands)
        found = self.bash(*((*c, "-") for c in commands), *((*c, "") for c in commands))
        for command, options, others in zip(commands, found, found[len(commands) :]):
            self.assertEqual(options, self.options(command), command)
            self.assertIn("--help", options)
            for name in self.section(command, "Commands"):
                self.assertIn(name, others, command)

    def test_bash_completes_words(self):
        policies = json.loads(self.run_tool("info", "--json").stdout)["gemm_policies"]
        lines = {
            ("ge",): ["gemm"],
            ("bench", "sc"): ["scan"],
            ("gemm", "--pol"): ["--policy"],
            ("gemm", "A.npy", "B.npy", "--pol"): ["--policy"],
            ("gemm", "--policy", ""): sorted(["auto", *policies]),
            ("gemm", "--policy", "fp16"): ["fp16", "fp16-mma"],
            ("gemm", "--policy", "=", "tile"): ["tiled"],
            ("gemm", "--if-weaker", "="): ["take", "refuse"],
            ("ladder", "gemm", "--policy", "tiled,padd"): ["tiled,padded"],
            ("scan", "--on", "cu"): ["cuda"],
            ("trace", "s"): ["scan"],
            ("help", "adv"): ["advise"],
            ("completion", ""): ["bash", "fish", "man", "zsh"],
            # names of files, which bash completes by itself where nothing is said
            ("gemm", "--output", ""): [],
            ("check", ""): [],
            ("gemm", "--precision", "fp16"): [],
        }
        for words, expected, found in zip(lines, lines.values(), self.bash(*lines)):
            self.assertEqual(sorted(found) if found[0:1] == ["auto"] else found, expected, words)

    def test_values_are_those_that_the_program_takes(self):
        for name in ("A.npy", "B.npy", "X.npy"):
            self.write(name, pattern(4), (2, 2))
        gemm, scan = ("gemm", "A.npy", "B.npy", "--explain"), ("scan", "X.npy", "--explain")
        trace = ("trace", "-o", "t")
        has_checker = subprocess.run([process.TOOL, "check", "--list"], capture_output=True).returncode == 0
        for option, *command in (
            *([("--order", "check"), ("--landing", "check")] if has_checker else []),
            ("--policy", *gemm),
            ("--precision", *gemm),
            ("--if-weaker", *gemm),
            ("--policy", *scan),
            ("--op", *scan),
            ("--accumulate", *scan),
            ("--policy", "ladder", "scan"),
            ("--type", "ladder", "scan"),
            ("--protocol", "ladder", "gemm"),
            ("--layout", "bench", "gemm"),
            ("--data", "bench", "gemm"),
            ("--policy", "bench", "gemm"),
            ("--against", "bench", "gemm"),
            ("--type", "bench", "scan"),
            ("--own", "bench", "scan"),
            ("--policy", "bench", "scan"),
            ("--against", "bench", "scan"),
            ("--format", *trace),
            ("--for", "info"),
            ("--precision", "run", "--least", "1"),
        ):
            (offered,) = self.bash((*command, option, ""))
            self.assertGreater(len(offered), 1, (option, command))
            program = ["true"] if command[0] == "run" else []
            self.refused(2, offered, *command, option, "qqqqqq", *program)

    def test_zsh(self):
        """The script in zsh, with functions for what its completion system would do with the words."""
        self.need("zsh")
        script = shlex.quote(str(self.script("zsh")))
        text = f"""
            _describe() {{ local one; for one in "${{(@P)${{@[-1]}}}}"; do print -n -- "${{${{one//\\\\:/=}}%%:*}} "; done }}
            compadd() {{ shift; print -n -- "$* " }}
            compset() {{ [[ $2 == '*=' && $PREFIX == *=* ]] && PREFIX=${{PREFIX#*=}} }}
            _files() {{ print -n "a file" }}
            words_of() {{ words=(antiphase "$@") CURRENT=$#words PREFIX=$words[-1]; emulate zsh -c 'source {script}'; print }}
        """
        commands = self.commands()
        for words in (
            *((*c, "-") for c in commands),
            ("bench", ""),
            ("gemm", "--if-weaker", ""),
            ("gemm", ""),
        ):
            text += f"words_of {' '.join(map(shlex.quote, words))}\n"
        text += "words_of gemm --if-weaker=\n"
        found = [line.split() for line in shell("zsh", "-f", "-c", text).splitlines()]
        for command, options in zip(commands, found):
            self.assertEqual(options, self.options(command), command)
        values = ["take", "refuse"]
        self.assertEqual(found[len(commands) :], [["gemm", "scan"], values, ["a", "file"], values])

    def test_fish(self):
        self.need("fish")
        text = f"source {shlex.quote(str(self.script('fish')))}\n"
        commands = self.commands()
        lines = [
            *(" ".join(("antiphase", *c, "-")) for c in commands),
            "antiphase bench ",
            "antiphase gemm --if-weaker=",
            "antiphase help advis",
        ]
        for line in lines:
            text += f"complete -C {shlex.quote(line)} | string replace -r '\\t.*' ''; echo .\n"
        home = os.environ | {"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        found = [part.split() for part in shell("fish", "--no-config", "-c", text, env=home).split("\n.\n")]
        for command, options in zip(commands, found):
            self.assertEqual(sorted(options), sorted(self.options(command)), command)
        values = ["--if-weaker=refuse", "--if-weaker=take"]
        self.assertEqual(
            [sorted(f) for f in found[len(commands) : -1]], [["gemm", "scan"], values, ["advise"]]
        )

    def test_man_pages(self):
        self.run_tool("completion", "man", "--output", self.folder)
        commands = self.commands()
        pages = {"-".join(("antiphase", *command)) + ".1": command for command in commands}
        self.assertEqual(sorted(p.name for p in self.folder.glob("*.1")), sorted(pages))
        for name, command in pages.items():
            text = (self.folder / name).read_text()
            options = set(re.findall(r"^\\fB(\\-.*?)\\fR", text, re.MULTILINE))
            names = {one for some in options for one in some.replace("\\-", "-").split(", ")}
            self.assertEqual(names, set(self.options(command)), name)
            self.assertIn(".SH EXAMPLES\n", text)
        self.need("groff")
        for name in pages:
            self.assertIn(
                "User Commands", shell("groff", "-man", "-ww", "-K", "utf8", "-T", "utf8", self.folder / name)
            )


if __name__ == "__main__":
    process.main()
