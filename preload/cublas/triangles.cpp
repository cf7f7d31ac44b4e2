// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/triangles.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <span>
#include <utility>

#include "preload/cublas/interpose/layers.hpp"
#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

bool is_rank_update(family f) { return f == family::rank_k || f == family::rank_kx || f == family::rank_2k; }
bool is_right(const product& p) { return p.side == side_right; }
std::int64_t order_of(const product& p) { return is_rank_update(p.kind) || is_right(p) ? p.n : p.m; }
// The extent of B that is not the triangle's; of rank updates k.
std::int64_t width_of(const product& p) { return is_rank_update(p.kind) ? p.k : is_right(p) ? p.m : p.n; }

// A matrix whose element (i, j) is data[i * row + j * column].
struct view {
  const float* data;
  std::int64_t row, column;
  view transposed() const { return {data, column, row}; }
  view block(std::int64_t i, std::int64_t j) const { return {data + i * row + j * column, row, column}; }
};
// A call in a form without sides, fills and operations: the triangle is on the left (A), or is that of C.
struct matrices {
  view a, b, c;
  bool is_lower;
};
matrices matrices_of(const product& p) {
  const auto stored = [](const void* data, std::int64_t ld) {
    return view{static_cast<const float*>(data), 1, ld};
  };
  matrices x{stored(p.a, p.lda), stored(p.b, p.ldb), stored(p.c, p.ldc), p.fill == fill_lower};
  if (p.kind == family::rank_k) x.b = x.a;
  if (p.kind == family::solve) x.b = x.c;
  const bool transposes = p.op_a != as_it_is;
  if (transposes) x.a = x.a.transposed();
  if (!is_rank_update(p.kind)) {
    x.is_lower ^= transposes;
    if (is_right(p)) {  // X A = B is A^T X^T = B^T
      for (view* const one : {&x.a, &x.b, &x.c}) *one = one->transposed();
      x.is_lower = !x.is_lower;
    }
    return x;
  }
  if (transposes) x.b = x.b.transposed();
  if (!x.is_lower) {  // the upper triangle of A B^T is the lower one of B A^T
    std::swap(x.a, x.b);
    x.c = x.c.transposed(), x.is_lower = true;
  }
  return x;
}

// C = alpha A B + beta C, with contiguous columns of C.
antiphase_sgemm_args product_of(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const view& a,
                                const view& b, float beta, const view& c) {
  antiphase_sgemm_args x = arguments_as_said();
  x.m = m, x.n = n, x.k = k, x.alpha = alpha, x.beta = beta;
  x.a = a.data, x.a_row_stride = a.row, x.a_column_stride = a.column;
  x.b = b.data, x.b_row_stride = b.row, x.b_column_stride = b.column;
  x.c = const_cast<float*>(c.data), x.c_row_stride = c.row, x.c_column_stride = c.column;
  return c.row == 1 ? x : transposed(x);
}

// Part of the rows and columns of a triangle.
struct range {
  std::int64_t begin, size;
};

// Splits a call, whose factors are known or assumed. Work has members off_diagonal(args) and
// on_diagonal(range, scale), which return false to stop; a solve is of `scale` times B.
template <class Work> class splitting {
 public:
  splitting(const product& p, float alpha, float beta, std::int64_t block, Work& work)
      : p_(p),
        x_(matrices_of(p)),
        width_(width_of(p)),
        alpha_(alpha),
        beta_(beta),
        block_(block),
        work_(work) {}
  bool run() { return run({0, order_of(p_)}, alpha_); }

 private:
  // Solves need what comes before; a product may overwrite its operand, whose parts are needed until then.
  bool starts_at_end() const {
    return p_.kind == family::solve ? !x_.is_lower : p_.kind == family::multiply && x_.is_lower;
  }
  bool run(const range& all, float scale) {
    if (all.size <= block_) return work_.on_diagonal(all, scale);
    const std::int64_t blocks = (all.size + block_ - 1) / block_, half = (blocks + 1) / 2 * block_;
    range first{all.begin, half}, second{all.begin + half, all.size - half};
    if (starts_at_end()) std::swap(first, second);
    const bool is_solve = p_.kind == family::solve, is_last = p_.kind == family::symmetric;
    return run(first, scale) && (is_last || products(first, second, scale)) &&
           run(second, is_solve ? 1 : scale) && (!is_last || products(first, second, scale));
  }
  // Contribution of one half to the other.
  bool products(const range& first, const range& second, float scale) {
    const auto rows = [](const view& of, const range& r) { return of.block(r.begin, 0); };
    const auto block = [](const view& of, const range& r, const range& s) {
      return of.block(r.begin, s.begin);
    };
    const auto add = [&](const range& to, const view& a, const range& from, const view& b, float alpha,
                         float beta) {
      return work_.off_diagonal(
          product_of(to.size, width_, from.size, alpha, a, rows(b, from), beta, rows(x_.c, to)));
    };
    const auto update = [&](const view& a, const view& b, float beta) {
      return work_.off_diagonal(product_of(second.size, first.size, width_, alpha_, rows(a, second),
                                           rows(b, first).transposed(), beta, block(x_.c, second, first)));
    };
    switch (p_.kind) {
      case family::solve: return add(second, block(x_.a, second, first), first, x_.c, -1, scale);
      case family::multiply: return add(first, block(x_.a, first, second), second, x_.b, alpha_, 1);
      case family::symmetric: {
        const view a = x_.is_lower ? block(x_.a, second, first) : block(x_.a, first, second).transposed();
        return add(second, a, first, x_.b, alpha_, 1) && add(first, a.transposed(), second, x_.b, alpha_, 1);
      }
      case family::rank_2k: return update(x_.a, x_.b, beta_) && update(x_.b, x_.a, 1);
      default: return update(x_.a, x_.b, beta_);
    }
  }

  const product& p_;
  matrices x_;
  std::int64_t width_;
  float alpha_, beta_;
  std::int64_t block_;
  Work& work_;
};

