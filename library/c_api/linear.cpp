// SPDX-License-Identifier: Apache-2.0
// Linear layers for C.
#include <antiphase.h>
#include <fmt/format.h>

#include <antiphase/linear.hpp>
#include <cstddef>
#include <cstdint>

#include "library/c_api/arguments.hpp"
#include "library/c_api/devices.hpp"
#include "library/c_api/status.hpp"

namespace antiphase::c_api {
namespace {

std::int64_t step(std::int64_t stride) { return stride == ANTIPHASE_REPEATED ? 0 : stride; }
linear_operand operand_of(const antiphase_linear_operand& x, std::int64_t k) {
  if (x.row_stride == 0 && x.k_stride == 0) return {x.data, k, 1, step(x.member_stride)};
  return {x.data, step(x.row_stride), step(x.k_stride), step(x.member_stride)};
}
struct layer {
  const antiphase::context& context;
  linear_problem problem;
  linear_options options;
};
layer layer_of(const antiphase_linear_args* given, antiphase_stream on) {
  const antiphase_linear_args initial = ANTIPHASE_LINEAR_ARGS_INIT;
  const antiphase_linear_args x =
      taken(given, initial, sizeof(antiphase_linear_args), "antiphase_linear_args");
  const auto type_of = [](const char* name, std::int32_t type) {
    if (type == ANTIPHASE_F32) return element::f32;
    if (type == ANTIPHASE_F16) return element::f16;
    if (type == ANTIPHASE_BF16) return element::bf16;
    throw bad_request(fmt::format("{} is {}: expected ANTIPHASE_F32, _F16 or _BF16", name, type));
  };
  if ((x.overlap != 0 && x.overlap != 1) || x.reserved != 0)
    throw bad_request(
        fmt::format("overlap is {}, reserved {}: expected 0 or 1, and 0", x.overlap, x.reserved));
  const auto dense = [](std::int64_t stride, std::int64_t of_dense) {
    return stride == 0 ? of_dense : step(stride);
  };
  linear_problem p{.in = type_of("type", x.type), .out = type_of("result_type", x.result_type)};
  p.m = x.m, p.n = x.n, p.k = x.k, p.members = x.members;
  p.x = operand_of(x.x, x.k), p.w = operand_of(x.w, x.k);
  // wraps around where extents make no sense, which is checked later
  const auto member =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(x.m) * static_cast<std::uint64_t>(x.n));
  p.y = {x.y, dense(x.y_row_stride, x.n), dense(x.y_member_stride, member)};
  p.function = one_of("function", x.function,
                      {gemms::activation::none, gemms::activation::relu, gemms::activation::gelu,
                       gemms::activation::gelu_tanh});
  p.bias = x.bias, p.bias_member_stride = step(x.bias_member_stride);
  p.residual = {x.residual, dense(x.residual_row_stride, x.n), dense(x.residual_member_stride, member)};
  p.group_ends = x.group_ends;
  return {where(x.device), p, {.kernel = policy_of(x.kernel), .stream = on, .overlap = x.overlap == 1}};
}

}  // namespace
}  // namespace antiphase::c_api

using namespace antiphase;
using namespace antiphase::c_api;

antiphase_status antiphase_linear(const antiphase_linear_args* args, antiphase_stream on) {
  return guarded([&] {
    const layer l = layer_of(args, on);
    linear(l.context, l.problem, l.options);
  });
}

antiphase_status antiphase_linear_explain(const antiphase_linear_args* args, char* text, size_t room) {
  return guarded([&] {
    const layer l = layer_of(args, nullptr);
    const linear_choice c = explain(l.context, l.problem, l.options);
    hand_out(fmt::format("{}: {}, predicted to take {:.3g} us", c.kernel,
                         counted(static_cast<std::int64_t>(c.blocks), "block"), 1e6 * c.predicted),
             text, room);
  });
}
