// SPDX-License-Identifier: Apache-2.0
// Everything that orders threads: no finding with it; without it, both accesses and the missing
// synchronisation.
#include "scene.hpp"

namespace antiphase::test {
namespace {

using enum finding_kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int lane_of_warp_1 = 33;
constexpr scope all_scopes[] = {scope::block, scope::cluster, scope::device, scope::system};

// Two threads of one block in different warps, and x, which the first wrote in step 1.
struct pair_of_threads : testing::Test {
  scene s;
  block_model& b = s.block();
  actor_thread first = s.thread(b, 0), second = s.thread(b, lane_of_warp_1), third = s.thread(b, 1);
  unsigned char* x = s.g + 20;
  unsigned char* flag = s.g + 100;
  pair_of_threads() { first.write(1, x); }
};
using Barriers = pair_of_threads;
using Flags = pair_of_threads;

TEST_F(Barriers, NothingOrdersTwoThreads) {
  second.read(2, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 2}));
  EXPECT_THAT(s.missing(), HasSubstr("a block barrier, or another barrier that both take part in"));
}

TEST_F(Barriers, TheBlocksOrdersAll) {
  s.block_barrier(b);
  second.read(2, x);
  second.write(3, x);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Barriers, ABlocksIsNotForWhatComesAfterIt) {
  s.block_barrier(b);
  first.write(3, x);
  second.write(4, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 3, 4}));
}

TEST_F(Barriers, AWritersReadersComeFirst) {
  s.block_barrier(b);
  second.read(2, x);
  first.write(3, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 3}));
  EXPECT_THAT(s.missing(), HasSubstr("the slot has not been released"));
}

// A thread that has ended takes part in no barrier: the others are ordered among themselves, but not after
// it.
TEST_F(Barriers, OfThoseLeftOrderThem) {
  for (unsigned place = 2; place < 20; place += 2) {
    s.block_barrier_without(b, second);
    third.read(place, x);
    third.write(place + 1, x);
    s.block_barrier_without(b, second);
    first.write(place, x);
  }
  EXPECT_THAT(s.found(), IsEmpty());
  EXPECT_EQ((*first).barriers, 18);
}

TEST_F(Barriers, OfThoseLeftTellNothingOfWhoHasEnded) {
  const unsigned char *y = s.g + 40, *z = s.g + 44;
  second.write(2, y);  // of another warp
  third.write(3, z);   // of a lane in the reader's warp
  s.block_barrier_without(b, second);
  s.block_barrier_without(b, second);
  first.read(4, y);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 4}));
  first.read(5, z);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 4})) << "the lane was there";
  s.block_barrier_without(b, second);
  third.write(6, z);
  s.block_barrier_without(b, third);
  first.read(7, z);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 4}, seen{race, 6, 7}));
}

TEST_F(Barriers, BeforeAThreadEndedStillOrder) {
  second.write(2, s.g + 40);
  s.block_barrier(b);
  s.block_barrier_without(b, second);
  first.write(3, s.g + 40);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Barriers, OfAWarpOrdersItsLanesOnly) {
  s.meet({first, third});
  third.read(2, x);
  EXPECT_THAT(s.found(), IsEmpty());
  second.read(3, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 3}));
}

TEST_F(Barriers, AShuffleOrdersNothing) {  // the executor reports a warp sync to the model, not shuffles
  third.read(2, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 2}));
}

TEST_F(Barriers, LanesAfterASyncAreApartAgain) {
  s.meet({first, third});
  first.write(2, x);
  third.read(3, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 3}));
}

TEST_F(Barriers, NamedOrderThoseWhoWait) {
  knowledge_ptr named;
  s.m.clocks.release(*first, named);
  s.m.clocks.release(*second, named);
  s.m.clocks.acquire(*second, named);
  second.write(2, x);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Barriers, WhoOnlyArrivesLearnsNothing) {
  const unsigned char* y = s.g + 40;
  second.write(2, y);
  knowledge_ptr named;
  s.m.clocks.release(*first, named);
  s.m.clocks.release(*second, named);
  s.m.clocks.acquire(*second, named);
  first.read(3, y);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 3}));
}

