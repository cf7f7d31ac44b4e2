// The subcommand scan: prefix sums, products, minima and maxima of an array in a .npy file, by numpy's rules.
#include <antiphase/scan.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "tool/command.hpp"
#include "tool/console.hpp"
#include "tool/convert.hpp"
#include "tool/file_handle.hpp"
#include "tool/file_names.hpp"
#include "tool/names.hpp"
#include "tool/npy.hpp"
#include "tool/output_file.hpp"
#include "tool/place.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "X is a .npy file of f2, f4, f8, i1 to i8 or u1 to u8 of any rank, in C or Fortran order; '-' is standard input. Y is written "
    "in C order. The rules are numpy's (cumsum, cumprod, minimum.accumulate, maximum.accumulate):\n"
    "  - without --axis the array is flattened in C order and the result is 1-D; a 0-D array gives one element\n"
    "  - sums and products of integers accumulate in i8 (u8 for unsigned), those of floats in their own type; min and max keep "
    "the type of X. --accumulate TYPE adds up in TYPE instead, and TYPE is the type of Y\n"
    "  - f2 is computed in f4 and rounded where it is written (numpy rounds at every step)\n"
    "  - integers wrap around; a NaN stays from where it first appears\n"
    "With --by-key, elements next to each other whose keys are equal are a segment, and each is scanned on its own; KEYS has one "
    "key for every element of X. A NaN differs from every key.\n"
    "An exclusive scan starts with the operation's identity: 0, 1, or the largest or lowest value (floats: infinity).\n"
    "\n"
    "Examples:\n"
    "  antiphase scan X.npy --output Y.npy\n"
    "      numpy.cumsum(X)\n"
    "  antiphase scan X.npy --output Y.npy --op max --axis -1\n"
    "      numpy.maximum.accumulate(X, axis=-1)\n"
    "  antiphase scan X.npy --output Y.npy --accumulate i4\n"
    "      numpy.cumsum(X, dtype='i4')\n"
    "  antiphase scan X.npy --output Y.npy --by-key KEYS.npy\n"
    "      sums that start anew wherever the key changes\n"
    "  antiphase scan - --output - --exclusive < X.npy > Y.npy\n"
    "      offsets from counts";

struct request {
  std::string x, output;
  std::string operation = "sum";
  bool exclusive = false, reverse = false;
  std::optional<std::int64_t> axis;
  std::string accumulate, keys;
  place_options place;
  common_options common;
};

scan_operation parse_operation(const std::string& text) {
  constexpr scan_operation all[] = {scan_operation::sum, scan_operation::product, scan_operation::min, scan_operation::max};
  return all[choice_of("--op", text, {"sum", "product", "min", "max"})];
}

element result_type(const request& r, const npy_array& x) {
  if (!r.accumulate.empty()) {
    const element wanted = parse_type("--accumulate", r.accumulate, all_types);
    if (is_floating(x.type) && !is_floating(wanted))
      throw bad_request(
          fmt::format("{}: the elements are {}, and --accumulate {} would lose their fractions; convert the array first with .astype('{}')",
                      x.name, numpy_name(x.type), r.accumulate, r.accumulate));
    return wanted;
  }
  const scan_operation operation = parse_operation(r.operation);
  if (is_floating(x.type) || operation == scan_operation::min || operation == scan_operation::max) return x.type;
  return is_unsigned(x.type) ? element::u64 : element::i64;
}

struct lines {
  std::vector<std::int64_t> shape;  // of the result
  std::int64_t outer = 1, length = 0, inner = 1;
};

lines split(const request& r, const npy_array& x) {
  if (!r.axis) return {.shape = {x.count()}, .length = x.count()};
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (*r.axis < -rank || *r.axis >= rank)
    throw bad_request(rank == 0 ? fmt::format("--axis {}: {} has the shape () and no axis; leave --axis away", *r.axis, x.name)
                                : fmt::format("--axis {}: {} has the shape {}, expected an axis from {} to {}", *r.axis, x.name,
                                              shape_text(x.shape), -rank, rank - 1));
  const auto axis = static_cast<std::size_t>(*r.axis < 0 ? *r.axis + rank : *r.axis);
  return {.shape = x.shape,
          .outer = element_count(std::span{x.shape}.first(axis)),
          .length = x.shape[axis],
          .inner = element_count(std::span{x.shape}.subspan(axis + 1))};
}

struct outcome {
  std::vector<std::byte> data;
  launch_counts counts;
};

// What the library scans: X as it is where it adds up in the wanted type by itself, or else converted first. Rows and columns of f2 go
// through f4 and are rounded at the end, as the library does it with one line.
struct plan {
  element in, out;
};
plan plan_of(const request& r, const npy_array& x, element type, const lines& by) {
  const bool one_line = by.outer * by.inner == 1 && r.keys.empty();
  const element computed = type == element::f16 && by.inner > 1 ? element::f32 : type;
  const bool adds = parse_operation(r.operation) == scan_operation::sum;
  const bool as_it_is = x.type == computed || (one_line && adds && prefix::accumulates(x.type, computed));
  return {as_it_is ? x.type : computed, computed};
}

