// SPDX-License-Identifier: Apache-2.0
// What findings lack and what GPUs do about it: the sentences, with the order and its scope.
#pragma once
#include <fmt/format.h>

#include <antiphase/checker.hpp>

namespace antiphase {

#define SENTENCE(name, order, scope, text) name,
enum class sentence : std::uint16_t {
#include "sentences.h"
};
#undef SENTENCE

namespace checker_detail {

// Findings are grouped and fixed by the order and its scope. The text is for people; no code reads it.
struct sentence_row {
  missing_order order;
  order_scope scope;
  const char* text;
};
#define SENTENCE(name, order, scope, text) {missing_order::order, order_scope::scope, text},
inline constexpr sentence_row sentences[] = {
#include "sentences.h"
};
#undef SENTENCE

template <class... Values> explanation explain(sentence s, const Values&... values) {
  return {s, {fmt::format("{}", values)...}};
}
// The language whose words missing_text() uses, if a value follows those for the blanks; else null.
const std::string* language_of(const explanation& e);
// For tests: to_text(explanation) is the row's number and its values, "#12 8".
extern bool numbers_for_sentences;

}  // namespace checker_detail
}  // namespace antiphase
