// SPDX-License-Identifier: Apache-2.0
// The shared memory of a block, as one struct.
#pragma once
#include <antiphase/device/index.cuh>
#include <cstddef>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// shared<S, kind>(): the block's storage, of type S; its sizeof is what a launch allocates. `fixed` storage
// is limited to 48 KiB, at a constant address; `dynamic` storage may be as large as the device allows.
// Uninitialised (on the CPU executor: poisoned).
//
//   storage& s = shared<storage, shared_kind::fixed>();
//
// shared_address: the 32-bit address in the block's shared memory, as TMA and mbarriers take it.
// shared_place: a pointer into shared memory with byte arithmetic: 32 bits on a GPU, where a generic pointer
// takes 64.
constexpr std::size_t fixed_shared_limit = 48 * 1024;

#if AP_ON_GPU
template <class S, shared_kind Kind> AP_DEV S& shared() {
  if constexpr (Kind == shared_kind::fixed) {
    static_assert(sizeof(S) <= fixed_shared_limit, "storage of more than 48 KiB must be dynamic");
    __shared__ S storage;
    return storage;
  } else {
    static_assert(alignof(S) <= 1024);
    extern __shared__ __align__(1024) unsigned char antiphase_dynamic_shared[];
    return *reinterpret_cast<S*>(antiphase_dynamic_shared);
  }
}
AP_DEV std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
#else
template <class S, shared_kind Kind> AP_DEV S& shared() {
  static_assert(Kind == shared_kind::dynamic || sizeof(S) <= fixed_shared_limit,
                "storage of more than 48 KiB must be dynamic");
  static_assert(alignof(S) <= 1024);
  return *reinterpret_cast<S*>(machine::current->block->shared);
}
AP_DEV std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(static_cast<const unsigned char*>(p) - machine::current->block->shared);
}
#endif

struct shared_place {
#if AP_ON_GPU
  std::uint32_t address;
  AP_DEV shared_place(void* p) : address(shared_address(p)) {}
#else
  std::uintptr_t address;
  AP_DEV shared_place(void* p) : address(reinterpret_cast<std::uintptr_t>(p)) {}
  AP_DEV void* pointer() const { return reinterpret_cast<void*>(address); }
#endif
  AP_DEV shared_place& operator+=(std::uint32_t bytes) {
    address += bytes;
    return *this;
  }
  AP_DEV friend shared_place operator+(shared_place p, std::uint32_t bytes) { return p += bytes; }
  // The address with some bits inverted, as by a swizzle.
  AP_DEV friend shared_place operator^(shared_place p, std::uint32_t bits) {
    p.address ^= bits;
    return p;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
