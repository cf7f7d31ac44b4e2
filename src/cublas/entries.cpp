// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that callers reach instead of cuBLAS's own. Each reads its call and hands it to antiphase, or on to the original.
#include <cerrno>

#include "src/cublas/abi.hpp"
#include "src/cublas/products.hpp"

using namespace antiphase::cublas;

namespace {

// An entry's original for its caller, and how to call it. errno stays as the caller has left it, but for what the original does to it.
template <class Function> struct next {
  int errors = errno;
  function by;
  const original& of;
  next(function which, const void* called_from) : by(which), of(original_of(which, called_from)) {}
  ~next() { errno = errors; }
  next(const next&) = delete;
  next& operator=(const next&) = delete;
  // `call` calls the original, with another C if it is given one.
  template <class Call> int operator()(const product& p, handle on, Call call) const {
    if (is_passed_on_at_once(p)) return call(nullptr);
    return carried_out([&] { return request_of(of, by, on, p); }, call);
  }
  template <class... Arguments> int passed_on(Arguments... all) {
    if (of.function == nullptr) return status_not_initialized;
    const passing_on now;
    errno = errors;
    const int status = reinterpret_cast<Function*>(of.function)(all...);
    errors = errno;
    return status;
  }
};
template <class T> T* or_else(void* other, T* c) { return other != nullptr ? static_cast<T*>(other) : c; }

constexpr bool all_f32(int a, int b, int c) { return a == type_f32 && b == type_f32 && c == type_f32; }

// What all entries say of a product, in the order of their arguments.
product one_product(int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a, std::int64_t lda,
                    const void* b, std::int64_t ldb, const void* beta, void* c, std::int64_t ldc) {
  product p;
  p.op_a = ta, p.op_b = tb, p.m = m, p.n = n, p.k = k;
  p.alpha = alpha, p.a = a, p.b = b, p.beta = beta, p.c = c;
  p.lda = lda, p.ldb = ldb, p.ldc = ldc;
  return p;
}
product in_batch(product p, std::int64_t step_a, std::int64_t step_b, std::int64_t step_c, std::int64_t count) {
  p.count = count, p.a_stride = step_a, p.b_stride = step_b, p.c_stride = step_c;
  return p;
}

template <class Int> int sgemm(function which, const void* from, handle on, int ta, int tb, Int m, Int n, Int k, const float* alpha,
                               const float* a, Int lda, const float* b, Int ldb, const float* beta, float* c, Int ldc) {
  const product p = one_product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  next<sgemm_function<Int>> to(which, from);
  return to(p, on, [&](void* other) { return to.passed_on(on, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, or_else(other, c), ldc); });
}

template <class Int> int sgemm_ex(function which, const void* from, handle on, int ta, int tb, Int m, Int n, Int k, const float* alpha,
                                  const void* a, int type_a, Int lda, const void* b, int type_b, Int ldb, const float* beta, void* c,
                                  int type_c, Int ldc) {
  product p = one_product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  p.is_f32 = all_f32(type_a, type_b, type_c);
  next<sgemm_ex_function<Int>> to(which, from);
  return to(p, on, [&](void* other) {
    return to.passed_on(on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, or_else(other, c), type_c, ldc);
  });
}

template <class Int> int gemm_ex(function which, const void* from, handle on, int ta, int tb, Int m, Int n, Int k, const void* alpha,
                                 const void* a, int type_a, Int lda, const void* b, int type_b, Int ldb, const void* beta, void* c,
                                 int type_c, Int ldc, int compute, int algorithm) {
  product p = one_product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  p.is_f32 = all_f32(type_a, type_b, type_c), p.compute = compute;
  next<gemm_ex_function<Int>> to(which, from);
  return to(p, on, [&](void* other) {
    return to.passed_on(on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, or_else(other, c), type_c, ldc, compute,
                        algorithm);
  });
}

template <class Int> int sgemm_strided(function which, const void* from, handle on, int ta, int tb, Int m, Int n, Int k, const float* alpha,
                                       const float* a, Int lda, long long step_a, const float* b, Int ldb, long long step_b,
                                       const float* beta, float* c, Int ldc, long long step_c, Int count) {
  const product p = in_batch(one_product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), step_a, step_b, step_c, count);
  next<sgemm_strided_function<Int>> to(which, from);
  return to(p, on, [&](void* other) {
    return to.passed_on(on, ta, tb, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, or_else(other, c), ldc, step_c, count);
  });
}

