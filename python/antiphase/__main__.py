# SPDX-License-Identifier: Apache-2.0
"""antiphase from Python, as a program.

    python -m antiphase info
        prints versions, the library and the devices; --version, -V: the version alone
    python -m antiphase info --cflags --libs
        prints what compiles and links a program in C with this package's library, one or more of
          --cflags, --libs           for the compiler
          --fortran                  the source of the Fortran module
          --cmake-dir                for CMake's antiphase_DIR
          --pkg-config-dir           for PKG_CONFIG_PATH
    python -m antiphase run [options] script.py ...
    python -m antiphase run [options] -m module ...
        runs a program and computes its FP32 cuBLAS products, and torch's FP32 attention, by antiphase where that
        is faster. Arguments after its name are passed to it; `python3` before it is this Python. The exit code is the
        program's; 127 if it is not found, 126 if it cannot be executed, 2 for wrong options
          --report                   print at the end how many products were computed
          --least N                  compute all products of at least this size, the cube root of m n k,
                                     instead of those predicted to be faster
          --precision fp32|strict    strict: FP32 multiply-adds in the order of k instead of Tensor Cores
          --profile [--json FILE]    compute none: list them, with their times, and which would be computed
          --scans                    lead torch's cumsum, cumprod, cummax, cummin and logcumsumexp too
          --batch-invariant          compute all products of torch and cuBLAS, in 16 bits too, so that a row has the
                                     same bits whatever the batch; likewise torch's softmax, means and norms
        With --report or --profile, processes that crash, are killed or leave by os._exit are reported too,
        and the exit is by the program's signal
"""
import errno
import functools
import importlib.util
import os
import re
import shlex
import shutil
import sys

from . import _cublas, _library


def _written(program):
    """A program whose output may have a reader that leaves before the end, as `head` does, or no room."""

    @functools.wraps(program)
    def run():
        try:
            program()
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ENOSPC):
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what Python flushes at its exit
            if error.errno == errno.ENOSPC:
                sys.exit(f"antiphase: the output cannot be written: {error.strerror}")

    return run


def _is_missing(library):
    """Whether the file does not exist. A bare name counts as present: the loader searches for it."""
    return os.path.dirname(library) != "" and not os.path.isfile(library)


def _interpreter():
    """This interpreter, with the options that it was started with."""
    words = getattr(sys, "orig_argv", [])[1:]  # from Python 3.10 on
    options = words[: words.index("-m")] if "-m" in words else []
    return [sys.executable, *options]


def info():
    print(f"antiphase {_library.VERSION}, library {_library.PLACE}")
    count = _library.device_count()
    print(
        f"{count} CUDA device{'' if count == 1 else 's'}{'' if count else ': arrays of the host are computed by the CPU executor, slowly'}"
    )
    known = [name for name in ("numpy", "torch", "cupy", "jax") if importlib.util.find_spec(name)]
    print(f"array libraries: {', '.join(known) if known else 'none of numpy, torch, cupy, jax'}")
    library = _cublas.place()
    print(f"for programs on cuBLAS: {library}{', which is missing' if _is_missing(library) else ''}")


# Flags that info prints for these options, of places below the package's folder, for a shell.
_PLACES = {
    "--cflags": ("-I{}", "include"),
    "--libs": ("-L{0} -lantiphase -Wl,-rpath,{0}", "lib"),
    "--fortran": ("{}", "share/antiphase/antiphase.f90"),
    "--cmake-dir": ("{}", "lib/cmake/antiphase"),
    "--pkg-config-dir": ("{}", "lib/pkgconfig"),
}


def places(words):
    here = os.path.dirname(os.path.abspath(__file__))
    shown = []
    for word in words:
        if word not in _PLACES:
            usage(f"antiphase info: there is no option {word}: expected {', '.join(_PLACES)}")
        form, name = _PLACES[word]
        place = os.path.join(here, name)
        if not os.path.exists(place):
            sys.exit(
                f"antiphase info: {word}: there is no {place}: expected the package of a wheel, which has it"
            )
        shown.append(form.format(shlex.quote(place)))
    print(*shown)


def fail(code, why):
    print(why, file=sys.stderr)
    sys.exit(code)


def usage(why):
    fail(2, f"{why}\n\n{__doc__.partition(chr(10))[2].strip(chr(10))}")


def is_python(word):
    """The word is what shells call Python, as in the tool's `antiphase run python3 script.py`: it is this one."""
    return re.fullmatch(r"python(3(\.\d+)?)?", word) is not None and not os.path.isfile(word)


