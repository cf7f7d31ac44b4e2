// SPDX-License-Identifier: Apache-2.0
// Cases of attention, by every policy and step of its ladder, and of its gradients.
#include <antiphase/attention.hpp>
#include <antiphase/attention/ladder.hpp>
#include <cmath>
#include <cstring>

#include "checker/cases/cases.hpp"
#include "library/attention/fp16/depths.hpp"

namespace antiphase::checker_detail {
namespace {

// 4 heads that share 2 of K: queries more than a tile, keys more than two, both with a rest. Rows are
// `padding` floats apart, so that those of 0 are copied by 16 bytes and those of 1 by 4.
struct attended {
  static constexpr std::int64_t heads = 2, kv_heads = 1;
  std::int64_t queries, keys, depth, padding = 0;
  causal mask = causal::bottom_right;
  bool biased = false;
  std::vector<std::int32_t> query_offsets = {}, key_offsets = {};  // of two packed members
  bool hidden_only = false;                                        // `biased` without a bias
  bool uneven = false;  // V has a column so small that its gradients are computed in FP32
};

struct operand {
  std::int64_t rows, width;
  std::vector<float> host;

  operand(std::int64_t count, std::int64_t of_rows, const attended& a, std::uint64_t seed)
      : rows(of_rows), width(a.depth + a.padding), host(static_cast<std::size_t>(count * rows * width)) {
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = real(seed, i);
  }
  double operator()(std::int64_t h, std::int64_t i, std::int64_t c) const {
    return static_cast<double>(host[static_cast<std::size_t>((h * rows + i) * width + c)]);
  }
  template <class T> attentions::heads<T> view(T* data) const { return {data, 0, rows * width, width}; }
};

class attention_program {
 public:
  attention_program(const context& where, const attended& of)
      : where_(where),
        attended_(of),
        q_(attended::heads, of.queries, of, 1),
        k_(attended::kv_heads, of.keys, of, 2),
        v_(attended::kv_heads, of.keys, of, 3),
        out_(attended::heads, of.queries, of, 4),
        gradient_(attended::heads, of.queries, of, 5) {
    for (std::size_t i = 0; of.uneven && i < v_.host.size(); i += static_cast<std::size_t>(v_.width))
      v_.host[i] *= 0x1p-20f;
  }

  // `gradients`: computes them too, of which dV is checked.
  void run(const char* policy, bool gradients) {
    const auto copied = [&](const auto& host) {
      return device_array<typename std::decay_t<decltype(host)>::value_type>(where_, host);
    };
    const std::size_t pairs = static_cast<std::size_t>(attended_.queries * attended_.keys);
    std::vector<float> bias(pairs);
    std::vector<unsigned char> visible(pairs);
    for (std::size_t n = 0; n < pairs; ++n) bias[n] = real(6, n), visible[n] = random_bits(7, n) % 5 != 0;
    auto q = copied(q_.host), k = copied(k_.host), v = copied(v_.host), out = copied(out_.host),
         on_bias = copied(bias);
    auto gradient = copied(gradient_.host), d_q = copied(q_.host), d_k = copied(k_.host),
         d_v = copied(v_.host);
    auto on_visible = copied(visible);
    auto of_queries = copied(attended_.query_offsets), of_keys = copied(attended_.key_offsets);
    device_array<float> softmax(where_, static_cast<std::size_t>(2 * attended::heads * attended_.queries)),
        logsumexp(where_, softmax.size() / 2);
    attention_problem p{.q = q_.view<const float>(q.data()),
                        .k = k_.view<const float>(k.data()),
                        .v = v_.view<const float>(v.data()),
                        .out = out_.view(out.data()),
                        .heads = attended::heads,
                        .kv_heads = attended::kv_heads,
                        .queries = attended_.queries,
                        .keys = attended_.keys,
                        .depth = attended_.depth,
                        .mask = attended_.mask,
                        .logsumexp = logsumexp.data(),
                        .softmax = softmax.data()};
    if (attended_.biased) {
      if (!attended_.hidden_only) p.bias = {on_bias.data(), 0, 0, attended_.keys, 1};
      p.visible = {on_visible.data(), 0, 0, attended_.keys, 1};
    }
    if (packed()) {
      p.members = 2;
      p.lengths = {of_queries.data(), of_keys.data(), attended_.queries, attended_.keys};
    }
    attention(where_, p, {.policy = policy});
    if (attended_.biased) p.softmax = nullptr;  // gradients make it from logsumexp
    if (gradients)
      attention_backward(where_, p,
                         {.out = gradient_.view<const float>(gradient.data()),
                          .q = q_.view(d_q.data()),
                          .k = k_.view(d_k.data()),
                          .v = v_.view(d_v.data())},
                         {.policy = policy});
    where_.runs_on().synchronize(nullptr);
    require_right(policy, out.to_host(), gradients ? d_v.to_host() : std::vector<float>(), bias, visible);
  }

