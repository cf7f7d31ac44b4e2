// SPDX-License-Identifier: Apache-2.0
// A caller's workspace: its size, its use by successive launches, and the state of its words.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <antiphase/scan/detail/single_pass.hpp>

#include "tests/executor/elsewhere.hpp"
#include "tests/scan/any_scan.hpp"

namespace antiphase::scan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class workspaces : public on_ring_device {};
AP_ON_BOTH_DEVICES(workspaces);
INSTANTIATE_TEST_SUITE_P(CudaAsync, workspaces, testing::Values("cuda async"));

// An array that is scanned repeatedly with one workspace.
template <class T> struct repeated {
  context where;
  std::vector<T> host;
  guarded<T> in, out;
  repeated(const context& on, std::int64_t length, scan_operation operation)
      : where(on),
        host(numbers<T>(length, operation)),
        in(on, host),
        out(on, std::vector<T>(host.size(), T(85))) {}
  void expect_right(scans::problem p, std::span<std::byte> workspace, std::string_view policy) {
    p.type = element_of<T>;
    p.in = in.data();
    p.out = out.data();
    if (p.outer == 1) p.length = static_cast<std::int64_t>(host.size());
    scan(where, p, {.policy = policy, .workspace = workspace});
    where.runs_on().synchronize(nullptr);
    expect_lines<T, T>(
        host, out.to_host(), p, {}, [&](std::int64_t i) { return i % p.length == 0; }, text(p, policy, {}));
  }
};

TEST(scan_workspaces, grow_with_the_problem) {
  for (int e = 0; e <= static_cast<int>(last_element); ++e) {
    std::size_t before = 0;
    for (std::int64_t n = 0; n < std::int64_t{1} << 40; n = n < 40 ? n + 1 : n * 3 / 2) {
      const std::size_t bytes = scan_workspace({.type = static_cast<element>(e), .length = n});
      EXPECT_GE(bytes, before) << name(static_cast<element>(e)) << ", " << n;
      before = bytes;
    }
    EXPECT_GT(before, 0u);
  }
  EXPECT_GE(scan_workspace({.outer = 100, .length = 1000}), scan_workspace({.outer = 99, .length = 1000}));
  EXPECT_GE(scan_workspace({.length = 100000}, {.type = element::i32}),
            scan_workspace({.length = 99999}, {.type = element::i32}));
}

