// Options that several subcommands have, and messages about arguments that no one understands.
#include "tool/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
  if (closest != known.end() && distance(given, *closest) <= 2)
    return fmt::format("did you mean {}? There are {}", *closest, fmt::join(known, ", "));
  return fmt::format("expected one of {}", fmt::join(known, ", "));
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

void add_common_options(CLI::App& command, common_options& options) {
  command.add_flag("--json", options.json, "Write the result to standard output as one JSON object");
  command.add_flag("-q,--quiet", options.quiet, "No messages on standard error but errors");
}

CLI::Validator any_number() {
  return CLI::Validator(
      [](const std::string& text) {
        char* end = nullptr;
        std::strtod(text.c_str(), &end);
        const bool whole = !text.empty() && *end == '\0' && text.find_first_of(" \t\n") == std::string::npos;
        return whole ? std::string() : fmt::format("expected a number, found {}", tool::quoted(text));
      },
      "");
}

CLI::Validator integer_from(long long least) {
  return CLI::Validator(
      [least](const std::string& text) {
        long long value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failed == std::errc{} && end == text.data() + text.size() && value >= least) return std::string();
        const std::string range = least == std::numeric_limits<long long>::min() ? "" : fmt::format(" of at least {}", least);
        return fmt::format("expected an integer{} (below 2^63), found {}", range, tool::quoted(text));
      },
      "");
}

std::string usage_error(const CLI::App& program, const CLI::ParseError& failure) {
  const CLI::App* command = &program;
  std::string words = "antiphase";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  const std::vector<std::string> rest = command->remaining();
  const auto stray_option = std::ranges::find_if(rest, [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  std::vector<std::string> commands;
  for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) commands.push_back(sub->get_name());

  std::string what = failure.what();
  if (stray_option != rest.end()) {
    what = fmt::format("there is no option {}: {}", tool::quoted(*stray_option),
                       suggestion(stray_option->substr(0, stray_option->find('=')), names_of_options(*command)));
  } else if (!commands.empty()) {
    what = rest.empty() ? fmt::format("a command is missing: expected one of {}", fmt::join(commands, ", "))
                        : fmt::format("there is no command {}: {}", tool::quoted(rest.front()), suggestion(rest.front(), commands));
  } else if (!rest.empty()) {
    what = fmt::format("the argument {} is one too many", tool::quoted(rest.front()));
  }
  return fmt::format("{} (see {} --help)", what, words);
}

}  // namespace antiphase::tool