TEST_F(Barriers, NamedAreNotForWhatComesAfterTheArrival) {
  knowledge_ptr named;
  s.m.clocks.release(*first, named);
  first.write(2, x);
  s.m.clocks.release(*second, named);
  s.m.clocks.acquire(*second, named);
  second.read(3, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 3}));
}

TEST_F(Barriers, OrderIsTransitiveThroughThreeAndTwoMeans) {
  s.meet({first, third});  // warp sync
  third.store(2, flag, order::release, scope::block);
  second.load(3, flag, order::acquire, scope::block);
  second.write(4, x);
  EXPECT_THAT(s.found(), IsEmpty());
  s.thread(b, 40).read(5, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 4, 5}));
}

// blocks and clusters
// -----------------------------------------------------------------------------------------------------------

TEST(Blocks, AreUnorderedThoughOneEndedBeforeTheOtherBegan) {
  scene s;
  block_model& before = s.block();
  s.thread(before, 5).write(1, s.g);
  s.m.end_block(before);
  s.thread(s.block(), 5).read(2, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 2}));
  EXPECT_THAT(s.missing(), HasSubstr("a device-scope release and acquire between the two"));
}

TEST(Clusters, TheirBarrierOrdersBlocks) {
  for (const bool meets : {true, false}) {
    scene s;
    block_model &one = s.block(64, 3), &other = s.block(96, 3);
    s.thread(one, 7).write(1, s.g);
    if (meets) s.cluster_barrier({&one, &other});
    s.thread(other, 95).read(2, s.g);
    EXPECT_EQ(s.found(), meets ? seen_list{} : (seen_list{{race, 1, 2}}));
    EXPECT_THAT(s.missing(), HasSubstr(meets ? "" : "a cluster barrier, or"));
  }
}

TEST(Clusters, BlocksReachEachOthersSharedMemory) {
  scene s;
  block_model &one = s.block(32, 3), &other = s.block(32, 3);
  s.thread(one, 0).write(1, s.shared(0) + 8);
  s.cluster_barrier({&one, &other});
  s.thread(other, 1).read(2, s.shared(0) + 8);
  EXPECT_THAT(s.found(), IsEmpty());
  s.thread(other, 1).write(3, s.shared(0) + 8);
  s.thread(one, 2).read(4, s.shared(0) + 8);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 3, 4}));
}

TEST(Clusters, AnotherClustersSharedMemoryIsOutOfReach) {
  for (const std::uint32_t cluster : {4u, 0u}) {
    scene s;
    block_model &one = s.block(32, 3), &other = s.block(32, cluster);
    s.thread(one, 0).write(1, s.shared(0));
    s.cluster_barrier({&one, &other});
    s.thread(other, 0).read(2, s.shared(0));
    EXPECT_THAT(s.found(), ElementsAre(seen{outside_memory, 0, 2}));
  }
}

TEST(Clusters, SharedMemoryEndsWithItsBlock) {
  scene s;
  block_model &one = s.block(32, 3), &other = s.block(32, 3);
  s.thread(one, 0).write(1, s.shared(0));
  s.cluster_barrier({&one, &other});
  s.m.end_block(one);
  s.thread(other, 0).read(2, s.shared(0));
  EXPECT_THAT(s.found(), ElementsAre(seen{outside_memory, 0, 2}));
}

