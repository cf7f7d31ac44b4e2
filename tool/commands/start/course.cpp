// SPDX-License-Identifier: Apache-2.0
// The subcommand course: the labs of docs/course, copied to begin with and checked.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tool/base/errors.hpp"
#include "tool/commands/check/check.hpp"
#include "tool/commands/start/course_gpu.hpp"
#include "tool/commands/start/predictions.hpp"
#include "tool/files/folders.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/names.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* explanation =
    "Labs of half an hour, from a scan with two barriers to attention in antiphase: each is a folder with a "
    "text and start.cu, a program in plain CUDA with a kernel to complete. Without a GPU and without a CUDA "
    "toolkit it works alike: only g++ is needed.\n\nExamples:\n"
    "  antiphase course list\n"
    "  antiphase course start 1      makes the lab's folder here\n"
    "  antiphase course check 1      checks start.cu in it";
constexpr const char* explanation_of_check =
    "A kernel passes if its results are right for odd sizes, if the checker has no finding, and if it does "
    "what the lab asks for, such as one barrier a step. Without a GPU it is checked alike: the program runs "
    "on "
    "the CPU.\n\nExamples:\n"
    "  antiphase course check 1\n"
    "  antiphase course check 1 mine/start.cu --schedules 100\n"
    "  antiphase course check 6 --on cuda\n"
    "      and, once it passes, its times on a GPU next to the ladder's step (needs nvcc)\n"
    "  antiphase course check --all class --csv\n"
    "      a row for each student (a folder in class) and lab (a folder, or a .cu file named as one, in it)\n"
    "  antiphase course check 3 --all class\n"
    "      of one lab; start.cu in the student's folder, or a file STUDENT.cu, will do";

// A folder NUMBER-NAME with README.md, start.cu and tests.cpp.
struct lab {
  int number = 0;
  std::string name;  // of the folder
  std::string title;
  fs::path folder;
};

fs::path course_folder() { return shipped_folder("course", ANTIPHASE_SOURCE_COURSE, "lab.h", "labs"); }

std::vector<lab> labs() {
  std::vector<lab> all;
  for (const auto& entry : fs::directory_iterator(course_folder())) {
    lab one;
    one.folder = entry.path();
    one.name = one.folder.filename().string();
    const auto [stop, failed] =
        std::from_chars(one.name.data(), one.name.data() + one.name.size(), one.number);
    if (failed != std::errc{}) continue;
    std::ifstream in(one.folder / "README.md");
    std::getline(in, one.title);  // "# Lab 1: its title"
    one.title.erase(0, one.title.find(": ") + 2);
    all.push_back(one);
  }
  std::ranges::sort(all, {}, &lab::number);
  return all;
}

// By number, as 8 or 08, or by the name of its folder.
lab lab_of(const std::string& text) {
  const std::vector<lab> all = labs();
  int number = 0;
  const char* const end = text.data() + text.size();
  const bool is_number = std::from_chars(text.data(), end, number).ptr == end;
  const auto at = std::ranges::find_if(
      all, [&](const lab& l) { return l.name == text || (is_number && l.number == number); });
  if (at == all.end())
    throw bad_request(fmt::format("there is no lab {}: expected {} to {}, or the name of a lab's folder",
                                  text, all.front().number, all.back().number));
  return *at;
}

// A file without the HTML comments that mark its figures.
std::string without_comments(const fs::path& file) {
  std::string all = whole_file(file.string());
  for (std::size_t at = 0; (at = all.find("<!--", at)) != std::string::npos;)
    all.erase(at, all.find("-->", at) + 3 - at);
  return all;
}

struct request {
  std::string lab;  // which: lab_of()
  std::string path;
  std::string everybody;  // a folder of students' folders
  bool csv = false;
  std::string on = "cpu";
  int schedules = 20;
  common_options common;
};

void list(const common_options& common) {
  json all = json::array();
  std::string text;
  for (const lab& l : labs()) {
    text += fmt::format("{:>2}  {:<22}  {}\n", l.number, l.name, l.title);
    all.push_back({{"lab", l.number}, {"name", l.name}, {"title", l.title}});
  }
  if (common.json) return print_json({{"schema", 1}, {"command", "course"}, {"labs", all}});
  print(text);
}

void start(const request& r) {
  const lab l = lab_of(r.lab);
  const fs::path to = (fs::path(r.path) / l.name).lexically_normal();
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : fs::directory_iterator(l.folder))
    if (const std::string name = entry.path().filename().string(); name != "tests.cpp")
      files.emplace_back(name, without_comments(entry.path()));
  if (const auto questions = questions_of(course_folder(), l.name); !questions.empty())
    files.emplace_back(prediction_sheet, sheet_text(l.number, questions));
  make_folder(to, "a folder without it", files);
  const std::string file = (to / "start.cu").string();
  if (!r.common.quiet)
    print(
        fmt::format("lab {0}: {1}\n{2} says what to do in {3}; {4} asks what you predict. Then:\n"
                    "  antiphase check {3}\n  antiphase course check {0} {3}\n",
                    l.number, l.title, (to / "README.md").string(), file, (to / prediction_sheet).string()));
}

