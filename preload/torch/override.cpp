// SPDX-License-Identifier: Apache-2.0
// What the Python package calls: overrides families of torch's operators, and reports on their calls.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "preload/torch/operators.hpp"

#define AP_TO_PYTHON extern "C" __attribute__((visibility("default")))

namespace {

using namespace antiphase::torch;

// 0: attention, 1: scans.
operators* family_of(int number) {
  return number == 0 ? &attention_operators() : number == 1 ? &scan_operators() : nullptr;
}

// The families' registrations with torch; null: none. A forked child has them, too.
constinit std::atomic<void*> registered[2] = {};

void override_family(int number, const std::string& key, bool takes_all) {
  operators* const family = family_of(number);
  if (family == nullptr || (key != "CUDA" && key != "CPU"))
    throw std::runtime_error("family " + std::to_string(number) + " for " + key +
                             ": expected 0 or 1, and CUDA or CPU");
  if (registered[number] != nullptr)
    throw std::runtime_error("the family is overridden already: restore it first");
  const functions& f = loaded();
  if (key == "CUDA" && (f.current_stream == nullptr || f.capture_status == nullptr))
    throw unknown_torch("torch has no CUDA, or has its runtime linked in");
  for (const auto& one : family->all) one.find_original(key);
  family->takes_all = takes_all;
  void* library = nullptr;
  require(f.library_init_impl("aten", key.c_str(), "antiphase", 0, &library));
  for (const auto& one : family->all)
    if (f.library_impl(library, one.name, one.override, version) != 0) {
      f.delete_library(library);
      throw unknown_torch(std::string("torch does not take a kernel for ") + one.name);
    }
  registered[number] = library;
}

}  // namespace

// Overrides the operators of a family for a key of torch's dispatcher, "CUDA" or, which is slow and meant for
// tests, "CPU". Calls that are predicted to be faster here are computed (takes_all is not 0: all that can
// be), and the others by torch's own kernels. Returns 1; or 0, with the reason in why_not, and nothing has
// changed.
AP_TO_PYTHON int antiphase_torch_override(int family, const char* key, int takes_all, char* why_not,
                                          std::size_t room) {
  try {
    override_family(family, key, takes_all != 0);
    return 1;
  } catch (const std::exception& error) {
    const std::string_view reason = error.what();
    if (room > 0) why_not[reason.copy(why_not, room - 1)] = '\0';
    return 0;
  }
}

// Gives the operators back. No other thread may be calling them.
AP_TO_PYTHON void antiphase_torch_restore(int family) {
  if (family_of(family) == nullptr) return;
  if (void* const library = registered[family].exchange(nullptr); library != nullptr)
    loaded().delete_library(library);
}

// A family's calls so far: computed; passed on; of these, those not predicted because nothing was measured on
// their GPU. And the seconds saved, as predicted.
AP_TO_PYTHON void antiphase_torch_counts(int family, std::int64_t* calls, double* saved) {
  const operators* const all = family_of(family);
  if (all == nullptr) return;
  const counts& became = all->became;
  calls[0] = became.computed, calls[1] = became.passed, calls[2] = became.unmeasured;
  *saved = became.saved;
}
