#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the wheel is made of, without packing it: the target antiphase_wheel builds all that is installed into it, and
its binaries run on the systems that its name says. Scripts that check this find each fault in made-up files.

    test_wheel_parts.py ROOT BUILD

Exit status: 0 passed, 1 failed, 77 the build is not one of Ninja's.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
sys.path.insert(0, str(ROOT / "scripts/build"))
import manylinux  # noqa: E402

TARGET = "antiphase_wheel"


def edges_of(text):
    """(outputs, inputs) of each build statement of a file of Ninja."""
    for line in re.sub(r"\$\n\s*", "", text).splitlines():
        if line.startswith("build "):
            words = re.sub(r"\$([ :$])", lambda kept: {" ": "\1", ":": "\2", "$": "$"}[kept[1]], line[6:])
            outputs, inputs = words.split(":", 1)
            names = [
                [word.replace("\1", " ").replace("\2", ":") for word in part.split() if word.strip("|")]
                for part in (outputs, inputs)
            ]
            yield names[0], names[1][1:]  # without the rule


def made_by(target, text, build):
    """(what a target makes, what any target makes), as paths."""
    makes, every = {}, set()
    for outputs, inputs in edges_of(text):
        every.update(outputs)
        makes.update(dict.fromkeys(outputs, (outputs, inputs)))
    made, asked = set(), [target]
    while asked:
        name = asked.pop()
        if name in makes and name not in made:
            outputs, inputs = makes[name]
            made.update(outputs)
            asked += inputs
    return {build / name for name in made}, {build / name for name in every}


def installed(build, component):
    """The files and folders that a component's install rules read."""
    found = set()
    for script in build.rglob("cmake_install.cmake"):
        for block in re.split(r"\n(?=if\()", script.read_text()):
            if block.startswith(f'if(CMAKE_INSTALL_COMPONENT STREQUAL "{component}"'):
                for files in re.findall(r"file\(INSTALL [^)]*? FILES\s+((?:\"[^\"]*\"\s*)+)", block):
                    found.update(pathlib.Path(name) for name in re.findall(r'"([^"]*)"', files))
    return found


def missing(build, component, target, text):
    """What a component installs of a build folder and neither the target nor the configuration makes."""
    made, every = made_by(target, text, build)
    for path in sorted(installed(build, component)):
        if build not in path.parents:
            continue  # of the sources
        below = {name for name in every if name == path or path in name.parents}
        if not (below & made if below else path.exists()):
            yield str(path)


class Target(unittest.TestCase):
    def test_builds_what_is_installed(self):
        text = (BUILD / "build.ninja").read_text()
        self.assertEqual(list(missing(BUILD, "python", TARGET, text)), [])
        made = {path.name for path in installed(BUILD, "python") & made_by(TARGET, text, BUILD)[0]}
        for name in ("antiphase", "libantiphase_cublas.so", "libantiphase_torch.so", "antiphase.fish"):
            self.assertIn(name, made)
        self.assertTrue([name for name in made if name.startswith("libantiphase.so.0")])

    def test_is_what_wheels_build(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]
        (targets,) = [preset["targets"] for preset in presets if preset["name"] == "wheel"]
        self.assertEqual(targets, [TARGET])
        self.assertIn(f'build.targets = ["{TARGET}"]\n', (ROOT / "pyproject.toml").read_text())
        self.assertRegex((ROOT / "run").read_text(), r"\n +build wheel\n")

    def test_what_it_does_not_build_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder).resolve()
            (build / "there.cmake").touch()
            files = "".join(
                f'"{build}/{name}"\n' for name in ("one.so", "two.so", "there.cmake", "absent.cmake")
            )
            (build / "cmake_install.cmake").write_text(
                f'\nif(CMAKE_INSTALL_COMPONENT STREQUAL "python")\n  file(INSTALL DESTINATION "x" TYPE FILE FILES {files})\n'
                f'endif()\n\nif(CMAKE_INSTALL_COMPONENT STREQUAL "other")\n  file(INSTALL DESTINATION "x" TYPE DIRECTORY FILES "{build}/folder/")\nendif()\n'
            )
            text = "build one.so | named$ so: LINK a.o || order\nbuild two.so: LINK b.o\nbuild all_of_it: phony $\n  one.so\nbuild folder/x: RULE\n"
            absent = [f"{build}/absent.cmake", f"{build}/two.so"]
            self.assertEqual(list(missing(build, "python", "all_of_it", text)), absent)
            self.assertEqual(list(missing(build, "other", "all_of_it", text)), [f"{build}/folder"])
            self.assertEqual(list(missing(build, "other", "folder/x", text)), [])


