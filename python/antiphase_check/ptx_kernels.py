# SPDX-License-Identifier: Apache-2.0
"""Kernels in PTX, which languages within Python compile to: their parameters, and launches under the checker."""
import contextlib
import importlib.abc
import importlib.util
import os
import re
import sys

from .session import _TYPES, KERNELS, Array, Memory, Pointer, Program, Word, _replaced, _shown, launching_main

_ENTRY = r"\.entry\s+{}\s*\(([^)]*)\)"
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\b.*\s)?([\w$]+)\s*(?:\[(\d+)\])?$"
)
_UNSIGNED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long"}
_FLOATS = {"f32": ("float", "float32"), "f64": ("double", "float64")}
_MAPS = "tensor map"


class Parameter:
    """A kernel's parameter: its bytes, and its type in C++. PTX does not tell integers from pointers."""

    def __init__(self, text):
        found = _PARAMETER.match(" ".join(text.split()))
        if found is None:
            raise ValueError(f"a parameter of PTX is not understood: {text.strip()}")
        align, kind, _, count = found.groups()
        self.bytes = int(re.sub(r"\D", "", kind)) // 8 * int(count or 1)
        self.kind = f"uint{8 * self.bytes}"
        if count is not None:
            self.type = f"struct alignas({align or 1}) {{ unsigned char bytes[{self.bytes}]; }}"
        elif kind in _FLOATS:
            self.type, self.kind = _FLOATS[kind]
        else:
            self.type = _UNSIGNED[self.bytes]

    def packed(self, value):
        """`value`: bytes, a Pointer, None, or a list of them for a structure."""
        if isinstance(value, bytes) and len(value) == self.bytes and self.kind in _TYPES:
            return Word(_TYPES[self.kind], value)
        if value is None:
            return Word(_TYPES["uint64"], bytes(8))
        return value if isinstance(value, Pointer) else _words(value)


def _words(value):
    if isinstance(value, bytes):
        return [Word(_TYPES["uint8"], value[at : at + 1]) for at in range(len(value))]
    return [_words(one) if isinstance(one, bytes) else one for one in value]


def map_type(number):
    """The element type of a tensor map for cuTensorMapEncodeTiled, which numbers some in another way than GPUs."""
    return {8: 10, 9: 8, 10: 9}.get(number, number)


def tensor_map(pointer, kind, swizzle, sizes, strides, box):
    """A parameter that is a tensor map, as of cuTensorMapEncodeTiled: innermost first; strides in bytes, of all
    but the first."""
    return [_MAPS, pointer, kind, swizzle, len(sizes), *map(int, sizes), *map(int, strides), *map(int, box)]


class _Memories:
    """Stores what a call left in memory."""

    def store(self, array, data):
        array.owner.store(data)


class Kernel:
    """A kernel of a module in PTX, `entry` there, in reports `name`. `library`: folders of the language's own
    sources, whose lines are not the user's. `language`: whose words findings use. `own_barriers`: mbarriers and
    scratch memory are the compiler's.
    """

    def __init__(self, session, text, entry, name, library=(), language="", own_barriers=False):
        self.session, self.name = session, name
        header = re.search(_ENTRY.format(re.escape(entry)), text)
        if header is None:
            session.reject(f"the compiler's PTX has no kernel {entry}")
        self.parameters = [Parameter(one) for one in header[1].split(",") if one.strip()]
        main, types = f"#include {KERNELS}\n", []
        for number, parameter in enumerate(self.parameters):
            if parameter.type.startswith("struct"):
                main += parameter.type.replace(")", f") ap_parameter_{number}", 1) + ";\n"
                types.append(f"ap_parameter_{number}")
            else:
                types.append(parameter.type)
        # no name of a function in C, nor a word of C++
        symbol = "ap_kernel_" + re.sub(r"\W", "_", name)
        text = text[: header.start()] + header[0].replace(entry, symbol, 1) + text[header.end() :]
        main += f'extern "C" __global__ void {symbol}({", ".join(types)});\n{launching_main(name, symbol)}'
        first = "// antiphase: mbarriers and scratch memory are the compiler's\n" if own_barriers else ""
        files = [("kernel.ptx", first + self._with_files(text, library)), ("main.cu", main)]
        self.program = Program(session, name, files, language=language)

    def _with_files(self, text, library):
        """The module with names of files as reports show them; those in <> are not the user's."""

        def renamed(found):
            path = "/".join(re.findall(r'"([^"]*)"', found[2]))
            within = next((f for f in library if path.startswith(f + os.sep)), None)
            if within:
                path = f"<{os.path.relpath(path, os.path.dirname(within))}>"
            return f'{found[1]}"{path if within or not os.path.isabs(path) else _shown(path)}"'

        return re.sub(r'(\.file\s+\d+\s+)("[^"\n]*"(?:\s+"[^"\n]*")?)', renamed, text)

    def launch(self, grid, block, shared, values, cluster=(0, 0, 0), cooperative=False):
        """Runs the kernel once under the checker. `values`: what Parameter.packed() takes, of all parameters."""
        if len(values) != len(self.parameters):
            given = f"{len(values)} arguments for {len(self.parameters)} parameters of {self.name}"
            self.session.reject(f"{given}: this version of its compiler passes them in another way")
        sizes = [*grid, *block, shared, shared, *cluster, int(cooperative)]
        packed = [p.packed(v) for p, v in zip(self.parameters, values)]
        self.session.work(self.program.call, self.name, [list(map(int, sizes)), *packed], {}, _Memories())


