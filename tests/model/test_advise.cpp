// SPDX-License-Identifier: Apache-2.0
// Advice: choices, numbers of stages, and invalid questions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <antiphase/advise.hpp>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>
#include <nlohmann/json.hpp>

namespace antiphase {
namespace {

using testing::AnyOf, testing::Contains, testing::HasSubstr, testing::Not;
using answer = nlohmann::json;

const machine_profile& an_h200() { return shipped_profile("H200"); }
std::string refusal(const std::string& question) {
  try {
    advise_json(question);
  } catch (const bad_request& e) {
    return e.what();
  }
  return "answered";
}
std::string kernel_refusal(const std::string& members) {
  try {
    advise_kernel(an_h200(), parse_kernel(an_h200(), members));
  } catch (const bad_request& e) {
    return e.what();
  }
  return "answered";
}

TEST(advise, picks_what_auto_takes) {
  for (const machine_profile& on : shipped_profiles())
    for (const gemms::product_size& p : {gemms::product_size{.m = 4096, .n = 4096, .k = 4096},
                                         {.m = 1, .n = 1024, .k = 1024},
                                         {.m = 1, .n = 1, .k = 8192},
                                         {.m = 2, .n = 4096, .k = 4096},
                                         {.m = 64, .n = 64, .k = 64}}) {
      const auto at = [](std::uintptr_t place) { return reinterpret_cast<float*>(place << 40); };
      const gemm_problem same{.a = row_major<const float>(at(1), p.m, p.k),
                              .b = row_major<const float>(at(2), p.k, p.n),
                              .c = row_major(at(3), p.m, p.n)};
      EXPECT_EQ(advise_gemm(on, p).pick.name,
                explain(context(make_cpu_executor({.limits = on.limits})), same).kernel)
          << p.m << " x " << p.n << " x " << p.k << " on " << on.limits.name;
    }
}
TEST(advise, picks_scans_by_their_size) {
  EXPECT_EQ(advise_scan(an_h200(), 1 << 16).pick.name, "one-wave");
  EXPECT_EQ(advise_scan(an_h200(), 1 << 28).pick.name, "single-pass");
  EXPECT_EQ(advise_scan(shipped_profile("A100"), 1 << 28).pick.name, "single-pass-async");
}

TEST(advise, tells_of_what_is_much_faster_with_a_weaker_bound) {
  const auto last = [](const char* machine) {
    return advise_gemm(shipped_profile(machine), {.m = 4096, .n = 4096, .k = 4096}).changes.back();
  };
  EXPECT_THAT(last("RTX 4090"), testing::HasSubstr("with a weaker bound, 4096 u |A||B|"));
  EXPECT_THAT(last("H200"), testing::Not(testing::HasSubstr("weaker")));
}

TEST(advise, says_nothing_of_what_the_device_cannot_run) {
  const advice a = advise_gemm(shipped_profile("A100"), {.m = 64, .n = 4096, .k = 512});
  for (const advised_policy& p : a.others) EXPECT_THAT(p.name, Not(AnyOf("fp16", "tf32")));
  EXPECT_EQ(a.pick.name, a.others.front().name);
}

TEST(advise, tells_what_would_change_the_answer) {
  const advice a = advise_gemm(an_h200(), {.m = 4096, .n = 16, .k = 4096});
  EXPECT_THAT(a.changes, Contains(HasSubstr("N = ")));
  EXPECT_THAT(advise_scan(an_h200(), 1 << 20).changes,
              Contains("with 8388608 elements it would be single-pass"));
}

TEST(advise, more_stages_until_something_else_limits) {
  const own_kernel one_block =
      parse_kernel(an_h200(), "smem=64KiB,regs=128,load=2000clk,compute=1000clk,threads=512");
  const advice a = advise_kernel(an_h200(), one_block);
  ASSERT_EQ(a.stages.size(), 6U);
  EXPECT_NEAR(a.textbook_gain, 1.5, 1e-9);
  EXPECT_GT(a.stages[1].gain, 0.25);
  EXPECT_GT(a.stages[2].gain, a.stages[1].gain + 0.2);  // two steps of 1000 clocks cover a latency of 2000
  EXPECT_TRUE(a.stages[2].fits);
  EXPECT_EQ(a.stages[2].shared_bytes, 3U * 65536);
  EXPECT_FALSE(a.stages[3].fits);  // 256 KiB
  EXPECT_EQ(a.stages[2].resident, 1);
  EXPECT_THAT(a.recommends, Contains(HasSubstr("3 buffers")));
  EXPECT_THAT(a.recommends, Contains(HasSubstr("4 buffers do not fit")));
}
TEST(advise, gains_have_what_is_left_of_them_at_worst) {
  const advice a = advise_kernel(
      an_h200(),
      parse_kernel(an_h200(), "smem=4KiB,regs=32,load=600clk,compute=100clk,threads=128,blocks=1"));
  ASSERT_GE(a.stages.size(), 4U);
  EXPECT_EQ(a.stages[0].least_gain, 0);
  EXPECT_NEAR(1 + a.stages[1].least_gain, std::max(1., (1 + a.stages[1].gain) / 1.12), 1e-9);
  EXPECT_NEAR(1 + a.stages[3].least_gain, (1 + a.stages[3].gain) / 1.42, 1e-9);
  for (std::size_t i = 1; i < a.stages.size(); ++i) {
    EXPECT_LE(a.stages[i].least_gain, a.stages[i].gain);
    EXPECT_GE(a.stages[i].least_gain, a.stages[i - 1].least_gain);
  }
}
// n (Tl + Tc) / (Tl + (n - 1) max(Tl, Tc) + Tc), as the texts have it.
TEST(advise, few_tiles_gain_less) {
  const advice a = advise_kernel(
      an_h200(), parse_kernel(an_h200(), "smem=1KiB,regs=32,load=100us,compute=50us,threads=256,blocks=1"));
  ASSERT_EQ(a.by_tiles.size(), 7U);
  for (const advised_tiles& t : a.by_tiles) {
    EXPECT_NEAR(1 + t.textbook_gain, t.tiles * 150. / (100 + (t.tiles - 1) * 100 + 50), 1e-9);
    const double step = 1 / (1 + a.stages.back().gain);  // of a long run, in steps of one buffer
    EXPECT_NEAR(1 + t.gain, t.tiles / (1 + (t.tiles - 1) * step), 0.05);
  }
  EXPECT_EQ(a.by_tiles.front().gain, 0);
  EXPECT_GT(a.by_tiles.back().gain, 0.9 * a.stages.back().gain);
}
TEST(advise, the_textbooks_formulas_count_two_operations_of_a_multiply_add) {
  const machine_profile on = an_h200();
  const advice a = advise_gemm(on, {.m = 256, .n = 256, .k = 256});
  ASSERT_EQ(a.textbook.size(), 5U);
  const double of_one = 1. / on.limits.multiprocessors;
  for (const textbook_tile& t : a.textbook) {
    const double flops = 2 * on.multiply_adds.value * on.clock.value, n = t.extent;  // of a multiprocessor
    EXPECT_NEAR(t.times.compute * flops, 2 * n * n * n, 1e-6 * n * n * n);
    EXPECT_NEAR(t.times.load * on.memory_bytes.value * of_one, 2 * n * n * 4, 1e-6 * n * n);
  }
  EXPECT_LT(a.textbook.front().times.compute, a.textbook.front().times.load);
  EXPECT_GT(a.textbook.back().times.compute, a.textbook.back().times.load);
}
TEST(advise, says_how_much_of_the_bandwidth_is_used) {
  const machine_profile on = an_h200();
  const advice scan = advise_scan(on, 1 << 28);
  for (const advised_stages& s : scan.stages)
    EXPECT_NEAR(s.bandwidth * s.seconds * on.memory_bytes.value, 2. * 4 * (1 << 28), 1e3);
  EXPECT_GT(scan.stages.back().bandwidth, 0.8);
  EXPECT_LT(scan.stages.front().bandwidth, 0.4);
  const advice own = advise_kernel(on, parse_kernel(on, "smem=64KiB,compute=1clk,threads=512,regs=32"));
  EXPECT_NEAR(own.stages[2].bandwidth, 1, 0.05);  // enough in flight, and nothing else to do
  const advice timed = advise_kernel(on, parse_kernel(on, "smem=4KiB,compute=1us,load=1us"));
  EXPECT_EQ(timed.stages.front().bandwidth, 0) << "its bytes are not known";
}
TEST(advise, counts_the_slots_that_fit) {
  const auto fitting = [](const std::string& members) {
    return advise_kernel(an_h200(), parse_kernel(an_h200(), members)).stages_that_fit;
  };
  EXPECT_EQ(fitting("smem=32KiB,compute=1us"), 7);  // of 227 KiB
  EXPECT_EQ(fitting("smem=32KiB,compute=1us,fixed=200KiB"), 0);
}

TEST(advise, many_blocks_need_no_buffers) {
  const advice a = advise_kernel(
      an_h200(), parse_kernel(an_h200(), "smem=4KiB,regs=32,load=500clk,compute=2000clk,threads=256"));
  EXPECT_EQ(a.stages[0].resident, 8);
  EXPECT_THAT(a.recommends, Contains(HasSubstr("one buffer")));
  EXPECT_THAT(a.changes, Contains(HasSubstr("8 blocks")));
}
TEST(advise, registers_gain_nothing_from_a_third_buffer) {
  const std::string members = "smem=64KiB,regs=128,load=2000clk,compute=1000clk,threads=512,copy=";
  const advice staged = advise_kernel(an_h200(), parse_kernel(an_h200(), members + "registers"));
  EXPECT_NEAR(staged.stages[2].gain, staged.stages[1].gain, 1e-9);
}
// A dedicated loader has one load in flight per buffer, so a second buffer doubles the speed of a block that
// waits for memory, as timelines show. Many blocks have many loads in flight already.
TEST(advise, a_ring_by_roles_has_a_load_in_flight_for_every_buffer) {
  const std::string members = "smem=1040,regs=40,threads=96,load=1040,compute=60clk";
  const auto advised = [&](const std::string& more) {
    return advise_kernel(an_h200(), parse_kernel(an_h200(), members + more));
  };
  const advice roles = advised(",form=roles"), pipeline = advised(",form=pipeline"),
               alone = advised(",form=roles,fixed=200KiB");
  EXPECT_EQ(alone.stages[0].resident, 1);
  EXPECT_LT(roles.stages[1].gain, 0.5);
  for (int stages = 2; stages <= 3; ++stages)
    EXPECT_NEAR(alone.stages[static_cast<std::size_t>(stages - 1)].gain, stages - 1, 0.1 * stages) << stages;
  EXPECT_LT(pipeline.stages[1].gain, 0.2);
  EXPECT_EQ(roles.stages[1].bytes_in_flight, 2 * roles.stages[0].bytes_in_flight);
  EXPECT_EQ(pipeline.stages[1].bytes_in_flight, pipeline.stages[0].bytes_in_flight);
  EXPECT_THAT(roles.about, HasSubstr("roles"));
  EXPECT_THAT(pipeline.about, HasSubstr("pipeline"));
  EXPECT_EQ(advised("").about, pipeline.about);
  EXPECT_EQ(advised(",copy=bulk").about, roles.about) << "what bulk copies are for";
  EXPECT_EQ(advised(",form=pipeline,copy=bulk").about, pipeline.about);
  EXPECT_THAT(advised(",form=roles,copy=registers").about, HasSubstr("one load is in flight"));
  for (const advised_stages& s : advised(",form=roles,copy=registers").stages) EXPECT_LT(s.gain, 0.2);
  // A small launch, too, has one block on a multiprocessor.
  EXPECT_EQ(advised(",form=roles,blocks=1").stages[1].gain, alone.stages[1].gain);
  EXPECT_EQ(advised(",form=roles,blocks=1000").stages[1].gain, roles.stages[1].gain);
  // With longer computation, a second buffer hides the load, and a third gains nothing.
  const advice busy = advise_kernel(
      an_h200(),
      parse_kernel(an_h200(), "smem=64KiB,regs=64,threads=1024,load=1000clk,compute=2000clk,form=roles"));
  EXPECT_NEAR(busy.stages[1].gain, 0.45, 0.1);
  EXPECT_NEAR(busy.stages[2].gain, busy.stages[1].gain, 0.1);
}
TEST(advise, a_kernel_computes_as_long_as_it_said) {  // with one buffer, alone: load, compute, barriers
  const advice a =
      advise_kernel(an_h200(), parse_kernel(an_h200(), "smem=200KiB,load=5us,compute=20us,threads=64"));
  EXPECT_NEAR(a.stages[0].seconds, 25e-6, 0.1e-6);
}

// Barriers are a part of what a block computes; a single buffer issues its load as a part of the load.
TEST(advise, what_a_kernel_computes_is_counted_once) {
  const auto seconds = [](const std::string& more, std::size_t stages, int blocks = 1) {
    const advice a =
        advise_kernel(an_h200(), parse_kernel(an_h200(), "smem=2048,threads=1024,load=500clk,blocks=" +
                                                             std::to_string(blocks) + "," + more));
    return a.stages[stages - 1].seconds * an_h200().clock.value;
  };
  EXPECT_NEAR(seconds("compute=1000clk", 1), 1500, 1);
  EXPECT_NEAR(seconds("compute=1000clk,issue=200clk", 1), 1300, 1);
  EXPECT_NEAR(seconds("compute=1000clk,issue=200clk", 2), seconds("compute=1000clk", 2), 1e-6);
  EXPECT_NEAR(seconds("compute=1000clk,issue=200clk,form=roles", 1), 1500, 60);
  // several blocks share what copies take: the load of a single buffer is not for nothing
  EXPECT_NEAR(seconds("compute=4000clk,issue=1000clk", 1, 2), seconds("compute=4000clk,issue=1000clk", 2, 2),
              40);
}
// When the next loads begin decides what buffers can bring.
TEST(advise, numbers_are_those_of_the_form_that_is_named) {
  const auto clocks = [](const std::string& more) {
    const advice a = advise_kernel(
        an_h200(),
        parse_kernel(an_h200(),
                     "smem=1KiB,threads=256,blocks=1,load=700clk,compute=500clk,issue=60clk" + more));
    std::vector<double> all;
    for (const advised_stages& s : a.stages) all.push_back(s.seconds * an_h200().clock.value);
    return all;
  };
  const auto plain = clocks(",copy=registers"), waiting = clocks(",copy=registers,next=before"),
             blocking = clocks(",copy=registers,next=blocking"), copies = clocks(""),
             early = clocks(",next=before");
  EXPECT_NEAR(plain[0], 500 + 700 - 60, 1);
  EXPECT_NEAR(waiting[0], plain[1], 1e-6) << "in registers, over the computation";
  EXPECT_NEAR(waiting[1], plain[1], 1e-6);
  for (const double step : blocking) EXPECT_NEAR(step, plain[0], 1e-6);
  EXPECT_NEAR(early[0], copies[0], 1e-6);
  EXPECT_LT(early[1], 0.95 * copies[1]);
  EXPECT_NEAR(early[1], std::pow(std::pow(500, 4) + std::pow(600, 4), 0.25), 1) << "1200 for two";
  EXPECT_NEAR(early[3], std::pow(std::pow(500, 4) + std::pow(300, 4), 0.25), 1) << "1200 for four";
  const advice blocks = advise_kernel(
      an_h200(), parse_kernel(an_h200(), "smem=1KiB,load=700clk,compute=500clk,next=blocking,blocks=1"));
  EXPECT_THAT(blocks.recommends, Contains(HasSubstr("one buffer")));
  EXPECT_THAT(blocks.about, HasSubstr("however many buffers"));
}
TEST(advise, a_step_that_is_known_is_not_predicted) {
  const std::string members = "smem=1KiB,threads=256,load=700clk,compute=500clk,next=before,blocks=2";
  const advice predicted = advise_kernel(an_h200(), parse_kernel(an_h200(), members)),
               known = advise_kernel(an_h200(), parse_kernel(an_h200(), members + ",slots=2,step=580clk"));
  const double clock = an_h200().clock.value;
  EXPECT_NEAR(known.stages[1].seconds * clock * 2, 580, 1e-6) << "of two blocks";
  EXPECT_NEAR(known.others[1].takes.seconds * clock, 580, 1e-6);
  const double ratio = known.stages[1].seconds / predicted.stages[1].seconds;
  EXPECT_LT(ratio, 0.9);
  EXPECT_NEAR(known.stages[0].seconds, ratio * predicted.stages[0].seconds, 1e-12);
  for (const std::size_t i : {2U, 3U})
    EXPECT_NEAR(known.stages[i].seconds,
                std::min(ratio * predicted.stages[i].seconds, known.stages[1].seconds), 1e-12)
        << i + 1;
  const advice alone = advise_kernel(
      an_h200(),
      parse_kernel(an_h200(),
                   "smem=1KiB,load=700clk,compute=500clk,next=before,blocks=1,slots=2,step=520clk"));
  for (std::size_t i = 2; i < alone.stages.size(); ++i)
    EXPECT_GE(alone.stages[i].seconds * clock, 500 - 1e-6) << "what it computes";
  EXPECT_NEAR(known.stages[1].gain, known.stages[0].seconds / known.stages[1].seconds - 1, 1e-9);
}

TEST(advise, the_cache_needs_less_in_flight_than_memory) {
  const auto of = [](const std::string& from) {
    return advise_kernel(
        an_h200(),
        parse_kernel(an_h200(), "smem=16KiB,blocks=1,threads=512,load=16KiB,compute=500clk" + from));
  };
  const advice cache = of(",from=cache"), memory = of("");
  EXPECT_LT(cache.bytes_needed_in_flight, memory.bytes_needed_in_flight);
  EXPECT_LT(cache.stages[1].seconds, memory.stages[1].seconds);
  EXPECT_EQ(of(",from=memory").stages[1].seconds, memory.stages[1].seconds);
}

TEST(advise, questions_with_members_that_nobody_reads_are_refused) {
  EXPECT_THAT(
      refusal(R"({"about": "gemm", "m": 1, "n": 1, "k": 1, "batch": 2})"),
      HasSubstr("a question about gemm has no 'batch': expected about, device, profile, m, n, k, count"));
  EXPECT_THAT(refusal(R"({"about": "scan", "count": 1, "m": 1})"),
              HasSubstr("a question about scan has no 'm'"));
  EXPECT_THAT(refusal(R"({"about": "kernel", "kernel": "smem=1024,compute=5clk", "smem": 3})"),
              HasSubstr("has no 'smem'"));
  EXPECT_THAT(refusal(R"({"about": "scans", "count": 1})"),
              HasSubstr("'about' is 'scans': expected gemm, scan or kernel"));
  EXPECT_EQ(refusal(R"({"about": "scan", "count": 1, "size": 8, "device": "A100"})"), "answered");
}

TEST(advise, kernels_that_make_no_sense_are_refused) {
  EXPECT_THAT(kernel_refusal("regs=3"), HasSubstr("smem is missing"));
  EXPECT_THAT(kernel_refusal("smem=1024"), HasSubstr("compute is missing"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,thread=32"), HasSubstr("did you mean threads?"));
  EXPECT_THAT(kernel_refusal("smem=1MB,compute=5"), HasSubstr("smem is '1MB'"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5KiB"), HasSubstr("expected a time"));
  EXPECT_THAT(kernel_refusal("smem=-1,compute=5"), HasSubstr("smem is '-1'"));
  EXPECT_THAT(kernel_refusal("smem=nan,compute=5"), HasSubstr("smem is 'nan'"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=0"), HasSubstr("compute"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,threads=2048"),
              HasSubstr("threads is 2048: expected 1 to 1024"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,regs=256"), HasSubstr("regs is 256"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,copy=tma"), HasSubstr("async, bulk or registers"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,form=role"),
              HasSubstr("form is 'role': expected pipeline or roles"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,from=disk"),
              HasSubstr("from is 'disk': expected memory or cache"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,next=early"),
              HasSubstr("next is 'early': expected after, before or blocking"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,next=before,form=roles"),
              HasSubstr("expected form=pipeline"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,slots=2"), HasSubstr("slots and step: expected both"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,step=9clk"), HasSubstr("slots and step: expected both"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,step=9clk,slots=7"),
              HasSubstr("slots is 7: expected 1 to 6"));
  EXPECT_THAT(kernel_refusal("smem=1024,compute=5,blocks=-1"), HasSubstr("blocks is -1: expected 1"));
  EXPECT_THAT(kernel_refusal("smem"), HasSubstr("member=value"));
}

TEST(advise, answers_in_json) {
  const answer a =
      answer::parse(advise_json(R"({"about": "gemm", "m": 512, "n": 512, "k": 512, "device": "H100"})"));
  EXPECT_EQ(a.at("device"), "NVIDIA H100 SXM");
  EXPECT_FALSE(a.at("pick").at("policy").get<std::string>().empty());
  double parts = 0;
  for (const auto& [what, seconds] : a.at("pick").at("parts").items()) parts += seconds.get<double>();
  EXPECT_NEAR(parts, a.at("pick").at("seconds").get<double>(), 1e-12);
  EXPECT_EQ(a.at("pipelined").at("stages").size(), 6U);
  const answer k =
      answer::parse(advise_json(R"({"about": "kernel", "kernel": "smem=16KiB,compute=900clk"})"));
  EXPECT_EQ(k.at("pipelined").at("kernel"), "this kernel");
  const answer whole{{"about", "scan"}, {"count", 1000}, {"profile", to_text(shipped_profile("A100"))}};
  EXPECT_EQ(answer::parse(advise_json(whole.dump())).at("device"), "NVIDIA A100");
  EXPECT_THAT(refusal("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal(R"({"about": "sort"})"), HasSubstr("'sort': expected gemm, scan or kernel"));
  EXPECT_THAT(refusal(R"({"about": "gemm", "m": 1, "n": 2})"), HasSubstr("'k' is missing"));
  EXPECT_THAT(refusal(R"({"about": "gemm", "m": 1, "n": 2, "k": 0.5})"), HasSubstr("'k' is 0.5"));
  EXPECT_THAT(refusal(R"({"about": "gemm", "m": 0, "n": 2, "k": 3})"), HasSubstr("m is 0"));
  EXPECT_THAT(refusal(R"({"about": "scan", "count": 5, "size": 3})"), HasSubstr("size is 3"));
  EXPECT_THAT(refusal(R"({"about": "scan", "count": 5, "device": 7})"), HasSubstr("'device'"));
}

}  // namespace
}  // namespace antiphase
