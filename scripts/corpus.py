#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public kernels in languages that compile to PTX, under the checker: draws them, runs them, removes waits.

    corpus.py draw CHECKOUTS        write list.json: the first files of each pool by the SHA-256 of their path

CHECKOUTS is a folder with a git checkout or bare repository owner+name (or owner+name/repo) for each pool. No code of
theirs is kept here: list.json has repository, commit, path and hash.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests/checker/corpus_languages"
LIST = FOLDER / "list.json"

# language, repository, how many, path and text that are wanted, path or text that is not
POOLS = [
    ("Triton", "byoshimi-gmail/triton", 7, r"^python/tutorials/\d\d[^/]*\.py$", r"@triton\.jit", r"tcgen05|nvfp4"),
    ("Triton", "FlagOpen/FlagGems", 7, r"^src/flag_gems/(ops|fused)/.*\.py$", r"@triton\.jit", "pointwise_dynamic"),
    ("Triton", "linkedin/Liger-Kernel", 6, r"^src/liger_kernel/ops/[a-z0-9_]+\.py$", r"@triton\.jit", None),
    ("Triton", "fla-org/flash-linear-attention", 6, r"^fla/ops/.*\.py$", r"@triton\.jit", "/backends/"),
    ("Triton", "unslothai/unsloth", 2, r"^unsloth/kernels/.*\.py$", r"@triton\.jit", None),
    ("Triton", "1CatAI/1Cat-vLLM", 2, r"^vllm/.*\.py$", r"@triton\.jit", "rocm"),
    ("Gluon", "byoshimi-gmail/triton", 10, r"^python/tutorials/gluon/(0[1-578]|1[34])-.*\.py$", r"@gluon\.jit", None),
    (
        "CuTe DSL",
        "NVIDIA/cutlass",
        15,
        r"^examples/python/CuTeDSL/(cute/ampere|cute/hopper|dsl_tutorials|experimental/primitives)/"
        r"(?!.*(ffi|export|jax|iket|latex|fake|tcgen05/)).*\.py$",
        r"\.kernel\b",
        r"tcgen05|tmem|sm_?100|torch\.distributed",
    ),
    (
        "TileLang",
        "tile-ai/tilelang",
        10,
        r"^examples/.*/example_[^/]*\.py$",
        r"T\.prim_func",
        r"sm100|tcgen05|/amd/|cdna|fp[48]|float8|e4m3",
    ),
    ("Numba", "NVIDIA/numba-cuda", 10, r"tests/doc_examples/test_[^/]*\.py$", r"@cuda\.jit", r"link="),
    (
        "CUTLASS C++",
        "NVIDIA/cutlass",
        10,
        r"^examples/\d\d_[^/]*/[^/]*\.cu$",
        r"Sm[89]0|sm[89]0|Sm75|Simt",
        r"Sm100|Sm120|Sm89|sm_89|distributed",
    ),
    ("CUB", "NVIDIA/cccl", 10, r"^cub/examples/.*\.cu$", ".", None),
    ("Thrust", "NVIDIA/cccl", 10, r"^thrust/examples/[^/]*\.cu$", ".", None),
]
# Kernels of Gluon's tutorials for Blackwell alone: tcgen05, gathers by TMA, their launch control
BLACKWELL = r"tcgen05|matmul_warp_specialized|gather|scatter"


def git(checkouts, repository, *words):
    folder = pathlib.Path(checkouts) / repository.replace("/", "+")
    folder = folder / "repo" if (folder / "repo").exists() else folder
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=True)
    return done.stdout


def digest(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def candidates(checkouts, repository, commit, path, wanted, unwanted, language):
    """Files of a pool, or, for Gluon, whose tutorials have several, kernels."""
    for name in git(checkouts, repository, "ls-tree", "-r", "--name-only", commit).decode().split("\n"):
        if not re.search(path, name):
            continue
        text = git(checkouts, repository, "show", f"{commit}:{name}").decode(errors="replace")
        if not re.search(wanted, text):
            continue
        if language == "Gluon":
            kernels = set(re.findall(r"^def (\w+_kernel\w*)\(\w+", text, re.MULTILINE))
            started = {k for k in kernels if re.search(rf"\b{k}\[", text)}
            yield from ((name, k) for k in started if not re.search(BLACKWELL, k))
        elif not (unwanted and re.search(unwanted, name + "\n" + text, re.IGNORECASE)):
            yield name, None


def draw(checkouts):
    drawn = []
    for language, repository, count, path, wanted, unwanted in POOLS:
        commit = git(checkouts, repository, "rev-parse", "HEAD").decode().strip()
        found = list(candidates(checkouts, repository, commit, path, wanted, unwanted, language))
        found.sort(key=lambda one: digest("/".join([repository, one[0], *filter(None, one[1:])])))
        for name, kernel in found[:count]:
            entry = {"language": language, "repository": repository, "commit": commit, "path": name}
            entry |= {"kernel": kernel} if kernel else {}
            entry["sha256"] = digest(git(checkouts, repository, "show", f"{commit}:{name}"))
            drawn.append(entry)
        print(f"{language}, {repository}: {min(count, len(found))} of {len(found)}")
    LIST.write_text(json.dumps(drawn, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"] and len(sys.argv) == 3:
        draw(sys.argv[2])
    else:
        sys.exit(__doc__)