# arrays
# ----------------------------------------------------------------------------------------------------------


def pointer(session, array):
    """Where a kernel finds the first element of a NumPy array: a place in the memory that it is a view of."""
    import numpy

    bounds = getattr(numpy.lib, "array_utils", numpy).byte_bounds
    owner = array
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    base, end = bounds(owner)
    known = session.memories.get(base)
    if known is None or known.owner is not owner:
        session.memories[base] = known = Memory(base, end - base, owner, "unwritten")
    return _within(known, array.ctypes.data)


def pointer_of(session, value, name):
    """The same for an array, a tensor, an address of one, or None."""
    import numpy

    if value is None or (isinstance(value, int) and value == 0):
        return None
    value = value.array if isinstance(getattr(value, "array", None), numpy.ndarray) else value
    if isinstance(value, numpy.ndarray):
        found = pointer(session, value)
    else:
        address = value.data_ptr() if hasattr(value, "data_ptr") else value
        found = session.pointer(int(address)) if address else None
    if isinstance(found, Pointer) and str(getattr(value, "dtype", "")).endswith("int64"):
        found.words = _addresses_in(session, found.array.owner)
    if isinstance(found, int):
        session.reject(
            f"{name} is an address that is in no known array: expected a tensor or an array of NumPy"
        )
    return found


def address_in(session, value, size):
    """What an integer of so many bytes is the address in, as a Pointer; None if it is only a number."""
    found = session.pointer(int(value)) if size == 8 else None
    if isinstance(found, int) and _LOWEST <= found < _HIGHEST:
        _take_arrays(session)
        found = session.pointer(found)
    return found if isinstance(found, Pointer) else None


# Addresses of user space on 64-bit machines, not the numbers of 32 bits.
_LOWEST, _HIGHEST = 1 << 32, 1 << 47


def _take_arrays(session):
    """Makes arrays of NumPy known: programs read their addresses from fields, not by a call."""
    for array in session.arrays():
        pointer(session, array)


def _addresses_in(session, memory):
    """What words of a memory are addresses in known ones: (byte, Pointer)."""
    import numpy

    words = numpy.frombuffer(memory.bytes(), numpy.int64, memory.size // 8)
    likely = numpy.flatnonzero((words >= _LOWEST) & (words < _HIGHEST))

    def known():
        starts = numpy.array(sorted(session.memories), numpy.int64)
        ends = numpy.array([base + session.memories[base].size for base in starts])
        before = numpy.searchsorted(starts, words[likely], "right") - 1
        return (before >= 0) & (words[likely] < ends[before])

    if likely.size and not known().all():
        _take_arrays(session)
    places = likely[known()] if likely.size else likely
    return tuple((int(at) * 8, session.pointer(int(words[at]))) for at in places)


def _within(memory, address):
    kind = "u" if memory.take_unwritten() else "d"
    made = Array(_TYPES["uint8"], (memory.size,), (1,), memory.bytes, kind, owner=memory)
    return Pointer(made, memory.base, address - memory.base)


def scratch(session, size):
    """Memory of the device that nothing was written to."""
    import numpy

    found = pointer(session, numpy.zeros(size, numpy.uint8))
    found.array.kind = "u"
    return found


# modules of Python
# ----------------------------------------------------------------------------------------------------------


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name, act, prepare):
        self.name, self.act, self.prepare = name, act, prepare

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            self.prepare()
            run(module)
            self.act(module)

        spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def when_imported(name, act, prepare=lambda: None):
    """Calls prepare() before a module is imported, act(module) after it: now or later. act() returns what is to
    be replaced meanwhile: (object, attribute, value)."""
    with contextlib.ExitStack() as stack:

        def replace(module):
            stack.enter_context(_replaced(act(module)))

        finder = _Finder(name, replace, prepare)
        if name in sys.modules:
            prepare()
            replace(sys.modules[name])
        else:
            sys.meta_path.insert(0, finder)
            stack.callback(lambda: finder in sys.meta_path and sys.meta_path.remove(finder))
        yield


def version_of(module):
    """The first two numbers of a module's version."""
    return tuple(int(n) for n in re.findall(r"\d+", getattr(module, "__version__", "0.0"))[:2])
