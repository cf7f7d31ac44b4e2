// SPDX-License-Identifier: Apache-2.0
// Results that come one by one, kept while the rest is being measured.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "tool/files/interrupt.hpp"
#include "tool/program/command.hpp"
#include "tool/program/console.hpp"

namespace antiphase::tool {

// If a signal or an error ends the program, what was shown last goes to standard output: with --json the
// document with "partial": true, else the text. After finish() it is up to the caller.
class unfinished_results {
 public:
  // `document` is all of the result but the list of the results, its member `list`. `planned` counts what
  // will come, called `noun`, with an s.
  unfinished_results(const common_options& options, json document, std::string list, std::size_t planned,
                     std::string noun);
  ~unfinished_results();
  unfinished_results(const unfinished_results&) = delete;
  unfinished_results& operator=(const unfinished_results&) = delete;

  // What is there now that `done` have come. Only the one of the two that is wanted is called.
  void show(std::size_t done, const std::function<json()>& records, const std::function<std::string()>& text);
  void finish();  // nothing more is kept; to be called before the results are printed

 private:
  common_options options_;
  json document_;
  std::string list_;
  std::size_t planned_;
  std::string noun_;
  std::string shown_;  // empty before the first results
  int exceptions_;     // that were under way when this began
  last_words words_;
};

}  // namespace antiphase::tool
