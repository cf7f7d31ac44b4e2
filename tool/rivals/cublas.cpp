// SPDX-License-Identifier: Apache-2.0
// cuBLAS, loaded at run time: the program starts without it.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <limits>

#include "tool/base/shared_library.hpp"
#include "tool/rivals/cublas_lt.hpp"
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

using handle = void*;
// CUBLAS_PEDANTIC_MATH: FP32 in every step, no Tensor Cores
constexpr int default_math = 0, pedantic = 2;
constexpr int sums_in_fp32 = 16;                    // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
constexpr int real_16 = 2, real_32 = 0;             // CUDA_R_16F, CUDA_R_32F
constexpr int brain_16 = 14;                        // CUDA_R_16BF
constexpr int compute_32 = 68, any_algorithm = -1;  // CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT

// The required functions of cuBLAS, as declared by its stable C interface. A status of 0 means success.
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
    library_.find(set_workspace_, "cublasSetWorkspace_v2");
    library_.find(batched_, "cublasSgemmStridedBatched");
  }
  cublas(const cublas&) = delete;
  cublas& operator=(const cublas&) = delete;
  ~cublas() {
    if (handle_ != nullptr) destroy_(handle_);
  }

  std::string version() const {
    int number[3] = {};  // major, minor, patch
    for (int i = 0; i < 3; ++i) check_cublas(property_(i, &number[i]), "cublasGetProperty");
    return fmt::format("{}.{}.{}", number[0], number[1], number[2]);
  }
  const std::string& why_not() const { return library_.why_not(); }

  // Row-major C = A * B is column-major C' = B' * A'.
  void multiply(const gemms::problem& p, stream on) {
    begin(pedantic, on);
    const int m = static_cast<int>(p.m()), n = static_cast<int>(p.n()), k = static_cast<int>(p.k());
    const cublas_operand a = cublas_operand_of(p.a), b = cublas_operand_of(p.b);
    check_cublas(sgemm_(handle_, b.operation, a.operation, n, m, k, &p.alpha, p.b.data, b.leading, p.a.data,
                        a.leading, &p.beta, p.c.data, n),
                 "cublasSgemm");
  }
  // `count` products in default math, with a workspace.
  void multiply(const gemms::problem& p, std::int64_t count, std::span<std::byte> workspace, stream on) {
    begin(default_math, on, workspace);
    const int m = static_cast<int>(p.m()), n = static_cast<int>(p.n()), k = static_cast<int>(p.k());
    const cublas_operand a = cublas_operand_of(p.a), b = cublas_operand_of(p.b);
    if (count == 1)
      check_cublas(sgemm_(handle_, b.operation, a.operation, n, m, k, &p.alpha, p.b.data, b.leading, p.a.data,
                          a.leading, &p.beta, p.c.data, n),
                   "cublasSgemm");
    else
      check_cublas(batched_(handle_, b.operation, a.operation, n, m, k, &p.alpha, p.b.data, b.leading,
                            p.k() * p.n(), p.a.data, a.leading, p.m() * p.k(), &p.beta, p.c.data, n,
                            p.m() * p.n(), static_cast<int>(count)),
                   "cublasSgemmStridedBatched");
  }
  void multiply(const gemms::tensor_core_problem& p, stream on) {
    begin(sums_in_fp32, on);
    const int m = static_cast<int>(p.m()), n = static_cast<int>(p.n()), k = static_cast<int>(p.k());
    const auto apart = [](const auto& v) { return static_cast<int>(v.row_stride); };
    const float one = 1, zero = 0;
    check_cublas(gemm_ex_(handle_, cublas_operand::plain, cublas_operand::plain, n, m, k, &one, p.b.data,
                          real_16, apart(p.b), p.a.data, real_16, apart(p.a), &zero, p.c.data, real_32,
                          apart(p.c), compute_32, any_algorithm),
                 "cublasGemmEx");
  }
  void multiply(const linear_problem& p, std::span<std::byte> workspace, stream on) {
    begin(default_math, on, workspace);
    const auto type_of = [](element e) {
      return e == element::f32 ? real_32 : e == element::f16 ? real_16 : brain_16;
    };
    const auto extent = [](std::int64_t x) { return static_cast<int>(x); };
    const float one = 1, zero = 0;
    check_cublas(gemm_ex_(handle_, cublas_operand::transposed, cublas_operand::plain, extent(p.n),
                          extent(p.m), extent(p.k), &one, p.w.data, type_of(p.in), extent(p.w.row_stride),
                          p.x.data, type_of(p.in), extent(p.x.row_stride), &zero, p.y.data, type_of(p.out),
                          extent(p.y.row_stride), compute_32, any_algorithm),
                 "cublasGemmEx");
  }

 private:
  shared_library library_{"cuBLAS", {"libcublas.so.13", "libcublas.so.12"}};
  handle handle_ = nullptr;
  int (*create_)(handle*) = nullptr;
  int (*destroy_)(handle) = nullptr;
  int (*set_stream_)(handle, stream) = nullptr;
  int (*set_math_)(handle, int) = nullptr;
  int (*sgemm_)(handle, int, int, int, int, int, const float*, const float*, int, const float*, int,
                const float*, float*, int) = nullptr;
  int (*property_)(int, int*) = nullptr;
  int (*set_workspace_)(handle, void*, std::size_t) = nullptr;
  int (*batched_)(handle, int, int, int, int, int, const float*, const float*, int, long long, const float*,
                  int, long long, const float*, float*, int, long long, int) = nullptr;
  int (*gemm_ex_)(handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                  const void*, void*, int, int, int, int) = nullptr;

  // In every call: FP32 and f16 products share the handle. It belongs to the device that is current in the
  // first call.
  void begin(int math, stream on) {
    if (handle_ == nullptr) check_cublas(create_(&handle_), "cublasCreate");
    check_cublas(set_math_(handle_, math), "cublasSetMathMode");
    check_cublas(set_stream_(handle_, on), "cublasSetStream");
  }
  // The workspace keeps allocations out of a captured stream.
  void begin(int math, stream on, std::span<std::byte> workspace) {
    begin(math, on);
    check_cublas(set_workspace_(handle_, workspace.data(), workspace.size()),
                 "cublasSetWorkspace");  // after cublasSetStream, which resets it
  }
};

