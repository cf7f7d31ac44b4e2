// A small selection of the core's tests, quick to compile, run against mutants of the core. Prints every check that fails.
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

void cursors() {
  antiphase::cursor<3> at;
  for (int i = 0; i < 12; ++i, ++at)
    if (at.index != i % 3 || at.parity != static_cast<unsigned>(i / 3 % 2)) throw failure("step " + std::to_string(i));
}
void chains() {
  for_stages(up_to<3>{}, []<int N>() { expect_chain_fine<N, 1, 2>(check, effort::selection); });
  expect_chain_fine<2, 1, 1, 1>(check, effort::selection);
}
void turns() { expect_chain<1, 2, 2, 2>(check, verdict::fine, {.runs = {5, 2}}); }
void scan_chain() { check("scan", verdict::fine, explore_scan_chain<2>(5)); }

void moved_values() {
  for_stages(up_to<4>{}, []<int N>() {
    for (landing when : {landing::at_issue, landing::at_wait})
      for (int steps = 0; steps <= 2 * N + 3; ++steps) {
        std::vector<int> expected(static_cast<std::size_t>(steps + N + 1));
        std::iota(expected.begin(), expected.end(), 1);
        if (moved<N>(when, {steps, N + 1}) != expected) throw failure("stages " + std::to_string(N) + ", steps " + std::to_string(steps));
      }
  });
}
void threads_over_parity_barriers() {
  for_stages(up_to<3>{}, []<int N>() { expect_threads_fine<over_parity_barriers<N, 2>, 2>(check, effort::selection); });
}
void threads_over_staged_registers() {
  for_stages(up_to<3>{}, []<int N>() { expect_threads_fine<over_staged_registers<N, 2>, 2>(check, effort::selection); });
}
void threads_over_copy_groups() {
  for_stages(up_to<4>{}, []<int N>() { expect_threads_fine<over_copy_groups<N, 2>, 2>(check, effort::selection); });
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
  run("cursors", cursors);
  run("chains", chains);
  run("turns", turns);
  run("scan_chain", scan_chain);
  run("moved_values", moved_values);
  run("threads_over_parity_barriers", threads_over_parity_barriers);
  run("threads_over_staged_registers", threads_over_staged_registers);
  run("threads_over_copy_groups", threads_over_copy_groups);
  return failed > 0;
}
