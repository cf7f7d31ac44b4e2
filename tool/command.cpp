// Options that several subcommands have, and messages about arguments that no one understands.
#include "tool/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "tool/file_handle.hpp"

namespace antiphase::tool {
namespace {

// How many letters have to be changed, added or removed to make `b` of `a`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j)
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)}));
  }
  return row[b.size()];
}

// "did you mean X?" if something that exists is close, else a list of all of it.
std::string suggestion(std::string_view given, const std::vector<std::string>& known) {
  const auto closest = std::ranges::min_element(known, {}, [&](const std::string& name) { return distance(given, name); });
  const std::size_t near = std::min<std::size_t>(2, (given.size() + 1) / 2);  // of short words everything would be close
  if (closest != known.end() && distance(given, *closest) <= near)
    return fmt::format("did you mean {}? There are {}", *closest, fmt::join(known, ", "));
  return fmt::format("expected one of {}", fmt::join(known, ", "));
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool looks_like_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// What nobody wanted, up to the "--" behind which every word is an argument; and what stands behind that.
struct left_over {
  std::vector<std::string> words, arguments;
};
left_over left_over_of(const CLI::App& command) {
  std::vector<std::string> all = command.remaining();
  const auto mark = std::ranges::find(all, "--");
  return {.words = {all.begin(), mark}, .arguments = {mark == all.end() ? mark : mark + 1, all.end()}};
}

// What to say of an option with too few or too many values; CLI11's words would not do for a sentence.
std::string wrong_count(const CLI::App& command, const CLI::ParseError& failure) {
  const std::string what = failure.what();
  const std::string name = what.substr(0, what.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return what;
  if (option->get_expected_max() == 1 && option->count() > 1)
    return fmt::format("{} is given {} times, expected once", name, option->count());
  return fmt::format("{} needs a value: expected {} {}", name, name, option->get_type_name());
}

}  // namespace

void add_common_options(CLI::App& command, common_options& options) {
  command.add_flag("--json", options.json, "Write the result to standard output as one JSON object");
  command.add_flag("-q,--quiet", options.quiet, "No messages on standard error but errors");
}

CLI::Validator number_in_fp32() {
  return CLI::Validator(
      [](const std::string& text) {
        char* end = nullptr;
        errno = 0;
        const float value = std::strtof(text.c_str(), &end);
        const bool whole = !text.empty() && *end == '\0' && text.find_first_of(" \t\n") == std::string::npos;
        if (!whole) return fmt::format("expected a number, found {}", tool::quoted(text));
        const bool lost = errno == ERANGE && (value == 0 || std::isinf(value));  // rounded to 0 or infinity
        return lost ? fmt::format("expected 0 or a number that FP32 holds, 1.4e-45 to 3.4e38, found {}", tool::quoted(text))
                    : std::string();
      },
      "");
}

CLI::Validator integer_from(long long least) { return integer_between(least, std::numeric_limits<long long>::max()); }

CLI::Validator integer_between(long long least, long long most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        long long value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failed == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return std::string();
        using limits = std::numeric_limits<long long>;
        const std::string range = most < limits::max()    ? fmt::format(" from {} to {}", least, most)
                                  : least > limits::min() ? fmt::format(" of at least {} (below 2^63)", least)
                                                          : " (below 2^63)";
        return fmt::format("expected an integer{}, found {}", range, tool::quoted(text));
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "expected a value, found ''" : ""; }, "");
}

std::string usage_error(const CLI::App& program, const CLI::ParseError& failure) {
  const CLI::App* command = &program;
  std::string words = "antiphase";
  std::string too_early;
  while (!command->get_subcommands().empty()) {
    const std::vector<std::string> before = command->remaining();
    const auto option = std::ranges::find_if(before, looks_like_option);
    if (option == before.end() && !before.empty()) break;  // no command, with one behind it
    if (too_early.empty() && option != before.end()) too_early = *option;
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  const auto [rest, arguments] = left_over_of(*command);
  const auto stray_option = std::ranges::find_if(rest, looks_like_option);
  std::vector<std::string> commands;
  for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) commands.push_back(sub->get_name());

  std::string what = dynamic_cast<const CLI::ArgumentMismatch*>(&failure) != nullptr ? wrong_count(*command, failure) : failure.what();
  if (!too_early.empty()) {
    what = fmt::format("the option {} stands before the command, expected behind it: {} ...", tool::quoted(too_early), words);
  } else if (stray_option != rest.end()) {
    what = fmt::format("there is no option {}: {}", tool::quoted(*stray_option),
                       suggestion(stray_option->substr(0, stray_option->find('=')), names_of_options(*command)));
  } else if (!commands.empty()) {
    what = rest.empty() ? fmt::format("a command is missing: expected one of {}", fmt::join(commands, ", "))
                        : fmt::format("there is no command {}: {}", tool::quoted(rest.front()), suggestion(rest.front(), commands));
  } else if (!rest.empty() || !arguments.empty()) {
    what = fmt::format("the argument {} is one too many", tool::quoted(rest.empty() ? arguments.front() : rest.front()));
  }
  return fmt::format("{} (see {} --help)", what, words);
}

}  // namespace antiphase::tool
