// SPDX-License-Identifier: Apache-2.0
// What a student predicts before a lab: the questions, the sheet that holds the answers, and their score.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tool/program/text/console.hpp"

namespace antiphase::tool {

struct prediction_question {
  std::string ask, answer, why;
  double within = 0;  // of a number: the relative error that is still right
};
// Of the lab whose folder has this name, from docs/course/predictions.json.
std::vector<prediction_question> questions_of(const std::filesystem::path& course, const std::string& lab);

// The file that a student fills in, next to start.cu.
constexpr const char* prediction_sheet = "predict.txt";
std::string sheet_text(int lab, const std::vector<prediction_question>& questions);

struct scored_prediction {
  prediction_question question;
  std::string given = {};  // empty: nothing yet
  bool right = false;
};
struct prediction_score {
  std::string sheet;  // the file; it may be missing
  bool found = false;
  std::vector<scored_prediction> all = {};
  int right() const;
  int answered() const;
};
prediction_score score_of(const std::filesystem::path& sheet,
                          const std::vector<prediction_question>& questions);
// For a terminal: which are missing, which are wrong and why.
std::string text_of(const prediction_score& score);
json to_json(const prediction_score& score);

}  // namespace antiphase::tool
