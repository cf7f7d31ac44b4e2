// SPDX-License-Identifier: Apache-2.0
// Advice by text: parsing a user's kernel description; questions and answers in JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/advise.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <charconv>
#include <nlohmann/json.hpp>

namespace antiphase {
namespace {

using json = nlohmann::ordered_json;

const std::vector<std::string> kernel_members{"smem",    "regs",  "load",   "compute", "issue",
                                              "threads", "fixed", "blocks", "copy",    "form",
                                              "next",    "from",  "slots",  "step"};

struct quantity {
  double value = 0;
  std::string unit;
};
[[noreturn]] void wrong(std::string_view member, std::string_view text, std::string_view expected) {
  throw bad_request(fmt::format("kernel: {} is '{}': expected {}", member, shortened(text), expected));
}
quantity read(std::string_view member, std::string_view text, std::string_view expected) {
  quantity q;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), q.value);
  if (error != std::errc() || !(q.value >= 0) || q.value > 1e15) wrong(member, text, expected);
  q.unit = std::string(end, text.data() + text.size());
  return q;
}
std::optional<double> as_bytes(const quantity& q) {
  if (q.unit.empty() || q.unit == "B") return q.value;
  if (q.unit == "KiB") return q.value * 1024;
  return std::nullopt;
}
std::optional<double> as_seconds(const machine_profile& on, const quantity& q) {
  if (q.unit == "clk") return q.value / on.clock.value;
  if (q.unit == "ns") return q.value * 1e-9;
  if (q.unit == "us") return q.value * 1e-6;
  return std::nullopt;
}
int as_integer(std::string_view member, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) wrong(member, text, "an integer");
  return value;
}

void set(own_kernel& k, const machine_profile& on, std::string_view member, std::string_view text) {
  constexpr std::string_view size = "a size such as 16384 or 16KiB",
                             time = "a time such as 900clk, 450ns or 2us";
  const auto bytes = [&] {
    const auto value = as_bytes(read(member, text, size));
    if (!value) wrong(member, text, size);
    return static_cast<std::size_t>(*value);
  };
  if (member == "smem")
    k.smem = bytes();
  else if (member == "fixed")
    k.fixed = bytes();
  else if (member == "regs")
    k.registers = as_integer(member, text);
  else if (member == "threads")
    k.threads = as_integer(member, text);
  else if (member == "blocks")
    k.blocks = as_integer(member, text);
  else if (member == "slots")
    k.slots = as_integer(member, text);
  else if (member == "compute" || member == "issue" || member == "step") {
    quantity q = read(member, text, time);
    if (q.unit.empty()) q.unit = "clk";
    const auto value = as_seconds(on, q);
    if (!value) wrong(member, text, time);
    (member == "issue" ? k.issue : member == "step" ? k.step : k.compute) = *value;
  } else if (member == "load") {
    const quantity q = read(member, text, "a size such as 16KiB or a time such as 700clk");
    if (const auto of_bytes = as_bytes(q))
      k.load_bytes = of_bytes;
    else if (const auto of_time = as_seconds(on, q))
      k.load_seconds = of_time;
    else
      wrong(member, text, "a size such as 16KiB or a time such as 700clk");
  } else if (member == "copy") {
    if (text != "async" && text != "bulk" && text != "registers")
      wrong(member, text, "async, bulk or registers");
    k.asynchronous = text != "registers";
  } else if (member == "form") {
    if (text != "pipeline" && text != "roles") wrong(member, text, "pipeline or roles");
    k.by_roles = text == "roles";
  } else if (member == "next") {
    using enum pipeline_step::next_loads;
    if (text != "after" && text != "before" && text != "blocking")
      wrong(member, text, "after, before or blocking");
    k.next = text == "before" ? before : text == "blocking" ? blocking : after;
  } else if (member == "from") {
    if (text != "memory" && text != "cache") wrong(member, text, "memory or cache");
    k.in_cache = text == "cache";
  } else
    throw bad_request(fmt::format("kernel: there is no member '{}': {}", shortened(member),
                                  suggestion(member, kernel_members)));
}

json parts_of(const prediction& p) {
  json parts = json::object();
  for (std::size_t i = 0; i < limit_count; ++i)
    if (p.parts[i] > 0) parts[std::string(name(static_cast<limit>(i)))] = p.parts[i];
  return parts;
}
json to_json(const advised_policy& p) {
  return {{"policy", p.name},
          {"seconds", p.takes.seconds},
          {"limit", name(p.takes.largest())},
          {"parts", parts_of(p.takes)}};
}
json to_json(const advised_stages& s, bool own) {
  json one{{"stages", s.stages}, {"fits", s.fits}, {"shared_bytes", s.shared_bytes}};
  if (s.fits) {
    one["blocks_per_multiprocessor"] = s.resident;
    one["occupancy"] = s.occupancy;
    one["bytes_in_flight"] = s.bytes_in_flight;
    if (s.bandwidth > 0) one["share_of_bandwidth"] = s.bandwidth;
    one["seconds"] = s.seconds;
    one["gain"] = s.gain;
    if (own) one["least_gain"] = s.least_gain;
    one["limit"] = name(s.largest);
  }
  return one;
}

