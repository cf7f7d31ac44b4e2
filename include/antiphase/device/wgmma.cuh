// SPDX-License-Identifier: Apache-2.0
// Asynchronous Tensor Core operations of a warpgroup with operands in shared memory (wgmma, sm_90a).
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/device/shared.cuh>
#include <antiphase/device/warp.cuh>
#if AP_ON_GPU
#include <antiphase/device/wgmma_instructions.cuh>
#else
#include <antiphase/executor/cpu/machine_wgmma.hpp>
#endif
#include <cstdint>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

constexpr int warpgroup_size = 128;  // four warps, the first one's index a multiple of four

// The index along which an operand is contiguous in shared memory: k, or mn, the row of A or column of B
// ("transposed").
enum class major : int { k, mn };

// Layout of an operand of 16-bit numbers in shared memory, in pieces of 16 bytes: eight elements along the
// major index.
// Eight rows of width_of(swizzle) bytes make a block; `leading` and `stride` are the bytes between blocks:
//   k, swizzled    a block is 8 rows or columns by width; stride: to the next 8 rows or columns; leading: not
//                  used
//   k, none        a block is 8 rows or columns by 8 k; stride: to the next 8 rows or columns; leading: to
//                  the next 8 k
//   mn, swizzled   a block is 8 k by width; stride: to the next 8 k; leading: to the next width of rows or
//                  columns
//   mn, none       a block is 8 k by 8 rows or columns; stride: to the next 8 rows or columns; leading: to
//                  the next 8 k
// `start` may lie inside a row of the pattern (the next 16 k of a k-major operand); the pattern itself is
// aligned to its period. All numbers are multiples of 16 bytes below 256 KiB.
struct matrix_descriptor {
  std::uint64_t bits;
};
AP_DEV matrix_descriptor describe(const void* start, int leading, int stride, swizzle pattern) {
  const auto field = [](unsigned bytes) { return std::uint64_t{(bytes & 0x3FFFFu) >> 4}; };
  const std::uint64_t mode = pattern == swizzle::none ? 0 : 4 - static_cast<std::uint64_t>(pattern);
  return {field(shared_address(start)) | field(static_cast<unsigned>(leading)) << 16 |
          field(static_cast<unsigned>(stride)) << 32 | mode << 62};
}
// The descriptor of an operand of the same layout that begins this many bytes further, a multiple of 16.
AP_DEV matrix_descriptor further(matrix_descriptor d, int bytes) {
  return {d.bits + static_cast<std::uint64_t>(bytes / 16)};
}

// The descriptors of a ring of slots, one after the other in memory: of an operand that begins `bytes` into a
// slot, a multiple of 16. Its start is computed once for the warp, not by each lane: descriptors in vector
// registers cost a dozen instructions before each wgmma. All lanes of a warp call.
struct descriptor_ring {
  matrix_descriptor first;
  int slot_bytes;
  AP_DEV matrix_descriptor operator()(int slot, int bytes = 0) const {
    const auto low =
        static_cast<std::uint32_t>(first.bits) + static_cast<std::uint32_t>((slot * slot_bytes + bytes) / 16);
    return {first.bits >> 32 << 32 | uniform(low)};
  }
};
AP_DEV descriptor_ring describe_slots(const void* first, int slot_bytes, int leading, int stride,
                                      swizzle pattern) {
  const matrix_descriptor d = describe(first, leading, stride, pattern);
  return {{d.bits >> 32 << 32 | uniform(static_cast<std::uint32_t>(d.bits))}, slot_bytes};
}

