# SPDX-License-Identifier: Apache-2.0
"""antiphase run as a process: the environment of the program that it starts. For its products see
tests/cublas."""
import json
import os
import pathlib
import shutil
import signal
import subprocess

from process import TOOL, ToolTest, main

SHOW = (
    "sh",
    "-c",
    'echo "$LD_PRELOAD|$ANTIPHASE_LEAST|$ANTIPHASE_PRECISION|$ANTIPHASE_REPORT|$ANTIPHASE_PROFILE|$ANTIPHASE_PROFILE_JSON|$0|$*"',
)


class Run(ToolTest):
    def shown(self, *options, words=(), **environment):
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("ANTIPHASE_") and name != "LD_PRELOAD"
        }
        return (
            self.run_tool("run", *options, "--", *SHOW, *words, env=clean | environment)
            .stdout.decode()
            .rstrip("\n")
            .split("|")
        )

    def test_what_the_program_finds(self):
        preloaded, *others = self.shown()
        self.assertEqual(others, ["", "", "", "", "", "sh", ""])
        self.assertEqual(pathlib.Path(preloaded).name, "libantiphase_cublas.so")
        self.assertTrue(pathlib.Path(preloaded).is_file(), preloaded)
        self.assertEqual(
            self.shown(
                "--least",
                "300",
                "--precision",
                "strict",
                "--report",
                words=("zero", "--json", "--", "--help"),
            ),
            [preloaded, "300", "strict", "1", "", "", "zero", "--json -- --help"],
        )
        self.assertEqual(
            self.shown("--profile", "--json", "a%p.json", words=("zero",)),
            [preloaded, "", "", "", "1", f"{self.folder}/a%p.json", "zero", ""],
        )
        self.assertEqual(self.shown("--profile")[1:6], ["", "", "", "1", ""])
        self.assertEqual(self.shown(LD_PRELOAD=preloaded)[0], f"{preloaded}:{preloaded}")

    def test_attention_and_scans_are_led_from_the_package_that_holds_the_tool(self):
        package = self.folder / "antiphase"
        for name in ("bin/preload/cublas", "_hook"):
            (package / name).mkdir(parents=True)
        tool = package / "bin/antiphase"
        shutil.copy(TOOL, tool)
        library = pathlib.Path(self.shown()[0])
        shutil.copy(library, package / "bin/preload/cublas")
        run = lambda *words: subprocess.run(
            [tool, "run", *words, "--", "sh", "-c", 'echo "$PYTHONPATH" $ANTIPHASE_SCANS'],
            env=os.environ | {"PYTHONPATH": "/theirs"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(run().stdout, "/theirs\n")
        failed = run("--scans")
        self.assertIn(f"{package}/_hook is missing: expected", failed.stderr)
        (package / "_hook/sitecustomize.py").touch()
        self.assertEqual(run().stdout, f"{package}/_hook:/theirs\n")
        self.assertEqual(run("--scans").stdout, f"{package}/_hook:/theirs 1\n")

    def test_batch_invariant(self):
        shown = ("sh", "-c", 'echo "$ANTIPHASE_BATCH_INVARIANT"')
        self.assertEqual(self.run_tool("run", "--batch-invariant", *shown).stdout, b"1\n")
        self.assertEqual(self.run_tool("run", *shown).stdout, b"\n")
        for other in (("--profile",), ("--least", "3"), ("--precision", "strict")):
            failed = self.run_tool("run", "--batch-invariant", *other, *shown, code=2)
            self.assertIn("expected no --profile, --least, --precision", failed.message)

    def test_its_exit_code_is_the_programs(self):
        for code in (0, 3, 77):
            for options in ((), ("--report",)):
                program = ("sh", "-c", f"exit {code}")
                self.run_tool("run", *options, "--", *program, code=code, **self.with_folders())

    def with_folders(self):
        """Folders in which the tool must leave nothing."""
        folders = self.folder / "tmp"
        folders.mkdir(exist_ok=True)
        self.addCleanup(lambda: self.assertEqual(list(folders.iterdir()), []))
        return {"env": os.environ | {"TMPDIR": str(folders)}}

    def test_it_ends_by_the_programs_signal(self):
        for options in ((), ("--report",), ("--profile", "--json", "list.json")):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL, signal.SIGPIPE):
                with self.subTest(options=options, number=number):
                    program = ("sh", "-c", f"kill -{number} $$")
                    done = self.run_tool("run", *options, *program, code=-number, **self.with_folders())
                    expected = r"^antiphase\[\d+\]: no products: none was seen" if options else "^$"
                    self.assertRegex(done.message, expected)
        self.assertEqual(json.loads((self.folder / "list.json").read_text())["products"], [])

    def test_signals_reach_the_program(self):
        waits = 'trap "exit 5" TERM; trap "exit 6" INT; echo ready; while :; do sleep 0.02; done'
        for number, send, code in ((signal.SIGTERM, os.kill, 5), (signal.SIGINT, os.killpg, 6)):
            tool = subprocess.Popen(
                [TOOL, "run", "--report", "sh", "-c", waits],
                start_new_session=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **self.with_folders(),
            )
            self.assertEqual(tool.stdout.readline(), b"ready\n")
            send(tool.pid, number)
            tool.communicate(timeout=20)
            self.assertEqual(tool.returncode, code)

    def test_a_pipe_ends(self):
        pipe = f"'{TOOL}' run --report sh -c 'kill -9 $$' 2>&1 | cat"
        done = subprocess.run(
            pipe, shell=True, stdout=subprocess.PIPE, timeout=20, check=True, **self.with_folders()
        )
        self.assertIn(b"no products: none was seen", done.stdout)

    def test_options_behind_the_program_are_its_own(self):
        (self.folder / "show.sh").write_text('printf "<%s>" "$ANTIPHASE_LEAST" "$ANTIPHASE_PROFILE" "$@"')
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHASE_")}
        for own in (
            ("--epochs", "3"),
            ("--profile",),
            ("--report", "--json", "f", "--least", "9"),
            ("--help",),
            ("-h", "-V", "--version"),
            ("--", "--least"),
            ("[1,2]", "{}", ""),
            ("gemm", "help"),
            ("--least=5", "-q"),
        ):
            for options, least in (
                ((), ""),
                (("--least", "7"), "7"),
                (("--report", "--least=7", "--precision", "strict"), "7"),
                (("--least", "7", "--"), "7"),
            ):
                with self.subTest(own=own, options=options):
                    out = self.run_tool("run", *options, "sh", "show.sh", *own, env=clean).stdout.decode()
                    self.assertEqual(out, "".join(f"<{word}>" for word in (least, "", *own)))
        self.refused(2, ["no option '--epochs'"], "run", "--epochs", "3", "true", "--help")
        self.assertIn("PROGRAM", self.run_tool("run", "--report", "--help", "sh").stdout.decode())
        self.run_tool("run", "gemm", code=127)

    def test_a_program_that_does_not_start(self):
        for name in ("text", "text.py"):
            (self.folder / name).write_text("echo\n")
        (self.folder / "lost").write_text("#!/nowhere/sh\n")
        (self.folder / "lost").chmod(0o755)
        (self.folder / "folder").mkdir()
        path = {"PATH": "/usr/bin:/bin"}  # without this folder
        for program, code, said in (
            ("no_such_program", 127, "No such file or directory in PATH"),
            ("no_such_program.py", 127, "No such file or directory in PATH"),
            ("./nowhere/x", 127, "No such file"),
            ("", 127, "No such file"),
            ("text", 127, "PATH has no program of that name; for the file of this folder, expected ./text"),
            (
                "text.py",
                127,
                "PATH has no program of that name; for the file of this folder, expected python3 text.py",
            ),
            ("./text", 126, "Permission denied"),
            ("./text.py", 126, "Permission denied: expected python3 ./text.py"),
            ("./lost", 127, "it is there, but the interpreter that it names is not"),
            ("./folder", 126, "a folder"),
            ("./text/x", 126, "Not a directory"),
        ):
            words = (f"cannot run '{program}'", said)
            self.refused(code, words, "run", program, "--help", env=os.environ | path)
            environment = self.with_folders()["env"] | path
            self.refused(code, words, "run", "--report", "--", program, env=environment)

    def test_what_cannot_be_preloaded_is_said(self):
        source, program, script = (self.folder / name for name in ("empty.c", "static", "script"))
        source.write_text("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-static", source, "-o", program], check=True)
        script.write_text(f"#!{program} -x\n")
        script.chmod(0o755)
        for named in (program, script):
            for option in ("--report", "--profile"):
                said = self.run_tool("run", option, str(named)).stderr.decode()
                self.assertRegex(said, r"no products will be seen: \S+/static is linked statically")
            self.assertEqual(self.run_tool("run", str(named)).stderr.decode(), "")
        self.assertRegex(
            self.run_tool("run", "--report", "true").stderr.decode(),
            r"^antiphase\[\d+\]: no products: no cuBLAS was loaded\n$",
        )

    def test_mistakes(self):
        self.refused(2, ["program"], "run")
        self.refused(
            2, ["--precision", "'double'", "fp32 or strict"], "run", "--precision", "double", "--", "true"
        )
        self.refused(2, ["--json is for --profile"], "run", "--json", "a.json", "--", "true")
        self.refused(2, ["--least", "'-1'"], "run", "--least", "-1", "--", "true")


if __name__ == "__main__":
    main()
