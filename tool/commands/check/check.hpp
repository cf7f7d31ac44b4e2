// SPDX-License-Identifier: Apache-2.0
// What the subcommand check is asked for.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tool/program/command.hpp"

namespace antiphase::tool {

struct check_request {
  std::vector<std::string> kernels;                           // all, a family, or single ones
  std::vector<std::pair<std::string, std::string>> settings;  // options of the check and their values
  std::vector<std::string> arguments;                         // of a program, behind --
  std::vector<std::string> compiler_options;                  // of plain CUDA
  std::string blocks;                                         // all, or threads of a launch that are enough
  std::string sarif;                                          // a file to write; empty: none
  // a picture to write of what was found; empty: none
  std::string trace;
  std::string driver;  // of kernels without a usable main
  int seconds = 60;    // of a run of a program
  bool list = false, dialect = false, lines = false;
  std::vector<std::string> said;  // of options that do not do here what they do elsewhere
  common_options common;
};
// The words without options of nvcc, some of which turn into ours, where a source is among them. Adds to
// `said`. Throws bad_request.
std::vector<std::string> without_nvcc_options(const std::vector<std::string>& words,
                                              std::vector<std::string>& said);
// Whether a name is a source in plain CUDA, or belongs to one, and no kernel of the library.
bool is_source(const std::string& name);
// Throws not_supported where this build has no checker.
void run_check(const check_request& r);
// The sources among r.kernels, up to the first that is none; what follows are the program's arguments.
void run_check_plain(const check_request& r);
// From what check_plain() has thrown; `source` stands for a place that is not known.
std::vector<check_refusal> refusals_of(const error& e, const std::string& source);
void show_dialect(const check_request& r);

}  // namespace antiphase::tool
