// SPDX-License-Identifier: Apache-2.0
// Scans for C.
#include <antiphase.h>
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/scan.hpp>
#include <antiphase/scan/operators.hpp>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "library/c_api/arguments.hpp"
#include "library/c_api/devices.hpp"
#include "library/c_api/status.hpp"

namespace antiphase::c_api {
namespace {

// ANTIPHASE_F32 is 1 and comes first, as element::f32 does; 0 is the default.
static_assert(ANTIPHASE_BF16 == static_cast<int>(last_element) + 1 &&
              ANTIPHASE_U8 == static_cast<int>(element::u8) + 1);
element type_of(std::string_view name, std::int32_t value, element otherwise) {
  if (value < 0 || value > ANTIPHASE_BF16)
    throw bad_request(fmt::format("{} is {}: expected 0 to {}", name, value, int{ANTIPHASE_BF16}));
  return value == 0 ? otherwise : static_cast<element>(value - 1);
}

scan_value value_of(const void* at, element type) {
  return with_stored_element(type, [&]<class T>() {
    T value;
    std::memcpy(&value, at, sizeof value);
    if constexpr (std::is_arithmetic_v<T>)
      return scan_value(value);
    else
      return scan_value(to_float(value));
  });
}

// The arguments of scan(), scan_by_key() or scan_log_sum_exp().
struct scanning {
  const antiphase::context& context;
  scan_problem problem;
  std::optional<scan_keys> keys;
  scan_options options;
  bool of_exponentials = false;
};
scanning scanning_of(const antiphase_scan_args* given, antiphase_stream on) {
  const antiphase_scan_args initial = ANTIPHASE_SCAN_ARGS_INIT;
  const antiphase_scan_args x =
      taken(given, initial, offsetof(antiphase_scan_args, initial), "antiphase_scan_args");
  const element type = type_of("type", x.type, element::f32),
                result = type_of("result_type", x.result_type, type);
  const bool of_exponentials = x.operation == ANTIPHASE_LOG_SUM_EXP;
  constexpr scan_operation last = std::ranges::max(scans::operators::operations);
  static_assert(!scans::is_operation(static_cast<scan_operation>(ANTIPHASE_LOG_SUM_EXP)));
  if (!of_exponentials && !scans::is_operation(static_cast<scan_operation>(x.operation)))
    throw bad_request(fmt::format("operation is {}: expected 0 to {}", x.operation,
                                  std::max(int{ANTIPHASE_LOG_SUM_EXP}, static_cast<int>(last))));
  scan_problem what{
      .type = type,
      .operation = of_exponentials ? scan_operation::sum : static_cast<scan_operation>(x.operation),
      .kind = one_of("kind", x.kind, {scan_kind::inclusive, scan_kind::exclusive}),
      .direction = one_of("direction", x.direction, {scan_direction::forward, scan_direction::reverse}),
      .in = x.in,
      .out = x.out,
      .outer = x.outer,
      .length = x.length,
      .inner = x.inner};
  if (x.initial != nullptr) what.initial = value_of(x.initial, result);
  if (result != type) what.accumulate = result;
  std::optional<scan_keys> keys;
  if (x.keys != nullptr)
    keys =
        scan_keys{.data = x.keys,
                  .type = type_of("key_type", x.key_type, element::i32),
                  .segments = one_of("segments", x.segments, {segments_by::keys, segments_by::head_flags})};
  scan_options how{.policy = policy_of(x.policy), .stream = on};
  if (x.workspace != nullptr) how.workspace = {static_cast<std::byte*>(x.workspace), x.workspace_size};
  if (of_exponentials && (keys || x.policy != nullptr || x.workspace != nullptr))
    throw not_supported("log-sum-exp has no segments, policies or workspace of the caller's");
  return {where(x.device), what, keys, how, of_exponentials};
}
// For what is known of the other operations alone.
scanning explained(const antiphase_scan_args* given, antiphase_stream on) {
  const scanning s = scanning_of(given, on);
  if (s.of_exponentials) throw not_supported("log-sum-exp has no policies to explain, and no workspace");
  return s;
}

std::string in_words(const scan_choice& c) {
  std::string text =
      fmt::format("{}: {} launch{}, {} of {} elements, {} bytes of workspace\n", c.kernel, c.launches,
                  c.launches == 1 ? "" : "es", counted(c.tiles, "tile"), c.tile, c.workspace);
  for (const std::string& why : c.why) text += why + '\n';
  for (const std::string& why : c.refused) text += "refused: " + why + '\n';
  return text;
}

}  // namespace
}  // namespace antiphase::c_api

using namespace antiphase::c_api;

antiphase_status antiphase_scan(const antiphase_scan_args* args, antiphase_stream on) {
  return guarded([&] {
    const scanning s = scanning_of(args, on);
    if (s.of_exponentials)
      scan_log_sum_exp(s.context, s.problem, on);
    else if (s.keys)
      scan_by_key(s.context, s.problem, *s.keys, s.options);
    else
      scan(s.context, s.problem, s.options);
  });
}

antiphase_status antiphase_scan_workspace(const antiphase_scan_args* args, size_t* bytes) {
  return guarded([&] {
    const scanning s = explained(args, nullptr);
    required(bytes, "bytes") =
        s.keys ? antiphase::scan_workspace(s.problem, *s.keys) : antiphase::scan_workspace(s.problem);
  });
}

antiphase_status antiphase_scan_prepare_workspace(const antiphase_scan_args* args, antiphase_stream on) {
  return guarded([&] {
    const scanning s = explained(args, on);
    initialise_scan_workspace(s.context, s.options.workspace, on);
  });
}

antiphase_status antiphase_scan_explain(const antiphase_scan_args* args, char* text, size_t room) {
  return guarded([&] {
    const scanning s = explained(args, nullptr);
    hand_out(in_words(s.keys ? explain(s.context, s.problem, *s.keys, s.options)
                             : explain(s.context, s.problem, s.options)),
             text, room);
  });
}
