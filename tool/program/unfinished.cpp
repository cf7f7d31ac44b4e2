// SPDX-License-Identifier: Apache-2.0
// Results that arrive one by one, kept while the rest is being measured.
#include "tool/program/unfinished.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace antiphase::tool {

unfinished_results::unfinished_results(const common_options& options, json document, std::string list,
                                       std::size_t planned, std::string noun)
    : options_{options},
      document_(std::move(document)),
      list_{std::move(list)},
      planned_{planned},
      noun_{planned == 1 ? noun.substr(0, noun.size() - 1) : std::move(noun)},
      exceptions_{std::uncaught_exceptions()} {
  document_["partial"] = true;
  show(
      0, [] { return json::array(); }, [] { return std::string(); });
}

void unfinished_results::show(std::size_t done, const std::function<json()>& records,
                              const std::function<std::string()>& text) {
  std::string all;
  if (options_.json) {
    document_[list_] = records();
    all = json_text(document_);
  } else {
    all = text();
  }
  if (done > 0) shown_ = all;
  words_.set(std::move(all),
             fmt::format("antiphase: interrupted after {} of {} {}{}\n", done, planned_, noun_, remark_));
}

void unfinished_results::finish() {
  words_.withdraw();
  shown_.clear();
}

unfinished_results::~unfinished_results() {
  words_.withdraw();
  if (std::uncaught_exceptions() == exceptions_ || shown_.empty()) return;
  try {
    print(shown_);
  } catch (const std::exception&) {  // the error that ends the program takes precedence
  }
}

}  // namespace antiphase::tool
