// SPDX-License-Identifier: Apache-2.0
// TMA loads that land in several blocks of a cluster (cp.async.bulk with .multicast::cluster, sm_90).
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/device/bulk.cuh>
#if !AP_ON_GPU
#include <antiphase/device/call_site.cuh>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// bulk_load_multicast, tensor_load_multicast: as bulk_load (device/bulk.cuh) and tensor_load
// (device/tensor_copy.cuh), issued by one thread of one block. `ranks` is a bit mask of the destination
// blocks of the cluster. In each of them the bytes land at the shared address of `to`, and count at the
// mbarrier at the address of `landed`, which must expect them. The destination blocks must have begun and
// initialised their mbarriers, and must not end before they have waited.
#if AP_ON_GPU
AP_DEV void bulk_load_multicast(void* to, const void* from, std::uint32_t size, mbarrier& landed,
                                unsigned ranks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(size), "r"(shared_address(&landed)), "h"(static_cast<unsigned short>(ranks))
      : "memory");
}
AP_DEV void tensor_load_multicast(void* to, const tensor_map& map, mbarrier& landed, unsigned ranks, int x,
                                  int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5}], [%2], %3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "h"(static_cast<unsigned short>(ranks)), "r"(x), "r"(y)
      : "memory");
}
AP_DEV void tensor_load_multicast(void* to, const tensor_map& map, mbarrier& landed, unsigned ranks, int x,
                                  int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5, %6}], [%2], "
      "%3;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&landed)), "h"(static_cast<unsigned short>(ranks)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
#else
AP_DEV void bulk_load_multicast(void* to, const void* from, std::uint32_t size, mbarrier& landed,
                                unsigned ranks, call_site where = call_site::current()) {
  machine::bulk_load_multicast(to, from, size, &landed.word, ranks, where);
}
AP_DEV void tensor_load_multicast(void* to, const tensor_map& map, mbarrier& landed, unsigned ranks, int x,
                                  int y, call_site where = call_site::current()) {
  machine::tensor_load_multicast(to, map, {x, y, 0, 0}, 2, &landed.word, ranks, where);
}
AP_DEV void tensor_load_multicast(void* to, const tensor_map& map, mbarrier& landed, unsigned ranks, int x,
                                  int y, int z, call_site where = call_site::current()) {
  machine::tensor_load_multicast(to, map, {x, y, z, 0}, 3, &landed.word, ranks, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
