// SPDX-License-Identifier: Apache-2.0
// cuBLAS, found at run time: the program starts without it.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <limits>

#include "tool/base/shared_library.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

using handle = void*;
constexpr int not_transposed = 0, transposed_operand = 1;  // CUBLAS_OP_N, CUBLAS_OP_T
constexpr int pedantic = 2;                                // CUBLAS_PEDANTIC_MATH: FP32 in every step, no Tensor Cores
constexpr int sums_in_fp32 = 16;                           // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
constexpr int real_16 = 2, real_32 = 0;                    // CUDA_R_16F, CUDA_R_32F
constexpr int compute_32 = 68, any_algorithm = -1;         // CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT

// A row-major matrix is a column-major one that is transposed.
struct operand {
  int how, leading;
};
operand describe(const matrix_view<const float>& v) {
  const bool by_rows = v.column_stride == 1;
  return {by_rows ? not_transposed : transposed_operand,
          static_cast<int>(std::max<std::int64_t>(1, by_rows ? v.row_stride : v.column_stride))};
}

// The functions of cuBLAS that are needed, as its stable C interface declares them. A status of 0 is success.
class cublas {
 public:
  cublas() {
    library_.find(create_, "cublasCreate_v2");
    library_.find(destroy_, "cublasDestroy_v2");
    library_.find(set_stream_, "cublasSetStream_v2");
    library_.find(set_math_, "cublasSetMathMode");
    library_.find(sgemm_, "cublasSgemm_v2");
    library_.find(gemm_ex_, "cublasGemmEx");
    library_.find(property_, "cublasGetProperty");
  }
  cublas(const cublas&) = delete;
  cublas& operator=(const cublas&) = delete;
  ~cublas() {
    if (handle_ != nullptr) destroy_(handle_);
  }

  std::string version() const {
    int number[3] = {};  // major, minor, patch
    for (int i = 0; i < 3; ++i) check(property_(i, &number[i]), "cublasGetProperty");
    return fmt::format("{}.{}.{}", number[0], number[1], number[2]);
  }
  const std::string& why_not() const { return library_.why_not(); }

  // Row-major C = A * B is column-major C' = B' * A'.
  void multiply(const gemms::problem& p, stream on) {
    begin(pedantic, on);
    const int m = static_cast<int>(p.m()), n = static_cast<int>(p.n()), k = static_cast<int>(p.k());
    const operand a = describe(p.a), b = describe(p.b);
    check(sgemm_(handle_, b.how, a.how, n, m, k, &p.alpha, p.b.data, b.leading, p.a.data, a.leading, &p.beta, p.c.data, n), "cublasSgemm");
  }
  void multiply(const gemms::tensor_core_problem& p, stream on) {
    begin(sums_in_fp32, on);
    const int m = static_cast<int>(p.m()), n = static_cast<int>(p.n()), k = static_cast<int>(p.k());
    const auto apart = [](const auto& v) { return static_cast<int>(v.row_stride); };
    const float one = 1, zero = 0;
    check(gemm_ex_(handle_, not_transposed, not_transposed, n, m, k, &one, p.b.data, real_16, apart(p.b), p.a.data, real_16, apart(p.a),
                   &zero, p.c.data, real_32, apart(p.c), compute_32, any_algorithm),
          "cublasGemmEx");
  }

 private:
  shared_library library_{"cuBLAS", {"libcublas.so.13", "libcublas.so.12"}};
  handle handle_ = nullptr;
  int (*create_)(handle*) = nullptr;
  int (*destroy_)(handle) = nullptr;
  int (*set_stream_)(handle, stream) = nullptr;
  int (*set_math_)(handle, int) = nullptr;
  int (*sgemm_)(handle, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int) = nullptr;
  int (*property_)(int, int*) = nullptr;
  int (*gemm_ex_)(handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*, void*, int, int,
                  int, int) = nullptr;

  // In every call, as FP32 and f16 products share the handle, which belongs to the device that is current in the first one.
  void begin(int math, stream on) {
    if (handle_ == nullptr) check(create_(&handle_), "cublasCreate");
    check(set_math_(handle_, math), "cublasSetMathMode");
    check(set_stream_(handle_, on), "cublasSetStream");
  }
  static void check(int status, const char* call) {
    if (status != 0) throw device_error(fmt::format("{} failed with status {}", call, status));
  }
};

// A handle takes a while to make: rivals share it for as long as there is one.
std::shared_ptr<cublas> shared_library() {
  static std::weak_ptr<cublas> known;
  auto library = known.lock();
  if (!library) known = library = std::make_shared<cublas>();
  return library;
}
rival product_of(const auto& p, const char* mode) {
  rival result{.name = "cuBLAS", .mode = mode};
  if (std::max({p.m(), p.n(), p.k()}) > std::numeric_limits<int>::max()) {
    result.why_not = "its integers have 32 bits";
    return result;
  }
  const std::shared_ptr<cublas> library = shared_library();
  result.why_not = library->why_not();
  if (!result.why_not.empty()) return result;
  result.version = library->version();
  result.run = [library, p](stream on) { library->multiply(p, on); };
  return result;
}

}  // namespace

rival cublas_product(const gemms::problem& p) { return product_of(p, "cublasSgemm, pedantic math: FP32 in every step"); }
rival cublas_product(const gemms::tensor_core_problem& p) {
  return product_of(p, "cublasGemmEx, f16 operands, sums in FP32 without reductions in f16");
}

}  // namespace antiphase::tool
