// SPDX-License-Identifier: Apache-2.0
// Prepared operands: split once, before the calls that multiply them.
#include "src/gemm/choice/prepared.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "src/gemm/fp16/split_plan.hpp"
#include "src/gemm/operands/checks.hpp"

namespace antiphase {

struct prepared_operand::state {
  antiphase::context context;
  gemm_operand operand;
  matrix_view<const float> view;
  std::optional<device_array<std::byte>> own;
  std::span<std::byte> memory;
};

namespace {

using gemms::judged_view;

const char* name_of(gemm_operand which) { return which == gemm_operand::a ? "A" : "B"; }
gemms::operand_lines lines_of_operand(gemm_operand which, const matrix_view<const float>& v) {
  return gemms::lines_of_rows(which == gemm_operand::a ? v : transposed(v));
}
judged_view judged_memory(gemm_operand which, std::span<const std::byte> memory) {
  return gemms::judged(
      which == gemm_operand::a ? "the memory of the prepared A" : "the memory of the prepared B",
      memory.data(), static_cast<std::int64_t>(memory.size()));
}

void require_operand(gemm_operand which, const matrix_view<const float>& v) {
  if (which != gemm_operand::a && which != gemm_operand::b)
    throw bad_request(fmt::format("the operand to prepare is {}: expected gemm_operand::a or gemm_operand::b",
                                  static_cast<int>(which)));
  gemms::require_extents(gemms::judged(name_of(which), v));
}
bool has_elements(const matrix_view<const float>& v) { return v.rows > 0 && v.columns > 0; }

// The part of the caller's memory that is needed. Throws bad_request if it is too small, misaligned or
// overlaps the operand.
std::span<std::byte> given_memory(gemm_operand which, const matrix_view<const float>& v,
                                  std::span<std::byte> memory, std::size_t needed) {
  const std::string name = fmt::format("the memory to prepare {} in", name_of(which));
  if (memory.data() == nullptr)
    throw bad_request(fmt::format("{} is a null pointer: expected {} bytes", name, memory.size()));
  if (const auto address = reinterpret_cast<std::uintptr_t>(memory.data()); address % 256 != 0)
    throw bad_request(fmt::format("{} is at address {:#x}: expected a multiple of 256", name, address));
  if (memory.size() < needed)
    throw bad_request(
        fmt::format("{} has {} bytes: {} x {} takes {}", name, memory.size(), v.rows, v.columns, needed));
  const std::span<std::byte> used = memory.first(needed);
  if (needed > 0) gemms::require_apart(judged_memory(which, used), gemms::judged(name_of(which), v));
  return used;
}

std::string described(const matrix_view<const float>& v) {
  return fmt::format("{} x {} with strides {} and {} at {:#x}", v.rows, v.columns, v.row_stride,
                     v.column_stride, reinterpret_cast<std::uintptr_t>(v.data));
}

}  // namespace

gemm_operand prepared_operand::which() const { return state_->operand; }
const matrix_view<const float>& prepared_operand::view() const { return state_->view; }
const context& prepared_operand::where() const { return state_->context; }
std::span<std::byte> prepared_operand::memory() const { return state_->memory; }

launch_counts prepared_operand::renew(stream on) const {
  if (state_->memory.empty()) return {};
  return gemms::make_ready(state_->context,
                           {lines_of_operand(state_->operand, state_->view), state_->memory.data()}, on);
}

std::size_t prepared_size(const context& where, gemm_operand which, const matrix_view<const float>& v) {
  require_operand(which, v);
  if (!has_elements(v) || !gemms::takes_parts(where)) return 0;
  const gemms::operand_lines lines = lines_of_operand(which, v);
  constexpr std::int64_t most_lines = std::numeric_limits<std::int32_t>::max() - gemms::split_tile,
                         most_k = most_lines;
  if (lines.lines > most_lines || lines.k > most_k)
    throw not_supported(fmt::format("{} is {} x {}: at most {} rows and columns can be prepared",
                                    name_of(which), v.rows, v.columns, most_lines));
  return gemms::ready_bytes(lines.lines, lines.k);
}

prepared_operand prepare(const context& where, gemm_operand which, const matrix_view<const float>& v,
                         const prepare_options& options) {
  const std::size_t needed = prepared_size(where, which, v);
  if (has_elements(v)) gemms::require_memory(gemms::judged(name_of(which), v));
  const auto made = std::make_shared<prepared_operand::state>(prepared_operand::state{
      .context = where, .operand = which, .view = gemms::without_idle_strides(v), .own = {}, .memory = {}});
  if (!options.memory.empty())
    made->memory = given_memory(which, v, options.memory, needed);
  else if (needed > 0) {
    made->own.emplace(where, needed);
    made->memory = {made->own->data(), needed};
  }
  const prepared_operand done(made);
  done.renew(options.stream);
  return done;
}

namespace gemms {
namespace {

// Throws bad_request unless the operand is the prepared one, on the device of the call.
ready_lines ready_of(const context& where, const prepared_operand* prepared, gemm_operand as,
                     const matrix_view<const float>& v) {
  if (prepared == nullptr) return {};
  const char* const name = name_of(as);
  if (!*prepared)
    throw bad_request(fmt::format(
        "the prepared {} holds nothing, it was moved from: expected what prepare() returned", name));
  if (!where.runs_on().shares_memory_with(prepared->where().runs_on()))
    throw bad_request(fmt::format("the prepared {} lies on {}, the call is for {}: expected the same device",
                                  name, prepared->where().limits().name, where.limits().name));
  const operand_lines is = lines_of_operand(as, v),
                      was = lines_of_operand(prepared->which(), prepared->view());
  if (!same_lines(is, was)) {
    if (is.k != was.k)
      throw bad_request(
          fmt::format("the prepared {} was made of {} for K = {}, the problem has K = {}: they must agree",
                      name, name_of(prepared->which()), was.k, is.k));
    if (as != prepared->which() && same_lines(is, lines_of_operand(as, prepared->view())))
      throw bad_request(
          fmt::format("{} was prepared as {}, and is used as {}: expected prepare() of gemm_operand::{}",
                      name, name_of(prepared->which()), name, as == gemm_operand::a ? 'a' : 'b'));
    throw bad_request(fmt::format("the prepared {} is {}, the problem's is {}: expected the same view", name,
                                  described(prepared->view()), described(v)));
  }
  return {is, prepared->memory().data()};
}

}  // namespace

ready_operands ready_of(const context& where, const problem& p, const gemm_options& options) {
  const auto require_one = [&](const char* name, bool given, std::int64_t stride) {
    if (given && (options.batch.by_pointers() || (options.batch.count > 1 && stride != 0)))
      throw bad_request(
          fmt::format("{0} is prepared, and each member of the batch has its own {0}: expected one for all, "
                      "with a stride of 0",
                      name));
  };
  require_one("A", options.prepared_a != nullptr, options.batch.a_stride);
  require_one("B", options.prepared_b != nullptr, options.batch.b_stride);
  return {ready_of(where, options.prepared_a, gemm_operand::a, p.a),
          ready_of(where, options.prepared_b, gemm_operand::b, p.b)};
}

void require_own_memory(const problem& p, const gemm_options& options, const prepared_operand* prepared) {
  if (prepared == nullptr || prepared->memory().empty()) return;
  require_own_memory(p, options.batch, options.epilogue,
                     judged_memory(prepared->which(), prepared->memory()));
  if (options.recomputed != nullptr)
    require_apart_from(prepared, judged("recomputed", options.recomputed, sizeof *options.recomputed));
}
void require_apart_from(const prepared_operand* prepared, const judged_view& v) {
  if (prepared != nullptr && !prepared->memory().empty())
    require_apart(v, judged_memory(prepared->which(), prepared->memory()));
}

}  // namespace gemms
}  // namespace antiphase
