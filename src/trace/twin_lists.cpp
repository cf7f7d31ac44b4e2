// SPDX-License-Identifier: Apache-2.0
#include "src/trace/twin_lists.hpp"
#include "src/per_process.hpp"

#include <initializer_list>

#include "build_config.hpp"
#include "src/registry.hpp"
#include "src/trace/traced_kernels.hpp"

namespace antiphase {
namespace {

template <class T> using lists_of = std::initializer_list<std::vector<T> (*)()>;
template <class T> std::vector<T> all_of(lists_of<T> lists) {
  std::vector<T> all;
  for (const auto list : lists) {
    const std::vector<T> some = list();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}
template <class T> struct by_target {
  made_once<std::vector<T>> cpu, cuda;
  const std::vector<T>& of(target where, lists_of<T> on_cpu, lists_of<T> on_cuda) {
    return where == target::cuda ? cuda.get([&] { return all_of<T>(on_cuda); })
                                 : cpu.get([&] { return all_of<T>(on_cpu); });
  }
};

}  // namespace

namespace gemms {

const std::vector<twin>& all_twins(target where) {
  static constinit by_target<twin> made;
  return made.of(where,
                 {cpu::twins_by_threads, cpu::twins_by_tma, cpu::twins_of_fp16, cpu::twins_of_tf32,
                  cpu::twins_of_fp64, cpu::twins_of_fp64_async},
                 {AP_IF_CUDA(cuda::twins_by_threads, cuda::twins_by_tma, cuda::twins_of_fp16,
                             cuda::twins_of_tf32, cuda::twins_of_fp64, cuda::twins_of_fp64_async)});
}
const std::vector<instance>& traced_instances(target where) {
  static constinit by_target<instance> made;
  return made.of(where, {cpu::traced_plain_kernels, cpu::traced_async_kernels},
                 {AP_IF_CUDA(cuda::traced_plain_kernels, cuda::traced_async_kernels)});
}

}  // namespace gemms

namespace attentions {

const std::vector<twin>& all_twins(target where) {
  static constinit by_target<twin> made;
  return made.of(where, {cpu::twins_by_multiply_adds, cpu::twins_on_tensor_cores},
                 {AP_IF_CUDA(cuda::twins_by_multiply_adds, cuda::twins_on_tensor_cores)});
}

}  // namespace attentions

namespace scans {

const std::vector<twin>& all_twins(target where) {
  static constinit by_target<twin> made;
  return made.of(where, {cpu::scan_twins, cpu::scan_twins_by_threads, cpu::wave_twins},
                 {AP_IF_CUDA(cuda::scan_twins, cuda::scan_twins_by_threads, cuda::wave_twins)});
}

}  // namespace scans
}  // namespace antiphase
