// SPDX-License-Identifier: Apache-2.0
// Every step of the ladder with many block sizes, for composite types and non-commutative operators.
#include "tests/scan/kernels.hpp"
#include "tests/scan/support.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {

// One list per target.
namespace cpu {
std::vector<test_kernels> kernels();
}
namespace cuda {
std::vector<test_kernels> kernels();
}

namespace {

template <class T> T initial_of();
template <> brackets initial_of() { return {3, 2}; }
template <> nullable initial_of() { return {1, 2, 1}; }
template <> matrix initial_of() { return {1, 2, 3, 4}; }

enum class scope { tiles, lines };

struct experiment {
  scope what;
  scans::lines over;
  scan_kind kind;
  std::size_t in_offset = 0, out_offset = 0;
  bool in_place = false;
  unsigned most_blocks = 0;
};

template <class T, class Op>
void expect_right(const context& where, const test_kernels& k, const experiment& e) {
  const auto count = static_cast<std::size_t>(e.over.outer * e.over.length * e.over.inner);
  std::vector<T> host;
  for (std::size_t i = 0; i < count; ++i) host.push_back(element_at<T>(static_cast<std::int64_t>(i)));
  guarded<T> in(where, host, e.in_offset), apart(where, host, e.out_offset);
  guarded<T>& out = e.in_place ? in : apart;
  const scans::arguments<T> all{.in = in.data(),
                                .out = out.data(),
                                .totals = nullptr,
                                .over = e.over,
                                .kind = e.kind,
                                .initial = initial_of<T>()};
  if (e.what == scope::tiles)
    run_tiles(where, k.kernels, all);
  else
    run(where, k.kernels, all, e.most_blocks);
  const auto expected =
      expected_scan(host, e.over, e.kind, initial_of<T>(), Op{}, e.what == scope::tiles ? k.kernels.tile : 0);
  EXPECT_TRUE(out.to_host() == expected)
      << k.step << ", " << k.policy.threads << " threads, " << sizeof(T) << " bytes, "
      << testing::PrintToString(e.over) << (e.kind == scan_kind::exclusive ? ", exclusive" : ", inclusive")
      << (e.what == scope::tiles ? ", tiles" : ", lines") << (e.in_place ? ", in place" : "") << ", offsets "
      << e.in_offset << " and " << e.out_offset;
  if (!e.in_place) {
    EXPECT_TRUE(in.to_host() == host) << "the input was written";
  }
}

void expect_right(const context& where, const test_kernels& k, const experiment& e) {
  switch (k.type) {
    case carried::brackets: return expect_right<brackets, concatenated>(where, k, e);
    case carried::nullable: return expect_right<nullable, last_present>(where, k, e);
    case carried::matrix: return expect_right<matrix, times>(where, k, e);
    case carried::affine: FAIL() << "its operator carries a value";
    case carried::triangle:
    case carried::step64: FAIL() << "it has no kernels here";
  }
}

class blocks : public on_device {
 protected:
  std::vector<test_kernels> kernels_of_step(std::string_view step) const {
#if ANTIPHASE_HAS_CUDA
    std::vector<test_kernels> all = is_cuda() ? cuda::kernels() : cpu::kernels();
#else
    std::vector<test_kernels> all = cpu::kernels();
#endif
    std::erase_if(all, [&](const test_kernels& k) { return k.step != step; });
    EXPECT_GE(all.size(), 22u);
    return all;
  }

