// SPDX-License-Identifier: Apache-2.0
// cublasLt, loaded at run time like cuBLAS.
#include "tool/rivals/cublas_lt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>

#include "tool/base/shared_library.hpp"

namespace antiphase::tool {
namespace {

using handle = void*;
constexpr int compute_32 = 68, real_32 = 0;            // CUBLAS_COMPUTE_32F, CUDA_R_32F
constexpr int operation_of_a = 3, operation_of_b = 4;  // CUBLASLT_MATMUL_DESC_TRANSA, _TRANSB
// CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, _STRIDED_BATCH_OFFSET
constexpr int batch_count = 5, batch_stride = 6;
constexpr int most_workspace = 1;  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

struct algorithm {  // cublasLtMatmulAlgo_t
  std::uint64_t data[8];
};
struct heuristic_result {  // cublasLtMatmulHeuristicResult_t
  tool::algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(heuristic_result) == 96);

}  // namespace

cublas_operand cublas_operand_of(const matrix_view<const float>& v) {
  // includes a transposed row: the stride of its only row is meaningless
  const bool by_rows = v.column_stride == 1;
  const std::int64_t leading =
      by_rows ? std::max(v.row_stride, v.columns) : std::max(v.column_stride, v.rows);
  return {by_rows ? cublas_operand::plain : cublas_operand::transposed,
          static_cast<int>(std::max<std::int64_t>(1, leading))};
}

void check_cublas(int status, const char* call) {
  if (status != 0) throw device_error(fmt::format("{} failed with status {}", call, status));
}

// The required functions, as declared by the stable C interface.
class cublas_lt {
 public:
  cublas_lt() {
    loaded.find(create, "cublasLtCreate");
    loaded.find(destroy, "cublasLtDestroy");
    loaded.find(make_operation, "cublasLtMatmulDescCreate");
    loaded.find(drop_operation, "cublasLtMatmulDescDestroy");
    loaded.find(set_operation, "cublasLtMatmulDescSetAttribute");
    loaded.find(make_layout, "cublasLtMatrixLayoutCreate");
    loaded.find(drop_layout, "cublasLtMatrixLayoutDestroy");
    loaded.find(set_layout, "cublasLtMatrixLayoutSetAttribute");
    loaded.find(make_preference, "cublasLtMatmulPreferenceCreate");
    loaded.find(drop_preference, "cublasLtMatmulPreferenceDestroy");
    loaded.find(set_preference, "cublasLtMatmulPreferenceSetAttribute");
    loaded.find(ask, "cublasLtMatmulAlgoGetHeuristic");
    loaded.find(matmul, "cublasLtMatmul");
  }
  cublas_lt(const cublas_lt&) = delete;
  cublas_lt& operator=(const cublas_lt&) = delete;
  ~cublas_lt() {
    if (handle_ != nullptr) destroy(handle_);
  }
  handle get() {  // created on first use
    if (handle_ == nullptr) check_cublas(create(&handle_), "cublasLtCreate");
    return handle_;
  }

  shared_library loaded{"cublasLt", {"libcublasLt.so.13", "libcublasLt.so.12"}};
  int (*create)(handle*) = nullptr;
  int (*destroy)(handle) = nullptr;
  int (*make_operation)(handle*, int, int) = nullptr;
  int (*drop_operation)(handle) = nullptr;
  int (*set_operation)(handle, int, const void*, std::size_t) = nullptr;
  int (*make_layout)(handle*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*drop_layout)(handle) = nullptr;
  int (*set_layout)(handle, int, const void*, std::size_t) = nullptr;
  int (*make_preference)(handle*) = nullptr;
  int (*drop_preference)(handle) = nullptr;
  int (*set_preference)(handle, int, const void*, std::size_t) = nullptr;
  int (*ask)(handle, handle, handle, handle, handle, handle, handle, int, heuristic_result*, int*) = nullptr;
  int (*matmul)(handle, handle, const void*, const void*, handle, const void*, handle, const void*,
                const void*, handle, void*, handle, const algorithm*, void*, std::size_t, stream) = nullptr;

