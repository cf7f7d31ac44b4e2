// SPDX-License-Identifier: Apache-2.0
// Every kernel of the library has a recording twin, or is listed with the reason for having none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checker/runs/lists.hpp"
#include "learn/trace/twins/twin_lists.hpp"
#include "learn/trace/twins/without_twin.hpp"

namespace antiphase {
namespace {

// Collects names from a family's lists; an instance has its kernel as `code`, a step of several passes has
// two.
std::set<std::string> names;
template <class Instance> void add(const Instance& i) {
  if constexpr (requires { i.code.name; }) names.insert(i.code.name);
  if constexpr (requires { i.kernel.name; }) names.insert(i.kernel.name);
  if constexpr (requires { i.kernels; })
    for (const kernel& k : {i.kernels.totals, i.kernels.scan}) names.insert(k.name);
}
#define AP_NAMES_OF(type, list) \
  for (const auto& i : cpu::list()) add(i);

}  // namespace

namespace gemms {
std::set<std::string> kernel_names() {
  names.clear();
  AP_GEMM_LISTS(AP_NAMES_OF)
  for (const tensor_core_instance& i : tensor_core_instances(target::cpu)) add(i);  // linear layers
  return names;
}
}  // namespace gemms
namespace scans {
std::set<std::string> kernel_names() {
  names.clear();
  AP_SCAN_LISTS(AP_NAMES_OF)
  return names;
}
}  // namespace scans
namespace attentions {
std::set<std::string> kernel_names() {
  names.clear();
  AP_ATTENTION_LISTS(AP_NAMES_OF)
  return names;
}
}  // namespace attentions

namespace {

struct family {
  std::set<std::string> (*kernel_names)();
  const std::vector<twin>& (*twins)(target);
  std::size_t fewest;
  bool has_steps = false;
};
constexpr family families[] = {{gemms::kernel_names, gemms::all_twins, 60, true},
                               {scans::kernel_names, scans::all_twins, 10},
                               {attentions::kernel_names, attentions::all_twins, 20}};

bool is_twin(const std::vector<twin>& twins, std::string_view kernel) {
  return std::ranges::any_of(twins, [&](const twin& t) { return t.kernel_name == kernel; });
}
// The ladder's kernels are chosen by step and policy: a variant without a twin is recorded by the step's twin
// for any strides.
bool is_traced_step(std::string_view kernel) {
  return std::ranges::any_of(
      instances_of<gemms::fp32_lists, gemms::instance>(target::cpu), [&](const gemms::instance& i) {
        return i.code.name == kernel &&
               std::ranges::any_of(gemms::traced_instances(target::cpu), [&](const gemms::instance& t) {
                 return std::string_view(t.step) == i.step;
               });
      });
}

TEST(EveryKernel, HasATwinOrAReason) {
  for (const family& f : families) {
    const std::set<std::string> kernels = f.kernel_names();
    EXPECT_GT(kernels.size(), f.fewest);
    const std::vector<twin>& twins = f.twins(target::cpu);
    for (const std::string& kernel : kernels) {
      const bool recorded = is_twin(twins, kernel) || (f.has_steps && is_traced_step(kernel));
      EXPECT_NE(recorded, why_no_twin(kernel) != nullptr)
          << kernel
          << (recorded
                  ? ": has a twin, and a reason in learn/trace/twins/without_twin.cpp why it has none"
                  : ": write a twin of it, or say in learn/trace/twins/without_twin.cpp why it has none");
    }
    for (const twin& t : twins)
      EXPECT_TRUE(kernels.contains(t.kernel_name))
          << t.kernel_name << ": a twin of a kernel that there is not";
  }
}

TEST(EveryKernel, EachReasonIsForAKernelThatThereIs) {
  std::set<std::string> kernels;
  for (const family& f : families) kernels.merge(f.kernel_names());
  for (const kernels_without_twin& some : without_twin())
    EXPECT_TRUE(std::ranges::any_of(kernels, [&](const std::string& k) { return some.covers(k); }))
        << some.named << some.ending;
}

// The GPU runs the twins that were tested here, with the same rings.
// All properties of a twin, as words and numbers.
std::vector<std::string> described(const twin& t) {
  std::vector<std::string> all = {std::to_string(t.stages), std::to_string(t.step_bytes),
                                  std::to_string(static_cast<int>(t.spans_are)), std::to_string(t.tile_k),
                                  t.step_is};
  all.insert(all.end(), t.phases.begin(), t.phases.end());
  all.insert(all.end(), t.rings.begin(), t.rings.end());
  for (const timeline_role& r : t.roles)
    all.push_back(r.name + " " + std::to_string(r.first) + " + " + std::to_string(r.count) +
                  (r.loads ? " loads" : "") + (r.computes ? " computes" : ""));
  return all;
}

// Two compilers read the same lists: nvcc 13.0 misplaced the values of designated initializers that skip a
// member.
TEST(EveryKernel, HasTheSameTwinOnAGpu) {
  for (const family& f : families) {
    const std::vector<twin>&here = f.twins(target::cpu), &there = f.twins(target::cuda);
    if (there.empty()) continue;  // built without CUDA
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_STREQ(here[i].kernel_name, there[i].kernel_name);
      EXPECT_EQ(here[i].code.params_bytes, there[i].code.params_bytes) << here[i].kernel_name;
      EXPECT_EQ(here[i].code.threads, there[i].code.threads) << here[i].kernel_name;
      EXPECT_EQ(described(here[i]), described(there[i])) << here[i].kernel_name;
    }
  }
}

}  // namespace
}  // namespace antiphase
