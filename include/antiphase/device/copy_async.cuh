// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies of a thread from global to shared memory, in groups (cp.async, sm_80).
#pragma once
#include <antiphase/device/shared.cuh>

namespace antiphase {
inline namespace AP_TARGET {

//   copy_async<Bytes>    copies 4, 8 or 16 bytes, both addresses aligned to Bytes. Only `from_source` of them
//                        are read, the rest is filled with zeros: for edges. With 0, `from` must still be a
//                        valid pointer value. Readable: all of them may be read, which saves instructions
//   copy_async_or_zero   copies all bytes, or fills them with zeros and ignores `from`, without arithmetic
//   copy_async_commit    closes the group of all copies since the last commit; it may be empty
//   copy_async_wait<N>   returns when all but the last N groups have landed, visible to this thread: others
//                        need a barrier too
#if AP_ON_GPU
template <int Bytes, bool Readable = false>
AP_DEV void copy_async(void* to, const void* from, int from_source) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  const auto at = shared_address(to);
  if (Bytes > 4 && !Readable &&
      from_source % Bytes != 0) {  // 4 bytes at a time: compute-sanitizer counts a copy as a whole
    AP_UNROLL
    for (int i = 0; i < Bytes; i += 4) {
      const int left = from_source - i, some = left < 0 ? 0 : left < 4 ? left : 4;
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at + i),
                   "l"(static_cast<const char*>(from) + (left > 0 ? i : 0)), "r"(some)
                   : "memory");
    }
    return;
  }
  if constexpr (Bytes == 16)  // only the 16-byte form may bypass L1
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(from_source)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(Bytes),
                 "r"(from_source)
                 : "memory");
}
template <int Bytes> AP_DEV void copy_async_or_zero(shared_place to, const void* from, bool there) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  if constexpr (Bytes == 16)
    asm volatile(
        "{.reg .pred none; setp.eq.u32 none, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, none;}" ::"r"(
            to.address),
        "l"(from), "r"(static_cast<unsigned>(there))
        : "memory");
  else
    asm volatile(
        "{.reg .pred none; setp.eq.u32 none, %2, 0; cp.async.ca.shared.global [%0], [%1], %3, none;}" ::"r"(
            to.address),
        "l"(from), "r"(static_cast<unsigned>(there)), "n"(Bytes)
        : "memory");
}
AP_DEV void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int GroupsLeft> AP_DEV void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(GroupsLeft) : "memory");
}
#else
template <int Bytes, bool Readable = false>
AP_DEV void copy_async(void* to, const void* from, int from_source,
                       machine::place where = machine::place::current()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  machine::copy_async(to, from, Bytes, from_source, where);
}
template <int Bytes> AP_DEV void copy_async_or_zero(shared_place to, const void* from, bool there,
                                                    machine::place where = machine::place::current()) {
  copy_async<Bytes>(to.pointer(), there ? from : nullptr, there ? Bytes : 0, where);
}
AP_DEV void copy_async_commit() { machine::copy_async_commit(); }
template <int GroupsLeft> AP_DEV void copy_async_wait(machine::place where = machine::place::current()) {
  machine::copy_async_wait(GroupsLeft, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
