// SPDX-License-Identifier: Apache-2.0
// Options of a check as text: for the tool, and for programs that check kernels of their own.
#include <fmt/format.h>

#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <charconv>
#include <limits>

#include "core/executor/cpu/order/script.hpp"

namespace antiphase {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view value, const std::string& expected) {
  throw bad_request(fmt::format("{} '{}': expected {}", option, value, expected));
}

template <class T> T number(std::string_view option, std::string_view value, T least, T most) {
  T n = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (failed != std::errc{} || end != value.data() + value.size() || n < least || n > most)
    refuse(option, value, fmt::format("an integer from {} to {}", least, most));
  return n;
}

// f(item) for each item of a comma-separated list; empty for `all`.
template <class F> auto list(std::string_view value, F f) {
  std::vector<decltype(f(value))> items;
  if (value == "all") return items;
  for (std::size_t start = 0; start <= value.size();) {
    const std::size_t end = std::min(value.find(',', start), value.size());
    items.push_back(f(value.substr(start, end - start)));
    start = end + 1;
  }
  return items;
}

template <class E> std::vector<E> names(std::string_view option, std::string_view value, E last) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(last); ++i) known.emplace_back(name(static_cast<E>(i)));
  return list(value, [&](std::string_view item) {
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (item == name(static_cast<E>(i))) return static_cast<E>(i);
    throw bad_request(fmt::format("{} '{}': {}, or all", option, item, suggestion(item, known)));
  });
}

struct named_option {
  std::string_view name;
  void (*set)(check_options&, std::string_view option, std::string_view value);
};
constexpr int most_workers = 1024, most_resident = 1024;
constexpr named_option known[] = {
    {"--schedules", [](check_options& o, std::string_view n,
                       std::string_view v) { o.schedules = number(n, v, 1, 1'000'000); }},
    {"--seed",
     [](check_options& o, std::string_view n, std::string_view v) { o.seed = number(n, v, 0u, ~0u); }},
    {"--order", [](check_options& o, std::string_view n,
                   std::string_view v) { o.orders = names(n, v, schedule::script); }},
    {"--landing", [](check_options& o, std::string_view n,
                     std::string_view v) { o.copies = names(n, v, landing::mixed); }},
    {"--resident",
     [](check_options& o, std::string_view n, std::string_view v) {
       o.resident_blocks = list(v, [&](std::string_view item) { return number(n, item, 1, most_resident); });
     }},
    {"--workers", [](check_options& o, std::string_view n,
                     std::string_view v) { o.workers = number(n, v, 0, most_workers); }},
    {"--exhaustive",
     [](check_options& o, std::string_view n, std::string_view v) {
       o.exhaustive = number<std::uint64_t>(n, v, 1, 1'000'000'000);
     }},
    {"--script",
     [](check_options& o, std::string_view, std::string_view v) {
       cpu_detail::from_text(v);  // throws if malformed
       o.script = v;
     }},
    {"--without",
     [](check_options& o, std::string_view n, std::string_view v) {
       const std::vector<ring_wait> named = names(n, v, ring_wait::barrier);
       if (named.size() != 1) refuse(n, v, "one of none, data, slot and barrier");
       o.without = named.front();
     }},
};

}  // namespace

void set_option(check_options& options, std::string_view name, std::string_view value) {
  for (const named_option& o : known)
    if (name == o.name) return o.set(options, name, value);
  if (name == "--policy")
    throw bad_request("there is no option '--policy': who runs next is called --order here");
  throw bad_request(fmt::format("there is no option '{}': {}", name, suggestion(name, names_of(known))));
}

check_options options_of(std::span<const char* const> arguments) {
  check_options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size())
      throw bad_request(fmt::format("{} has no value: expected one after it", arguments[i]));
    set_option(options, arguments[i], arguments[i + 1]);
  }
  return options;
}

}  // namespace antiphase
