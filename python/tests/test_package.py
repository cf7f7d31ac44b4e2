#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package itself: how it finds its library, `python -m antiphase`, antiphase.enable() with a stand-in for
the cuBLAS library, and what an import loads."""
import ast
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import support

HERE = pathlib.Path(__file__).resolve().parent
INTERPOSER = os.environ["ANTIPHASE_CUBLAS_LIBRARY"]  # the real library: tests set the variable to others
# A stand-in for libantiphase_cublas.so that counts its calls.
STAND_IN = r"""
#include <stdio.h>
#include <unistd.h>
static int on, calls, answer = 3;
void say(int what) { answer = what; }
int state(void) { return 10 * calls + on; }
#ifndef WITHOUT
int antiphase_cublas_enable(void) { ++calls; on = answer >= 0; return answer; }
int antiphase_cublas_disable(void) { ++calls; on = 0; return 3; }
size_t antiphase_cublas_report(char* text, size_t room) { return snprintf(text, room, "antiphase: %d", calls); }
int antiphase_cublas_run(char* const words[]) { return execvp(words[0], words), 1; }
#endif
"""


def python(*words, code=0, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        text=True,
        capture_output=True,
        timeout=100,
        env=os.environ | environment,
    )
    if done.returncode != code:
        raise AssertionError(f"{words} returned {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Scratch(support.Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="antiphase-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def built(self, name, source, *flags):
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", self.folder / name, *flags],
            input=source,
            text=True,
            check=True,
        )
        return str(self.folder / name)


class Library(Scratch):
    def import_with(self, library):
        return python("-c", "import antiphase", code=1, ANTIPHASE_LIBRARY=library).splitlines()[-1]

    def test_no_library(self):
        self.assertRegex(
            self.import_with("/nowhere/lib.so"),
            r"^ImportError: antiphase: its library /nowhere/lib\.so cannot be loaded",
        )
        other = self.built("libother.so", "int other;")
        self.assertRegex(
            self.import_with(other),
            r"^ImportError: antiphase: its library .*libother\.so cannot be loaded \(.*antiphase_version",
        )

    def test_another_version(self):
        import antiphase

        major, minor, patch = map(int, antiphase.__version__.split("."))
        for number in (
            10000 * major + 100 * (minor + 1) + patch,
            10000 * (major + 1) + 100 * minor + patch,
            0,
        ):
            library = self.built("libversion.so", f"int antiphase_version(void) {{ return {number}; }}")
            self.assertRegex(
                self.import_with(library),
                rf"is version {number // 10000}\.{number // 100 % 100}\.{number % 100}: this package .* needs",
            )

    def test_arguments_are_those_of_the_header(self):
        """The structs have the header's members at the same offsets; members at its end may be missing."""
        from antiphase import _library

        members = {
            "SgemmArgs": ("antiphase_sgemm_args", _library.SgemmArgs),
            "ScanArgs": ("antiphase_scan_args", _library.ScanArgs),
            "AttentionArgs": ("antiphase_attention_args", _library.AttentionArgs),
        }
        for name, type_ in members.values():
            fields = [field for field, _ in type_._fields_]
            expected = "".join(
                f'printf("%zu ", offsetof({name}, {"in" if field == "input" else field}));'
                for field in fields
            )
            source = self.folder / "offsets.c"
            source.write_text(
                f'#include <antiphase.h>\n#include <stdio.h>\nint main(void) {{ {expected} printf("%zu", sizeof({name})); }}\n'
            )
            subprocess.run(
                ["gcc", f"-I{HERE.parent.parent / 'include'}", source, "-o", self.folder / "offsets"],
                check=True,
            )
            found = subprocess.run(
                [self.folder / "offsets"], capture_output=True, text=True, check=True
            ).stdout.split()
            *offsets, size = map(int, found)
            self.assertEqual(offsets, [getattr(type_, field).offset for field in fields])
            self.assertLessEqual(ctypes.sizeof(type_), size)

    def test_stubs_are_those_of_the_functions(self):
        """The stubs have the functions' names, parameters and defaults."""

        package = HERE.parent / "antiphase"
        told, there = {}, {}
        for to, files in (
            (told, ["__init__.pyi", "checking.pyi", "jax.pyi", "torch.pyi"]),
            (
                there,
                [
                    "__init__.py",
                    "_linear.py",
                    "_scans.py",
                    "_attention.py",
                    "_advice.py",
                    "_cublas.py",
                    "_library.py",
                    "checking.py",
                    "jax.py",
                    "torch.py",
                    "_torch_scans.py",
                    "_torch_attention.py",
                    "_torch_engines.py",
                    "_torch_invariant.py",
                    "_jax_attention.py",
                    "_jax_linear.py",
                    "../antiphase_check/capture.py",
                ],
            ),
        ):
            for file in files:
                for node in ast.parse((package / file).read_text()).body:
                    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                        x = node.args
                        names = [[arg.arg for arg in kind] for kind in (x.posonlyargs, x.args, x.kwonlyargs)]
                        defaults = [
                            [ast.unparse(value) for value in kind if value is not None]
                            for kind in (x.defaults, x.kw_defaults)
                        ]
                        module = next((of for of in ("jax", "torch") if of in file), "")
                        to[(module, node.name)] = names, defaults
        import antiphase

        for module, names in (
            ("", {*antiphase.__all__, "capture"}),  # antiphase.checking.capture
            (
                "jax",
                {"cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "dot_product_attention", "linear"},
            ),
            (
                "torch",
                {"mm", "bmm", "addmm", "baddbmm", "linear", "matmul"}
                | {"cummax", "cummin", "cumprod", "cumsum", "logcumsumexp", "scaled_dot_product_attention"}
                | {f"{x}_batch_invariant_mode" for x in ("set", "enable", "disable")}
                | {"batch_invariant", "is_batch_invariant_mode_enabled", "replace_batch_invariant_ops"},
            ),
        ):
            self.assertEqual({name for of, name in told if of == module}, names)
        self.assertEqual(told, {name: there[name] for name in told})

    def test_calls_of_the_library_can_be_interrupted(self):
        """What computes on a stream, or on the CPU executor, is called by _waiting.call(); what waits for a stream, or
        is quick and on a GPU, by a few others."""
        package = HERE.parent / "antiphase"
        header = (HERE.parent.parent / "include/antiphase.h").read_text()
        streamed = set(re.findall(r"^ANTIPHASE_API \w+ (antiphase_\w+)\([^;]*antiphase_stream", header, re.M))
        self.assertIn("antiphase_attention_backward", streamed)
        bound = {}  # names in _library: the functions
        for name, function in re.findall(
            r"^(\w+) = LIBRARY(?:\.|\[\")(\w+)", (package / "_library.py").read_text(), re.M
        ):
            bound[name] = function
        text = (package / "_library.py").read_text()
        for pair in re.findall(r"^(\w+), (\w+) = LIBRARY\.(\w+), LIBRARY\.(\w+)$", text, re.M):
            bound |= zip(pair[:2], pair[2:])
        asked = {function for function in streamed if re.search(rf"\bLIBRARY\W+{function}\b", text)}
        self.assertEqual(asked, streamed & {*bound.values()})
        elsewhere = {"synchronize_stream": {"_arrays.py"}}
        elsewhere |= {"sgemm_of_pointers": {"_products.py"}, "scan_of_pointers": {"_scans.py"}}
        seen = set()
        for file in package.glob("*.py"):
            tree = ast.parse(file.read_text())
            of_waiting = {
                id(node)
                for call in ast.walk(tree)
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "_waiting.call"
                for node in ast.walk(call.args[0])
            }
            for node in ast.walk(tree):
                if not isinstance(node, ast.Attribute) or ast.unparse(node.value) != "_library":
                    continue
                self.assertFalse(node.attr == "LIBRARY" and file.name != "_jax_ops.py", file)
                if bound.get(node.attr) in streamed and file.name not in elsewhere.get(node.attr, ()):
                    self.assertIn(id(node), of_waiting, f"{file.name}:{node.lineno}: {ast.unparse(node)}")
                    seen.add(bound[node.attr])
        self.assertEqual(seen, streamed & {*bound.values()} - {"antiphase_synchronize"})

    def test_a_reader_that_leaves(self):
        """As `head` does. And a device that is full."""
        for words in (["help"], ["info"], ["--version"], ["run", "--help"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run(
                [sys.executable, "-m", "antiphase", *words], stdout=writer, stderr=subprocess.PIPE, text=True
            )
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            if os.path.exists("/dev/full"):
                with open("/dev/full", "w") as full:
                    done = subprocess.run(
                        [sys.executable, "-m", "antiphase", *words],
                        stdout=full,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                self.assertEqual(
                    (done.returncode, done.stderr),
                    (1, "antiphase: the output cannot be written: No space left on device\n"),
                    words,
                )

    def test_all_names_are_listed(self):
        said = python(
            "-c",
            "import antiphase\nprint(sorted(set(antiphase.__all__) - set(dir(antiphase))), len(dir(antiphase)) == len(set(dir(antiphase))),"
            " 'matmul' in dir(antiphase) and '__version__' in dir(antiphase), 'numpy' in __import__('sys').modules)",
        )
        self.assertEqual(said.strip(), "[] True True False")

    def test_the_program_that_checks(self):
        said = python(
            "-c",
            "import antiphase\ntry: antiphase.check('a.cu', 'f', 1, 1, [])\nexcept FileNotFoundError as error: print(error)",
            PATH="/nowhere",
            ANTIPHASE_TOOL="",
        )
        self.assertRegex(said, r"no program antiphase: expected the wheel.*ANTIPHASE_TOOL")

    def test_advice(self):
        import antiphase

        product = antiphase.advise("gemm", m=4096, n=4096, k=4096)
        self.assertEqual(product["device"], "NVIDIA H200")
        self.assertEqual(product["pick"]["policy"], product["predicted"][0]["policy"])
        self.assertEqual([one["stages"] for one in product["pipelined"]["stages"]], list(range(1, 7)))
        kernel = antiphase.advise(
            "kernel", smem="64KiB", regs=128, load="2000clk", compute="1000clk", threads=512
        )
        self.assertGreater(kernel["pipelined"]["stages"][1]["gain"], 0.25)
        shipped = HERE.parent.parent / "core/executor/profiles/a100.json"
        self.assertEqual(antiphase.advise("scan", count=1 << 28, device=shipped)["device"], "NVIDIA A100")
        self.assertEqual(
            antiphase.advise("scan", count=1 << 28, device="A100")["pick"]["policy"], "single-pass-async"
        )
        for question, said in (
            ({"m": 1}, "'n' is missing"),
            ({"m": 1, "n": 1, "k": 1, "device": "B17"}, "no machine profile 'B17'"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                antiphase.advise("gemm", **question)
        # Numbers of array libraries are accepted; other values and unreadable profiles are refused.
        import numpy

        numbers = {"m": numpy.int64(4096), "n": numpy.uint16(4096), "k": numpy.int32(4096)}
        self.assertEqual(antiphase.advise("gemm", **numbers, device=pathlib.Path("H200")), product)
        (self.folder / "bytes.json").write_bytes(b"\xff")
        for error, device, said in (
            (TypeError, 5, "device is 5"),
            (ValueError, "no.json", "no.json cannot be read"),
            (ValueError, self.folder / "bytes.json", "bytes.json cannot be read"),
        ):
            with self.assertRaisesRegex(error, "antiphase: .*" + said):
                antiphase.advise("gemm", m=1, n=1, k=1, device=device)
        with self.assertRaisesRegex(TypeError, "antiphase: advise is asked with {1}"):
            antiphase.advise("gemm", m={1}, n=1, k=1)

    def test_import_brings_no_array_library(self):
        loaded = python("-X", "importtime", "-c", "import antiphase")
        for name in ("numpy", "torch", "jax", "cupy"):
            self.assertIsNone(re.search(rf"\| +{name}\b", loaded), f"antiphase imports {name}")

    def test_import_time(self):
        """Processor time, which does not depend on the load of the machine."""
        measured = [
            float(
                python(
                    "-c",
                    "import time; t = time.process_time(); import antiphase; print(time.process_time() - t)",
                )
            )
            for _ in range(5)
        ]
        print(f"import of antiphase: {1000 * min(measured):.0f} ms")
        self.assertLess(min(measured), 0.2)

    def test_no_driver(self):
        self.assertGreaterEqual(int(python("-c", "import antiphase; print(antiphase.device_count())")), 0)
        self.assertEqual(
            python(
                "-c", "import antiphase; print(antiphase.device_count())", CUDA_VISIBLE_DEVICES=""
            ).strip(),
            "0",
        )


class Enabling(Scratch):
    def setUp(self):
        super().setUp()
        from antiphase import _cublas

        self.module = _cublas
        _cublas._loaded, _cublas._products = None, _cublas._Switch(_cublas._reroute, _cublas._restore)
        self.addCleanup(os.environ.pop, "ANTIPHASE_CUBLAS_LIBRARY", None)

    def use(self, *flags):
        os.environ["ANTIPHASE_CUBLAS_LIBRARY"] = self.built(f"lib{len(flags)}.so", STAND_IN, *flags)
        self.stand_in = ctypes.CDLL(os.environ["ANTIPHASE_CUBLAS_LIBRARY"])

    def expect(self, calls, on):
        self.assertEqual(self.stand_in.state(), 10 * calls + on)

    def test_on_and_off(self):
        import antiphase

        self.use()
        self.assertEqual(antiphase.disable(), 0)
        self.expect(0, 0)
        self.assertEqual(antiphase.enable(), 3)
        self.expect(1, 1)
        antiphase.enable()  # again, for libraries loaded since
        self.expect(2, 1)
        self.assertEqual(antiphase.disable(), 3)
        self.expect(3, 0)
        self.assertEqual(antiphase.report(), "antiphase: 3")

    def test_within_a_block(self):
        import antiphase

        self.use()
        with antiphase.enabled():
            self.expect(1, 1)
            with antiphase.enabled():
                self.expect(2, 1)
            self.expect(2, 1)
        self.expect(3, 0)
        with self.assertRaises(ZeroDivisionError), antiphase.enabled():
            1 / 0
        self.expect(5, 0)
        antiphase.enable()
        with antiphase.enabled():
            pass
        self.expect(7, 1)
        antiphase.disable()
        with antiphase.enabled():
            antiphase.enable()  # outlasts the block
        self.expect(10, 1)

    def test_within_blocks_of_several_threads(self):
        import antiphase

        self.use()
        inside, leaves = threading.Event(), threading.Event()

        def other():
            with antiphase.enabled():
                inside.set()
                leaves.wait()

        thread = threading.Thread(target=other)
        thread.start()
        inside.wait()
        with antiphase.enabled():
            leaves.set()
            thread.join()
            self.expect(2, 1)  # still enabled after the first block has ended
        self.expect(3, 0)

    def test_failures(self):
        import antiphase

        self.use()
        self.stand_in.say(-1)
        self.refused(MemoryError, ["no memory", "none has been"], antiphase.enable)
        with self.assertRaises(MemoryError), antiphase.enabled():
            self.fail("the block has been entered")
        self.assertFalse(self.module._products._is_on)

    def test_a_library_that_cannot(self):
        import antiphase

        self.use("-DWITHOUT")
        for call in (antiphase.enable, antiphase.report):
            self.refused(RuntimeError, ["python -m antiphase run"], call)
        self.module._loaded = None
        os.environ["ANTIPHASE_CUBLAS_LIBRARY"] = "/nowhere/lib.so"
        self.refused(RuntimeError, ["/nowhere/lib.so", "cannot be loaded"], antiphase.enable)


class Program(Scratch):
    def script(self):
        (self.folder / "module_of_mine.py").write_text(
            "import os, sys\nprint(sys.argv[1:], 'libstand.so' in open('/proc/self/maps').read(), os.environ['LD_PRELOAD'].count(':'), "
            "*(os.environ.get('ANTIPHASE_' + name) for name in ('REPORT', 'LEAST', 'PRECISION', 'PROFILE', 'PROFILE_JSON')))\nsys.exit(7)\n"
        )
        return self.folder / "module_of_mine.py"

    def test_run(self):
        stand_in = self.built("libstand.so", STAND_IN)
        run = lambda *words, **more: python(
            "-m", "antiphase", "run", *words, code=7, ANTIPHASE_CUBLAS_LIBRARY=stand_in, **more
        ).strip()
        script = self.script()
        self.assertEqual(run(script, "-x", "--report"), "['-x', '--report'] True 0 None None None None None")
        self.assertEqual(
            run("--report", "--least", 512, "--precision=strict", script), "[] True 0 1 512 strict None None"
        )
        self.assertEqual(
            run("--profile", "--json=a.json", script),
            f"[] True 0 None None None 1 {os.path.abspath('a.json')}",
        )
        paths = f"{self.folder}:{os.environ.get('PYTHONPATH', '')}"
        self.assertEqual(
            run("--", "-m", "module_of_mine", "y", PYTHONPATH=paths), "['y'] True 0 None None None None None"
        )
        for name in ("python3", "python"):  # as the tool's command has it
            self.assertEqual(run(name, script, "z"), "['z'] True 0 None None None None None")
        another = self.built("libanother.so", "int another;")
        self.assertEqual(run(script, LD_PRELOAD=another), "[] True 1 None None None None None")

    def test_run_refuses(self):
        script = self.script()
        for words, said in (
            ((), "no program is named"),
            (("-m",), "no program is named"),
            (("--fast", script), "no option --fast"),
            (("--least", "many", script), "--least many"),
            (("--precision", "double", script), "--precision double"),
            (("-x", script), "no option -x"),
            (("--least",), "--least has no value"),
            (("--json", "a.json", script), "--json is for --profile"),
            (("--batch-invariant", "--profile", script), "expected no --profile, --least, --precision"),
            (("--report=0", script), "--report=0: expected no value"),
            (("--least=", script), "--least has no value"),
            (("--least=\u00b2", script), "--least \u00b2"),
        ):
            with self.subTest(words):
                first = python("-m", "antiphase", "run", *words, code=2).splitlines()[0]
                self.assertIn(said, first)
        for program, code, said in (
            (["nowhere.py"], 127, "there is no nowhere.py"),
            (["-m", "no_module_of_mine.x"], 127, "no module no_module_of_mine"),
            ([self.folder], 126, "folder without __main__.py"),
            ([script / "x"], 127, "there is no "),
            (["true"], 126, "true is a program, and this runs Python scripts: expected antiphase run true"),
            ([sys.executable], 126, f"expected antiphase run {sys.executable}"),
        ):
            with self.subTest(program):
                self.assertIn(
                    said, python("-m", "antiphase", "run", "--report", *program, "--help", code=code)
                )
        self.assertIn(
            "/nowhere is missing",
            python("-m", "antiphase", "run", script, code=1, ANTIPHASE_CUBLAS_LIBRARY="/nowhere"),
        )
        self.assertIn(
            f"{self.folder} is a folder",
            python("-m", "antiphase", "run", script, code=1, ANTIPHASE_CUBLAS_LIBRARY=str(self.folder)),
        )
        (self.folder / "of mine").mkdir()
        apart = self.built("of mine/libstand.so", STAND_IN)
        self.assertIn(
            "cannot be preloaded",
            python("-m", "antiphase", "run", script, code=1, ANTIPHASE_CUBLAS_LIBRARY=apart),
        )
        old = self.built("libold.so", STAND_IN, "-DWITHOUT")
        said = python("-m", "antiphase", "run", script, code=1, ANTIPHASE_CUBLAS_LIBRARY=old)
        self.assertIn("libold.so has no antiphase_cublas_run", said)
        self.assertIn("expected info or run", python("-m", "antiphase", code=2))

    def test_run_batch_invariant_or_not_at_all(self):
        """A torch whose operators cannot be overridden ends the program; without the option it goes on."""
        (self.folder / "torch.py").write_text("")
        script = self.folder / "program.py"
        script.write_text("import torch\nprint('went on')\n")
        run = lambda *words, code: python(
            *("-m", "antiphase", "run", *words, script), code=code, ANTIPHASE_CUBLAS_LIBRARY=INTERPOSER
        )
        said = run("--batch-invariant", code=1)
        self.assertIn("antiphase: the program cannot be run batch-invariant: ", said)
        self.assertNotIn("went on", said)
        self.assertIn("went on", run(code=0))

    def test_run_tells_of_a_program_that_is_killed(self):
        script = self.folder / "killed.py"
        script.write_text("import os\nos.kill(os.getpid(), 9)\n")
        words = ("-m", "antiphase", "run", "--report", script)
        said = python(*words, code=-9, ANTIPHASE_CUBLAS_LIBRARY=INTERPOSER)
        self.assertRegex(said, r"^antiphase\[\d+\]: no products: none was seen")

    def test_help_and_the_interpreters_options(self):
        for option in ("-h", "--help"):
            self.assertIn("python -m antiphase run", python("-m", "antiphase", "run", option, "nowhere.py"))
        script = self.folder / "flags.py"
        script.write_text("import sys\nprint(sys.flags.optimize, sys.flags.utf8_mode)\n")
        if sys.version_info >= (3, 10):
            stand_in = self.built("libstand.so", STAND_IN)
            self.assertEqual(
                python(
                    "-O", "-X", "utf8", "-m", "antiphase", "run", script, ANTIPHASE_CUBLAS_LIBRARY=stand_in
                ).strip(),
                "1 1",
            )

    def test_version(self):
        import antiphase

        for word in ("--version", "-V", "version"):
            self.assertEqual(python("-m", "antiphase", word), f"antiphase {antiphase.__version__}\n")

    def test_info(self):
        said = python("-m", "antiphase", "info")
        for words in (
            r"^antiphase \d+\.\d+\.\d+, library ",
            r"CUDA device",
            r"^array libraries: ",
            r"^for programs on cuBLAS: ",
        ):
            self.assertRegex(said, re.compile(words, re.MULTILINE))


class Plugin(support.Case):
    """The plugin of vLLM, with a stand-in for antiphase.torch."""

    def registered(self, code=0, **environment):
        (value,) = re.findall(
            r'entry-points\."vllm\.general_plugins"\]\nantiphase = "([\w.]+:\w+)"',
            (HERE.parents[1] / "pyproject.toml").read_text(),
        )
        place, function = value.split(":")
        text = (
            "import importlib, sys, types, antiphase\n"
            "ours = types.ModuleType('antiphase.torch')\n"
            "ours.replace_batch_invariant_ops = lambda: print('replaced')\n"
            "sys.modules['antiphase.torch'] = antiphase.torch = ours\n"
            f"importlib.import_module('{place}').{function}()\n"
        )
        clean = dict.fromkeys(("ANTIPHASE_BATCH_INVARIANT", "VLLM_BATCH_INVARIANT"), "")
        return python("-c", text, code=code, **clean | environment)

    def test_off_and_on(self):
        self.assertEqual(self.registered(), "")
        self.assertEqual(self.registered(VLLM_BATCH_INVARIANT="1", ANTIPHASE_BATCH_INVARIANT="0"), "")
        on = {"VLLM_BATCH_INVARIANT": "1", "ANTIPHASE_BATCH_INVARIANT": "1"}
        self.assertEqual(self.registered(**on), "replaced\n")

    def test_what_cannot_hold_ends_vllm(self):
        said = self.registered(code=1, ANTIPHASE_BATCH_INVARIANT="1")
        self.assertIn("VLLM_BATCH_INVARIANT is not", said)


if __name__ == "__main__":
    support.main()