// The arguments of a block on the diagonal.
product part_of(const product& p, const range& r) {
  product q = p;
  const auto move = [](const void*& matrix, std::int64_t elements) {
    matrix = static_cast<const float*>(matrix) + elements;
  };
  if (is_rank_update(p.kind)) {
    const bool by_rows = p.op_a == as_it_is;
    q.n = r.size;
    move(q.a, r.begin * (by_rows ? 1 : p.lda)), move(q.c, r.begin * (p.ldc + 1));
    if (q.b != nullptr) move(q.b, r.begin * (by_rows ? 1 : p.ldb));
    return q;
  }
  (is_right(p) ? q.n : q.m) = r.size;
  move(q.a, r.begin * (p.lda + 1)), move(q.c, r.begin * (is_right(p) ? p.ldc : 1));
  if (q.b != nullptr) move(q.b, r.begin * (is_right(p) ? p.ldb : 1));
  return q;
}

// ---- What a call is predicted to take

// The host is ahead of the GPU, so its time does not count.
bool is_ours(const antiphase_sgemm_args& x) {
  return decision_of(x).captured == outcome::computed && !is_small(x.m, x.n, x.k);
}
double cublas_seconds(const antiphase_sgemm_args& x) { return decision_of(x).predicted.cublas_seconds; }

// The product of all the matrices, without regard to the triangle.
antiphase_sgemm_args full_product(const product& p) {
  const matrices x = matrices_of(p);
  const std::int64_t order = order_of(p), width = width_of(p);
  const bool twice = p.kind == family::rank_2k;
  const view b{x.a.data, x.b.row, x.b.column};  // B may be C itself, which would be refused
  return is_rank_update(p.kind)
             ? product_of(order, order, twice ? 2 * width : width, 1, x.a, x.b.transposed(), 1, x.c)
             : product_of(order, width, order, 1, x.a, b, p.kind == family::symmetric, x.c);
}

// What cuBLAS takes for blocks on the diagonal, compared with a product of all their matrices. Substitution
// waits for row after row: 5.5 times, fitted to solves of 4096 to 16384 rows on an H200, in blocks of 256.
// Blocks of 128 are faster: 8192 and 16384 rows take 7.4 and 38.1 ms, in blocks of 256 8.1 and 40.9, in
// blocks of 64 7.5 and 37.4.
struct block_costs {
  std::span<const std::int64_t> sizes;
  double of_products;
  double alone;  // how much longer a block takes in a call of its own than within a larger one, at most
  int parts;     // of such a block, each a call
};
block_costs costs_of(family f) {
  static constexpr std::int64_t sizes[] = {256, 512, 1024, 2048};
  return f == family::solve ? block_costs{std::span(sizes).first(1), 5.5, 1.25, 2}
                            : block_costs{sizes, 1, 1.5, 1};
}

