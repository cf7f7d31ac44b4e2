// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace antiphase::costs {

// Visits every constant of a cost model: its name, its value and its bounds.
class constant_visitor {
 public:
  virtual ~constant_visitor() = default;
  virtual void number(std::string_view name, double& value, double least, double most) = 0;
  virtual void enter(std::string_view group) = 0;
  virtual void leave() = 0;
  template <class Model> void inside(std::string_view group, Model& model) {
    enter(group);
    model.each(*this);
    leave();
  }
};

}  // namespace antiphase::costs
