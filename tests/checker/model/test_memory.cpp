// SPDX-License-Identifier: Apache-2.0
// Bytes, readers and bounds.
#include <random>

#include "scene.hpp"

extern "C" void __tsan_read4(void* p);  // what the compiler calls

namespace antiphase::test {
namespace {

using enum finding_kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct two_threads : testing::Test {
  scene s;
  block_model& b = s.block();
  actor_thread t = s.thread(b, 0), other = s.thread(b, 33);
};
using Bytes = two_threads;
using Bounds = two_threads;

TEST(BytesOfAll, WidthsAndPlacesConflictIfTheyShareAByte) {
  for (const std::size_t width : {1u, 2u, 4u, 8u, 16u})
    for (const std::size_t other_width : {1u, 2u, 3u, 4u, 8u, 16u})
      for (std::size_t at = 0; at < 40; ++at) {
        constexpr std::size_t start = 17;  // nothing is aligned
        const bool shares = at < start + width && start < at + other_width;
        scene s;
        block_model& b = s.block();
        s.thread(b, 0).write(1, s.g + start, width);
        s.thread(b, 33).read(2, s.g + at, other_width);
        ASSERT_EQ(s.found(), shares ? (seen_list{{race, 1, 2}}) : seen_list{})
            << width << " and " << other_width << " at " << at;
      }
}

TEST_F(Bytes, OfASplitWordHaveWritersOfTheirOwn) {
  t.write(1, s.g + 1, 1);
  other.write(2, s.g + 2, 1);
  t.read(3, s.g + 1, 1);
  EXPECT_THAT(s.found(), IsEmpty());
  t.read(4, s.g, 4);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 4}));
}

TEST_F(Bytes, OfASplitWordAreOneAgainForAWholeWrite) {
  t.write(1, s.g + 1, 1);
  s.block_barrier(b);
  other.write(2, s.g, 4);
  EXPECT_THAT(s.found(), IsEmpty());
  t.read(3, s.g + 3, 1);
  t.read(4, s.g + 1, 1);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 3}, seen{race, 2, 4}));
}

TEST_F(Bytes, KeepTheReadersOfTheWordThatIsSplit) {
  other.read(1, s.g, 4);
  s.thread(b, 40).read(2, s.g, 4);
  s.thread(b, 7).read(3, s.g, 4);
  t.write(4, s.g + 4, 1);  // an adjacent byte
  EXPECT_THAT(s.found(), IsEmpty());
  t.write(5, s.g + 3, 1);
  s.meet({t, other, s.thread(b, 40)});
  t.write(6, s.g + 2, 1);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 1, 5}, seen{overwritten_in_use, 2, 5},
                                     seen{overwritten_in_use, 3, 5}, seen{overwritten_in_use, 3, 6}));
}

TEST_F(Bytes, AreInitialisedOneByOne) {
  t.write(1, s.shared(0) + 3, 2);
  t.read(2, s.shared(0) + 3, 2);
  EXPECT_THAT(s.found(), IsEmpty());
  t.read(3, s.shared(0) + 3, 3);
  t.read(4, s.shared(0) + 2, 2);
  EXPECT_THAT(s.found(), ElementsAre(seen{uninitialised, 0, 3}, seen{uninitialised, 0, 4}));
}

TEST(Uninitialised, IsTheSharedMemoryOfEveryNewBlockAndFreshGlobalMemory) {
  scene s;
  unsigned char* fresh = static_cast<unsigned char*>(s.m.memory.allocate(64));
  block_model& before = s.block();
  s.thread(before, 0).write(1, s.shared(0));
  s.m.end_block(before);
  block_model& next = *s.m.begin_block({9}, 64, s.shared(0), scene::shared_each);
  s.thread(next, 0).read(2, s.shared(0));
  s.thread(next, 0).read(3, fresh);
  EXPECT_THAT(s.found(), ElementsAre(seen{uninitialised, 0, 2}, seen{uninitialised, 0, 3}));
}

// readers
// -----------------------------------------------------------------------------------------------------------

