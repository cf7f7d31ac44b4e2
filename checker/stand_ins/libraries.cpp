// SPDX-License-Identifier: Apache-2.0
// What operations of cuBLAS and cuRAND compute, on the host: read and write what they would, as the thread of
// the kernel that stands for one (libraries.h). Loops are simple, sums are in the type of the computation.
#include <antiphase/plain/textures.h>
#include <antiphase/stand_ins/cublas_v2.h>
#include <antiphase/stand_ins/curand.h>
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <vector>

#include "checker/plain/runtime/launches/graphs.hpp"
#include "checker/plain/runtime/run.hpp"
#include "checker/plain/runtime/runtime.hpp"

namespace antiphase::plain {

namespace blas {
namespace {

template <class T> struct number { using type = T; };
template <> struct number<float2> { using type = std::complex<float>; };
template <> struct number<double2> { using type = std::complex<double>; };
template <class T> using number_of = typename number<T>::type;
template <class W> constexpr bool is_complex = false;
template <class R> constexpr bool is_complex<std::complex<R>> = true;

template <class W> W conjugate_of(const W& w) {
  if constexpr (is_complex<W>)
    return std::conj(w);
  else
    return w;
}
template <class W, class T> W as(const T& v) {
  if constexpr (is_complex<W> && !is_complex<T>)
    return W(static_cast<typename W::value_type>(v));
  else if constexpr (is_complex<W>)
    return W(v);
  else if constexpr (is_complex<T>)
    return static_cast<W>(v.real());
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<W>(v);
  else
    return static_cast<W>(static_cast<float>(v));  // half and bfloat16
}
// f(pointer to a value of the type): its static type is what counts.
template <class F> void with_type(cudaDataType t, const F& f) {
  switch (t) {
    case CUDA_R_32F: return f(static_cast<float*>(nullptr));
    case CUDA_R_64F: return f(static_cast<double*>(nullptr));
    case CUDA_R_16F: return f(static_cast<__half*>(nullptr));
    case CUDA_R_16BF: return f(static_cast<__nv_bfloat16*>(nullptr));
    case CUDA_R_8I: return f(static_cast<signed char*>(nullptr));
    case CUDA_R_32I: return f(static_cast<int*>(nullptr));
    case CUDA_C_32F: return f(static_cast<std::complex<float>*>(nullptr));
    case CUDA_C_64F: return f(static_cast<std::complex<double>*>(nullptr));
    default:
      refuse_use("cuBLAS with matrices of this type",
                 "float, double, half, bfloat16, int8 or complex numbers");
  }
}
template <class W> W value_of(const scalar& s, cudaDataType type) {
  W value{};
  with_type(type, [&](auto* t) {
    std::remove_pointer_t<decltype(t)> v;
    if (s.on_device != nullptr)
      library_load(&v, s.on_device, sizeof v);
    else
      std::memcpy(static_cast<void*>(&v), s.value, sizeof v);
    value = as<W>(v);
  });
  return value;
}
template <class T> number_of<T> value_of(const scalar& s) {
  number_of<T> v;
  if (s.on_device != nullptr)
    library_load(&v, s.on_device, sizeof v);
  else
    std::memcpy(static_cast<void*>(&v), s.value, sizeof v);
  return v;
}

// rows x columns of op(x), column by column, in W.
template <class W> std::vector<W> dense(const matrix& x, const void* at, int rows, int columns) {
  std::vector<W> all(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  const bool turned = x.op == CUBLAS_OP_T || x.op == CUBLAS_OP_C;
  const bool conjugated = x.op == CUBLAS_OP_C || x.op == CUBLAS_OP_CONJG;
  const int r = turned ? columns : rows, c = turned ? rows : columns;  // as stored
  with_type(x.type, [&](auto* t) {
    using T = std::remove_pointer_t<decltype(t)>;
    std::vector<T> column(static_cast<std::size_t>(r));
    for (int j = 0; j < c; ++j) {
      library_load(column.data(), static_cast<const T*>(at) + static_cast<std::ptrdiff_t>(j) * x.ld,
                   column.size() * sizeof(T));
      for (int i = 0; i < r; ++i) {
        const W v = as<W>(column[static_cast<std::size_t>(i)]);
        all[turned
                ? static_cast<std::size_t>(i) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(j)
                : static_cast<std::size_t>(j) * static_cast<std::size_t>(rows) +
                      static_cast<std::size_t>(i)] = conjugated ? conjugate_of(v) : v;
      }
    }
  });
  return all;
}
template <class W>
void store(const matrix& x, const void* at, int rows, int columns, const std::vector<W>& all) {
  with_type(x.type, [&](auto* t) {
    using T = std::remove_pointer_t<decltype(t)>;
    std::vector<T> column(static_cast<std::size_t>(rows));
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) {
        const W& w =
            all[static_cast<std::size_t>(j) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i)];
        if constexpr (std::is_arithmetic_v<T> || is_complex<T>)
          column[static_cast<std::size_t>(i)] = as<T>(w);
        else
          column[static_cast<std::size_t>(i)] = T(as<float>(w));
      }
      library_store(const_cast<T*>(static_cast<const T*>(at)) + static_cast<std::ptrdiff_t>(j) * x.ld,
                    column.data(), column.size() * sizeof(T));
    }
  });
}

template <class W> void multiply_in(const product& p) {
  const auto m = static_cast<std::size_t>(p.m), n = static_cast<std::size_t>(p.n),
             k = static_cast<std::size_t>(p.k);
  const W alpha = value_of<W>(p.alpha, p.scale), beta = value_of<W>(p.beta, p.scale);
  const auto place_of = [](const matrix& x, int i) -> const void* {
    if (x.list != nullptr) {
      const void* at = nullptr;
      library_load(&at, x.list + i, sizeof at);
      return at;
    }
    std::size_t bytes = 0;
    with_type(x.type, [&](auto* t) { bytes = sizeof *t; });
    return static_cast<const char*>(x.data) + static_cast<std::ptrdiff_t>(bytes) * x.stride * i;
  };
  for (int i = 0; i < p.batch; ++i) {
    const void* const c_at = place_of(p.c, i);
    std::vector<W> c(m * n);
    if (alpha != W(0)) {
      const std::vector<W> a = dense<W>(p.a, place_of(p.a, i), p.m, p.k);
      const std::vector<W> b = dense<W>(p.b, place_of(p.b, i), p.k, p.n);
      for (std::size_t col = 0; col < n; ++col)
        for (std::size_t in = 0; in < k; ++in) {
          const W factor = b[col * k + in];
          const W* const from = &a[in * m];
          W* const to = &c[col * m];
          for (std::size_t row = 0; row < m; ++row) to[row] += from[row] * factor;
        }
    }
    if (beta != W(0)) {
      const std::vector<W> old = dense<W>(p.c, c_at, p.m, p.n);
      for (std::size_t at = 0; at < c.size(); ++at) c[at] = alpha * c[at] + beta * old[at];
    } else {
      for (W& v : c) v = alpha * v;
    }
    store(p.c, c_at, p.m, p.n, c);
  }
}

template <class T> const T* start(const T* x, int n, int inc) {
  return inc < 0 ? x + static_cast<std::ptrdiff_t>(1 - n) * inc : x;
}
template <class T> std::vector<number_of<T>> vector_of(int n, const T* x, int inc) {
  std::vector<number_of<T>> all(static_cast<std::size_t>(std::max(n, 0)));
  if (inc == 1) {
    library_load(all.data(), x, all.size() * sizeof(T));
    return all;
  }
  const T* at = start(x, n, inc);
  for (auto& v : all) {
    library_load(&v, at, sizeof(T));
    at += inc;
  }
  return all;
}
template <class T> void store_vector(const std::vector<number_of<T>>& all, T* x, int inc) {
  if (inc == 1) return library_store(x, all.data(), all.size() * sizeof(T));
  T* at = const_cast<T*>(start(x, static_cast<int>(all.size()), inc));
  for (const auto& v : all) {
    library_store(at, &v, sizeof(T));
    at += inc;
  }
}
template <class T> matrix of(const T* a, int lda, cublasOperation_t op = CUBLAS_OP_N) {
  return {a, nullptr, 0, lda, type_of<T>, op};
}
template <class T> std::vector<number_of<T>> dense_of(const T* a, int lda, int rows, int columns,
                                                      cublasOperation_t op = CUBLAS_OP_N) {
  return dense<number_of<T>>(of(a, lda, op), a, rows, columns);
}
template <class T>
void store_dense(const std::vector<number_of<T>>& all, T* a, int lda, int rows, int columns) {
  store(of(a, lda), a, rows, columns, all);
}
std::size_t at(int row, int column, int rows) {
  return static_cast<std::size_t>(column) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row);
}

}  // namespace

