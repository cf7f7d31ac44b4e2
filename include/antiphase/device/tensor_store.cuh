// SPDX-License-Identifier: Apache-2.0
// TMA stores of boxes of a tensor from shared to global memory, issued by one thread (cp.async.bulk.tensor,
// sm_90).
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/device/bulk.cuh>
#if !AP_ON_GPU
#include <antiphase/device/call_site.cuh>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// tensor_store: the mirror of tensor_load (device/tensor_copy.cuh), in the groups of bulk_store: bulk_commit,
// bulk_wait_read, bulk_wait (device/bulk.cuh). The box lies in shared memory as tensor_load would put it
// there: dense, swizzled by the map's pattern, aligned to the pattern's period and to 128 bytes. Elements
// outside the tensor are not written. The innermost index is a multiple of 16 bytes. Unlike with a load,
// indices must not be negative, and where the box extends beyond a row of the tensor, that row must end at a
// multiple of 16 bytes: an H200 reports an illegal instruction for the first, and does not split a piece of
// 16 bytes (measured).
#if AP_ON_GPU
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(x), "r"(y)
               : "memory");
}
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(shared_address(from)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
      "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
#else
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y,
                         call_site where = call_site::current()) {
  machine::tensor_store(map, from, {x, y, 0, 0}, 2, where);
}
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y, int z,
                         call_site where = call_site::current()) {
  machine::tensor_store(map, from, {x, y, z, 0}, 3, where);
}
AP_DEV void tensor_store(const tensor_map& map, const void* from, int x, int y, int z, int w,
                         call_site where = call_site::current()) {
  machine::tensor_store(map, from, {x, y, z, w}, 4, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
