# SPDX-License-Identifier: Apache-2.0
"""Policies in the demangled names of kernels, with the names that their members have in the sources.

A name holds a policy as gemms::policy{gemms::extent2{64, 64}, 8, ...}: values in the order of the members,
enumerators as numbers. Here a policy becomes a dictionary, and an enumerator its name, so a check does not
depend on the order in which a struct or an enum lists them.
"""
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = (
    "include/antiphase/executor/kernel.hpp",
    "include/antiphase/gemm/policy.hpp",
    "library/attention/fp16/gradients/backward.hpp",
    "library/gemm/fp16/split_product.hpp",
    "library/gemm/fp64/dots/dots_by_lanes.cuh",
    "library/gemm/fp64/dots/dots_vector.cuh",
    "library/gemm/fp64/fp64_product.hpp",
    "library/gemm/fp64/kernel_kind.hpp",
    "library/gemm/operands/loader.hpp",
    "library/gemm/tf32/tf32_product.hpp",
)


@functools.cache
def sources():
    """All sources, without comments."""
    return re.sub(r"//[^\n]*", "", "\n".join((ROOT / name).read_text() for name in SOURCES))


def outside_braces(text):
    """The parts of a list, split at commas that no brace or parenthesis encloses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "{(<") - (letter in "})>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


@functools.cache
def members_of(struct):
    """Names of a struct's data members, in order: those that stand before its first function."""
    body = re.search(
        rf"\bstruct {struct} \{{(.*?)(?:\bconstexpr\b|^\}};)", sources(), re.DOTALL | re.MULTILINE
    )[1]
    declared = [re.fullmatch(r"[\w:]+\s+(.+)", line.strip(), re.DOTALL) for line in body.split(";")]
    return [re.match(r"\w+", one)[0] for line in declared if line for one in outside_braces(line[1])]


@functools.cache
def enumerators_of(enum):
    body = re.search(rf"\benum class {enum}\b[^{{]*\{{(.*?)\}}", sources(), re.DOTALL)[1]
    return outside_braces(body)


@functools.cache
def parameters_of(kernel):
    """Names of the template parameters of a kernel."""
    found = re.search(rf"template <([^<>]*)>\s*struct {kernel}\b", sources())[1]
    return [one.split()[-1] for one in outside_braces(found)]


def value_of(text):
    if enum := re.fullmatch(r"\((?:\w+::)*(\w+)\)(\d+)", text):
        return enumerators_of(enum[1])[int(enum[2])]
    if struct := re.fullmatch(r"(?:\w+::)*(\w+)\{(.*)\}", text, re.DOTALL):
        return dict(zip(members_of(struct[1]), map(value_of, outside_braces(struct[2])), strict=False))
    return {"true": True, "false": False}.get(text, int(text) if re.fullmatch(r"-?\d+", text) else text)


def enclosed(text, start, close):
    """The text from `start` up to the matching end of its bracket."""
    opening, depth = text[start], 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == close)
        if depth == 0:
            return text[start : at + 1]
    return text[start:]


def policy_in(name, struct):
    """The first policy of that struct in a demangled name; nothing if it has none."""
    found = re.search(rf"\b{struct}\{{", name)
    return value_of(f"{struct}{enclosed(name, found.end() - 1, '}')}") if found else None


def arguments_in(name, kernel):
    """The template arguments of a kernel, by the names of its parameters."""
    start = re.search(rf"\b{kernel}<", name).end() - 1
    values = outside_braces(enclosed(name, start, ">")[1:-1])
    return dict(zip(parameters_of(kernel), map(value_of, values), strict=True))
