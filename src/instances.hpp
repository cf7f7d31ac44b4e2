// The kernels that were compiled for a target.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <vector>

#include "build_config.hpp"
#include "src/checked_list.hpp"
#include "src/named_lists.hpp"

// The lists of namespace cuda, which a build without CUDA declares but does not have.
#if ANTIPHASE_HAS_CUDA
#define AP_IF_CUDA(...) __VA_ARGS__
#else
#define AP_IF_CUDA(...)
#endif

namespace antiphase {

// The kernels of a target, of those that were named in the first call for this type of instance. Throws not_supported for the checker's in
// a program without it.
template <class Instance>
const std::vector<Instance>& instances_on(target where, kernel_lists<Instance> of_cpu, kernel_lists<Instance> of_cuda) {
  static const std::vector<Instance> on_cpu = concatenate<Instance>(of_cpu), on_cuda = concatenate<Instance>(of_cuda);
  if (where == target::checked) return require_checked_list<Instance>();
  return where == target::cuda ? on_cuda : on_cpu;
}

}  // namespace antiphase
