# SPDX-License-Identifier: Apache-2.0
"""Signals during a measuring run: finished results are kept, and marked as incomplete."""
import json
import math
import os
import pathlib
import pty
import signal
import subprocess
import sys
import unittest

from process import TOOL, ToolTest, main, npy_bytes

CPU = ("--on", "cpu")
SIGNALS = ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129))
HAS_CHECKER = os.environ["ANTIPHASE_BROKEN_TOOL"] != ""
LONG = str(1 << 25)  # takes the CPU executor seconds


class Interrupted(ToolTest):
    def interrupt(self, words, number, code, *arguments):
        """Sends the signal when the progress on the terminal has reached `words`. Returns standard output,
        and all of the terminal's output."""
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [TOOL, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        told = b""
        try:
            while words.encode() not in told:
                told += os.read(controller, 10000)
            for one in number if isinstance(number, tuple) else (number,):
                process.send_signal(one)
            output = process.communicate(timeout=20)[0]
            self.assertIn(process.returncode, (code,) if code else (130, 143), told)
            try:
                while more := os.read(controller, 10000):
                    told += more
            except OSError:  # the terminal's other end is closed
                pass
        finally:
            process.kill()
            os.close(controller)
        return output.decode(), told.decode()

    def zeros(self, name, shape):
        """Writes a sparse file of zeros."""
        header = npy_bytes([], shape)
        (self.folder / name).write_bytes(header)
        os.truncate(self.folder / name, len(header) + 4 * math.prod(shape))

    def partial(self, words, *arguments, done, of, noun, number=signal.SIGINT, code=130):
        output, told = self.interrupt(words, number, code, *arguments, "--json")
        result = json.loads(output)
        self.assertIs(result["partial"], True)
        self.assertEqual(
            (result["schema"], result["command"]),
            (1, "check") if arguments[0] == "check" else (2, " ".join(arguments[:2])),
        )
        self.assertIn(f"antiphase: interrupted after {done} of {of} {noun}", told)
        return result["kernels" if arguments[0] == "check" else "records"]

    def test_bench_scan_by_every_signal(self):
        for number, code in SIGNALS:
            records = self.partial(
                f"{LONG} of f4",
                "bench",
                "scan",
                "--size",
                f"100,300,{LONG}",
                *CPU,
                done=2,
                of=3,
                noun="arrays",
                number=number,
                code=code,
            )
            self.assertEqual([(r["shape"]["n"], r["verified"]) for r in records], [(100, True), (300, True)])

    def test_before_anything_is_measured(self):
        records = self.partial(
            f"{LONG} of f4", "bench", "scan", "--size", f"{LONG},100", *CPU, done=0, of=2, noun="arrays"
        )
        self.assertEqual(records, [])

    def test_bench_gemm(self):
        records = self.partial(
            "1024^3 nn",
            "bench",
            "gemm",
            "--size",
            "33,20,1024",
            "--precision",
            "strict",
            *CPU,
            done=2,
            of=3,
            noun="products",
        )
        self.assertEqual(
            [(r["kernel"], r["shape"]["k"], r["verified"]) for r in records],
            [("gemm.strict", 33, True), ("gemm.strict", 20, True)],
        )

    def test_bench_gemm_of_a_list(self):
        sizes = (33, 20, 1024)
        (self.folder / "mine.json").write_text(
            json.dumps(
                {
                    "products": [
                        {"name": f"n{i}", "group": "g", "m": i, "n": i, "k": i, "layout": "nn"} for i in sizes
                    ]
                }
            )
        )
        records = self.partial(
            "g n1024: 1024^3 nn",
            "bench",
            "gemm",
            "--suite",
            "mine.json",
            "--policy",
            "tiled",
            *CPU,
            done=2,
            of=3,
            noun="products",
        )
        self.assertEqual([(r["name"], r["verified"]) for r in records], [("n33", True), ("n20", True)])

    def test_ladders(self):
        records = self.partial(
            "running padded",
            "ladder",
            "gemm",
            "--size",
            "300",
            "--policy",
            "naive,tiled,padded,tensor-core-2",
            *CPU,
            done=2,
            of=4,
            noun="steps",
        )
        self.assertEqual([(r["policy"], r["verified"]) for r in records], [("naive", True), ("tiled", True)])
        records = self.partial(
            "running warp-shuffle", "ladder", "scan", "--size", "300000", *CPU, done=2, of=10, noun="steps"
        )
        self.assertEqual(
            [(r["policy"], r["verified"]) for r in records], [("two-barriers", True), ("double-buffer", True)]
        )
        records = self.partial(
            "running double-buffered",
            "ladder",
            "attention",
            "--size",
            "400",
            *CPU,
            done=2,
            of=5,
            noun="steps",
        )
        self.assertEqual([r["verified"] for r in records], [True, True])

    @unittest.skipUnless(HAS_CHECKER, "this build has no checker")
    def test_check(self):
        kernels = self.partial(
            "checking scan/warp-shuffle",
            "check",
            "scan/two-barriers",
            "scan/double-buffer",
            "scan/warp-shuffle",
            "--schedules",
            "4",
            done=2,
            of=3,
            noun="kernels",
        )
        self.assertEqual(
            [(k["kernel"], k["findings"], k["schedules"]) for k in kernels],
            [("scan/two-barriers", [], 4), ("scan/double-buffer", [], 4)],
        )

    def test_what_takes_long_is_announced(self):
        """The predicted time is announced before the work begins."""
        self.zeros("A.npy", (4096, 4096)), self.zeros("X.npy", (1 << 28,))
        for words in (
            ("gemm", "A.npy", "A.npy", "-o", "C.npy"),
            ("scan", "X.npy", "-o", "Y.npy"),
            ("bench", "gemm", "--size", "20,4096"),
            ("bench", "scan", "--size", f"{1 << 28},100"),
            ("bench", "scan", "--size", f"{1 << 26}", "--own", "16"),
            ("ladder", "gemm", "--size", "2048", "--policy", "tiled"),
            ("ladder", "scan", "--size", f"{1 << 28}", "--policy", "double-buffer"),
        ):
            with self.subTest(words):
                process = subprocess.Popen(
                    [TOOL, *words, *CPU], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
                said = process.stderr.readline() + process.stderr.readline()
                while b"will take about" not in said.splitlines()[-1] and (line := process.stderr.readline()):
                    said += line
                process.send_signal(signal.SIGINT)
                self.assertNotRegex(process.communicate(timeout=5)[1].decode(), r"of 1 \w+s\n")
                self.assertEqual(process.returncode, 130)
                self.assertRegex(
                    said.splitlines()[-1].decode(),
                    r"^antiphase: \S+ will take about \d+ (seconds|minutes|hours) on the CPU executor",
                )
        self.assertEqual(self.names(), ["A.npy", "X.npy"])

    def test_progress(self):
        self.zeros("A.npy", (2048, 2048))
        output, told = self.interrupt(
            " %, about ", signal.SIGINT, 130, "gemm", "A.npy", "A.npy", "-o", "C.npy", *CPU
        )
        self.assertRegex(told, r"\rantiphase: +\d+ %, about \d+ (second|minute|hour)s? left")
        self.assertRegex(told, r"\r +\r$")
        self.assertEqual((output, self.names()), ("", ["A.npy"]))

    def test_no_binary_on_a_terminal(self):
        controller, terminal = pty.openpty()
        self.write("A.npy", [1.0], (1, 1))
        for words in (("gemm", "A.npy", "A.npy"), ("scan", "A.npy")):
            for output in ("-", "/dev/stdout"):
                self.refused(
                    2, [f"--output {output}", "terminal"], *words, "--output", output, *CPU, stdout=terminal
                )
        os.close(controller), os.close(terminal)

    def test_text(self):
        output, told = self.interrupt(
            f"{LONG} of f4", signal.SIGINT, 130, "bench", "scan", "--size", f"100,{LONG}", *CPU
        )
        self.assertIn("interrupted after 1 of 2 arrays", told)
        self.assertEqual(
            [line.split()[:2] for line in output.splitlines()[2:]], [["type", "n"], ["f4", "100"]]
        )

    def test_a_complete_result_does_not_say_partial(self):
        for arguments in (
            ("bench", "scan", "--size", "100"),
            ("bench", "gemm", "--size", "20"),
            ("ladder", "gemm", "--size", "20", "--policy", "tiled"),
            ("ladder", "scan", "--size", "20", "--policy", "items"),
        ):
            self.assertNotIn("partial", json.loads(self.run_tool(*arguments, "--json", *CPU).stdout))

    def test_an_error_keeps_it_too(self):
        done = self.run_tool(
            "bench",
            "scan",
            "--type",
            "f4,i1",
            "--policy",
            "single-pass-2",
            "--size",
            "100",
            "--json",
            "-q",
            *CPU,
            code=4,
        )
        result = json.loads(done.stdout)
        self.assertEqual((result["partial"], [r["type"] for r in result["records"]]), (True, ["f32"]))
        self.assertIn("single-pass-2", done.message)
        self.assertNotIn("interrupted", done.message)

    def test_a_reader_that_does_not_read(self):
        """The tool waits for it, but not for ever."""
        controller, terminal = pty.openpty()
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        while True:
            try:
                os.write(writing, bytes(4096))
            except BlockingIOError:
                break
        os.set_blocking(writing, True)
        process = subprocess.Popen(
            [TOOL, "bench", "scan", "--size", f"100,{LONG}", "--json", *CPU],
            stdout=writing,
            stderr=terminal,
            start_new_session=True,
        )
        told = b""
        while f"{LONG} of f4".encode() not in told:
            told += os.read(controller, 10000)
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        self.assertEqual(process.wait(timeout=15), 130)
        for descriptor in (controller, terminal, reading, writing):
            os.close(descriptor)

    def test_several_signals_at_once(self):
        """The way `timeout` sends them: to the program, and to its group."""
        for _ in range(5):
            output, told = self.interrupt(
                f"{LONG} of f4",
                (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGTERM),
                None,
                "bench",
                "scan",
                "--size",
                f"100,{LONG}",
                "--json",
                *CPU,
            )
            self.assertEqual(len(json.loads(output)["records"]), 1)
            self.assertIn("interrupted after 1 of 2 arrays", told)

    def test_reports_refuse_it(self):
        output, _ = self.interrupt(
            f"{LONG} of f4", signal.SIGINT, 130, "bench", "scan", "--size", f"100,{LONG}", "--json", *CPU
        )
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/figures"))
        import results

        (self.folder / "half.json").write_text(output)
        with self.assertRaisesRegex(results.BadResult, "half.json: partial.*interrupted"):
            results.File(self.folder / "half.json")


if __name__ == "__main__":
    main()
