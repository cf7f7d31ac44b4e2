// SPDX-License-Identifier: Apache-2.0
// From the lists of kernels, each compiled once for every target, to the kernels of one target.
//
// A folder names its lists once, in a macro LISTS(LIST) with an entry LIST(instance, plain_kernels) for each:
// the type of the list's elements, and the function `std::vector<instance> plain_kernels()` that a file
// kernels_*.cuh defines. AP_LISTS(NAME, LISTS) makes from it the class NAME, which knows the kernels of each
// target: cpu, cuda, and checked, which is a library of its own. To add a list, name it there and in
// library/CMakeLists.txt.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/kernel.hpp>
#include <type_traits>
#include <vector>

#include "build_config.hpp"
#include "core/per_process.hpp"

#if ANTIPHASE_HAS_CUDA
#define AP_IF_CUDA(...) __VA_ARGS__
#else
#define AP_IF_CUDA(...)
#endif

namespace antiphase {

template <class Instance, class Other>
void append_list(std::vector<Instance>& all, std::vector<Other> (*list)()) {
  if constexpr (std::is_same_v<Instance, Other>)
    for (const Instance& i : list()) all.push_back(i);
}

// The kernels of the checker: empty until a program that links antiphase::checker enters them, which it does
// before their first use.
template <class Instance> std::vector<Instance>& checked_list() {
  static constinit made_once<std::vector<Instance>> list;
  return list.get([] { return std::vector<Instance>(); });
}

// All instances of a type that `Lists`, a class of AP_LISTS, has for a target; made once. Throws
// not_supported for the checker's kernels in a program without them.
template <class Lists, class Instance> const std::vector<Instance>& instances_of(target where) {
  static constinit made_once<std::vector<Instance>> on_cpu, on_cuda;
  if (where == target::cpu) return on_cpu.get(Lists::template on_cpu<Instance>);
  if (where == target::cuda) return on_cuda.get(Lists::template on_cuda<Instance>);
  if (checked_list<Instance>().empty())
    throw not_supported("the kernels for the checker are not part of this program: link antiphase::checker");
  return checked_list<Instance>();
}

}  // namespace antiphase

#define AP_DECLARE_LIST(type, list) std::vector<type> list();
#define AP_APPEND_CPU(type, list) ::antiphase::append_list(all, &cpu::list);
#define AP_APPEND_CUDA(type, list) ::antiphase::append_list(all, &cuda::list);
#define AP_LISTS(NAME, LISTS)                                          \
  namespace cpu {                                                      \
  LISTS(AP_DECLARE_LIST)                                               \
  }                                                                    \
  namespace cuda {                                                     \
  LISTS(AP_DECLARE_LIST)                                               \
  }                                                                    \
  namespace checked {                                                  \
  LISTS(AP_DECLARE_LIST)                                               \
  }                                                                    \
  struct NAME {                                                        \
    template <class Instance> static std::vector<Instance> on_cpu() {  \
      std::vector<Instance> all;                                       \
      LISTS(AP_APPEND_CPU)                                             \
      return all;                                                      \
    }                                                                  \
    template <class Instance> static std::vector<Instance> on_cuda() { \
      std::vector<Instance> all;                                       \
      AP_IF_CUDA(LISTS(AP_APPEND_CUDA))                                \
      return all;                                                      \
    }                                                                  \
  };