// Creating a handle is slow: rivals share it while any of them exists.
std::shared_ptr<cublas> the_cublas() {
  static std::weak_ptr<cublas> known;
  auto library = known.lock();
  if (!library) known = library = std::make_shared<cublas>();
  return library;
}
std::int64_t most_extent_of(const auto& p) { return std::max({p.m(), p.n(), p.k()}); }
std::int64_t most_extent_of(const linear_problem& p) { return std::max({p.m, p.n, p.k}); }
rival product_of(const auto& p, const char* mode, const auto&... workspace) {
  rival result{.name = "cuBLAS", .mode = mode};
  if (most_extent_of(p) > std::numeric_limits<int>::max()) {
    result.why_not = "its integers have 32 bits";
    return result;
  }
  const std::shared_ptr<cublas> library = the_cublas();
  result.why_not = library->why_not();
  if (!result.why_not.empty()) return result;
  result.version = library->version();
  result.run = [library, p, workspace...](stream on) { library->multiply(p, workspace..., on); };
  return result;
}

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

}  // namespace

struct fast_cublas::state {
  explicit state(const context& where) : workspace(where, workspace_bytes) {}
  std::span<std::byte> memory() { return {workspace.data(), workspace.size()}; }

  device_array<std::byte> workspace;
  std::shared_ptr<cublas> library = the_cublas();
  std::shared_ptr<cublas_lt> with_heuristics = make_cublas_lt();
};

fast_cublas::fast_cublas(const context& where) : state_(std::make_shared<state>(where)) {}

std::vector<rival> fast_cublas::of(const gemms::problem& p, std::int64_t count) const {
  rival plain = product_of(p, "cublasSgemm, of batches cublasSgemmStridedBatched, default math");
  plain.key = "cublas_sgemm";
  if (plain)
    plain.run = [s = state_, p, count](stream on) { s->library->multiply(p, count, s->memory(), on); };
  rival first{.key = "cublas_lt",
              .name = "cublasLt",
              .mode = "cublasLtMatmul, the heuristics' first algorithm, CUBLAS_COMPUTE_32F"};
  first.why_not = plain.why_not.empty() ? why_not(*state_->with_heuristics) : plain.why_not;
  first.version = plain.version;
  if (first.why_not.empty()) {
    const std::shared_ptr<const lt_product> plan =
        plan_of(state_->with_heuristics, p, count, state_->memory());
    if (plan == nullptr)
      first.why_not = "its heuristics name no algorithm";
    else
      first.run = [s = state_, plan](stream on) { multiply(*plan, on); };
  }
  return {plain, first};
}

rival fast_cublas::of(const linear_problem& p) const {
  return product_of(p, "cublasGemmEx, default math", state_->memory());
}

rival cublas_product(const gemms::problem& p) {
  return product_of(p, "cublasSgemm, pedantic math: FP32 in every step");
}
rival cublas_product(const gemms::tensor_core_problem& p) {
  return product_of(p, "cublasGemmEx, f16 operands, sums in FP32 without reductions in f16");
}

}  // namespace antiphase::tool
