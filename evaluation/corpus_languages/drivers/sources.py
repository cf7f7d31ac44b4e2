# SPDX-License-Identifier: Apache-2.0
"""Modules of public repositories, of which only definitions run: no benchmark, no full-sized example.

CORPUS_SOURCES is the folder with their files, as evaluation/corpus_languages.py lays it out.
"""
import ast
import importlib.util
import os
import pathlib
import runpy
import sys
import types
import unittest.mock

ROOT = pathlib.Path(os.environ.get("CORPUS_SOURCES", "."))


def folder(repository, *parts):
    """A folder of a repository, from which modules can be imported from now on."""
    found = str(ROOT.joinpath(repository.replace("/", "+"), *parts))
    sys.path.insert(0, found)
    return found


def _names(node):
    """The names that a statement uses when it runs: a function none, a class its bases."""
    if isinstance(node, ast.FunctionDef):
        return set()
    parts = node.bases if isinstance(node, ast.ClassDef) else [node]
    return {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}


def definitions(repository, path, left_out=(), name=None):
    """A module without the statements of its top level that compute: those that are no import, definition or
    assignment, or that name one of `left_out`."""
    file = ROOT / repository.replace("/", "+") / path
    tree = ast.parse(file.read_text(), str(file))
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.Try)
    tree.body = [n for n in tree.body if isinstance(n, kept) and not _names(n) & set(left_out)]
    module = types.ModuleType(name or file.stem.replace("-", "_"))
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    exec(compile(tree, str(file), "exec"), vars(module))
    return module


def body(repository, path, name, **constants):
    """A function or method of a module as a function that can be called, with other values, expressions, of its
    variables."""
    file = ROOT / repository.replace("/", "+") / path
    tree = ast.parse(file.read_text(), str(file))
    found = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)
    found.decorator_list, found.args.args = [], []
    for node in ast.walk(found):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in constants
        ):
            value = ast.parse(constants[node.targets[0].id], mode="eval").body
            node.value = ast.fix_missing_locations(ast.copy_location(value, node.value))
    space = {"__name__": name, "__file__": str(file)}
    exec(compile(ast.Module([found], []), str(file), "exec"), space)
    return space[name]


def program(repository, path, *arguments):
    """Runs a file as a program."""
    file = str(ROOT / repository.replace("/", "+") / path)
    sys.argv = [file, *map(str, arguments)]
    sys.path.insert(0, os.path.dirname(file))
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise


class _Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, packages, real):
        self.packages, self.real = packages, real

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.packages or any(
            (r + ".").startswith(name + ".") for r in self.real
        ):
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec):
        module = unittest.mock.MagicMock(name=spec.name)
        module.__path__, module.__spec__ = [], spec
        return module

    def exec_module(self, module):
        pass


def empty(*packages, real=()):
    """Imports of these packages give empty modules, except for those in `real`."""
    sys.meta_path.insert(0, _Missing(packages, real))
