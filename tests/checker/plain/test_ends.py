# SPDX-License-Identifier: Apache-2.0
"""antiphase check my.cu where something ends early: runs that are stopped, programs that fork, full disks."""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = sys.argv.pop(1)
ONE = ("--schedules", "1", "--workers", "1")
FAULTY = (
    "__global__ void k(int* p) { p[0] = threadIdx.x; p[1] += threadIdx.x; }\n"  # a race, an unwritten read
)
RIGHT = "__global__ void k(int* p) { p[threadIdx.x] = 1; }\n"
HEAD = "#include <cstdio>\n#include <cstdlib>\n#include <sys/wait.h>\n#include <unistd.h>\n"
MARK = "antiphase-test-of-ends"  # in the arguments of processes that must not be left


def program(kernel, before="", after="", name="main"):
    return (
        f"{HEAD}{kernel}int {name}() {{ int* p; cudaMalloc(&p, 256); {before}\n"
        f"k<<<2, 64>>>(p); cudaDeviceSynchronize(); {after}\ncudaFree(p); return 0; }}\n"
    )


class Ends(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def source(self, text, name="my.cu"):
        (self.folder / name).write_text(text)
        return name

    def check(self, *arguments, **others):
        others = {"cwd": self.folder, "capture_output": True, "text": True, "timeout": 100} | others
        return subprocess.run([TOOL, "check", *arguments], **others)

    def left(self):
        """Processes of this test that still run."""
        mark, all_of = str(self.folder).encode(), []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "cwd").encode() == mark and int(process.name) != os.getpid():
                    all_of.append(process.name)
            except OSError:
                pass
        return all_of

    def nothing_is_left(self):
        for _ in range(100):
            if not self.left():
                return
            time.sleep(0.05)
        self.assertEqual(self.left(), [])

    def interrupted(self, when, *arguments, number=signal.SIGINT, **others):
        """The tool, sent a signal once when() is true."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        tool = subprocess.Popen([TOOL, "check", *arguments], cwd=self.folder, **pipes, **others)
        end = time.monotonic() + 60
        while not when() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1)  # what the program's process has found is on its way to the tool
        begin = time.monotonic()
        tool.send_signal(number)
        out, said = tool.communicate(timeout=60)
        return tool.returncode, out, said, time.monotonic() - begin


class Stopped(Ends):
    def test_what_was_found_before_the_limit(self):
        name = self.source(program(FAULTY, after="sleep(100);"))
        done = self.check(name, "--seconds", "2", "--json", "--sarif", "s", "--schedules", "4")
        self.assertEqual(done.returncode, 5, done.stderr)
        (found,) = json.loads(done.stdout)["programs"]
        self.assertIn("race", {f["kind"] for f in found["findings"]})
        self.assertEqual((found["schedules"], found["unfinished"]), (2, 2))
        self.assertRegex(
            found["notes"][0], r"stopped after 2 seconds of its own in host code at my\.cu:\d+: it may"
        )
        self.assertIn("Findings up to then are reported", found["notes"][0])
        self.assertGreater(found["accesses"], 0)
        self.assertEqual({f["access"]["at"]["line"] for f in found["findings"]}, {5})
        (invocation,) = json.loads((self.folder / "s").read_text())["runs"][0]["invocations"]
        self.assertFalse(invocation["executionSuccessful"])
        told = [(n["level"], n["message"]["text"]) for n in invocation["toolExecutionNotifications"]]
        self.assertIn(
            ("error", "2 of 2 runs did not finish, so the program is not known to be correct"), told
        )
        self.nothing_is_left()

    def test_a_fault_that_ends_main_is_named(self):
        """What follows a launch that has failed has not run, which the report says."""
        polls = (
            "__global__ void k(int* p) { if (blockIdx.x == 0) p[threadIdx.x] = 0; }\n"
            "__global__ void polls(int* p) { while (atomicAdd(p, 0) == 0) {} }\n"
            + FAULTY.replace(" k(", " late(")
        )
        self.source(program(polls, after="cudaMemset(p, 0, 256);\npolls<<<1, 1>>>(p);\nlate<<<1, 64>>>(p);"))
        options = ("my.cu", "--schedules", "3", "--workers", "1")
        report = json.loads(self.check(*options, "--json").stdout)["programs"][0]
        note = "main was ended at the launch of kernel polls in my.cu:10 in 3 of 3 runs: what follows was not checked"
        self.assertEqual(report["notes"], [note])
        self.assertEqual({f["kind"] for f in report["findings"]}, {"deadlock"})
        self.assertIn("note: " + note, self.check(*options).stdout)
        host = program(RIGHT, after="p[3] = 1;\nk<<<1, 64>>>(p);")
        self.source(host)
        self.assertIn("main was ended at my.cu:7 in 3 of 3 runs", self.check(*options).stdout)
        self.source(program(FAULTY))  # a race ends nothing
        self.assertEqual(json.loads(self.check(*options, "--json").stdout)["programs"][0]["notes"], [])

    def test_blocks_that_poll_by_a_barrier_leave_their_turns_to_others(self):
        source = pathlib.Path(__file__).with_name("programs") / "chain_by_barrier.cu"
        for order in ("forward", "reversed"):
            done = self.check(source, *ONE, "--order", order, "--resident", "3", "--seconds", "60", "--json")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertLess(json.loads(done.stdout)["programs"][0]["accesses"], 100_000)

    def test_inside_a_kernel(self):
        slow = (
            "__global__ void k(int* p) { p[0] = p[41];"  # not next to what is written, as padding is
            " for (long i = 0; i < 1l << 40; ++i) p[2 + threadIdx.x % 32] = i; }\n"
        )
        done = self.check(self.source(program(slow)), *ONE, "--seconds", "3", "--blocks", "all", "--json")
        self.assertEqual(done.returncode, 5, done.stderr)
        (found,) = json.loads(done.stdout)["programs"]
        self.assertTrue(found["findings"])
        self.assertRegex(
            found["notes"][0], r"stopped after 3 seconds of its own in kernel k at my\.cu:\d+: it may"
        )
        self.assertGreater(found["accesses"], 1000)

    def test_a_program_with_threads_or_open_files(self):
        for more in ('FILE* f = fopen("log", "w");', "if (fork() == 0) { sleep(100); _exit(0); }"):
            with self.subTest(more):
                name = self.source(program(FAULTY, more, "sleep(100);"))
                done = self.check(name, *ONE, "--seconds", "1", "--json")
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertTrue(json.loads(done.stdout)["programs"][0]["findings"])
                self.nothing_is_left()

    def test_a_crash_and_a_refusal_keep_what_was_found(self):
        for after, status, said in (
            ("*(volatile int*)nullptr = 1;", 5, "Segmentation fault"),
            ("_exit(3);", 5, "the program ended with 3"),
            ("char* q; cudaMalloc(&q, size_t(1) << 40);", 5, "more bytes do not fit"),
        ):
            with self.subTest(after):
                done = self.check(self.source(program(FAULTY, after=after)), *ONE, "--json")
                self.assertEqual(done.returncode, status, done.stderr)
                (report,) = json.loads(done.stdout)["programs"]
                self.assertIn("race", {f["kind"] for f in report["findings"]})
                self.assertIn(said, done.stdout)
                self.assertGreater(report["accesses"], 0)

    def test_interrupted_in_the_first_run(self):
        name = self.source(program(FAULTY, after='fclose(fopen("there", "w")); sleep(100);'))
        there = self.folder / "there"
        code, out, said, _ = self.interrupted(there.exists, name, "--json")
        self.assertEqual(code, 130, said)
        result = json.loads(out)
        self.assertTrue(result["partial"])
        self.assertIn("race", {f["kind"] for f in result["programs"][0]["findings"]})
        self.assertIn("interrupted after 0 of 20 runs\n", said)
        self.nothing_is_left()
        there.unlink()
        code, out, _, _ = self.interrupted(there.exists, name)
        self.assertRegex(out, r"(?m)^\d\. race: kernel k")

    def test_interrupted_before_a_launch(self):
        name = self.source(program(RIGHT, 'fclose(fopen("there", "w")); sleep(100);'))
        code, out, said, _ = self.interrupted((self.folder / "there").exists, name)
        self.assertEqual((code, out), (130, ""))
        self.assertIn("after 0 of 20 runs, before the program had launched a kernel\n", said)
        self.nothing_is_left()

    def test_time_before_the_first_launch_does_not_count(self):
        before = 'std::printf("computing a reference\\n"); sleep({});'
        done = self.check(self.source(program(RIGHT, before.format(3))), *ONE, "--seconds", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        begin = time.monotonic()
        done = self.check(self.source(program(RIGHT, before.format(100))), "--seconds", "1")
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual((done.returncode, done.stderr[:22]), (4, "computing a reference\n"))
        self.assertRegex(
            done.stdout, r"after 10 seconds, 10 times --seconds, and was stopped at my\.cu:6: its"
        )
        self.assertIn("no finding in 1 schedule, 1 of them not ended", done.stdout)


class Forks(Ends):
    def test_children_that_outlive_the_program(self):
        """In sessions of their own or not, before the first launch or after it, by fork or by a shell."""
        children = (
            ("", "if (fork() == 0) { setsid(); sleep(1000); _exit(0); }"),
            ("", "if (fork() == 0) { sleep(1000); _exit(0); }"),
            ("", "if (fork() == 0) { if (fork() == 0) { setsid(); for (;;) {} } _exit(0); }"),
            ("if (fork() == 0) { setsid(); sleep(1000); _exit(0); }", ""),
            ("", 'int r = std::system("sleep 1000 &"); (void)r;'),
        )
        for before, after in children:
            with self.subTest(before + after):
                begin = time.monotonic()
                done = self.check(
                    self.source(program(RIGHT, before, after)), "--schedules", "3", "--seconds", "20"
                )
                self.assertLess(time.monotonic() - begin, 60)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("processes that the program had started were still running", done.stdout)
                self.nothing_is_left()

    def test_children_that_come_to_the_end_of_main(self):
        bodies = (
            "for (int i = 0; i < 4; ++i) fork();",
            "if (fork() == 0) { k<<<1, 64>>>(p); cudaDeviceSynchronize(); std::exit(0); } int s; wait(&s);",
            "if (fork() == 0) return 3; int s; wait(&s); if (WEXITSTATUS(s) != 3) return 1;",
        )
        for after in bodies:
            with self.subTest(after):
                done = self.check(self.source(program(RIGHT, after=after)), "--schedules", "3")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotIn("json", done.stderr)
                self.nothing_is_left()

    def test_a_child_of_before_can_be_waited_for(self):
        text = program(
            RIGHT, "pid_t c = fork(); if (c == 0) _exit(3);", "int s; if (waitpid(c, &s, 0) != c) return 1;"
        )
        done = self.check(self.source(text), "--schedules", "3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Compilers(Ends):
    def compiler(self, text):
        path = self.folder / "compiler"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return {**os.environ, "CXX": str(path), "ANTIPHASE_CACHE": "off"}

    def test_an_interruption_ends_the_compiler(self):
        environment = self.compiler('touch there; echo text; sleep 100; exec g++ "$@"\n')
        name = self.source(program(RIGHT))
        code, _, _, seconds = self.interrupted((self.folder / "there").exists, name, env=environment)
        self.assertEqual(code, 130)
        self.assertLess(seconds, 3)
        self.nothing_is_left()

    def test_other_compilers(self):
        name = self.source(program(RIGHT))
        done = self.check(name, *ONE, env={**os.environ, "CXX": "gcc"})
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "cxx").symlink_to("/usr/bin/clang++-14")
        wrapped = self.compiler("echo \"clang: error: unknown argument: '-fno-weak'\" >&2; exit 1\n")
        link = {**os.environ, "CXX": str(self.folder / "cxx")}
        for environment in (wrapped, *([link] if pathlib.Path("/usr/bin/clang++-14").exists() else [])):
            done = self.check(name, *ONE, env=environment)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (4, 1), done.stderr)
            self.assertIn("needs a g++ to compile it with: expected one in CXX", done.stderr)

    def test_a_full_disk(self):
        name = self.source(program(RIGHT))
        full = self.compiler('echo "fatal error: writing output: No space left on device" >&2; exit 1\n')
        for environment, limit in ((full, None), ({**os.environ, "ANTIPHASE_CACHE": "off"}, 20_000)):
            bound = limit and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            done = self.check(name, *ONE, env=environment, preexec_fn=bound)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertRegex(
                done.stderr, "cannot be written: .*(No space left on|writing output|File too large).*TMPDIR"
            )

        done = self.check(name, *ONE, env={**os.environ, "TMPDIR": "/no/such/folder"})
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("there is no folder /no/such/folder: expected one", done.stderr)

    def test_no_end_leaves_a_folder(self):
        (self.folder / "own").mkdir()
        environment = {**os.environ, "TMPDIR": str(self.folder / "own")}
        for text, code in ((program(FAULTY), 5), ("int main() { syntax", 3)):
            name = self.source(text)
            self.assertEqual(self.check(name, *ONE, env=environment).returncode, code)
            self.assertEqual(os.listdir(self.folder / "own"), [])

    def test_closed_streams(self):
        name = self.source(program(RIGHT))
        for closing, status in (("<&-", 0), (">&-", 1), ("2>&-", 0), (">&- <&-", 1)):
            with self.subTest(closing):
                command = f'exec "$0" check {name} --schedules 1 {closing}'
                done = subprocess.run(
                    ["sh", "-c", command, TOOL], cwd=self.folder, capture_output=True, timeout=100
                )
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(b"is not open" in done.stderr, status == 1)

    def test_no_main_is_seen_before_kernels_are_compiled(self):
        log = self.folder / "log"
        environment = self.compiler(f'echo "$@" >>{log}\nexec g++ "$@"\n')
        done = self.check(self.source(RIGHT), env=environment)
        self.assertEqual(done.returncode, 3)
        self.assertIn("the sources have no main()", done.stderr)
        self.assertNotIn(" -c ", log.read_text())

    def test_names_that_are_not_utf_8(self):
        name = b"m\xff\xe4.cu"
        (self.folder / os.fsdecode(name)).write_text(program(FAULTY))
        done = self.check(os.fsdecode(name), *ONE, "--sarif", "s", text=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        (run,) = json.loads((self.folder / "s").read_text())["runs"]
        uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
        self.assertEqual(uris, {"m%FF%E4.cu"})


class Large(Ends):
    def test_large_memory_is_set_without_taking_any(self):
        text = f"""{HEAD}__global__ void k(const unsigned char* x, size_t n, int* wrong) {{
  const unsigned char want[] = {{0, 0xFF, 7}};
  for (size_t i = threadIdx.x * 4099; i < n; i += n / 7 / 4 * 4 + 1028) if (x[i] != VALUE) atomicAdd(wrong, 1);
}}
int main() {{
  const size_t n = size_t(1) << 30;
  unsigned char* x; int *wrong, count;
  cudaMalloc(&x, n); cudaMalloc(&wrong, 4); cudaMemset(wrong, 0, 4);
  cudaMemset(x, VALUE, n);
  k<<<1, 32>>>(x, n, wrong);
  cudaMemcpy(&count, wrong, 4, cudaMemcpyDeviceToHost);
  cudaFree(x); cudaFree(wrong);
  rusage used{{}}; getrusage(RUSAGE_SELF, &used);
  return count != 0 ? 1 : used.ru_maxrss > 400'000 ? 2 : 0;
}}
"""
        for value in ("0", "0xFF", "7"):
            with self.subTest(value):
                name = self.source("#include <sys/resource.h>\n" + text)
                done = self.check(name, "-D", f"VALUE={value}", *ONE, "--json")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
