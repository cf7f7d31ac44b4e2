// SPDX-License-Identifier: Apache-2.0
// Asynchronous actors: cp.async, bulk loads and stores, Tensor Core operations.
#include "scene.hpp"

namespace antiphase::test {
namespace {

using enum finding_kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct one_block : testing::Test {
  scene s;
  block_model& b = s.block(256);
  actor_thread t = s.thread(b, 0), other = s.thread(b, 33), far = s.thread(b, 200);
  unsigned char* slot = s.shared(0) + 64;
  void whole_block() { s.block_barrier(b); }
};
using Copies = one_block;
using Stores = one_block;

TEST_F(Copies, ACopyIsReadAfterItsWait) {
  t.copy(1, slot, s.g);
  t.commit();
  t.wait();
  t.read(2, slot);
  t.write(3, slot);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Copies, WithoutTheWaitItIsReadBeforeItLanded) {
  t.copy(1, slot, s.g);
  t.commit();
  t.read(2, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 1, 2}));
  EXPECT_THAT(s.missing(), HasSubstr("copy_async_wait that leaves fewer groups in flight"));
}

TEST_F(Copies, ABarrierIsNoWait) {
  t.copy(1, slot, s.g);
  t.commit();
  whole_block();
  t.read(2, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 1, 2}));
}

TEST_F(Copies, AnotherThreadNeedsABarrierToo) {
  t.copy(1, slot, s.g);
  t.commit();
  t.wait();
  other.read(2, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 1, 2}));
  EXPECT_THAT(s.missing(), HasSubstr("copy_async_wait by the thread that copies, and a barrier after it"));
}

TEST_F(Copies, WaitThenBarrierIsTheOrder) {
  t.copy(1, slot, s.g);
  t.commit();
  t.wait();
  whole_block();
  other.read(2, slot);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Copies, BarrierThenWaitIsNot) {
  t.copy(1, slot, s.g);
  t.commit();
  whole_block();
  t.wait();
  other.read(2, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 1, 2}));
}

TEST_F(Copies, SomeGroupsMayStayInFlight) {
  for (int i = 0; i < 4; ++i) {
    t.copy(10 + i, slot + 4 * i, s.g + 4 * i);
    t.commit();
  }
  t.wait(2);
  for (int i = 0; i < 4; ++i) t.read(20 + i, slot + 4 * i);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 12, 22}, seen{read_before_landing, 13, 23}));
}

TEST_F(Copies, EmptyGroupsCount) {
  t.copy(1, slot, s.g);
  t.commit();
  t.commit();
  t.wait(1);
  t.read(2, slot);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Copies, WhatIsNotCommittedIsNotWaitedFor) {
  t.copy(1, slot, s.g);
  t.wait();
  t.read(2, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 1, 2}));
}

TEST_F(Copies, TheirDestinationMustNotBeInUse) {
  t.write(1, slot);
  whole_block();
  other.read(2, slot);
  t.copy(3, slot, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 3}));
}

TEST_F(Copies, TheirDestinationMustNotBeWrittenWhileTheyAreInFlight) {
  t.copy(1, slot, s.g);
  t.write(2, slot);
  t.copy(3, slot + 4, s.g);
  t.copy(4, slot + 4, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 1, 2}, seen{overwritten_in_use, 3, 4}));
}

TEST_F(Copies, TheirSourceMustNotBeWrittenWhileTheyAreInFlight) {
  t.copy(1, slot, s.g);
  t.commit();
  t.write(2, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 1, 2}));
  t.copy(3, slot + 4, s.g + 4);
  t.commit();
  t.wait();
  t.write(4, s.g + 4);
  EXPECT_EQ(s.found().size(), 1u);
}

TEST_F(Copies, ZeroFillReadsLessThanItWrites) {
  // 252 + 16 exceeds the memory
  s.m.async.issue_copy(*t, slot, s.g + 252, 16, 4, s.m.places.number_of_code(code_of(1)));
  EXPECT_THAT(s.found(), IsEmpty());
  t.read(2, slot + 12);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 1, 2}));
}

TEST_F(Copies, LeftInFlightAreReported) {
  t.copy(1, slot, s.g);
  t.commit();
  s.m.end_thread(*t);
  EXPECT_THAT(s.found(), ElementsAre(seen{never_waited_for, 0, 1}));
}

// mbarriers and bulk loads
// -----------------------------------------------------------------------------------------------------------

