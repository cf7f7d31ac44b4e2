// SPDX-License-Identifier: Apache-2.0
// Machine profiles: reading and writing files, shipped profiles, and the profile of a device.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/executor/machine.hpp>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "core/executor/shipped_profiles.hpp"
#include "core/per_process.hpp"

namespace antiphase {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* schema_key = "machine_profile";
constexpr int schema = 1;
constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of a file
constexpr double most = 1e18;                             // larger figures are refused

constexpr machine_member members[] = {{"clock_hz", "Hz", &machine_profile::clock},
                                      {"clock_under_power_hz", "Hz", &machine_profile::clock_under_power},
                                      {"memory_bytes_per_second", "B/s", &machine_profile::memory_bytes},
                                      {"memory_latency_seconds", "s", &machine_profile::memory_latency},
                                      {"memory_bytes_in_flight", "B", &machine_profile::memory_in_flight},
                                      {"cache_bytes", "B", &machine_profile::cache_size},
                                      {"cache_bytes_per_second", "B/s", &machine_profile::cache_bytes},
                                      {"cache_latency_seconds", "s", &machine_profile::cache_latency},
                                      {"shared_bytes_per_clock", "B/clock", &machine_profile::shared_bytes},
                                      {"multiply_adds_per_clock", "1/clock", &machine_profile::multiply_adds},
                                      {"tensor_fp16_per_second", "1/s", &machine_profile::tensor_fp16},
                                      {"tensor_tf32_per_second", "1/s", &machine_profile::tensor_tf32},
                                      {"tensor_fp64_per_second", "1/s", &machine_profile::tensor_fp64},
                                      {"issue_per_clock", "1/clock", &machine_profile::issue},
                                      {"launch_seconds", "s", &machine_profile::launch}};

// Limits by their names in a file.
template <class Limits, class Visit> void each_limit(Limits& l, Visit visit) {
  visit("multiprocessors", l.multiprocessors);
  visit("threads_per_block", l.threads_per_block);
  visit("threads_per_multiprocessor", l.threads_per_multiprocessor);
  visit("blocks_per_multiprocessor", l.blocks_per_multiprocessor);
  visit("registers_per_multiprocessor", l.registers_per_multiprocessor);
  visit("shared_per_block", l.shared_per_block);
  visit("shared_opt_in", l.shared_opt_in);
  visit("shared_per_multiprocessor", l.shared_per_multiprocessor);
  visit("shared_reserved", l.shared_reserved);
}

[[noreturn]] void complain(std::string_view from, std::string_view what) {
  throw bad_request(fmt::format("machine profile {}: {}", from, what));
}
const json& member(std::string_view from, const json& object, std::string_view key,
                   std::string_view expected) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end())
    complain(from, fmt::format("'{}' is missing: expected {}", key, expected));
  return *found;
}
[[noreturn]] void wrong(std::string_view from, std::string_view key, const json& value,
                        std::string_view expected) {
  constexpr std::size_t shown = 60;
  complain(from,
           fmt::format("'{}' is {}: expected {}", key,
                       value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, shown), expected));
}

std::pair<int, int> capability_of(std::string_view from, const json& value) {
  constexpr const char* expected = "a compute capability such as \"9.0\"";
  if (!value.is_string()) wrong(from, "compute_capability", value, expected);
  const std::string text = value.get<std::string>();
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const bool sensible = (text.size() == 3 || text.size() == 4) && text[text.size() - 2] == '.' &&
                        std::ranges::count_if(text, digit) == static_cast<int>(text.size()) - 1;
  if (!sensible) wrong(from, "compute_capability", value, expected);
  return {std::stoi(text.substr(0, text.size() - 2)), text.back() - '0'};
}

// A name for comparison: lower-case letters and digits, without optional words.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word : {"nvidia", "geforce"})
    if (text.starts_with(word)) text.erase(0, word.size());
  if (text.ends_with("sxm")) text.resize(text.size() - 3);
  return text;
}

}  // namespace

std::span<const machine_member> machine_members() { return members; }

