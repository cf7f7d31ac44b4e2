// SPDX-License-Identifier: Apache-2.0
// Matrix products for C.
#include <antiphase.h>
#include <fmt/format.h>

#include <antiphase/gemm.hpp>
#include <antiphase/gemm_comparison.hpp>
#include <cstddef>
#include <string>

#include "library/c_api/arguments.hpp"
#include "library/c_api/devices.hpp"
#include "library/c_api/status.hpp"

namespace antiphase::c_api {
namespace {

// Both strides 0: densely packed rows. A single 0 is refused: it is more likely
// a forgotten stride.
template <class T> matrix_view<T> view(const char* name, T* data, std::int64_t rows, std::int64_t columns,
                                       std::int64_t row_stride, std::int64_t column_stride) {
  if (row_stride == 0 && column_stride == 0) return row_major(data, rows, columns);
  const auto stride = [&](std::int64_t given, std::int64_t extent, const char* of, std::int64_t other) {
    if (given == 0 && extent > 1 && rows > 0 && columns > 0)
      throw bad_request(
          fmt::format("{}'s {} stride is 0, its other one {}: expected 1 where elements lie side by side, "
                      "ANTIPHASE_REPEATED where one stands for all, or both 0 for densely packed rows",
                      name, of, other == ANTIPHASE_REPEATED ? "ANTIPHASE_REPEATED" : std::to_string(other)));
    return given == ANTIPHASE_REPEATED ? 0 : given;
  };
  return {data, rows, columns, stride(row_stride, rows, "row", column_stride),
          stride(column_stride, columns, "column", row_stride)};
}

// The arguments of gemm().
struct product {
  const antiphase::context& context;
  gemm_problem problem;
  gemm_options options;
};
product product_of(const antiphase_sgemm_args* given, antiphase_stream on) {
  const antiphase_sgemm_args initial = ANTIPHASE_SGEMM_ARGS_INIT;
  const antiphase_sgemm_args x =
      taken(given, initial, offsetof(antiphase_sgemm_args, batch), "antiphase_sgemm_args");
  if (x.reserved != 0) throw not_supported(fmt::format("reserved is {}: expected 0", x.reserved));
  gemm_options how;
  how.accuracy = one_of("precision", x.precision, {precision::fp32, precision::strict});
  how.policy = policy_of(x.policy);
  how.batch = {.count = x.batch,
               .a_stride = x.a_batch_stride,
               .b_stride = x.b_batch_stride,
               .c_stride = x.c_batch_stride,
               .a = x.a_members,
               .b = x.b_members,
               .c = x.c_members};
  how.epilogue.function = one_of(
      "function", x.function, {activation::none, activation::relu, activation::gelu, activation::gelu_tanh});
  how.epilogue.row_bias = x.row_bias;
  how.epilogue.column_bias = x.column_bias;
  how.epilogue.row_bias_stride = x.row_bias_batch_stride;
  how.epilogue.column_bias_stride = x.column_bias_batch_stride;
  if (x.added != nullptr)
    how.epilogue.residual = view("added", x.added, x.m, x.n, x.added_row_stride, x.added_column_stride);
  how.epilogue.residual_stride = x.added_batch_stride;
  how.stream = on;
  if (x.workspace != nullptr) how.workspace = {static_cast<std::byte*>(x.workspace), x.workspace_size};
  how.reproducible =
      one_of("reproducible", x.reproducible, {reproducibility::by_shape, reproducibility::batch_invariant});
  how.if_weaker = one_of("if_weaker", x.if_weaker, {weaker_bound::take, weaker_bound::refuse});
  return {where(x.device),
          {.a = view("A", x.a, x.m, x.k, x.a_row_stride, x.a_column_stride),
           .b = view("B", x.b, x.k, x.n, x.b_row_stride, x.b_column_stride),
           .c = view("C", x.c, x.m, x.n, x.c_row_stride, x.c_column_stride),
           .alpha = x.alpha,
           .beta = x.beta},
          how};
}

std::string in_words(const gemm_choice& c) {
  std::string text = fmt::format("{}: {} of {} x {} outputs, {} bytes of workspace\nbound: {}\n", c.kernel,
                                 counted(static_cast<std::int64_t>(c.blocks), "block"), c.tile.m, c.tile.n,
                                 c.workspace, to_text(c.bound));
  for (const std::string& why : c.why) text += why + '\n';
  for (const auto& other : c.considered)
    text += fmt::format("considered: {}, {:.3g} us\n", other.kernel, other.predicted * 1e6);
  for (const std::string& why : c.refused) text += "refused: " + why + '\n';
  return text + "tuning: " + c.tuning + '\n';
}

}  // namespace
}  // namespace antiphase::c_api

using namespace antiphase;
using namespace antiphase::c_api;

antiphase_status antiphase_sgemm(const antiphase_sgemm_args* args, antiphase_stream on) {
  return guarded([&] {
    const product p = product_of(args, on);
    gemm(p.context, p.problem, p.options);
  });
}

antiphase_status antiphase_sgemm_workspace(const antiphase_sgemm_args* args, size_t* bytes) {
  return guarded([&] {
    const product p = product_of(args, nullptr);
    required(bytes, "bytes") = gemm_workspace(p.context, p.problem, p.options);
  });
}

antiphase_status antiphase_sgemm_compare(const antiphase_sgemm_args* args, double* seconds,
                                         double* cublas_seconds, double* times, double* eager_times,
                                         double* host_saved, size_t* borrowed) {
  return guarded([&] {
    const product p = product_of(args, nullptr);
    const gemm_comparison is = compare(p.context, p.problem, p.options);
    required(borrowed, "borrowed") = is.workspace;
    required(seconds, "seconds") = is.seconds;
    required(cublas_seconds, "cublas_seconds") = is.cublas_seconds;
    required(times, "times") = is.gain;
    required(eager_times, "eager_times") = is.eager_gain;
    required(host_saved, "host_saved") = is.host_saved;
  });
}

antiphase_status antiphase_sgemm_gain(const antiphase_sgemm_args* args, double* times) {
  double seconds = 0, cublas_seconds = 0, eager_times = 0, host_saved = 0;
  size_t borrowed = 0;
  return antiphase_sgemm_compare(args, &seconds, &cublas_seconds, times, &eager_times, &host_saved,
                                 &borrowed);
}

antiphase_status antiphase_sgemm_predict(const antiphase_sgemm_args* args, double* seconds,
                                         double* cublas_seconds, size_t* borrowed) {
  double times = 0, eager_times = 0, host_saved = 0;
  return antiphase_sgemm_compare(args, seconds, cublas_seconds, &times, &eager_times, &host_saved, borrowed);
}

antiphase_status antiphase_sgemm_explain(const antiphase_sgemm_args* args, char* text, size_t room) {
  return guarded([&] {
    const product p = product_of(args, nullptr);
    hand_out(in_words(explain(p.context, p.problem, p.options)), text, room);
  });
}
