// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/settings.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "core/per_process.hpp"

namespace antiphase::cublas {
namespace {

std::string_view value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}
void complain(const char* name, const char* expected, const char* instead) {
  std::fprintf(stderr, "antiphase: %s is '%s': expected %s; %s\n", name, std::getenv(name), expected,
               instead);
}

// Unset, empty and 0 mean no.
bool says_yes(const char* name) { return !value_of(name).empty() && value_of(name) != "0"; }

// Index of the word that is set: 0 or 1; -1 for any other. Unset means the first.
int one_of(const char* name, const char* first, const char* second, const char* instead) {
  const std::string_view value = value_of(name);
  if (value.empty() || value == first) return 0;
  if (value == second) return 1;
  complain(name, (std::string(first) + " or " + second).c_str(), instead);
  return -1;
}

template <class Number> struct parsed {
  Number number;
  std::string_view rest;
};
template <class Number> std::optional<parsed<Number>> parse(std::string_view text) {
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || !(number >= 0)) return std::nullopt;
  return parsed<Number>{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

// 1048576, 1024K, 1M or 1G.
std::optional<std::uint64_t> bytes(std::string_view text) {
  const auto found = parse<std::uint64_t>(text);
  if (!found || found->rest.size() > 1) return std::nullopt;
  constexpr std::string_view units = "KMG";
  const std::size_t at = found->rest.empty() ? 0 : units.find(found->rest[0]) + 1;
  if (!found->rest.empty() && at == 0) return std::nullopt;
  const std::size_t shift = 10 * at;
  if (found->number > UINT64_MAX >> shift) return std::nullopt;
  return found->number << shift;
}

// The library reads its tuning at the first product, and refuses all products if that fails.
bool has_a_tuning() {
  if (value_of("ANTIPHASE_TUNING").empty()) return true;
  antiphase_sgemm_args one = ANTIPHASE_SGEMM_ARGS_INIT;
  one.device = ANTIPHASE_CPU;
  char text[1];
  static const float operand = 0;
  static float result;
  one.m = one.n = one.k = 1;
  one.a = &operand, one.b = &operand, one.c = &result;
  if (antiphase_sgemm_explain(&one, text, sizeof text) == ANTIPHASE_OK) return true;
  std::fprintf(stderr, "antiphase: %s; all products are passed on\n", antiphase_last_message());
  return false;
}

settings read() {
  settings s;
  static_cast<telling&>(s) = telling_of_environment();
  for (const char* const name :
       {"ANTIPHASE_DISABLE", "ANTIPHASE_REPORT", "ANTIPHASE_PROFILE", "ANTIPHASE_BATCH_INVARIANT"})
    if (says_yes(name) && value_of(name) != "1") complain(name, "0 or 1", "it is taken as 1");
  s.disabled = says_yes("ANTIPHASE_DISABLE");
  if (const std::string_view least = value_of("ANTIPHASE_LEAST"); !least.empty()) {
    const auto number = parse<double>(least);
    if (number && number->rest.empty())
      s.least = number->number;
    else
      complain("ANTIPHASE_LEAST", "a number from 0 on", "it is ignored");
  }
  if (const std::string_view device = value_of("ANTIPHASE_DEVICE"); device == "cpu")
    s.device = ANTIPHASE_CPU;
  else if (!device.empty())
    complain("ANTIPHASE_DEVICE", "cpu, or nothing", "it is ignored");
  const int strict = one_of("ANTIPHASE_PRECISION", "fp32", "strict", "all products are passed on");
  if (strict == 1) s.precision = ANTIPHASE_PRECISION_STRICT;
  s.disabled |= strict < 0;
  s.takes_tf32 = one_of("ANTIPHASE_TF32", "pass", "take", "they are passed on") == 1;
  s.batch_invariant = says_yes("ANTIPHASE_BATCH_INVARIANT") && !s.profiles && strict == 0;
  if (s.batch_invariant) {
    if (!s.least) s.least = 0;
    if (value_of("ANTIPHASE_TF32").empty()) s.takes_tf32 = true;
  }
  if (const std::string_view limit = value_of("ANTIPHASE_WORKSPACE_LIMIT"); !limit.empty()) {
    const auto number = bytes(limit);
    if (!number)
      complain("ANTIPHASE_WORKSPACE_LIMIT", "bytes, such as 65536, 64K, 512M or 2G",
               "products that need any are passed on");
    s.most_workspace = number.value_or(0);
  }
  if (const std::string_view every = value_of("ANTIPHASE_VERIFY"); !every.empty()) {
    const auto number = parse<std::uint64_t>(every);
    if (number && number->rest.empty())
      s.verified = number->number;
    else
      complain("ANTIPHASE_VERIFY", "a number, or 0 for none", "it is ignored");
  }
  if (!s.profile_json.empty() && !s.profiles)
    complain("ANTIPHASE_PROFILE_JSON", "ANTIPHASE_PROFILE=1 next to it", "it is ignored");
  s.disabled = s.disabled || !has_a_tuning();
  return s;
}

}  // namespace

telling telling_of_environment() {
  telling t;
  if (!value_of("ANTIPHASE_REPORT").empty()) t.reports = says_yes("ANTIPHASE_REPORT");
  t.log_file = value_of("ANTIPHASE_LOG_FILE");
  t.profiles = says_yes("ANTIPHASE_PROFILE");
  t.profile_json = value_of("ANTIPHASE_PROFILE_JSON");
  return t;
}

const settings& said() {
  static constinit made_once<settings> all;
  return all.get(read);
}

}  // namespace antiphase::cublas