TEST(Clusters, AnArrivalAtAnotherBlocksMbarrierOrders) {
  constexpr machine::mbarrier_semantics wide{.reach = scope::cluster}, narrow{},
      none{.relaxed = true, .reach = scope::cluster};
  for (const auto& arrival : {wide, narrow, none})
    for (const auto& wait : {wide, narrow, none}) {
      scene s;
      block_model &one = s.block(32, 3), &other = s.block(32, 3);
      s.thread(one, 0).init(1, s.shared(0));
      s.thread(one, 0).write(1, s.shared(0) + 128);
      s.cluster_barrier({&one, &other});
      s.thread(other, 4).write(2, s.shared(0) + 64);
      s.thread(other, 4).read(3, s.shared(0) + 128);
      s.thread(other, 4).arrive(s.shared(0), arrival);
      s.m.barriers.end_phase(s.shared(0));
      s.thread(one, 9).await(s.shared(0), wait);
      s.thread(one, 9).read(4, s.shared(0) + 64);
      s.thread(one, 9).write(5, s.shared(0) + 128);  // a narrow scope orders it after reads
      const auto orders = [](const machine::mbarrier_semantics& m) { return !m.relaxed; };
      const auto reaches = [](const machine::mbarrier_semantics& m) { return m.reach == scope::cluster; };
      seen_list expected;
      if (!orders(arrival) || !orders(wait) || !reaches(arrival) || !reaches(wait))
        expected.push_back({race, 2, 4});
      if (!orders(arrival) || !orders(wait)) expected.push_back({overwritten_in_use, 3, 5});
      EXPECT_EQ(s.found(), expected);
    }
}
TEST(Clusters, AnmbarrierNobodyWaitsAtOrdersNothing) {
  scene s;
  block_model &one = s.block(32, 3), &other = s.block(32, 3);
  s.thread(one, 0).init(1, s.shared(0));
  s.cluster_barrier({&one, &other});
  s.thread(other, 4).write(2, s.shared(0) + 64);
  s.thread(other, 4).arrive(s.shared(0), {.reach = scope::cluster});
  s.m.barriers.end_phase(s.shared(0));
  s.thread(one, 9).read(3, s.shared(0) + 64);
  EXPECT_EQ(s.found(), (seen_list{{race, 2, 3}}));
}

// release and acquire
// -----------------------------------------------------------------------------------------------------------

TEST_F(Flags, ReleaseAndAcquireOrder) {
  for (const scope reach : all_scopes) {
    first.store(2, flag, order::release, reach);
    second.load(3, flag, order::acquire, reach);
    second.read(4, x);
    EXPECT_THAT(s.found(), IsEmpty());
  }
}

TEST(FlagsOfAll, NeedBothSides) {
  const auto try_with = [](order stored, order loaded) {
    scene s;
    block_model& b = s.block();
    s.thread(b, 0).write(1, s.g);
    s.thread(b, 0).store(2, s.g + 64, stored, scope::device);
    s.thread(b, 40).load(3, s.g + 64, loaded, scope::device);
    s.thread(b, 40).read(4, s.g);
    return s.found();
  };
  EXPECT_THAT(try_with(order::release, order::acquire), IsEmpty());
  EXPECT_THAT(try_with(order::release, order::relaxed), ElementsAre(seen{race, 1, 4}));
  EXPECT_THAT(try_with(order::relaxed, order::acquire), ElementsAre(seen{race, 1, 4}));
  EXPECT_THAT(try_with(order::relaxed, order::relaxed), ElementsAre(seen{race, 1, 4}));
}

TEST_F(Flags, WhatComesAfterTheReleaseIsNotPartOfIt) {
  first.store(2, flag, order::release, scope::block);
  first.write(3, x);
  second.load(4, flag, order::acquire, scope::block);
  second.read(5, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 3, 5}));
}

TEST_F(Flags, AValueSeenBeforeTheReleaseOrdersNothing) {
  second.load(2, flag, order::acquire, scope::block);
  first.store(3, flag, order::release, scope::block);
  second.read(4, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 4}));
}

TEST(Scopes, ReachWhomTheySay) {
  // The narrower of the two scopes counts. A reader out of scope races at the flag itself.
  const auto reaches = [](scope from, scope to, std::uint32_t cluster_of_reader) {
    scene s;
    block_model &one = s.block(32, 3), &other = s.block(32, cluster_of_reader);
    s.thread(one, 0).write(1, s.g);
    s.thread(one, 0).store(2, s.g + 64, order::release, from);
    s.thread(other, 0).load(3, s.g + 64, order::acquire, to);
    s.thread(other, 0).read(4, s.g);
    if (s.found().empty()) return true;
    EXPECT_EQ(s.found(), (seen_list{{race, 2, 3}, {race, 1, 4}}));
    return false;
  };
  for (const scope from : all_scopes)
    for (const scope to : all_scopes) {
      EXPECT_EQ(reaches(from, to, 3), std::min(from, to) >= scope::cluster);
      EXPECT_EQ(reaches(from, to, 4), std::min(from, to) >= scope::device);
      EXPECT_EQ(reaches(from, to, 0), std::min(from, to) >= scope::device);
    }
}

