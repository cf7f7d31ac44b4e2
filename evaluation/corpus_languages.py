#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public kernels in languages that compile to PTX, under the checker: draws them, runs them, removes waits.

    corpus_languages.py draw CHECKOUTS                  write list.json: the first files of each pool by the hash of their path
    corpus_languages.py sources CHECKOUTS SOURCES       lay out their files, and those that they include
    corpus_languages.py run TOOL SOURCES [NAME ...]     check all kernels (or those named), write outcome.json
    corpus_languages.py mutants TOOL SOURCES [NAME ...] check what run left, without one barrier, wait, fence, commit or lock
    corpus_languages.py table [--check]                 write evaluation/corpus_languages.md from outcome.json, or fail if it differs

CHECKOUTS is a folder with a git checkout or bare repository owner+name (or owner+name/repo) for each pool. No code of
theirs is kept here: list.json has repository, commit, path and hash, drivers/ calls with small arguments, and
readings.json what a person who read the source made of a finding or of a silent mutant. SOURCES/packages.json says
where Python finds packages: {"Triton": PYTHONPATH, ...}, by language or by repository. records.py packs list.json and
outcome.json.
"""
import collections
import concurrent.futures
import datetime
import fcntl
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

import records

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "evaluation/corpus_languages"
LIST, OUTCOME, READINGS = (FOLDER / f"{name}.json" for name in ("list", "outcome", "readings"))
PAGE = ROOT / "evaluation/corpus_languages.md"
DRIVERS = {"Triton": "triton", "Gluon": "gluon", "Numba": "numba", "CuTe DSL": "cute", "TileLang": "tilelang"}
BY_NVCC = json.loads(
    (FOLDER / "drivers/by_nvcc.json").read_text()
)  # include folders and arguments of programs
SCHEDULES, MUTANT_SCHEDULES, SECONDS, MOST = 6, 4, 60, 12

# language, repository, how many, path and text that are wanted, path or text that is not
POOLS = [
    (
        "Triton",
        "byoshimi-gmail/triton",
        7,
        r"^python/tutorials/\d\d[^/]*\.py$",
        r"@triton\.jit",
        r"tcgen05|nvfp4",
    ),
    (
        "Triton",
        "FlagOpen/FlagGems",
        7,
        r"^src/flag_gems/(ops|fused)/.*\.py$",
        r"@triton\.jit",
        "pointwise_dynamic",
    ),
    ("Triton", "linkedin/Liger-Kernel", 6, r"^src/liger_kernel/ops/[a-z0-9_]+\.py$", r"@triton\.jit", None),
    ("Triton", "fla-org/flash-linear-attention", 6, r"^fla/ops/.*\.py$", r"@triton\.jit", "/backends/"),
    ("Triton", "unslothai/unsloth", 2, r"^unsloth/kernels/.*\.py$", r"@triton\.jit", None),
    ("Triton", "1CatAI/1Cat-vLLM", 2, r"^vllm/.*\.py$", r"@triton\.jit", "rocm"),
    (
        "Gluon",
        "byoshimi-gmail/triton",
        10,
        r"^python/tutorials/gluon/(0[1-578]|1[34])-.*\.py$",
        r"@gluon\.jit",
        None,
    ),
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


def name_of(entry, entries):
    """The name in the drivers: the kernel, or the file's stem, with its folder where two have the same."""
    path = pathlib.PurePosixPath(entry["path"])
    same = [
        e
        for e in entries
        if e["language"] == entry["language"] and pathlib.PurePosixPath(e["path"]).stem == path.stem
    ]
    return entry.get("kernel") or (f"{path.parent.name}/{path.stem}" if len(same) > 1 else path.stem)


# Folders of a repository that are laid out as a whole, so that their files find each other
WHOLE = {
    "byoshimi-gmail/triton": ["python/tutorials"],
    "FlagOpen/FlagGems": ["src"],
    "linkedin/Liger-Kernel": ["src"],
    "fla-org/flash-linear-attention": ["fla"],
    "unslothai/unsloth": ["unsloth/kernels"],
    "NVIDIA/cutlass": ["examples", "include", "tools/util"],
    "NVIDIA/cccl": ["cub", "thrust", "libcudacxx/include", "c2h"],
    "tile-ai/tilelang": ["examples"],
}