  // Lengths around the edges of tiles and of powers of two; kinds and directions alternate.
  void expect_all_sizes_right(const char* step) {
    const auto contexts = several();
    int turn = 0;
    for (const test_kernels& k : kernels_of_step(step)) {
      const std::int64_t tile = k.kernels.tile;
      for (std::int64_t length : {std::int64_t{1}, std::int64_t{2}, tile / 2 + 1, tile - 1, tile, tile + 1,
                                  2 * tile + 1, 3 * tile + 5}) {
        if (length < 1) continue;
        ++turn;
        const scan_kind kind = turn % 2 == 0 ? scan_kind::exclusive : scan_kind::inclusive;
        const scan_direction direction = turn % 3 == 0 ? scan_direction::reverse : scan_direction::forward;
        const context& where = contexts[static_cast<std::size_t>(turn) % contexts.size()];
        expect_right(where, k,
                     {.what = scope::tiles,
                      .over = {1, length, 1, direction},
                      .kind = kind,
                      .in_place = turn % 5 == 0});
        if (tile == 1) continue;
        expect_right(where, k,
                     {.what = scope::lines,
                      .over = {1, length, 1, direction},
                      .kind = kind,
                      .in_place = turn % 7 == 0});
        if (HasFailure()) return;
      }
    }
  }
};

TEST_P(blocks, two_barriers) { expect_all_sizes_right("two-barriers"); }
TEST_P(blocks, double_buffer) { expect_all_sizes_right("double-buffer"); }
TEST_P(blocks, warp_shuffle) { expect_all_sizes_right("warp-shuffle"); }
TEST_P(blocks, items) { expect_all_sizes_right("items"); }

// All kinds and directions, along every axis, misaligned and in place, for the block sizes that are large
// enough to be quick.
TEST_P(blocks, axes_offsets_and_directions) {
  for (const char* step : {"two-barriers", "double-buffer", "warp-shuffle", "items"})
    for (const test_kernels& k : kernels_of_step(step)) {
      if (k.policy.threads < 32 || k.policy.threads > 100) continue;
      const std::int64_t tile = k.kernels.tile;
      for (scan_kind kind : {scan_kind::inclusive, scan_kind::exclusive})
        for (scan_direction direction : {scan_direction::forward, scan_direction::reverse}) {
          const context where = any();
          expect_right(where, k,
                       {.what = scope::lines,
                        .over = {3, tile + 2, 1, direction},
                        .kind = kind,
                        .in_offset = 1,
                        .out_offset = 3});
          expect_right(where, k,
                       {.what = scope::lines,
                        .over = {2, tile + 3, 5, direction},
                        .kind = kind,
                        .in_offset = 2,
                        .in_place = true});
          expect_right(
              where, k,
              {.what = scope::tiles, .over = {2, 2 * tile + 1, 3, direction}, .kind = kind, .out_offset = 1});
          expect_right(where, k,
                       {.what = scope::lines,
                        .over = {40, 3, 7, direction},
                        .kind = kind,
                        .in_offset = 5,
                        .out_offset = 4});
          ASSERT_FALSE(HasFailure());
        }
    }
}

// Three levels of totals, and blocks that take several tiles each.
TEST_P(blocks, many_levels_and_few_blocks) {
  for (const char* step : {"two-barriers", "double-buffer", "warp-shuffle", "items"})
    for (const test_kernels& k : kernels_of_step(step)) {
      if (k.kernels.tile < 2 || k.kernels.tile > 12) continue;
      const std::int64_t tile = k.kernels.tile;
      for (std::int64_t length :
           {tile * tile, tile * tile + 1, tile * tile * tile - 1, tile * tile * tile + 2})
        for (unsigned most_blocks : {0u, 3u})
          expect_right(any(), k,
                       {.what = scope::lines,
                        .over = {1, length, 1},
                        .kind = scan_kind::inclusive,
                        .most_blocks = most_blocks});
      expect_right(any(), k,
                   {.what = scope::lines,
                    .over = {2, 500, 3, scan_direction::reverse},
                    .kind = scan_kind::exclusive,
                    .in_place = true,
                    .most_blocks = 7});
      ASSERT_FALSE(HasFailure());
    }
}

TEST_P(blocks, an_array_without_elements_launches_nothing) {
  for (const scans::lines over : {scans::lines{1, 0, 1}, scans::lines{0, 5, 1}, scans::lines{3, 5, 0}})
    for (const test_kernels& k : kernels_of_step("items"))
      EXPECT_TRUE(scans::passes(k.kernels,
                                scans::arguments<brackets>{
                                    nullptr, nullptr, nullptr, over, scan_kind::inclusive, {0, 0}},
                                nullptr)
                      .empty());
}

AP_ON_BOTH_DEVICES(blocks);

}  // namespace
}  // namespace antiphase::scan_test
