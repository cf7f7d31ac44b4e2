# SPDX-License-Identifier: Apache-2.0
"""Leads torch's attention and scans in a program that `antiphase run` has started: that puts this folder in front
of PYTHONPATH. Python imports the module at its start; it acts once the program has imported torch."""
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _lead():
    package = os.path.dirname(_HERE)
    try:
        if "antiphase" not in sys.modules:  # of this version, wherever the program's Python looks for others
            spec = importlib.util.spec_from_file_location(
                "antiphase", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
            )
            sys.modules["antiphase"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules["antiphase"])
        from antiphase import _torch_follow

        _torch_follow.follow()
    except Exception as error:
        if os.environ.get("ANTIPHASE_BATCH_INVARIANT", "") not in ("", "0"):
            sys.exit(f"antiphase: the program cannot be run batch-invariant: {error}")
        # the program goes on as it is
        print(f"antiphase: torch's attention and scans are its own: {error}", file=sys.stderr)


class _AfterTorch:
    """A finder that changes how torch is imported: _lead() follows."""

    @staticmethod
    def find_spec(name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(_AfterTorch)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                _lead()

            spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _AfterTorch)

# The module of this name that would have been found without this folder.
_seen = [place for place in sys.path if os.path.abspath(place or os.curdir) != _HERE]
_next = importlib.machinery.PathFinder.find_spec(__name__, _seen)
if _next is not None and _next.loader is not None:
    _module = importlib.util.module_from_spec(_next)
    sys.modules[__name__] = _module
    _next.loader.exec_module(_module)
