// SPDX-License-Identifier: Apache-2.0
// Tunings: their file format, and which one is used.
#include <antiphase/gemm/tuning.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/version.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "core/per_process.hpp"

namespace antiphase::gemms {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema = 1;
constexpr std::string_view subject = "gemm";
constexpr std::size_t most_bytes = std::size_t{1} << 20;        // of a file
constexpr double least_factor = 1. / 1024, most_factor = 1024;  // beyond these a file is wrong
constexpr std::string_view expected_factors = "arrays of 7, in each 4, in each 7, in each 3 factors";
static_assert(tuning_class::extents == std::array<std::size_t, 4>{7, 4, 7, 3});

// Reads the members of a JSON object; complaints name the file and the member.
class reader {
 public:
  reader(const json& object, std::string who) : object_(object), who_(std::move(who)) {}

  const json& at(const char* key, const char* expected) const {
    if (!object_.is_object() || !object_.contains(key))
      complain(fmt::format("'{}' is missing: expected {}", key, expected));
    return object_.at(key);
  }
  std::string text(const char* key, const char* expected) const {
    const json& value = at(key, expected);
    if (!value.is_string()) wrong(key, value, expected);
    return value.get<std::string>();
  }
  int integer(const char* key, const char* expected) const {
    const json& value = at(key, expected);
    if (!value.is_number_integer() || value < 1 || value > 1 << 20) wrong(key, value, expected);
    return value.get<int>();
  }
  reader object(const char* key, const char* expected) const { return {at(key, expected), who_}; }
  const json& content() const { return object_; }
  [[noreturn]] void wrong(std::string_view key, const json& value, std::string_view expected) const {
    constexpr std::size_t shown = 60;
    std::string is = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (is.size() > shown) is = is.substr(0, shown) + "...";
    complain(fmt::format("'{}' is {}: expected {}", key, is, expected));
  }
  [[noreturn]] void complain(const std::string& what) const {
    throw bad_request(fmt::format("tuning {}: {}", who_, what));
  }

 private:
  const json& object_;
  std::string who_;
};

std::string read_capability(const reader& device) {
  constexpr const char* expected = "a compute capability such as \"9.0\"";
  std::string text = device.text("compute_capability", expected);
  const bool sensible = text.size() >= 3 && text.size() <= 4 && text[text.size() - 2] == '.' &&
                        std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; }) ==
                            static_cast<int>(text.size()) - 1;
  if (!sensible) device.wrong("compute_capability", text, expected);
  return text;
}

template <std::size_t N>
void require_ends(const reader& classes, const char* key, const std::array<std::int64_t, N>& ends) {
  const std::string expected = fmt::format("{}, which this version tells apart", json(ends).dump());
  const json& value = classes.at(key, expected.c_str());
  if (value != json(ends)) classes.wrong(key, value, expected);
}

double read_factor(const reader& from, const std::string& policy, const json& value) {
  const bool number = value.is_number();
  const double factor = number ? value.get<double>() : 0;
  if (!(factor >= least_factor && factor <= most_factor))
    from.wrong(policy, value, "factors from 1/1024 to 1024");
  return factor;
}
// Flattens nested arrays in their order, which is that of tuning_class::index().
void read_factors(const reader& from, const std::string& policy, const json& value, std::size_t depth,
                  double*& to) {
  if (depth == tuning_class::extents.size()) {
    *to++ = read_factor(from, policy, value);
    return;
  }
  if (!value.is_array() || value.size() != tuning_class::extents[depth])
    from.wrong(policy, value, expected_factors);
  for (const json& one : value) read_factors(from, policy, one, depth + 1, to);
}
tuning::of_policy read_policy(const reader& from, const std::string& policy, const json& value) {
  std::vector<std::string> known;
  for (const policy_info& p : policies())
    if (p.ladder == nullptr) known.emplace_back(p.name);
  if (std::ranges::find(known, policy) == known.end())
    from.complain(fmt::format("'factors' has a policy '{}': expected {}", shortened(policy), listed(known)));
  tuning::of_policy to{policy, {}};
  double* next = to.factors.data();
  read_factors(from, policy, value, 0, next);
  return to;
}

tuning parse(std::string_view text, std::string from) {
  const json content = json::parse(text, nullptr, false);
  const reader whole(content, from);
  if (!content.is_object()) whole.complain("not a JSON object: expected a file that 'antiphase tune' wrote");
  constexpr const char* expected = "\"gemm\", as in files that 'antiphase tune' wrote";
  if (whole.text("tuning", expected) != subject) whole.wrong("tuning", content["tuning"], expected);
  if (whole.integer("schema", "1") != schema) whole.wrong("schema", content["schema"], "1");

  tuning t{.source = std::move(from),
           .version = whole.text("version", "the library's version"),
           .device = {},
           .compute_capability = {},
           .made = {},
           .policies = {}};
  const reader device = whole.object("device", "an object with name, compute_capability, multiprocessors");
  t.device = device.text("name", "the device's name");
  if (t.device.empty()) device.wrong("name", t.device, "the device's name");
  t.compute_capability = read_capability(device);
  t.multiprocessors = device.integer("multiprocessors", "their number");
  if (content.contains("made")) t.made = whole.text("made", "a text");
  if (t.version != build_info().version) return t;  // factors of another version are not used

  const reader classes = whole.object("classes", "an object with shorter, longer, k");
  require_ends(classes, "shorter", tuning_class::shorter);
  require_ends(classes, "longer", tuning_class::longer);
  require_ends(classes, "k", tuning_class::k);
  const json& factors = whole.at("factors", "an object with the factors of each policy");
  if (!factors.is_object()) whole.wrong("factors", factors, "an object with the factors of each policy");
  for (const auto& [policy, value] : factors.items()) t.policies.push_back(read_policy(whole, policy, value));
  return t;
}

