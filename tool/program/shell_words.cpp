// SPDX-License-Identifier: Apache-2.0
// Completion scripts and man pages.
#include "tool/program/shell_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/version.hpp>
#include <cctype>
#include <string_view>

#include "tool/base/wrap.hpp"

namespace antiphase::tool {
namespace {

using words = std::vector<std::string>;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}
// As one word of a POSIX shell.
std::string shell_quoted(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// Commands directly below the one with these words.
std::vector<const described_command*> below(const described_program& program, const std::string& command) {
  const std::string before = command.empty() ? "" : command + " ";
  std::vector<const described_command*> found;
  for (const described_command& c : program)
    if (c.words.size() > before.size() && c.words.starts_with(before) &&
        c.words.find(' ', before.size()) == std::string::npos)
      found.push_back(&c);
  return found;
}
std::string last_word(const described_command& command) {
  return command.words.substr(command.words.rfind(' ') + 1);  // npos + 1 is 0
}

// Patterns of `case` for all commands.
std::string patterns_of_commands(const described_program& program) {
  words all;
  for (const described_command& c : program)
    if (!c.words.empty()) all.push_back(shell_quoted(c.words));
  return fmt::format("{}", fmt::join(all, "|"));
}
// Patterns of `case` for an option after its command.
std::string patterns_of(const described_command& command, const described_option& option) {
  words all;
  for (const std::string& name : option.names) all.push_back(shell_quoted(command.words + ":" + name));
  return fmt::format("{}", fmt::join(all, "|"));
}
words offered_as_arguments(const described_command& command) {
  words all;
  for (const described_option& option : command.options)
    if (option.names.empty()) all.insert(all.end(), option.offered.begin(), option.offered.end());
  return all;
}

// Text of a man page: characters that have a meaning there, or that would be set as typographic ones.
std::string roff(std::string text) {
  for (const auto& [what, by] :
       {std::pair{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"}, {"~", "\\(ti"}})
    text = replaced(std::move(text), what, by);
  return text.starts_with('.') ? "\\&" + text : text;
}

// A part of a footer: paragraphs are set anew, indented lines stay as they are, and two titles are sections.
std::string roff_of_footer(const std::string& footer) {
  std::string text;
  bool kept = false, begins = true, below_title = false;
  const auto keep = [&](bool from_here) {
    if (kept && !from_here) text += ".fi\n";
    if ((from_here && !kept) || (!from_here && begins)) text += below_title ? "" : ".PP\n";
    if (from_here && !kept) text += ".nf\n";
    kept = from_here;
    begins = below_title = false;
  };
  const std::string lines = wrapped(footer, 72) + "\n";
  for (std::size_t at = 0, end = 0; (end = lines.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = lines.substr(at, end - at);
    const bool title = line == "Examples:" || line == "Exit codes";
    if (title || line.empty()) {
      if (kept) text += ".fi\n";
      if (title) text += line == "Examples:" ? ".SH EXAMPLES\n" : ".SH EXIT STATUS\n";
      kept = false;
      begins = true;
      below_title = below_title || title;
    } else {
      begins = begins || kept;  // a paragraph right below indented lines
      keep(line[0] == ' ');
      text += roff(line) + "\n";
    }
  }
  return kept ? text + ".fi\n" : text;
}

}  // namespace

std::string bash_completion(const described_program& program) {
  std::string values, names;
  for (const described_command& c : program) {
    words options, others = offered_as_arguments(c);
    for (const described_command* sub : below(program, c.words)) others.push_back(last_word(*sub));
    for (const described_option& o : c.options) {
      options.insert(options.end(), o.names.begin(), o.names.end());
      if (!o.names.empty() && !o.value.empty())
        values += o.offered.empty()
                      ? fmt::format("    {}) return ;;\n", patterns_of(c, o))
                      : fmt::format("    {}) list='{}' ;;\n", patterns_of(c, o), fmt::join(o.offered, " "));
    }
    names += fmt::format("        {}) options='{}' others='{}' ;;\n", shell_quoted(c.words),
                         fmt::join(options, " "), fmt::join(others, " "));
  }
  return fmt::format(
      R"(# bash completion for antiphase, as `antiphase completion bash` prints it
_antiphase() {{
  local IFS=$' \t\n' command='' list='' options='' others='' head='' i
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  [[ $word == = ]] && word=''  # --option=value comes as three words
  [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD-2]}}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "${{command:+$command }}${{COMP_WORDS[i]}}" in
      {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
      *) break ;;
    esac
  done
  # Where nothing is found, the shell completes names of files.
  case "$command:$before" in
{}    *)
      case "$command" in
{}      esac
      [[ $word == -* ]] && list=$options || list=$others ;;
  esac
  [[ $word == *,* ]] && head="${{word%,*}},"
  COMPREPLY=($(compgen -P "$head" -W "$list" -- "${{word##*,}}"))
}}
complete -o default -F _antiphase antiphase
)",
      patterns_of_commands(program), values, names);
}

std::string zsh_completion(const described_program& program) {
  const auto described = [](const std::string& name, const std::string& about) {
    return shell_quoted(replaced(name, ":", "\\:") + ":" + about);
  };
  std::string values, names;
  for (const described_command& c : program) {
    words options, others = offered_as_arguments(c);
    for (const described_command* sub : below(program, c.words))
      others.push_back(described(last_word(*sub), sub->about));
    for (const described_option& o : c.options) {
      for (const std::string& name : o.names) options.push_back(described(name, o.about));
      if (!o.names.empty() && !o.value.empty())
        values += o.offered.empty() ? fmt::format("  ({}) _files; return ;;\n", patterns_of(c, o))
                                    : fmt::format("  ({}) compset -P '*,'; compadd -- {}; return ;;\n",
                                                  patterns_of(c, o), fmt::join(o.offered, " "));
    }
    names += fmt::format("  ({})\n    named=({})\n    others=({}) ;;\n", shell_quoted(c.words),
                         fmt::join(options, "\n      "), fmt::join(others, "\n      "));
  }
  return fmt::format(
      R"(#compdef antiphase
# zsh completion for antiphase, as `antiphase completion zsh` prints it
local command='' before=$words[CURRENT-1]
local -i i
local -a named others  # `options` is the shell's own
if [[ $PREFIX == --*=* ]]; then
  before=${{PREFIX%%=*}}
  compset -P '*='
fi
for ((i = 2; i < CURRENT; ++i)); do
  case "${{command:+$command }}$words[i]" in
    ({}) command="${{command:+$command }}$words[i]" ;;
    (*) break ;;
  esac
done
case "$command:$before" in
{}esac
case "$command" in
{}esac
if [[ $PREFIX == -* ]]; then
  _describe -o option named
else
  (( $#others )) && _describe command others || _files
fi
)",
      patterns_of_commands(program), values, names);
}

std::string fish_completion(const described_program& program) {
  std::string text = fmt::format(
      R"(# fish completion for antiphase, as `antiphase completion fish` prints it
function __antiphase_at
  set -l at
  for word in (commandline -opc)[2..-1]
    contains -- (string join ' ' $at $word) {}; or break
    set -a at $word
  end
  test "$at" = "$argv"
end
)",
      replaced(patterns_of_commands(program), "|", " "));
  for (const described_command& c : program) {
    const std::string here =
        fmt::format("complete -c antiphase -n {}",
                    fish_quoted(c.words.empty() ? "__antiphase_at" : "__antiphase_at " + c.words));
    for (const described_command* sub : below(program, c.words))
      text += fmt::format("{} -f -a {} -d {}\n", here, last_word(*sub), fish_quoted(sub->about));
    if (const words others = offered_as_arguments(c); !others.empty())
      text += fmt::format("{} -f -a '{}'\n", here, fmt::join(others, " "));
    for (const described_option& o : c.options) {
      if (o.names.empty()) continue;
      text += here;
      for (const std::string& name : o.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!o.offered.empty())
        text += fmt::format(" -x -a '{}'", fmt::join(o.offered, " "));
      else if (!o.value.empty())
        text += " -r";
      text += fmt::format(" -d {}\n", fish_quoted(o.about));
    }
  }
  return text;
}

std::string page_of(const described_command& command) {
  return command.words.empty() ? "antiphase" : "antiphase-" + replaced(command.words, " ", "-");
}

std::string man_page(const described_program& program, const described_command& command) {
  std::string title = page_of(command);
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  const std::string& footer = command.footer;
  const std::size_t examples = std::min(footer.find("Examples:"), footer.size());
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"antiphase {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n"
      ".SH DESCRIPTION\n{}{}\n{}.SH OPTIONS\n",
      title, build_info().version, page_of(command), roff(command.about), roff(command.usage),
      roff(command.about), command.about.ends_with('.') ? "" : ".",
      roff_of_footer(footer.substr(0, examples)));
  for (const described_option& o : command.options)
    text +=
        fmt::format(".TP\n\\fB{}\\fR{}\\fI{}\\fR\n{}\n", roff(fmt::format("{}", fmt::join(o.names, ", "))),
                    o.names.empty() || o.value.empty() ? "" : " ", roff(o.value), roff(o.about));
  const auto commands = below(program, command.words);
  if (!commands.empty()) text += ".SH COMMANDS\n";
  for (const described_command* sub : commands)
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", page_of(*sub), roff(sub->about));
  return text + roff_of_footer(footer.substr(examples));
}

}  // namespace antiphase::tool
