// SPDX-License-Identifier: Apache-2.0
// Fragments of matrices (nvcuda::wmma). Plain CUDA under the checker. Which lane holds which element is not
// specified; here it is as for mma.sync of the same numbers.
#pragma once
#include <antiphase/executor/cpu/machine_plain.hpp>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include "letters.h"

namespace nvcuda::wmma {
namespace ap = antiphase::plain;
namespace machine = antiphase::machine;

// Tiles begin at multiples of 32 bytes, which programs seldom ask for: GPUs place shared arrays so.
[[maybe_unused]] static const int ap_tiles_aligned = ap::align_shared(32);

struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision
namespace experimental::precision {
struct u4 {};
struct s4 {};
struct b1 {};
}  // namespace experimental::precision

// The type that stands for a number in memory, its name, and how many are side by side in a register.
template <class T> struct ap_number { static constexpr bool known = false; };
#define AP_NUMBER(type, stored, name, beside)                                     \
  template <> struct ap_number<type> {                                            \
    static constexpr bool known = true;                                           \
    using held = stored;                                                          \
    static constexpr machine::matrix_number which = machine::matrix_number::name; \
    static constexpr int together = beside;                                       \
  };
AP_NUMBER(__half, __half, f16, 2)
AP_NUMBER(__nv_bfloat16, __nv_bfloat16, bf16, 2)
AP_NUMBER(precision::tf32, float, tf32, 1)
AP_NUMBER(float, float, f32, 1)
AP_NUMBER(double, double, f64, 1)
AP_NUMBER(signed char, signed char, s8, 4)
AP_NUMBER(unsigned char, unsigned char, u8, 4)
AP_NUMBER(int, int, s32, 1)
#undef AP_NUMBER

template <class Use, int M, int N, int K, class T> constexpr bool ap_supported() {
  if constexpr (!ap_number<T>::known) {
    return false;
  } else {
    constexpr auto of = ap_number<T>::which;
    using enum machine::matrix_number;
    constexpr bool sums = std::is_same_v<Use, accumulator>,
                   wide = (M == 16 && N == 16) || (M == 32 && N == 8) || (M == 8 && N == 32);
    if (M == 8 && N == 8 && K == 4) return of == f64;
    if (M == 16 && N == 16 && K == 8) return of == (sums ? f32 : tf32);
    if (!wide || K != 16) return false;
    return sums ? of == f16 || of == f32 || of == s32 : of == f16 || of == bf16 || of == s8 || of == u8;
  }
}

template <class Use, int M, int N, int K, class T, class Layout = void> class fragment {
  static_assert(ap_supported<Use, M, N, K, T>(),
                "antiphase check: fragments of half, bfloat16, signed and unsigned char (16x16x16, 32x8x16, "
                "8x32x16), tf32 (16x16x8) and double (8x8x4) are supported");
  static constexpr bool is_sum = std::is_same_v<Use, accumulator>;
  static_assert(is_sum == std::is_void_v<Layout>, "a fragment of A or B has a layout, an accumulator none");

 public:
  using element_type = T;
  using storage_element_type = typename ap_number<T>::held;
  // of half, A and B have more room than elements: these are repeated
  static constexpr int ap_count = (std::is_same_v<Use, matrix_a>   ? M * K
                                   : std::is_same_v<Use, matrix_b> ? N * K
                                                                   : M * N) /
                                  32;
  enum : int { num_elements = !is_sum && std::is_same_v<T, __half> ? 16 : ap_count };
  enum : int { num_storage_elements = num_elements };
  storage_element_type x[num_elements];

  static constexpr machine::matrix_place ap_place(int lane, int i) {
    if constexpr (std::is_same_v<Use, matrix_a>)
      return machine::place_in_a(M, ap_number<T>::together, lane, i);
    else if constexpr (std::is_same_v<Use, matrix_b>)
      return machine::place_in_b(K, ap_number<T>::together, lane, i);
    else
      return machine::place_in_c(M, lane, i);
  }
};

// An element of a row or column of the matrix. The guide wants the first to begin at a multiple of 32 bytes,
// and of half and float multiples of 16 between them: the compiler's check of alignment sees to that. Rows of
// tiles of 8-bit numbers are 16 bytes long, and NVIDIA's own samples load such tiles side by side.
template <class T, int Align> struct alignas(Align) ap_line { T x[1 << 16]; };
template <class T> constexpr int ap_step = sizeof(T) == 2 || std::is_same_v<T, float> ? 16 : alignof(T);
template <class T> constexpr int ap_begin = sizeof(T) == 1 ? 16 : 32;
template <class T> AP_VERB T ap_get(const T* first, unsigned stride, int line, int k) {
  if (line == 0) return reinterpret_cast<const ap_line<T, ap_begin<T>>*>(first)->x[k];
  return reinterpret_cast<const ap_line<T, ap_step<T>>*>(first + static_cast<std::size_t>(line) * stride)
      ->x[k];
}
template <class T> AP_VERB void ap_put(T* first, unsigned stride, int line, int k, T v) {
  if (line == 0)
    reinterpret_cast<ap_line<T, ap_begin<T>>*>(first)->x[k] = v;
  else
    reinterpret_cast<ap_line<T, ap_step<T>>*>(first + static_cast<std::size_t>(line) * stride)->x[k] = v;
}
// All lanes of the warp, with the same operands.
AP_VERB void ap_meet(const char* what, const void* p, unsigned stride, int layout, ap::place where) {
  machine::whole_warp(what, where);
  struct operands {
    const void* p;
    unsigned stride;
    int layout;
  } mine{p, stride, layout};
  const machine::exchange_slot* all = machine::warp_exchange(~0u, &mine, sizeof mine, where);
  if (std::memcmp(all[0].bytes, &mine, sizeof mine) != 0)
    machine::trap(
        "load_matrix_sync or store_matrix_sync: lanes of the warp differ in address, stride or layout",
        where);
}
template <class Fragment, class T>
AP_VERB void ap_load(Fragment& f, const T* p, unsigned stride, bool by_rows) {
  for (int i = 0; i < Fragment::num_elements; ++i) {
    if (i >= Fragment::ap_count) {
      f.x[i] = f.x[i % Fragment::ap_count];
      continue;
    }
    const auto [row, column] = Fragment::ap_place(ap::lane(), i);
    f.x[i] = ap_get(p, stride, by_rows ? row : column, by_rows ? column : row);
  }
}
template <class Use, int M, int N, int K, class T, class Layout>
AP_VERB void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const typename ap_number<T>::held* p,
                              unsigned stride, AP_AT) {
  constexpr bool by_rows = std::is_same_v<Layout, row_major>;
  ap_meet("load_matrix_sync", p, stride, by_rows, ap_at);
  ap_load(f, p, stride, by_rows);
}
template <int M, int N, int K, class T> AP_VERB void load_matrix_sync(fragment<accumulator, M, N, K, T>& f,
                                                                      const T* p, unsigned stride,
                                                                      layout_t layout, AP_AT) {
  ap_meet("load_matrix_sync", p, stride, layout, ap_at);
  ap_load(f, p, stride, layout == mem_row_major);
}
template <int M, int N, int K, class T>
AP_VERB void store_matrix_sync(T* p, const fragment<accumulator, M, N, K, T>& f, unsigned stride,
                               layout_t layout, AP_AT) {
  ap_meet("store_matrix_sync", p, stride, layout, ap_at);
  const bool by_rows = layout == mem_row_major;
  for (int i = 0; i < f.num_elements; ++i) {
    const auto [row, column] = f.ap_place(ap::lane(), i);
    ap_put(p, stride, by_rows ? row : column, by_rows ? column : row, f.x[i]);
  }
}
template <class Use, int M, int N, int K, class T, class Layout>
AP_VERB void fill_fragment(fragment<Use, M, N, K, T, Layout>& f,
                           const std::type_identity_t<typename ap_number<T>::held>& v) {
  const typename ap_number<T>::held copy = v;
  for (auto& x : f.x) x = copy;
}
template <int M, int N, int K, class A, class LayoutA, class B, class LayoutB, class C, class D>
AP_VERB void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, A, LayoutA>& a,
                      const fragment<matrix_b, M, N, K, B, LayoutB>& b,
                      const fragment<accumulator, M, N, K, C>& c, bool satf = false, AP_AT) {
  static_assert(std::is_same_v<A, B>, "A and B are of one type");
  using enum machine::matrix_number;
  constexpr auto of = ap_number<A>::which, from = ap_number<C>::which, to = ap_number<D>::which;
  static_assert(of == f16              ? from != s32 && to != s32
                : of == s8 || of == u8 ? from == s32 && to == s32
                                       : from == to && from == (of == f64 ? f64 : f32),
                "mma_sync has no such types of sums");
  machine::warp_multiply_of({M, N, K, of, of, from, to, satf}, d.x, a.x, b.x, c.x, ap_at);
}
inline float __float_to_tf32(float x) { return ap::to_tf32(x); }

}  // namespace nvcuda::wmma