// The file that ANTIPHASE_TUNING names, read once per process.
struct of_environment {
  std::optional<tuning> read;
  std::string why_not;  // the error; empty: the file was read, or none is named

  of_environment() {
    const char* const path = std::getenv("ANTIPHASE_TUNING");
    if (path == nullptr || *path == '\0') return;
    try {
      read = read_tuning(path);
    } catch (const bad_request& e) {
      why_not = fmt::format("ANTIPHASE_TUNING: {}", e.what());
    }
  }
};
const tuning* tuning_of_environment() {
  static constinit made_once<of_environment> all;
  const of_environment& once = all.get([] { return of_environment(); });
  if (!once.why_not.empty()) throw bad_request(once.why_not);
  return once.read ? &*once.read : nullptr;
}

bool is_of(const tuning& t, const device_limits& device) {
  return t.device == device.name && t.compute_capability == compute_capability(device) &&
         t.multiprocessors == device.multiprocessors;
}

bool suits(const tuning& t, const device_limits& device) {
  return t.device.empty() || (is_of(t, device) && t.version == build_info().version);
}

std::string device_text(std::string_view name, std::string_view capability, int multiprocessors) {
  return fmt::format("{} ({}, {} multiprocessors)", name, capability, multiprocessors);
}

// Nested JSON arrays. The two outer levels have a line for each element, so that files can be read and
// compared.
std::string factors_text(const double*& next, std::size_t depth) {
  if (depth == tuning_class::extents.size()) return json(*next++).dump();
  const std::string line = depth < 2 ? fmt::format("\n{:{}}", "", 6 + 2 * depth) : "",
                    end = depth < 2 ? fmt::format("\n{:{}}", "", 4 + 2 * depth) : "";
  std::string text = "[";
  for (std::size_t i = 0; i < tuning_class::extents[depth]; ++i)
    text += (i == 0 ? "" : ",") + line + factors_text(next, depth + 1);
  return text + end + "]";
}

json ends_of(std::span<const std::int64_t> ends) {
  return json(std::vector<std::int64_t>(ends.begin(), ends.end()));
}

}  // namespace

tuning parse_tuning(std::string_view text, std::string from) { return parse(text, std::move(from)); }

tuning read_tuning(const std::string& path) {
  const std::string from = fmt::format("'{}'", path);
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || (file.fail() && !file.eof()))
    throw bad_request(
        fmt::format("tuning {}: it cannot be read: expected a file that 'antiphase tune' wrote", from));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_bytes)
    throw bad_request(
        fmt::format("tuning {}: it is longer than 1 MiB: expected a file that 'antiphase tune' wrote", from));
  return parse_tuning(text, from);
}

std::string to_text(const tuning& t) {
  const json head{{"schema", schema},
                  {"tuning", subject},
                  {"version", t.version},
                  {"made", t.made},
                  {"device",
                   {{"name", t.device},
                    {"compute_capability", t.compute_capability},
                    {"multiprocessors", t.multiprocessors}}},
                  {"classes",
                   {{"shorter", ends_of(tuning_class::shorter)},
                    {"longer", ends_of(tuning_class::longer)},
                    {"k", ends_of(tuning_class::k)}}}};
  std::string text = "{\n";
  for (const auto& [key, value] : head.items())
    text += fmt::format("  {}: {},\n", json(key).dump(), value.dump());
  text += "  \"factors\": {";
  for (const char* separator = "\n"; const tuning::of_policy& one : t.policies) {
    const double* next = one.factors.data();
    text += fmt::format("{}    {}: {}", std::exchange(separator, ",\n"), json(one.policy).dump(),
                        factors_text(next, 0));
  }
  return text + "\n  }\n}\n";
}

std::string mismatch(const tuning& t, const device_limits& device) {
  if (suits(t, device)) return {};
  if (!is_of(t, device))
    return fmt::format("it is for {}, this is {}",
                       device_text(t.device, t.compute_capability, t.multiprocessors),
                       device_text(device.name, compute_capability(device), device.multiprocessors));
  return fmt::format("it was made with version {} of the library, this is {}", t.version,
                     build_info().version);
}

const tuning* tuning_for(const device_limits& device, const tuning* given) {
  if (given != nullptr && suits(*given, device)) return given;
  const tuning* const named = tuning_of_environment();
  if (named != nullptr && suits(*named, device)) return named;
  return nullptr;
}

std::string tuning_text(const device_limits& device, const tuning* given) {
  std::string aside;
  for (const tuning* const t : {given, tuning_of_environment()})
    if (t != nullptr)
      if (const std::string why = mismatch(*t, device); !why.empty())
        aside += fmt::format("; {} is left aside: {}", t->source, why);
  const tuning* const used = tuning_for(device, given);
  const std::string what =
      used == nullptr        ? fmt::format("none for {}, so predictions are taken as they are", device.name)
      : used->device.empty() ? "none, so predictions are taken as they are"
                             : fmt::format("{}, for {}{}", used->source, used->device,
                                           used->made.empty() ? "" : fmt::format(" ({})", used->made));
  return what + aside;
}

}  // namespace antiphase::gemms