struct with_mbarrier : one_block {
  unsigned char* word = s.shared(0);
  with_mbarrier() {
    t.init(1, word);
    t.proxy_fence();
    whole_block();
  }
  void end_phase() { s.m.barriers.end_phase(word); }
};
using Mbarriers = with_mbarrier;
using BulkLoads = with_mbarrier;

TEST_F(Mbarriers, OrderArrivalsBeforeThoseWhoWaitForThePhase) {
  t.write(2, slot);
  t.arrive(word);
  end_phase();
  other.await(word);
  other.write(3, slot);
  EXPECT_THAT(s.found(), IsEmpty());
  far.read(4, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 3, 4}));
}

TEST_F(Mbarriers, EveryPhaseOrders) {
  for (int phase = 0; phase < 3; ++phase) {
    t.write(2, slot + 4 * phase);
    t.arrive(word);
    end_phase();
    other.await(word);
    other.write(3, slot + 4 * phase);
  }
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Mbarriers, WhoWaitedForThePhaseBeforeLearnsNothingOfThis) {
  t.arrive(word);
  end_phase();
  t.write(2, slot);
  t.arrive(word);
  other.await(word);  // phase 0 has ended, phase 1 has not
  other.read(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 3}));
}

TEST_F(Mbarriers, ArrivingIsNotWaiting) {
  t.write(2, slot);
  t.arrive(word);
  other.arrive(word);
  end_phase();
  other.read(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 3}));
}

// A copy of `t`, counted by the first mbarrier; its next arrival, at the second, brings none.
struct Counted : with_mbarrier {
  unsigned char* next = word + 8;
  Counted() {
    t.init(2, next);
    whole_block();
    t.copy(3, slot, s.g);
    arrive_with_copies(word);
    arrive_with_copies(next);
  }
  void arrive_with_copies(unsigned char* at) {
    s.m.barriers.arrive_with_copies(*t, at, s.m.barriers.track_copies(*t, at));
    s.m.barriers.end_phase(at);
  }
};

TEST_F(Counted, AreWaitedForAtWhicheverMbarrier) {
  other.await(word);
  s.m.end_block(b);
  EXPECT_THAT(s.found(), IsEmpty());
}
TEST_F(Counted, AreWaitedForAtALaterOne) {
  other.await(next);
  other.read(4, slot);
  s.m.end_block(b);
  EXPECT_THAT(s.found(), IsEmpty());
}
TEST_F(Counted, AreWaitedForByTheirThread) {
  t.commit();
  t.wait();
  s.m.end_block(b);
  EXPECT_THAT(s.found(), IsEmpty());
}
TEST_F(Counted, AreReportedIfNoThreadHasWaited) {
  s.m.end_block(b);
  EXPECT_THAT(s.found(), ElementsAre(seen{never_waited_for, 0, 3}));
}
TEST_F(Counted, AreReportedIfTheCopyIsLater) {
  other.await(word);
  t.copy(4, slot + 4, s.g);
  arrive_with_copies(next);
  s.m.end_block(b);
  EXPECT_THAT(s.found(), ElementsAre(seen{never_waited_for, 0, 4}));
}

TEST_F(Mbarriers, APlainArrivalDoesNotWaitForCopies) {
  t.copy(2, slot, s.g);
  t.arrive(word);
  end_phase();
  other.await(word);
  other.read(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 2, 3}));
  EXPECT_THAT(s.missing(), testing::StartsWith("copy_async_arrive"));
}
TEST_F(Mbarriers, AReaderThatHasNotWaitedThereLacksTheWait) {
  t.copy(2, slot, s.g);
  t.arrive(word);
  end_phase();
  other.read(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 2, 3}));
  EXPECT_THAT(s.missing(), testing::StartsWith("copy_async_wait"));
}

TEST_F(Mbarriers, WhatComesAfterTheArrivalIsNotPartOfIt) {
  t.arrive(word);
  t.write(2, slot);
  end_phase();
  other.await(word);
  other.read(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 3}));
}

TEST_F(Mbarriers, InitialisedAnewTheyForget) {
  t.write(2, slot);
  t.arrive(word);
  end_phase();
  t.init(3, word);
  other.await(word);
  other.read(4, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{race, 2, 4}));
}

TEST_F(Mbarriers, AreUsedAfterTheirInitialisationOnly) {
  s.m.async.touch_barrier(*other, word, s.m.places.number_of_code(code_of(2)));
  EXPECT_THAT(s.found(), IsEmpty());
  s.m.async.touch_barrier(*other, word + 8, s.m.places.number_of_code(code_of(3)));
  EXPECT_THAT(s.found(), ElementsAre(seen{uninitialised, 0, 3}));
  t.init(4, word);  // while the other uses it
  EXPECT_EQ(s.found().back(), (seen{overwritten_in_use, 2, 4}));
}

