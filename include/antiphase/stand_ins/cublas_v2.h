// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#define CUBLAS_API_H_  // helper_cuda.h of the samples asks for it
#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION 120000
#include <antiphase/plain/cuComplex.h>
#include <antiphase/plain/cuda_bf16.h>
#include <antiphase/plain/cuda_fp16.h>
#include <antiphase/plain/libraries.h>
#include "library_types.h"

#include <antiphase/plain/letters.h>

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C, CUBLAS_OP_CONJG };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER, CUBLAS_FILL_MODE_FULL };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED, CUBLAS_ATOMICS_ALLOWED };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH,
  CUBLAS_TENSOR_OP_MATH,
  CUBLAS_PEDANTIC_MATH,
  CUBLAS_TF32_TENSOR_OP_MATH,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cublasGemmAlgo_t {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
#define AP_ALGORITHM(n) CUBLAS_GEMM_ALGO##n = n, CUBLAS_GEMM_ALGO##n##_TENSOR_OP = 100 + n,
  AP_ALGORITHM(0) AP_ALGORITHM(1) AP_ALGORITHM(2) AP_ALGORITHM(3) AP_ALGORITHM(4) AP_ALGORITHM(5)
      AP_ALGORITHM(6) AP_ALGORITHM(7) AP_ALGORITHM(8) AP_ALGORITHM(9) AP_ALGORITHM(10) AP_ALGORITHM(11)
          AP_ALGORITHM(12) AP_ALGORITHM(13) AP_ALGORITHM(14) AP_ALGORITHM(15)
#undef AP_ALGORITHM
              CUBLAS_GEMM_ALGO16 = 16,
  CUBLAS_GEMM_ALGO17,
  CUBLAS_GEMM_ALGO18,
  CUBLAS_GEMM_ALGO19,
  CUBLAS_GEMM_ALGO20,
  CUBLAS_GEMM_ALGO21,
  CUBLAS_GEMM_ALGO22,
  CUBLAS_GEMM_ALGO23,
  CUBLAS_GEMM_AUTOTUNE = 999
};
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
struct antiphase_plain_cublas {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
};
typedef antiphase_plain_cublas* cublasHandle_t;
typedef cublasStatus_t cublasStatus;

