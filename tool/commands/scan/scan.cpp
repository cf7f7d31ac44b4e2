// SPDX-License-Identifier: Apache-2.0
// The subcommand scan: prefix sums, products, minima and maxima of an array in a .npy file, by numpy's rules.
#include <antiphase/scan.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "tool/commands/scan/scan_job.hpp"
#include "tool/commands/scan/scan_range.hpp"
#include "tool/commands/scan/scan_run.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/file_names.hpp"
#include "tool/files/npy/convert.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/files/output_file.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU it runs on the CPU executor, right but slow; what takes long is announced.\n\n"
    "X is a .npy file of f2, f4, f8, i1 to i8, u1 to u8 or bool of any rank, in C or Fortran order; '-' is "
    "standard input. Y is "
    "written in C order. The rules are numpy's (cumsum, cumprod, minimum.accumulate, maximum.accumulate):\n"
    "  - without --axis the array is flattened in C order and the result is 1-D; a 0-D array gives one "
    "element\n"
    "  - sums and products of integers accumulate in i8 (u8 for unsigned, i8 for bool), those of floats in "
    "their own type; min and "
    "max keep the type of X. --accumulate TYPE adds up in TYPE instead, and TYPE is the type of Y\n"
    "  - f2 is computed in f4 and rounded where it is written (numpy rounds at every step)\n"
    "  - integers wrap around; a NaN stays from where it first appears\n"
    "With --by-key, elements next to each other whose keys are equal are a segment, and each is scanned on "
    "its own; KEYS has the "
    "shape of X, and elements of any type that X may have. A NaN differs from every key.\n"
    "An exclusive scan starts with the operation's identity: 0, 1, or the largest or lowest value (floats: "
    "infinity).\n"
    "\n"
    "Sums and products of floats are not taken in numpy's order, one element after the other. Where the "
    "positive elements up to an "
    "output and the negative ones each add up to a number in range, the order shows in its last digits only; "
    "else it may be infinite "
    "or NaN where numpy has a number. Likewise products: the factors above 1 and those below 1 in magnitude "
    "(then also 0). A message "
    "says so. Sums of f4 with --accumulate f8 stay in range.\n"
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
    "      offsets from counts\n"
    "  antiphase scan X.npy --explain\n"
    "      which kernel that would be, and why\n"
    "  antiphase info\n"
    "      lists the policies";

struct request {
  std::string x, output;
  std::string operation = "sum";
  bool exclusive = false, reverse = false;
  std::optional<std::int64_t> axis;
  std::string accumulate, keys;
  std::string policy = "auto";
  bool explain = false;
  place_options place;
  common_options common;
};

std::vector<std::string> names_of_operators() {
  return {std::begin(scans::operators::names), std::end(scans::operators::names)};
}
scan_operation parse_operation(const std::string& text) {
  return scans::operators::operations[choice_of("--op", text, names_of_operators())];
}

element result_type(const request& r, const npy_array& x) {
  if (!r.accumulate.empty()) {
    const element wanted = parse_type("--accumulate", r.accumulate, all_types);
    if (is_floating(x.type) && !is_floating(wanted))
      throw bad_request(
          fmt::format("{}: the elements are {}, and --accumulate {} would lose their fractions; convert the "
                      "array first with .astype('{}')",
                      x.name, numpy_name(x.type), r.accumulate, r.accumulate));
    return wanted;
  }
  if (is_floating(x.type) || scans::is_ordered(parse_operation(r.operation))) return x.type;
  return is_unsigned(x.type) && x.means == meaning::numbers ? element::u64 : element::i64;
}

struct lines {
  std::vector<std::int64_t> shape;  // of the result
  std::int64_t outer = 1, length = 0, inner = 1;
};

lines split(const request& r, const npy_array& x) {
  if (!r.axis) return {.shape = {x.count()}, .length = x.count()};
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (*r.axis < -rank || *r.axis >= rank)
    throw bad_request(
        rank == 0 ? fmt::format("--axis {}: {} has the shape () and no axis; omit --axis", *r.axis, x.name)
                  : fmt::format("--axis {}: {} has the shape {}, expected an axis from {} to {}", *r.axis,
                                x.name, shape_text(x.shape), -rank, rank - 1));
  const auto axis = static_cast<std::size_t>(*r.axis < 0 ? *r.axis + rank : *r.axis);
  return {.shape = x.shape,
          .outer = element_count(std::span{x.shape}.first(axis)),
          .length = x.shape[axis],
          .inner = element_count(std::span{x.shape}.subspan(axis + 1))};
}