TEST(scan_workspaces, are_refused_with_the_numbers) {
  const context where = context::on("cpu");
  device_array<float> array(where, 100000);
  const scans::problem p{.in = array.data(), .out = array.data(), .length = 100000};
  device_array<std::byte> memory(where, scan_workspace(p) + 16);
  const auto refusal = [&](std::span<std::byte> workspace) -> std::string {
    try {
      scan(where, p, {.workspace = workspace});
    } catch (const bad_request& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_THAT(refusal({memory.data(), 100}),
              AllOf(HasSubstr("workspace has 100 bytes"), HasSubstr("expected 512 or more")));
  EXPECT_THAT(refusal({memory.data() + 8, scan_workspace(p)}), HasSubstr("multiple of 16"));
  std::byte* const nowhere = nullptr;
  EXPECT_THAT(refusal({nowhere, scan_workspace(p)}), HasSubstr("workspace is a null pointer"));
  EXPECT_THROW(initialise_scan_workspace(where, {nowhere, 4096}), bad_request);
  EXPECT_THAT(refusal({reinterpret_cast<std::byte*>(array.data() + 4), scan_workspace(p)}),
              HasSubstr("overlaps in"));
  initialise_scan_workspace(where, {memory.data(), memory.size()});
  EXPECT_EQ(refusal({memory.data(), memory.size()}), "");
}

// Several passes borrow stream-ordered memory: no allocation, no synchronisation.
TEST(scan_workspaces, are_borrowed_by_several_passes) {
  std::vector<float> line(5000, 1.0f);
  const auto runs = std::make_shared<test::written_down>();
  scan(context(runs), {.in = line.data(), .out = line.data(), .length = 5000}, {.policy = "items"});
  EXPECT_THAT(runs->calls(), testing::ElementsAre("borrow 256", "scan.items.totals", "scan.items",
                                                  "scan.items", "give back"));
  EXPECT_EQ(line[4999], 5000.0f);
}
TEST(scan_workspaces, are_not_needed_by_one_tile) {
  std::vector<float> line(50, 1.0f);
  const auto runs = std::make_shared<test::written_down>();
  scan(context(runs), {.in = line.data(), .out = line.data(), .length = 50}, {.policy = "items"});
  EXPECT_THAT(runs->calls(), testing::ElementsAre("scan.items"));
}
TEST(scan_workspaces, belong_to_the_stream_where_they_keep_state) {
  std::vector<float> line(9000, 1.0f);
  for (const char* policy : {"single-pass", "one-wave"}) {
    const auto runs = std::make_shared<test::written_down>();
    scan(context(runs), {.in = line.data(), .out = line.data(), .length = 9000}, {.policy = policy});
    EXPECT_THAT(runs->calls(), testing::ElementsAre("scratch", std::string("scan.") + policy));
  }
}
TEST(scan_workspaces, go_back_when_a_launch_fails) {
  std::vector<float> line(5000, 1.0f);
  const auto runs = std::make_shared<test::written_down>(1);
  EXPECT_THROW(
      scan(context(runs), {.in = line.data(), .out = line.data(), .length = 5000}, {.policy = "items"}),
      device_error);
  EXPECT_THAT(runs->calls(), testing::ElementsAre("borrow 256", "scan.items.totals", "give back"));
}

// Types, sizes, lines and policies in turn; several passes write where single-pass does not read.
TEST_P(workspaces, serve_launches_of_all_kinds) {
  const context where = any();
  const std::int64_t most = (is_cuda() ? 300 : 3) * ring_tile<float>;
  device_array<std::byte> memory(where, scan_workspace({.type = element::f64, .length = most}) * 2);
  const std::span<std::byte> all(memory.data(), memory.size());
  initialise_scan_workspace(where, all);
  repeated<float> floats(where, most - 5, scan_operation::sum);
  repeated<double> doubles(where, most / 3, scan_operation::min);
  repeated<std::uint8_t> bytes(where, ring_tile<std::uint8_t> + 9, scan_operation::max);
  repeated<std::int64_t> rows(where, 50 * 77, scan_operation::sum);
  for (int round = 0; round < (is_cuda() ? 300 : 3); ++round) {
    floats.expect_right({}, all, policy());
    if (is_cuda() && round % 50 != 0) continue;  // the host's sums take longer than the scans
    doubles.expect_right({.operation = scan_operation::min}, all, policy());
    bytes.expect_right({.operation = scan_operation::max, .kind = scan_kind::exclusive}, all, "auto");
    floats.expect_right({.direction = scan_direction::reverse}, all, "items");
    rows.expect_right({.outer = 50, .length = 77}, all, policy());
  }
}

// 10,000 launches without waiting; the last result is checked.
TEST_P(workspaces, need_no_care_between_launches) {
  const context where = any();
  const std::vector<std::int32_t> host =
      numbers<std::int32_t>(2 * ring_tile<float> + 77, scan_operation::sum);
  const scans::problem most{.type = element::i32, .length = static_cast<std::int64_t>(host.size())};
  device_array<std::byte> memory(where, scan_workspace(most));
  const std::span<std::byte> all(memory.data(), memory.size());
  initialise_scan_workspace(where, all);
  device_array<std::int32_t> in(where, host), out(where, host.size());
  const int launches = is_cuda() ? 10000 : 12;
  for (int i = 0; i < launches; ++i) {
    scans::problem p = most;
    p.in = in.data();
    p.out = out.data();
    p.length -= (launches - 1 - i) * 97 % p.length;
    p.direction = directions[i % 2];
    p.kind = kinds[i / 2 % 2];
    if (i == launches - 1) p.direction = scan_direction::forward, p.kind = scan_kind::inclusive;
    scan(where, p, {.policy = policy(), .workspace = all});
  }
  const auto result = out.to_host();
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    sum += static_cast<std::uint32_t>(host[i]);
    ASSERT_EQ(static_cast<std::uint32_t>(result[i]), sum) << i;
  }
}

// The single-pass words of a workspace.
class words_of {
 public:
  words_of(const context& where, std::size_t words)
      : memory_(where, std::vector<std::uint64_t>(2 * words, 0)), words_(words) {}
  std::span<std::byte> bytes() { return {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * 8}; }
  std::vector<std::uint64_t> now() const {
    auto all = memory_.to_host();
    all.resize(words_);
    return all;
  }
  void set(std::size_t word, std::uint64_t value) {
    auto all = memory_.to_host();
    all[word] = value;
    memory_.copy_from(all);
  }

 private:
  device_array<std::uint64_t> memory_;
  std::size_t words_;
};

// A tag is the launch's number modulo 2^32 - 1, plus one: none is 0, and around the wrap each differs from
// those before.
TEST_P(workspaces, tags_come_around) {
  const context where = any();
  words_of words(where, 64);
  words.set(scans::epoch_word, 0xFFFFFFFDu);
  repeated<float> floats(where, 5 * ring_tile<float> + 3, scan_operation::sum);
  repeated<std::uint64_t> wide(where, 3 * ring_tile<std::uint64_t> + 1, scan_operation::sum);
  for (int i = 0; i < 3; ++i) {
    floats.expect_right({}, words.bytes(), policy());
    wide.expect_right({.kind = scan_kind::exclusive}, words.bytes(), policy());
    for (std::size_t t = 0; t < 4; ++t) EXPECT_NE(words.now()[scans::control_words + t] >> 32, 0u);
  }
  EXPECT_EQ(words.now()[scans::epoch_word], 0xFFFFFFFDu + 6ull);
  EXPECT_EQ(words.now()[scans::ticket_word], 0u);
}

// Before a tag recurs, every word that launches have not rewritten has been cleared: one word per launch.
TEST_P(workspaces, forget_the_totals_of_old_launches) {
  const context where = any();
  constexpr std::size_t words = 64, states = words - scans::control_words;
  words_of memory(where, words);
  repeated<float> large(where, 30 * ring_tile<float>, scan_operation::sum);
  large.expect_right({}, memory.bytes(), policy());
  for (std::size_t t = 0; t < 30; ++t) EXPECT_NE(memory.now()[scans::control_words + t], 0u);
  repeated<float> small(where, 10, scan_operation::sum);
  for (std::size_t i = 0; i < states; ++i) small.expect_right({}, memory.bytes(), policy());
  for (std::size_t t = 1; t < states; ++t) EXPECT_EQ(memory.now()[scans::control_words + t], 0u) << t;
}

// Remains of a launch that was stopped half way: drawn tiles, totals of its epoch, the epoch not counted.
TEST_P(workspaces, of_a_broken_launch_are_initialised_again) {
  const context where = any();
  words_of memory(where, 64);
  repeated<float> floats(where, 4 * ring_tile<float> + 1, scan_operation::sum);
  floats.expect_right({}, memory.bytes(), policy());
  memory.set(scans::ticket_word, 2);
  memory.set(scans::control_words, std::uint64_t{2} << 32 | 12345);  // a total of the epoch to come
  initialise_scan_workspace(where, memory.bytes());
  for (const std::uint64_t word : memory.now()) EXPECT_EQ(word, 0u);
  floats.expect_right({}, memory.bytes(), policy());
  floats.expect_right({.direction = scan_direction::reverse}, memory.bytes(), policy());
}

}  // namespace
}  // namespace antiphase::scan_test