def sources(checkouts, target):
    entries = records.read("corpus_languages/list.json")
    for repository in sorted({e["repository"] for e in entries}):
        mine = [e for e in entries if e["repository"] == repository]
        folders = WHOLE.get(repository) or sorted({e["path"] for e in mine})
        data = git(checkouts, repository, "archive", mine[0]["commit"], *folders)
        folder = pathlib.Path(target) / repository.replace("/", "+")
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder, filter="data")
        for entry in mine:
            if digest((folder / entry["path"]).read_bytes()) != entry["sha256"]:
                sys.exit(f"{folder / entry['path']} is not the file that {LIST} names: its hash differs")


class Runner:
    def __init__(self, tool, sources_folder):
        self.tool, self.sources = str(pathlib.Path(tool).resolve()), pathlib.Path(sources_folder).resolve()
        packages = self.sources / "packages.json"
        self.packages = json.loads(packages.read_text()) if packages.exists() else {}

    def environment(self, entry):
        path = self.packages.get(entry["repository"] + " " + entry["language"]) or self.packages.get(
            entry["language"], ""
        )
        more = {"PYTHONPATH": path, "ANTIPHASE_TOOL": self.tool, "CORPUS_SOURCES": str(self.sources)}
        return {**os.environ, **more, "OMP_NUM_THREADS": "1"}

    def captured(self, entry, name):
        """Runs a driver; the programs that it launched stay in a folder. Returns their manifest and the time."""
        if entry["language"] in BY_NVCC["includes"]:
            return self.program(entry, name), 0.0
        folder = self.sources / "captured" / re.sub(r"\W", "_", f"{entry['language']} {name}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        words = [
            sys.executable,
            str(ROOT / "python/antiphase_check/capture.py"),
            str(folder / "manifest.json"),
        ]
        words += [str(SECONDS), f"-DENTRY={json.dumps(name)}", f"{DRIVERS[entry['language']]}_entries.py"]
        before = time.monotonic()
        done = subprocess.run(
            words,
            cwd=FOLDER / "drivers",
            env=self.environment(entry),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=1200,
        )
        manifest = folder / "manifest.json"
        if not manifest.exists():
            return {"programs": [], "refused": [{"text": done.stderr[-300:]}]}, 0.0
        return json.loads(manifest.read_text()), time.monotonic() - before

    def program(self, entry, name):
        """A program of C++ as it is, for check --nvcc, in place of what a driver launches."""
        includes = [f"-I{self.sources / one}" for one in BY_NVCC["includes"][entry["language"]]]
        source = self.sources / entry["repository"].replace("/", "+") / entry["path"]
        if name in BY_NVCC["sizes"]:
            source, includes = self.smaller(source, name), [f"-I{source.parent}", *includes]
        one = {
            "sources": [str(source)],
            "options": ["--nvcc", *BY_NVCC["options"].get(name, []), *includes],
            "arguments": BY_NVCC["arguments"].get(name, []),
            "object": "",
            "label": name,
        }
        return {"programs": [one], "refused": []}

    def smaller(self, source, name):
        """A copy of a program whose sizes are constants of its source, with smaller ones on the same lines."""
        text = source.read_text()
        for size, instead in BY_NVCC["sizes"][name].items():
            if size not in text:
                sys.exit(f"{source} has no {size}, which {FOLDER / 'drivers/by_nvcc.json'} replaces")
            text = text.replace(size, instead)
        copy = self.sources / "captured" / name / source.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        return copy

    def check(self, program, entry, schedules):
        """The exit code, and what was found: severity, kind, file:line."""
        words = [self.tool, "check", *program["sources"], *program["options"], "--schedules", str(schedules)]
        seconds = BY_NVCC["seconds"].get(program["label"], SECONDS)
        words += ["--workers", "1", "--seconds", str(seconds), "--json", "--", *program["arguments"]]
        environment = {**self.environment(entry)}
        environment |= {"ANTIPHASE_CHECK_OBJECT": program["object"]} if program["object"] else {}
        done = subprocess.run(
            words, env=environment, cwd=self.sources, capture_output=True, text=True, errors="replace"
        )
        report = json.loads(done.stdout)["programs"][0] if done.stdout.strip() else {}
        found = []
        for f in report.get("findings", []):
            at = f["access"]["at"]
            file = at["file"].removeprefix(str(self.sources) + "/")
            if file.endswith("/" + entry["path"].rsplit("/", 1)[-1]):  # of a copy, too
                file = entry["repository"].replace("/", "+") + "/" + entry["path"]
            found.append([f["severity"], f["kind"], f"{file}:{at['line']}"])
        refused = done.returncode not in (0, 4, 5) or "not supported here" in done.stderr
        said = done.stderr.strip()[-300:] if refused else ""
        return done.returncode, sorted(map(tuple, set(map(tuple, found)))), said


