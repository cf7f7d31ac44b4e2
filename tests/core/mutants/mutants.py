#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the core in one place, compiles a test of check.cpp's selection against the result, and expects it
to fail.

    mutants.py --list
    mutants.py --compiler g++ [--launcher ccache] [--precompiled HEADER] --root SOURCES --work FOLDER NAME

The fields are those of tests/support/mutant.hpp: a name, what is broken, which check must find it (found_by).
The list is Python and not C++, because a mutant replaces text of a header that all of the test uses; a
kernel, in contrast, could stand next to the whole one.

Each mutant names the check that is expected to find it, and only that one is compiled. A mutant that behaves
like the original gives the reason and is expected to pass all checks, so both kinds of entry are verified.
The mutant "none" is the unchanged core.
"""
import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str  # occurs exactly once in the file
    new: str
    found_by: str = ""  # a check of check.cpp
    equivalent: str = ""  # or why no test can find it


CURSOR, CHANNEL, PIPELINE = "cursor.hpp", "channel.hpp", "pipeline.hpp"

MUTANTS = [
    Mutant("parity_not_flipped", CURSOR, "parity ^= 1;", "", "chains"),
    Mutant("parity_set_once", CURSOR, "parity ^= 1;", "parity = 1;", "chains"),
    Mutant("parity_starts_at_one", CURSOR, "unsigned parity = 0;", "unsigned parity = 1;", "chains"),
    Mutant("wraps_one_late", CURSOR, "++index == N", "++index == N + 1", "chains"),
    Mutant("wraps_one_early", CURSOR, "++index == N", "++index >= N - 1", "cursors"),
    Mutant("wraps_to_the_second_slot", CURSOR, "index = 0;\n", "index = N > 1;\n", "moved_values"),
    Mutant("old_place_is_the_new_one", CURSOR, "return before;", "return *this;", "chains"),
    Mutant("acquire_waits_for_own_event", CHANNEL, "event > first ? event - 1 : last]", "event]", "chains"),
    Mutant("acquire_by_one_parity", CHANNEL, "at.parity : at.parity ^ 1", "at.parity : at.parity", "chains"),
    Mutant(
        "acquire_by_the_other_parity",
        CHANNEL,
        "event > first ? at.parity : at.parity ^ 1",
        "at.parity ^ 1",
        "turns",
    ),
    Mutant(
        "acquire_waits_for_the_first_event",
        CHANNEL,
        "event > first ? event - 1 : last]",
        "event > first ? first : last]",
        "turns",
    ),
    Mutant(
        "acquire_after_the_first_event",
        CHANNEL,
        "event > first ? event - 1 : last]",
        "event > first ? event - 1 : first]",
        "chains",
    ),
    Mutant(
        "wait_by_the_other_parity",
        CHANNEL,
        "[event][at.index].wait(at.parity, who...)",
        "[event][at.index].wait(at.parity ^ 1, who...)",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "wait_for_the_first_event",
        CHANNEL,
        "barrier[event][at.index].wait",
        "barrier[first][at.index].wait",
        "scan_chain",
    ),
    Mutant(
        "commit_in_the_first_slot",
        CHANNEL,
        "barrier[event][at.index].arrive",
        "barrier[event][0].arrive",
        "chains",
    ),
    Mutant(
        "commit_of_the_first_event",
        CHANNEL,
        "barrier[event][at.index].arrive",
        "barrier[first][at.index].arrive",
        "chains",
    ),
    Mutant(
        "release_commits_the_first_event",
        CHANNEL,
        "commit(at, last, how...)",
        "commit(at, first, how...)",
        "chains",
    ),
    Mutant("last_is_the_first", CHANNEL, "last = events - 1", "last = 0", "chains"),
    Mutant("last_is_the_second", CHANNEL, "last = events - 1", "last = 1", "turns"),
    Mutant(
        "finish_one_slot_short",
        CHANNEL,
        "i < N; ++i, ++at) acquire",
        "i < N - 1; ++i, ++at) acquire",
        "chains",
    ),
    Mutant("finish_stays_at_one_slot", CHANNEL, "i < N; ++i, ++at) acquire", "i < N; ++i) acquire", "chains"),
    Mutant("finish_does_nothing", CHANNEL, "acquire(at, first, who...);", ";", "chains"),
    Mutant(
        "every_event_of_one_party", CHANNEL, "init(event++, Parties)", "init(event++, Parties > 0)", "chains"
    ),
    Mutant(
        "only_the_first_slot_is_set_up",
        CHANNEL,
        "      b.init(parties);",
        "      barrier[event][0].init(parties);",
        "chains",
    ),
    Mutant("lead_of_n", PIPELINE, "lead = C::stages - 1", "lead = C::stages", "moved_values"),
    Mutant(
        "lead_of_n_minus_two",
        PIPELINE,
        "lead = C::stages - 1",
        "lead = C::stages > 1 ? C::stages - 2 : 0",
        "moved_values",
    ),
    Mutant(
        "starts_at_slot_zero_again",
        PIPELINE,
        "cursor<C::stages> head = position;",
        "cursor<C::stages> head;",
        "moved_values",
    ),
    Mutant(
        "goes_on_without_the_drain",
        PIPELINE,
        "++i, ++position) {  // drain",
        "++i) {  // drain",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "prologue_one_short",
        PIPELINE,
        "i < lead; ++i) {  // prologue",
        "i + 1 < lead; ++i) {  // prologue",
        "moved_values",
    ),
    Mutant(
        "prologue_without_acquire",
        PIPELINE,
        "channel.acquire(head);\n      if (i < steps)",
        "if (i < steps)",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "prologue_loads_past_the_end", PIPELINE, "if (i < steps) load(", "load(", "threads_over_copy_groups"
    ),
    Mutant(
        "prologue_without_commit",
        PIPELINE,
        "if (i < steps) load(i, head.index);\n      channel.commit(head++);",
        "if (i < steps) load(i, head.index);\n      head++;",
        "threads_over_copy_groups",
    ),
    Mutant(
        "one_stage_without_acquire",
        PIPELINE,
        "channel.acquire(head);\n        load(i, head.index);",
        "load(i, head.index);",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "one_stage_without_wait",
        PIPELINE,
        "channel.wait(position);\n        compute(i, position.index);\n      } else",
        "compute(i, position.index);\n      } else",
        "threads_over_staged_registers",
    ),
    Mutant(
        "one_stage_computes_before_the_commit",
        PIPELINE,
        "channel.commit(head++);\n        channel.wait(position);\n        compute(i, position.index);",
        "channel.wait(position);\n        compute(i, position.index);\n        channel.commit(head++);",
        "moved_values",
    ),
    Mutant(
        "step_without_wait",
        PIPELINE,
        "channel.wait(position);\n        channel.acquire(head);",
        "channel.acquire(head);",
        "threads_over_staged_registers",
    ),
    Mutant(
        "step_without_acquire",
        PIPELINE,
        "channel.wait(position);\n        channel.acquire(head);",
        "channel.wait(position);",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "step_acquires_before_it_waits",
        PIPELINE,
        "channel.wait(position);\n        channel.acquire(head);",
        "channel.acquire(head);\n        channel.wait(position);",
        equivalent="both come before the step's load and computation, and neither is needed for the other to return",
    ),
    Mutant(
        "step_loads_before_it_acquires",
        PIPELINE,
        "channel.acquire(head);\n        if (i + lead < steps) load(i + lead, head.index);",
        "if (i + lead < steps) load(i + lead, head.index);\n        channel.acquire(head);",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "step_loads_before_it_waits",
        PIPELINE,
        "channel.wait(position);\n        channel.acquire(head);\n        if (i + lead < steps) load(i + lead, head.index);",
        "channel.acquire(head);\n        if (i + lead < steps) load(i + lead, head.index);\n        channel.wait(position);",
        "threads_over_copy_groups",
    ),
    Mutant(
        "step_loads_past_the_end", PIPELINE, "if (i + lead < steps) load", "load", "threads_over_copy_groups"
    ),
    Mutant(
        "step_loads_one_past_the_end",
        PIPELINE,
        "i + lead < steps",
        "i + lead <= steps",
        "threads_over_copy_groups",
    ),
    Mutant("step_omits_the_last_load", PIPELINE, "i + lead < steps", "i + lead + 1 < steps", "moved_values"),
    Mutant(
        "step_commits_before_it_computes",
        PIPELINE,
        "compute(i, position.index);\n        channel.commit(head++);\n      }",
        "channel.commit(head++);\n        compute(i, position.index);\n      }",
        "threads_over_staged_registers",
    ),
    Mutant(
        "step_without_commit",
        PIPELINE,
        "compute(i, position.index);\n        channel.commit(head++);\n      }",
        "compute(i, position.index);\n        head++;\n      }",
        "threads_over_copy_groups",
    ),
    Mutant(
        "step_computes_in_the_loaded_slot",
        PIPELINE,
        "compute(i, position.index);\n        channel.commit(head++);\n      }",
        "compute(i, head.index);\n        channel.commit(head++);\n      }",
        "moved_values",
    ),
    Mutant(
        "step_without_release",
        PIPELINE,
        "channel.release(position);\n    }\n    for",
        "}\n    for",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "no_drain",
        PIPELINE,
        "i < lead; ++i, ++position) {  // drain",
        "i < 0; ++i, ++position) {  // drain",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "drain_one_short",
        PIPELINE,
        "i < lead; ++i, ++position) {  // drain",
        "i + 1 < lead; ++i, ++position) {  // drain",
        "threads_over_parity_barriers",
    ),
    Mutant(
        "drain_without_wait",
        PIPELINE,
        "channel.wait(position);\n      channel.release(position);",
        "channel.release(position);",
        "threads_over_staged_registers",
    ),
    Mutant(
        "drain_without_release",
        PIPELINE,
        "channel.wait(position);\n      channel.release(position);",
        "channel.wait(position);",
        "threads_over_parity_barriers",
    ),
]
CONTROL = "none"


def fail(message):
    sys.exit(f"mutants.py: {message}")


def overlay(mutant, root, work):
    """Writes the mutated header into a folder that precedes the real one on the include path."""
    text = (root / "include/antiphase/core" / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        fail(
            f"{mutant.name}: {mutant.file} contains the text to replace {text.count(mutant.old)} times; expected once: {mutant.old!r}. "
            "Adapt the list of mutants to the core."
        )
    place = work / "antiphase/core" / mutant.file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text.replace(mutant.old, mutant.new))


def failed_checks(arguments, work, only=""):
    """Returns the names of the checks that fail: of all, or of the one named."""
    root = arguments.root
    program = work / "check"
    unchanged = ["-include", arguments.precompiled] if arguments.precompiled else []
    command = [
        *filter(None, arguments.launcher.split(";")),
        arguments.compiler,
        "-std=c++20",
        "-O0",
        f"-I{work}",
        f"-I{root}/include",
        f"-I{root}",
        *unchanged,
        *([f"-DONLY={only}"] if only else []),
        "-c",
        f"{root}/tests/core/mutants/check.cpp",
        "-o",
        f"{program}.o",
    ]
    for step in (command, [arguments.compiler, f"{program}.o", "-o", str(program)]):
        built = subprocess.run(step, capture_output=True, text=True)
        if built.returncode != 0:
            fail(f"{arguments.name} does not compile: {' '.join(step)}\n{built.stderr}")
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    print(ran.stdout, end="")
    found = re.findall(r"^FAILED (\w+)", ran.stdout, re.MULTILINE)
    if ran.returncode != (1 if found else 0):
        fail(
            f"{arguments.name}: the checks ended with status {ran.returncode} after {len(found)} failures\n{ran.stderr}"
        )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--compiler")
    parser.add_argument("--launcher", default="")
    parser.add_argument(
        "--precompiled",
        default="",
        help="a header that the compiler has made something of, of what no mutant changes",
    )
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("name", nargs="?")
    arguments = parser.parse_args()
    mutants = {m.name: m for m in MUTANTS}
    if len(mutants) != len(MUTANTS):
        fail("two mutants have the same name")
    if arguments.list:
        print("\n".join([CONTROL, *mutants]))
        return
    if arguments.name != CONTROL and arguments.name not in mutants:
        fail(f"no mutant is called {arguments.name!r}; --list shows all")

    work = arguments.work / arguments.name
    work.mkdir(parents=True, exist_ok=True)
    if arguments.name == CONTROL:
        if found := failed_checks(arguments, work):
            fail(f"the core as it is fails: {', '.join(found)}")
        return
    mutant = mutants[arguments.name]
    overlay(mutant, arguments.root, work)
    found = failed_checks(arguments, work, mutant.found_by)
    if mutant.equivalent:
        if found:
            fail(
                f"{mutant.name} was thought to behave like the original ({mutant.equivalent}), but is found by: {', '.join(found)}"
            )
        print(f"{mutant.name} passes, as expected: {mutant.equivalent}")
    elif not found:
        fail(f"{mutant.name} was not found by {mutant.found_by}")
    else:
        print(f"{mutant.name} is found by {mutant.found_by}")


if __name__ == "__main__":
    main()
