// SPDX-License-Identifier: Apache-2.0
// Memory of random calls, filled with guards: stray writes show.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/gemm/random_call.hpp"

namespace antiphase::gemm_test {

// A quiet NaN whose payload is its place; no kernel computes such NaNs.
inline float guard_number(std::size_t i) {
  return std::bit_cast<float>(0x7fe00000u | static_cast<std::uint32_t>(i & 0xfffffu));
}
inline bool same_number(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

// The matrices of a batch on the host and on a device; floats outside their elements are guards.
class zone {
 public:
  explicit zone(const lies_at& at) : at_(at), host_(static_cast<std::size_t>(at.size)) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = guard_number(i);
  }
  // f(member, i, j) of each element.
  template <class F> void fill(F f) {
    each([&](std::int64_t n, std::int64_t i, std::int64_t j, std::size_t place) {
      host_[place] = f(n, i, j);
    });
  }
  void upload(const context& where) { memory_.emplace(where, std::span<const float>(host_)); }
  void restore() { memory_->copy_from(host_); }
  float operator()(std::int64_t n, std::int64_t i, std::int64_t j) const { return host_[at_.place(n, i, j)]; }
  float* data(std::int64_t n = 0) { return memory_->data() + at_.origin[static_cast<std::size_t>(n)]; }
  template <class T = float> matrix_view<T> view() {
    return {data(), at_.rows, at_.columns, at_.row_stride, at_.column_stride};
  }
  std::int64_t apart() const { return at_.apart; }
  std::vector<float> now() const { return memory_->to_host(); }
  float in(const std::vector<float>& image, std::int64_t n, std::int64_t i, std::int64_t j) const {
    return image[at_.place(n, i, j)];
  }
  // The first stray write, as text; empty: none. If elements may change, also the first that is still a
  // guard.
  std::string first_stray(const std::vector<float>& now, bool elements_may_change) const {
    std::vector<bool> element(host_.size());
    std::string text;
    if (elements_may_change)
      each([&](std::int64_t n, std::int64_t i, std::int64_t j, std::size_t place) {
        element[place] = true;
        if (text.empty() && same_number(now[place], guard_number(place)))
          text = "element (" + std::to_string(i) + ", " + std::to_string(j) + ") of member " +
                 std::to_string(n) + " was not written";
      });
    for (std::size_t i = 0; i < host_.size() && text.empty(); ++i)
      if (!element[i] && !same_number(now[i], host_[i]))
        text = "float " + std::to_string(i) + " of " + std::to_string(host_.size()) +
               " was written: " + std::to_string(now[i]);
    return text;
  }
  // The first difference in bits; all NaN count as equal.
  std::string first_difference(const std::vector<float>& one, const std::vector<float>& other) const {
    for (std::size_t i = 0; i < one.size(); ++i)
      if (!same_number(one[i], other[i]) && !(std::isnan(one[i]) && std::isnan(other[i])))
        return "float " + std::to_string(i) + " is " + std::to_string(one[i]) + " first and " +
               std::to_string(other[i]) + " again";
    return {};
  }

 private:
  template <class F> void each(F f) const {
    for (std::size_t n = 0; n < at_.origin.size(); ++n)
      for (std::int64_t i = 0; i < at_.rows; ++i)
        for (std::int64_t j = 0; j < at_.columns; ++j) {
          const auto member = static_cast<std::int64_t>(n);
          f(member, i, j, at_.place(member, i, j));
        }
  }
  lies_at at_;
  std::vector<float> host_;
  std::optional<device_array<float>> memory_;
};

// Bytes between guards, initialised with a pattern.
class bytes_between {
 public:
  bytes_between(const context& where, std::size_t size) : size_(size), memory_(where, image()) {}
  std::span<std::byte> inside() { return {memory_.data() + guard, size_}; }
  bool intact() const {
    std::vector<std::byte> now = memory_.to_host();
    std::copy_n(image().begin() + guard, size_, now.begin() + guard);
    return now == image();
  }

 private:
  static constexpr std::ptrdiff_t guard = 1024;
  std::vector<std::byte> image() const {
    std::vector<std::byte> all((size_ + 255) / 256 * 256 + 2 * guard);  // which begins at a multiple of 256
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i * 37 + 0x5B);
    return all;
  }
  std::size_t size_;
  device_array<std::byte> memory_;
};

}  // namespace antiphase::gemm_test
