// SPDX-License-Identifier: Apache-2.0
// TMA loads of boxes of a tensor, issued by one thread (cp.async.bulk.tensor, sm_90).
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/device/mbarrier.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// tensor_load: copies the box whose first element has these indices, innermost first, from global to shared
// memory. The innermost index is a multiple of 16 bytes (anything else is an illegal instruction on an H200).
// Elements outside the tensor, negative indices included, are filled with zeros; the box's bytes count in
// full towards the current phase of the mbarrier. In shared memory the box is dense, each byte at
// swizzled(address, pattern); `to` is aligned to the pattern's period, at least 128 bytes. The map must lie
// in the kernel's params. prefetch_map: fetches the map ahead of the first copy.
#if AP_ON_GPU
AP_DEV void prefetch_map(const tensor_map& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "r"(x), "r"(y)
      : "memory");
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
#else
AP_DEV void prefetch_map(const tensor_map&) {}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y,
                        machine::place where = machine::place::current()) {
  machine::tensor_load(to, map, {x, y, 0, 0}, 2, &landed.word, where);
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y, int z,
                        machine::place where = machine::place::current()) {
  machine::tensor_load(to, map, {x, y, z, 0}, 3, &landed.word, where);
}
AP_DEV void tensor_load(void* to, const tensor_map& map, mbarrier& landed, int x, int y, int z, int w,
                        machine::place where = machine::place::current()) {
  machine::tensor_load(to, map, {x, y, z, w}, 4, &landed.word, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
