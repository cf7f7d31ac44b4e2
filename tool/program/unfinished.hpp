// SPDX-License-Identifier: Apache-2.0
// Results that arrive one by one, kept while the rest is being measured.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "tool/files/interrupt.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

// If a signal or an error ends the program, the last results shown go to standard output: with --json the
// document with "partial": true, else the text. After finish() the caller prints them.
class unfinished_results {
 public:
  // `document`: the result without its list of results, the member named `list`. `planned`: number of results
  // expected. `noun`: what messages call them, a plural in s.
  unfinished_results(const common_options& options, json document, std::string list, std::size_t planned,
                     std::string noun);
  ~unfinished_results();
  unfinished_results(const unfinished_results&) = delete;
  unfinished_results& operator=(const unfinished_results&) = delete;

  // Records the results so far, `done` in number. Only one of the two functions is called, as --json selects.
  void show(std::size_t done, const std::function<json()>& records, const std::function<std::string()>& text);
  // What the message of an interruption says at its end, from the next show() on.
  void remark(std::string text) { remark_ = std::move(text); }
  void finish();  // ends the recording; call before the results are printed

 private:
  common_options options_;
  json document_;
  std::string list_;
  std::size_t planned_;
  std::string noun_, remark_;
  std::string shown_;  // empty before the first results
  int exceptions_;     // in flight at construction
  last_words words_;
};

}  // namespace antiphase::tool