TEST_F(BulkLoads, AreReadAfterTheirPhase) {
  t.load_bulk(2, slot, s.g, word);
  t.arrive(word);
  end_phase();
  other.await(word);
  other.write(3, slot);
  EXPECT_THAT(s.found(), IsEmpty());
  far.read(4, slot + 12);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 2, 4}));
}

TEST_F(BulkLoads, AreNotOverwrittenBeforeTheyLanded) {
  t.load_bulk(2, slot, s.g, word);
  t.arrive(word);
  t.write(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 3}));
  EXPECT_THAT(s.missing(), HasSubstr("the end of the mbarrier's phase that counts the copy"));
}

TEST_F(BulkLoads, TheirSourceIsNotOverwrittenInFlight) {
  t.load_bulk(2, slot, s.g, word);
  t.arrive(word);
  t.write(3, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 3}));
  end_phase();
  t.await(word);
  t.write(4, s.g + 4);
  EXPECT_EQ(s.found().size(), 1u);
}

TEST_F(BulkLoads, OfTheNextPhaseAreNotPartOfThis) {
  t.arrive(word);
  end_phase();
  t.load_bulk(2, slot, s.g, word);
  t.arrive(word);
  other.await(word);
  other.read(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 2, 3}));
}

TEST_F(BulkLoads, NeedTheBarriersInitialisationFenced) {
  t.init(2, word + 16);
  t.load_bulk(3, slot, s.g, word + 16);
  EXPECT_THAT(s.found(), ElementsAre(seen{missing_proxy_fence, 2, 3}));
}

TEST_F(BulkLoads, OverOrdinaryWritesNeedAProxyFence) {
  t.write(2, slot);
  t.load_bulk(3, slot, s.g, word);
  EXPECT_THAT(s.found(), ElementsAre(seen{missing_proxy_fence, 2, 3}));
}

// bulk stores and the proxy fence
// ----------------------------------------------------------------------------------------------------------

TEST_F(Stores, SourceAndDestinationAreFreeAtDifferentTimes) {
  t.write(1, slot, 16);
  t.proxy_fence();
  t.store_bulk(2, s.g, slot);
  t.wait_read();
  t.write(3, slot);
  EXPECT_THAT(s.found(), IsEmpty());
  t.read(4, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 2, 4}));
  t.wait_written();
  t.read(5, s.g + 4);
  EXPECT_EQ(s.found().size(), 1u);
}

TEST_F(Stores, TheirSourceIsNotOverwrittenWhileItIsRead) {
  t.write(1, slot, 16);
  t.proxy_fence();
  t.store_bulk(2, s.g, slot);
  t.write(3, slot + 12);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 3}));
  EXPECT_EQ(s.missing(), "bulk_wait_read (in CUDA: cp.async.bulk.wait_group.read)");
}

TEST_F(Stores, OthersLearnOfThemThroughTheThreadThatWaits) {
  t.write(1, slot, 16);
  t.proxy_fence();
  t.store_bulk(2, s.g, slot);
  t.wait_written();
  other.read(3, s.g);
  EXPECT_THAT(s.found(), ElementsAre(seen{read_before_landing, 2, 3}));
  whole_block();
  other.read(4, s.g + 4);
  other.write(5, slot);
  EXPECT_EQ(s.found().size(), 1u);
}

TEST_F(Stores, LeftUnreadAreReported) {
  t.write(1, slot, 16);
  t.proxy_fence();
  t.store_bulk(2, s.g, slot);
  s.m.end_thread(*t);
  EXPECT_THAT(s.found(), ElementsAre(seen{never_waited_for, 0, 2}));
}

