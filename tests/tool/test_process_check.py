# SPDX-License-Identifier: Apache-2.0
"""antiphase check as a process."""
import json
import os
import pathlib
import pty
import re
import shlex
import subprocess
import unittest

from process import TOOL, ToolTest, main

BROKEN = os.environ["ANTIPHASE_BROKEN_TOOL"]  # empty in a build without the checker
HAS_CHECKER = BROKEN != ""
QUICK = ("--schedules", "2")


@unittest.skipIf(HAS_CHECKER, "this build has a checker")
class Absent(ToolTest):
    def test_says_so(self):
        for arguments in ((), ("gemm/naive", "--json"), ("--list",), ("--schedules", "3")):
            self.refused(4, ["this build has no checker", "libdw"], "check", *arguments)


@unittest.skipUnless(HAS_CHECKER, "this build has no checker")
class Check(ToolTest):
    def listed(self, *arguments):
        return json.loads(self.run_tool("check", *arguments, "--list", "--json").stdout)["kernels"]

    def test_list(self):
        names = self.listed()
        info = json.loads(self.run_tool("info", "--json").stdout)
        for policy in ["gemm/" + step for step in info["gemm_policies"] + info["gemm_f16_steps"]] + [
            "scan/" + step for step in info["scan_policies"]
        ]:
            self.assertIn(policy, names)
        for beside in (
            "gemm/fp16-pass",
            "gemm/fp16-8",
            "scan/single-pass-by-key",
            "scan/single-pass-wide",
            "scan/items-thread",
            "scan/custom",
        ):
            self.assertIn(beside, names)
        self.assertEqual(len(set(names)), len(names))
        text = self.run_tool("check", "--list").stdout.decode()
        self.assertEqual([line.split()[0] for line in text.splitlines()], names)
        self.assertEqual(self.listed("all"), names)
        self.assertEqual(self.listed("scan"), [name for name in names if name.startswith("scan/")])
        self.assertEqual(self.listed("scan/items", "gemm/naive", "gemm/naive"), ["gemm/naive", "scan/items"])

    def test_what_is_no_program(self):
        self.refused(2, ["after --, from 'my.cu' on, are arguments"], "check", "--", "my.cu")
        for name in (".", os.path.join(os.path.dirname(__file__), "CMakeLists.txt")):
            self.refused(2, ["is no source: expected a file whose name ends in .cu"], "check", name)

    def test_text(self):
        done = self.run_tool("check", "scan/two-barriers", "scan/double-buffer", *QUICK)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(len(lines), 2)
        for name, line in zip(("scan/two-barriers", "scan/double-buffer"), lines):
            self.assertRegex(line, rf"^{name} +no finding in 2 schedules +\d+\.\d s$")
        self.assertEqual(done.message, "")

    def test_several_are_clean(self):  # all: tests/checker/api/test_library.cpp
        wanted = [
            name
            for name in self.listed()
            if name.startswith(("gemm/fp16-pass", "gemm/fp64-short", "gemm/async", "scan/two", "scan/custom"))
        ]
        self.assertGreater(len(wanted), 8)
        result = json.loads(self.run_tool("check", *wanted, "--json", *QUICK).stdout)
        self.assertEqual([kernel["kernel"] for kernel in result["kernels"]], wanted)
        for kernel in result["kernels"]:
            self.assertEqual((kernel["findings"], kernel["schedules"]), ([], 2), kernel["kernel"])
            self.assertGreater(kernel["accesses"], 1000, kernel["kernel"])
            self.assertGreater(kernel["tracked_bytes"], 1000, kernel["kernel"])

    def test_json(self):
        result = json.loads(self.run_tool("check", "scan/warp-shuffle", "--json", *QUICK).stdout)
        self.assertEqual((result["schema"], result["command"]), (1, "check"))
        self.assertEqual(set(result), {"schema", "command", "commit", "kernels"})
        self.assertEqual(
            set(result["kernels"][0]),
            {
                "kernel",
                "seconds",
                "schedules",
                "complete",
                "unfinished",
                "accesses",
                "tracked_bytes",
                "checker_bytes",
                "findings",
                "notes",
            },
        )
        self.assertFalse(result["kernels"][0]["complete"])

    def test_one_schedule(self):
        arguments = (
            "scan/double-buffer",
            "--seed",
            "7",
            "--order",
            "starved",
            "--landing",
            "early",
            "--resident",
            "3",
            "--schedules",
            "1",
        )
        self.assertIn(b"no finding in 1 schedule ", self.run_tool("check", *arguments).stdout)
        scripted = ("scan/double-buffer", "--order", "script", "--script", "3:2,9:1", "--schedules", "1")
        self.assertIn(b"no finding in 1 schedule ", self.run_tool("check", *scripted).stdout)

    def test_schedules_are_replayed(self):
        arguments = (
            "check",
            "gemm/async-2",
            "--seed",
            "7",
            "--order",
            "priority",
            "--schedules",
            "1",
            "--json",
        )
        runs = [json.loads(self.run_tool(*arguments).stdout)["kernels"][0]["accesses"] for _ in range(2)]
        self.assertEqual(runs[0], runs[1])

    def test_exhaustive_stops_at_its_limit(self):
        result = json.loads(
            self.run_tool("check", "scan/double-buffer", "--exhaustive", "2", "--json").stdout
        )["kernels"][0]
        self.assertEqual((result["schedules"], result["complete"]), (2, False))

    def test_options_of_programs(self):
        for options in (("--blocks", "3"), ("-DN=1",), ("--lines",), ("--sarif", "a.sarif")):
            self.refused(2, ["are for programs in plain CUDA"], "check", "scan/items", *options)
        self.refused(2, ["--list lists the library's kernels"], "check", "sum.cu", "--list")

    def test_unknown_kernel(self):
        for name in ("gem", "gemm/async-9", "gemm/", "", "async-2"):
            self.refused(2, [f"'{name}'", "xpected all, gemm, scan, or a name that"], "check", name)
        for command in ("check", "count"):
            self.refused(3, ["there is no file 'a.npy'"], command, "a.npy")
            (self.folder / "b.npy").write_text("")
            said = self.refused(
                2, ["'b.npy' is no source: expected a file whose name ends in .cu"], command, "b.npy"
            )
            self.assertLess(len(said), 150)
            (self.folder / "b.npy").unlink()
        for name, meant in (("gem", "gemm"), ("async-2", "gemm/async-2"), ("gemm/asinc-2", "gemm/async-2")):
            self.refused(2, [f"did you mean {meant}?"], "check", name)

    def test_bad_values(self):
        for option, value, words in (
            ("--schedules", "0", "integer from 1"),
            ("--schedules", "two", "'two'"),
            ("--seed", "-1", "'-1'"),
            ("--order", "fast", "random, forward"),
            ("--order", "forwad", "did you mean forward"),
            ("--landing", "erly", "did you mean early"),
            ("--landing", "soon", "early, late or mixed"),
            ("--resident", "0", "integer from 1"),
            ("--workers", "1.5", "'1.5'"),
            ("--exhaustive", "0", "'0'"),
            ("--script", "1:0", "script, character 3"),
            ("--seconds", "0", "integer of at least 1"),
            ("--seconds", "nan", "'nan'"),
        ):
            self.refused(2, [words], "check", "scan/items", option, value)
        self.refused(2, ["--seed needs a value"], "check", "--seed")
        self.refused(2, ["'--schedule'", "did you mean --schedules"], "check", "--schedule", "3")

    def test_progress_only_for_a_terminal(self):
        for quiet, expected in (((), True), (("-q",), False)):
            controller, terminal = pty.openpty()
            process = subprocess.Popen(
                [TOOL, "check", "scan/double-buffer", *QUICK, *quiet],
                stdout=subprocess.DEVNULL,
                stderr=terminal,
            )
            self.assertEqual(process.wait(timeout=100), 0)
            os.write(terminal, b"end")
            os.close(terminal)
            text = os.read(controller, 100000).decode()
            os.close(controller)
            self.assertEqual("checking scan/double-buffer" in text, expected, text)
            self.assertIsNone(re.search("\x1b", text))