def without_folders(text):
    """A message without colors and without the folders of this machine."""
    return re.sub(r"\x1b\[[\d;]*m|/\S*/", "", text).strip()[:300]


def checked(runner, entry, name):
    manifest, seconds = runner.captured(entry, name)
    record = {"seconds": round(seconds, 1), "kernels": {}, "findings": []}
    said = [one["text"] for one in manifest["refused"]]
    said += [note for note in manifest.get("notes", ()) if "not run to its end" in note]
    for program in manifest["programs"]:
        before = time.monotonic()
        code, found, stopped = runner.check(program, entry, SCHEDULES)
        record["seconds"] = round(record["seconds"] + time.monotonic() - before, 1)
        label = program["label"][:60]
        record["kernels"][label] = record["kernels"].get(label, 0) + 1
        record["findings"] += [[label, *one] for one in found]
        if code == 4:
            said.append(f"{label}: not known in time")
        elif stopped:
            said.append(f"{label}: {stopped}")
    errors = any(severity == "error" for _, severity, *_ in record["findings"])
    record["said"] = [without_folders(s) for s in said]
    record["verdict"] = (
        "refused" if said else "finding" if errors else "pedantic" if record["findings"] else "clean"
    )
    return record


# One instruction of PTX that orders something, and what stands there without it
REMOVED = [
    (r"(?:@!?%\w+\s+)?bar(?:rier)?\.(?:cta\.)?(?:sync|warp\.sync)[^;]*;", ""),
    (r"(?:@!?%\w+\s+)?barrier\.cluster\.(?:arrive|wait)[^;]*;", ""),
    (r"(?:@!?%\w+\s+)?cp\.async\.(?:bulk\.)?(?:commit_group|wait_group|wait_all)[^;]*;", ""),
    (r"(?:@!?%\w+\s+)?wgmma\.(?:fence|commit_group|wait_group)[^;]*;", ""),
    (r"(?:@!?%\w+\s+)?(?<![\w.])(?:fence|membar)\.[^;]*;", ""),
    (r"((?:@!?%\w+\s+)?)mbarrier\.(?:try|test)_wait\S*\s+([%\w]+)[^;]*;", r"\1setp.eq.b32 \2, 0, 0;"),
    (
        r"((?:@!?%\w+\s+)?)atom\.\S*cas\.(b\d+)\s+([%\w]+),\s*\[[^\]]*\],\s*([^,;]+),[^;]*;",
        r"\1mov.\2 \3, \4;",
    ),
]


def mutants_of(text):
    """Texts without one instruction, with what it is and its line in the PTX."""
    for pattern, instead in REMOVED:
        for found in re.finditer(pattern, text):
            line = text.count("\n", 0, found.start()) + 1
            if text[text.rfind("\n", 0, found.start()) + 1 : found.start()].lstrip().startswith("//"):
                continue
            yield text[: found.start()] + found.expand(instead) + text[found.end() :], found[0].split("[")[
                0
            ].strip(), line