// Bodies of the operations, which the checker's own code computes.
namespace antiphase::plain::blas {
// alpha or beta, on the host, or on the device
struct scalar {
  alignas(16) unsigned char value[16];
  const void* on_device;
};
struct matrix {
  const void* data;
  const void* const* list;  // of a batch, or null
  long long stride;
  int ld;
  cudaDataType type;
  cublasOperation_t op;
};
// C = alpha op(A) op(B) + beta C; `scale` is the type of alpha and beta.
struct product {
  int m, n, k, batch;
  cudaDataType scale;
  scalar alpha, beta;
  matrix a, b, c;
};
void multiply(const product& p);
// Vectors have elements n, and `inc` of them between two.
template <class T> void axpy(int n, const scalar& alpha, const T* x, int incx, T* y, int incy);
template <class T> void scal(int n, const scalar& alpha, T* x, int incx);
template <class T> void copy(int n, const T* x, int incx, T* y, int incy, bool swaps);
template <class T> T dot(int n, const T* x, int incx, const T* y, int incy, bool conjugate);
template <class T> double norm(int n, const T* x, int incx, bool of_squares);
template <class T> int extreme(int n, const T* x, int incx, bool largest);  // from 1 on
template <class T> void gemv(cublasOperation_t op, int m, int n, const scalar& alpha, const T* a, int lda,
                             const T* x, int incx, const scalar& beta, T* y, int incy);
template <class T> void ger(int m, int n, const scalar& alpha, const T* x, int incx, const T* y, int incy,
                            T* a, int lda, bool conjugate);
template <class T> void geam(cublasOperation_t ta, cublasOperation_t tb, int m, int n, const scalar& alpha,
                             const T* a, int lda, const scalar& beta, const T* b, int ldb, T* c, int ldc);
template <class T>
void dgmm(bool left, int m, int n, const T* a, int lda, const T* x, int incx, T* c, int ldc);
template <class T> void trsm(bool left, bool upper, cublasOperation_t op, bool unit, int m, int n,
                             const scalar& alpha, const T* a, int lda, T* b, int ldb);

template <class T> AP_VERB scalar given(cublasHandle_t h, const T* p) {
  scalar s{{}, h->pointers == CUBLAS_POINTER_MODE_DEVICE ? p : nullptr};
  if (s.on_device == nullptr) std::memcpy(s.value, p, sizeof(T));
  return s;
}
AP_VERB scalar given(cublasHandle_t h, const void* p, cudaDataType type) {
  scalar s{{}, h->pointers == CUBLAS_POINTER_MODE_DEVICE ? p : nullptr};
  const std::size_t bytes = type == CUDA_R_16F || type == CUDA_R_16BF  ? 2
                            : type == CUDA_R_32F || type == CUDA_R_32I ? 4
                            : type == CUDA_C_64F                       ? 16
                                                                       : 8;
  if (s.on_device == nullptr) std::memcpy(s.value, p, bytes);
  return s;
}
// What the operation computes goes to `to`, which is the host's or the device's.
template <class R, class F>
AP_VERB cublasStatus_t result(cublasHandle_t h, const char* name, R* to, const F& f) {
  if (h->pointers == CUBLAS_POINTER_MODE_DEVICE) {
    kept_kernel(name, h->stream, [=] {
      const R r = f();
      library_store(to, &r, sizeof r);
    });
  } else {
    R r{};
    library_kernel(name, h->stream, after_it::host_waits, [&] { r = f(); });
    *to = r;
  }
  return CUBLAS_STATUS_SUCCESS;
}
constexpr bool too_narrow(const matrix& x, int rows, int columns) {
  const int least = x.op == CUBLAS_OP_N ? rows : columns;
  return x.ld < (least > 1 ? least : 1);
}
AP_VERB cublasStatus_t multiplied(cublasHandle_t h, const char* name, const product& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0 || too_narrow(p.a, p.m, p.k) ||
      too_narrow(p.b, p.k, p.n) || too_narrow(p.c, p.m, p.n))
    return CUBLAS_STATUS_INVALID_VALUE;
  kept_kernel(name, h->stream, [=] { multiply(p); });
  return CUBLAS_STATUS_SUCCESS;
}
template <class T> constexpr cudaDataType type_of = CUDA_R_32F;
template <> inline constexpr cudaDataType type_of<double> = CUDA_R_64F;
template <> inline constexpr cudaDataType type_of<__half> = CUDA_R_16F;
template <> inline constexpr cudaDataType type_of<float2> = CUDA_C_32F;
template <> inline constexpr cudaDataType type_of<double2> = CUDA_C_64F;
constexpr cudaDataType scale_of(cublasComputeType_t compute, cudaDataType c) {
  const bool complex = c == CUDA_C_32F || c == CUDA_C_64F;
  return compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC ? CUDA_R_16F
         : compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC
             ? complex ? CUDA_C_64F : CUDA_R_64F
         : compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC ? CUDA_R_32I
         : complex                                                                 ? CUDA_C_32F
                                                                                   : CUDA_R_32F;
}
// C = alpha A B + beta C of matrices that have types of their own.
AP_VERB cublasStatus_t multiplied(cublasHandle_t h, const char* name, int m, int n, int k, int batch,
                                  cublasComputeType_t compute, const void* alpha, const void* beta,
                                  const matrix& a, const matrix& b, const matrix& c) {
  const cudaDataType scale = scale_of(compute, c.type);
  return multiplied(h, name, {m, n, k, batch, scale, given(h, alpha, scale), given(h, beta, scale), a, b, c});
}
}  // namespace antiphase::plain::blas

