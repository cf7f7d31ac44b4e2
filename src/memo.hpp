// SPDX-License-Identifier: Apache-2.0
// Results of a function that were computed before.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace antiphase {

// For a function whose result follows from its key, Words numbers, and from nothing else. Each key has one of
// the places, and the last one that came keeps it. For one thread: make it thread_local. Nothing is
// allocated.
template <std::size_t Words, class Value, std::size_t Places> class memo {
 public:
  using key = std::array<std::uint64_t, Words>;

  // make() if the key is not the last that came to its place.
  template <class Make> const Value& get(const key& of, Make make) {
    place& at = places_[hash(of) % Places];
    if (!at.used || at.of != of) {
      at.value = make();
      at.of = of;
      at.used = true;
    }
    return at.value;
  }

 private:
  struct place {
    key of{};
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
