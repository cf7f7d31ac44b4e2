// SPDX-License-Identifier: Apache-2.0
// Products of cuBLASLt: reads their descriptors and layouts.
#include <algorithm>

#include "preload/cublas/decision.hpp"
#include "preload/cublas/interpose/layers.hpp"
#include "preload/cublas/products.hpp"
#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

// Reads attributes, each with the type that cuBLASLt keeps it in: it refuses others.
template <class Which> class attributes {
 public:
  attributes(attribute_function* of, void* object) : function_(of), object_(object) {}
  template <class T> bool read(Which which, T& to) const {
    std::size_t written = 0;
    return function_(object_, static_cast<int>(which), &to, sizeof to, &written) == status_success;
  }
  // True if the attribute has that value, or this cuBLAS version does not have it.
  template <class T> bool is_or_unknown(Which which, T value) const {
    T found{};
    return !read(which, found) || found == value;
  }

 private:
  attribute_function* function_;
  void* object_;
};

// A matrix in memory.
struct matrix {
  std::uint64_t rows = 0, columns = 0;
  std::int64_t ld = 0, row_stride = 0, column_stride = 0, stride = 0;
  std::int32_t count = 0;
  std::uint32_t type = 0;

  bool has_extents(std::int64_t m, std::int64_t n) const {
    return static_cast<std::int64_t>(rows) == m && static_cast<std::int64_t>(columns) == n;
  }
  bool lies_as(const matrix& other) const {
    return row_stride == other.row_stride && column_stride == other.column_stride && stride == other.stride &&
           count == other.count;
  }
  void transpose() { std::swap(rows, columns), std::swap(row_stride, column_stride); }
};
std::optional<matrix> matrix_of(attribute_function* ask, layout of) {
  const attributes<of_layout> says(ask, of);
  std::int32_t order = 0;
  matrix x;
  if (of == nullptr || !says.read(of_layout::type, x.type) || !says.read(of_layout::order, order) ||
      !says.read(of_layout::rows, x.rows) || !says.read(of_layout::columns, x.columns) ||
      !says.read(of_layout::ld, x.ld) || !says.read(of_layout::count, x.count) ||
      !says.read(of_layout::stride, x.stride))
    return std::nullopt;
  if (!says.is_or_unknown(of_layout::plane, std::int64_t{0}) ||
      !says.is_or_unknown(of_layout::batch_mode, std::uint32_t{0}))
    return std::nullopt;
  if (order != order_columns && order != order_rows) return std::nullopt;
  const bool by_rows = order == order_rows;
  if (x.ld < static_cast<std::int64_t>(by_rows ? x.columns : x.rows)) return std::nullopt;
  x.row_stride = by_rows ? x.ld : 1, x.column_stride = by_rows ? 1 : x.ld;
  return x;
}

// Reads the epilogue: activation and row bias, of the result's type. False: not one that antiphase has.
bool reads_epilogue(const attributes<of_product>& says, std::uint32_t result, antiphase_sgemm_args& x,
                    std::uint32_t& epilogue) {
  if (!says.read(of_product::epilogue, epilogue)) return false;
  if (epilogue == epilogue_none) return true;
  const std::uint32_t function = epilogue & ~epilogue_bias;
  if (function != 0 && function != epilogue_relu && function != epilogue_gelu) return false;
  if (function == epilogue_relu) x.function = ANTIPHASE_RELU;
  if (function == epilogue_gelu) x.function = ANTIPHASE_GELU_TANH;  // as in cuBLASLt
  if ((epilogue & epilogue_bias) == 0) return true;
  void* bias = nullptr;
  std::int64_t stride = 0;
  if (!says.read(of_product::bias, bias) || bias == nullptr) return false;
  if (!says.is_or_unknown(of_product::bias_type, std::int32_t{-1}) &&
      !says.is_or_unknown(of_product::bias_type, static_cast<std::int32_t>(result)))
    return false;
  if (says.read(of_product::bias_stride, stride)) x.row_bias_batch_stride = stride;
  x.row_bias = static_cast<const float*>(bias);
  return true;
}

// Reason not to take a product, from its descriptor; `computed`: none.
outcome asked_of(const attributes<of_product>& says) {
  std::int32_t compute = 0, scale = -1, pointers = -1;
  if (!says.read(of_product::compute, compute) || !says.read(of_product::scale, scale))
    return outcome::unusual;
  if (scale != type_f32) return outcome::not_fp32;
  if (const outcome why = refusal_of(asked_by_compute(compute)); why != outcome::computed) return why;
  if (!says.read(of_product::pointers, pointers)) return outcome::unusual;
  if (pointers != pointers_of_host) return outcome::factors;
  for (const of_product factor : {of_product::scale_of_a, of_product::scale_of_b, of_product::scale_of_c,
                                  of_product::scale_of_d, of_product::largest})
    if (!says.is_or_unknown(factor, static_cast<void*>(nullptr))) return outcome::unusual;
  return says.is_or_unknown(of_product::op_c, std::int32_t{as_it_is}) &&
                 says.is_or_unknown(of_product::fill, std::int32_t{fill_full})
             ? outcome::computed
             : outcome::unusual;
}

