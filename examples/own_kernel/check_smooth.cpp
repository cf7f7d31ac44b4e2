// SPDX-License-Identifier: Apache-2.0
// Checks a user's kernel without a GPU: check_smooth right|broken [--schedules N --seed N ...]. Exit code 5:
// there are findings.
#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "smooth.hpp"

namespace example::checked {
antiphase::kernel smooth_kernel(last_barrier b);  // smooth.cuh, compiled for the checker
}

// Runs the kernel once in the given context and verifies the result.
static void run(const antiphase::context& where, example::last_barrier b) {
  std::vector<int> host(4 * example::tile + 5);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i * i % 101);
  const antiphase::device_array<int> from(where, host);
  antiphase::device_array<int> to(where, host.size());
  const example::smooth_params params{from.data(), to.data(), static_cast<int>(host.size())};
  where.runs_on().launch(example::checked::smooth_kernel(b), {}, &params, nullptr);
  const std::vector<int> result = to.to_host();
  for (std::size_t i = 0; i < host.size(); ++i) {
    const int expected = (i > 0 ? host[i - 1] : 0) + host[i] + (i + 1 < host.size() ? host[i + 1] : 0);
    if (result[i] != expected)
      throw std::runtime_error("sum " + std::to_string(i) + " is " + std::to_string(result[i]) +
                               ": expected " + std::to_string(expected));
  }
}

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "right";
  const auto b = which == "broken" ? example::last_barrier::forgotten : example::last_barrier::kept;
  try {
    const auto options = antiphase::options_of({argv + std::min(argc, 2), argv + argc});
    const auto report = antiphase::check([&](const antiphase::context& where) { run(where, b); }, options);
    std::printf("%s", to_text(report, std::string(argv[0]) + " " + which).c_str());
    return report.clean() ? 0 : 5;
  } catch (const antiphase::error& e) {
    std::fprintf(stderr, "check_smooth: %s\n", e.what());
    return 2;
  }
}