outcome compute(const request& r, const context& where, const npy_array& x, const npy_array* keys, element type, const lines& by) {
  const plan how = plan_of(r, x, type, by);
  const std::vector<std::byte> input = how.in == x.type ? std::vector<std::byte>{} : converted(x.bytes(), x.type, how.in);
  const std::span<const std::byte> bytes = how.in == x.type ? x.bytes() : std::span<const std::byte>{input};
  if (bytes.empty()) return {};
  device_array<std::byte> data(where, bytes);
  std::optional<device_array<std::byte>> apart;
  if (how.in != how.out) apart.emplace(where, bytes.size() / size_of(how.in) * size_of(how.out));
  device_array<std::byte>& to = apart ? *apart : data;
  const prefix::problem p{.type = how.in,
                          .operation = parse_operation(r.operation),
                          .kind = r.exclusive ? scan_kind::exclusive : scan_kind::inclusive,
                          .direction = r.reverse ? scan_direction::reverse : scan_direction::forward,
                          .in = data.data(),
                          .out = to.data(),
                          .outer = by.outer,
                          .length = by.length,
                          .inner = by.inner,
                          .accumulate = how.out};
  outcome result;
  if (keys != nullptr) {
    const device_array<std::byte> told(where, keys->bytes());
    result.counts = scan_by_key(where, p, {.data = told.data(), .type = keys->type});
    where.runs_on().synchronize(nullptr);
  } else {
    result.counts = scan(where, p);
    where.runs_on().synchronize(nullptr);
  }
  result.data = to.to_host();
  if (how.out != type) result.data = converted(result.data, how.out, type);
  return result;
}

npy_array read_keys(const request& r, const npy_array& x) {
  npy_array keys = in_c_order(read_npy(r.keys));
  if (keys.count() != x.count())
    throw bad_request(
        fmt::format("--by-key {}: {} keys, expected {}, one for every element of {}", keys.name, keys.count(), x.count(), x.name));
  if (is_half(keys.type))
    throw bad_request(fmt::format("--by-key {}: the keys are f2, expected integers, f4 or f8; convert them with .astype('f4')", keys.name));
  return keys;
}

void report(const request& r, const place& at, element type, const lines& by, const outcome& result) {
  const std::int64_t count = by.outer * by.inner;
  say(r.common, fmt::format("{}: {}{}{} of {}{} {} elements{}, on {}", output_name(r.output), r.exclusive ? "exclusive " : "",
                            r.reverse ? "reverse " : "", r.operation, count == 1 ? "" : fmt::format("{} lines of ", count), by.length,
                            numpy_name(type), count == 1 ? "" : " each", at.name));
  if (!r.common.json) return;
  json value{{"schema", 1},
             {"command", "scan"},
             {"place", to_json(at)},
             {"operation", r.operation},
             {"kind", r.exclusive ? "exclusive" : "inclusive"},
             {"direction", r.reverse ? "reverse" : "forward"},
             {"type", numpy_name(type)},
             {"shape", by.shape},
             {"output", r.output}};
  if (!r.keys.empty()) value["by_key"] = r.keys;
  if (at.where->kind() == target::cpu) value["counts"] = to_json(result.counts);
  print_json(value);
}

void run(const request& r) {
  parse_operation(r.operation);
  if (!r.accumulate.empty()) parse_type("--accumulate", r.accumulate, all_types);
  refuse_mixed_results(r.common, r.output);
  refuse_same_file(r.output, r.x);
  if (!r.keys.empty()) {
    if (r.axis) throw bad_request("--by-key goes with one line of elements: leave --axis away");
    refuse_same_stream(r.x, r.keys);
    refuse_same_file(r.output, r.keys);
  }
  const place at = choose_place(r.place, reference::not_offered);
  const npy_array x = in_c_order(read_npy(r.x));
  const element type = result_type(r, x);
  const lines by = split(r, x);
  const std::optional<npy_array> keys = r.keys.empty() ? std::nullopt : std::optional(read_keys(r, x));
  say_place(r.common, at);

  output_file out{r.output};
  const outcome result = compute(r, *at.where, x, keys ? &*keys : nullptr, type, by);
  write_npy(out, type, by.shape, result.data);
  out.commit();
  report(r, at, type, by, result);
}

}  // namespace

void add_scan(arguments program) {
  arguments command = program.add_subcommand("scan", "Running sums, products, minima or maxima of an array");
  const auto r = std::make_shared<request>();
  command.add_option("X", r->x, "The array: a .npy file, or '-'").required().type_name("X.npy");
  command.add_option("-o,--output", r->output, "Where to write the result; never the input").required().type_name("Y.npy");
  command.add_option("--op", r->operation, "sum (default), product, min or max").type_name("OPERATION");
  command.add_flag("--exclusive", r->exclusive, "Leave the element itself out: start with the identity");
  command.add_flag("--reverse", r->reverse, "From the last element to the first");
  command.add_option("--axis", r->axis, "Scan along this axis; -1 is the last (default: flatten the array)")
      .check(integer_from(std::numeric_limits<long long>::min()))
      .type_name("N");
  command.add_option("--by-key", r->keys, "Scan runs of equal keys each on its own: a .npy file, or '-'")
      .check(not_empty())
      .type_name("KEYS.npy");
  command.add_option("--accumulate", r->accumulate, "Add up in this type: f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 or u8")
      .check(not_empty())
      .type_name("TYPE");
  add_place_options(command, r->place, reference::not_offered);
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
