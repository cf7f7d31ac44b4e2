// SPDX-License-Identifier: Apache-2.0
// The parts of the model, each by itself.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "checker/findings/finding_list.hpp"
#include "checker/memory/lockstep.hpp"
#include "checker/order/launch_order.hpp"
#include "checker/order/missing.hpp"
#include "checker/order/place_table.hpp"
#include "checker/order/places.hpp"

namespace antiphase::checker_detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

stream stream_number(std::uintptr_t n) { return reinterpret_cast<stream>(n); }  // NOLINT: never followed

// launches
// -----------------------------------------------------------------------------------------------------------

struct LaunchOrder : testing::Test {
  launch_order order;
  // One of four blocks; `first` is the first one's number.
  void launch(block_number first, stream on) {
    order.begin(on, first, overlap::no);
    order.end(first + 4);
  }
};

TEST_F(LaunchOrder, OfTwoStreamsAreNotOrdered) {
  launch(1, stream_number(8));
  order.begin(stream_number(16), 5, overlap::no);
  EXPECT_FALSE(order.ordered(1));
  EXPECT_FALSE(order.ordered(4));
  EXPECT_EQ(order.first_visible(), 1u);
}

TEST_F(LaunchOrder, OfOneStreamOrBesideTheDefaultStreamAre) {
  launch(1, stream_number(8));
  order.begin(stream_number(8), 5, overlap::no);
  EXPECT_TRUE(order.ordered(1));
  order.end(9);
  order.begin(nullptr, 9, overlap::no);
  EXPECT_TRUE(order.ordered(5));
  EXPECT_EQ(order.first_visible(), 9u);
}

TEST_F(LaunchOrder, AreOrderedByAnEvent) {
  launch(1, stream_number(8));
  const past recorded = order.recorded(stream_number(8));
  launch(5, stream_number(8));  // after the event
  order.order_after(stream_number(16), recorded);
  order.begin(stream_number(16), 9, overlap::no);
  EXPECT_TRUE(order.ordered(1));
  EXPECT_FALSE(order.ordered(5));
}

TEST_F(LaunchOrder, AreKnownToTheHostThatHasWaited) {
  launch(1, stream_number(8));
  launch(5, stream_number(16));
  order.synchronize(stream_number(8));
  EXPECT_FALSE(order.unsynchronised(1));
  EXPECT_TRUE(order.unsynchronised(5));
}

TEST_F(LaunchOrder, MayOverlapTheOneBeforeOnTheirStream) {
  launch(1, nullptr);
  order.begin(nullptr, 5, overlap::yes);
  EXPECT_TRUE(order.overlapped(1));
  EXPECT_EQ(order.previous(), 5u);
  order.end(9);
  order.begin(nullptr, 9, overlap::no);
  EXPECT_FALSE(order.overlapped(1));
}

// A row of three launches of one stream: 1 to 4, 5 to 8, and the third, which begins with block 9.
struct LaunchesInARow : LaunchOrder {
  void third(bool waits, bool starts_next, bool waits_first) {
    launch(1, nullptr);
    order.begin(nullptr, 5, overlap::yes);
    if (starts_next) order.lets_begin(6, 0, 1, waits_first);
    if (waits) order.waits(6);
    order.end(9);
    order.begin(nullptr, 9, overlap::yes);
  }
};

TEST_F(LaunchesInARow, EndWithWhatTheyHaveWaitedFor) {
  third(true, true, false);
  EXPECT_FALSE(order.known(1));
  EXPECT_TRUE(order.overlapped(1));
  EXPECT_TRUE(order.overlapped(5));
}

TEST_F(LaunchesInARow, DoNotEndWithWhatTheyHaveNotWaitedFor) {
  third(false, true, false);
  EXPECT_FALSE(order.ordered(1));
  EXPECT_TRUE(order.on_same_stream(1));
  EXPECT_TRUE(order.overlapped(5));
}

TEST_F(LaunchesInARow, BeginBehindWhatWasWaitedForBeforeTheyWereLet) {
  third(true, true, true);
  EXPECT_TRUE(order.known(1));
  EXPECT_FALSE(order.known(5));
}

TEST_F(LaunchesInARow, FollowTheEndOfALaunchThatLetsNoneBegin) {
  third(true, false, false);
  EXPECT_TRUE(order.known(1));
  EXPECT_TRUE(order.over(5));  // it has read, but what it wrote may not be visible
  EXPECT_FALSE(order.known(5));
}

TEST_F(LaunchOrder, IsPassedOnByEvents) {
  order.apart_from_default(stream_number(8));
  launch(1, stream_number(8));
  order.order_after(stream_number(16), order.recorded(stream_number(8)));
  launch(5, nullptr);  // after stream 16, and so after what that has waited for
  order.begin(nullptr, 9, overlap::no);
  EXPECT_TRUE(order.ordered(1));
}