TEST(ProxyFences, MayStandWithTheWriterOrWithTheIssuer) {
  enum fenced {
    by_writer,
    by_writer_too_early,
    by_writer_too_late,
    by_issuer,
    by_issuer_too_early,
    by_nobody
  };
  for (const fenced how :
       {by_writer, by_writer_too_early, by_writer_too_late, by_issuer, by_issuer_too_early, by_nobody}) {
    scene s;
    block_model& b = s.block();
    actor_thread writer = s.thread(b, 40), issuer = s.thread(b, 0);
    if (how == by_writer_too_early) writer.proxy_fence();
    writer.write(1, s.shared(0), 16);
    if (how == by_writer) writer.proxy_fence();
    if (how == by_issuer_too_early) issuer.proxy_fence();
    s.block_barrier(b);
    if (how == by_writer_too_late) writer.proxy_fence();
    if (how == by_issuer) issuer.proxy_fence();
    issuer.store_bulk(2, s.g, s.shared(0));
    const bool fine = how == by_writer || how == by_issuer;
    EXPECT_EQ(s.found(), fine ? seen_list{} : (seen_list{{missing_proxy_fence, 1, 2}})) << how;
    EXPECT_THAT(s.missing(), HasSubstr(fine ? "" : "fence_async by the thread that wrote it"));
  }
}

// order: writer, barrier, fence by a third thread, release and acquire, issuer
TEST(ProxyFences, ArePassedOnWithWhatTheyFollow) {
  scene s;
  block_model& b = s.block();
  s.thread(b, 40).write(1, s.shared(0), 16);
  s.block_barrier(b);
  actor_thread third = s.thread(b, 33), issuer = s.thread(b, 0);
  third.proxy_fence();
  third.store(2, s.g + 64, order::release, scope::block);
  issuer.load(3, s.g + 64, order::acquire, scope::block);
  issuer.store_bulk(4, s.g, s.shared(0));
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST(ProxyFences, OfAnotherThreadCountForWhatCameAfterOnesOwn) {
  scene s;
  block_model& b = s.block();
  actor_thread writer = s.thread(b, 40), issuer = s.thread(b, 0);
  writer.proxy_fence();
  writer.write(1, s.shared(0), 16);
  writer.store(2, s.g + 64, order::release, scope::block);
  issuer.load(3, s.g + 64, order::acquire, scope::block);
  issuer.proxy_fence();
  s.block_barrier(b);
  issuer.store_bulk(4, s.g, s.shared(0));
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST(ProxyFences, CountForCopiesThatHaveBeenWaitedFor) {
  for (const bool waited : {true, false}) {
    scene s;
    block_model& b = s.block();
    actor_thread t = s.thread(b, 0);
    t.copy(1, s.shared(0), s.g + 16, 16);
    t.commit();
    if (waited) t.wait();
    t.proxy_fence();
    t.wait();
    t.store_bulk(2, s.g, s.shared(0));
    EXPECT_EQ(s.found(), waited ? seen_list{} : (seen_list{{missing_proxy_fence, 1, 2}}));
  }
}

// Tensor Core operations
// -----------------------------------------------------------------------------------------------------------

struct with_operand : one_block {
  with_operand() {
    t.write(1, slot, 16);
    t.proxy_fence();
    whole_block();
    t.multiply(2, slot);
    for (std::size_t i = 0; i < 128; ++i) s.thread(b, i).commit_multiply();
  }
};
using Operands = with_operand;

TEST_F(Operands, AreNotOverwrittenBeforeTheWait) {
  t.write(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 3}));
  EXPECT_THAT(s.missing(), HasSubstr("a wait for the group of the Tensor Core operation"));
}

TEST_F(Operands, MayBeReadMeanwhile) {
  t.read(3, slot);
  far.read(4, slot);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Operands, AreFreeAfterTheWaitOfAnyThreadOfTheWarpgroup) {
  t.wait_multiply();
  t.write(3, slot);
  other.wait_multiply();
  other.write(4, slot + 4);
  EXPECT_THAT(s.found(), IsEmpty());
}

TEST_F(Operands, OneGroupMayStayInFlight) {
  t.multiply(3, slot + 4, 4);
  for (std::size_t i = 0; i < 128; ++i) s.thread(b, i).commit_multiply();
  t.wait_multiply(1);
  t.write(4, slot + 4);
  t.write(5, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 3, 4}));
}

TEST_F(Operands, OfAnotherWarpgroupNeedABarrierToo) {
  t.wait_multiply();
  far.write(3, slot);
  EXPECT_THAT(s.found(), ElementsAre(seen{overwritten_in_use, 2, 3}));
  whole_block();
  far.write(4, slot + 4);
  EXPECT_EQ(s.found().size(), 1u);
}

TEST_F(Operands, AreWrittenBehindAProxyFence) {
  t.write(3, slot + 16, 16);
  t.multiply(4, slot + 16);
  EXPECT_THAT(s.found(), ElementsAre(seen{missing_proxy_fence, 3, 4}));
}

}  // namespace
}  // namespace antiphase::test