@unittest.skipUnless(HAS_CHECKER, "this build has no checker")
class Findings(ToolTest):
    """broken_tool.cpp: the same subcommand with a kernel that is wrong under some schedules only."""

    def run_broken(self, *arguments, code=5):
        done = subprocess.run([BROKEN, "check", *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_text(self):
        done = self.run_broken()
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^ticket/right +no finding in 20 schedules +\d+\.\d s$")
        self.assertRegex(lines[1], r"^ticket/broken +1 finding in 20 schedules +\d+\.\d s$")
        self.assertRegex(lines[2], r"^1\. race: kernel relaxed ticket, global memory, ")
        self.assertEqual(done.stderr, "antiphase: the checker has found faults in ticket/broken\n")
        self.run_broken("ticket/right", code=0)
        self.run_broken("ticket/broken", "--order", "forward", code=0)

    def test_replay(self):
        program, *arguments = shlex.split(re.search(r"replay +(.*)", self.run_broken().stdout)[1])
        self.assertEqual((program, arguments[:2]), ("antiphase", ["check", "ticket/broken"]))
        self.assertEqual(arguments[-2:], ["--schedules", "1"])
        again = self.run_broken(*arguments[1:]).stdout
        self.assertIn("1 finding in 1 schedule ", again)
        self.assertEqual(shlex.split(re.search(r"replay +(.*)", again)[1]), [program, *arguments])

    def test_json(self):
        (kernel,) = json.loads(self.run_broken("ticket/broken", "--json").stdout)["kernels"]
        (finding,) = kernel["findings"]
        self.assertEqual(
            set(finding),
            {"kind", "kernel", "memory", "access", "earlier", "missing", "times", "run", "replay"}
            | {"severity", "group", "in_practice"},
        )
        self.assertEqual(finding["kind"], "race")
        self.assertTrue(finding["replay"].startswith("antiphase check ticket/broken --seed "))
        for side in ("access", "earlier"):
            self.assertEqual(
                set(finding[side]), {"action", "at", "through", "callers", "block", "thread", "when"}
            )
            self.assertTrue(finding[side]["at"]["file"].endswith("tests/checker/api/kernels_ticket.cuh"))
            self.assertGreater(finding[side]["at"]["line"], 10)
        self.assertEqual(finding["run"]["order"], "script")
        self.assertLess(finding["times"], 20)

    def drawn(self, *arguments):
        """The lanes of the only finding, as name -> events in order of time; the words of its picture and
        page."""
        for form in ("json", "svg", "html"):
            self.run_broken("ticket/broken", *arguments, "--trace", str(self.folder / f"t.{form}"))
        lanes, names = {}, {}
        for event in json.loads((self.folder / "t.json").read_text())["traceEvents"]:
            if event["name"] == "thread_name":
                names[event["tid"]] = event["args"]["name"]
            elif event["ph"] == "X":
                lanes.setdefault(names[event["tid"]], []).append(event)
        return lanes, (self.folder / "t.svg").read_text(), (self.folder / "t.html").read_text()

    def test_the_schedule_is_drawn(self):
        lanes, picture, page = self.drawn()
        self.assertEqual(sorted(lanes), ["block 0, thread 0", "block 0, thread 1", "the memory"])
        sides = {
            e["args"]["finding"]: (lane, e)
            for lane in list(lanes)[:2]
            for e in lanes[lane]
            if e["args"]["finding"]
        }
        (now_lane, now), (earlier_lane, earlier) = sides["now"], sides["earlier"]
        self.assertEqual(
            (earlier_lane, earlier["name"], now_lane, now["name"]),
            ("block 0, thread 1", "writes 4 bytes", "block 0, thread 0", "reads 4 bytes"),
        )
        self.assertLess(earlier["ts"], now["ts"])
        # Between the two accesses: thread 1 stores the flag, thread 0 draws its ticket and reads the flag.
        between = [
            (lane[-1], e["name"].split()[0])
            for lane in lanes
            for e in lanes[lane]
            if lane != "the memory" and earlier["ts"] < e["ts"] < now["ts"]
        ]
        self.assertEqual(sorted(between), [("0", "atomic"), ("0", "atomic"), ("1", "atomic")])
        self.assertEqual([e["args"]["finding"] for e in lanes["the memory"]], ["earlier", "now"])
        for words in ("race: kernel relaxed ticket", "block 0, thread 1"):
            self.assertIn(words, picture)
            self.assertIn(words, page)
        self.assertIn("antiphase check ticket/broken --seed", page)
        self.assertEqual(self.drawn("--workers", "1")[1:], self.drawn("--workers", "2")[1:])

    def test_the_picture_of_the_docs(self):
        """A scan with one barrier a step: the committed picture has the same findings, at the same lines."""
        root = pathlib.Path(__file__).resolve().parents[2]
        program = root / "tests/checker/plain/programs/scan_kogge_stone.cu"
        self.run_tool("check", str(program), "-D", "BROKEN", "--trace", "k.svg", code=5)

        def told(picture):
            return set(re.findall(r">(\d+\. [^<]*|:\d+|earlier|now)</text>", picture.read_text()))

        committed = told(root / "docs/pictures/kogge_stone.svg")
        self.assertEqual(told(self.folder / "k.svg"), committed)
        self.assertLessEqual({"1. overwritten in use: kernel scan", "1. race: kernel scan", ":10"}, committed)

    def test_what_is_not_drawn(self):
        done = self.run_broken("ticket/right", "--trace", str(self.folder / "none.html"), code=0)
        self.assertIn("there is no schedule to draw", done.stderr)
        self.assertFalse((self.folder / "none.html").exists())
        self.assertIn(
            "ends in none of .html, .svg and .json", self.run_broken("--trace", "t.png", code=2).stderr
        )

    def test_exhaustive(self):
        for name, words, code in (("ticket/right", "no finding", 0), ("ticket/broken", "1 finding", 5)):
            self.assertRegex(
                self.run_broken(name, "--exhaustive", "1000", code=code).stdout,
                words + r" in \d+ schedules, all there are ",
            )


if __name__ == "__main__":
    main()
