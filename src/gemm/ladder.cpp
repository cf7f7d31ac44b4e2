// From a step and a problem to a launch.
#include <antiphase/gemm/ladder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "build_config.hpp"
#include "src/checked_list.hpp"
#include "src/named_lists.hpp"

namespace antiphase::mm {

// The same lists, compiled for each target.
namespace cpu {
std::vector<instance> plain_kernels();
std::vector<instance> async_kernels();
std::vector<instance> vector_kernels();
}  // namespace cpu
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<instance> plain_kernels();
std::vector<instance> async_kernels();
std::vector<instance> vector_kernels();
}  // namespace cuda
#endif

namespace {

template <class T> void require_matrix(const char* name, const matrix_view<T>& v, bool must_have_data) {
  if (v.rows < 0 || v.columns < 0) throw bad_request(fmt::format("{} is {} x {}: extents must not be negative", name, v.rows, v.columns));
  if (must_have_data && v.rows > 0 && v.columns > 0 && v.data == nullptr)
    throw bad_request(fmt::format("{} is a null pointer: expected {} x {} elements", name, v.rows, v.columns));
}

void require_sensible(const problem& p) {
  const bool reads_operands = p.alpha != 0 && p.m() > 0 && p.n() > 0;
  require_matrix("A", p.a, reads_operands);
  require_matrix("B", p.b, reads_operands);
  require_matrix("C", p.c, true);
  if (p.a.rows != p.c.rows) throw bad_request(fmt::format("A has {} rows, C has {}: they must agree", p.a.rows, p.c.rows));
  if (p.b.columns != p.c.columns) throw bad_request(fmt::format("B has {} columns, C has {}: they must agree", p.b.columns, p.c.columns));
  if (p.a.columns != p.b.rows) throw bad_request(fmt::format("A has {} columns, B has {} rows: they must agree", p.a.columns, p.b.rows));
  constexpr std::int64_t limit = std::numeric_limits<int>::max() - 1024;
  if (p.k() > limit) throw not_supported(fmt::format("K = {}: the ladder's kernels take at most {}", p.k(), limit));
  const bool row_major = p.c.column_stride >= 1 && (p.m() <= 1 || p.c.row_stride >= (p.n() - 1) * p.c.column_stride + 1);
  const bool column_major = p.c.row_stride >= 1 && (p.n() <= 1 || p.c.column_stride >= (p.m() - 1) * p.c.row_stride + 1);
  if (p.m() > 0 && p.n() > 0 && !row_major && !column_major)
    throw bad_request(
        fmt::format("C is {} x {} with strides {} and {}: its elements would overlap", p.m(), p.n(), p.c.row_stride, p.c.column_stride));
  if (p.c.data != nullptr && reads_operands && p.m() > 0 && p.n() > 0 && p.k() > 0 && (p.c.data == p.a.data || p.c.data == p.b.data))
    throw bad_request(fmt::format("C has the same address as {}: they must not overlap", p.c.data == p.a.data ? "A" : "B"));
}

// Whether an operand lies as a variant of a kernel takes it for granted: contiguous along one index, aligned if its copies are wide, its
// tiles less than 4 GiB across.
bool lies(const operand_policy& how, extent2 tile, const float* data, std::int64_t outer_stride, std::int64_t k_stride) {
  if (how.along == contiguous::neither) return true;
  const bool along_k = how.along == contiguous::k;
  const std::int64_t along = along_k ? k_stride : outer_stride, across = along_k ? outer_stride : k_stride;
  const std::int64_t span_limit = (std::int64_t{1} << 30) / std::max(tile.m, tile.n) - 1;  // floats from run to run
  if (along != 1 || across < 0 || across > span_limit) return false;
  return how.copy_width == 1 || (across % how.copy_width == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
}

// How much a variant takes for granted: the more, the faster it is.
int specialised(const policy& how) {
  return (how.a.along != contiguous::neither) + (how.b.along != contiguous::neither) + (how.a.copy_width > 1) + (how.b.copy_width > 1);
}

}  // namespace

std::span<const instance> instances(target where) {
  static const std::vector<instance> on_cpu = concatenate<instance>({cpu::plain_kernels(), cpu::async_kernels(), cpu::vector_kernels()});
#if ANTIPHASE_HAS_CUDA
  static const std::vector<instance> on_cuda =
      concatenate<instance>({cuda::plain_kernels(), cuda::async_kernels(), cuda::vector_kernels()});
#else
  static const std::vector<instance> on_cuda;
#endif
  if (where == target::checked) return require_checked_list<instance>();
  return where == target::cuda ? on_cuda : on_cpu;
}

const step& find_step(std::string_view name) { return find_named(steps, "GEMM", name); }

plan prepare(target where, const step& how, const problem& p, parts run) {
  require_sensible(p);
  problem arguments = p;
  if (p.alpha == 0) arguments.a.columns = arguments.b.rows = 0;  // A and B are not to be read
  if (arguments.k() == 0) arguments.alpha = 0;                   // nothing to scale: alpha may be infinite or NaN

  const instance* best = nullptr;
  for (const instance& candidate : instances(where)) {
    if (std::string_view(candidate.step) != how.name || candidate.how.run != run) continue;
    const bool fits = lies(candidate.how.a, candidate.how.tile, p.a.data, p.a.row_stride, p.a.column_stride) &&
                      lies(candidate.how.b, candidate.how.tile, p.b.data, p.b.column_stride, p.b.row_stride);
    if (!fits) continue;
    if (best == nullptr || specialised(candidate.how) > specialised(best->how)) best = &candidate;
  }
  if (best == nullptr)
    throw not_supported(
        fmt::format("this build has no kernel for GEMM policy {} on {}", how.name, where == target::cuda ? "CUDA" : "the CPU"));

  const auto tiles = ceil_div<std::int64_t>(p.m(), best->how.tile.m) * ceil_div<std::int64_t>(p.n(), best->how.tile.n);
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (tiles > most)
    throw not_supported(
        fmt::format("C is {} x {}: policy {} would need {} blocks, at most {} can be launched", p.m(), p.n(), how.name, tiles, most));
  const bool nothing = tiles == 0 || (arguments.k() == 0 && p.beta == 1);
  return {*best, {nothing ? 0u : static_cast<unsigned>(tiles), 1, 1}, arguments};
}

}  // namespace antiphase::mm
