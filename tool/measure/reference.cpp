// SPDX-License-Identifier: Apache-2.0
// An independent matrix product, by OpenBLAS.
#include "tool/measure/reference.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <limits>
#include <sstream>
#include <string_view>

#include "tool/base/shared_library.hpp"

namespace antiphase::tool {
namespace {

struct operand {
  CBLAS_TRANSPOSE transpose;
  blasint leading;
};

blasint narrow(std::int64_t extent, const char* name) {
  if (extent > std::numeric_limits<blasint>::max())
    throw not_supported(
        fmt::format("{} = {}: OpenBLAS takes at most {}", name, extent, std::numeric_limits<blasint>::max()));
  return static_cast<blasint>(extent);
}

operand describe(const matrix_view<const float>& v, const char* name) {
  const bool by_rows = v.column_stride == 1;
  const std::int64_t leading =
      by_rows ? std::max(v.row_stride, v.columns) : std::max(v.column_stride, v.rows);
  return {by_rows ? CblasNoTrans : CblasTrans, narrow(std::max<std::int64_t>(leading, 1), name)};
}

// Loaded by the first product: when loaded, OpenBLAS starts a thread per core, and hangs if memory is too
// scarce for their stacks.
decltype(&cblas_sgemm) sgemm() {
  struct open_blas {
    open_blas() { file.find(sgemm, "cblas_sgemm"); }
    shared_library file{"OpenBLAS", {"libopenblas.so.0"}};
    decltype(&cblas_sgemm) sgemm = nullptr;
  };
  static const open_blas loaded;
  if (loaded.sgemm == nullptr) throw not_supported("--on reference: " + loaded.file.why_not());
  return loaded.sgemm;
}

}  // namespace

std::string reference_name() {
  std::istringstream words{OPENBLAS_VERSION};  // " OpenBLAS 0.3.21 "
  std::string library, version;
  words >> library >> version;
  return library + " " + version;
}

void reference_gemm(const gemms::problem& p) {
  // With alpha = 0, A and B must not be read, but OpenBLAS would multiply them by 0 and so keep their NaNs:
  // hence k = 0.
  const blasint m = narrow(p.m(), "M"), n = narrow(p.n(), "N"), k = p.alpha == 0 ? 0 : narrow(p.k(), "K");
  if (m == 0 || n == 0) return;
  const operand a = describe(p.a, "the row length of A"), b = describe(p.b, "the row length of B");
  const float nothing = 0;  // for operands without elements, whose pointers may be null
  sgemm()(CblasRowMajor, a.transpose, b.transpose, m, n, k, p.alpha, k == 0 ? &nothing : p.a.data, a.leading,
          k == 0 ? &nothing : p.b.data, b.leading, p.beta, p.c.data, std::max<blasint>(n, 1));
}

}  // namespace antiphase::tool