scan_job job_of(const request& r, const npy_array& x, element type, const lines& by) {
  scan_job job{.operation = parse_operation(r.operation),
               .kind = r.exclusive ? scan_kind::exclusive : scan_kind::inclusive,
               .direction = r.reverse ? scan_direction::reverse : scan_direction::forward,
               .type = type,
               .outer = by.outer,
               .length = by.length,
               .inner = by.inner};
  if (job.is_min_or_max() && r.accumulate.empty()) job.means = x.means;
  return job;
}

npy_array read_keys(const request& r, const npy_array& x) {
  npy_array keys = in_c_order(read_npy(r.keys, booleans::taken));
  if (keys.shape != x.shape)
    throw bad_request(
        fmt::format("--by-key {}: the keys have the shape {}, expected {}, one for every element of {}",
                    keys.name, shape_text(keys.shape), shape_text(x.shape), x.name));
  if (is_half(keys.type)) {  // the library cannot compare these
    const std::vector<std::byte> wider = converted(keys.bytes(), keys.type, element::f32);
    const auto owned = std::make_shared<std::vector<std::byte>>(wider);
    keys.data = std::shared_ptr<const std::byte>(owned, owned->data());
    keys.type = element::f32;
  }
  return keys;
}

// Reports whether finite elements gave non-finite results, and what helps.
void say_range(const request& r, const scan_job& job, const std::optional<left_range>& left,
               const std::vector<std::int64_t>& shape) {
  if (!left) return;
  const bool adds = job.operation != scan_operation::product;
  std::string help;
  if (job.type != element::f64)
    help = fmt::format("; --accumulate {} has {}", job.type == element::f16 ? "f4" : "f8",
                       adds ? "the range" : "more range");
  const std::string where =
      shape.size() == 1 ? fmt::format("{}", left->first) : shape_text(index_of(left->first, shape));
  say(r.common,
      fmt::format("{} of {} outputs left the range of {} and are infinite{} NaN{}, though X is finite: the "
                  "{} at index {}{}",
                  left->count, job.count(), numpy_name(job.type), adds ? " or" : ",", adds ? "" : " or 0",
                  job.direction == scan_direction::forward ? "first is" : "first, from the end, is", where,
                  help));
}

std::string what_is_scanned(const request& r, const scan_job& job) {
  const std::int64_t count = job.lines();
  return fmt::format("{}{}{} of {}{} {} element{}{}", r.exclusive ? "exclusive " : "",
                     r.reverse ? "reverse " : "", r.operation,
                     count == 1 ? "" : fmt::format("{} lines of ", count), job.length,
                     numpy_name(job.type, job.means), job.length == 1 ? "" : "s", count == 1 ? "" : " each");
}

void report(const request& r, const place& at, const scan_job& job, const std::vector<std::int64_t>& shape,
            const scan_outcome& result, const std::optional<left_range>& left) {
  say(r.common, fmt::format("{}: {}, policy {}, on {}", output_name(r.output), what_is_scanned(r, job),
                            result.policy, at.name));
  say_range(r, job, left, shape);
  if (!r.common.json) return;
  json value{{"schema", 1},
             {"command", "scan"},
             {"place", to_json(at)},
             {"policy", result.policy},
             {"operation", r.operation},
             {"kind", r.exclusive ? "exclusive" : "inclusive"},
             {"direction", r.reverse ? "reverse" : "forward"},
             {"type", numpy_name(job.type, job.means)},
             {"shape", shape},
             {"output", r.output}};
  if (!r.keys.empty()) value["by_key"] = r.keys;
  if (left) value["left_range"] = {{"count", left->count}, {"first", index_of(left->first, shape)}};
  if (at.context.kind() == target::cpu) value["counts"] = to_json(result.counts);
  print_json(value);
}