struct costs {
  const product& p;
  double products = 0, products_of_cublas = 0, blocks = 0;
  outcome why_none = outcome::no_gain;  // why no product is ours
  bool is_any_ours = false;
  bool off_diagonal(const antiphase_sgemm_args& x) {
    const decision d = decision_of(x);
    const bool ours = is_ours(x);
    products += ours ? d.predicted.seconds : d.predicted.cublas_seconds;
    products_of_cublas += d.predicted.cublas_seconds;
    is_any_ours |= ours;
    why_none = d.captured == outcome::computed ? outcome::small : d.captured;
    return true;
  }
  // A block of a rank-k update has few tiles, each of which one multiprocessor computes: a long k takes long.
  bool on_diagonal(const range& r, float) {
    constexpr double of_tile = 89e-9;  // seconds for each k: an H200's 356 us for 250 x 250 with k = 4000
    const double least = is_rank_update(p.kind) ? of_tile * static_cast<double>(p.k) : 0;
    blocks += std::max(least, costs_of(p.kind).of_products * cublas_seconds(full_product(part_of(p, r))));
    return true;
  }
};

// cuBLAS is taken to split a solve likewise, and to spend half of a product's time on the other triangles.
double seconds_of_cublas(const product& p, const costs& c) {
  if (p.kind == family::solve) return c.products_of_cublas + c.blocks;
  return cublas_seconds(full_product(p)) * (p.kind == family::symmetric ? 1 : 0.5);
}

decision decide(const product& p) {
  decision best{.eager = outcome::no_gain, .captured = outcome::no_gain, .predicted = {}};
  const block_costs known = costs_of(p.kind);
  constexpr std::int64_t smallest = 32;  // if the user says how small products may be
  const std::int64_t said_size =
      std::max(smallest, static_cast<std::int64_t>(std::ceil(said().least.value_or(0))));
  for (const std::int64_t size : said().least ? std::span(&said_size, 1) : known.sizes) {
    if (size >= order_of(p)) break;
    costs c{p};
    splitting(p, 1, p.kind == family::solve || p.beta == nullptr ? 0 : 1, size, c).run();
    const prediction is{.seconds = c.products + known.alone * c.blocks,
                        .cublas_seconds = seconds_of_cublas(p, c)};
    if (best.block != 0 && !(is.seconds < best.predicted.seconds)) continue;
    outcome what = c.is_any_ours ? outcome::computed : c.why_none;
    if (c.is_any_ours && !said().least && !(is.cublas_seconds > least_gain * is.seconds))
      what = outcome::no_gain;
    best = {
        .eager = what, .captured = what, .predicted = is, .block = said().least ? size : size / known.parts};
  }
  return best;
}

// ---- Computes a call

struct execution {
  const triangle& t;
  antiphase_stream on;
  outcome result = outcome::computed;
  bool has_written = false;

  bool stop(outcome why) { return result = has_written ? outcome::failed : why, false; }
  bool off_diagonal(const antiphase_sgemm_args& x) {
    has_written = true;  // blocks come first
    if (is_ours(x)) {
      const antiphase_status status = antiphase_sgemm(&x, on);
      if (status == ANTIPHASE_OK) return true;
      if (status == ANTIPHASE_NOT_SUPPORTED)
        decision_of(x).eager = decision_of(x).captured = outcome::refused;
      if (outcome_of(status) == outcome::failed) return stop(outcome::failed);
    }
    const passing_on now;
    const auto stored = [](std::int64_t row, std::int64_t column) {
      return row == 1 ? std::pair(as_it_is, static_cast<int>(column))
                      : std::pair(is_transposed, static_cast<int>(row));
    };
    const auto a = stored(x.a_row_stride, x.a_column_stride), b = stored(x.b_row_stride, x.b_column_stride);
    const int status = t.of.product(t.of_caller, a.first, b.first, static_cast<int>(x.m),
                                    static_cast<int>(x.n), static_cast<int>(x.k), &x.alpha, x.a, a.second,
                                    x.b, b.second, &x.beta, x.c, static_cast<int>(x.c_column_stride));
    return status == status_success || stop(outcome::failed);
  }
  bool on_diagonal(const range& r, float scale) {
    product q = part_of(t.whole, r);
    if (q.kind == family::solve) q.alpha = &scale;
    if (t.part(t.context, q) != status_success) return stop(outcome::refused);
    return has_written = true;
  }
};

// With the members that `shape` has for products: everything that a decision depends on.
shape shape_of(const product& p) {
  const std::int64_t kinds = static_cast<int>(p.kind) + 8 * p.side + 16 * p.fill + 32 * p.op_a;
  return {
      p.m, p.n, p.k, -1, p.lda, p.ldb, p.ldc, kinds, alignments(p.a, p.b, p.c, nullptr), current_device()};
}

