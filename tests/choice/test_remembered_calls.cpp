// SPDX-License-Identifier: Apache-2.0
// The memory of calls, for attention and scans: a repeated call runs its plan without being checked again; a
// call that differs in anything does not. tests/gemm/test_remembered.cpp has the same for products.
#include <gtest/gtest.h>

#include <antiphase/attention.hpp>
#include <antiphase/scan.hpp>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/executor/elsewhere.hpp"

namespace antiphase {
namespace {

// Counts questions about the device, which checking and choosing ask.
class asked_executor : public forwarding_executor {
 public:
  asked_executor() : forwarding_executor(make_cpu_executor({.workers = 1})) {}
  const device_limits& limits() const override { return ++asked, forwarding_executor::limits(); }
  mutable int asked = 0;
};
context lent(const executor& on) {
  return context(std::shared_ptr<const executor>(&on, [](auto*) {}));
}

constexpr std::int64_t heads = 4, rows = 6, depth = 8, place_floats = 1024;
constexpr int places = 16;
struct arrays {
  explicit arrays(const context& where) : floats(where, initial()) {}
  static std::vector<float> initial() {
    std::vector<float> all(places * place_floats);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    return all;
  }
  float* at(int place) { return floats.data() + place * place_floats; }
  device_array<float> floats;
};

struct attention_call {
  attention_problem problem;
  attention_gradients gradients = {};
  bool back = false;
};
attention_call forward(arrays& m) {
  const auto read = [&](int place) { return packed_heads<const float>(m.at(place), heads, rows, depth); };
  return {{.q = read(0),
           .k = read(1),
           .v = read(2),
           .out = packed_heads(m.at(3), heads, rows, depth),
           .heads = heads,
           .queries = rows,
           .keys = rows,
           .depth = depth}};
}
attention_call backward(arrays& m) {
  attention_call c = forward(m);
  const auto written = [&](int place) { return packed_heads(m.at(place), heads, rows, depth); };
  c.back = true;
  c.problem.logsumexp = m.at(4);
  c.gradients = {.out = packed_heads<const float>(m.at(5), heads, rows, depth),
                 .q = written(6),
                 .k = written(7),
                 .v = written(8)};
  return c;
}
void run(const context& where, const attention_call& c, std::string_view policy) {
  if (c.back)
    attention_backward(where, c.problem, c.gradients, {.policy = policy});
  else
    attention(where, c.problem, {.policy = policy});
}

using change = std::pair<const char*, std::function<void(attention_call&, arrays&)>>;
const change forward_changes[] = {
    {"Q", [](auto& c, auto& m) { c.problem.q.data = m.at(9); }},
    {"K", [](auto& c, auto& m) { c.problem.k.data = m.at(9); }},
    {"V", [](auto& c, auto& m) { c.problem.v.data = m.at(9); }},
    {"O", [](auto& c, auto& m) { c.problem.out.data = m.at(9); }},
    {"row stride of Q", [](auto& c, auto&) { c.problem.q.row_stride += 1; }},
    {"head stride of K", [](auto& c, auto&) { c.problem.k.head_stride += 1; }},
    {"row stride of V", [](auto& c, auto&) { c.problem.v.row_stride += 1; }},
    {"head stride of O", [](auto& c, auto&) { c.problem.out.head_stride += 8; }},
    {"members",
     [](auto& c, auto&) { c.problem.members = 2, c.problem.heads = 2, c.problem.out.member_stride = 256; }},
    {"heads of K", [](auto& c, auto&) { c.problem.kv_heads = 2; }},
    {"queries", [](auto& c, auto&) { c.problem.queries = 5; }},
    {"keys", [](auto& c, auto&) { c.problem.keys = 5; }},
    {"depth", [](auto& c, auto&) { c.problem.depth = 7; }},
    {"scale", [](auto& c, auto&) { c.problem.scale = 0.f; }},
    {"mask", [](auto& c, auto&) { c.problem.mask = causal::top_left; }},
    {"window before", [](auto& c, auto&) { c.problem.window_before = 1; }},
    {"window behind", [](auto& c, auto&) { c.problem.window_behind = 1; }},
    {"bias",
     [](auto& c, auto& m) {
       c.problem.bias = {m.at(10), 0, 0, rows, 1};
     }},
    {"bias of a head",
     [](auto& c, auto& m) {
       c.problem.bias = {m.at(10), 0, rows * rows, rows, 1};
     }},
    {"hidden pairs",
     [](auto& c, auto& m) {
       c.problem.visible = {reinterpret_cast<const unsigned char*>(m.at(11)), 0, 0, rows, 1};
     }},
    {"logsumexp", [](auto& c, auto& m) { c.problem.logsumexp = m.at(12); }},
    {"softmax", [](auto& c, auto& m) { c.problem.softmax = m.at(13); }},
};
const change backward_changes[] = {
    {"dO", [](auto& c, auto& m) { c.gradients.out.data = m.at(9); }},
    {"dQ", [](auto& c, auto& m) { c.gradients.q.data = m.at(9); }},
    {"dK", [](auto& c, auto& m) { c.gradients.k.data = m.at(9); }},
    {"dV", [](auto& c, auto& m) { c.gradients.v.data = m.at(9); }},
    {"row stride of dO", [](auto& c, auto&) { c.gradients.out.row_stride += 1; }},
    {"head stride of dQ", [](auto& c, auto&) { c.gradients.q.head_stride += 8; }},
    {"head stride of dK", [](auto& c, auto&) { c.gradients.k.head_stride += 8; }},
    {"head stride of dV", [](auto& c, auto&) { c.gradients.v.head_stride += 8; }},
    {"logsumexp", [](auto& c, auto& m) { c.problem.logsumexp = m.at(12); }},
    {"softmax", [](auto& c, auto& m) { c.problem.softmax = m.at(13); }},
    {"stride of logsumexp", [](auto& c, auto&) { c.problem.logsumexp_stride = rows + 1; }},
    {"mask", [](auto& c, auto&) { c.problem.mask = causal::bottom_right; }},
};

// All arrays after a call, each time from the same contents. A policy asked for by name is not remembered.
std::vector<float> result_of(const context& where, arrays& m, const attention_call& c,
                             std::string_view policy) {
  m.floats.copy_from(arrays::initial());
  run(where, c, policy);
  return m.floats.to_host();
}
void expect_own_results(attention_call (*base)(arrays&), std::span<const change> changes) {
  const context where = context::on("cpu");
  arrays m(where);
  const std::vector<float> of_base = result_of(where, m, base(m), "fp32");
  for (int time = 0; time < 3; ++time)
    ASSERT_EQ(result_of(where, m, base(m), "auto"), of_base) << "time " << time;
  for (const auto& [name, change_call] : changes) {
    attention_call c = base(m);
    change_call(c, m);
    const std::vector<float> right = result_of(where, m, c, "fp32");
    EXPECT_NE(right, of_base) << name << " changes nothing";
    for (int time = 0; time < 3; ++time)
      EXPECT_EQ(result_of(where, m, c, "auto"), right) << name << ", time " << time;
    EXPECT_EQ(result_of(where, m, base(m), "auto"), of_base) << "after " << name;
  }
}
TEST(remembered_attention, each_difference_makes_another_call) {
  expect_own_results(forward, forward_changes);
}
TEST(remembered_attention, each_difference_of_gradients_makes_another_call) {
  expect_own_results(backward, backward_changes);
}

// How often each of four calls asks about the device, on a thread that remembers nothing yet.
template <class Call> std::array<int, 4> questions_of(const asked_executor& on, const Call& c) {
  std::array<int, 4> asked{};
  std::thread([&] {
    for (int& one : asked) {
      on.asked = 0;
      run(lent(on), c, "auto");
      one = on.asked;
    }
  }).join();
  return asked;
}
// From the third time on only the launches ask.
TEST(remembered_attention, is_not_checked_again) {
  const asked_executor on;
  arrays m(lent(on));
  const auto [first, second, third, fourth] = questions_of(on, backward(m));
  EXPECT_EQ(second, first);
  EXPECT_LT(third, second - 4);
  EXPECT_EQ(fourth, third);
}

// Offsets of packed members may change between calls, and are checked each time where the host reads them.
TEST(remembered_attention, offsets_are_checked_each_time) {
  const context where = context::on("cpu");
  arrays m(where);
  attention_call c = forward(m);
  device_array<std::int32_t> offsets(where, std::vector<std::int32_t>{0, 2, 6});
  c.problem.members = 2;
  c.problem.lengths = {offsets.data(), offsets.data(), rows, rows};
  for (int time = 0; time < 3; ++time) attention(where, c.problem);
  offsets.copy_from(std::vector<std::int32_t>{0, 7, 6});
  EXPECT_THROW(attention(where, c.problem), bad_request);
}

// Scans
// -----------------------------------------------------------------------------------------------------------
struct scan_call {
  scan_problem problem;
  scan_keys keys = {};
  bool by_key = false;
};
void run(const context& where, const scan_call& c, std::string_view policy) {
  if (c.by_key)
    scan_by_key(where, c.problem, c.keys, {.policy = policy});
  else
    scan(where, c.problem, {.policy = policy});
}
std::vector<float> result_of(const context& where, arrays& m, const scan_call& c, std::string_view policy) {
  m.floats.copy_from(arrays::initial());
  run(where, c, policy);
  return m.floats.to_host();
}
TEST(remembered_scans, each_difference_makes_another_call) {
  const context where = context::on("cpu");
  arrays m(where);
  const scan_call base{{.in = m.at(0), .out = m.at(1), .outer = 1, .length = 600}};
  const std::pair<const char*, std::function<void(scan_call&)>> changes[] = {
      {"operation", [](scan_call& c) { c.problem.operation = scan_operation::max; }},
      {"kind", [](scan_call& c) { c.problem.kind = scan_kind::exclusive; }},
      {"start", [](scan_call& c) { c.problem.kind = scan_kind::exclusive, c.problem.initial = 3.5; }},
      {"another start", [](scan_call& c) { c.problem.kind = scan_kind::exclusive, c.problem.initial = 4.5; }},
      {"a whole start", [](scan_call& c) { c.problem.kind = scan_kind::exclusive, c.problem.initial = 4; }},
      {"direction", [](scan_call& c) { c.problem.direction = scan_direction::reverse; }},
      {"input", [&](scan_call& c) { c.problem.in = m.at(2); }},
      {"output", [&](scan_call& c) { c.problem.out = m.at(3); }},
      {"length", [](scan_call& c) { c.problem.length = 599; }},
      {"lines", [](scan_call& c) { c.problem.outer = 2, c.problem.length = 300; }},
      {"columns", [](scan_call& c) { c.problem.inner = 2, c.problem.length = 300; }},
      {"wider sums", [](scan_call& c) { c.problem.accumulate = element::f64; }},
      {"another type", [](scan_call& c) { c.problem.type = element::i32; }},
      {"keys", [&](scan_call& c) { c.by_key = true, c.keys = {.data = m.at(4)}; }},
      {"other keys", [&](scan_call& c) { c.by_key = true, c.keys = {.data = m.at(5)}; }},
      {"flags",
       [&](scan_call& c) {
         c.by_key = true, c.keys = {.data = m.at(4), .segments = scans::segments_by::head_flags};
       }},
  };
  const auto policy_of = [&](const scan_call& c) {
    return c.by_key ? explain(where, c.problem, c.keys).kernel : explain(where, c.problem).kernel;
  };
  const std::vector<float> of_base = result_of(where, m, base, policy_of(base));
  for (int time = 0; time < 3; ++time)
    ASSERT_EQ(result_of(where, m, base, "auto"), of_base) << "time " << time;
  for (const auto& [name, change_call] : changes) {
    scan_call c = base;
    change_call(c);
    const std::vector<float> right = result_of(where, m, c, policy_of(c));
    EXPECT_NE(right, of_base) << name << " changes nothing";
    for (int time = 0; time < 3; ++time)
      EXPECT_EQ(result_of(where, m, c, "auto"), right) << name << ", time " << time;
    EXPECT_EQ(result_of(where, m, base, "auto"), of_base) << "after " << name;
  }
}

TEST(remembered_scans, are_not_checked_again) {
  const asked_executor on;
  arrays m(lent(on));
  const scan_call c{{.in = m.at(0), .out = m.at(1), .outer = 1, .length = 600}};
  const auto [first, second, third, fourth] = questions_of(on, c);
  EXPECT_EQ(second, first);
  EXPECT_LT(third, second / 2);
  EXPECT_EQ(fourth, third);
}

}  // namespace
}  // namespace antiphase
