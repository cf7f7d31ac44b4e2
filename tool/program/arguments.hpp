// SPDX-License-Identifier: Apache-2.0
// The arguments of the program and of its subcommands, read by CLI11. Only arguments.cpp includes that
// library's header: it takes the compiler longer than everything else in most of our files.
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

// What is wrong with a value, or nothing; it says what was expected.
using value_check = std::function<std::string(const std::string&)>;
value_check number_in_fp32();
value_check integer_from(long long least);
value_check integer_between(long long least, long long most);
value_check not_empty();  // a shell's unset variable must not pass for an option that was left away

struct program_state;

// One option or positional argument of a command.
class option {
 public:
  option(CLI::Option* of, const CLI::App& command, program_state& state)
      : option_(of), app_(&command), state_(&state) {}
  option& required();
  option& several();                    // values separated by commas
  option& values(int least, int most);  // each a word of its own; without any the value becomes empty
  static constexpr int any = 1 << 29;   // of `most`: however many, in CLI11's number for that
  // may be given several times; what takes values is called with each
  option& repeated();
  option& shows_default();                     // the value before parsing, in the help
  option& type_name(const std::string& name);  // what stands for the value in the help
  option& check(value_check wrong);
  // what the option is not called, though people may think so: a message will lead them here
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

  // The value stays as it is if the option is not given. For the types that arguments.cpp lists: text,
  // numbers, and vectors of them.
  template <class T> option add_option(const char* names, T& value, const std::string& about);
  // Calls `taken` with each value.
  option add_option(const char* name, const std::function<void(const std::string&)>& taken,
                    const char* about);
  void add_flag(const char* names, bool& value, const char* about);

  // What is made of the command's words, up to --, before they are read.
  void rewrites(std::function<std::vector<std::string>(const std::vector<std::string>&)> of);
  void takes_rest(std::vector<std::string>& words);  // what stands behind --, as it is
  // A program and its arguments, as they are, from the first word on that is no option of the command; "--"
  // may stand before it.
  void takes_program(std::vector<std::string>& words, const char* about);
  void footer(const char* text);
  // if the user chose this command, once all arguments have been read
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
  // Runs the command that was chosen, or prints help or version. Throws bad_usage with one sentence that
  // names what exists instead.
  void run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<program_state> state_;
};

}  // namespace antiphase::tool
