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
#include "tool/files/folders.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/program/command.hpp"
#include "tool/program/console.hpp"

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
    "  antiphase course check 1 mine/start.cu --schedules 100";

// A folder NUMBER-NAME with README.md, start.cu and tests.cpp.
struct lab {
  int number = 0;
  std::string name;  // of the folder
  std::string title;
  fs::path folder;
};

std::vector<lab> labs() {
  std::vector<lab> all;
  for (const auto& entry :
       fs::directory_iterator(shipped_folder("course", ANTIPHASE_SOURCE_COURSE, "lab.h", "labs"))) {
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
    throw bad_request(fmt::format("there is no lab {}: expected 1 to {}, or the name of a lab's folder", text,
                                  all.back().number));
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
  make_folder(to, "a folder without it", files);
  const std::string file = (to / "start.cu").string();
  if (!r.common.quiet)
    print(
        fmt::format("lab {0}: {1}\n{2} says what to do in {3}. Then:\n"
                    "  antiphase check {3}\n  antiphase course check {0} {3}\n",
                    l.number, l.title, (to / "README.md").string(), file));
}

void judge(const request& r) {
  if (r.schedules < 1)
    throw bad_request(fmt::format("--schedules is {}: expected a number of runs from 1 on", r.schedules));
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
  run_lab({.number = l.number,
           .name = l.name,
           .file = file,
           .tests = (l.folder / "tests.cpp").string(),
           .last = l.number == labs().back().number,
           .schedules = r.schedules,
           .common = r.common});
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
  checking.add_option("lab", c->lab, "Which").required().type_name("N");
  checking.add_option("file", c->path, "Yours (default: start.cu in the lab's folder, or here)")
      .check(not_empty())
      .type_name("FILE");
  checking.add_option("--schedules", c->schedules, "Runs of each test (default: 20)").type_name("N");
  add_common_options(checking, c->common);
  checking.runs([c = c] { judge(*c); });
}

}  // namespace antiphase::tool
