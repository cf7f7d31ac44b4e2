// SPDX-License-Identifier: Apache-2.0
// Bulk copies by TMA, issued by one thread (cp.async.bulk, sm_90).
#pragma once
#include <antiphase/device/mbarrier.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// Addresses and sizes are multiples of 16 bytes.
//   bulk_load        global to shared; the bytes count towards the current phase of the mbarrier, which must
//                    expect them
//   bulk_store       shared to global, in groups
//   bulk_commit      closes the group of all bulk_store since the last one
//   bulk_wait_read   returns when the sources of all but the last N groups may be overwritten
//   bulk_wait        returns when the destinations of all but the last N groups have been written
#if AP_ON_GPU
AP_DEV void bulk_load(void* to, const void* from, std::uint32_t size, mbarrier& landed) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(size), "r"(shared_address(&landed))
      : "memory");
}
AP_DEV void bulk_store(void* to, const void* from, std::uint32_t size) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(size)
               : "memory");
}
AP_DEV void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int GroupsLeft> AP_DEV void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(GroupsLeft) : "memory");
}
template <int GroupsLeft> AP_DEV void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(GroupsLeft) : "memory");
}
#else
AP_DEV void bulk_load(void* to, const void* from, std::uint32_t size, mbarrier& landed,
                      machine::place where = machine::place::current()) {
  machine::bulk_load(to, from, size, &landed.word, where);
}
AP_DEV void bulk_store(void* to, const void* from, std::uint32_t size,
                       machine::place where = machine::place::current()) {
  machine::bulk_store(to, from, size, where);
}
AP_DEV void bulk_commit() { machine::bulk_commit(); }
template <int GroupsLeft> AP_DEV void bulk_wait_read(machine::place where = machine::place::current()) {
  machine::bulk_wait(GroupsLeft, machine::bulk_done::read, where);
}
template <int GroupsLeft> AP_DEV void bulk_wait(machine::place where = machine::place::current()) {
  machine::bulk_wait(GroupsLeft, machine::bulk_done::written, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