 private:
  bool packed() const { return !attended_.query_offsets.empty(); }
  // Of the row that a query or key has in all: its member, and its index there.
  static std::pair<std::size_t, std::int64_t> place(const std::vector<std::int32_t>& offsets,
                                                    std::int64_t row) {
    if (offsets.empty()) return {0, row};
    const std::size_t member = row >= offsets[1] ? 1 : 0;
    return {member, row - offsets[member]};
  }
  std::int64_t length(const std::vector<std::int32_t>& offsets, std::size_t member, std::int64_t all) const {
    return offsets.empty() ? all : offsets[member + 1] - offsets[member];
  }
  bool sees(std::int64_t row, std::int64_t key, const std::vector<unsigned char>& visible) const {
    const auto [member, i] = place(attended_.query_offsets, row);
    const auto [of_key, j] = place(attended_.key_offsets, key);
    if (member != of_key) return false;
    const std::int64_t diagonal = i + length(attended_.key_offsets, member, attended_.keys) -
                                  length(attended_.query_offsets, member, attended_.queries);
    if (attended_.mask != causal::no && j > diagonal) return false;
    return !attended_.biased || visible[static_cast<std::size_t>(i * attended_.keys + j)] != 0;
  }
  void require_right(const char* policy, const std::vector<float>& out, const std::vector<float>& d_v,
                     const std::vector<float>& bias, const std::vector<unsigned char>& visible) const {
    const auto keys = static_cast<std::size_t>(attended_.keys);
    std::vector<double> of_values(static_cast<std::size_t>(attended_.keys * attended_.depth));
    for (std::int64_t h = 0; h < attended::heads; ++h)
      for (std::int64_t i = 0; i < attended_.queries; ++i) {
        std::vector<double> p(keys);
        double sum = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          const auto key = static_cast<std::int64_t>(j);
          if (!sees(i, key, visible)) continue;
          double t = 0;
          for (std::int64_t c = 0; c < attended_.depth; ++c) t += q_(h, i, c) * k_(0, key, c);
          t /= std::sqrt(static_cast<double>(attended_.depth));
          if (attended_.biased && !attended_.hidden_only)
            t += static_cast<double>(bias[static_cast<std::size_t>(i) * keys + j]);
          sum += p[j] = std::exp(t);
        }
        for (std::int64_t c = 0; c < attended_.depth; ++c) {
          double o = 0;
          for (std::size_t j = 0; j < keys && sum > 0; ++j) {
            o += p[j] / sum * v_(0, static_cast<std::int64_t>(j), c);
            of_values[j * static_cast<std::size_t>(attended_.depth) + static_cast<std::size_t>(c)] +=
                p[j] / sum * gradient_(h, i, c);
          }
          const std::size_t at = static_cast<std::size_t>((h * attended_.queries + i) * out_.width + c);
          require_near(fmt::format("{}, out", policy), at, out[at], o);
        }
      }
    for (std::size_t j = 0; j < keys && !d_v.empty(); ++j)
      for (std::int64_t c = 0; c < attended_.depth; ++c) {
        const std::size_t at = j * static_cast<std::size_t>(v_.width) + static_cast<std::size_t>(c);
        require_near(fmt::format("{}, dV", policy), at, d_v[at],
                     of_values[j * static_cast<std::size_t>(attended_.depth) + static_cast<std::size_t>(c)]);
      }
  }
  static void require_near(const std::string& what, std::size_t at, float found, double expected) {
    if (!(std::abs(static_cast<double>(found) - expected) <= 1e-5 * (1 + std::abs(expected))))
      throw std::runtime_error(fmt::format("{}: element {} is {}, expected {}", what, at, found, expected));
  }

