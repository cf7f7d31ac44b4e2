// SPDX-License-Identifier: Apache-2.0
// A thread-local cache of calls and their plans, so that a repeated call is not judged and chosen for again.
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

// The key: everything that judging and choosing depend on, addresses included. Calls with the same words and
// device differ in their stream at most.
struct call {
  static constexpr std::size_t words = 44;
  std::array<std::uint64_t, words> all;
  std::string_view device;
};
// Nothing for calls that are not remembered: those with rare options, or with options in host memory, which
// may change between calls.
std::optional<call> call_of(const context& where, const problem& p, const gemm_options& options);

// The plan of a call. While users > 0 it is not replaced: the allocator of a call's workspace may make
// further calls.
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

// This thread's entry for the call; null: none.
remembered* recall(const call& of);
// Called after a call has been judged. Stores it the second time, so that a call that never comes again costs
// nothing.
void remember(const call& of, const choice& c);
// Stores it the first time: the caller is about to make the call.
void remember_at_once(const call& of, const choice& c);

}  // namespace antiphase::gemms