// A is 64 x 16, B is 16 x N, N a multiple of 8 up to 256. A thread's share of the 64 x N sum is N / 2
// registers: those of mma() for each 8 columns, warp w holding rows 16 w to 16 w + 15. A in registers is held
// as for mma(). All threads of the warpgroup call with the same arguments.
//   wgmma           starts sum += A B, or sum = A B if not `accumulate`, of f16 or of the first template
//                   argument, f16 or bf16. Until wgmma_wait, the sum's registers must not be read or written
//                   except by another wgmma of the same shape, and A's registers not written. The CPU
//                   executor checks this at the wait
//   wgmma_fence     required before the first wgmma, and before one whose registers the thread has accessed
//                   since
//   wgmma_commit    closes the group of all wgmma since the last commit
//   wgmma_wait<N>   returns when all but the last N groups are done: their registers may be used, and as far
//                   as this warp is concerned their operands overwritten
//   pin_registers   keeps the compiler from moving accesses to the registers across it; no instruction
#if AP_ON_GPU
template <class Number, major A, major B, int Registers>
AP_DEV void wgmma(float (&sum)[Registers], matrix_descriptor a, matrix_descriptor b, bool accumulate) {
  if constexpr (std::is_same_v<Number, bf16>)
    wgmma_bf16_instruction<static_cast<int>(A), static_cast<int>(B)>(sum, a.bits, b.bits, accumulate);
  else
    wgmma_instruction<static_cast<int>(A), static_cast<int>(B)>(sum, a.bits, b.bits, accumulate);
}
template <class Number, major B, int Registers> AP_DEV void wgmma(float (&sum)[Registers],
                                                                  const std::uint32_t (&a)[4],
                                                                  matrix_descriptor b, bool accumulate) {
  if constexpr (std::is_same_v<Number, bf16>)
    wgmma_bf16_instruction<static_cast<int>(B)>(sum, a, b.bits, accumulate);
  else
    wgmma_instruction<static_cast<int>(B)>(sum, a, b.bits, accumulate);
}
template <major A, major B, int Registers>
AP_DEV void wgmma(float (&sum)[Registers], matrix_descriptor a, matrix_descriptor b, bool accumulate) {
  wgmma_instruction<static_cast<int>(A), static_cast<int>(B)>(sum, a.bits, b.bits, accumulate);
}
template <major B, int Registers> AP_DEV void wgmma(float (&sum)[Registers], const std::uint32_t (&a)[4],
                                                    matrix_descriptor b, bool accumulate) {
  wgmma_instruction<static_cast<int>(B)>(sum, a, b.bits, accumulate);
}
AP_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
AP_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int GroupsLeft> AP_DEV void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GroupsLeft) : "memory");
}
template <int Registers> AP_DEV void pin_registers(float (&sum)[Registers]) {
  AP_UNROLL
  for (int i = 0; i < Registers; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}
#else
template <class Number, major A, major B, int Registers>
AP_DEV void wgmma(float (&sum)[Registers], matrix_descriptor a, matrix_descriptor b, bool accumulate,
                  machine::place where = machine::place::current()) {
  static_assert(Registers % 4 == 0 && Registers <= 128);
  machine::warpgroup_multiply(machine::operand_type_of<Number, bf16>, sum,
                              {2 * Registers, accumulate, A == major::mn, B == major::mn, a.bits, b.bits},
                              nullptr, where);
}
template <class Number, major B, int Registers>
AP_DEV void wgmma(float (&sum)[Registers], const std::uint32_t (&a)[4], matrix_descriptor b, bool accumulate,
                  machine::place where = machine::place::current()) {
  static_assert(Registers % 4 == 0 && Registers <= 128);
  machine::warpgroup_multiply(machine::operand_type_of<Number, bf16>, sum,
                              {2 * Registers, accumulate, false, B == major::mn, 0, b.bits}, a, where);
}
template <major A, major B, int Registers>
AP_DEV void wgmma(float (&sum)[Registers], matrix_descriptor a, matrix_descriptor b, bool accumulate,
                  machine::place where = machine::place::current()) {
  wgmma<f16, A, B>(sum, a, b, accumulate, where);
}
template <major B, int Registers> AP_DEV void wgmma(float (&sum)[Registers], const std::uint32_t (&a)[4],
                                                    matrix_descriptor b, bool accumulate,
                                                    machine::place where = machine::place::current()) {
  wgmma<f16, B>(sum, a, b, accumulate, where);
}
AP_DEV void wgmma_fence(machine::place where = machine::place::current()) { machine::warpgroup_fence(where); }
AP_DEV void wgmma_commit(machine::place where = machine::place::current()) {
  machine::warpgroup_commit(where);
}
template <int GroupsLeft> AP_DEV void wgmma_wait(machine::place where = machine::place::current()) {
  machine::warpgroup_wait(GroupsLeft, where);
}
template <int Registers> AP_DEV void pin_registers(float (&)[Registers]) {}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