TEST(Scopes, AreNamedInTheReport) {
  const auto said = [](scope from, std::uint32_t cluster_of_reader) {
    scene s;
    block_model &one = s.block(32, 3), &other = s.block(32, cluster_of_reader);
    s.thread(one, 0).store(1, s.g, order::release, from);
    s.thread(other, 0).load(2, s.g, order::acquire, scope::device);
    return s.missing();
  };
  EXPECT_EQ(said(scope::block, 4), "block scope does not reach another block: device scope");
  EXPECT_EQ(said(scope::block, 3), "block scope does not reach another block: cluster scope");
  EXPECT_EQ(said(scope::cluster, 4), "cluster scope does not reach another cluster: device scope");
}

TEST_F(Flags, FencesMakeRelaxedOperationsStrong) {
  first.fence(order::both, scope::device);
  first.store(2, flag, order::relaxed, scope::device);
  second.load(3, flag, order::relaxed, scope::device);
  second.fence(order::both, scope::device);
  second.read(4, x);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Flags, AFenceAfterTheStoreIsTooLate) {
  first.store(2, flag, order::relaxed, scope::device);
  first.fence(order::both, scope::device);
  second.load(3, flag, order::relaxed, scope::device);
  second.fence(order::both, scope::device);
  second.read(4, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 4}));
}

TEST_F(Flags, AFenceBeforeTheLoadIsTooEarly) {
  first.fence(order::both, scope::device);
  first.store(2, flag, order::relaxed, scope::device);
  second.fence(order::both, scope::device);
  second.load(3, flag, order::relaxed, scope::device);
  second.read(4, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 4}));
}

TEST(Fences, ReachNoFurtherThanTheirScope) {
  const auto ordered = [](scope releasing, scope acquiring) {
    scene s;
    block_model &one = s.block(32), &other = s.block(32);
    s.thread(one, 0).write(1, s.g);
    s.thread(one, 0).fence(order::release, releasing);
    s.thread(one, 0).store(2, s.g + 64, order::relaxed, scope::device);
    s.thread(other, 0).load(3, s.g + 64, order::relaxed, scope::device);
    s.thread(other, 0).fence(order::acquire, acquiring);
    s.thread(other, 0).read(4, s.g);
    return s.found().empty();
  };
  EXPECT_TRUE(ordered(scope::device, scope::device));
  EXPECT_FALSE(ordered(scope::block, scope::device));
  EXPECT_FALSE(ordered(scope::device, scope::block));
}

TEST_F(Flags, AWiderFenceStaysGoodAfterANarrowerOne) {
  block_model& other = s.block();
  first.fence(order::release, scope::device);
  first.write(2, s.g + 40);
  first.fence(order::release, scope::block);
  first.store(3, flag, order::relaxed, scope::device);
  s.thread(other, 0).load(4, flag, order::acquire, scope::device);
  s.thread(other, 0).read(5, x);
  EXPECT_THAT(s.found(), IsEmpty());
  s.thread(other, 0).read(6, s.g + 40);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 6}));
}

TEST_F(Flags, UpdatesPassAReleaseOn) {
  first.store(2, flag, order::release, scope::block);
  third.update(3, flag, order::relaxed, scope::block);
  second.load(4, flag, order::acquire, scope::block);
  second.read(5, x);
  EXPECT_THAT(s.found(), IsEmpty());
  third.read(6, x);  // a relaxed update does not acquire
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 6}));
}

TEST_F(Flags, AnOverwrittenReleaseIsLost) {
  first.store(2, flag, order::release, scope::block);
  third.store(3, flag, order::relaxed, scope::block);
  second.load(4, flag, order::acquire, scope::block);
  second.read(5, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 5}));
}

TEST_F(Flags, AnOrdinaryWriteToTheFlagLosesTheReleaseToo) {
  first.store(2, flag, order::release, scope::block);
  first.write(3, flag);
  s.meet({first, third});
  third.store(4, s.g + 48, order::release, scope::block);
  second.load(5, flag, order::acquire, scope::block);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 3, 5}));
}

