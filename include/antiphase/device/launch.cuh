// SPDX-License-Identifier: Apache-2.0
// Kernels of one stream that overlap: the next begins before the one before it has ended (griddepcontrol,
// sm_90).
#pragma once
#include <antiphase/device/index.cuh>
#include <cstddef>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// A kernel with overlaps_previous may begin as soon as every block of the previous kernel in the stream has
// called start_next_grid or has ended.
//   wait_for_previous_grid      returns when the previous kernel has ended and its writes are visible. Every
//                               thread calls it before it reads memory that earlier work on the stream
//                               writes, or writes memory which that work accesses. Every such kernel must
//                               call it, since the next kernel waits only for this one's end
//   wait_for_previous_grid(p)   the same, after touching every 64 bytes of the kernel's params: the first
//                               access to each costs about 0.1 us (H200), which then overlaps the wait
//   start_next_grid             lets the next kernel begin. That kernel sees this block's later writes too,
//                               after its own wait. Call it after this kernel's wait: called earlier, the
//                               kernel after the next may begin too, and so on, and their waiting blocks take
//                               the multiprocessors over which this kernel's blocks would spread
//                               (docs/notebook/gemm.md, "A row of launches"). Where each block has a
//                               multiprocessor to itself, calling it first is as good, or better
//   compute_first               forces the value to be computed here: the compiler tends to move such
//                               computations after the wait that follows
// No-ops where grids do not overlap: before sm_90, and on the CPU executor.
#if AP_ON_GPU
AP_DEV void wait_for_previous_grid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
AP_DEV void start_next_grid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
AP_DEV void compute_first(std::uint32_t x) {
  // ptxas moves arithmetic freely, but not past a predicated instruction with a side effect that depends on
  // it. This one's effect is negligible, and only one value of 2^32 executes it.
  asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, 0x7fedcb31;\n@p nanosleep.u32 0;\n}" ::"r"(x)
               : "memory");
}
template <class Params> AP_DEV void wait_for_previous_grid(const Params& p) {
  const char* const bytes = reinterpret_cast<const char*>(&p);
  std::uint32_t all = 0;
  AP_UNROLL
  for (std::size_t at = 0; at < sizeof p; at += 64)
    all ^= *reinterpret_cast<const std::uint32_t*>(bytes + at);
  compute_first(all);
  wait_for_previous_grid();
}
#else
AP_DEV void wait_for_previous_grid() { machine::wait_for_previous_grid(); }
AP_DEV void start_next_grid() { machine::start_next_grid(); }
AP_DEV void compute_first(std::uint32_t) {}
template <class Params> AP_DEV void wait_for_previous_grid(const Params&) { wait_for_previous_grid(); }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