// order
// -----------------------------------------------------------------------------------------------------------

// Two threads of a block, in different warps.
struct Clocks : testing::Test {
  launch_order launches;
  happens_before clocks{launches};
  block_model& block = *clocks.begin_block({.index = {}, .threads = 64, .highest = 1024, .actors = {}});
  thread_model &one = block.threads[0], &other = block.threads[33];
  Clocks() { launches.begin(nullptr, block.number, overlap::no); }
  bool knows(const thread_model& t, const thread_model& of, stamp time) const {
    return clocks.knows(t, of.block, of.as_actor(), time);
  }
};

TEST_F(Clocks, AReleaseAndAnAcquireOrderWhatCameBeforeTheRelease) {
  const stamp before = *one.time;
  knowledge_ptr flag;
  clocks.release(one, flag);
  const stamp behind = *one.time;
  EXPECT_FALSE(knows(other, one, before));
  clocks.acquire(other, flag);
  EXPECT_TRUE(knows(other, one, before));
  EXPECT_FALSE(knows(other, one, behind));
}

TEST_F(Clocks, KnowledgeIsPassedOn) {
  thread_model& third = block.threads[60];
  const stamp before = *one.time;
  knowledge_ptr first, second;
  clocks.release(one, first);
  clocks.acquire(other, first);
  clocks.release(other, second);
  clocks.acquire(third, second);
  EXPECT_TRUE(knows(third, one, before));
}

TEST_F(Clocks, AMeetingOrdersThoseThatTakePart) {
  thread_model* const met[] = {&one, &other};
  const stamp before = *one.time;
  clocks.meet(met, meeting::of_some);
  EXPECT_TRUE(knows(other, one, before));
  EXPECT_FALSE(knows(block.threads[60], one, before));
}

TEST_F(Clocks, AProxyFenceIsKeptBySpace) {
  const stamp before = *one.time;
  clocks.proxy_fence(one, {space::shared});
  EXPECT_TRUE(clocks.knows_fenced(one, space::shared, one.block, one.as_actor(), before));
  EXPECT_FALSE(clocks.knows_fenced(one, space::global, one.block, one.as_actor(), before));
}

TEST_F(Clocks, AnMbarrierPassesOnWhatArrivedInItsPhase) {
  constexpr std::uint64_t words[1] = {};
  mbarrier_order barriers(clocks, reinterpret_cast<std::uintptr_t>(words));
  const stamp before = *one.time;
  barriers.init(one, words);
  barriers.arrive(one, words);
  barriers.wait(other, words);  // no phase has ended
  EXPECT_FALSE(knows(other, one, before));
  barriers.end_phase(words);
  barriers.wait(other, words);
  EXPECT_TRUE(knows(other, one, before));
}

// history
// -----------------------------------------------------------------------------------------------------------

struct History : Clocks {
  shadow memory;
  host_memory host;
  std::vector<finding_kind> found;
  access_history history{memory, clocks, launches, host,
                         [this](const accessor&, const conflict& c) { found.push_back(c.kind); }};
  void* word = memory.allocate(16);
  void access(thread_model& t, access_kind kind, void* p) {
    history.visit({.thread = t, .kind = kind, .place = 1, .bytes = 4}, p, 4);
  }
};

TEST_F(History, JudgesByTheClocksAlone) {
  access(one, access_kind::write, word);
  knowledge_ptr flag;
  clocks.release(one, flag);
  clocks.acquire(other, flag);
  access(other, access_kind::read, word);
  EXPECT_THAT(found, IsEmpty());
  access(one, access_kind::write, word);
  EXPECT_THAT(found, ElementsAre(finding_kind::overwritten_in_use));
}

TEST_F(History, TellsOfMemoryThatIsNobodysOrUnwritten) {
  access(one, access_kind::read, word);
  access(one, access_kind::read, static_cast<char*>(word) + 16);
  EXPECT_THAT(found, ElementsAre(finding_kind::uninitialised, finding_kind::outside_memory));
}

TEST_F(History, LeavesTheHostsMemoryToWhoeverAllowsIt) {
  int of_host = 0;
  access(one, access_kind::read, &of_host);
  EXPECT_THAT(found, ElementsAre(finding_kind::outside_memory));
  host.params = {reinterpret_cast<std::uintptr_t>(&of_host), sizeof of_host};
  access(one, access_kind::read, &of_host);
  EXPECT_EQ(found.size(), 1u);
  access(one, access_kind::write, &of_host);
  EXPECT_EQ(found.size(), 2u);
}