#define AP_BLAS AP_C_OR_INLINE cublasStatus_t
AP_BLAS AP_V2(cublasCreate)(cublasHandle_t* h) {
  return *h = new antiphase_plain_cublas, CUBLAS_STATUS_SUCCESS;
}
AP_BLAS AP_V2(cublasDestroy)(cublasHandle_t h) { return delete h, CUBLAS_STATUS_SUCCESS; }
AP_BLAS AP_V2(cublasSetStream)(cublasHandle_t h, cudaStream_t s) {
  return h->stream = s, CUBLAS_STATUS_SUCCESS;
}
AP_BLAS AP_V2(cublasGetStream)(cublasHandle_t h, cudaStream_t* s) {
  return *s = h->stream, CUBLAS_STATUS_SUCCESS;
}
AP_BLAS cublasSetMathMode(cublasHandle_t h, cublasMath_t m) { return h->math = m, CUBLAS_STATUS_SUCCESS; }
AP_BLAS cublasGetMathMode(cublasHandle_t h, cublasMath_t* m) { return *m = h->math, CUBLAS_STATUS_SUCCESS; }
AP_BLAS AP_V2(cublasSetPointerMode)(cublasHandle_t h, cublasPointerMode_t m) {
  return h->pointers = m, CUBLAS_STATUS_SUCCESS;
}
AP_BLAS AP_V2(cublasGetPointerMode)(cublasHandle_t h, cublasPointerMode_t* m) {
  return *m = h->pointers, CUBLAS_STATUS_SUCCESS;
}
AP_BLAS cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t m) {
  return h->atomics = m, CUBLAS_STATUS_SUCCESS;
}
AP_BLAS AP_V2(cublasSetWorkspace)(cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; }
AP_BLAS AP_V2(cublasGetVersion)(cublasHandle_t, int* v) { return *v = 120000, CUBLAS_STATUS_SUCCESS; }
AP_C_OR_INLINE const char* cublasGetStatusString(cublasStatus_t s) {
  return s == CUBLAS_STATUS_SUCCESS         ? "success"
         : s == CUBLAS_STATUS_INVALID_VALUE ? "invalid value"
                                            : "failure";
}
AP_C_OR_INLINE const char* cublasGetStatusName(cublasStatus_t s) {
  return s == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
         : s == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                            : "CUBLAS_STATUS_INTERNAL_ERROR";
}
namespace antiphase::plain::blas {
inline cublasStatus_t copied(int rows, int columns, int bytes, const void* from, int lda, void* to, int ldb,
                             cudaStream_t s, returns when, place at) {
  const auto b = static_cast<std::size_t>(bytes);
  return copy_rows(to, b * ldb, from, b * lda, b * rows, columns, cudaMemcpyDefault, s, when, at) ==
                 cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_MAPPING_ERROR;
}
}  // namespace antiphase::plain::blas
// A vector is a row of columns of one element.
#define AP_COPIES(Name)                                                                                      \
  AP_BLAS Name##Matrix(int rows, int columns, int bytes, const void* from, int lda, void* to,                \
                       int ldb AP_LINE_OF_CALLER) {                                                          \
    return antiphase::plain::blas::copied(rows, columns, bytes, from, lda, to, ldb, nullptr,                 \
                                          antiphase::plain::returns::when_done, AP_CALLER);                  \
  }                                                                                                          \
  AP_BLAS Name##Vector(int n, int bytes, const void* from, int incx, void* to, int incy AP_LINE_OF_CALLER) { \
    return antiphase::plain::blas::copied(1, n, bytes, from, incx, to, incy, nullptr,                        \
                                          antiphase::plain::returns::when_done, AP_CALLER);                  \
  }                                                                                                          \
  AP_BLAS Name##MatrixAsync(int rows, int columns, int bytes, const void* from, int lda, void* to, int ldb,  \
                            cudaStream_t s AP_LINE_OF_CALLER) {                                              \
    return antiphase::plain::blas::copied(rows, columns, bytes, from, lda, to, ldb, s,                       \
                                          antiphase::plain::returns::at_once, AP_CALLER);                    \
  }
AP_COPIES(cublasSet)
AP_COPIES(cublasGet)
#undef AP_COPIES

