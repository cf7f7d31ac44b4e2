// SPDX-License-Identifier: Apache-2.0
// The kernels of one target, from lists of kernels that are each compiled once per target.
//
// A family (gemm, scan) names its lists once, in a macro LISTS(LIST) with an entry LIST(instance,
// plain_kernels) for each: the element type and the function `std::vector<instance> plain_kernels()` that a
// file kernels_*.cuh defines. AP_REGISTRY() turns it into a registry per target: cpu, cuda, and checked,
// which is a library of its own.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/kernel.hpp>
#include <type_traits>
#include <vector>

#include "build_config.hpp"
#include "src/per_process.hpp"

#if ANTIPHASE_HAS_CUDA
#define AP_IF_CUDA(...) __VA_ARGS__
#else
#define AP_IF_CUDA(...)
#endif

#define AP_DECLARE_LIST(type, list) std::vector<type> list();
#define AP_APPEND_LIST(type, list) ::antiphase::registry_detail::append(all, &list);
// In the namespace of a family: defines TARGET::registered<Instance>(), all instances of that type compiled
// for the target.
#define AP_REGISTRY(TARGET, LISTS)                               \
  namespace TARGET {                                             \
  LISTS(AP_DECLARE_LIST)                                         \
  template <class Instance> std::vector<Instance> registered() { \
    std::vector<Instance> all;                                   \
    LISTS(AP_APPEND_LIST)                                        \
    return all;                                                  \
  }                                                              \
  }

namespace antiphase {
namespace registry_detail {

template <class Instance, class Other> void append(std::vector<Instance>& all, std::vector<Other> (*list)()) {
  if constexpr (std::is_same_v<Instance, Other>)
    for (const Instance& i : list()) all.push_back(i);
}

}  // namespace registry_detail

// The kernels of the checker. A program that links antiphase::checker enters them before their first use; in
// others the list stays empty.
template <class Instance> std::vector<Instance>& checked_list() {
  static std::vector<Instance> list;
  return list;
}
template <class Instance> const std::vector<Instance>& require_checked_list() {
  if (checked_list<Instance>().empty())
    throw not_supported("the kernels for the checker are not part of this program: link antiphase::checker");
  return checked_list<Instance>();
}

}  // namespace antiphase

// In the namespace of a family, after AP_REGISTRY() for cpu and, with CUDA, cuda: defines
// instances_of<Instance>(target), made once. Throws not_supported for the checker's kernels in a program
// without them.
#define AP_INSTANCES()                                                                                  \
  template <class Instance> const std::vector<Instance>& instances_of(target where) {                   \
    static constinit made_once<std::vector<Instance>> on_cpu, on_cuda;                                  \
    if (where == target::checked) return require_checked_list<Instance>();                              \
    if (where == target::cpu) return on_cpu.get(cpu::registered<Instance>);                             \
    return on_cuda.get([] { return std::vector<Instance>{AP_IF_CUDA(cuda::registered<Instance>())}; }); \
  }