void multiply(const product& p) {
  if (p.m == 0 || p.n == 0) return;
  switch (p.scale) {
    case CUDA_R_64F: return multiply_in<double>(p);
    case CUDA_R_32I: return multiply_in<int>(p);
    case CUDA_C_32F: return multiply_in<std::complex<float>>(p);
    case CUDA_C_64F: return multiply_in<std::complex<double>>(p);
    default: return multiply_in<float>(p);
  }
}
template <class T> void axpy(int n, const scalar& alpha, const T* x, int incx, T* y, int incy) {
  const auto a = value_of<T>(alpha);
  const auto from = vector_of(n, x, incx);
  auto to = vector_of<T>(n, y, incy);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += a * from[i];
  store_vector<T>(to, y, incy);
}
template <class T> void scal(int n, const scalar& alpha, T* x, int incx) {
  const auto a = value_of<T>(alpha);
  auto all = vector_of<T>(n, x, incx);
  for (auto& v : all) v *= a;
  store_vector<T>(all, x, incx);
}
template <class T> void copy(int n, const T* x, int incx, T* y, int incy, bool swaps) {
  const auto from = vector_of(n, x, incx);
  if (swaps) store_vector<T>(vector_of<T>(n, y, incy), const_cast<T*>(x), incx);
  store_vector<T>(from, y, incy);
}
template <class T> T dot(int n, const T* x, int incx, const T* y, int incy, bool conjugate) {
  const auto a = vector_of(n, x, incx), b = vector_of(n, y, incy);
  number_of<T> sum{};
  for (std::size_t i = 0; i < a.size(); ++i) sum += (conjugate ? conjugate_of(a[i]) : a[i]) * b[i];
  T result;
  std::memcpy(&result, &sum, sizeof result);
  return result;
}
template <class T> double norm(int n, const T* x, int incx, bool of_squares) {
  double sum = 0;
  for (const auto& v : vector_of(n, x, incx)) {
    const auto w = std::complex<double>(v);
    sum += of_squares ? std::norm(w) : std::fabs(w.real()) + std::fabs(w.imag());
  }
  return of_squares ? std::sqrt(sum) : sum;
}
template <class T> int extreme(int n, const T* x, int incx, bool largest) {
  int best = 0;
  double value = 0;
  const auto all = vector_of(n, x, incx);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto w = std::complex<double>(all[i]);
    const double size = std::fabs(w.real()) + std::fabs(w.imag());
    if (i == 0 || (largest ? size > value : size < value)) {
      best = static_cast<int>(i) + 1;
      value = size;
    }
  }
  return best;
}
template <class T> void gemv(cublasOperation_t op, int m, int n, const scalar& alpha, const T* a, int lda,
                             const T* x, int incx, const scalar& beta, T* y, int incy) {
  using W = number_of<T>;
  const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
  if (rows == 0 || columns == 0) return;
  const W s = value_of<T>(alpha), t = value_of<T>(beta);
  const std::vector<W> all = dense_of(a, lda, rows, columns, op), from = vector_of(columns, x, incx);
  std::vector<W> to(static_cast<std::size_t>(rows));
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i)
      to[static_cast<std::size_t>(i)] += all[at(i, j, rows)] * from[static_cast<std::size_t>(j)];
  const std::vector<W> old = t != W(0) ? vector_of<T>(rows, y, incy) : std::vector<W>(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = s * to[i] + t * old[i];
  store_vector<T>(to, y, incy);
}
template <class T> void ger(int m, int n, const scalar& alpha, const T* x, int incx, const T* y, int incy,
                            T* a, int lda, bool conjugate) {
  const auto s = value_of<T>(alpha);
  const auto u = vector_of(m, x, incx), v = vector_of(n, y, incy);
  auto all = dense_of<T>(a, lda, m, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      const auto& w = v[static_cast<std::size_t>(j)];
      all[at(i, j, m)] += s * u[static_cast<std::size_t>(i)] * (conjugate ? conjugate_of(w) : w);
    }
  store_dense<T>(all, a, lda, m, n);
}
template <class T> void geam(cublasOperation_t ta, cublasOperation_t tb, int m, int n, const scalar& alpha,
                             const T* a, int lda, const scalar& beta, const T* b, int ldb, T* c, int ldc) {
  using W = number_of<T>;
  const W s = value_of<T>(alpha), t = value_of<T>(beta);
  std::vector<W> all(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  for (const auto& [factor, from, ld, op] : {std::tuple(s, a, lda, ta), std::tuple(t, b, ldb, tb)}) {
    if (factor == W(0)) continue;
    const std::vector<W> part = dense_of(from, ld, m, n, op);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += factor * part[i];
  }
  store_dense<T>(all, c, ldc, m, n);
}
template <class T>
void dgmm(bool left, int m, int n, const T* a, int lda, const T* x, int incx, T* c, int ldc) {
  auto all = dense_of(a, lda, m, n);
  const auto factors = vector_of(left ? m : n, x, incx);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) all[at(i, j, m)] *= factors[static_cast<std::size_t>(left ? i : j)];
  store_dense<T>(all, c, ldc, m, n);
}
// op(A) X = alpha B, or X op(A) = alpha B: the triangle of A alone is read.
template <class T> void trsm(bool left, bool upper, cublasOperation_t op, bool unit, int m, int n,
                             const scalar& alpha, const T* a, int lda, T* b, int ldb) {
  using W = number_of<T>;
  const int size = left ? m : n;
  const W s = value_of<T>(alpha);
  std::vector<W> triangle(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  for (int j = 0; j < size; ++j) {
    const int first = upper ? 0 : j, last = upper ? j + 1 : size;
    library_load(&triangle[at(first, j, size)], a + static_cast<std::ptrdiff_t>(j) * lda + first,
                 static_cast<std::size_t>(last - first) * sizeof(T));
  }
  const bool turned = op != CUBLAS_OP_N;
  const auto entry = [&](int i, int j) {  // of op(A)
    const W v = triangle[turned ? at(j, i, size) : at(i, j, size)];
    return op == CUBLAS_OP_C ? conjugate_of(v) : v;
  };
  const bool is_upper = upper != turned;
  auto x = dense_of<T>(b, ldb, m, n);
  for (W& v : x) v *= s;
  const int others = left ? n : m;
  const auto element = [&](int i, int other) -> W& { return left ? x[at(i, other, m)] : x[at(other, i, m)]; };
  // From the right, the unknowns of a row stand in the other order.
  const bool backward = left ? is_upper : !is_upper;
  for (int other = 0; other < others; ++other)
    for (int step = 0; step < size; ++step) {
      const int i = backward ? size - 1 - step : step;
      W v = element(i, other);
      for (int done = 0; done < step; ++done) {
        const int k = backward ? size - 1 - done : done;
        v -= (left ? entry(i, k) : entry(k, i)) * element(k, other);
      }
      element(i, other) = unit ? v : v / entry(i, i);
    }
  store_dense<T>(x, b, ldb, m, n);
}

#define AP_FOR(T)                                                                                  \
  template void axpy(int, const scalar&, const T*, int, T*, int);                                  \
  template void scal(int, const scalar&, T*, int);                                                 \
  template void copy(int, const T*, int, T*, int, bool);                                           \
  template T dot(int, const T*, int, const T*, int, bool);                                         \
  template double norm(int, const T*, int, bool);                                                  \
  template int extreme(int, const T*, int, bool);                                                  \
  template void gemv(cublasOperation_t, int, int, const scalar&, const T*, int, const T*, int,     \
                     const scalar&, T*, int);                                                      \
  template void ger(int, int, const scalar&, const T*, int, const T*, int, T*, int, bool);         \
  template void geam(cublasOperation_t, cublasOperation_t, int, int, const scalar&, const T*, int, \
                     const scalar&, const T*, int, T*, int);                                       \
  template void dgmm(bool, int, int, const T*, int, const T*, int, T*, int);                       \
  template void trsm(bool, bool, cublasOperation_t, bool, int, int, const scalar&, const T*, int, T*, int);
AP_FOR(float)
AP_FOR(double)
AP_FOR(float2)
AP_FOR(double2)
#undef AP_FOR

}  // namespace blas