// Instructions of PTX: registers hold the elements of fragments, one after the other.
namespace antiphase::plain::ptx {
template <class Fragment, class R, int Count> AP_VERB Fragment fragment_of(const R (&registers)[Count]) {
  Fragment f;
  static_assert(sizeof f.x == sizeof registers);
  std::memcpy(static_cast<void*>(f.x), registers, sizeof registers);
  return f;
}
template <class Fragment, class R, int Count>
AP_VERB void wmma_load(R (&to)[Count], const void* p, unsigned stride, bool by_rows, place where) {
  Fragment f;
  nvcuda::wmma::ap_meet("wmma.load", p, stride, by_rows, where);
  nvcuda::wmma::ap_load(f, static_cast<const typename Fragment::storage_element_type*>(p), stride, by_rows);
  static_assert(sizeof f.x == sizeof to);
  std::memcpy(to, static_cast<const void*>(f.x), sizeof to);
}
template <class Fragment, class R, int Count>
AP_VERB void wmma_store(void* p, const R (&from)[Count], unsigned stride, bool by_rows, place where) {
  nvcuda::wmma::store_matrix_sync(static_cast<typename Fragment::storage_element_type*>(p),
                                  fragment_of<Fragment>(from), stride,
                                  by_rows ? nvcuda::wmma::mem_row_major : nvcuda::wmma::mem_col_major, where);
}
template <class D, class A, class B, class C, class RD, int ND, class RA, int NA, class RB, int NB, class RC,
          int NC>
AP_VERB void wmma_multiply(RD (&d)[ND], const RA (&a)[NA], const RB (&b)[NB], const RC (&c)[NC],
                           bool saturates, place where) {
  D sums;
  nvcuda::wmma::mma_sync(sums, fragment_of<A>(a), fragment_of<B>(b), fragment_of<C>(c), saturates, where);
  static_assert(sizeof sums.x == sizeof d);
  std::memcpy(d, static_cast<const void*>(sums.x), sizeof d);
}
}  // namespace antiphase::plain::ptx

#include "letters.h"
