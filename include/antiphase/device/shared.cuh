// SPDX-License-Identifier: Apache-2.0
// The shared memory of a block, as one struct.
#pragma once
#include <antiphase/device/index.cuh>
#include <cstddef>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// shared<S>(): the block's storage, of type S. S is the only thing that says how much shared memory a kernel
// takes: host and device use its sizeof. `fixed` storage is limited to 48 KiB and its address is a constant;
// `dynamic` storage may be as large as the device allows, which the launch asks for. Starts uninitialised (on
// the CPU executor: poisoned). shared_address: the 32-bit address within the shared memory of the block that
// copy engines and barriers use. shared_place: a place there, for arithmetic by bytes: on a GPU 32 bits,
// while a pointer that may point to any memory takes 64.
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
  std::uint32_t at;
  AP_DEV shared_place(void* p) : at(shared_address(p)) {}
#else
  std::uintptr_t at;
  AP_DEV shared_place(void* p) : at(reinterpret_cast<std::uintptr_t>(p)) {}
  AP_DEV void* pointer() const { return reinterpret_cast<void*>(at); }
#endif
  AP_DEV shared_place& operator+=(std::uint32_t bytes) {
    at += bytes;
    return *this;
  }
  AP_DEV friend shared_place operator+(shared_place p, std::uint32_t bytes) { return p += bytes; }
  // With some bits of the address turned over, as a swizzle does.
  AP_DEV friend shared_place operator^(shared_place p, std::uint32_t bits) {
    p.at ^= bits;
    return p;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