 private:
  handle handle_ = nullptr;
};

std::shared_ptr<cublas_lt> make_cublas_lt() { return std::make_shared<cublas_lt>(); }
const std::string& why_not(const cublas_lt& library) { return library.loaded.why_not(); }

// Row-major C = A B is column-major C' = B' A'.
class lt_product {
 public:
  lt_product(std::shared_ptr<cublas_lt> library, const gemms::problem& p, std::int64_t count,
             std::span<std::byte> workspace)
      : library_(std::move(library)), what_(p), workspace_(workspace) {
    try {
      describe(count);
    } catch (...) {
      drop();
      throw;
    }
  }
  lt_product(const lt_product&) = delete;
  lt_product& operator=(const lt_product&) = delete;
  ~lt_product() { drop(); }

  bool is_there() const { return found_; }
  void run(stream on) const {
    check_cublas(library_->matmul(library_->get(), operation_, &what_.alpha, what_.b.data, left_,
                                  what_.a.data, right_, &what_.beta, what_.c.data, result_, what_.c.data,
                                  result_, &chosen_.algorithm, workspace_.data(), workspace_.size(), on),
                 "cublasLtMatmul");
  }

 private:
  std::shared_ptr<cublas_lt> library_;
  gemms::problem what_;
  std::span<std::byte> workspace_;
  handle operation_ = nullptr, left_ = nullptr, right_ = nullptr, result_ = nullptr, preference_ = nullptr;
  heuristic_result chosen_{};
  bool found_ = false;

  // Layout of a matrix as cublasLt sees it, column-major: rows and columns as stored.
  handle layout_of(std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t count) {
    handle made = nullptr;
    check_cublas(library_->make_layout(&made, real_32, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), leading),
                 "cublasLtMatrixLayoutCreate");
    const auto batch = static_cast<std::int32_t>(count);
    const std::int64_t apart = rows * columns;
    check_cublas(library_->set_layout(made, batch_count, &batch, sizeof batch),
                 "cublasLtMatrixLayoutSetAttribute");
    check_cublas(library_->set_layout(made, batch_stride, &apart, sizeof apart),
                 "cublasLtMatrixLayoutSetAttribute");
    return made;
  }
  handle layout_of(const matrix_view<const float>& v, std::int64_t count) {
    const cublas_operand o = cublas_operand_of(v);
    const bool plain = o.operation == cublas_operand::plain;
    return layout_of(plain ? v.columns : v.rows, plain ? v.rows : v.columns, o.leading, count);
  }
  void describe(std::int64_t count) {
    const int left = cublas_operand_of(what_.b).operation, right = cublas_operand_of(what_.a).operation;
    check_cublas(library_->make_operation(&operation_, compute_32, real_32), "cublasLtMatmulDescCreate");
    check_cublas(library_->set_operation(operation_, operation_of_a, &left, sizeof left),
                 "cublasLtMatmulDescSetAttribute");
    check_cublas(library_->set_operation(operation_, operation_of_b, &right, sizeof right),
                 "cublasLtMatmulDescSetAttribute");
    left_ = layout_of(what_.b, count);
    right_ = layout_of(what_.a, count);
    result_ = layout_of(what_.n(), what_.m(), what_.n(), count);
    check_cublas(library_->make_preference(&preference_), "cublasLtMatmulPreferenceCreate");
    const std::size_t most = workspace_.size();
    check_cublas(library_->set_preference(preference_, most_workspace, &most, sizeof most),
                 "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    const int status = library_->ask(library_->get(), operation_, left_, right_, result_, result_,
                                     preference_, 1, &chosen_, &found);
    found_ = status == 0 && found > 0 && chosen_.state == 0;
  }
  void drop() noexcept {
    if (operation_ != nullptr) library_->drop_operation(operation_);
    for (const handle layout : {left_, right_, result_})
      if (layout != nullptr) library_->drop_layout(layout);
    if (preference_ != nullptr) library_->drop_preference(preference_);
  }
};

std::shared_ptr<const lt_product> plan_of(const std::shared_ptr<cublas_lt>& library, const gemms::problem& p,
                                          std::int64_t count, std::span<std::byte> workspace) {
  auto plan = std::make_shared<const lt_product>(library, p, count, workspace);
  return plan->is_there() ? plan : nullptr;
}
void multiply(const lt_product& plan, stream on) { plan.run(on); }

}  // namespace antiphase::tool
