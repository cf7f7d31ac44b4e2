// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/laws/laws.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/gemm/laws/shipped_laws.hpp"
#include "src/per_process.hpp"

namespace antiphase::gemms {
namespace {

using json = nlohmann::ordered_json;

class reader : public law_visitor {
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
      complain(fmt::format("'{}' has {} members: expected the {} that the laws know", path(),
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
    throw bad_request(fmt::format("laws {}: {}", from_, what));
  }

  const std::string& from_;
  std::vector<const json*> inside_;
  std::vector<std::string> names_;
  std::vector<std::size_t> seen_{0};
};

}  // namespace

laws parse_laws(std::string_view text, const std::string& from) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object() || !all.contains("device") || !all["device"].is_string() ||
      !all.contains("multiprocessors") || !all["multiprocessors"].is_number_integer() ||
      !all.contains("laws") || !all["laws"].is_object())
    throw bad_request(
        fmt::format("laws {}: expected a JSON object with 'device', 'multiprocessors' and 'laws'", from));
  laws made{};
  made.device = all["device"].get<std::string>();
  made.multiprocessors = all["multiprocessors"].get<int>();
  reader numbers(all["laws"], from);
  made.each(numbers);
  numbers.require_no_others();
  return made;
}

namespace {

const std::vector<laws>& all_laws() {
  static constinit made_once<std::vector<laws>> shipped;
  return shipped.get([] {
    std::vector<laws> made;
    for (const std::string_view text : shipped_laws()) made.push_back(parse_laws(text, "of this build"));
    return made;
  });
}

}  // namespace

const laws* fitted_laws_of(const device_limits& device) {
  for (const laws& one : all_laws())
    if (one.device == device.name && one.multiprocessors == device.multiprocessors) return &one;
  return nullptr;
}

const laws& laws_of(const device_limits& device) {
  const laws* const own = fitted_laws_of(device);
  return own != nullptr ? *own : all_laws().front();
}

}  // namespace antiphase::gemms