AP_BLAS cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                                   int k, const void* alpha, const void* a, cudaDataType at, int lda,
                                   long long sa, const void* b, cudaDataType bt, int ldb, long long sb,
                                   const void* beta, void* c, cudaDataType ct, int ldc, long long sc,
                                   int batch, cublasComputeType_t compute,
                                   cublasGemmAlgo_t = CUBLAS_GEMM_DEFAULT) {
  return antiphase::plain::blas::multiplied(h, "cublasGemmEx", m, n, k, batch, compute, alpha, beta,
                                            {a, nullptr, sa, lda, at, ta}, {b, nullptr, sb, ldb, bt, tb},
                                            {c, nullptr, sc, ldc, ct, CUBLAS_OP_N});
}
AP_BLAS cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                     const void* alpha, const void* a, cudaDataType at, int lda, const void* b,
                     cudaDataType bt, int ldb, const void* beta, void* c, cudaDataType ct, int ldc,
                     cublasComputeType_t compute, cublasGemmAlgo_t = CUBLAS_GEMM_DEFAULT) {
  return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc,
                                    0, 1, compute);
}
// as before CUDA 11: a data type names the computation
constexpr cublasComputeType_t ap_compute_of(cudaDataType t) {
  return t == CUDA_R_16F                      ? CUBLAS_COMPUTE_16F
         : t == CUDA_R_64F || t == CUDA_C_64F ? CUBLAS_COMPUTE_64F
         : t == CUDA_R_32I                    ? CUBLAS_COMPUTE_32I
                                              : CUBLAS_COMPUTE_32F;
}
AP_VERB cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                                    int n, int k, const void* alpha, const void* a, cudaDataType at, int lda,
                                    const void* b, cudaDataType bt, int ldb, const void* beta, void* c,
                                    cudaDataType ct, int ldc, cudaDataType compute,
                                    cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT) {
  return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc,
                      ap_compute_of(compute), algo);
}
AP_BLAS cublasGemmBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void* alpha, const void* const* a, cudaDataType at, int lda,
                            const void* const* b, cudaDataType bt, int ldb, const void* beta, void* const* c,
                            cudaDataType ct, int ldc, int batch, cublasComputeType_t compute,
                            cublasGemmAlgo_t = CUBLAS_GEMM_DEFAULT) {
  return antiphase::plain::blas::multiplied(h, "cublasGemmBatchedEx", m, n, k, batch, compute, alpha, beta,
                                            {nullptr, a, 0, lda, at, ta}, {nullptr, b, 0, ldb, bt, tb},
                                            {nullptr, (const void* const*)c, 0, ldc, ct, CUBLAS_OP_N});
}
AP_BLAS cublasSgemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                      const float* alpha, const void* a, cudaDataType at, int lda, const void* b,
                      cudaDataType bt, int ldb, const float* beta, void* c, cudaDataType ct, int ldc) {
  return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc,
                      CUBLAS_COMPUTE_32F);
}
#define AP_PRODUCTS(L, T)                                                                                    \
  AP_BLAS cublas##L##gemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, \
                                        int n, int k, const T* alpha, const T* a, int lda, long long sa,     \
                                        const T* b, int ldb, long long sb, const T* beta, T* c, int ldc,     \
                                        long long sc, int batch) {                                           \
    namespace blas = antiphase::plain::blas;                                                                 \
    constexpr auto t = blas::type_of<T>;                                                                     \
    return blas::multiplied(h, "cublas" #L "gemm",                                                           \
                            {m,                                                                              \
                             n,                                                                              \
                             k,                                                                              \
                             batch,                                                                          \
                             t,                                                                              \
                             blas::given(h, alpha),                                                          \
                             blas::given(h, beta),                                                           \
                             {a, nullptr, sa, lda, t, ta},                                                   \
                             {b, nullptr, sb, ldb, t, tb},                                                   \
                             {c, nullptr, sc, ldc, t, CUBLAS_OP_N}});                                        \
  }                                                                                                          \
  AP_BLAS AP_V2(cublas##L##gemm)(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, \
                                 int k, const T* alpha, const T* a, int lda, const T* b, int ldb,            \
                                 const T* beta, T* c, int ldc) {                                             \
    return cublas##L##gemmStridedBatched(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0,   \
                                         1);                                                                 \
  }                                                                                                          \
  AP_BLAS cublas##L##gemmBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, \
                                 int k, const T* alpha, const T* const a[], int lda, const T* const b[],     \
                                 int ldb, const T* beta, T* const c[], int ldc, int batch) {                 \
    namespace blas = antiphase::plain::blas;                                                                 \
    constexpr auto t = blas::type_of<T>;                                                                     \
    return blas::multiplied(h, "cublas" #L "gemmBatched",                                                    \
                            {m,                                                                              \
                             n,                                                                              \
                             k,                                                                              \
                             batch,                                                                          \
                             t,                                                                              \
                             blas::given(h, alpha),                                                          \
                             blas::given(h, beta),                                                           \
                             {nullptr, (const void* const*)a, 0, lda, t, ta},                                \
                             {nullptr, (const void* const*)b, 0, ldb, t, tb},                                \
                             {nullptr, (const void* const*)c, 0, ldc, t, CUBLAS_OP_N}});                     \
  }
