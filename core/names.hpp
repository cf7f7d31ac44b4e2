// SPDX-License-Identifier: Apache-2.0
// Shared by both ladders: joining lists of kernels, finding a step by its name.
#pragma once
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// Functions that return kernels, one per list compiled for a target.
template <class Instance> using kernel_lists = std::initializer_list<std::vector<Instance> (*)()>;

template <class Instance> std::vector<Instance> concatenate(kernel_lists<Instance> lists) {
  std::vector<Instance> all;
  for (const auto& list : lists)
    for (const Instance& i : list()) all.push_back(i);
  return all;
}

// Throws bad_request: there is no `what` of that name. Suggests one of the `known` names.
[[noreturn]] inline void refuse_name(std::string_view what, std::string_view name,
                                     const std::vector<std::string>& known) {
  throw bad_request(fmt::format("there is no {} '{}': {}", what, shortened(name), suggestion(name, known)));
}

// The step of that name. Throws bad_request with a suggestion; `what` is what the message calls the steps.
template <class Steps>
const auto& find_named(const Steps& steps, std::string_view what, std::string_view name) {
  for (const auto& step : steps)
    if (name == step.name) return step;
  refuse_name(what, name, names_of(steps));
}

}  // namespace antiphase
