// SPDX-License-Identifier: Apache-2.0
// Reasons why a program was not checked, as places in its sources: parsed from the output of the compiler,
// the pre-pass or the program's run.
#include <antiphase/plain_cuda.hpp>
#include <regex>
#include <sstream>

#include "tool/commands/check/check.hpp"

namespace antiphase::tool {

std::vector<check_refusal> refusals_of(const error& e, const std::string& source) {
  static const std::regex of_compiler("(.+?):([0-9]+):([0-9]+): (?:fatal )?error: (.*)"),
      of_dialect("(.+?):([0-9]+): (.* not supported here: .*)");
  const std::string all = e.what();
  const bool is_source = dynamic_cast<const bad_source*>(&e) != nullptr;
  std::vector<check_refusal> found;
  std::istringstream lines(all);
  for (std::string line; is_source && std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m, of_dialect))
      found.push_back({.why = "not supported", .place = {m[1], std::stoi(m[2])}, .column = 0, .text = m[3]});
    else if (std::regex_match(line, m, of_compiler))
      found.push_back({.why = "does not compile",
                       .place = {m[1], std::stoi(m[2])},
                       .column = std::stoi(m[3]),
                       .text = m[4]});
  }
  if (found.empty()) {
    const char* why = is_source                                           ? "does not compile"
                      : dynamic_cast<const not_supported*>(&e) != nullptr ? "not supported"
                                                                          : "not run";
    found.push_back({.why = why, .place = {source, 0}, .column = 0, .text = all});
  }
  return found;
}

}  // namespace antiphase::tool
