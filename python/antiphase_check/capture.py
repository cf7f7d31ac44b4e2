# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels inside Python, run under the checker without a GPU.

    with capture() as kernels:
        model(*inputs)          # load_inline'd functions, RawKernels, SourceModules: on arrays of the host
    assert kernels.check().clean

Within capture(), torch.utils.cpp_extension.load_inline() and load(), CuPy's RawKernel and RawModule, PyCUDA's
SourceModule and cuda-python's NVRTC compile for the checker. Each call runs once on copies of its arrays and returns what it computed,
so that the rest of the program goes on; check() runs all calls again under many schedules. CuPy and PyCUDA need
not be installed. `antiphase check model.py` runs this file on a program.
"""
import ast
import contextlib
import ctypes
import json
import os
import pathlib
import signal
import sys
import traceback
import types

if __name__ == "__main__":  # run by `antiphase check model.py`: without installing the package
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
from antiphase_check import core_kernels, cute_kernels, fakes, numba_kernels, tilelang_kernels, triton_kernels
from antiphase_check.session import Session, Stopped, Unsupported, _shown


@contextlib.contextmanager
def capture(seconds=60):
    """Runs kernels of Python code under the checker: see above.

    seconds: the limit of one run.

    Yields a Session, whose check(schedules) reports. A call that a fault ends leaves the with statement: what
    was found is in the report.
    """
    session = Session(seconds)
    with _captured(session):
        yield session


@contextlib.contextmanager
def _captured(session):
    with contextlib.ExitStack() as stack:
        for enter in (
            fakes.torch,
            fakes.cupy,
            fakes.pycuda,
            fakes.cuda_python,
            core_kernels.cuda_core,
            triton_kernels.triton,
            numba_kernels.numba,
            cute_kernels.cute,
            tilelang_kernels.tilelang,
        ):
            stack.enter_context(enter(session))
        try:
            yield session
        except Stopped as stopped:
            session.notes.append(f"the Python program was not run to its end: {str(stopped).strip()}")
        except Unsupported as why:
            if not session.refused:
                session.refused.append({"file": session.caller()[0], "line": 0, "text": str(why)})


# a program, for `antiphase check model.py`
# ----------------------------------------------------------------------------------------------------------


class _Constants(ast.NodeTransformer):
    """Gives constants of a module other values: NAME = ... at its top."""

    def __init__(self, values):
        self.values, self.used = values, set()

    def visit_Module(self, module):
        for statement in module.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            if len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id in self.values:
                self.used.add(targets[0].id)
                statement.value = ast.copy_location(
                    ast.parse(self.values[targets[0].id], mode="eval").body, statement.value
                )
                ast.fix_missing_locations(statement)
        return module


def _parsed(session, files):
    """The files' trees; None, with the reason among what is refused, if one is no program in Python."""
    trees = []
    for file in files:
        try:
            trees.append(ast.parse(pathlib.Path(file).read_bytes(), file))
        except (SyntaxError, ValueError) as error:
            line, why = getattr(error, "lineno", None) or 0, getattr(error, "msg", error)
            session.refused.append({"file": file, "line": line, "text": f"does not compile: {why}"})
            return None
    return trees


