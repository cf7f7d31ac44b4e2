// SPDX-License-Identifier: Apache-2.0
// A small selection of the core's tests, quick to compile, run against mutants of the core. Prints every
// check that fails. ONLY, defined as the name of a check, selects that one; the others are templates that are
// never instantiated, and cost nothing.
//
// Exit status: 0 all checks passed, 1 one failed.
#include <cstdio>
#include <exception>
#include <numeric>
#include <type_traits>

#include "tests/core/pipeline_cases.hpp"

using namespace antiphase::model;

namespace {

template <int Most> using up_to = std::make_integer_sequence<int, Most>;

struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
const report check = [](const std::string& what, verdict expected, const outcome& result) {
  if (result.found != expected) throw failure(what);
};

template <class = void> void cursors() {
  antiphase::cursor<3> at;
  for (int i = 0; i < 12; ++i, ++at)
    if (at.index != i % 3 || at.parity != static_cast<unsigned>(i / 3 % 2))
      throw failure("step " + std::to_string(i));
}
template <class = void> void chains() {
  for_stages(up_to<3>{}, []<int N>() { expect_chain_fine<N, 1, 2>(check, effort::selection); });
  expect_chain_fine<2, 1, 1, 1>(check, effort::selection);
}
template <class = void> void turns() { expect_chain<1, 2, 2, 2>(check, verdict::fine, {.runs = {5, 2}}); }
template <class = void> void scan_chain() { check("scan", verdict::fine, explore_scan_chain<2>(5)); }

template <class = void> void moved_values() {
  for_stages(up_to<4>{}, []<int N>() {
    for (landing when : {landing::at_issue, landing::at_wait})
      for (int steps = 0; steps <= 2 * N + 3; ++steps) {
        std::vector<int> expected(static_cast<std::size_t>(steps + N + 1));
        std::iota(expected.begin(), expected.end(), 1);
        if (moved<N>(when, {steps, N + 1}) != expected)
          throw failure("stages " + std::to_string(N) + ", steps " + std::to_string(steps));
      }
  });
}
template <class = void> void threads_over_parity_barriers() {
  for_stages(up_to<3>{},
             []<int N>() { expect_threads_fine<over_parity_barriers<N, 2>, 2>(check, effort::selection); });
}
template <class = void> void threads_over_staged_registers() {
  for_stages(up_to<3>{},
             []<int N>() { expect_threads_fine<over_staged_registers<N, 2>, 2>(check, effort::selection); });
}
template <class = void> void threads_over_copy_groups() {
  for_stages(up_to<4>{},
             []<int N>() { expect_threads_fine<over_copy_groups<N, 2>, 2>(check, effort::selection); });
}

int failed = 0;
void run(const char* name, void (*test)()) {
  try {
    test();
  } catch (const std::exception& e) {
    std::printf("FAILED %s: %s\n", name, e.what());
    ++failed;
  }
}

}  // namespace

int main() {
#define CHECK(name) run(#name, name<>)
#if defined(ONLY)
#define CHECK_ONLY(name) CHECK(name)
  CHECK_ONLY(ONLY);
#else
  CHECK(cursors);
  CHECK(chains);
  CHECK(turns);
  CHECK(scan_chain);
  CHECK(moved_values);
  CHECK(threads_over_parity_barriers);
  CHECK(threads_over_staged_registers);
  CHECK(threads_over_copy_groups);
#endif
  return failed > 0;
}
