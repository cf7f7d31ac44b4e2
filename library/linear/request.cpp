// SPDX-License-Identifier: Apache-2.0
// Which calls of linear() make sense.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>

#include "library/linear/plan.hpp"

namespace antiphase::linears {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 30, most_span = std::int64_t{1} << 50;

// A strided array: extents and strides in elements, the innermost dimension last.
struct array_of_call {
  const char* name;
  const void* data;
  std::int64_t size;  // bytes of an element
  std::int64_t extent[3], stride[3];

  bool empty() const { return std::ranges::find(extent, 0) != std::end(extent); }
  std::int64_t bytes() const {
    std::int64_t last = 0;
    for (int d = 0; d < 3; ++d) last += (extent[d] - 1) * stride[d];
    return (last + 1) * size;
  }
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(data); }
  std::uintptr_t end() const { return begin() + static_cast<std::uintptr_t>(bytes()); }
};

template <class... Args> void require(bool holds, fmt::format_string<Args...> sentence, Args&&... args) {
  if (!holds) throw bad_request("linear: " + fmt::format(sentence, std::forward<Args>(args)...));
}

void require_memory(const array_of_call& a) {
  for (int d = 0; d < 3; ++d)
    require(a.extent[d] <= 1 || (a.stride[d] >= 0 && a.stride[d] < most_span / a.extent[d]),
            "{} has a stride of {} elements along an extent of {}: expected 0 or more, and less than 2^50 "
            "elements in all",
            a.name, a.stride[d], a.extent[d]);
  if (a.empty()) return;
  require(a.data != nullptr, "{} is null", a.name);
  require(a.begin() % static_cast<std::uintptr_t>(a.size) == 0,
          "{} is at address {}: expected a multiple of {}", a.name, a.data, a.size);
}
bool overlap(const array_of_call& a, const array_of_call& b) {
  return !a.empty() && !b.empty() && a.begin() < b.end() && b.begin() < a.end();
}
// No two elements of what is written share memory.
void require_distinct(const array_of_call& y) {
  const bool rows = y.extent[1] <= 1 || y.stride[1] >= y.extent[2];
  const std::int64_t member = (y.extent[1] - 1) * y.stride[1] + y.extent[2];
  const bool members =
      y.extent[0] <= 1 || y.stride[0] >= member ||
      (y.stride[0] >= y.extent[2] && y.stride[1] >= (y.extent[0] - 1) * y.stride[0] + y.extent[2]);
  require(y.empty() || (rows && members),
          "rows of Y overlap: {} x {} numbers, rows {} apart, members {} apart", y.extent[1], y.extent[2],
          y.stride[1], y.stride[0]);
}

}  // namespace

void require_sensible(const linear_problem& p, const linear_options&) {
  require(p.in == element::f16 || p.in == element::bf16, "X and W are of {}: expected f16 or bf16",
          name(p.in));
  require(p.out == element::f32 || p.out == element::f16 || p.out == element::bf16,
          "Y is of {}: expected f32, f16 or bf16", name(p.out));
  for (const auto& [what, extent] : {std::pair{"m", p.m}, {"n", p.n}, {"k", p.k}, {"members", p.members}})
    require(extent >= 0 && extent < most, "{} is {}: expected 0 to 2^30 - 1", what, extent);
  require(!gemms::is_gradient(p.function),
          "the activation is a gradient: expected none, relu, gelu or gelu_tanh");
  const bool groups = p.group_ends != nullptr;
  const std::int64_t members = groups ? 1 : p.members, out = static_cast<std::int64_t>(size_of(p.out));
  const array_of_call x{
      "X", p.x.data, 2, {members, p.m, p.k}, {p.x.member_stride, p.x.row_stride, p.x.k_stride}},
      w{"W", p.w.data, 2, {p.members, p.n, p.k}, {p.w.member_stride, p.w.row_stride, p.w.k_stride}},
      y{"Y", p.y.data, out, {members, p.m, p.n}, {p.y.member_stride, p.y.row_stride, 1}},
      bias{"the bias", p.bias, out, {p.members, 1, p.n}, {p.bias_member_stride, 0, 1}},
      residual{"the residual",
               p.residual.data,
               out,
               {members, p.m, p.n},
               {p.residual.member_stride, p.residual.row_stride, 1}},
      ends{"group_ends", p.group_ends, 4, {1, 1, p.members}, {0, 0, 1}};
  require_memory(x), require_memory(w), require_memory(y);
  require_distinct(y);
  if (p.bias != nullptr) require_memory(bias);
  if (groups) require_memory(ends);
  for (const array_of_call* read : {&x, &w, &bias, &ends})
    require(read->data == nullptr || !overlap(y, *read), "Y and {} overlap", read->name);
  if (p.residual.data == nullptr) return;
  require_memory(residual);
  const bool same = residual.data == y.data && (p.m <= 1 || residual.stride[1] == y.stride[1]) &&
                    (members <= 1 || residual.stride[0] == y.stride[0]);
  require(same || !overlap(y, residual),
          "Y and the residual overlap: expected the same rows, or none in common");
}

void require_groups(target where, const linear_problem& p) {
  if (p.group_ends == nullptr || where != target::cpu) return;
  std::int32_t begin = 0;
  for (std::int64_t g = 0; g < p.members; ++g) {
    const std::int32_t end = p.group_ends[g];
    require(end >= begin && end <= p.m, "group {} of rows ends at {}: expected {} to {}", g, end, begin, p.m);
    begin = end;
  }
}

}  // namespace antiphase::linears
