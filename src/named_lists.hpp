// What both ladders do with their lists: joining lists of kernels, finding a step by its name.
#pragma once
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

template <class T> std::vector<T> concatenate(std::initializer_list<std::vector<T>> lists) {
  std::vector<T> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The step of that name; throws bad_request, with the names there are. `kind` says of what the steps are.
// `others`: what may be asked for besides.
template <class Steps>
const auto& find_named(const Steps& steps, std::string_view kind, std::string_view name, std::string_view others = "auto") {
  std::string names;
  for (const auto& step : steps) {
    if (name == step.name) return step;
    names += step.name + std::string(", ");
  }
  throw bad_request(fmt::format("there is no {} policy '{}': expected one of {}{}", kind, name, names, others));
}

}  // namespace antiphase
