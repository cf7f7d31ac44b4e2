// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/start/predictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include "tool/base/wrap.hpp"
#include "tool/files/whole_file.hpp"

namespace antiphase::tool {
namespace {

constexpr std::string_view label = "answer:";
constexpr std::size_t columns_of_sheet = 100;

// Without case, spaces and a final point.
std::string plain(std::string_view text) {
  std::string all;
  for (const char c : text)
    if (std::isspace(static_cast<unsigned char>(c)) == 0)
      all += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (all.ends_with('.') || all.ends_with(')')) all.pop_back();
  return all;
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc{} || stop != end || !std::isfinite(value)) return {};
  return value;
}

bool is_right(const prediction_question& q, const std::string& given) {
  const std::string text = plain(given), wanted = plain(q.answer);
  const auto number = number_in(text), expected = number_in(wanted);
  if (number && expected) return std::fabs(*number - *expected) <= q.within * std::fabs(*expected);
  return text == wanted;
}

std::string trimmed(std::string text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, blank));
  return text;
}

}  // namespace

std::vector<prediction_question> questions_of(const std::filesystem::path& course, const std::string& lab) {
  const json all = json::parse(whole_file((course / "predictions.json").string()));
  std::vector<prediction_question> questions;
  for (const json& q : all.value(lab, json::array()))
    questions.push_back({q["ask"], q["answer"], q["why"], q.value("within", 0.)});
  return questions;
}

std::string sheet_text(int lab, const std::vector<prediction_question>& questions) {
  std::string text = fmt::format(
      "# Lab {0}: what you predict before you write. Put a number, or the letter of an answer, after each "
      "colon.\n# antiphase course check {0} compares them with its own.\n",
      lab);
  for (std::size_t i = 0; i < questions.size(); ++i)
    text += fmt::format("\n{}{}\n",
                        wrapped(fmt::format("{}. {}\n", i + 1, questions[i].ask), columns_of_sheet), label);
  return text;
}

int prediction_score::right() const {
  return static_cast<int>(std::ranges::count_if(all, [](const scored_prediction& p) { return p.right; }));
}
int prediction_score::answered() const {
  return static_cast<int>(
      std::ranges::count_if(all, [](const scored_prediction& p) { return !p.given.empty(); }));
}

prediction_score score_of(const std::filesystem::path& sheet,
                          const std::vector<prediction_question>& questions) {
  prediction_score score{.sheet = sheet.string()};
  for (const prediction_question& q : questions) score.all.push_back({.question = q});
  std::ifstream in(sheet);
  score.found = in.good();
  std::size_t next = 0;
  for (std::string line; next < score.all.size() && std::getline(in, line);) {
    line = trimmed(line);
    if (!line.starts_with(label)) continue;
    scored_prediction& p = score.all[next++];
    p.given = trimmed(line.substr(label.size()));
    p.right = !p.given.empty() && is_right(p.question, p.given);
  }
  return score;
}

std::string text_of(const prediction_score& score) {
  if (score.all.empty() || !score.found) return "";
  if (score.answered() == 0)
    return fmt::format("predictions: none of {} answered in {}\n", score.all.size(), score.sheet);
  std::string text = fmt::format("predictions: {} of {} right\n", score.right(), score.all.size());
  for (std::size_t i = 0; i < score.all.size(); ++i) {
    const scored_prediction& p = score.all[i];
    if (p.given.empty())
      text += fmt::format("- {}. has no answer in {}\n", i + 1, score.sheet);
    else if (!p.right)
      text += wrapped(
          fmt::format("- {}. {}: expected {}. {}\n", i + 1, p.given, p.question.answer, p.question.why));
  }
  return text;
}

json to_json(const prediction_score& score) {
  json all = json::array();
  for (const scored_prediction& p : score.all)
    all.push_back({{"question", p.question.ask},
                   {"answer", p.given.empty() ? json() : json(p.given)},
                   {"right", p.right}});
  return all;
}

}  // namespace antiphase::tool