// One student's file for a lab, and its verdict.
struct checked_file {
  lab of;
  std::string file;
  lab_verdict verdict;
  prediction_score predictions;
};
checked_file check_file(const lab& l, const fs::path& file, int schedules) {
  return {
      .of = l,
      .file = file.string(),
      .verdict = check_one_lab(
          {.file = file.string(), .tests = (l.folder / "tests.cpp").string(), .schedules = schedules}),
      .predictions = score_of(file.parent_path() / prediction_sheet, questions_of(course_folder(), l.name))};
}

void check_one(const request& r) {
  const lab l = lab_of(r.lab);
  std::string file = r.path;
  if (file.empty()) {
    file = l.name + "/start.cu";
    if (std::error_code ignored; !fs::exists(file, ignored)) file = "start.cu";
  }
  if (std::error_code ignored; !fs::exists(file, ignored))
    throw bad_input(fmt::format(
        "there is no file '{}': expected yours for lab {}, which 'antiphase course start {}' begins", file,
        l.number, l.number));
  const checked_file one = check_file(l, file, r.schedules);
  const lab_verdict& v = one.verdict;
  if (!v.refused.empty()) {
    for (const std::string& why : v.refused) complain(why);
    throw bad_input(
        fmt::format("{} was not checked: expected a program that compiles, with the name and the parameters "
                    "of lab {}'s kernel",
                    file, l.number));
  }
  const auto timed = [&] {
    return r.on == "cuda" && v.passed ? time_on_gpu(course_folder(), l.number, file)
                                      : std::vector<lab_time>();
  };
  std::vector<lab_time> times;
  if (r.common.json) {
    times = timed();
    print_json({{"schema", 1},
                {"command", "course"},
                {"commit", built_from()},
                {"lab", l.number},
                {"name", l.name},
                {"file", file},
                {"passed", v.passed},
                {"missing", v.missing},
                {"findings", json::parse(v.json)["findings"]},
                {"predictions", to_json(one.predictions)},
                {"on_gpu", times.empty() ? json() : to_json(times)}});
  } else {
    std::string text;
    for (const std::string& m : v.missing) text += fmt::format("- {}\n", m);
    text += v.text;
    if (v.passed)
      text = fmt::format("lab {} is done: right, and no finding in {} schedules.{}\n", l.number, v.runs,
                         l.number == labs().back().number
                             ? " That was the last."
                             : fmt::format(" Next: antiphase course start {}", l.number + 1));
    print(text + text_of(one.predictions));
    times = timed();
    if (!times.empty()) print(text_of(times));
  }
  if (!v.passed) throw verification_failed(fmt::format("lab {} is not done yet", l.number));
  if (!std::ranges::all_of(times, &lab_time::right))
    throw verification_failed(fmt::format("lab {} has wrong results on the GPU, for larger sizes", l.number));
}

// The files of a class: by student and lab.
struct handed_in {
  std::string student;
  std::vector<std::pair<lab, fs::path>> files = {};
};
std::vector<handed_in> files_of_class(const fs::path& folder, const std::vector<lab>& wanted) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) entries.push_back(entry.path());
  if (failed)
    throw bad_input(fmt::format("'{}' cannot be read: expected a folder with a folder for each student",
                                folder.string()));
  std::ranges::sort(entries);
  const bool of_one = wanted.size() == 1;
  std::vector<handed_in> all;
  for (const fs::path& entry : entries) {
    std::error_code ignored;
    const bool is_file = of_one && entry.extension() == ".cu";
    if (entry.filename().string().starts_with('.') || (!is_file && !fs::is_directory(entry, ignored)))
      continue;
    handed_in one{.student = is_file ? entry.stem().string() : entry.filename().string()};
    for (const lab& l : wanted) {
      std::vector<fs::path> places{entry / l.name / "start.cu", entry / (l.name + ".cu")};
      if (of_one) places.push_back(entry / "start.cu");
      if (is_file) places = {entry};
      const auto place =
          std::ranges::find_if(places, [&](const fs::path& p) { return fs::is_regular_file(p, ignored); });
      if (place != places.end()) one.files.emplace_back(l, *place);
    }
    all.push_back(one);
  }
  if (all.empty())
    throw bad_input(fmt::format("there is no student in '{}': expected a folder for each", folder.string()));
  return all;
}

std::string csv_text(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string cell = row[i];
      if (cell.find_first_of(",\"\n\r") != std::string::npos) {
        for (std::size_t quote = 0; (quote = cell.find('"', quote)) != std::string::npos; quote += 2)
          cell.insert(quote, 1, '"');
        cell.insert(0, 1, '"') += '"';
      }
      text += cell + (i + 1 < row.size() ? "," : "\n");
    }
  return text;
}

