// SPDX-License-Identifier: Apache-2.0
// Calls that a thread has made before, with what they launched: the same call need not be judged and chosen
// for again.
#pragma once
#include <antiphase/gemm.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/gemm/choice/choose.hpp"

namespace antiphase::gemms {

// All that judging and choosing look at, addresses too, but for the device's name. Calls with the same words
// differ in their stream at most.
struct call {
  static constexpr std::size_t words = 44;
  std::array<std::uint64_t, words> all;
  std::string_view device;
};
// Nothing of a call that is not remembered: with options that few have, or that hold memory of the host,
// which may change meanwhile.
std::optional<call> call_of(const context& where, const problem& p, const gemm_options& options);

// What a call launches. It stays as it is while somebody uses it, even if what is borrowed for it makes calls
// of its own.
struct remembered {
  any_plan plan;
  std::size_t workspace = 0;  // bytes that the call takes
  std::array<std::uint64_t, call::words> all{};
  std::string device;
  int users = 0;
};
class in_use {
 public:
  explicit in_use(remembered* what) : what_(what) {
    if (what_ != nullptr) ++what_->users;
  }
  in_use(const in_use&) = delete;
  in_use& operator=(const in_use&) = delete;
  ~in_use() {
    if (what_ != nullptr) --what_->users;
  }
  explicit operator bool() const { return what_ != nullptr; }
  const remembered* operator->() const { return what_; }

 private:
  remembered* what_;
};

// Of this thread; null: it does not remember that call.
remembered* recall(const call& of);
// After a call has been judged. Calls are remembered from the second time on: one that never comes again
// costs nothing here.
void remember(const call& of, const choice& c);
// From now on: somebody is about to make the call.
void remember_at_once(const call& of, const choice& c);

}  // namespace antiphase::gemms
