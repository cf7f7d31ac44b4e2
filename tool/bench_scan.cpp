// The subcommand bench scan.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/scan.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tool/bench.hpp"
#include "tool/file_handle.hpp"
#include "tool/graph.hpp"
#include "tool/npy_header.hpp"
#include "tool/parallel.hpp"
#include "tool/provenance.hpp"
#include "tool/record.hpp"
#include "tool/rivals.hpp"
#include "tool/scan_data.hpp"
#include "tool/table.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Inclusive sums of all sizes and types: of whole arrays, of rows, by key, in wider types. Who is timed for one array is timed in one\n"
    "go, in random order.\n"
    "\n"
    "Columns\n"
    "  how        rested, hot: calls queued one after the other (--protocol); up to 128 MiB also graph: one of 40 in a captured graph,\n"
    "             and event: a single call between two events. All warm: an array that fits the cache is there\n"
    "  time       median of a call; GB/s: every element and key read once, every result written once\n"
    "  memcpy     share of the speed of a copy on the device that moves as many bytes; CUB: how many times as fast as\n"
    "             DeviceScan::InclusiveSum or InclusiveSumByKey\n"
    "  error      relative to FP64 in the Frobenius norm (integers: the share of wrong elements); verified: every element\n"
    "\n"
    "Examples:\n"
    "  antiphase bench scan                                 sizes that suit the place: 2^16 to 2^28 on a GPU, 2^12 on the CPU\n"
    "  antiphase bench scan --size 1048576,268435456 --type f4,i1,u2\n"
    "  antiphase bench scan --size 256000000 --rows 1000000\n"
    "  antiphase bench scan --type i1 --accumulate i4\n"
    "  antiphase bench scan --by-key 1000                   a key for each 1000 elements\n"
    "  antiphase bench scan --type all --against memcpy --json";

constexpr int launches_in_a_graph = 40;
constexpr std::int64_t most_bytes_of_short_calls = 128 << 20;  // read and written; for more a launch is lost in the rest

struct request {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> types{"f4"}, against{"cub", "memcpy"};
  std::string policy = "auto", protocol = "rested", accumulate;
  std::int64_t rows = 1, segment = 0;  // of how many elements a segment is, if sums are by key
  int repeats = 9;
  place_options place;
  common_options common;

  bool beside(std::string_view rival) const { return std::ranges::find(against, rival) != against.end(); }
};

// Times of one array that were taken in one way; a rival's as far as it was there.
struct times {
  std::string how;
  timing ours;
  std::optional<timing> cub, memcpy;
};
struct outcome {
  element type;
  std::int64_t count;
  double bytes = 0;         // that a call has to move
  std::string policy = {};  // that ran
  verdict ours = {};
  launch_counts counts = {};
  rival cub = {};
  std::optional<verdict> of_cub = {};
  std::vector<times> taken = {};
  std::string why_no_graph = {};
};

// `also`: what the option takes beside the names of types.
element parse_type(const std::string& text, const char* option, const char* also = "") {
  std::string known;
  for (int i = 0; i <= static_cast<int>(element::u64); ++i) {
    const auto type = static_cast<element>(i);
    if (text == numpy_name(type)) return type;
    known += (i > 0 ? ", " : "") + std::string(numpy_name(type));
  }
  throw bad_request(fmt::format("{} {}: expected one of {}{}", option, tool::quoted(text), known, also));
}
std::vector<element> types_of(const request& r) {
  std::vector<element> types;
  for (const std::string& text : r.types) {
    if (text != "all") types.push_back(parse_type(text, "--type", ", or all"));
    if (text == "all")
      for (int i = 0; i <= static_cast<int>(element::u64); ++i) types.push_back(static_cast<element>(i));
  }
  return types;
}

std::vector<std::int64_t> sizes_of(const request& r, target where) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  for (const std::int64_t size : r.sizes)
    if (size > most) throw bad_request(fmt::format("--size {}: expected at most 2^40 elements", size));
  if (!r.sizes.empty()) return r.sizes;
  if (where != target::cuda) return {1 << 12};
  return {1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28};
}

// Who is timed for one array, and where the times go.
struct contest {
  std::vector<work> works;
  std::vector<timing*> results;

