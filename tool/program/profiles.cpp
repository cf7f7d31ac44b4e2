// SPDX-License-Identifier: Apache-2.0
#include "tool/program/profiles.hpp"

#include <antiphase/core/names.hpp>
#include <filesystem>
#include <system_error>
#include <vector>

namespace antiphase::tool {

machine_profile named_profile(const std::string& name_or_file) {
  std::error_code not_even_a_name;
  if (name_or_file.ends_with(".json") || std::filesystem::exists(name_or_file, not_even_a_name))
    return read_profile(name_or_file);
  return shipped_profile(name_or_file);
}
std::string profile_names() {
  std::vector<std::string> names;
  for (const machine_profile& p : shipped_profiles()) names.push_back(p.limits.name);
  return listed(names);
}

}  // namespace antiphase::tool
