# SPDX-License-Identifier: Apache-2.0
"""The folder that antiphase new makes, and the copies of antiphase examples, as a process."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import unittest

from process import TOOL, ToolTest, main

WITH_CHECKER = unittest.skipUnless(os.environ.get("ANTIPHASE_BROKEN_TOOL"), "this build has no checker")
ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = {"pipeline": "cp.async", "roles": "bulk_load"}
FAULTS = {  # a slot that is still being loaded; a slot that may not be full
    "pipeline": ("sum += tile[slot][y][t];", "sum += tile[(slot + 1) % stages][y][t];"),
    "roles": ("slots.wait(at);", ""),
}


def little_disk():
    """For preexec_fn: a file of 5000 bytes, and no larger one, can be written."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


class New(ToolTest):
    def make(self, form, name="rows"):
        done = self.run_tool("new", name, "--form", form)
        self.assertIn(f"antiphase check {name}/{pathlib.Path(name).name}.cu", done.stdout.decode())
        return self.folder / name

    def test_files(self):
        for form, uses in KERNELS.items():
            with self.subTest(form=form):
                made = self.make(form, f"of_{form}")
                names = {f"of_{form}.cuh", f"of_{form}.cu", "ring.cuh", "CMakeLists.txt", "README.md"}
                self.assertEqual({file.name for file in made.iterdir()}, names)
                self.assertEqual(
                    (made / "ring.cuh").read_text(), (ROOT / "include/antiphase/ring.cuh").read_text()
                )
                kernel = (made / f"of_{form}.cuh").read_text()
                self.assertIn(uses, kernel)
                self.assertIn(f"of_{form}_kernel(const float* matrix", kernel)
                self.assertIn('#include "ring.cuh"', kernel)
                for file in names - {"ring.cuh"}:
                    self.assertNotRegex((made / file).read_text(), r"my_kernel|@\w+@|\bpipeline\.cuh")

    @WITH_CHECKER
    def test_pipeline_is_clean(self):
        self.is_clean_until_broken("pipeline")

    @WITH_CHECKER
    def test_roles_is_clean(self):
        self.is_clean_until_broken("roles")

    def is_clean_until_broken(self, form):
        made = self.make(form)
        quick = ("--schedules", "3", "--workers", "1")
        done = self.run_tool("check", str(made / "rows.cu"), *quick)
        self.assertIn("no finding in 3 schedules", done.stdout.decode())
        self.assertIn("100 x 260: right", done.stderr.decode())
        kernel = made / "rows.cuh"
        right, wrong = FAULTS[form]
        self.assertIn(right, kernel.read_text())
        kernel.write_text(kernel.read_text().replace(right, wrong))
        done = self.run_tool("check", str(made / "rows.cu"), *quick, code=5)
        self.assertRegex(done.stdout.decode(), r"at .*rows\.cuh:\d+")

    def test_advice_of_the_page_is_taken(self):
        for form in KERNELS:
            made = self.make(form, f"advice_of_{form}")
            page = (made / "README.md").read_text()
            self.assertNotIn("@", page)
            for named in re.findall("`(load|compute|bytes|bulk_load|wait|release)`", page):
                self.assertIn(
                    named, (made / f"advice_of_{form}.cuh").read_text() + (made / "ring.cuh").read_text()
                )
            kernel = re.search(r"antiphase advise --kernel (\S+)", page)[1]
            self.assertIn("in flight", self.run_tool("advise", "--kernel", kernel).stdout.decode())

    def test_what_is_there_stays(self):
        self.make("roles")
        before = (self.folder / "rows/rows.cu").read_text()
        self.refused(2, ["'rows' is there already: expected a name that is free"], "new", "rows")
        self.assertEqual((self.folder / "rows/rows.cu").read_text(), before)

    def test_a_full_disk_leaves_nothing(self):
        for name in ("rows", "of/mine/rows"):
            self.refused(
                1, ["ring.cuh': writing failed: File too large"], "new", name, preexec_fn=little_disk
            )
            self.assertEqual(list(self.folder.iterdir()), [])
        (self.folder / "of").mkdir()
        (self.folder / "of/notes").write_text("mine")
        self.refused(1, ["File too large"], "new", "of/mine/rows", preexec_fn=little_disk)
        self.assertEqual([file.name for file in (self.folder / "of").iterdir()], ["notes"])
        self.make("roles", "of/mine/rows")

    def test_refused(self):
        for name in ("2d", "a-b", ".."):
            self.refused(2, [f"'{name}' cannot be the name of a kernel: expected letters"], "new", name)
        self.refused(2, ["did you mean roles?"], "new", "other", "--form", "rolls")