void tell_choice(const request& r, const place& at, const scan_job& job, const npy_array& x,
                 const std::optional<npy_array>& keys) {
  const scan_choice chosen = choice_of_scan(at.context, job, r.policy, x, keys);
  if (r.common.json) {
    json value{{"schema", 1},          {"command", "scan"},
               {"place", to_json(at)}, {"operation", r.operation},
               {"lines", job.lines()}, {"length", job.length}};
    value.update(to_json(chosen));
    print_json(value);
    return;
  }
  std::string text = fmt::format("{} on {}\n  {}\n", what_is_scanned(r, job), at.name, choice_text(chosen));
  for (const std::string& why : chosen.why) text += fmt::format("  why: {}\n", why);
  for (const std::string& refused : chosen.refused) text += fmt::format("  refused: {}\n", refused);
  print_lines(text);
}

void require_sensible(const request& r) {
  parse_operation(r.operation);
  if (!r.accumulate.empty()) parse_type("--accumulate", r.accumulate, all_types);
  if (r.policy != "auto") scans::find_policy(r.policy);
  if (r.explain && !r.output.empty())
    throw bad_request("--explain scans nothing, --output has nothing to receive: give one of the two");
  if (!r.explain && r.output.empty()) throw bad_usage("--output is required (see antiphase scan --help)");
  refuse_mixed_results(r.common, r.output);
  refuse_binary_on_terminal(r.output);
  refuse_same_file(r.output, r.x);
  if (r.keys.empty()) return;
  if (r.axis) throw bad_request("--by-key goes with one line of elements: omit --axis");
  refuse_same_stream(r.x, r.keys);
  refuse_same_file(r.output, r.keys);
}

void run(const request& r) {
  require_sensible(r);
  const place at = choose_place(r.place);
  const npy_array x = in_c_order(read_npy(r.x, booleans::taken));
  const lines by = split(r, x);
  const scan_job job = job_of(r, x, result_type(r, x), by);
  const std::optional<npy_array> keys = r.keys.empty() ? std::nullopt : std::optional(read_keys(r, x));
  say_place(r.common, at);
  if (r.explain) return tell_choice(r, at, job, x, keys);

  output_file out{r.output};
  const scan_outcome result = scan_on_device(r.common, at.context, job, r.policy, x, keys);
  write_npy(out, job.type, by.shape, result.data, job.means);
  out.commit();
  report(r, at, job, by.shape, result, find_left_range(job, x.bytes(), x.type, result.data));
}

}  // namespace

void add_scan(arguments program) {
  arguments command = program.add_subcommand("scan", "Running sums, products, minima or maxima of an array");
  const auto r = std::make_shared<request>();
  command.add_option("X", r->x, "The array: a .npy file, or '-'").required().type_name("X.npy");
  command.add_option("-o,--output", r->output, "Where to write the result; never the input")
      .type_name("Y.npy");
  command
      .add_option("--op", r->operation,
                  fmt::format("{} (default sum); floats are not summed or multiplied in numpy's order (see "
                              "below)",
                              listed(names_of_operators())))
      .type_name("OPERATION")
      .offers(names_of_operators());
  command.add_flag("--exclusive", r->exclusive, "Leave the element itself out: start with the identity");
  command.add_flag("--reverse", r->reverse, "From the last element to the first");
  command.add_option("--axis", r->axis, "Scan along this axis; -1 is the last (default: flatten the array)")
      .check(integer_from(std::numeric_limits<long long>::min()))
      .type_name("N");
  command.add_option("--by-key", r->keys, "Scan runs of equal keys each on its own: a .npy file, or '-'")
      .check(not_empty())
      .type_name("KEYS.npy");
  command
      .add_option("--accumulate", r->accumulate,
                  "Add up in this type: f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 or u8")
      .check(not_empty())
      .type_name("TYPE")
      .offers(names_of_types(all_types));
  command
      .add_option("--policy", r->policy,
                  "A step of the ladder, columns, items-thread or items-warp (default auto: by shape, type "
                  "and device)")
      .type_name("NAME")
      .offers(policies_of_scan());
  command.add_flag("--explain", r->explain, "Do not scan: say which kernel would, and why");
  add_place_options(command, r->place);
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
