// SPDX-License-Identifier: Apache-2.0
// Calls of attention whose data depend on their place, an FP64 reference, and bounds of the errors.
#pragma once
#include <antiphase/attention.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace antiphase::attention_test {

constexpr double unit = 0x1p-24;  // half a unit in the last place of 1
constexpr float infinite = std::numeric_limits<float>::infinity();

// A number in (-2, 2) that depends on the seed and all bits of the place.
inline float number_at(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = (seed * 0x9E3779B97F4A7C15ull + place + 1) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 29) * 0x94D049BB133111EBull;
  x ^= x >> 32;
  return static_cast<float>(static_cast<double>(x >> 11) * 0x1p-51 - 2);
}
// A quiet NaN whose payload is its place; no kernel computes such NaNs.
inline float guard_number(std::size_t i) {
  return std::bit_cast<float>(0x7fe00000u | static_cast<std::uint32_t>(i & 0xfffffu));
}
inline bool same_bits(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

// Which bound of docs/use/accuracy.md#attention holds.
enum class arithmetic { fp32, fp16 };

struct shape {
  std::int64_t members = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, depth = 1;
  causal mask = causal::no;
  std::int64_t before = -1, behind = -1;
  std::optional<float> scale = {};
  bool bias = false, visible = false;
  bool rows_first = false;   // [member][row][head][depth] instead of [member][head][row][depth]
  std::int64_t padding = 0;  // floats after each row
  std::int64_t offset = 0;   // floats before the first, after an address that is a multiple of 256 bytes
  std::int64_t spare = 0;    // floats of logsumexp after those of a head
  std::vector<std::int32_t> query_lengths = {}, key_lengths = {};  // of packed members

  bool packed() const { return !query_lengths.empty(); }
  std::int64_t queries_of(std::int64_t b) const {
    return packed() ? query_lengths[static_cast<std::size_t>(b)] : queries;
  }
  std::int64_t keys_of(std::int64_t b) const {
    return packed() ? key_lengths[static_cast<std::size_t>(b)] : keys;
  }
  float scale_used() const {
    return scale.value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(depth))));
  }
};
std::string text(const shape& s);

// The rows of one operand on the host and on the device; what is not an element is a guard.
class rows {
 public:
  rows(const shape& s, bool of_keys);
  std::size_t place(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return static_cast<std::size_t>(origin_ + b * member_ + h * head_ +
                                    (first_[static_cast<std::size_t>(b)] + i) * row_ + c);
  }
  float& operator()(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
    return host_[place(b, h, i, c)];
  }
  float operator()(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return host_[place(b, h, i, c)];
  }
  void each(
      const std::function<void(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c)>& f) const;
  void fill(std::uint64_t seed, float by = 1);
  void upload(const context& where) { memory_.emplace(where, std::span<const float>(host_)); }
  void download() { host_ = memory_->to_host(); }
  template <class T> attentions::heads<T> view() { return {memory_->data() + origin_, member_, head_, row_}; }
  // The first float that is not as it must be after a call that writes all elements; empty: none.
  std::string stray() const;

 private:
  std::int64_t members_, heads_, depth_, origin_, member_, head_, row_;
  std::vector<std::int64_t> first_, count_;
  std::vector<float> host_;
  std::optional<device_array<float>> memory_;
};

// A call: operands, results, and the reference.
struct call {
  shape of;
  rows q, k, v, out, d_out, d_q, d_k, d_v;
  std::vector<float> bias;                // [member][head][query][key]
  std::vector<unsigned char> visible;     // [head][query][key], one for all members
  std::vector<float> logsumexp, softmax;  // results; logsumexp without spare floats
  std::vector<float> d_bias;              // the same of `bias`; empty: it is not asked for

  explicit call(const shape& s, std::uint64_t seed = 1);
  std::size_t pair(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(((b * of.heads + h) * of.queries + i) * of.keys + j);
  }
  std::size_t stored(std::int64_t b, std::int64_t h, std::int64_t i) const;
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  // Run and leave the results in the members. The gradients need a forward call before.
  void forward(const context& where, const attention_options& options = {});
  void backward(const context& where, const attention_options& options = {}, bool from_logsumexp = false);
  // The problem on the device, from the last forward().
  const attention_problem& problem() const { return problem_; }
  attention_gradients gradients() {
    return {d_out.view<const float>(), d_q.view<float>(), d_k.view<float>(), d_v.view<float>(),
            d_bias.empty() ? attentions::written_pairs{}
                           : attentions::written_pairs{on_d_bias_->data(), of.heads * of.queries * of.keys,
                                                       of.queries * of.keys, of.keys, 1}};
  }

  // The first result that is wrong or beyond its bound; empty: none. `worst`, if given, receives the largest
  // error as a part of its bound.
  std::string wrong_forward(arithmetic by = arithmetic::fp32, double* worst = nullptr) const;
  std::string wrong_backward(arithmetic by = arithmetic::fp32, double* worst = nullptr) const;

 private:
  struct weights;
  void take_logsumexp();
  weights weights_of(std::int64_t b, std::int64_t h, std::int64_t i, arithmetic by) const;
  std::optional<device_array<float>> on_bias_, on_d_bias_, on_logsumexp_, on_softmax_;
  std::optional<device_array<unsigned char>> on_visible_;
  std::optional<device_array<std::int32_t>> on_query_offsets_, on_key_offsets_;
  attention_problem problem_;
  std::string spare_;  // that is not infinite; empty: none
};

}  // namespace antiphase::attention_test
