// SPDX-License-Identifier: Apache-2.0
// The cost models as a shared library, for scripts/cost_models/fit.py: reads and sets their constants, and
// predicts with them.
#include <antiphase/executor/published.hpp>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "library/gemm/candidate.hpp"

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
  gemms::product_shape shape{};
  std::vector<gemms::way> of_shape;
  std::vector<std::function<double(const costs::models&)>> ways;  // by their numbers
} state;

}  // namespace
}  // namespace antiphase::fit

using antiphase::fit::state;

extern "C" {

// Reads a file of library/costs. Returns the count of its constants, or -1 on an error, described by
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

// A number for cost_predict(): of a way to compute count products of m x n x k, adds_c: which are added to C.
// -1: there is no such way, any more.
int way_number(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int adds_c,
               const char* name) {
  const antiphase::gemms::product_shape p{m, n, k, count, adds_c != 0};
  if (!(state.shape == p)) state.shape = p, state.of_shape = ways_of(p, state.device, state.models);
  for (const antiphase::gemms::way& w : state.of_shape)
    if (w.name == name) {
      state.ways.push_back(w.seconds);
      return static_cast<int>(state.ways.size()) - 1;
    }
  return -1;
}

// Predicts microseconds of ways.
void cost_predict(int count, const int* ways, double* us) {
  for (int i = 0; i < count; ++i) us[i] = 1e6 * state.ways[static_cast<std::size_t>(ways[i])](state.models);
}
}
