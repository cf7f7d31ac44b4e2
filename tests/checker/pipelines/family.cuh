// SPDX-License-Identifier: Apache-2.0
// A family of kernels: fault 0 means none, the others have names.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <initializer_list>
#include <string>

#include "tests/checker/pipelines/pipelines.hpp"

namespace antiphase::pipelines {
inline namespace AP_TARGET {

using word = std::uint32_t;

template <int Threads> struct of_threads {
  using params = pipelines::params;
  static constexpr int threads = Threads;
};
struct fault {
  const char* name;
  finding_kind kind;
};

template <template <int> class K, int F = 0>
void add_family(std::vector<mutant>& list, const char* name, use how, std::initializer_list<fault> faults) {
  const bool whole = F == 0;
  const fault* f = whole ? nullptr : faults.begin() + (F - 1);
  list.push_back({.name = std::string(name) + "-" + std::to_string(F),
                  .broken = whole ? nullptr : f->name,
                  .found = {whole ? finding_kind::race : f->kind, ""},
                  .code = kernel_of<K<F>>(name),
                  .policy = how});
  if constexpr (F < K<0>::faults) add_family<K, F + 1>(list, name, how, faults);
}

}  // namespace AP_TARGET
}  // namespace antiphase::pipelines
