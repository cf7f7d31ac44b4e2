// SPDX-License-Identifier: Apache-2.0
// A thread-local cache of calls and their plans, so that a repeated call is neither checked nor chosen for
// again. One for all families.
#pragma once
#include <antiphase/context.hpp>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "library/choice/plan.hpp"

namespace antiphase::choices {

struct remembered;

enum class family { products, scans, attention, linear_layers };

// Everything that checking and choosing depend on, addresses included. Calls with the same words and device
// differ in their stream at most.
class call_key {
 public:
  static constexpr std::size_t most_words = 96, hashed_words = 12;

  // The first hashed_words words find the place: calls that agree in these share one. Addresses and extents
  // belong there.
  explicit call_key(const context& where) : device_(where.limits()), kind_(where.kind()) {}
  template <class... T> void add(T... values) { ((words_[size_++] = word(values)), ...); }
  // After all other words.
  void add_device(family calls);

  std::uint64_t hash() const;
  std::span<const std::uint64_t> words() const { return {words_.data(), size_}; }
  std::string_view device() const { return device_.name; }

 private:
  template <class T> static std::uint64_t word(T x) {
    if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<std::uintptr_t>(x);
    else if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<std::uint32_t>(x);
    else if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<std::uint64_t>(x);
    else
      return static_cast<std::uint64_t>(x);
  }
  std::array<std::uint64_t, most_words> words_;
  std::size_t size_ = 0;
  const device_limits& device_;
  target kind_;
};

// This thread's plan for a call, if it is remembered. While there is such an object the plan is not replaced:
// the allocator of a call's workspace may make further calls. No key: a call that is not remembered.
class recalled {
 public:
  explicit recalled(const std::optional<call_key>& key);
  recalled(const recalled&) = delete;
  recalled& operator=(const recalled&) = delete;
  ~recalled();
  const plan* get() const;  // null: none

 private:
  remembered* entry_ = nullptr;
};

// Called after a call has been checked. Stores its plan the second time, so that a call that never comes
// again costs nothing.
void remember(const call_key& key, const plan& p);
// Stores it the first time: the caller is about to make the call.
void remember_at_once(const call_key& key, const plan& p);

}  // namespace antiphase::choices