// 1,024 threads read; all but one are ordered before the write.
TEST(Readers, AreAllRemembered) {
  for (const std::size_t left_out : {0u, 1u, 31u, 32u, 500u, 1022u, 1024u}) {  // the last: none
    scene s;
    block_model& b = s.block(1024);
    const std::size_t writer = left_out == 1023 ? 0 : 1023;
    for (std::size_t i = 0; i < 1024; ++i) s.thread(b, i).read(1 + static_cast<int>(i), s.g);
    knowledge_ptr arrivals;
    for (std::size_t i = 0; i < 1024; ++i)
      if (i != left_out) s.m.clocks.release(*s.thread(b, i), arrivals);
    s.m.clocks.acquire(*s.thread(b, writer), arrivals);
    s.thread(b, writer).write(2000, s.g);
    ASSERT_EQ(s.found().size(), left_out < 1024 ? 1u : 0u) << left_out;
    if (left_out == 1024) continue;
    EXPECT_EQ(s.found().front().kind, overwritten_in_use);
    // places are stored per warp
    EXPECT_EQ(s.m.findings.all().front().result.earlier->thread / 32, static_cast<int>(left_out / 32));
  }
}

TEST(Readers, AtDifferentTimesAreAllRemembered) {
  for (const std::size_t left_out : {3u, 40u, 95u, 96u}) {
    scene s;
    block_model& b = s.block(96);
    knowledge_ptr arrivals, nobody;
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < 96; ++i) {
        s.thread(b, i).read(1 + static_cast<int>(i), s.g);
        s.m.clocks.release(*s.thread(b, i), nobody = nullptr);  // starts a new epoch in its warp
      }
    for (std::size_t i = 0; i < 96; ++i)
      if (i != left_out) s.m.clocks.release(*s.thread(b, i), arrivals);
    actor_thread writer = s.thread(b, left_out == 0 ? 1 : 0);
    s.m.clocks.acquire(*writer, arrivals);
    writer.write(2000, s.g);
    EXPECT_EQ(s.found(), left_out < 96
                             ? (seen_list{{overwritten_in_use, 1 + static_cast<int>(left_out), 2000}})
                             : seen_list{});
  }
}

[[gnu::noinline]] void read_in_one_line(void* p) {
  __tsan_read4(p);
  asm volatile("");  // it returns to here
}
// Random lanes of random warps read a word in one line, in random order, through the compiler's calls, which
// have fast paths.
TEST(Readers, InAnyPatternAreAllRemembered) {
  std::mt19937 draw(1);
  const auto number = [&](std::size_t below) { return draw() % below; };
  for (int round = 0; round < 400; ++round) {
    scene s;
    s.m.memory.set(s.g, 4, checker_detail::cell_state::written);
    block_model& b = s.block(256);
    const std::uint32_t few_lanes = static_cast<std::uint32_t>(draw() & draw() & draw()) | 1u << number(32),
                        few_warps = draw() & 0xFFu;
    std::vector<std::size_t> readers;
    for (std::size_t i = 0; i < 255; ++i)
      if ((few_lanes >> i % 32 & 1) != 0 && (few_warps >> i / 32 & 1) != 0 && number(8) != 0)
        readers.push_back(i);
    if (number(2) != 0) readers.push_back(number(255));
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    std::ranges::shuffle(readers, draw);
    const std::size_t left_out = readers.empty() ? 0 : number(readers.size() + 1);  // the last index: none
    checker_detail::active = &s.m;
    for (const std::size_t i : readers) {
      s.m.set_current(&b.threads[i]);
      for (std::size_t times = number(4) == 0 ? 2 : 1; times > 0; --times) read_in_one_line(s.g);
    }
    checker_detail::active = nullptr;
    knowledge_ptr arrivals;
    for (std::size_t i = 0; i < readers.size(); ++i)
      if (i != left_out) s.m.clocks.release(*s.thread(b, readers[i]), arrivals);
    s.m.clocks.acquire(*s.thread(b, 255), arrivals);
    s.thread(b, 255).write(2000, s.g);
    ASSERT_EQ(s.m.findings.all().size(), left_out < readers.size() ? 1u : 0u) << round;
  }
}