  const context& where_;
  attended attended_;
  operand q_, k_, v_, out_, gradient_;
};

// Of every padded depth, with both widths of copies; a bias, hidden keys, packed members.
void run_all(const context& where, const char* policy, const std::vector<attended>& all,
             bool gradients = false) {
  for (const attended& a : all) attention_program(where, a).run(policy, gradients);
}
const std::vector<attended> of_fp32{{70, 75, 20, 1},
                                    {20, 70, 64, 0, causal::no, true},
                                    {9, 40, 100, 0, causal::bottom_right, false, {0, 6, 9}, {0, 3, 40}},
                                    {10, 35, 130, 3}};
const std::vector<attended> of_tensor_cores = [] {
  std::vector<attended> all{{130, 150, 40, 1}, {10, 70, 24}, {10, 70, 88}};  // fewer columns than the depth
  for (const auto& row : attentions::fp16::depths)
    all.push_back({20, 140, row.depth - 8, 0, causal::no, false, {0, 17, 20}, {0, 3, 140}});
  return all;
}();
const std::vector<attended> biased = [] {
  std::vector<attended> all{{70, 130, 64, 0, causal::no, true},
                            {10, 130, 24, 0, causal::no, true, {}, {}, true}};
  for (const auto& row : attentions::fp16::depths) {
    all.push_back({10, 70, row.depth - 8, 0, causal::bottom_right, true});
    all.push_back({10, 70, row.depth - 8, 0, causal::no, true, {}, {}, true});
  }
  return all;
}();

// One tile of keys and several, of both column counts.
const std::vector<attended> short_gradients{
    {70, 50, 40, 1},
    {130, 150, 64},
    {20, 70, 24, 0, causal::no, false, {0, 17, 20}, {0, 3, 70}},
    {70, 40, 20, 0, causal::no, true},
    {20, 70, 56, 0, causal::no, true, {}, {}, true},
    {5, 6, 8, 0, causal::no, false, {}, {}, false, true},
    {3, 66, 8, 0, causal::no, false, {}, {}, false, true},
};

// Columns for several warps, and warpgroups.
const std::vector<attended> deep{{40, 70, 200, 1}, {10, 20, 256, 0, causal::no, true}};

}  // namespace

std::vector<checked_case> attention_cases() {
  std::vector<checked_case> cases;
  for (const attentions::step& s : attentions::steps) {
    const bool tensor_cores = s.method == attentions::method::roles;
    cases.push_back({fmt::format("attention/{}", s.name), s.adds, [&s, tensor_cores](const context& where) {
                       run_all(where, s.name, tensor_cores ? of_tensor_cores : of_fp32);
                     }});
  }
  cases.push_back({"attention/biased", "antiphase with a bias and hidden keys",
                   [](const context& where) { run_all(where, "fp16", biased); }});
  cases.push_back(
      {"attention/short", "short sequences on Tensor Cores in one kernel", [](const context& where) {
         run_all(where, "fp16-short", of_tensor_cores);
         run_all(where, "fp16-short", biased);
         run_all(where, "fp16-short", deep);
       }});
  cases.push_back({"attention/gradients", "dQ, dK and dV by FP32 multiply-adds",
                   [](const context& where) { run_all(where, "fp32", of_fp32, true); }});
  cases.push_back({"attention/short-gradients", "dQ, dK and dV of short sequences in one kernel",
                   [](const context& where) { run_all(where, "fp16-short", short_gradients, true); }});
  cases.push_back({"attention/gradients-fp16", "dQ, dK and dV on Tensor Cores", [](const context& where) {
                     run_all(where, "fp16", of_tensor_cores, true);
                     run_all(where, "fp16", biased, true);
                   }});
  return cases;
}

}  // namespace antiphase::checker_detail
