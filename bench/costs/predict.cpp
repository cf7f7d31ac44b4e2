// SPDX-License-Identifier: Apache-2.0
// The cost models as a shared library, for scripts/fit.py: reads and sets their constants, and predicts with
// them.
#include <antiphase/executor/published.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "bench/costs/ways.hpp"
#include "src/gemm/fp64/fp64_forms.hpp"

namespace antiphase::fit {
namespace {

struct constant {
  std::string path;
  double* value;
  double least, most;
};
class all_constants : public costs::constant_visitor {
 public:
  std::vector<constant> all;
  void number(std::string_view name, double& value, double least, double most) override {
    all.push_back({path_ + std::string(name), &value, least, most});
  }
  void enter(std::string_view group) override {
    lengths_.push_back(path_.size());
    path_ += std::string(group) + "/";
  }
  void leave() override {
    path_.resize(lengths_.back());
    lengths_.pop_back();
  }

 private:
  std::string path_;
  std::vector<std::size_t> lengths_;
};

struct {
  costs::models models;
  std::vector<constant> constants;
  device_limits device;
  std::string said;
} state;

}  // namespace
}  // namespace antiphase::fit

using antiphase::fit::state;

extern "C" {

// Reads a file of src/costs. Returns the count of its constants, or -1 on an error, described by
// cost_error().
int cost_read(const char* path) try {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  state.models = antiphase::costs::parse_models(text, path);
  antiphase::fit::all_constants constants;
  state.models.each(constants);
  state.constants = constants.all;
  state.device = antiphase::published_device("9.0");
  state.device.name = state.models.device, state.device.multiprocessors = state.models.multiprocessors;
  return static_cast<int>(state.constants.size());
} catch (const std::exception& e) {
  state.said = e.what();
  return -1;
}
const char* cost_error() { return state.said.c_str(); }
const char* cost_path(int i) { return state.constants[static_cast<std::size_t>(i)].path.c_str(); }
double cost_value(int i) { return *state.constants[static_cast<std::size_t>(i)].value; }
double cost_least(int i) { return state.constants[static_cast<std::size_t>(i)].least; }
double cost_most(int i) { return state.constants[static_cast<std::size_t>(i)].most; }
void cost_set(int i, double value) { *state.constants[static_cast<std::size_t>(i)].value = value; }

// The index of a stream form by its name, -1 if there is none.
int form_number(const char* name) {
  const auto forms = antiphase::gemms::fp64_forms();
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (forms[i].name == name) return static_cast<int>(i);
  return -1;
}

// Predicts microseconds for each row (m, n, k, members, whether C is added to, family, form, first, second).
void cost_predict(int rows, const std::int64_t* row, double* us) {
  for (int i = 0; i < rows; ++i, row += 9) {
    const antiphase::fit::way w{static_cast<antiphase::fit::family>(row[5]), static_cast<int>(row[6]),
                                static_cast<int>(row[7]), static_cast<int>(row[8])};
    us[i] = 1e6 * antiphase::fit::seconds_of(state.models, {row[0], row[1], row[2], row[3], row[4] != 0},
                                             state.device, w);
  }
}
}