// Applies an operand's transposition. False: unknown.
bool reads_operand(const attributes<of_product>& says, of_product which, std::optional<matrix>& x) {
  std::int32_t op = -1;
  if (!x || !says.read(which, op) || op < as_it_is || op > is_conjugate) return false;
  if (op != as_it_is) x->transpose();
  return true;
}

}  // namespace

reading request_of(const original& of, handle of_caller, const lt_product& p) {
  listed_product as{.function = function::cublasLtMatmul};
  const auto no = [&](outcome why) { return refusal{.why = why, .listed = as, .stream = p.stream}; };
  if (!of.is_whole_lt() || of_caller == nullptr || p.desc == nullptr || p.alpha == nullptr ||
      p.beta == nullptr)
    return no(outcome::unusual);
  const attributes<of_product> says(of.of_product, p.desc);
  if (const outcome why = asked_of(says); why != outcome::computed) return no(why);
  antiphase_sgemm_args x = arguments_as_said();
  std::optional<matrix> a = matrix_of(of.of_layout, p.of_a), b = matrix_of(of.of_layout, p.of_b);
  const std::optional<matrix> d = matrix_of(of.of_layout, p.of_d);
  if (!d || !reads_operand(says, of_product::op_a, a) || !reads_operand(says, of_product::op_b, b))
    return no(outcome::unusual);
  const auto type_of = [](const matrix& of_matrix) { return static_cast<int>(of_matrix.type); };
  const bool is_16_bit = are_of_layer(type_of(*a), type_of(*b), type_of(*d), compute_32f);
  if (!is_16_bit && (type_of(*a) != type_f32 || type_of(*b) != type_f32 || type_of(*d) != type_f32))
    return no(outcome::unusual);
  x.m = static_cast<std::int64_t>(d->rows), x.n = static_cast<std::int64_t>(d->columns),
  x.k = static_cast<std::int64_t>(a->columns);
  x.batch = d->count;
  as.m = x.m, as.n = x.n, as.k = x.k, as.count = x.batch;
  as.a = a->row_stride == 1 ? 'N' : 'T', as.b = b->row_stride == 1 ? 'N' : 'T',
  as.c = d->row_stride == 1 ? 'N' : 'T';
  if (x.m <= 0 || x.n <= 0 || x.k <= 0 || x.batch <= 0) return no(outcome::unusual);
  if (!a->has_extents(x.m, x.k) || !b->has_extents(x.k, x.n) || a->count != d->count || b->count != d->count)
    return no(outcome::unusual);
  if (is_small(x.m, x.n, x.k)) return no(outcome::small);
  if (!reads_epilogue(says, d->type, x, as.epilogue)) return no(outcome::unusual);
  x.alpha = *static_cast<const float*>(p.alpha), x.beta = *static_cast<const float*>(p.beta);
  as.adds = x.beta != 0;
  if (as.adds) {
    const std::optional<matrix> c = matrix_of(of.of_layout, p.of_c);
    if (!c || p.c == nullptr || c->type != d->type || !c->has_extents(x.m, x.n) || c->count != d->count)
      return no(outcome::unusual);
    if (p.c == p.d && !c->lies_as(*d)) return no(outcome::unusual);
    if (p.c != p.d) {
      x.added = static_cast<const float*>(p.c);
      x.added_row_stride = c->row_stride, x.added_column_stride = c->column_stride,
      x.added_batch_stride = c->stride;
    }
  }
  x.a = static_cast<const float*>(p.a), x.b = static_cast<const float*>(p.b), x.c = static_cast<float*>(p.d);
  x.a_row_stride = a->row_stride, x.a_column_stride = a->column_stride, x.a_batch_stride = a->stride;
  x.b_row_stride = b->row_stride, x.b_column_stride = b->column_stride, x.b_batch_stride = b->stride;
  x.c_row_stride = d->row_stride, x.c_column_stride = d->column_stride, x.c_batch_stride = d->stride;
  if (said().batch_invariant) x = transposed(x);
  request r{x, p.stream, as};
  if (is_16_bit) r.type = type_of(*a), r.result = type_of(*d);
  return is_16_bit && !is_layer(r) ? reading(no(outcome::unusual)) : reading(r);
}

}  // namespace antiphase::cublas
