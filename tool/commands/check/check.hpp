// SPDX-License-Identifier: Apache-2.0
// What the subcommand check is asked for.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tool/program/command.hpp"

namespace antiphase::tool {

struct check_request {
  std::vector<std::string> kernels;                           // all, a family, or single ones
  std::vector<std::pair<std::string, std::string>> settings;  // options of the check and their values
  bool list = false;
  common_options common;
};
// Throws not_supported where this build has no checker.
void run_check(const check_request& r);

}  // namespace antiphase::tool
