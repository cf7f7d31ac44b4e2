// What `antiphase check` runs: every step of both ladders, on shapes chosen to be awkward.
#pragma once
#include <antiphase/context.hpp>
#include <functional>
#include <string>
#include <vector>

namespace antiphase::tool {

struct checked_case {
  std::string name;                             // gemm/async-2
  std::string about;                            // what the step adds to the one before
  std::function<void(const context&)> program;  // throws if a result is wrong
};
const std::vector<checked_case>& checked_cases();

}  // namespace antiphase::tool
