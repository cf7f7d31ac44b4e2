// Reading arguments, and messages about those that no one understands.
#include "tool/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "tool/console.hpp"
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

// What is wrong with the arguments, in one sentence that names what exists instead.
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

}  // namespace

value_check number_in_fp32() {
  return [](const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const float value = std::strtof(text.c_str(), &end);
    const bool whole = !text.empty() && *end == '\0' && text.find_first_of(" \t\n") == std::string::npos;
    if (!whole) return fmt::format("expected a number, found {}", tool::quoted(text));
    const bool lost = errno == ERANGE && (value == 0 || std::isinf(value));  // rounded to 0 or infinity
    return lost ? fmt::format("expected 0 or a number that FP32 holds, 1.4e-45 to 3.4e38, found {}", tool::quoted(text)) : std::string();
  };
}

value_check integer_from(long long least) { return integer_between(least, std::numeric_limits<long long>::max()); }

value_check integer_between(long long least, long long most) {
  return [least, most](const std::string& text) {
    long long value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return std::string();
    using limits = std::numeric_limits<long long>;
    const std::string range = most < limits::max()    ? fmt::format(" from {} to {}", least, most)
                              : least > limits::min() ? fmt::format(" of at least {} (below 2^63)", least)
                                                      : " (below 2^63)";
    return fmt::format("expected an integer{}, found {}", range, tool::quoted(text));
  };
}

value_check not_empty() {
  return [](const std::string& text) { return std::string(text.empty() ? "expected a value, found ''" : ""); };
}

// option ------------------------------------------------------------------------------------------------------------------------
option& option::required() {
  option_->required();
  return *this;
}

option& option::several() {
  option_->delimiter(',');
  return *this;
}

option& option::shows_default() {
  option_->capture_default_str();
  return *this;
}

option& option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

option& option::check(value_check wrong) {
  option_->check(CLI::Validator([wrong = std::move(wrong)](const std::string& text) { return wrong(text); }, ""));
  return *this;
}

// arguments ---------------------------------------------------------------------------------------------------------------------
arguments arguments::add_subcommand(const char* name, const char* about) { return {*app_->add_subcommand(name, about), *chosen_}; }

void arguments::require_subcommand() { app_->require_subcommand(1); }

template <class T> option arguments::add_option(const char* names, T& value, const std::string& about) {
  return option(app_->add_option(names, value, about));
}
template option arguments::add_option(const char*, std::string&, const std::string&);
template option arguments::add_option(const char*, int&, const std::string&);
template option arguments::add_option(const char*, unsigned&, const std::string&);
template option arguments::add_option(const char*, std::int64_t&, const std::string&);
template option arguments::add_option(const char*, float&, const std::string&);
template option arguments::add_option(const char*, std::optional<std::int64_t>&, const std::string&);
template option arguments::add_option(const char*, std::optional<float>&, const std::string&);
template option arguments::add_option(const char*, std::vector<std::string>&, const std::string&);
template option arguments::add_option(const char*, std::vector<int>&, const std::string&);
template option arguments::add_option(const char*, std::vector<std::int64_t>&, const std::string&);

option arguments::add_option(const char* name, std::function<void(const std::string&)> taken, const char* about) {
  return option(app_->add_option_function<std::string>(name, std::move(taken), about));
}

void arguments::add_flag(const char* names, bool& value, const char* about) { app_->add_flag(names, value, about); }

void arguments::footer(const char* text) { app_->footer(text); }

void arguments::runs(std::function<void()> action) {
  app_->callback([action = std::move(action), chosen = chosen_] { *chosen = action; });
}

// program -----------------------------------------------------------------------------------------------------------------------
program::program(const char* about, const char* footer, std::string (*version)()) : app_(std::make_unique<CLI::App>(about, "antiphase")) {
  app_->footer(footer);
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version);
}

program::~program() = default;

arguments program::commands() { return {*app_, chosen_}; }

void program::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForVersion& asked) {
    return print(asked.what());
  } catch (const CLI::Success&) {
    return print(app_->help());
  } catch (const CLI::ParseError& e) {
    throw bad_usage(usage_error(*app_, e));
  }
  chosen_();
}

}  // namespace antiphase::tool