class Examples(ToolTest):
    def test_the_list(self):
        listed = self.run_tool("examples").stdout.decode()
        self.assertRegex(listed, r"(?m)^plain_cuda/sum\.cu +Sums of 64 numbers per block$")
        self.assertRegex(listed, r"(?m)^gemm\.f90 +A matrix product from Fortran")
        self.assertRegex(listed, r"(?m)^languages/total\.py +Sums numbers in Triton$")
        self.assertRegex(listed, r"(?m)^data/README\.md +Data of the demo$")
        self.assertNotIn(".npy", listed)
        named = json.loads(self.run_tool("examples", "--json").stdout)["examples"]
        self.assertEqual(
            [e["name"] for e in named], [line.split()[0] for line in listed.splitlines() if line[0] != " "]
        )
        for example in named:
            self.assertTrue((ROOT / "examples" / example["name"]).is_file())

    def test_copies(self):
        for words, folder, name in (
            (("plain_cuda",), "examples/", "plain_cuda/sum.cu"),
            (("gemm.c", "."), "", "gemm.c"),
            (("plain_cuda/sum.cu", "mine"), "mine/", "plain_cuda/sum.cu"),
            (("ring/", "mine"), "mine/", "ring/main.cu"),
            (("all", "everything"), "everything/", "data/digits_test.npy"),
        ):
            self.assertIn(folder + name, self.run_tool("examples", *words).stdout.decode().splitlines())
            self.assertEqual(
                (self.folder / folder / name).read_bytes(), (ROOT / "examples" / name).read_bytes()
            )
        every = {
            file.relative_to(ROOT / "examples")
            for file in (ROOT / "examples").rglob("*")
            if file.is_file() and file.parent.name != "__pycache__"
        }
        copied = self.folder / "everything"
        self.assertEqual({file.relative_to(copied) for file in copied.rglob("*") if file.is_file()}, every)

    def test_what_python_writes_is_not_copied(self):
        """pip compiles the examples in Python where it installs them."""
        installed = self.folder / "installed"
        shutil.copytree(ROOT / "examples", installed / "share/antiphase/examples")
        for name in ("languages/__pycache__/total.cpython-311.pyc", "__pycache__/deeper/other.py"):
            file = installed / "share/antiphase/examples" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("# Not an example.")
        (installed / "bin").mkdir()
        tool = installed / "bin/antiphase"
        try:
            os.link(TOOL, tool)
        except OSError:  # another disk
            shutil.copy(TOOL, tool)
        for words in (("languages",), ("all", "every"), ()):
            done = subprocess.run([tool, "examples", *words], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(
                (done.returncode, "__pycache__" in done.stdout), (0, False), done.stdout + done.stderr
            )
        self.assertTrue((self.folder / "examples/languages/total.py").is_file())
        self.assertEqual(list(self.folder.glob("e*/**/__pycache__")), [])

    def test_a_full_disk_leaves_nothing(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/notes").write_text("mine")
        for folder in ("mine", "other/place"):
            self.refused(1, ["File too large"], "examples", "all", folder, preexec_fn=little_disk)
        left = {str(file.relative_to(self.folder)) for file in self.folder.rglob("*")}
        self.assertEqual(left, {"mine", "mine/notes"})

    def test_what_is_there_stays(self):
        (self.folder / "ring").mkdir()
        (self.folder / "ring/roles.cuh").write_text("mine")
        self.refused(2, ["'ring/roles.cuh' is there already"], "examples", "ring", ".")
        self.assertEqual([file.name for file in (self.folder / "ring").iterdir()], ["roles.cuh"])
        for name in ("../docs", "rin", "ring/none.cu", "/etc"):
            self.refused(2, [f"there is no example '{name}'"], "examples", name)


if __name__ == "__main__":
    main()
