// SPDX-License-Identifier: Apache-2.0
// The cost models as a shared library, for scripts/fit.py: reads and sets their numbers, and predicts.
#include <antiphase/executor/published.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "bench/laws/ways.hpp"
#include "src/gemm/fp64/fp64_forms.hpp"

namespace antiphase::fit {
namespace {

struct law_number {
  std::string path;
  double* value;
  double least, most;
};
class all_numbers : public gemms::law_visitor {
 public:
  std::vector<law_number> all;
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
  gemms::laws laws;
  std::vector<law_number> numbers;
  device_limits device;
  std::string said;
} state;

}  // namespace
}  // namespace antiphase::fit

using antiphase::fit::state;

extern "C" {

// Reads a file of cost models. Returns the count of its numbers, or -1 on an error, described by laws_said().
int laws_read(const char* path) try {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  state.laws = antiphase::gemms::parse_laws(text, path);
  antiphase::fit::all_numbers numbers;
  state.laws.each(numbers);
  state.numbers = numbers.all;
  state.device = antiphase::published_device("9.0");
  state.device.name = state.laws.device, state.device.multiprocessors = state.laws.multiprocessors;
  return static_cast<int>(state.numbers.size());
} catch (const std::exception& e) {
  state.said = e.what();
  return -1;
}
const char* laws_said() { return state.said.c_str(); }
const char* law_path(int i) { return state.numbers[static_cast<std::size_t>(i)].path.c_str(); }
double law_value(int i) { return *state.numbers[static_cast<std::size_t>(i)].value; }
double law_least(int i) { return state.numbers[static_cast<std::size_t>(i)].least; }
double law_most(int i) { return state.numbers[static_cast<std::size_t>(i)].most; }
void law_set(int i, double value) { *state.numbers[static_cast<std::size_t>(i)].value = value; }

// The index of a stream form by its name, -1 if there is none.
int form_number(const char* name) {
  const auto forms = antiphase::gemms::fp64_forms();
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (forms[i].name == name) return static_cast<int>(i);
  return -1;
}

// Predicts microseconds for each row (m, n, k, members, whether C is added to, family, form, first, second).
void laws_predict(int rows, const std::int64_t* row, double* us) {
  for (int i = 0; i < rows; ++i, row += 9) {
    const antiphase::fit::way w{static_cast<antiphase::fit::family>(row[5]), static_cast<int>(row[6]),
                                static_cast<int>(row[7]), static_cast<int>(row[8])};
    us[i] = 1e6 * antiphase::fit::seconds_of(state.laws, {row[0], row[1], row[2], row[3], row[4] != 0},
                                             state.device, w);
  }
}
}