// Many blocks read the same word and end. The table is purged repeatedly and keeps every relevant reader.
TEST(Readers, SurviveManyBlocksThatEnd) {
  // the read that is not ordered before the write: of an ended block, of none, of a live one
  for (const int matters : {-1, 0, 1}) {
    scene s;
    block_model &live = s.block(32), &writer = s.block(32);
    s.thread(live, 9).read(1, s.g);
    for (int i = 0; i < 300; ++i) {
      block_model& passing =
          *s.m.begin_block({static_cast<unsigned>(10 + i)}, 32, s.shared(5), scene::shared_each);
      actor_thread t = s.thread(passing, static_cast<std::size_t>(i % 32));
      t.read(2, s.g);
      if (matters != -1 || i != 150) t.store(3, s.g + 64, order::release, scope::device);
      if (matters != -1 || i != 150) s.thread(writer, 0).load(4, s.g + 64, order::acquire, scope::device);
      s.m.end_block(passing);
    }
    if (matters != 1) {
      s.thread(live, 9).store(5, s.g + 64, order::release, scope::device);
      s.thread(writer, 0).load(6, s.g + 64, order::acquire, scope::device);
    }
    s.thread(writer, 0).write(7, s.g);
    EXPECT_EQ(s.found(),
              matters == 0 ? seen_list{} : (seen_list{{overwritten_in_use, matters == 1 ? 1 : 2, 7}}))
        << matters;
  }
}

// One ended block without a release represents all, but an atomic reader does not represent a plain one.
TEST(Readers, OfEndedBlocksStandForTheirKindOnly) {
  scene s;
  for (int i = 0; i < 100; ++i) {
    block_model& passing =
        *s.m.begin_block({static_cast<unsigned>(10 + i)}, 32, s.shared(5), scene::shared_each);
    if (i == 50)
      s.thread(passing, 3).read(1, s.g);
    else
      s.thread(passing, 3).load(2, s.g, order::relaxed, scope::device);
    s.m.end_block(passing);
  }
  s.thread(s.block(), 0).store(3, s.g, order::relaxed, scope::device);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 1, 3}));
}

// bounds
// -----------------------------------------------------------------------------------------------------------

TEST_F(Bounds, OfSharedMemoryAreExact) {
  unsigned char *start = s.shared(0), *end = start + scene::shared_each;
  t.write(1, start, 1);
  t.write(2, end - 1, 1);
  EXPECT_THAT(s.found(), IsEmpty());
  t.write(3, end, 1);
  t.read(4, end - 3, 4);
  t.write(5, start - 1, 1);
  EXPECT_THAT(s.found(), ElementsAre(seen{outside_memory, 0, 3}, seen{outside_memory, 0, 4},
                                     seen{outside_memory, 0, 5}));
}

TEST_F(Bounds, OfAnotherBlocksSharedMemoryAreNotOurs) {
  block_model& neighbour = s.block();
  s.thread(neighbour, 0).write(1, s.shared(1));
  t.read(2, s.shared(1));
  EXPECT_THAT(s.found(), ElementsAre(seen{outside_memory, 0, 2}));
}

TEST(BoundsOfAll, GlobalAllocationsAreExact) {
  for (const std::size_t bytes : {1u, 5u, 64u, 255u, 256u}) {
    scene s;
    auto* p = static_cast<unsigned char*>(s.m.memory.allocate(bytes));
    block_model& b = s.block();
    s.thread(b, 0).write(1, p, 1);
    s.thread(b, 0).write(2, p + bytes - 1, 1);
    ASSERT_THAT(s.found(), IsEmpty()) << bytes;
    s.thread(b, 0).read(3, p - 1, 1);
    s.thread(b, 0).write(4, p + bytes, 1);
    s.thread(b, 0).read(5, p + bytes - 1, 2);
    ASSERT_THAT(s.found(), ElementsAre(seen{outside_memory, 0, 3}, seen{outside_memory, 0, 4},
                                       seen{outside_memory, 0, 5}))
        << bytes;
    EXPECT_THAT(s.m.findings.all()[1].result.memory,
                HasSubstr("0 bytes past the end of " + std::to_string(bytes)));
  }
}

TEST_F(Bounds, MemoryGivenBackIsNobodys) {
  auto* p = static_cast<unsigned char*>(s.m.memory.allocate(8));
  t.write(1, p, 8);
  s.m.memory.free(p);
  t.read(2, p + 7, 1);
  EXPECT_THAT(s.found(), ElementsAre(seen{outside_memory, 0, 2}));
  EXPECT_EQ(s.missing(), "an allocation that has not been freed");
}

TEST_F(Bounds, CopiesKeepThemToo) {
  t.write(1, s.shared(0), 16);
  t.copy(2, s.shared(0) + scene::shared_each - 8, s.g, 16);
  t.copy(3, s.shared(0) + 32, s.g + 248, 16);
  EXPECT_THAT(s.found(), ElementsAre(seen{outside_memory, 0, 2}, seen{outside_memory, 0, 3}));
}

}  // namespace
}  // namespace antiphase::test