def place_of(text, line):
    """The line of the source that `.loc` gives for a line of PTX."""
    rows = text.split("\n")[:line]
    found = next((m for row in reversed(rows) if (m := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", row))), None)
    return int(found[2]) if found else 0


def mutated(runner, entry, name):
    """One compiled form of each kernel, without each of its waits in turn: of more than MOST, every second or so."""
    folder = runner.sources / "captured" / re.sub(r"\W", "_", f"{entry['language']} {name}")
    manifest = json.loads((folder / "manifest.json").read_text())
    chosen = {}
    for program in manifest["programs"]:
        text = pathlib.Path(program["sources"][0]).read_text()
        all_of = list(mutants_of(text))
        if len(all_of) > len(chosen.get(program["label"], (None, "", []))[2]):
            chosen[program["label"]] = (program, text, all_of)
    kept = folder / "mutants.json"  # of a run that was interrupted
    results = json.loads(kept.read_text()) if kept.exists() else []
    for label, (program, text, all_of) in chosen.items():
        done = {m["at_ptx"] for m in results if m["kernel"] == label[:60]}
        _, before, _ = runner.check(program, entry, MUTANT_SCHEDULES)
        work = folder / "mutant"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(pathlib.Path(program["sources"][0]).parent, work)
        (work / "program.so").unlink(missing_ok=True)
        altered = {
            **program,
            "sources": [str(work / pathlib.Path(s).name) for s in program["sources"]],
            "object": "",
        }
        step = -(-len(all_of) // MOST)
        for mutant, what, line in all_of[::step] if all_of else ():
            if line in done:
                continue
            (work / "kernel.ptx").write_text(mutant)
            code, found, said = runner.check(altered, entry, MUTANT_SCHEDULES)
            new = [one for one in found if one not in before and one[0] == "error"]
            verdict = (
                "found" if new else "stopped" if code in (2, 4) else "refused" if code == 3 else "silent"
            )
            places = sorted({place for _, _, place in new})
            one = {
                "kernel": label[:60],
                "without": " ".join(what.split())[:60],
                "line": place_of(text, line),
                "came": verdict,
            }
            one["at_ptx"] = line
            results.append(one | ({"at": places, "kinds": sorted({k for _, k, _ in new})} if new else {}))
            kept.write_text(json.dumps(results))
            print(
                f"  {label[:40]} {one['without']} :{one['line']} {verdict} {places[:2]} {said[-100:]}",
                flush=True,
            )
    return results


def noted(name, key, result):
    """Adds a result to outcome.json, which other runs may write too."""
    with open(READINGS) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcome = records.read("corpus_languages/outcome.json") or {"kernels": {}}
        outcome["measured"] = datetime.date.today().isoformat()
        outcome["kernels"].setdefault(name, {})[key] = result
        OUTCOME.write_text(json.dumps(outcome, indent=1, sort_keys=True) + "\n")


def each(tool, folder, names, act, key):
    entries = records.read("corpus_languages/list.json")
    runner = Runner(tool, folder)
    languages = {*DRIVERS, *(BY_NVCC["includes"] if key == "run" else ())}
    work = [(e, name_of(e, entries)) for e in entries if e["language"] in languages]
    work = [(e, n) for e, n in work if not names or n in names or e["language"] in names]

    def one(job):
        try:
            return job, act(runner, *job)
        except Exception as error:
            return job, {
                "verdict": "refused",
                "said": [without_folders(f"{type(error).__name__}: {error}")],
                "findings": [],
            }

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CORPUS_JOBS", "2"))) as pool:
        for (entry, name), result in pool.map(one, work):
            noted(f"{entry['language']}: {name}", key, result)
            if isinstance(result, dict):
                print(name, result["verdict"], result["said"], result["findings"], flush=True)
            else:
                print(name, dict(collections.Counter(m["came"] for m in result)), flush=True)


CAME = {"clean": "clean", "finding": "finding", "pedantic": "pedantic finding", "refused": "not checked"}


def share(part, whole):
    return f"{part} of {whole}: {100 * part / whole:.0f} %" if whole else "-"


def in_source(entry, place):
    """True if a finding's place is in the repository's own files."""
    return place.startswith(entry["repository"].replace("/", "+") + "/")


def page():
    entries = records.read("corpus_languages/list.json")
    outcome = records.read("corpus_languages/outcome.json")
    readings = json.loads(READINGS.read_text())
    rows, silent, all_places, counts, languages = [], [], [], collections.Counter(), collections.Counter()
    for entry in entries:
        name = name_of(entry, entries)
        key = f"{entry['language']}: {name}"
        record = outcome["kernels"].get(key, {})
        ran, mutants = record.get("run"), record.get("mutants")
        reading = readings["kernels"].get(key, "")
        what = "not tried" if ran is None else CAME[ran["verdict"]]
        what = "accused" if what == "finding" and reading.startswith("false") else what
        counts[what] += 1
        languages[entry["language"], what in ("clean", "finding", "pedantic finding")] += 1
        found = sorted(
            {f"{kind} at {place.rsplit('/', 1)[-1]}" for _, _, kind, place in (ran or {}).get("findings", ())}
        )
        all_places += [in_source(entry, place) for *_, place in (ran or {}).get("findings", ())]
        said = "; ".join(found) if found else (ran["said"][0][:120] if ran and ran["said"] else "")
        said = said.replace("|", "/").replace("\n", " ")
        text = f"{said}. **Read**: {reading}" if reading and said else reading or said
        part = ""
        mutants = [m for m in mutants if m["came"] != "refused"] if isinstance(mutants, list) else []
        if mutants:
            good = sum(m["came"] in ("found", "stopped") for m in mutants)
            needless = readings["needless"].get(key, {})
            unneeded = [m for m in mutants if m["came"] == "silent" and needless_reason(needless, m)]
            part = f"{good} of {len(mutants) - len(unneeded)}"
            counts["mutants found"] += good
            counts["mutants"] += len(mutants) - len(unneeded)
            counts["needless"] += len(unneeded)
            all_places += [in_source(entry, at) for m in mutants for at in m.get("at", ())]
            for m in mutants:
                if m["came"] == "silent":
                    why = needless_reason(needless, m)
                    silent.append(
                        f"| {entry['language']} | `{name}` | `{m['without']}` | {m['line']} | {why or '**missed**'} |"
                    )
        where = f"[`{entry['path'].rsplit('/', 1)[-1]}`](https://github.com/{entry['repository']}/blob/{entry['commit']}/{entry['path']})"
        kernel = f" `{entry['kernel']}`" if entry.get("kernel") else ""
        rows.append(f"| {entry['language']} | {where}{kernel} | {what} | {text} | {part} |")
    checked = counts["clean"] + counts["finding"] + counts["pedantic finding"]
    per_language = ", ".join(
        f"{language} {languages[language, True]} of {languages[language, True] + languages[language, False]}"
        for language in dict.fromkeys(e["language"] for e in entries)
    )
    return readings["page"].format(
        date=outcome["measured"],
        ran=share(checked, len(entries)),
        tried=share(checked, checked + counts["not checked"] + counts["accused"]),
        per_language=per_language,
        accused=counts["accused"],
        mutants=share(counts["mutants found"], counts["mutants"]),
        needless=counts["needless"],
        lines=share(sum(all_places), len(all_places)),
        findings=counts["finding"],
        rows="\n".join(rows),
        silent="\n".join(silent),
    )


def needless_reason(needless, mutant):
    """The reading of a silent mutant, by instruction and line or of all such instructions; empty: none."""
    return needless.get(f"{mutant['without'].split(';')[0]}:{mutant['line']}") or needless.get(
        mutant["without"].split(";")[0], ""
    )


def table(is_check):
    text = page()
    if is_check and PAGE.read_text() != text:
        sys.exit(f"{PAGE} is not what {OUTCOME} and {READINGS} say: run evaluation/corpus_languages.py table")
    if not is_check:
        PAGE.write_text(text)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["draw"] and len(words) == 2:
        draw(words[1])
    elif words[:1] == ["sources"] and len(words) == 3:
        sources(*words[1:])
    elif words[:1] == ["run"] and len(words) >= 3:
        each(words[1], words[2], words[3:], checked, "run")
    elif words[:1] == ["mutants"] and len(words) >= 3:
        each(words[1], words[2], words[3:], mutated, "mutants")
    elif words[:1] == ["table"] and words[1:] in ([], ["--check"]):
        table(words[1:] == ["--check"])
    else:
        sys.exit(__doc__)
