// SPDX-License-Identifier: Apache-2.0
#include "library/costs/models.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/per_process.hpp"
#include "library/costs/shipped_models.hpp"

namespace antiphase::costs {
namespace {

using json = nlohmann::ordered_json;

class reader : public constant_visitor {
 public:
  reader(const json& all, const std::string& from) : from_(from), inside_{&all} {}

  void number(std::string_view name, double& value, double least, double most) override {
    const json& is = member(name);
    if (!is.is_number() || !(is.get<double>() >= least && is.get<double>() <= most))
      complain(fmt::format("'{}{}' is {}: expected a number from {:g} to {:g}", path(), name, is.dump(),
                           least, most));
    value = is.get<double>();
  }
  void enter(std::string_view group) override {
    const json& next = member(group);
    if (!next.is_object())
      complain(fmt::format("'{}{}' is {}: expected an object", path(), group, next.dump()));
    inside_.push_back(&next);
    names_.emplace_back(group);
    seen_.push_back(0);
  }
  void leave() override {
    require_no_others();
    inside_.pop_back(), names_.pop_back(), seen_.pop_back();
  }
  // An unknown name is a mistake in the file.
  void require_no_others() const {
    if (inside_.back()->size() != seen_.back())
      complain(fmt::format("'{}' has {} members: expected the {} that the cost models know", path(),
                           inside_.back()->size(), seen_.back()));
  }

 private:
  const json& member(std::string_view name) {
    const auto found = inside_.back()->find(name);
    if (found == inside_.back()->end()) complain(fmt::format("'{}{}' is missing", path(), name));
    ++seen_.back();
    return *found;
  }
  std::string path() const {
    std::string all;
    for (const std::string& name : names_) all += name + ".";
    return all;
  }
  [[noreturn]] void complain(const std::string& what) const {
    throw bad_request(fmt::format("cost models {}: {}", from_, what));
  }

  const std::string& from_;
  std::vector<const json*> inside_;
  std::vector<std::string> names_;
  std::vector<std::size_t> seen_{0};
};

}  // namespace

models parse_models(std::string_view text, const std::string& from) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object() || !all.contains("device") || !all["device"].is_string() ||
      !all.contains("multiprocessors") || !all["multiprocessors"].is_number_integer() ||
      !all.contains("constants") || !all["constants"].is_object())
    throw bad_request(fmt::format(
        "cost models {}: expected a JSON object with 'device', 'multiprocessors' and 'constants'", from));
  models made{};
  made.device = all["device"].get<std::string>();
  made.multiprocessors = all["multiprocessors"].get<int>();
  reader numbers(all["constants"], from);
  made.each(numbers);
  numbers.require_no_others();
  return made;
}

namespace {

const std::vector<models>& shipped() {
  static constinit made_once<std::vector<models>> all;
  return all.get([] {
    std::vector<models> made;
    for (const std::string_view text : shipped_models()) made.push_back(parse_models(text, "of this build"));
    return made;
  });
}

}  // namespace

const models* fitted_models_of(const device_limits& device) {
  for (const models& one : shipped())
    if (one.device == device.name && one.multiprocessors == device.multiprocessors) return &one;
  return nullptr;
}

const models& models_of(const device_limits& device) {
  const models* const fitted = fitted_models_of(device);
  return fitted != nullptr ? *fitted : shipped().front();
}

}  // namespace antiphase::costs