AP_PRODUCTS(S, float)
AP_PRODUCTS(D, double)
AP_PRODUCTS(H, __half)
AP_PRODUCTS(C, cuComplex)
AP_PRODUCTS(Z, cuDoubleComplex)
#undef AP_PRODUCTS

#define AP_OPERATION(name, ...)                                           \
  {                                                                       \
    namespace blas = antiphase::plain::blas;                              \
    antiphase::plain::kept_kernel(name, h->stream, [=] { __VA_ARGS__; }); \
    return CUBLAS_STATUS_SUCCESS;                                         \
  }
#define AP_VECTORS(L, T)                                                                                    \
  AP_BLAS AP_V2(cublas##L##axpy)(cublasHandle_t h, int n, const T* alpha, const T* x, int incx, T* y,       \
                                 int incy) {                                                                \
    const auto s = antiphase::plain::blas::given(h, alpha);                                                 \
    AP_OPERATION("cublas" #L "axpy", blas::axpy(n, s, x, incx, y, incy))                                    \
  }                                                                                                         \
  AP_BLAS AP_V2(cublas##L##scal)(cublasHandle_t h, int n, const T* alpha, T* x, int incx) {                 \
    const auto s = antiphase::plain::blas::given(h, alpha);                                                 \
    AP_OPERATION("cublas" #L "scal", blas::scal(n, s, x, incx))                                             \
  }                                                                                                         \
  AP_BLAS AP_V2(cublas##L##copy)(cublasHandle_t h, int n, const T* x, int incx, T* y, int incy){            \
      AP_OPERATION("cublas" #L "copy", blas::copy(n, x, incx, y, incy, false))} AP_BLAS                     \
  AP_V2(cublas##L##swap)(cublasHandle_t h, int n, T* x, int incx, T* y, int incy){                          \
      AP_OPERATION("cublas" #L "swap", blas::copy<T>(n, x, incx, y, incy, true))} AP_BLAS                   \
  AP_V2(cublas##L##gemv)(cublasHandle_t h, cublasOperation_t op, int m, int n, const T* alpha, const T* a,  \
                         int lda, const T* x, int incx, const T* beta, T* y, int incy) {                    \
    if (m < 0 || n < 0 || incx == 0 || incy == 0 || lda < (m > 1 ? m : 1))                                  \
      return CUBLAS_STATUS_INVALID_VALUE;                                                                   \
    const auto s = antiphase::plain::blas::given(h, alpha), t = antiphase::plain::blas::given(h, beta);     \
    AP_OPERATION("cublas" #L "gemv", blas::gemv(op, m, n, s, a, lda, x, incx, t, y, incy))                  \
  }                                                                                                         \
  AP_BLAS cublas##L##geam(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,       \
                          const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c,    \
                          int ldc) {                                                                        \
    const auto s = antiphase::plain::blas::given(h, alpha), t = antiphase::plain::blas::given(h, beta);     \
    AP_OPERATION("cublas" #L "geam", blas::geam(ta, tb, m, n, s, a, lda, t, b, ldb, c, ldc))                \
  }                                                                                                         \
  AP_BLAS cublas##L##dgmm(cublasHandle_t h, cublasSideMode_t side, int m, int n, const T* a, int lda,       \
                          const T* x, int incx, T* c, int ldc){AP_OPERATION(                                \
      "cublas" #L "dgmm", blas::dgmm(side == CUBLAS_SIDE_LEFT, m, n, a, lda, x, incx, c, ldc))} AP_BLAS     \
  AP_V2(cublas##L##trsm)(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill,                    \
                         cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha,     \
                         const T* a, int lda, T* b, int ldb) {                                              \
    const auto s = antiphase::plain::blas::given(h, alpha);                                                 \
    AP_OPERATION("cublas" #L "trsm", blas::trsm(side == CUBLAS_SIDE_LEFT, fill == CUBLAS_FILL_MODE_UPPER,   \
                                                op, diagonal == CUBLAS_DIAG_UNIT, m, n, s, a, lda, b, ldb)) \
  }
AP_VECTORS(S, float)
AP_VECTORS(D, double)
AP_VECTORS(C, cuComplex)
AP_VECTORS(Z, cuDoubleComplex)
#undef AP_VECTORS
#define AP_RESULT(Name, T, R, ...)                                           \
  AP_BLAS AP_V2(Name)(cublasHandle_t h, int n, const T* x, int incx, R* r) { \
    return antiphase::plain::blas::result(h, #Name, r, [=] {                 \
      namespace blas = antiphase::plain::blas;                               \
      return static_cast<R>(__VA_ARGS__);                                    \
    });                                                                      \
  }
#define AP_RESULTS(L, T, Norm, Sum, R)                                 \
  AP_RESULT(Norm, T, R, blas::norm(n, x, incx, true))                  \
  AP_RESULT(Sum, T, R, blas::norm(n, x, incx, false))                  \
  AP_RESULT(cublasI##L##amax, T, int, blas::extreme(n, x, incx, true)) \
  AP_RESULT(cublasI##L##amin, T, int, blas::extreme(n, x, incx, false))
AP_RESULTS(s, float, cublasSnrm2, cublasSasum, float)
AP_RESULTS(d, double, cublasDnrm2, cublasDasum, double)
AP_RESULTS(c, cuComplex, cublasScnrm2, cublasScasum, float)
AP_RESULTS(z, cuDoubleComplex, cublasDznrm2, cublasDzasum, double)
#undef AP_RESULTS
#undef AP_RESULT
#define AP_DOT(Name, T, conjugate)                                                                 \
  AP_BLAS AP_V2(Name)(cublasHandle_t h, int n, const T* x, int incx, const T* y, int incy, T* r) { \
    return antiphase::plain::blas::result(                                                         \
        h, #Name, r, [=] { return antiphase::plain::blas::dot(n, x, incx, y, incy, conjugate); }); \
  }
AP_DOT(cublasSdot, float, false)
AP_DOT(cublasDdot, double, false)
AP_DOT(cublasCdotu, cuComplex, false)
AP_DOT(cublasCdotc, cuComplex, true)
AP_DOT(cublasZdotu, cuDoubleComplex, false)
AP_DOT(cublasZdotc, cuDoubleComplex, true)
#undef AP_DOT
#define AP_GER(Name, T, conjugate)                                                                      \
  AP_BLAS AP_V2(Name)(cublasHandle_t h, int m, int n, const T* alpha, const T* x, int incx, const T* y, \
                      int incy, T* a, int lda) {                                                        \
    const auto s = antiphase::plain::blas::given(h, alpha);                                             \
    AP_OPERATION(#Name, blas::ger(m, n, s, x, incx, y, incy, a, lda, conjugate))                        \
  }
AP_GER(cublasSger, float, false)
AP_GER(cublasDger, double, false)
AP_GER(cublasCgeru, cuComplex, false)
AP_GER(cublasCgerc, cuComplex, true)
AP_GER(cublasZgeru, cuDoubleComplex, false)
AP_GER(cublasZgerc, cuDoubleComplex, true)
#undef AP_GER
#undef AP_OPERATION
#undef AP_BLAS
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm

#include <antiphase/plain/letters.h>