def is_program(word):
    """The word is an executable of PATH, or of machine code: no script for Python."""
    if not os.path.exists(word):
        return "/" not in word and shutil.which(word) is not None
    try:
        with open(word, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def require_program(words):
    """Exits with a message unless Python will find the program that the words name."""
    if not words or words == ["-m"]:
        usage("antiphase run: no program is named: expected script.py, or -m and a module")
    if words[0] == "-m":
        module = words[1].partition(".")[0]
        try:
            found = importlib.util.find_spec(module) is not None
        # not a module's name, or a module without __spec__: left for Python to report
        except (ImportError, ValueError):
            found = True
        if not found:
            fail(127, f"antiphase run: there is no module {module}")
    elif words[0].startswith("-"):
        usage(f"antiphase run: there is no option {words[0]}")
    elif is_program(words[0]):
        fail(
            126,
            f"antiphase run: {words[0]} is a program, and this runs Python scripts: expected antiphase run "
            f"{words[0]}, which is the tool of the wheel",
        )
    elif not os.path.exists(words[0]):
        fail(127, f"antiphase run: there is no {words[0]}: expected a Python script, or -m and a module")
    elif os.path.isdir(words[0]) and not os.path.exists(os.path.join(words[0], "__main__.py")):
        fail(126, f"antiphase run: {words[0]} is a folder without __main__.py: expected a Python script")
    elif not os.access(words[0], os.R_OK):
        fail(126, f"antiphase run: {words[0]} may not be read")


# The environment variables that options set.
_FLAGS = {
    "--report": "ANTIPHASE_REPORT",
    "--profile": "ANTIPHASE_PROFILE",
    "--scans": "ANTIPHASE_SCANS",
    "--batch-invariant": "ANTIPHASE_BATCH_INVARIANT",
}
_VALUES = {
    "--least": "ANTIPHASE_LEAST",
    "--precision": "ANTIPHASE_PRECISION",
    "--json": "ANTIPHASE_PROFILE_JSON",
}


_HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_hook")


def run(words):
    settings = {}
    while words and (words[0].startswith("--") or words[0] == "-h"):
        option, given, value = words.pop(0).partition("=")
        if option == "--":
            break
        if option in ("-h", "--help"):
            print(__doc__.strip())
            return
        if option in _FLAGS:
            if given:
                usage(f"antiphase run: {option}={value}: expected no value")
            settings[_FLAGS[option]] = "1"
        elif option in _VALUES:
            if not given and words:
                value = words.pop(0)
            if not value:
                usage(f"antiphase run: {option} has no value")
            settings[_VALUES[option]] = os.path.abspath(value) if option == "--json" else value
        else:
            usage(f"antiphase run: there is no option {option}")
    least, precision = settings.get("ANTIPHASE_LEAST", "0"), settings.get("ANTIPHASE_PRECISION", "fp32")
    if not (least.isascii() and least.isdigit()):
        usage(f"antiphase run: --least {least}: expected a number from 0 on")
    if precision not in ("fp32", "strict"):
        usage(f"antiphase run: --precision {precision}: expected fp32 or strict")
    excluded = {"ANTIPHASE_PROFILE", "ANTIPHASE_LEAST", "ANTIPHASE_PRECISION"}
    if "ANTIPHASE_BATCH_INVARIANT" in settings and excluded & {*settings}:
        usage(
            "antiphase run: --batch-invariant computes all products, in one way: expected no --profile, --least, "
            "--precision"
        )
    if "ANTIPHASE_PROFILE_JSON" in settings and "ANTIPHASE_PROFILE" not in settings:
        usage("antiphase run: --json is for --profile")
    if len(words) > 1 and is_python(words[0]):
        words = words[1:]
    require_program(words)
    library = _cublas.place()
    if _is_missing(library):
        sys.exit(
            f"antiphase run: {library} is {'a folder: expected the library' if os.path.isdir(library) else 'missing'}"
        )
    if " " in library or ":" in library:
        sys.exit(
            f"antiphase run: {library} cannot be preloaded, since spaces and colons separate what LD_PRELOAD names: expected a path "
            "without them; ANTIPHASE_CUBLAS_LIBRARY may name a link"
        )
    before = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = f"{library}:{before}" if before else library
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = _HOOK + (os.pathsep + before if before else "")
    os.environ.update(settings)
    sys.stdout.flush()
    try:
        _cublas.run([*_interpreter(), *words])
    except OSError as error:
        fail(126, f"antiphase run: {error}")
    except RuntimeError as error:
        sys.exit(str(error))


@_written
def tool():
    """The command `antiphase` of an installed package: the tool that lies next to this file."""
    if sys.argv[1:2] == ["info"] and set(sys.argv[2:]) & set(_PLACES):
        return places(sys.argv[2:])
    place = _library.tool()
    if place is None:
        sys.exit(
            "antiphase: this package holds no tool: expected antiphase/bin/antiphase, as in the wheel; "
            "python -m antiphase has info and run"
        )
    os.environ.setdefault("ANTIPHASE_PYTHON", sys.executable)  # for `antiphase check model.py`
    os.execv(place, ["antiphase", *sys.argv[1:]])


@_written
def main():
    words = sys.argv[1:]
    if words == ["info"]:
        info()
    elif words[:1] == ["info"] and set(words) & set(_PLACES):
        places(words[1:])
    elif words and words[0] == "run":
        run(words[1:])
    elif words in (["--version"], ["-V"], ["version"]):
        print(f"antiphase {_library.VERSION}")
    elif words in (["-h"], ["--help"], ["help"]):
        print(__doc__.strip())
    elif words and _library.tool():
        tool()
    else:
        usage("antiphase: expected info or run")


if __name__ == "__main__":
    main()
