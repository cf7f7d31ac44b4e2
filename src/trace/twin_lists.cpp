// SPDX-License-Identifier: Apache-2.0
#include "src/trace/twin_lists.hpp"

#include <initializer_list>

#include "build_config.hpp"
#include "src/registry.hpp"
#include "src/trace/traced_kernels.hpp"

namespace antiphase {
namespace {

template <class T> std::vector<T> all_of(std::initializer_list<std::vector<T> (*)()> lists) {
  std::vector<T> all;
  for (const auto list : lists) {
    const std::vector<T> some = list();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

namespace gemms {

const std::vector<twin>& all_twins(target where) {
  static const auto on_cpu = all_of<twin>(
      {cpu::twins_by_threads, cpu::twins_by_engine, cpu::twins_of_split, cpu::twins_of_streams, cpu::twins_of_streams_by_copiers});
  static const auto on_cuda = all_of<twin>({AP_IF_CUDA(cuda::twins_by_threads, cuda::twins_by_engine, cuda::twins_of_split,
                                                       cuda::twins_of_streams, cuda::twins_of_streams_by_copiers)});
  return where == target::cuda ? on_cuda : on_cpu;
}
const std::vector<instance>& traced_instances(target where) {
  static const auto on_cpu = all_of<instance>({cpu::traced_plain_kernels, cpu::traced_async_kernels});
  static const auto on_cuda = all_of<instance>({AP_IF_CUDA(cuda::traced_plain_kernels, cuda::traced_async_kernels)});
  return where == target::cuda ? on_cuda : on_cpu;
}

}  // namespace gemms

namespace scans {

const std::vector<twin>& all_twins(target where) {
  static const auto on_cpu = all_of<twin>({cpu::scan_twins, cpu::scan_twins_by_threads, cpu::wave_twins});
  static const auto on_cuda = all_of<twin>({AP_IF_CUDA(cuda::scan_twins, cuda::scan_twins_by_threads, cuda::wave_twins)});
  return where == target::cuda ? on_cuda : on_cpu;
}

}  // namespace scans
}  // namespace antiphase
