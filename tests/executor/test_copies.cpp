// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies on the CPU executor: when they land, and which are refused.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/copy_async.cuh>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

struct ends {
  std::uint32_t* out;
  const std::uint32_t* in;
};
struct copy_memory {
  alignas(16) std::uint32_t value[64];
  mbarrier landed;
};
constexpr std::uint32_t poisoned = 0xFFFFFFFF;

shared_executor executor_with(landing copies, unsigned seed = 1) {
  return make_cpu_executor({.seed = seed, .copies = copies, .workers = 1});
}

struct moved {  // what a kernel observes of its copy
  std::uint32_t before_wait, after_wait, overwritten;
};
template <class K> moved run(landing copies) {
  alignas(16) std::uint32_t in[64], out[64] = {};
  for (unsigned i = 0; i < 64; ++i) in[i] = 100 + i;
  launch<K>(*executor_with(copies), {out, in});
  return {out[0], out[1], out[2]};
}

// Reads without a wait, and writes to the destination while the copy is in flight.
struct thread_copy {
  using params = ends;
  using storage = copy_memory;
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    copy_async<4>(s.value, p.in + 5, 4);
    copy_async_commit();
    copy_async<4>(s.value + 1, p.in + 6, 4);
    copy_async_commit();
    copy_async_wait<1>();
    p.out[0] = s.value[1];
    s.value[1] = 7;
    copy_async_wait<0>();
    p.out[1] = s.value[0];
    p.out[2] = s.value[1];
  }
};
TEST(landing_of_copies, of_threads) {
  const moved late = run<thread_copy>(landing::late), early = run<thread_copy>(landing::early);
  EXPECT_EQ(late.before_wait, poisoned);
  EXPECT_EQ(late.after_wait, 105u);
  EXPECT_EQ(late.overwritten, 106u);
  EXPECT_EQ(early.before_wait, 106u);
  EXPECT_EQ(early.after_wait, 105u);
  EXPECT_EQ(early.overwritten, 7u);
}

struct bulk_copy_in {
  using params = ends;
  using storage = copy_memory;
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    s.landed.init(1);
    bulk_load(s.value, p.in + 8, 32, s.landed);
    s.landed.arrive(bytes{32});
    p.out[0] = s.value[1];
    s.value[0] = 7;
    s.landed.wait(0);
    p.out[1] = s.value[1];
    p.out[2] = s.value[0];
  }
};
TEST(landing_of_copies, of_bulk_loads) {
  const moved late = run<bulk_copy_in>(landing::late), early = run<bulk_copy_in>(landing::early);
  EXPECT_EQ(late.before_wait, poisoned);
  EXPECT_EQ(late.after_wait, 109u);
  EXPECT_EQ(late.overwritten, 108u);
  EXPECT_EQ(early.before_wait, 109u);
  EXPECT_EQ(early.overwritten, 7u);
}

// The source changes before the store has read it; the destination is read before it has been written.
struct bulk_copy_out {
  using params = ends;
  using storage = copy_memory;
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    for (unsigned i = 0; i < 4; ++i) s.value[i] = 50 + i;
    bulk_store(p.out + 4, s.value, 16);
    bulk_commit();
    s.value[0] = 7;
    p.out[0] = p.out[4];
    bulk_wait_read<0>();
    s.value[1] = 7;
    p.out[1] = p.out[5];
    bulk_wait<0>();
    p.out[2] = p.out[4] * 1000 + p.out[5];
  }
};
TEST(landing_of_copies, of_bulk_stores) {
  const moved late = run<bulk_copy_out>(landing::late), early = run<bulk_copy_out>(landing::early);
  EXPECT_EQ(late.before_wait, 0u);
  EXPECT_EQ(late.after_wait, 0u);      // read, not yet written
  EXPECT_EQ(late.overwritten, 7051u);  // the first word was overwritten too early, the second was not
  EXPECT_EQ(early.before_wait, 50u);
  EXPECT_EQ(early.overwritten, 50051u);
}

struct one_of_many {
  using params = ends;
  using storage = copy_memory;
  static constexpr int threads = 64;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    copy_async<4>(s.value + thread_index(), p.in + thread_index(), 4);
    p.out[thread_index()] = s.value[thread_index()] == poisoned;
    copy_async_commit();
    copy_async_wait<0>();
  }
};
TEST(landing_of_copies, mixed_are_some_of_each_and_depend_on_the_seed) {
  alignas(16) std::uint32_t in[64] = {};
  std::vector<std::vector<std::uint32_t>> seen;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    std::vector<std::uint32_t> out(64);
    launch<one_of_many>(*executor_with(landing::mixed, seed), {out.data(), in});
    const auto late = std::count(out.begin(), out.end(), 1u);
    EXPECT_GT(late, 10);
    EXPECT_LT(late, 54);
    EXPECT_THAT(seen, testing::Not(testing::Contains(out)));
    seen.push_back(out);
  }
}