  void add(const work& w, timing& result) {
    works.push_back(w);
    results.push_back(&result);
  }
  void take(const executor& where, const protocol& how, int runs_of_a_work) {
    const std::vector<timing> all = measure(where, works, how);
    for (std::size_t i = 0; i < all.size(); ++i) *results[i] = divided(all[i], runs_of_a_work);
  }
  static timing divided(timing t, int by) {
    for (double* value : {&t.median_us, &t.fastest_us, &t.slowest_us, &t.lower_quartile_us, &t.upper_quartile_us}) *value /= by;
    return t;
  }
};

// What is added up to what: sums in the type itself, and the wider ones that are measured.
template <class T, class Out> constexpr bool is_measured = std::is_same_v<T, Out> || (prefix::accumulates(element_of<T>, element_of<Out>) &&
                                                                                      std::is_signed_v<T> == std::is_signed_v<Out>);

template <class T, class Out> class bench {
 public:
  bench(const request& r, const context& where, outcome& o)
      : request_(r), arrays_(where, o.count), keys_(where, r.segment > 0 ? keys_of(r, o.count) : std::vector<std::int32_t>{}), outcome_(o) {
    o.bytes = static_cast<double>(o.count) * (sizeof(T) + sizeof(Out) + (r.segment > 0 ? sizeof(std::int32_t) : 0));
  }

  void verify() {
    const auto p = problem();
    outcome_.policy = request_.policy != "auto" ? request_.policy
                      : request_.segment > 0    ? "single-pass"
                                                : prefix::select_step(arrays_.where.runs_on(), p).name;
    outcome_.ours = judge([&](stream on) { outcome_.counts = run(on); });
  }
  void take_times(const protocol& how) {
    if (request_.beside("cub")) outcome_.cub = cub();
    if (outcome_.cub) outcome_.of_cub = judge(outcome_.cub.run);
    if (request_.beside("memcpy")) make_copy();
    take(std::string(name(how.kind)), how, 1);
    if (outcome_.bytes > most_bytes_of_short_calls) return;
    protocol single = how;
    single.most_repeats = 1;
    take("event", single, 1);
    try {
      take("graph", how, launches_in_a_graph);
    } catch (const not_supported& why) {
      outcome_.why_no_graph = why.what();
    }
  }

 private:
  const request& request_;
  scan_arrays<T, Out> arrays_;
  device_array<std::int32_t> keys_;
  std::vector<device_array<std::byte>> copied_;  // from the first to the second, where the input's bytes are not those that are moved
  work copy_;
  outcome& outcome_;

  static std::vector<std::int32_t> keys_of(const request& r, std::int64_t count) {
    std::vector<std::int32_t> keys(static_cast<std::size_t>(count));
    in_parallel(keys.size(), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) keys[i] = static_cast<std::int32_t>(i / static_cast<std::size_t>(r.segment));
    });
    return keys;
  }
  prefix::problem problem() {
    prefix::problem p = arrays_.problem();
    p.outer = request_.rows;
    p.length = outcome_.count / request_.rows;
    return p;
  }
  launch_counts run(stream on) {
    const scan_options options{.policy = request_.policy, .on = on};
    if (request_.segment > 0) return scan_by_key(arrays_.where, problem(), {.data = keys_.data()}, options);
    return scan(arrays_.where, problem(), options);
  }
  verdict judge(const work& by) { return arrays_.judge(by, request_.segment > 0 ? request_.segment : outcome_.count / request_.rows); }
  rival cub() {
    if (!std::is_same_v<T, Out>) return {.name = "CUB", .why_not = "its sums are of the elements' type"};
    if (request_.rows > 1) return {.name = "CUB", .why_not = "it scans one line"};
    const void* const in = std::as_const(arrays_.in).data();
    if (request_.segment > 0) return cub_sums_by_key(arrays_.where, element_of<T>, keys_.data(), in, arrays_.out.data(), outcome_.count);
    return cub_sums(arrays_.where, element_of<T>, in, arrays_.out.data(), outcome_.count);
  }
  void make_copy() {
    const auto half = static_cast<std::size_t>(outcome_.bytes / 2);
    if (half == arrays_.host.size() * sizeof(T)) {
      copy_ = arrays_.copy();
      return;
    }
    for (int i = 0; i < 2; ++i) copied_.emplace_back(arrays_.where, std::vector<std::byte>(half, std::byte{1}));
    copy_ = [this, half](stream on) { arrays_.where.runs_on().copy(copied_[1].data(), copied_[0].data(), half, on); };
  }
  void take(const std::string& how, const protocol& as, int in_a_graph_of) {
    times taken{.how = how, .ours = {}, .cub = {}, .memcpy = {}};
    contest all;
    const auto add = [&](const work& w, timing& result) {
      all.add(in_a_graph_of > 1 ? in_graph(arrays_.where, w, in_a_graph_of) : w, result);
    };
    add([this](stream on) { run(on); }, taken.ours);
    if (outcome_.cub) add(outcome_.cub.run, taken.cub.emplace());
    if (copy_) add(copy_, taken.memcpy.emplace());
    all.take(arrays_.where.runs_on(), as, in_a_graph_of);
    outcome_.taken.push_back(taken);
  }
};