void fill_random(void* to, std::size_t n, random_kind kind, double a, double b, unsigned long long seed,
                 unsigned long long first) {
  random_numbers numbers{seed, 0, first};
  const auto each = [&](auto* p, auto next) {
    for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<std::remove_pointer_t<decltype(p)>>(next());
  };
  const auto normal = [&] { return a + b * numbers.normal(); };
  switch (kind) {
    case random_kind::bits: return each(static_cast<unsigned*>(to), [&] { return numbers.bits(); });
    case random_kind::wide_bits:
      return each(static_cast<unsigned long long*>(to), [&] {
        const unsigned long long high = numbers.bits();
        return high << 32 | numbers.bits();
      });
    case random_kind::uniform: return each(static_cast<float*>(to), [&] { return numbers.uniform(); });
    case random_kind::uniform_double:
      return each(static_cast<double*>(to), [&] { return numbers.uniform_double(); });
    case random_kind::normal: return each(static_cast<float*>(to), normal);
    case random_kind::normal_double: return each(static_cast<double*>(to), normal);
    case random_kind::log_normal: return each(static_cast<float*>(to), [&] { return std::exp(normal()); });
    case random_kind::log_normal_double:
      return each(static_cast<double*>(to), [&] { return std::exp(normal()); });
    case random_kind::poisson: return each(static_cast<unsigned*>(to), [&] { return numbers.poisson(a); });
  }
}

}  // namespace antiphase::plain