TEST(landing_of_copies, is_counted) {
  alignas(16) std::uint32_t in[64] = {}, out[64];
  const launch_counts counts = launch<one_of_many>(*executor_with(landing::late), {out, in}, {3, 1, 1});
  EXPECT_EQ(counts.copies, 192u);
  EXPECT_EQ(counts.copied_bytes, 768u);
}

// Copies that every device refuses.
enum class fault {
  to_unaligned,
  from_unaligned,
  outside,
  before,
  too_much,
  negative,
  load_size,
  load_outside,
  load_unaligned,
  store_size,
  store_outside,
  store_open,
  load_open
};
template <fault F> struct refused {
  using params = ends;
  using storage = copy_memory;
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    auto* bytes_of = reinterpret_cast<unsigned char*>(s.value);
    if constexpr (F == fault::to_unaligned) copy_async<8>(s.value + 1, p.in, 8);
    if constexpr (F == fault::from_unaligned) copy_async<16>(s.value, p.in + 2, 16);
    if constexpr (F == fault::outside) copy_async<16>(bytes_of + sizeof(storage), p.in, 16);
    if constexpr (F == fault::before) copy_async<4>(s.value - 1, p.in, 4);
    if constexpr (F == fault::too_much) copy_async<4>(s.value, p.in, 5);
    if constexpr (F == fault::negative) copy_async<4>(s.value, p.in, -1);
    s.landed.init(1);
    if constexpr (F == fault::load_size) bulk_load(s.value, p.in, 24, s.landed);
    if constexpr (F == fault::load_outside) bulk_load(s.value, p.in, 1024, s.landed);
    if constexpr (F == fault::load_unaligned) bulk_load(s.value, p.in + 1, 16, s.landed);
    if constexpr (F == fault::load_open) bulk_load(s.value, p.in, 16, s.landed);
    if constexpr (F == fault::store_size) bulk_store(p.out, s.value, 20);
    if constexpr (F == fault::store_outside) bulk_store(p.out, bytes_of + sizeof(storage), 16);
    if constexpr (F == fault::store_open) bulk_store(p.out, s.value, 16);
  }
};
template <fault F> std::string why() {
  alignas(16) std::uint32_t in[256] = {}, out[64];
  return failure_of<refused<F>>(*executor_with(landing::late), {out, in});
}
TEST(refused_copies, of_threads) {
  EXPECT_THAT(why<fault::to_unaligned>(),
              HasSubstr("thread 0: the destination of an asynchronous copy is not aligned to 8 bytes"));
  EXPECT_THAT(why<fault::from_unaligned>(),
              HasSubstr("the source of an asynchronous copy is not aligned to 16 bytes"));
  const std::string size = std::to_string(sizeof(copy_memory));
  EXPECT_THAT(why<fault::outside>(),
              HasSubstr("the destination of an asynchronous copy (16 bytes) does not lie in the block's " +
                        size + " bytes"));
  EXPECT_THAT(why<fault::before>(),
              HasSubstr("(4 bytes) does not lie in the block's " + size + " bytes of shared memory"));
  EXPECT_THAT(why<fault::too_much>(),
              HasSubstr("an asynchronous copy of 4 bytes takes 5 from its source: expected 0 to 4"));
  EXPECT_THAT(why<fault::negative>(), HasSubstr("takes -1 from its source"));
}
TEST(refused_copies, of_the_copy_engine) {
  EXPECT_THAT(why<fault::load_size>(),
              HasSubstr("a bulk load of 24 bytes: its addresses and its size must be multiples of 16"));
  EXPECT_THAT(why<fault::load_unaligned>(),
              HasSubstr("a bulk load of 16 bytes: its addresses and its size must be multiples of 16"));
  EXPECT_THAT(why<fault::load_outside>(), HasSubstr("a bulk load of 1024 bytes does not lie in the block's"));
  EXPECT_THAT(why<fault::load_open>(), HasSubstr("the block ended with 1 bulk loads in flight"));
  EXPECT_THAT(why<fault::store_size>(), HasSubstr("a bulk store of 20 bytes is not a multiple of 16"));
  EXPECT_THAT(why<fault::store_outside>(),
              HasSubstr("the source of a bulk store (16 bytes) does not lie in the block's"));
  EXPECT_THAT(why<fault::store_open>(),
              HasSubstr("the thread ended before its bulk stores had read shared memory"));
}

}  // namespace
}  // namespace antiphase::test
