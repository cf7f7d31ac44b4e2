// SPDX-License-Identifier: Apache-2.0
// The arguments of the program and of its subcommands, parsed by CLI11. Only arguments.cpp includes CLI11's
// header: in most files it would take longer to compile than everything else.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace antiphase::tool {

// Returns what is wrong with a value and what was expected; empty if the value is valid.
using value_check = std::function<std::string(const std::string&)>;
value_check number_in_fp32();
value_check integer_from(long long least);
value_check integer_between(long long least, long long most);
value_check not_empty();  // catches an unset shell variable: an empty value is not an absent option

struct program_state;

// One option or positional argument of a command.
class option {
 public:
  option(CLI::Option* of, const CLI::App& command, program_state& state)
      : option_(of), app_(&command), state_(&state) {}
  option& required();
  option& several();                    // values separated by commas
  option& values(int least, int most);  // each a separate word; without any, the value becomes empty
  static constexpr int any = 1 << 29;   // for `most`: no limit, as CLI11 spells it
  // May be given several times; the function that takes its values is called for each.
  option& repeated();
  option& shows_default();                     // help shows the value from before parsing
  option& type_name(const std::string& name);  // placeholder of the value in the help
  option& check(value_check wrong);
  option& offers(std::vector<std::string> values);  // known values, for completion in a shell
  // A name that users may try instead of this option's; the error message leads them here.
  option& otherwise(const char* name);

 private:
  CLI::Option* option_;
  const CLI::App* app_;
  program_state* state_;
};

// A command, to which options and subcommands are added. Refers to the program, which must outlive it.
class arguments {
 public:
  arguments(CLI::App& of, program_state& state) : app_(&of), state_(&state) {}
  arguments add_subcommand(const char* name, const char* about);
  void require_subcommand();

  // If the option is not given, the value stays unchanged. Instantiated for the types listed in
  // arguments.cpp: text, numbers and vectors of them.
  template <class T> option add_option(const char* names, T& value, const std::string& about);
  // Calls `taken` with each value.
  option add_option(const char* name, const std::function<void(const std::string&)>& taken,
                    const char* about);
  void add_flag(const char* names, bool& value, const char* about);

  // Rewrites the command's words, up to --, before they are parsed.
  void rewrites(std::function<std::vector<std::string>(const std::vector<std::string>&)> of);
  void takes_rest(std::vector<std::string>& words);  // the words after --, unparsed
  // Takes a program and its arguments, unparsed: all words from the first one that is not an option of the
  // command. "--" may precede it.
  void takes_program(std::vector<std::string>& words, const char* about);
  void footer(const char* text);
  // Sets what runs, after all arguments have been parsed, if the user chose this command.
  void runs(std::function<void()> action);

 private:
  CLI::App* app_;
  program_state* state_;
};

class program {
 public:
  program(const char* about, const char* footer, std::string (*version)());
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  arguments commands();
  // Runs the chosen command, or prints the help or the version. Throws bad_usage with one sentence that names
  // valid alternatives.
  void run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<program_state> state_;
};

}  // namespace antiphase::tool
