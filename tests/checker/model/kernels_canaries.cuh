// SPDX-License-Identifier: Apache-2.0
// One kernel for each kind of memory access in C++ and its compilers.
#pragma once
#include "tests/checker/model/canaries.hpp"

#include <algorithm>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/shared.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace antiphase::test {
inline namespace AP_TARGET {

using std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;
__extension__ typedef unsigned __int128 uint128_t;

template <class T> T& as(unsigned char* m) { return *reinterpret_cast<T*>(m); }

struct [[gnu::packed]] packed {
  uint8_t one;
  uint16_t two;
  uint32_t four;
  uint64_t eight;
  uint128_t sixteen;
};
struct fields {
  unsigned low : 5, high : 27;
};
struct small {
  uint32_t a;
  uint16_t b, c;
};
struct odd {
  uint8_t byte[7];
};
struct large {
  uint32_t word[48];
};

template <int> struct access;
constexpr int before_all = __COUNTER__;

// The bytes accessed, and the access; m is the memory, n is 3.
#define AP_ACCESS(what, kind, size, ...)                                                  \
  template <> struct access<__COUNTER__> {                                                \
    static constexpr const char* name = #what;                                            \
    static constexpr int line = __LINE__, bytes = size;                                   \
    static constexpr bool writes = kind;                                                  \
    static uint64_t touch(unsigned char* m, [[maybe_unused]] uint64_t n) { __VA_ARGS__; } \
  };
#define AP_WRITES(what, size, ...) AP_ACCESS(what, true, size, __VA_ARGS__; return 0)
#define AP_READS(what, size, ...) AP_ACCESS(what, false, size, __VA_ARGS__)

// clang-format off: an access stays on its line
AP_WRITES(write_1, 1, as<uint8_t>(m) = 1)
AP_WRITES(write_2, 2, as<uint16_t>(m) = 1)
AP_WRITES(write_4, 4, as<uint32_t>(m) = 1)
AP_WRITES(write_8, 8, as<uint64_t>(m) = 1)
AP_WRITES(write_16, 16, as<uint128_t>(m) = 1)
AP_WRITES(write_float, 4, as<float>(m) = 1)
AP_WRITES(write_double, 8, as<double>(m) = 1)
AP_WRITES(write_pointer, 8, as<void*>(m) = nullptr)
AP_WRITES(write_flag, 1, as<bool>(m) = n > 2)
AP_WRITES(write_volatile, 4, as<volatile uint32_t>(m) = 1)
AP_WRITES(write_unaligned_2, 3, as<packed>(m).two = 1)
AP_WRITES(write_unaligned_4, 7, as<packed>(m).four = 1)
AP_WRITES(write_unaligned_8, 15, as<packed>(m).eight = 1)
AP_WRITES(write_unaligned_16, 31, as<packed>(m).sixteen = 1)
AP_WRITES(write_field, 4, as<fields>(m).high = 5)
AP_WRITES(write_low_field, 1, as<fields>(m).low = 5)
AP_WRITES(write_small, 8, as<small>(m) = small{1, 2, static_cast<uint16_t>(n)})
AP_WRITES(write_odd, 7, odd o = as<odd>(m + 64); o.byte[1] = static_cast<uint8_t>(n); as<odd>(m) = o)
AP_WRITES(write_packed, 31, as<packed>(m) = packed{1, 2, 3, 4, n})
AP_WRITES(write_large, 192, large l{}; l.word[n] = 1; as<large>(m) = l)
AP_WRITES(write_zeros_small, 8, as<small>(m) = {})
AP_WRITES(write_zeros_large, 192, as<large>(m) = {})
AP_WRITES(write_new, 192, new (m) large{})
AP_WRITES(write_construct, 8, std::construct_at(&as<small>(m), small{1, 2, 3}))
AP_WRITES(write_array, 32,
          as<std::array<uint32_t, 8>>(m) = std::array<uint32_t, 8>{1, 2, 3, 4, 5, 6, 7,
                                                                   static_cast<uint32_t>(n)})
AP_WRITES(write_loop, 64, for (uint32_t i = 0; i < 16; ++i) as<uint32_t>(m + 4 * i) = i)
AP_WRITES(write_loop_of_zeros, 64, for (int i = 0; i < 16; ++i) as<uint32_t>(m + 4 * i) = 0)
AP_WRITES(write_copy_loop, 64, for (int i = 0; i < 64; ++i) m[i] = m[i + 128])
AP_WRITES(write_variable_loop, 12, for (uint64_t i = 0; i < n; ++i) as<uint32_t>(m + 4 * i) = 7)
AP_WRITES(write_std_fill, 64, std::fill_n(m, 64, uint8_t{0}))
AP_WRITES(write_std_fill_words, 12, std::fill_n(&as<uint32_t>(m), n, 9u))
AP_WRITES(write_std_copy, 64, std::copy_n(m + 128, 64, m))
AP_WRITES(write_std_swap, 4, std::swap(as<uint32_t>(m), as<uint32_t>(m + 128)))
AP_WRITES(write_memcpy_1, 1, std::memcpy(m, m + 128, 1))
AP_WRITES(write_memcpy_4, 4, std::memcpy(m, m + 128, 4))
AP_WRITES(write_memcpy_16, 16, std::memcpy(m, m + 128, 16))
AP_WRITES(write_memcpy_64, 64, std::memcpy(m, m + 128, 64))
AP_WRITES(write_memcpy_n, 3, std::memcpy(m, m + 128, n))
AP_WRITES(write_memmove_8, 8, std::memmove(m, m + 1, 8))
AP_WRITES(write_memmove_n, 3, std::memmove(m, m + 1, n))
AP_WRITES(write_memset_4, 4, std::memset(m, 1, 4))
AP_WRITES(write_memset_64, 64, std::memset(m, 0, 64))
AP_WRITES(write_memset_n, 3, std::memset(m, 1, n))
AP_WRITES(write_builtin_memcpy, 16, __builtin_memcpy(m, m + 128, 16))
AP_WRITES(write_builtin_memcpy_n, 3, __builtin_memcpy(m, m + 128, n))
AP_WRITES(write_builtin_memset, 16, __builtin_memset(m, 1, 16))
AP_WRITES(write_pack, 16, store_pack<4>(&as<float>(m), pack<float, 4>{{1, 2, 3, 4}}))
AP_WRITES(write_pack_2, 8, store_pack<2>(&as<float>(m), pack<float, 2>{{1, 2}}))
AP_WRITES(write_reference, 4, struct f { static void set(uint32_t& to) { to = 3;
}  // namespace AP_TARGET
};  // namespace antiphase::test
 f::set(as<uint32_t>(m)))
AP_WRITES(write_lambda, 4, [&] {
  as<uint32_t>(m) = 1; }())
AP_WRITES(write_method, 8, struct point {
  float x, y;
  void move_by(float d) { y += d; } }; as<point>(m).move_by(2))
AP_WRITES(write_increment, 4, ++as<uint32_t>(m))
AP_WRITES(write_conditional, 4, if (n == 3) as<uint32_t>(m) = 8)
AP_WRITES(atomic_store_4, 4, std::atomic_ref(as<uint32_t>(m)).store(1, std::memory_order_relaxed))
AP_WRITES(atomic_store_8, 8, std::atomic_ref(as<uint64_t>(m)).store(1, std::memory_order_relaxed))
AP_WRITES(atomic_exchange_4, 4, std::atomic_ref(as<uint32_t>(m)).exchange(1, std::memory_order_relaxed))
AP_WRITES(atomic_exchange_8, 8, std::atomic_ref(as<uint64_t>(m)).exchange(1, std::memory_order_relaxed))
AP_WRITES(atomic_add_4, 4, std::atomic_ref(as<uint32_t>(m)).fetch_add(1, std::memory_order_relaxed))
AP_WRITES(atomic_add_8, 8, std::atomic_ref(as<uint64_t>(m)).fetch_add(1, std::memory_order_relaxed))
AP_WRITES(atomic_sub_4, 4, std::atomic_ref(as<uint32_t>(m)).fetch_sub(1, std::memory_order_relaxed))
AP_WRITES(atomic_and_4, 4, std::atomic_ref(as<uint32_t>(m)).fetch_and(1, std::memory_order_relaxed))
AP_WRITES(atomic_or_8, 8, std::atomic_ref(as<uint64_t>(m)).fetch_or(1, std::memory_order_relaxed))
AP_WRITES(atomic_xor_4, 4, std::atomic_ref(as<uint32_t>(m)).fetch_xor(1, std::memory_order_relaxed))
AP_WRITES(atomic_increment, 4, ++std::atomic_ref(as<uint32_t>(m)))
AP_WRITES(atomic_add_float, 4, std::atomic_ref(as<float>(m)).fetch_add(1, std::memory_order_relaxed))
AP_WRITES(atomic_compare_4, 4, uint32_t e = 0; std::atomic_ref(as<uint32_t>(m)).compare_exchange_strong(e, 1, std::memory_order_relaxed))
AP_WRITES(atomic_compare_8, 8, uint64_t e = 0; std::atomic_ref(as<uint64_t>(m)).compare_exchange_weak(e, 1, std::memory_order_relaxed))
AP_WRITES(device_atomic_add, 4, atomic_add(&as<uint32_t>(m), 1))
AP_WRITES(device_store_release, 4, store_release<scope::block>(&as<uint32_t>(m), 1))

AP_READS(read_1, 1, return as<uint8_t>(m))
AP_READS(read_2, 2, return as<uint16_t>(m))
AP_READS(read_4, 4, return as<uint32_t>(m))
AP_READS(read_8, 8, return as<uint64_t>(m))
AP_READS(read_16, 16, const uint128_t v = as<uint128_t>(m); return static_cast<uint64_t>(v >> 64))
AP_READS(read_float, 4, return as<float>(m) > 1)
AP_READS(read_volatile, 4, return as<volatile uint32_t>(m))
AP_READS(read_unaligned_2, 3, return as<packed>(m).two)
AP_READS(read_unaligned_4, 7, return as<packed>(m).four)
AP_READS(read_unaligned_8, 15, return as<packed>(m).eight)
AP_READS(read_unaligned_16, 31, const uint128_t v = as<packed>(m).sixteen; return static_cast<uint64_t>(v >> 64))
AP_READS(read_field, 4, return as<fields>(m).high)
AP_READS(read_small, 8, const small s = as<small>(m); return s.a + s.c)
AP_READS(read_packed, 31, const packed s = as<packed>(m); return static_cast<uint64_t>(s.sixteen >> 64) + s.one)
AP_READS(read_large, 192, const large l = as<large>(m); return l.word[n] + l.word[n + 44])
AP_READS(read_array, 32, const auto a = as<std::array<uint32_t, 8>>(m); return a[n] + a[n + 4])
AP_READS(read_loop, 64, uint64_t sum = 0; for (int i = 0; i < 16; ++i) sum += as<uint32_t>(m + 4 * i); return sum)
AP_READS(read_memcpy_4, 4, uint32_t v; std::memcpy(&v, m, 4); return v)
AP_READS(read_memcpy_16, 16, uint64_t v[2]; std::memcpy(v, m, 16); return v[0] + v[1])
AP_READS(read_memcpy_n, 3, uint64_t v = 0; std::memcpy(&v, m, n); return v)
AP_READS(read_memmove_n, 3, uint64_t v = 0; std::memmove(&v, m, n); return v)
AP_READS(read_builtin_memcpy, 16, uint64_t v[2]; __builtin_memcpy(v, m, 16); return v[0] + v[1])
AP_READS(read_copied_on, 64, std::memcpy(m + 128, m, 64); return 0)
AP_READS(read_pack, 16, const auto p = load_pack<4>(&as<uint32_t>(m)); return p.element[n])
AP_READS(read_pointer, 4, struct f { static uint32_t get(const uint32_t* from) { return *from;
 }
 }
 ; return f::get(&as<uint32_t>(m)))
AP_READS(
    read_lambda, 4, return [&] {
  return as<uint32_t>(m); }())
AP_READS(read_method, 8, struct point {
  float x, y;
  float height() const { return y; } }; return as<point>(m).height() > 2)
AP_READS(read_std_equal, 64, return std::equal(m, m + 64, m + 128))
AP_READS(read_std_copy, 64, std::copy_n(m, 64, m + 128); return 0)
AP_READS(read_memcmp_n, 3, return std::memcmp(m, m + 128, n) != 0)
AP_READS(read_compared, 4, return as<uint32_t>(m) == 7)
AP_READS(read_accumulated, 64, uint64_t most = 0; for (int i = 0; i < 64; ++i) most = std::max<uint64_t>(most, m[i]); return most)
AP_READS(atomic_load_4, 4, return std::atomic_ref(as<uint32_t>(m)).load(std::memory_order_relaxed))
AP_READS(atomic_load_8, 8, return std::atomic_ref(as<uint64_t>(m)).load(std::memory_order_relaxed))
AP_READS(atomic_compare_failing, 4, uint32_t e = 7;
         std::atomic_ref(as<uint32_t>(m)).compare_exchange_strong(e, 1, std::memory_order_relaxed); return e)
AP_READS(device_load_acquire, 4, return load_acquire(&as<uint32_t>(m)))
 // clang-format on
#undef AP_READS
#undef AP_WRITES
#undef AP_ACCESS
constexpr int behind_all = __COUNTER__;

 template <class Access, bool Ordered> struct canary_kernel {
   using params = canary_params;
   struct storage {
     alignas(16) unsigned char bytes[canary_bytes];
   };
   static constexpr int threads = 64;  // the two are in different warps
   void operator()(const params& p) const {
     unsigned char* m = shared<storage, shared_of<canary_kernel>>().bytes;
     const int first = p.number == 3 ? 0 : 1;
     for (int i = thread_index(); i < canary_bytes; i += threads) m[i] = 0;
     block_barrier();
     if (thread_index() == first) {
       const uint64_t value = Access::touch(m, p.number);
       p.out[0] = value;
     }
     if (Ordered) block_barrier();
     if (thread_index() == 40) probe(m + Access::bytes - 1, p);
   }
   static void probe(unsigned char* last, const params& p) {
     if (Access::writes)
       p.out[1] = *last;
     else
       *last = 5;
   }
 };

 template <int... I> std::vector<canary> list(std::integer_sequence<int, I...>) {
   return {canary{access<before_all + 1 + I>::name, access<before_all + 1 + I>::line,
                  access<before_all + 1 + I>::writes,
                  kernel_of<canary_kernel<access<before_all + 1 + I>, false>>("racing"),
                  kernel_of<canary_kernel<access<before_all + 1 + I>, true>>("ordered")}...};
 }
 std::vector<canary> canaries() {
   return list(std::make_integer_sequence<int, behind_all - before_all - 1>());
 }

 // Return values and effects of atomic operations, for a test to compare with their definition.
 struct atomic_values {
   using params = canary_params;
   struct storage {
     uint32_t four;
     uint64_t eight;
   };
   static constexpr int threads = 32;
   void operator()(const params& p) const {
     if (thread_index() != 0) return;
     storage& s = shared<storage, shared_of<atomic_values>>();
     p.out[0] = operations(s.four, p.out + 1);
     operations(s.eight, p.out + atomic_results);
   }
   template <class T> static uint64_t operations(T& object, uint64_t* out) {
     object = static_cast<T>(0xf0f1f2f3f4f5f6f7);
     const std::atomic_ref<T> a(object);
     *out++ = a.load();
     *out++ = a.fetch_add(0x1111111111111111 & T(-1));
     *out++ = a.fetch_sub(7);
     *out++ = a.fetch_and(T(0xff00ff00ff00ff0f));
     *out++ = a.fetch_or(0x30);
     *out++ = a.fetch_xor(0x55);
     *out++ = a.exchange(99);
     T expected = 98;
     *out++ = a.compare_exchange_strong(expected, 1);
     *out++ = expected;
     *out++ = a.compare_exchange_strong(expected, 100);
     *out++ = a.load();
     expected = 5;
     *out++ = a.compare_exchange_weak(expected, 1);
     *out++ = expected;
     a.store(17);
     *out++ = a.load(std::memory_order_acquire);
     *out++ = ++a;
     return 1;
   }
 };
 // A race that only some schedules show: thread 0 conflicts with thread 1's write if it sees the flag, which
 // orders nothing.
 struct sometimes {
   using params = canary_params;
   struct storage {
     uint32_t flag, value;
   };
   static constexpr int threads = 2;
   void operator()(const params&) const {
     storage& s = shared<storage, shared_of<sometimes>>();
     if (thread_index() == 0) s.flag = 0;
     block_barrier();
     for (int i = 0; i < 3; ++i) warp_sync();
     if (thread_index() == 1) {
       s.value = 1;
       store_relaxed<scope::block>(&s.flag, 1);
     }
     if (thread_index() == 0 && load_relaxed<scope::block>(&s.flag) == 1) s.value = 2;
   }
 };

 // Records the order of its threads.
 struct tickets {
   using params = canary_params;
   struct storage {
     uint32_t next;
   };
   static constexpr int threads = 32;
   void operator()(const params& p) const {
     storage& s = shared<storage, shared_of<tickets>>();
     if (thread_index() == 0) s.next = 0;
     block_barrier();
     p.out[atomic_add<scope::block>(&s.next, 1)] = static_cast<uint64_t>(thread_index());
   }
 };
 kernel sometimes_kernel() { return kernel_of<sometimes>("sometimes"); }
 kernel tickets_kernel() { return kernel_of<tickets>("tickets"); }
 kernel atomic_values_kernel() { return kernel_of<atomic_values>("atomic values"); }

 }  // namespace AP_TARGET
 }  // namespace antiphase::test