using cells = std::vector<std::string>;

std::string table(const std::vector<outcome>& all) {
  const bool timed = std::ranges::any_of(all, [](const outcome& o) { return !o.taken.empty(); });
  cells heads{"type", "n", "policy"};
  if (timed) heads.insert(heads.end(), {"how", "time us", "spread", "GB/s", "memcpy", "CUB"});
  heads.insert(heads.end(), {"error", "verified"});
  std::vector<cells> rows{heads};
  for (const outcome& o : all) {
    const auto add = [&](const times* t) {
      cells row{numpy_name(o.type), fmt::format("{}", o.count), o.policy};
      if (t != nullptr)
        row.insert(row.end(), {t->how, fmt::format("{:.2f}", t->ours.median_us), spread_text(t->ours),
                               fmt::format("{:.0f}", o.bytes / t->ours.median_us * 1e-3),
                               t->memcpy ? fmt::format("{:.3f}", t->memcpy->median_us / t->ours.median_us) : "-",
                               t->cub ? fmt::format("x{:.2f}", t->cub->median_us / t->ours.median_us) : "-"});
      else if (timed)
        row.insert(row.end(), 6, "-");
      row.insert(row.end(), {fmt::format("{:.1e}", o.ours.error), o.ours.verified ? "yes" : "NO"});
      rows.push_back(row);
    };
    for (const times& t : o.taken) add(&t);
    if (o.taken.empty()) add(nullptr);
  }
  return table_text(rows);
}

std::string kind_of(const request& r) {
  return r.segment > 0 ? "scan.by-key" : r.rows > 1 ? "scan.rows" : !r.accumulate.empty() ? "scan.wider" : "scan.sum";
}
// What is added up, if it is not the whole array in its own type.
std::string what_of(const request& r) {
  if (r.segment > 0) return fmt::format("a key for each {}", r.segment);
  if (r.rows > 1) return fmt::format("{} rows", r.rows);
  return r.accumulate.empty() ? "" : fmt::format("summed in {}", name(parse_type(r.accumulate, "--accumulate")));
}
// One per way of taking times, or one without times.
json record(const request& r, const outcome& o, const times* t) {
  const std::string kernel = kind_of(r) + (r.policy == "auto" ? "" : "." + r.policy);
  json value{{"kernel", kernel}, {"policy", o.policy}, {"shape", {{"n", o.count}}}, {"type", name(o.type)}};
  if (const std::string what = what_of(r); !what.empty()) value["data"] = what;
  value["error"] = {{"ours", o.ours.error}, {"unit", "relative Frobenius"}};
  if (t == nullptr) value["counts"] = to_json(o.counts);
  if (t != nullptr) {
    value["protocol"] = t->how;
    add_time(value, "ours", t->ours);
    if (t->cub) {
      add_time(value, "cub", *t->cub);
      value["error"]["cub"] = o.of_cub->error;
      value["rivals"]["cub"] = {{"version", o.cub.version}, {"mode", o.cub.mode}, {"verified", o.of_cub->verified}};
      value["times_cub"] = t->cub->median_us / t->ours.median_us;
    }
    if (t->memcpy) {
      add_time(value, "memcpy", *t->memcpy);
      value["of_memcpy"] = t->memcpy->median_us / t->ours.median_us;
    }
    value["gb_per_s"] = o.bytes / t->ours.median_us * 1e-3;
  }
  value["verified"] = o.ours.verified;
  value["code"] = code_of(kernel);
  return value;
}

void require_verified(const std::vector<outcome>& all) {
  std::string wrong;
  for (const outcome& o : all)
    if (!o.ours.verified) wrong += fmt::format("{}{} of {}", wrong.empty() ? "" : ", ", o.count, numpy_name(o.type));
  if (!wrong.empty()) throw verification_failed(fmt::format("verification failed: the sums of {} are wrong", wrong));
}