// findings
// -----------------------------------------------------------------------------------------------------------

struct Findings : Clocks {
  shadow memory;
  mbarrier_order barriers{clocks, memory.lowest()};
  atomic_hints hints{clocks};
  finding_list findings{clocks, launches, barriers, memory, hints};
  // Overwrites what thread `other` still reads, at the given code place.
  std::pair<std::size_t, bool> overwrite(place_number at, sentence in_practice = sentence::none) {
    const reader by{.block = other.block,
                    .unit = other.warp,
                    .kind = warp_reads,
                    .time = *other.time,
                    .lanes = other.lane,
                    .place = 7};
    return findings.report(
        {.thread = one, .kind = access_kind::write, .place = at, .bytes = 4},
        {.kind = finding_kind::overwritten_in_use, .offset = 8, .read = &by, .in_practice = in_practice});
  }
  std::string missing_at(place_number at) {
    return to_text(findings.all()[overwrite(at).first].result.missing);
  }
};

TEST_F(Findings, AreOneForEachPairOfPlaces) {
  EXPECT_TRUE(overwrite(1).second);
  EXPECT_FALSE(overwrite(1).second);
  EXPECT_TRUE(overwrite(2).second);
  ASSERT_EQ(findings.all().size(), 2u);
  EXPECT_EQ(findings.all()[0].result.times, 2u);
  EXPECT_EQ(findings.all()[0].result.access.action, "write of 4 bytes");
  EXPECT_EQ(findings.all()[0].result.earlier->thread, other.index);
  EXPECT_EQ(findings.all()[0].result.memory, "shared memory, byte 8");
}

TEST_F(Findings, AreErrorsIfOneOccurrenceIs) {
  overwrite(1, sentence::gpu_pinned);
  overwrite(1, sentence::gpu_pinned);
  EXPECT_EQ(findings.all()[0].result.severity(), finding_severity::pedantic);
  overwrite(1);
  overwrite(1, sentence::gpu_pinned);
  EXPECT_EQ(findings.all()[0].result.severity(), finding_severity::error);
}

TEST_F(Findings, NameASlotOnlyWhereThereMayBeOne) {
  EXPECT_EQ(missing_at(1), "a barrier between the reads and this write: the slot has not been released");
  memory.shared_by_variables = true;
  EXPECT_EQ(missing_at(2), "__syncthreads() between the two: this write may overtake other threads' reads");
  barriers.init(one, memory.shared() + 64);
  EXPECT_EQ(missing_at(3), "a barrier between the reads and this write: the slot has not been released");
}

TEST(Places, HaveOneNumberEach) {
  place_table places;
  const auto here = machine::place::current();
  EXPECT_EQ(places.number_of(here), places.number_of(here));
  EXPECT_EQ(places.first_line(places.number_of(here)).line, static_cast<int>(here.line()));
  const auto* far = reinterpret_cast<const void*>(code_base - 16);  // NOLINT: never followed
  const place_number number = places.number_of_code(far);
  EXPECT_EQ(places.number_of_code(far), number);
  EXPECT_EQ(places.code_of(places.number_of_code(far)), far);
}

TEST(Places, FilesOfTheLibraryThatAreNotHereBeginAtItsRoot) {
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../../..";
  EXPECT_EQ(shown((root / "core/no_such_file.cuh").string()), "core/no_such_file.cuh");
  EXPECT_EQ(shown((root / "core/registry.hpp").string()), (root / "core/registry.hpp").lexically_normal());
}
TEST(Places, FilesOfTheUsersAreNoOwnSourcesWhateverTheirFolder) {
  const std::filesystem::path root =
      (std::filesystem::path(__FILE__).parent_path() / "../../..").lexically_normal();
  EXPECT_TRUE(lies_in_sources((root / "checker/order/places.cpp").string(), "checker/"));
  EXPECT_FALSE(lies_in_sources((root / "core/registry.hpp").string(), "checker/"));
  EXPECT_FALSE(lies_in_sources("/home/checker/kernel.cu", "checker/"));
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path work = std::filesystem::path(testing::TempDir()) / "own_sources";
  std::filesystem::create_directories(work / "checker");
  std::ofstream(work / "checker/no_such.cu");
  std::filesystem::current_path(work);
  EXPECT_FALSE(lies_in_sources("checker/no_such.cu", "checker/"));
  EXPECT_TRUE(lies_in_sources("checker/order/places.cpp", "checker/"));  // of a build whose sources are gone
  std::filesystem::current_path(before);
  std::filesystem::remove_all(work);
}

}  // namespace
}  // namespace antiphase::checker_detail