std::int64_t integer(const json& question, const char* key, std::optional<std::int64_t> otherwise = {}) {
  if (!question.contains(key)) {
    if (otherwise) return *otherwise;
    throw bad_request(fmt::format("advise: '{}' is missing: expected an integer", key));
  }
  if (!question[key].is_number_integer())
    throw bad_request(
        fmt::format("advise: '{}' is {}: expected an integer", key, shortened(question[key].dump())));
  return question[key].get<std::int64_t>();
}
std::string text(const json& question, const char* key, std::string_view expected) {
  if (!question.contains(key) || !question[key].is_string())
    throw bad_request(fmt::format("advise: '{}': expected {}", key, expected));
  return question[key].get<std::string>();
}
machine_profile profile_of(const json& question) {
  if (question.contains("profile"))
    return parse_profile(text(question, "profile", "the text of a machine profile"), "given");
  return shipped_profile(
      question.contains("device") ? text(question, "device", "the name of a machine profile") : "H200");
}

}  // namespace

own_kernel parse_kernel(const machine_profile& on, std::string_view given) {
  own_kernel k;
  bool has_smem = false, has_compute = false, has_form = false, bulk = false;
  for (std::string_view rest = given; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      throw bad_request(
          fmt::format("kernel: '{}': expected member=value, such as smem=16KiB", shortened(one)));
    const std::string_view member = one.substr(0, equals);
    set(k, on, member, one.substr(equals + 1));
    has_smem |= member == "smem";
    has_compute |= member == "compute";
    has_form |= member == "form";
    if (member == "copy") bulk = one.substr(equals + 1) == "bulk";
  }
  if (!has_form) k.by_roles = bulk;
  if (!has_smem || !has_compute)
    throw bad_request(
        fmt::format("kernel: {} is missing: expected smem=, the bytes of a slot, and compute=, the time a "
                    "block computes from it",
                    has_smem ? "compute" : "smem"));
  return k;
}

std::string to_json_text(const advice& a) {
  json others = json::array(), stages = json::array();
  for (const advised_policy& p : a.others) others.push_back(to_json(p));
  for (const advised_stages& s : a.stages) stages.push_back(to_json(s, a.pipelined == "this kernel"));
  json all{
      {"schema", 1},
      {"about", a.about},
      {"device", a.machine.limits.name},
      {"pick", to_json(a.pick)},
      {"predicted", others},
      {"pipelined", {{"kernel", a.pipelined}, {"stages", stages}, {"textbook_gain", a.textbook_gain - 1}}},
      {"bytes_needed_in_flight", a.bytes_needed_in_flight},
      {"limits", a.limits},
      {"changes", a.changes},
      {"recommends", a.recommends}};
  for (const textbook_tile& t : a.textbook)
    all["textbook_tiles"].push_back(
        {{"extent", t.extent}, {"load_seconds", t.times.load}, {"compute_seconds", t.times.compute}});
  for (const advised_tiles& t : a.by_tiles)
    all["by_tiles"].push_back({{"tiles", t.tiles}, {"textbook_gain", t.textbook_gain}, {"gain", t.gain}});
  if (a.stages_that_fit > 0) all["stages_that_fit"] = a.stages_that_fit;
  return all.dump(-1, ' ', true, json::error_handler_t::replace);
}

namespace {

// Throws bad_request for unknown members: misspelt, or of another kind of question.
void refuse_others(const json& question, const std::string& about) {
  std::vector<std::string_view> known{"about", "device", "profile"};
  if (about == "gemm") known.insert(known.end(), {"m", "n", "k", "count"});
  if (about == "scan") known.insert(known.end(), {"count", "size"});
  if (about == "kernel") known.emplace_back("kernel");
  if (known.size() == 3)
    throw bad_request(
        fmt::format("advise: 'about' is '{}': expected gemm, scan or kernel", shortened(about)));
  for (const auto& [name, value] : question.items())
    if (std::ranges::find(known, name) == known.end())
      throw bad_request(fmt::format("advise: a question about {} has no '{}': expected {}", about,
                                    shortened(name), fmt::join(known, ", ")));
}

}  // namespace

std::string advise_json(std::string_view asked) {
  const json question = json::parse(asked, nullptr, false);
  if (!question.is_object())
    throw bad_request(
        "advise: the question is no JSON object: expected {\"about\": \"gemm\", \"m\": 4096, ...}");
  const std::string about = text(question, "about", "gemm, scan or kernel");
  refuse_others(question, about);
  const machine_profile on = profile_of(question);
  if (about == "gemm")
    return to_json_text(advise_gemm(on, {.m = integer(question, "m"),
                                         .n = integer(question, "n"),
                                         .k = integer(question, "k"),
                                         .count = integer(question, "count", 1)}));
  if (about == "scan")
    return to_json_text(
        advise_scan(on, integer(question, "count"), static_cast<std::size_t>(integer(question, "size", 4))));
  return to_json_text(advise_kernel(on, parse_kernel(on, text(question, "kernel", "its members"))));
}

}  // namespace antiphase