machine_profile parse_profile(std::string_view text, std::string_view from) {
  const json content = json::parse(text, nullptr, false);
  if (!content.is_object() || !content.contains(schema_key))
    complain(
        from,
        "not a JSON object with 'machine_profile': expected a file that 'antiphase info --measure' wrote");
  if (content[schema_key] != schema) wrong(from, schema_key, content[schema_key], "1");
  machine_profile p;
  const json& name = member(from, content, "name", "the device's name");
  if (!name.is_string() || name.get<std::string>().empty()) wrong(from, "name", name, "the device's name");
  const auto [major, minor] = capability_of(
      from, member(from, content, "compute_capability", "a compute capability such as \"9.0\""));
  p.limits = {.name = name.get<std::string>(), .major = major, .minor = minor};
  const json& limits = member(from, content, "limits", "an object with the device's limits");
  each_limit(p.limits, [&](std::string_view key, auto& to) {
    constexpr std::int64_t largest = std::int64_t{1} << 30;
    const json& value = member(from, limits, key, "an integer");
    if (!value.is_number_integer() || value < (key == "shared_reserved" ? 0 : 1) || value > largest)
      wrong(from, key, value, "an integer from 1 to 2^30");
    to = value.get<std::remove_reference_t<decltype(to)>>();
  });
  const json& figures =
      member(from, content, "figures", "an object with a value and a source for each figure");
  for (const machine_member& m : members) {
    const std::string expected = fmt::format("an object with 'value', a number in {}, and 'source'", m.unit);
    const json& figure = member(from, figures, m.name, expected);
    const json& value = member(from, figure, "value", expected);
    const json& source = member(from, figure, "source", expected);
    const bool may_be_none =
        m.figure == &machine_profile::tensor_fp16 || m.figure == &machine_profile::tensor_tf32;
    if (!value.is_number() || !source.is_string()) wrong(from, m.name, figure, expected);
    const double number = value.get<double>();
    if (!(number > 0 || (may_be_none && number == 0)) || number > most)
      wrong(from, m.name, figure, "a positive number up to 1e18");
    p.*m.figure = {number, source.get<std::string>()};
  }
  return p;
}

machine_profile read_profile(const std::string& path) {
  const std::string from = fmt::format("'{}'", path);
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || (file.fail() && !file.eof()))
    complain(from, "it cannot be read: expected a file that 'antiphase info --measure' wrote");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_bytes)
    complain(from, "it is longer than 1 MiB: expected a file that 'antiphase info --measure' wrote");
  return parse_profile(text, from);
}

std::string to_text(const machine_profile& profile) {
  json limits = json::object();
  each_limit(profile.limits,
             [&](std::string_view key, const auto& value) { limits[std::string(key)] = value; });
  std::string text = "{\n";
  text += fmt::format(
      " \"{}\": {},\n \"name\": {},\n \"compute_capability\": \"{}\",\n \"limits\": {},\n \"figures\": {{",
      schema_key, schema, json(profile.limits.name).dump(-1, ' ', true, json::error_handler_t::replace),
      compute_capability(profile.limits), limits.dump());
  for (const char* separator = "\n"; const machine_member& m : members) {
    const machine_figure& f = profile.*m.figure;
    text +=
        fmt::format("{}  \"{}\": {{\"value\": {}, \"source\": {}}}", std::exchange(separator, ",\n"), m.name,
                    json(f.value).dump(), json(f.source).dump(-1, ' ', true, json::error_handler_t::replace));
  }
  return text + "\n }\n}\n";
}

const std::vector<machine_profile>& shipped_profiles() {
  static constinit made_once<std::vector<machine_profile>> all;
  return all.get([] {
    std::vector<machine_profile> list;
    for (const std::string_view text : shipped_profile_texts())
      list.push_back(parse_profile(text, "of this library"));
    return list;
  });
}

const machine_profile& shipped_profile(std::string_view name) {
  std::vector<std::string> known;
  for (const machine_profile& p : shipped_profiles()) {
    if (plain(p.limits.name) == plain(name)) return p;
    known.push_back(p.limits.name);
  }
  throw bad_request(
      fmt::format("there is no machine profile '{}': {}, or a file that 'antiphase info --measure' wrote",
                  shortened(name), suggestion(name, known)));
}

machine_profile profile_of(const device_limits& device) {
  const auto alike = [&](const machine_profile& p) {
    return plain(device.name).starts_with(plain(p.limits.name)) &&
           p.limits.multiprocessors == device.multiprocessors &&
           compute_capability(p.limits) == compute_capability(device);
  };
  for (const machine_profile& p : shipped_profiles())
    if (alike(p)) {
      machine_profile found = p;
      found.limits = device;
      return found;
    }
  machine_profile made = shipped_profile("H200");
  const double processors = std::max(1, device.multiprocessors),
               share = processors / made.limits.multiprocessors;
  const device_rates rates = rates_of(device), of_h200 = rates_of(made.limits);
  for (const machine_member& m : members) (made.*m.figure).source = "assumed: as an H200, by multiprocessor";
  for (machine_figure machine_profile::*const of_all :
       {&machine_profile::memory_bytes, &machine_profile::cache_size, &machine_profile::cache_bytes})
    (made.*of_all).value *= share;
  made.tensor_fp16.value *= share * rates.tensor_fp16 / of_h200.tensor_fp16;
  made.tensor_tf32.value *= share * rates.tensor_fp16 / of_h200.tensor_fp16;
  made.tensor_fp64.value *= share * rates.fp64 / of_h200.fp64;
  made.multiply_adds.value = rates.fp32;
  made.limits = device;
  return made;
}

}  // namespace antiphase