TEST_F(Flags, OfAFormerBlockInTheSameSharedMemoryMeanNothing) {
  first.store(2, s.shared(0), order::release, scope::device);
  s.m.end_block(b);
  block_model& next = *s.m.begin_block({9}, 32, s.shared(0), scene::shared_each);
  s.thread(next, 0).write(3, s.shared(0));
  s.thread(next, 0).load(4, s.shared(0), order::acquire, scope::device);
  s.thread(next, 0).read(5, x);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 5}));
}

TEST_F(Flags, AtomicAndOrdinaryAccessesRace) {
  first.store(2, flag, order::relaxed, scope::block);
  second.update(3, flag, order::relaxed, scope::block);
  EXPECT_THAT(s.found(), IsEmpty());
  third.read(4, flag);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 3, 4}, seen{race, 2, 4}));
}

TEST_F(Flags, AnAtomicWriteHidesNoOrdinaryAccessOfItsThread) {
  first.write(2, flag);
  first.store(3, flag, order::relaxed, scope::block);
  second.load(4, flag, order::relaxed, scope::block);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 4}));
}

TEST_F(Flags, AnAtomicWriteHidesNoOrdinaryReadOfItsThread) {
  first.read(2, flag);
  first.store(3, flag, order::relaxed, scope::block);
  second.store(4, flag, order::relaxed, scope::block);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 4}));
}

TEST_F(Flags, AnAtomicWriteHidesNoAtomicReadOfAnother) {
  second.load(2, flag, order::relaxed, scope::block);
  first.store(3, flag, order::relaxed, scope::block);
  first.write(4, flag);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 4}));
}

TEST_F(Flags, SetUpByAnOrdinaryWriteAndReleasedAreAcquired) {  // the acquire precedes its own access
  first.write(2, flag);
  first.store(3, flag, order::release, scope::block);
  second.load(4, flag, order::acquire, scope::block);
  second.read(5, x);
  EXPECT_THAT(s.found(), IsEmpty());
}

// launches
// -----------------------------------------------------------------------------------------------------------

TEST(Launches, OfOneStreamAreOrdered) {
  scene s;
  for (const stream on : {stream_number(8), stream_number(8)}) {
    s.next_launch(on);
    s.thread(s.block(), 3).write(1, s.g);
  }
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST(Launches, OfTwoStreamsAreNot) {
  scene s;
  for (const bool waits : {false, true}) {
    s.next_launch(stream_number(8));
    s.thread(s.block(), 3).write(1, s.g + 4 * waits);
    s.m.end_launch();
    if (waits) s.m.launches.synchronize(stream_number(8));
    s.m.begin_launch("synthetic", nullptr, 0, stream_number(16));
    s.thread(s.block(), 3).read(2 + waits, s.g + 4 * waits);
  }
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 2}));
  EXPECT_THAT(s.missing(), HasSubstr("they are on different streams"));
}

TEST(Launches, OfTheDefaultStreamAreOrderedWithAll) {
  scene s;
  for (const stream on : {stream_number(8), stream{}, stream_number(16)}) {
    s.next_launch(on);
    s.thread(s.block(), 3).write(1, s.g);
  }
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST(Launches, SynchronisingAnotherStreamDoesNotHelp) {
  scene s;
  s.next_launch(stream_number(8));
  s.thread(s.block(), 3).write(1, s.g);
  s.m.end_launch();
  s.m.launches.synchronize(stream_number(24));
  s.m.begin_launch("synthetic", nullptr, 0, stream_number(16));
  s.thread(s.block(), 3).write(2, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 1, 2}));
}

TEST(Launches, TheHostsCopiesAreLaunchesToo) {
  for (const stream on : {stream_number(8), stream_number(16), stream{}}) {
    scene s;
    s.next_launch(stream_number(8));
    s.thread(s.block(), 3).write(1, s.g);
    s.m.end_launch();
    s.m.host_access(s.g, 16, access_kind::read, on, "copy from the device");
    EXPECT_EQ(s.found().size(), on == stream_number(16) ? 1u : 0u);
  }
}

}  // namespace
}  // namespace antiphase::test