// The first reason why a file does not pass.
std::string reason(const lab_verdict& v) {
  if (!v.refused.empty()) return "does not compile: " + v.refused.front();
  if (!v.missing.empty()) return v.missing.front();
  if (v.errors > 0) return v.first_error;
  return v.passed ? "" : "it launched no kernel";
}

void check_class(const request& r) {
  if (!r.path.empty()) throw bad_usage("course check: expected a file or --all, not both");
  if (r.on != "cpu") throw bad_usage("course check: --on cuda times one file, expected no --all next to it");
  const std::vector<lab> wanted = r.lab.empty() ? labs() : std::vector{lab_of(r.lab)};
  std::vector<std::vector<std::string>> rows{
      {"student", "lab", "passed", "predictions", "of", "findings", "reason", "file"}};
  json all = json::array();
  for (const handed_in& student : files_of_class(r.everybody, wanted)) {
    if (student.files.empty())
      rows.push_back({student.student, r.lab.empty() ? "" : wanted.front().name, "no", "0", "0", "0",
                      "nothing handed in", ""});
    for (const auto& [l, file] : student.files) {
      const checked_file one = check_file(l, file, r.schedules);
      const std::size_t findings = one.verdict.errors;
      rows.push_back({student.student, l.name, one.verdict.passed ? "yes" : "no",
                      fmt::format("{}", one.predictions.right()),
                      fmt::format("{}", one.predictions.all.size()), fmt::format("{}", findings),
                      reason(one.verdict), one.file});
      say(r.common,
          fmt::format("{}: {} {}", student.student, l.name, one.verdict.passed ? "passed" : "not passed"));
    }
  }
  if (r.common.json) {
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const auto& row = rows[i];
      all.push_back({{"student", row[0]},
                     {"name", row[1]},
                     {"passed", row[2] == "yes"},
                     {"predictions_right", std::stoi(row[3])},
                     {"predictions", std::stoi(row[4])},
                     {"findings", std::stoi(row[5])},
                     {"reason", row[6]},
                     {"file", row[7]}});
    }
    return print_json({{"schema", 1}, {"command", "course"}, {"commit", built_from()}, {"students", all}});
  }
  print(r.csv ? csv_text(rows) : table_text(rows));
}

void check_lab(const request& r) {
  if (r.schedules < 1)
    throw bad_request(fmt::format("--schedules is {}: expected a number of runs from 1 on", r.schedules));
  choice_of("--on", r.on, {"cpu", "cuda"});
  if (!r.everybody.empty()) return check_class(r);
  if (r.csv) throw bad_usage("course check: --csv is the table of --all");
  if (r.lab.empty()) throw bad_usage("course check: expected a lab, or --all and a folder");
  check_one(r);
}

}  // namespace

void add_course(arguments program) {
  arguments command = program.add_subcommand(
      "course", "Learn to write pipelined kernels: labs in plain CUDA, checked without a GPU");
  command.require_subcommand();
  command.footer(explanation);
  const auto add = [&](const char* name, const char* about) {
    return std::pair(command.add_subcommand(name, about), std::make_shared<request>());
  };
  auto [listing, l] = add("list", "The labs");
  add_common_options(listing, l->common);
  listing.runs([l = l] { list(l->common); });

  auto [starting, s] = add("start", "Begin a lab: makes its folder");
  s->path = ".";
  starting.add_option("lab", s->lab, "Which").required().type_name("N");
  starting.add_option("folder", s->path, "Where the lab's folder goes (default: here)")
      .check(not_empty())
      .type_name("FOLDER");
  add_common_options(starting, s->common);
  starting.runs([s = s] { start(*s); });

  auto [checking, c] = add("check", "Check a lab: right results, no finding, and what the lab asks for");
  checking.footer(explanation_of_check);
  checking.add_option("lab", c->lab, "Which; with --all, all if none is named").type_name("N");
  checking.add_option("file", c->path, "Yours (default: start.cu in the lab's folder, or here)")
      .check(not_empty())
      .type_name("FILE");
  checking.add_option("--all", c->everybody, "Check a class: a folder with a folder for each student")
      .check(not_empty())
      .type_name("FOLDER");
  checking.add_flag("--csv", c->csv, "The table of --all as comma-separated values");
  checking
      .add_option("--on", c->on,
                  "cuda: once it passes, also time it on a GPU, next to the ladder's step (default: cpu)")
      .check(not_empty())
      .type_name("WHERE")
      .offers({"cpu", "cuda"});
  checking.add_option("--schedules", c->schedules, "Runs of each test (default: 20)").type_name("N");
  add_common_options(checking, c->common);
  checking.runs([c = c] { check_lab(*c); });
}

}  // namespace antiphase::tool
