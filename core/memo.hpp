// SPDX-License-Identifier: Apache-2.0
// A direct-mapped cache of a function's results.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace antiphase {

// For a function whose result depends on its key of Words numbers alone. Each key maps to one of Places; the
// latest key replaces the one there. Not thread-safe: make it thread_local. Allocates nothing.
template <std::size_t Words, class Value, std::size_t Places> class memo {
 public:
  using key = std::array<std::uint64_t, Words>;

  // Calls make() if the key's place is empty or holds another key.
  template <class Make> const Value& get(const key& of, Make make) {
    place& at = places_[hash(of) % Places];
    if (!at.used || at.key != of) {
      at.value = make();
      at.key = of;
      at.used = true;
    }
    return at.value;
  }

 private:
  struct place {
    memo::key key{};
    Value value{};
    bool used = false;
  };
  static constexpr std::size_t hash(const key& of) {
    std::uint64_t h = 0;
    for (const std::uint64_t word : of) h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(h >> 32);
  }
  std::array<place, Places> places_{};
};

}  // namespace antiphase
