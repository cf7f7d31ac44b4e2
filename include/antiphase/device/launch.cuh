// SPDX-License-Identifier: Apache-2.0
// Kernels of one stream that overlap: the next begins before the one before it has ended (griddepcontrol,
// sm_90).
#pragma once
#include <antiphase/device/index.cuh>
#include <cstddef>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// A kernel whose overlaps_previous is set may begin as soon as every block of the one before it in the stream
// has called start_next_grid or has ended.
//   wait_for_previous_grid   returns when that kernel has ended and all that it wrote can be seen. Every
//                            thread calls it before it touches
//                            memory that earlier work on the stream writes, or writes what that reads; and
//                            every such kernel calls it,
//                            because its end is all that the kernel behind it waits for.
//   start_next_grid          the next kernel may begin; it sees what this block writes later all the same,
//                            behind its wait. Called behind
//                            this kernel's own wait: before it, the kernel behind the next may begin as well,
//                            and so on, and blocks that
//                            only wait take the places on which this one's would lie apart
//                            (docs/notebook/gemm.md, "A row of
//                            launches"). Where each block has a multiprocessor to itself, first of all is as
//                            good, or better
//   wait_for_previous_grid(p)   so too, behind a look at every 64 bytes of the kernel's params: the first
//                               access to each costs about
//                            0.1 us (H200), which passes here while the kernel before is still at work
//   compute_first            the value is computed here, and not behind the wait that follows, where the
//                            compiler likes to have them
// Where grids do not overlap (before sm_90, on the CPU executor) there is nothing to do.
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
  // The assembler moves arithmetic freely, but not past a branch that takes it to an instruction with an
  // effect. This one has none to speak of, and one value of 2^32 gets there.
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
AP_DEV void start_next_grid() {}
AP_DEV void compute_first(std::uint32_t) {}
template <class Params> AP_DEV void wait_for_previous_grid(const Params&) { wait_for_previous_grid(); }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