void run(const request& r) {
  const std::vector<element> types = types_of(r);
  const protocol how{.kind = parse_protocol(r.protocol), .samples = r.repeats};
  for (const std::string& rival : r.against)
    if (rival != "cub" && rival != "memcpy" && rival != "none")
      throw bad_request(fmt::format("--against {}: expected some of cub, memcpy, or none", tool::quoted(rival)));
  if (r.policy != "auto") prefix::find_step(r.policy);
  if ((r.rows > 1) + (r.segment > 0) + !r.accumulate.empty() > 1)
    throw bad_request("--rows, --by-key and --accumulate are measured one at a time");
  const place at = choose_place(r.place, reference::not_offered);
  const std::vector<std::int64_t> sizes = sizes_of(r, at.where->kind());
  const bool timed = at.where->kind() == target::cuda;
  for (const std::int64_t size : sizes)
    if (size % r.rows != 0) throw bad_request(fmt::format("--size {}: expected a multiple of --rows {}", size, r.rows));
  say_place(r.common, at);
  if (!timed) say(r.common, "nothing is timed: times of the CPU executor would say nothing about a GPU");

  std::vector<outcome> all;
  for (const element type : types)
    for (const std::int64_t size : sizes) {
      say_progress(r.common, fmt::format("{} of {}", size, numpy_name(type)));
      outcome& o = all.emplace_back(outcome{.type = type, .count = size});
      const auto measure_as = [&]<class T, class Out>() {
        bench<T, Out> b(r, *at.where, o);
        b.verify();
        if (timed && size > 0) b.take_times(how);
      };
      with_element(type, [&]<class T>() {
        if (r.accumulate.empty()) return measure_as.template operator()<T, T>();
        with_element(parse_type(r.accumulate, "--accumulate"), [&]<class Out>() {
          if constexpr (is_measured<T, Out>)
            measure_as.template operator()<T, Out>();
          else
            throw bad_request(fmt::format("--accumulate {}: sums of {} are measured in wider types of the same kind, of 32 bits or more",
                                          r.accumulate, numpy_name(type)));
        });
      });
      if (!o.cub.why_not.empty()) say(r.common, fmt::format("CUB is not compared with: {}", o.cub.why_not));
      if (!o.why_no_graph.empty()) say(r.common, fmt::format("{} of {} in a graph: {}", size, numpy_name(type), o.why_no_graph));
      o.cub.run = {};  // its workspace goes
    }

  if (r.common.json) {
    json records = json::array();
    for (const outcome& o : all) {
      for (const times& t : o.taken) records.push_back(record(r, o, &t));
      if (o.taken.empty()) records.push_back(record(r, o, nullptr));
    }
    print_json(result_file("bench scan", at, std::move(records)));
  } else {
    const std::string what = what_of(r);
    print(fmt::format("inclusive sums{} on {}\n\n{}", what.empty() ? "" : ", " + what + ",", at.name, table(all)));
  }
  require_verified(all);
}

}  // namespace

void add_bench_scan(CLI::App& bench, action& chosen) {
  CLI::App* command = bench.add_subcommand("scan", "Running sums: time, and CUB and a copy beside them");
  const auto r = std::make_shared<request>();
  command->add_option("--size", r->sizes, "Numbers of elements, separated by commas")
      ->delimiter(',')
      ->check(integer_from(0))
      ->type_name("NUMBERS");
  command->add_option("--type", r->types, "Some of f4 (default), f8, i1 to i8, u1 to u8, or all")->delimiter(',')->type_name("TYPES");
  command->add_option("--rows", r->rows, "Rows of equal length that each array consists of")->check(integer_from(1))->type_name("N");
  command->add_option("--by-key", r->segment, "Sums by 32-bit keys, of which each stands for so many elements")
      ->check(integer_from(1))
      ->type_name("N");
  command->add_option("--accumulate", r->accumulate, "Sums in a wider type")->type_name("TYPE");
  command->add_option("--policy", r->policy, "auto (default), or a step of the scan ladder that takes the type")->type_name("NAME");
  command->add_option("--against", r->against, "Some of cub and memcpy (default: both), or none")->delimiter(',')->type_name("NAMES");
  command->add_option("--repeats", r->repeats, "Samples of each time (default 9)")->check(integer_between(1, 1000))->type_name("N");
  add_protocol_option(*command, r->protocol);
  add_place_options(*command, r->place, reference::not_offered);
  add_common_options(*command, r->common);
  command->footer(explanation);
  command->callback([r, &chosen] { chosen = [r] { run(*r); }; });
}

}  // namespace antiphase::tool
