// SPDX-License-Identifier: Apache-2.0
// A mutant: a kernel with one fault, and which check must find it. Every list of them has this form.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/kernel.hpp>
#include <ostream>
#include <string>

namespace antiphase::test {

// What becomes of runs on the CPU executor with different seeds.
enum class outcome {
  right,            // of all: right numbers
  wrong_numbers,    // of all
  reported,         // of all: the executor throws
  caught,           // of all: the one or the other
  sometimes_wrong,  // of at least one: wrong numbers
};

// Which check must find a mutant: the checker, by a finding of that kind, or a look at the numbers, by when
// copies land. Its list says which of the two it is for.
struct found_by {
  finding_kind finding{};
  const char* says = "";  // a part of the text of the finding or the report
  outcome early = outcome::right, late = outcome::right;
};

struct as_its_test_says {};
// `How`: what a test has to know besides to run one.
template <class How = as_its_test_says> struct mutant {
  std::string name;
  const char* broken = nullptr;  // what is; null: nothing, and no check may find anything
  found_by found = {};
  kernel code = {};
  How how = {};
};
template <class How> void PrintTo(const mutant<How>& m, std::ostream* out) { *out << m.name; }

}  // namespace antiphase::test
