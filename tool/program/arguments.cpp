// SPDX-License-Identifier: Apache-2.0
// Parsing of arguments, and messages about arguments that no command accepts.
#include "tool/program/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <antiphase/core/names.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "tool/base/wrap.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/output_file.hpp"
#include "tool/program/shell_words.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {

// State that commands register with the program while they are added.
struct program_state {
  std::function<void()> chosen;  // action of the command that the user chose
  // names that an option does not have, and the name it does have
  std::map<std::pair<const CLI::App*, std::string>, std::string> other_names;
  std::map<const CLI::Option*, std::vector<std::string>> offered;  // known values
  // by command
  std::map<std::string, std::function<std::vector<std::string>(const std::vector<std::string>&)>> rewritten;
  struct rest_of_command {
    std::vector<std::string>* words;
    bool begins_with_program;  // else it begins after --
  };
  std::map<std::string, rest_of_command> rest;  // by command: its words that pass unparsed
};

namespace {

// CLI11's help, wrapped to the width of the terminal.
class narrow_help : public CLI::Formatter {
 public:
  narrow_help() {
    column_width(26);
    label("SUBCOMMAND", "COMMAND");
  }
  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override {
    return wrapped(CLI::Formatter::make_help(command, std::move(name), mode));
  }
};

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool looks_like_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

std::vector<std::string> names_of_commands(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

// The message about an option that does not exist.
std::string unknown_option(const CLI::App& command, const std::string& word, const program_state& state) {
  const std::string name = word.substr(0, word.find('='));
  const auto other = state.other_names.find({&command, name});
  return fmt::format("there is no option {}: {}", tool::quoted(word),
                     other != state.other_names.end() ? fmt::format("it is called {} here", other->second)
                                                      : suggestion(name, names_of_options(command)));
}

// Words that CLI11 left over before "--", and the arguments after it.
struct left_over {
  std::vector<std::string> words, arguments;
};
left_over left_over_of(const CLI::App& command) {
  std::vector<std::string> all = command.remaining();
  const auto mark = std::ranges::find(all, "--");
  return {.words = {all.begin(), mark}, .arguments = {mark == all.end() ? mark : mark + 1, all.end()}};
}

// The message about an option with too few or too many values; CLI11's text does not fit into a sentence.
std::string wrong_count(const CLI::App& command, const CLI::ParseError& failure) {
  const std::string what = failure.what();
  const std::string name = what.substr(0, what.find(':'));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr) return what;
  if (option->get_expected_max() == 1 && option->count() > 1)
    return fmt::format("{} is given {} times, expected once", name, option->count());
  const int most = option->get_expected_max();
  return fmt::format("{} needs {}: expected {} {}", name,
                     most == 1 ? "a value" : fmt::format("{} values", most), name, option->get_type_name());
}

// The first word that is neither an option of the command nor the value of one. After an option that the
// command does not have, scanning stops: what follows could be its value.
char** end_of_options(const CLI::App& command, char** word, char** end) {
  for (; word < end && looks_like_option(*word) && *word != std::string_view("--"); ++word) {
    const std::string_view all = *word, name = all.substr(0, all.find('='));
    const CLI::Option* const option = command.get_option_no_throw(std::string(name));
    if (option == nullptr) return word + 1;
    if (name == all && option->get_expected_min() > 0) ++word;
  }
  return std::min(word, end);
}

// One sentence about what is wrong with the arguments, naming valid alternatives.
std::string usage_error(const CLI::App& program, const CLI::ParseError& failure, const program_state& state) {
  const CLI::App* command = &program;
  std::string words = "antiphase";
  std::string too_early;
  while (!command->get_subcommands().empty()) {
    const std::vector<std::string> before = command->remaining();
    const auto option = std::ranges::find_if(before, looks_like_option);
    if (option == before.end() && !before.empty()) break;  // an unknown command before a known one
    if (too_early.empty() && option != before.end()) too_early = *option;
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  const auto [rest, arguments] = left_over_of(*command);
  const auto stray_option = std::ranges::find_if(rest, looks_like_option);
  const std::vector<std::string> commands = names_of_commands(*command);

  std::string what = dynamic_cast<const CLI::ArgumentMismatch*>(&failure) != nullptr
                         ? wrong_count(*command, failure)
                         : failure.what();
  if (!too_early.empty()) {
    what = fmt::format("the option {} stands before the command, expected after it: {} ...",
                       tool::quoted(too_early), words);
  } else if (stray_option != rest.end()) {
    what = unknown_option(*command, *stray_option, state);
  } else if (!commands.empty()) {
    what = rest.empty() ? fmt::format("a command is missing: expected {}", listed(commands))
                        : fmt::format("there is no command {}: {}", tool::quoted(rest.front()),
                                      suggestion(rest.front(), commands));
  } else if (!rest.empty() || !arguments.empty()) {
    what = fmt::format("the argument {} is one too many",
                       tool::quoted(rest.empty() ? arguments.front() : rest.front()));
  }
  return fmt::format("{} (see {} --help)", what, words);
}

// CLI11 answers --help before it looks at words that name no command: the message about the first of them.
std::string unknown_command(const CLI::App& program) {
  std::string words = "antiphase";
  for (const CLI::App* command = &program;; command = command->get_subcommands().front()) {
    const std::vector<std::string> commands = names_of_commands(*command),
                                   rest = left_over_of(*command).words;
    const auto word = std::ranges::find_if_not(rest, looks_like_option);
    if (!commands.empty() && word != rest.end())
      return fmt::format("there is no command {}: {} (see {} --help)", tool::quoted(*word),
                         suggestion(*word, commands), words);
    if (command->get_subcommands().empty()) return {};
    words += " " + command->get_subcommands().front()->get_name();
  }
}

// Help text of the command that the words name.
std::string help_of(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  std::string before;  // the names above it
  for (const std::string& word : words) {
    const std::vector<std::string> commands = names_of_commands(*command);
    before += (before.empty() ? "" : " ") + command->get_name();
    if (commands.empty())
      throw bad_usage(fmt::format("{} has no commands of its own, found {} (see antiphase --help)", before,
                                  tool::quoted(word)));
    if (std::ranges::find(commands, word) == commands.end())
      throw bad_usage(fmt::format("there is no command {}: {} (see {} --help)", tool::quoted(word),
                                  suggestion(word, commands), before));
    command = command->get_subcommand(word);
  }
  return command->get_formatter()->make_help(
      command, before + (before.empty() ? "" : " ") + command->get_name(), CLI::AppFormatMode::Normal);
}

// The command, as data, and those below it. `words`: after the program's name.
void describe(const CLI::App& command, const std::string& words, const program_state& state,
              described_program& to) {
  const std::string usage =
      narrow_help().make_usage(&command, words.empty() ? "antiphase" : "antiphase " + words);
  described_command is{.words = words,
                       .usage = usage.substr(usage.find("antiphase"),
                                             usage.find_last_not_of('\n') + 1 - usage.find("antiphase")),
                       .about = command.get_description(),
                       .footer = command.get_footer(),
                       .options = {}};
  for (const CLI::Option* option : command.get_options()) {
    described_option one{.names = {}, .value = {}, .about = option->get_description(), .offered = {}};
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    if (one.names.empty())
      one.value = option->get_name();
    else if (option->get_items_expected_max() > 0)
      one.value = option->get_type_name().empty() ? "VALUE" : option->get_type_name();
    if (const auto found = state.offered.find(option); found != state.offered.end())
      one.offered = found->second;
    is.options.push_back(std::move(one));
  }
  to.push_back(std::move(is));
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    describe(*sub, words + (words.empty() ? "" : " ") + sub->get_name(), state, to);
}

// Adds the command that prints scripts for shells and writes man pages, all from what describe() tells.
void add_completion(CLI::App& program, program_state& state) {
  CLI::App* const command =
      program.add_subcommand("completion", "Print a script by which a shell completes antiphase's words")
          ->group("Commands");
  const auto shell = std::make_shared<std::string>();
  state.offered[command->add_option("SHELL", *shell, "bash, zsh or fish; or man: write man pages instead")
                    ->required()] = {"bash", "fish", "man", "zsh"};
  const auto folder = std::make_shared<std::string>(".");
  command->add_option("-o,--output", *folder, "Where man puts a page for each command (default: here)")
      ->type_name("FOLDER");
  command->footer(
      "Without a GPU all is the same.\n\nAn installation brings these scripts and pages; for a tool that is "
      "not installed:\n\nExamples:\n"
      "  source <(antiphase completion bash)\n"
      "  antiphase completion zsh > ~/.zfunc/_antiphase\n"
      "      a folder of fpath\n"
      "  antiphase completion fish > ~/.config/fish/completions/antiphase.fish\n"
      "  antiphase completion man --output ~/.local/share/man/man1");
  command->callback([&program, &state, shell, folder] {
    state.chosen = [&program, &state, shell, folder] {
      described_program all;
      describe(program, "", state, all);
      const std::vector<std::string> known{"bash", "zsh", "fish", "man"};
      switch (choice_of("SHELL", *shell, known)) {
        case 0: return print(bash_completion(all));
        case 1: return print(zsh_completion(all));
        case 2: return print(fish_completion(all));
        default: break;
      }
      for (const described_command& one : all) {
        output_file page(*folder + "/" + page_of(one) + ".1");
        page.write(man_page(all, one));
        page.commit();
      }
    };
  });
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
    return lost ? fmt::format("expected 0 or a number that FP32 holds, 1.4e-45 to 3.4e38, found {}",
                              tool::quoted(text))
                : std::string();
  };
}

value_check integer_from(long long least) {
  return integer_between(least, std::numeric_limits<long long>::max());
}

value_check integer_between(long long least, long long most) {
  return [least, most](const std::string& text) {
    long long value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
      return std::string();
    using limits = std::numeric_limits<long long>;
    const std::string range = most < limits::max()    ? fmt::format(" from {} to {}", least, most)
                              : least > limits::min() ? fmt::format(" of at least {} (below 2^63)", least)
                                                      : " (below 2^63)";
    return fmt::format("expected an integer{}, found {}", range, tool::quoted(text));
  };
}

value_check not_empty() {
  return
      [](const std::string& text) { return std::string(text.empty() ? "expected a value, found ''" : ""); };
}

// option
// -----------------------------------------------------------------------------------------------------------
option& option::required() {
  option_->required();
  return *this;
}

option& option::several() {
  option_->delimiter(',');
  return *this;
}

option& option::values(int least, int most) {
  option_->expected(least, most);
  return *this;
}

option& option::repeated() {
  option_->trigger_on_parse();
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
  option_->check(
      CLI::Validator([wrong = std::move(wrong)](const std::string& text) { return wrong(text); }, ""));
  return *this;
}

option& option::offers(std::vector<std::string> values) {
  state_->offered[option_] = std::move(values);
  return *this;
}

option& option::otherwise(const char* name) {
  state_->other_names[{app_, name}] = option_->get_name();
  return *this;
}

// arguments
// -----------------------------------------------------------------------------------------------------------
arguments arguments::add_subcommand(const char* name, const char* about) {
  return {*app_->add_subcommand(name, about)->group("Commands"), *state_};
}

void arguments::require_subcommand() { app_->require_subcommand(1); }

template <class T> option arguments::add_option(const char* names, T& value, const std::string& about) {
  return {app_->add_option(names, value, about), *app_, *state_};
}
template option arguments::add_option(const char*, std::string&, const std::string&);
template option arguments::add_option(const char*, int&, const std::string&);
template option arguments::add_option(const char*, unsigned&, const std::string&);
template option arguments::add_option(const char*, std::int64_t&, const std::string&);
template option arguments::add_option(const char*, float&, const std::string&);
template option arguments::add_option(const char*, std::optional<std::int64_t>&, const std::string&);
template option arguments::add_option(const char*, std::optional<float>&, const std::string&);
template option arguments::add_option(const char*, std::optional<std::string>&, const std::string&);
template option arguments::add_option(const char*, std::vector<std::string>&, const std::string&);
template option arguments::add_option(const char*, std::vector<int>&, const std::string&);
template option arguments::add_option(const char*, std::vector<std::int64_t>&, const std::string&);

option arguments::add_option(const char* name, const std::function<void(const std::string&)>& taken,
                             const char* about) {
  return {app_->add_option_function<std::string>(name, taken, about), *app_, *state_};
}

void arguments::add_flag(const char* names, bool& value, const char* about) {
  app_->add_flag(names, value, about);
}

void arguments::rewrites(std::function<std::vector<std::string>(const std::vector<std::string>&)> of) {
  state_->rewritten[app_->get_name()] = std::move(of);
}
void arguments::takes_rest(std::vector<std::string>& words) {
  state_->rest[app_->get_name()] = {&words, false};
}

void arguments::takes_program(std::vector<std::string>& words, const char* about) {
  state_->rest[app_->get_name()] = {&words, true};
  // CLI11 gets the first word only: it would parse a word such as [a,b] as several values.
  app_->add_option_function<std::string>(
          "program", [](const std::string&) {}, about)
      ->required()
      ->type_name("PROGRAM ...");
}

void arguments::footer(const char* text) { app_->footer(text); }

void arguments::runs(std::function<void()> action) {
  app_->callback([action = std::move(action), state = state_, app = app_] {
    // If a subcommand was chosen, its own callback has already run.
    if (app->get_subcommands().empty()) state->chosen = action;
  });
}

// program
// -----------------------------------------------------------------------------------------------------------
program::program(const char* about, const char* footer, std::string (*version)())
    : app_(std::make_unique<CLI::App>(about, "antiphase")), state_(std::make_unique<program_state>()) {
  app_->formatter(std::make_shared<narrow_help>());
  app_->footer(footer);
  app_->require_subcommand(1);
  app_->set_version_flag("-V,--version", version);
}

program::~program() = default;

arguments program::commands() { return {*app_, *state_}; }

void program::run(int argc, char** argv) {
  add_completion(*app_, *state_);
  std::vector<std::string> words;
  CLI::App* const help =
      app_->add_subcommand("help", "The same as --help after a command: antiphase help gemm")
          ->group("Commands");
  state_->offered[help->add_option("COMMAND", words, "The command, or none for all of them")] =
      names_of_commands(*app_);
  help->footer("Examples:\n  antiphase help\n  antiphase help bench gemm");
  help->callback([&] { state_->chosen = [&] { print(help_of(*app_, words)); }; });
  std::vector<char*> read(argv, argv + argc);
  if (const auto found = state_->rest.find(argc > 1 ? argv[1] : ""); found != state_->rest.end()) {
    auto& [rest, is_program] = found->second;
    char** const last = argv + argc;
    char** const end = is_program ? end_of_options(*app_->get_subcommand(argv[1]), argv + 2, last)
                                  : std::find(argv, last, std::string_view("--"));
    rest->assign(end == last || *end != std::string_view("--") ? end : end + 1, last);
    read.assign(argv, end);
    static char mark[] = "--";
    if (is_program && !rest->empty()) read.insert(read.end(), {mark, rest->front().data()});
  }
  const std::string command = read.size() > 1 ? read[1] : "";
  std::vector<std::string> all(read.begin() + std::min<std::ptrdiff_t>(std::ssize(read), 1), read.end());
  if (const auto rewritten = state_->rewritten.find(command); rewritten != state_->rewritten.end()) {
    all = rewritten->second({all.begin() + 1, all.end()});
    all.insert(all.begin(), command);
  }
  std::ranges::reverse(all);  // the order that CLI11 expects
  try {
    app_->parse(std::move(all));
  } catch (const CLI::CallForVersion& asked) {
    return print(asked.what());
  } catch (const CLI::Success&) {
    if (const std::string unknown = unknown_command(*app_); !unknown.empty()) throw bad_usage(unknown);
    return print(app_->help());
  } catch (const CLI::ParseError& e) {
    throw bad_usage(usage_error(*app_, e, *state_));
  }
  state_->chosen();
}

}  // namespace antiphase::tool