def _run(session, files, trees, constants):
    """Runs a model that the files define, or the first file as a program."""
    defined = {n.name for tree in trees for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    is_model = "get_inputs" in defined and ("ModelNew" in defined or "Model" in defined)
    overrides = _Constants(constants)
    spaces = []
    sys.path.insert(0, os.path.dirname(os.path.abspath(files[0])))
    for number, (tree, file) in enumerate(zip(trees, files)):
        name = "__main__" if number == 0 and not is_model else pathlib.Path(file).stem
        module = types.ModuleType(name)
        module.__file__ = os.path.abspath(file)
        sys.modules[name] = module
        spaces.append(vars(module))
        overrides.visit(tree)
        exec(compile(tree, file, "exec"), vars(module))
    for name in set(constants) - overrides.used:
        session.notes.append(f"-D {name}: no file sets {name} at its top")
    if not is_model:
        if "ModelNew" in defined and not any(p.calls for p in session.programs):
            what = "no get_inputs() is there for ModelNew: name the file of the problem too"
            session.refused.append({"file": files[0], "line": 0, "text": what})
        return

    def find(name):
        return next((space[name] for space in spaces if name in space), None)

    import torch

    def made(of):
        torch.manual_seed(42)
        inputs = find("get_init_inputs")() if find("get_init_inputs") else []
        torch.manual_seed(42)
        if isinstance(inputs, dict):
            return of(**inputs)
        return (
            of(*inputs[0], **inputs[1]) if len(inputs) == 2 and isinstance(inputs[1], dict) else of(*inputs)
        )

    model = made(find("ModelNew") or find("Model"))
    torch.manual_seed(7)
    inputs = find("get_inputs")()
    with torch.no_grad():
        reference = made(find("Model")) if find("ModelNew") and find("Model") else None
        # before the kernels may change them
        expected = (
            reference(*(i.clone() if isinstance(i, torch.Tensor) else i for i in inputs))
            if reference
            else None
        )
        result = model(*inputs)
        if not any(p.calls for p in session.programs) and getattr(model, "training", False):
            session.notes.append("the model calls no kernel while it is trained, so it was run in eval() too")
            model.eval()
            model(*inputs)
            return
        if reference and not session.partial:
            session.compare(result, expected, session.place_of(find("ModelNew")))


def _why(error, session, files):
    """Why a program has ended by an exception, with the user's line that it came from; nothing for a right end, or
    for a check of results of which only some blocks have computed theirs."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SystemExit):
        if error.code in (None, 0):
            return []
        text = f"the program ended with {error.code if isinstance(error.code, int) else repr(error.code)}"
    elif isinstance(error, ImportError):
        text = f"{error}: the program's own packages are needed to run it" + (
            ", for example torch's build for CPUs" if (error.name or "").startswith("torch") else ""
        )
    trace = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    if (place := triton_kernels.place_of(error, session)) is not None:
        *at, text = place
        trace.append(tuple(at))
    if isinstance(error, SyntaxError) and error.filename:  # of a module that the program imports
        text, trace = f"does not compile: {error.msg}", [*trace, (error.filename, error.lineno or 0)]
    is_of_program = isinstance(error, (AssertionError, SystemExit))
    own = [one for one in trace if one[0] in files or session.is_own(one[0])] or [(files[0], 0)]
    file, line = _shown(own[-1][0]), own[-1][1]
    if is_of_program and session.partial:
        ended = f"{file}:{line} has ended the program ({type(error).__name__})"
        session.notes.append(
            f"{ended}, which may be for results of blocks that did not run: --blocks all runs them"
        )
        return []
    return [{"file": file, "line": line, "text": " ".join(text.split())}]


def _end_with_parent():
    """Ends this process with the tool that has started it, even if that is killed."""
    libc, with_parent = ctypes.CDLL(None), 1  # PR_SET_PDEATHSIG
    libc.prctl(with_parent, signal.SIGKILL)


def main(words):
    """Runs a program and writes a manifest: capture.py MANIFEST [-D NAME=VALUE ...] file.py ... [-- ARGUMENT ...]"""
    _end_with_parent()
    arguments = words[words.index("--") + 1 :] if "--" in words else []
    target, seconds, words = words[0], int(words[1]), words[2 : len(words) - len(arguments)]
    constants, files = {}, []
    for word in words:
        if word.startswith("-D"):
            name, _, value = word[2:].partition("=")
            constants[name] = value or "1"
        elif word != "--":
            files.append(word)
    session = Session(seconds, os.path.dirname(target))
    session.files = files
    session.text = "\n".join(pathlib.Path(f).read_text(errors="replace") for f in files)
    sys.argv = [files[0], *arguments]
    try:
        if (trees := _parsed(session, files)) is not None:
            with _captured(session):
                _run(session, files, trees, constants)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        session.refused += _why(error, session, files)
    for program in session.programs:
        if not program.calls:
            session.notes.append(f"nothing has called {program.label}, so it was not checked")
    manifest = {
        "programs": [p.entry() for p in session.programs if p.calls],
        "refused": session.refused,
        "notes": session.notes,
        "wrong": session.wrong,
    }
    pathlib.Path(target).write_text(json.dumps(manifest))


if __name__ == "__main__":
    main(sys.argv[1:])
