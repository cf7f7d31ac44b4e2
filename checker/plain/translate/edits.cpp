// SPDX-License-Identifier: Apache-2.0
// Changes of a source's lines, made in what is compiled.
#include <cstdio>
#include <sstream>

#include "checker/order/places.hpp"
#include "checker/plain/translate/compile/compile_steps.hpp"
#include "checker/plain/translate/passes/statements.hpp"

namespace antiphase::plain {

bool apply_edits(std::string& line, const std::string& file, int number,
                 const std::vector<plain_edit>& edits) {
  bool changes = false;
  for (const plain_edit& e : edits) {
    if (e.line != number || e.file != file) continue;
    const statement old =
        e.former.empty() ? statement{line.size(), line.size()} : find_loosely(line, e.former);
    if (!e.former.empty() && old.end == 0) continue;
    line.replace(old.begin, old.end - old.begin, e.replacement);
    changes = true;
  }
  return changes;
}

// Lines that the preprocessor has left empty stay so.
std::string edited(std::string text, const std::vector<plain_edit>& edits) {
  if (edits.empty()) return text;
  std::istringstream in(text);
  std::string out, line, file;
  int number = 0;
  for (; std::getline(in, line); ++number) {
    int marked = 0, name = 0;
    if (std::sscanf(line.c_str(), "# %d \"%n", &marked, &name) == 1 && name > 0) {
      file = checker_detail::shown(
          line.substr(static_cast<std::size_t>(name),
                      line.find('"', static_cast<std::size_t>(name)) - static_cast<std::size_t>(name)));
      number = marked - 1;
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      apply_edits(line, file, number, edits);
    }
    out += line + '\n';
  }
  return out;
}

}  // namespace antiphase::plain