class Systems(unittest.TestCase):
    def compiled(self, folder, name, source, *options):
        file = pathlib.Path(folder, name)
        done = subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", file, *options],
            input=source,
            text=True,
            capture_output=True,
        )
        return file if done.returncode == 0 else self.skipTest(done.stderr)

    def test_of_this_build(self):
        if not (BUILD / "glibc/libc.so").exists():
            self.skipTest("this build is for this system's C library")
        binaries = [path for path in installed(BUILD, "python") if path.is_file() and is_elf(path)]
        self.assertEqual(len(binaries), 4, "not built: " + TARGET)
        tag = manylinux.platform_of(binaries)
        self.assertLessEqual(int(re.fullmatch(r"manylinux_2_(\d+)_x86_64", tag)[1]), 28)

    def test_a_conversion_of_half_precision(self):
        with tempfile.TemporaryDirectory() as folder:
            half = "_Float16 half(float x) { return (_Float16)x; }"
            with_unwinder = self.compiled(folder, "libshared.so", half, "-shared-libgcc")
            if "__truncsfhf2" not in manylinux.needed_versions(with_unwinder):
                self.skipTest("this compiler converts by itself")
            with self.assertRaisesRegex(
                manylinux.NotPortable, r"^libshared\.so takes __truncsfhf2 of GCC_12\.0\.0 .*GCC_7\.0\.0"
            ):
                manylinux.platform_of([with_unwinder])
            alone = self.compiled(folder, "libalone.so", half, "-static-libgcc")
            self.assertRegex(manylinux.platform_of([alone]), r"^manylinux_2_17_\w+$")
            if not (BUILD / "glibc/libc.so").exists():
                return
            # The stub that the build links with has the unwinder, and not the conversion.
            unwinds = (
                half
                + "int _Unwind_Backtrace(void*, void*); int trace(void) { return _Unwind_Backtrace(half, 0); }"
            )
            options = ("-shared-libgcc", f"-L{BUILD / 'glibc'}", "-Wl,-z,defs")
            old = self.compiled(folder, "libold.so", unwinds, *options)
            self.assertEqual(manylinux.needed_versions(old)["_Unwind_Backtrace"], ("GCC", (3, 3)))
            self.assertRegex(manylinux.platform_of([old]), r"^manylinux_2_17_\w+$")

    def test_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            other = self.compiled(
                folder, "libother.so.0.1", "int other(void) { return 7; }", "-Wl,-soname,libother.so.0"
            )
            user = self.compiled(
                folder, "libuser.so", "int other(void); int user(void) { return other(); }", str(other)
            )
            with self.assertRaisesRegex(
                manylinux.NotPortable, r"^libuser\.so asks for libother\.so\.0: expected"
            ):
                manylinux.platform_of([user])
            self.assertRegex(manylinux.platform_of([user, other]), "^manylinux_2_17_")
            with self.assertRaisesRegex(manylinux.NotPortable, "readelf .*failed"):
                manylinux.platform_of([pathlib.Path(folder, "absent.so")])

    def test_a_name_that_is_too_old(self):
        try:
            import auditwheel  # noqa: F401
        except ImportError:
            self.skipTest("auditwheel is not installed")
        with tempfile.TemporaryDirectory() as folder:
            newer = "int getentropy(void*, unsigned long); int random_bytes(void* to) { return getentropy(to, 8); }"
            library = self.compiled(folder, "libnewer.so", newer)  # 2.25
            for tag, fine in (("manylinux_2_24_x86_64", False), ("manylinux_2_28_x86_64", True)):
                file = pathlib.Path(folder, f"made_up-1.0-py3-none-{tag}.whl")
                with zipfile.ZipFile(file, "w") as packed:
                    packed.write(library, "made_up/libnewer.so")
                    about = f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
                    packed.writestr("made_up-1.0.dist-info/WHEEL", about)
                    packed.writestr("made_up-1.0.dist-info/METADATA", "Name: made_up\nVersion: 1.0\n")
                    packed.writestr("made_up-1.0.dist-info/RECORD", "made_up/libnewer.so,,\n")
                done = subprocess.run(
                    [sys.executable, "-c", AUDIT, str(ROOT / "scripts/build"), str(file)],
                    text=True,
                    capture_output=True,
                )
                self.assertEqual(done.returncode, 0 if fine else 1, done.stdout + done.stderr)
                if not fine:
                    self.assertIn("expected its tag, or an older one", done.stderr)


AUDIT = textwrap.dedent(
    """\
    import pathlib, sys
    sys.path.insert(0, sys.argv[1])
    import wheel
    wheel.audit(pathlib.Path(sys.argv[2]))
    """
)


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


if __name__ == "__main__":
    if not (BUILD / "build.ninja").exists():
        print("skipped: the build folder is not one of Ninja's")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