template <class Int> int gemm_strided_ex(function which, const void* from, handle on, int ta, int tb, Int m, Int n, Int k,
                                         const void* alpha, const void* a, int type_a, Int lda, long long step_a, const void* b, int type_b,
                                         Int ldb, long long step_b, const void* beta, void* c, int type_c, Int ldc, long long step_c,
                                         Int count, int compute, int algorithm) {
  product p = in_batch(one_product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), step_a, step_b, step_c, count);
  p.is_f32 = all_f32(type_a, type_b, type_c), p.compute = compute;
  next<gemm_strided_ex_function<Int>> to(which, from);
  return to(p, on, [&](void* other) {
    return to.passed_on(on, ta, tb, m, n, k, alpha, a, type_a, lda, step_a, b, type_b, ldb, step_b, beta, or_else(other, c), type_c, ldc,
                        step_c, count, compute, algorithm);
  });
}

// Arrays of pointers are the device's: nobody looks at them here.
product by_pointers(product p, std::int64_t count) {
  p.by_pointers = true, p.count = count;
  return p;
}
template <class Int> int sgemm_batched(function which, const void* from, handle on, int ta, int tb, Int m, Int n, Int k, const float* alpha,
                                       const float* const* a, Int lda, const float* const* b, Int ldb, const float* beta, float* const* c,
                                       Int ldc, Int count) {
  const product p = by_pointers(one_product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, const_cast<float**>(c), ldc), count);
  next<sgemm_batched_function<Int>> to(which, from);
  return to(p, on, [&](void*) { return to.passed_on(on, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count); });
}
template <class Int> int gemm_batched_ex(function which, const void* from, handle on, int ta, int tb, Int m, Int n, Int k,
                                         const void* alpha, const void* const* a, int type_a, Int lda, const void* const* b, int type_b,
                                         Int ldb, const void* beta, void* const* c, int type_c, Int ldc, Int count, int compute,
                                         int algorithm) {
  product p = by_pointers(one_product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, const_cast<void**>(c), ldc), count);
  p.is_f32 = all_f32(type_a, type_b, type_c), p.compute = compute;
  next<gemm_batched_ex_function<Int>> to(which, from);
  return to(p, on, [&](void*) {
    return to.passed_on(on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, count, compute, algorithm);
  });
}

}  // namespace

