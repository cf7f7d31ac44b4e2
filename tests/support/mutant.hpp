// SPDX-License-Identifier: Apache-2.0
// A mutant: a kernel with one fault, and the check that must find it. All lists of mutants use this form.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/kernel.hpp>
#include <ostream>
#include <string>

namespace antiphase::test {

// Outcome of runs on the CPU executor with different seeds.
enum class outcome {
  right,            // all: right numbers
  wrong_numbers,    // all: wrong numbers
  reported,         // all: the executor throws
  caught,           // all: wrong numbers or a throw
  sometimes_wrong,  // at least one: wrong numbers
};

// The check that must find a mutant: the checker, by a finding of that kind, or the numbers, by when copies
// land. The list says which of the two applies.
struct found_by {
  finding_kind finding{};
  const char* says = "";  // part of the text of the finding or the report
  outcome early = outcome::right, late = outcome::right;
};

struct as_its_test_says {};
// `How`: further data that a test needs to run one.
template <class How = as_its_test_says> struct mutant {
  std::string name;
  const char* broken = nullptr;  // the fault; null: none, and no check may find anything
  found_by found = {};
  kernel code = {};
  How policy = {};
};
template <class How> void PrintTo(const mutant<How>& m, std::ostream* out) { *out << m.name; }

}  // namespace antiphase::test