bool is_sensible(const product& p) {
  const auto is_one_of = [](int x, int first, int last) { return first <= x && x <= last; };
  if (!is_one_of(p.side, side_left, side_right) || !is_one_of(p.fill, fill_lower, fill_upper) ||
      !is_one_of(p.op_a, as_it_is, is_conjugate) || !is_one_of(p.diagonal, diagonal_stored, diagonal_ones))
    return false;
  const bool is_rank = is_rank_update(p.kind), has_b = p.kind != family::solve && p.kind != family::rank_k;
  const bool has_beta = p.kind != family::solve && p.kind != family::multiply;
  const std::int64_t order = order_of(p), width = width_of(p), rows = is_rank ? p.n : p.m;
  if (order <= 0 || width <= 0 || p.alpha == nullptr || (has_beta && p.beta == nullptr)) return false;
  if (p.a == nullptr || p.c == nullptr || (has_b && p.b == nullptr)) return false;
  const std::int64_t lda = is_rank && p.op_a != as_it_is ? width : order;
  if (p.lda < lda || p.ldc < rows || (has_b && p.ldb < (is_rank ? lda : rows))) return false;
  // for cublasSgemm_v2, which computes products that are not ours
  return std::max({order, width, p.lda, p.ldb, p.ldc}) <= INT_MAX;
}

}  // namespace

outcome told_by_triangle(const product& p) {
  if (!is_sensible(p) || said().batch_invariant) return outcome::unusual;
  // Below these no gain is predicted on a GPU that was measured. Factorizations make many such calls, each of
  // another shape.
  constexpr std::int64_t least_order = 2048, least_width = 256;
  const std::int64_t order = order_of(p), width = width_of(p);
  if (!said().least) return order < least_order || width < least_width ? outcome::no_gain : outcome::computed;
  const bool is_rank = is_rank_update(p.kind);
  return is_small(order, is_rank ? order : width, is_rank ? width : order) ? outcome::small
                                                                           : outcome::computed;
}

reading request_of(function by, const triangle& t) {
  const product& p = t.whole;
  const bool is_rank = is_rank_update(p.kind);
  listed_product as{.function = by,
                    .m = is_rank ? p.n : p.m,
                    .n = p.n,
                    .k = is_rank ? p.k : order_of(p),
                    .a = p.op_a == as_it_is ? 'N' : 'T',
                    .b = p.fill == fill_lower ? 'L' : 'U'};
  refusal otherwise{.why = outcome::no_gain, .listed = as};
  const auto no = [&](outcome why) { return otherwise.why = why, otherwise; };
  if (said().profiles && t.of.is_whole() && t.of_caller != nullptr)
    t.of.stream(t.of_caller, &otherwise.stream);
  if (const outcome why = told_by_triangle(p); why != outcome::computed) return no(why);
  if (!t.of.is_whole() || t.of.product == nullptr || t.of_caller == nullptr) return no(outcome::unusual);
  const decision d = decision_of(t);
  otherwise.predicted = d.predicted;
  if (!d.is_for_any() && !said().profiles) return no(d.captured);
  antiphase_stream on = nullptr;
  if (const outcome why = asked_of(t.of, t.of_caller, false, on); why != outcome::computed) return no(why);
  if (*static_cast<const float*>(p.alpha) == 0) return no(outcome::unusual);
  request r{arguments_as_said(), on, as};
  r.args.m = as.m, r.args.n = p.n, r.args.k = as.k;
  r.args.c = static_cast<float*>(const_cast<void*>(p.c)), r.args.c_row_stride = 1,
  r.args.c_column_stride = p.ldc;
  r.of_triangle = &t;
  return r;
}

decision decision_of(const triangle& t) noexcept {
  const shape s = shape_of(t.whole);
  if (const std::optional<decision>& d = remembered(s, false)) return *d;
  const decision made = decide(t.whole);  // its products are remembered too, perhaps in this one's place
  return *(remembered(s, false) = made);
}

outcome outcome_of_parts(const triangle& t, std::int64_t block, antiphase_stream on) noexcept {
  execution e{t, on};
  const float beta = t.whole.beta == nullptr ? 0 : *static_cast<const float*>(t.whole.beta);
  splitting(t.whole, *static_cast<const float*>(t.whole.alpha), beta, block, e).run();
  return e.result;
}

}  // namespace antiphase::cublas