extern "C" {

int cublasSgemm_v2(handle on, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                   const float* beta, float* c, int ldc) {
  return sgemm(function::sgemm, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
int cublasSgemm_v2_64(handle on, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const float* alpha, const float* a,
                      std::int64_t lda, const float* b, std::int64_t ldb, const float* beta, float* c, std::int64_t ldc) {
  return sgemm(function::sgemm_64, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
int cublasSgemmEx(handle on, int ta, int tb, int m, int n, int k, const float* alpha, const void* a, int type_a, int lda, const void* b,
                  int type_b, int ldb, const float* beta, void* c, int type_c, int ldc) {
  return sgemm_ex(function::sgemm_ex, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
                  type_c, ldc);
}
int cublasSgemmEx_64(handle on, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const float* alpha, const void* a,
                     int type_a, std::int64_t lda, const void* b, int type_b, std::int64_t ldb, const float* beta, void* c, int type_c,
                     std::int64_t ldc) {
  return sgemm_ex(function::sgemm_ex_64, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
                  type_c, ldc);
}
int cublasGemmEx(handle on, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int type_a, int lda, const void* b,
                 int type_b, int ldb, const void* beta, void* c, int type_c, int ldc, int compute, int algorithm) {
  return gemm_ex(function::gemm_ex, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
                 type_c, ldc, compute, algorithm);
}
int cublasGemmEx_64(handle on, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a, int type_a,
                    std::int64_t lda, const void* b, int type_b, std::int64_t ldb, const void* beta, void* c, int type_c, std::int64_t ldc,
                    int compute, int algorithm) {
  return gemm_ex(function::gemm_ex_64, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
                 type_c, ldc, compute, algorithm);
}
int cublasSgemmStridedBatched(handle on, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda, long long step_a,
                              const float* b, int ldb, long long step_b, const float* beta, float* c, int ldc, long long step_c,
                              int count) {
  return sgemm_strided(function::sgemm_strided, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, lda, step_a, b, ldb, step_b,
                       beta, c, ldc, step_c, count);
}
int cublasSgemmStridedBatched_64(handle on, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const float* alpha,
                                 const float* a, std::int64_t lda, long long step_a, const float* b, std::int64_t ldb, long long step_b,
                                 const float* beta, float* c, std::int64_t ldc, long long step_c, std::int64_t count) {
  return sgemm_strided(function::sgemm_strided_64, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, lda, step_a, b, ldb, step_b,
                       beta, c, ldc, step_c, count);
}
int cublasGemmStridedBatchedEx(handle on, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int type_a, int lda,
                               long long step_a, const void* b, int type_b, int ldb, long long step_b, const void* beta, void* c,
                               int type_c, int ldc, long long step_c, int count, int compute, int algorithm) {
  return gemm_strided_ex(function::gemm_strided_ex, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, step_a, b,
                         type_b, ldb, step_b, beta, c, type_c, ldc, step_c, count, compute, algorithm);
}
int cublasGemmStridedBatchedEx_64(handle on, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                                  const void* a, int type_a, std::int64_t lda, long long step_a, const void* b, int type_b,
                                  std::int64_t ldb, long long step_b, const void* beta, void* c, int type_c, std::int64_t ldc,
                                  long long step_c, std::int64_t count, int compute, int algorithm) {
  return gemm_strided_ex(function::gemm_strided_ex_64, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, step_a, b,
                         type_b, ldb, step_b, beta, c, type_c, ldc, step_c, count, compute, algorithm);
}

int cublasSgemmBatched(handle on, int ta, int tb, int m, int n, int k, const float* alpha, const float* const* a, int lda,
                       const float* const* b, int ldb, const float* beta, float* const* c, int ldc, int count) {
  return sgemm_batched(function::sgemm_batched, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                       count);
}
int cublasSgemmBatched_64(handle on, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const float* alpha,
                          const float* const* a, std::int64_t lda, const float* const* b, std::int64_t ldb, const float* beta,
                          float* const* c, std::int64_t ldc, std::int64_t count) {
  return sgemm_batched(function::sgemm_batched_64, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                       count);
}
int cublasGemmBatchedEx(handle on, int ta, int tb, int m, int n, int k, const void* alpha, const void* const* a, int type_a, int lda,
                        const void* const* b, int type_b, int ldb, const void* beta, void* const* c, int type_c, int ldc, int count,
                        int compute, int algorithm) {
  return gemm_batched_ex(function::gemm_batched_ex, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb,
                         beta, c, type_c, ldc, count, compute, algorithm);
}
int cublasGemmBatchedEx_64(handle on, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                           const void* const* a, int type_a, std::int64_t lda, const void* const* b, int type_b, std::int64_t ldb,
                           const void* beta, void* const* c, int type_c, std::int64_t ldc, std::int64_t count, int compute, int algorithm) {
  return gemm_batched_ex(function::gemm_batched_ex_64, __builtin_return_address(0), on, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b,
                         ldb, beta, c, type_c, ldc, count, compute, algorithm);
}

int cublasLtMatmul(handle on, description how, const void* alpha, const void* a, layout of_a, const void* b, layout of_b, const void* beta,
                   const void* c, layout of_c, void* d, layout of_d, const void* algorithm, void* workspace, std::size_t bytes,
                   antiphase_stream stream) {
  next<lt_matmul_function> to(function::lt_matmul, __builtin_return_address(0));
  const lt_product p{how, alpha, a, b, beta, c, d, of_a, of_b, of_c, of_d, stream};
  return carried_out([&] { return request_of(to.of, on, p); },
                     [&](void* other) {
                       const void* const added = c == d && other != nullptr ? other : c;
                       return to.passed_on(on, how, alpha, a, of_a, b, of_b, beta, added, of_c, or_else(other, d), of_d, algorithm,
                                           workspace, bytes, stream);
                     });
}

}  // extern "C"

void* antiphase::cublas::entry_of(function which) {
  const auto address = [](auto* entry) { return reinterpret_cast<void*>(entry); };
  switch (which) {
    case function::sgemm: return address(cublasSgemm_v2);
    case function::sgemm_64: return address(cublasSgemm_v2_64);
    case function::sgemm_ex: return address(cublasSgemmEx);
    case function::sgemm_ex_64: return address(cublasSgemmEx_64);
    case function::gemm_ex: return address(cublasGemmEx);
    case function::gemm_ex_64: return address(cublasGemmEx_64);
    case function::sgemm_strided: return address(cublasSgemmStridedBatched);
    case function::sgemm_strided_64: return address(cublasSgemmStridedBatched_64);
    case function::gemm_strided_ex: return address(cublasGemmStridedBatchedEx);
    case function::gemm_strided_ex_64: return address(cublasGemmStridedBatchedEx_64);
    case function::sgemm_batched: return address(cublasSgemmBatched);
    case function::sgemm_batched_64: return address(cublasSgemmBatched_64);
    case function::gemm_batched_ex: return address(cublasGemmBatchedEx);
    case function::gemm_batched_ex_64: return address(cublasGemmBatchedEx_64);
    case function::lt_matmul: return address(cublasLtMatmul);
  }
  return nullptr;
}
