// SPDX-License-Identifier: Apache-2.0
// Runs one mutant on a GPU, by name: for evaluation/who_finds_what.py, with and without compute-sanitizer.
#include <fmt/format.h>

#include <antiphase/context.hpp>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "tests/checker/mutants/mutant.hpp"

namespace antiphase::mutants {
namespace cuda {
std::vector<mutant> all();
}
namespace {

constexpr const char* usage =
    "mutants_on_gpu --list      a line each: name, family, what is broken (empty: nothing), gpu or checker "
    "only\n"
    "mutants_on_gpu --toolkit   the version of CUDA it was built with\n"
    "mutants_on_gpu --run NAME  exit status 0: right numbers, 1: wrong ones, 2: it failed, 64: usage\n";

void list() {
  for (const mutant& m : cuda::all())
    fmt::print("{}\t{}\t{}\t{}\n", m.name, m.policy.family, m.broken == nullptr ? "" : m.broken,
               needs_checker(m.policy.program) ? "checker only" : "gpu");
}

int run_named(std::string_view wanted) {
  for (const mutant& m : cuda::all()) {
    if (m.name != wanted) continue;
    if (needs_checker(m.policy.program)) {
      fmt::print(stderr, "mutants_on_gpu: {} is for the checker only\n", wanted);
      return 64;
    }
    try {
      const std::string wrong = run(context::on("cuda"), m);
      fmt::print("{}\n", wrong.empty() ? "right" : "wrong: " + wrong);
      return wrong.empty() ? 0 : 1;
    } catch (const std::exception& e) {
      fmt::print("failed: {}\n", e.what());
      std::fflush(stdout);
      std::_Exit(2);  // after a device fault every call fails, including those that free memory
    }
  }
  fmt::print(stderr, "mutants_on_gpu: there is no mutant {}: see --list\n", wanted);
  return 64;
}

}  // namespace
}  // namespace antiphase::mutants

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "--list" && count == 2) {
    antiphase::mutants::list();
    return 0;
  }
  if (what == "--toolkit" && count == 2) {
    fmt::print("{}\n", MUTANTS_CUDA_VERSION);
    return 0;
  }
  if (what == "--run" && count == 3) return antiphase::mutants::run_named(words[2]);
  fmt::print(stderr, "{}", antiphase::mutants::usage);
  return 64;
}
