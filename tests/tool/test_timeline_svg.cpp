// SPDX-License-Identifier: Apache-2.0
// The picture of timelines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include "tool/pictures/timeline_svg.hpp"

#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include "tests/trace/well_formed.hpp"
#include "well_formed_xml.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::made_up;
using antiphase::testing::xml_fault;
using ::testing::HasSubstr;
using ::testing::Not;

struct bar {
  double x, y, width;
  std::string colour, hint;
};
std::vector<bar> bars_of(const std::string& svg) {
  static const std::regex rect(
      R"re(<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)"[^>]*fill="(#[0-9a-f]+)"[^>]*><title>([^<]*)</title>)re");
  std::vector<bar> bars;
  for (std::sregex_iterator it(svg.begin(), svg.end(), rect), none; it != none; ++it)
    bars.push_back(
        {std::stod(it->str(1)), std::stod(it->str(2)), std::stod(it->str(3)), it->str(4), it->str(5)});
  return bars;
}
bar bar_with(const std::string& svg, const std::string& hint) {
  for (const bar& b : bars_of(svg))
    if (b.hint.starts_with(hint)) return b;
  ADD_FAILURE() << "no bar '" << hint << "'";
  return {};
}

TEST(XmlJudge, TellsGoodFromBad) {
  for (const char* good : {"<a/>", "<a x=\"1\"><b>t &amp; u</b>\n<b y:z=\"&#181;\"/></a>\n"})
    EXPECT_EQ(xml_fault(good), "") << good;
  for (const char* bad :
       {"", "text", "<a>", "</a>", "<a></b>", "<a><b></a></b>", "<a>&</a>", "<a>a < b</a>", "<a x=1/>",
        "<a x=\"1\" x=\"2\"/>", "<a/><a/>", "<a/>b", "<a>&nbsp;</a>", "<a x=\"&\"/>", "<a>\x01</a>"})
    EXPECT_NE(xml_fault(bad), "") << bad;
}

TEST(TimelineSvg, IsWellFormedAndComplete) {
  const std::vector<timeline> timelines{made_up(1, 6), made_up(2, 6), made_up(3, 6)};
  const std::string svg = timeline_svg(timelines);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  for (const char* text :
       {"1 stage<", "2 stages<", "3 stages<", ">buffer 2<", "(in 0 of 6 steps)", "(in 5 of 6 steps)",
        "time in clock cycles", "Recorded on a test, in clock cycles."})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_EQ(bars_of(svg).size(),
            // the legend's; per timeline a load and two computations per step, and one for waiting warps
            3u + 3 * (3 * 6 + 1));
  EXPECT_EQ(svg, timeline_svg(timelines)) << "the same timelines give the same text";
}

// One scale for all: bars match the spans, and those of one buffer do not overlap.
TEST(TimelineSvg, BarsLieWhereTheSpansDo) {
  const std::string svg = timeline_svg(std::vector{made_up(2, 4)});  // ends at 90
  const bar first = bar_with(svg, "step 0, load in flight: 0 to 10"),
            compute = bar_with(svg, "step 1, compute: 30 to 50");
  const bar load = bar_with(svg, "step 2, load in flight: 30 to 50");
  EXPECT_NEAR(compute.x - first.x, 3 * first.width, 0.05);
  EXPECT_NEAR(compute.width, 2 * first.width, 0.05);
  EXPECT_NEAR(load.x, compute.x, 0.05);
  EXPECT_EQ(first.y, load.y) << "steps 0 and 2 share a buffer";
  EXPECT_LT(first.y, compute.y);
  EXPECT_NE(first.colour, compute.colour);
}

TEST(TimelineSvg, DrawsAsManyStepsAsAskedFor) {
  const std::string svg = timeline_svg(std::vector{made_up(2, 9)}, {.steps = 4});
  EXPECT_THAT(svg, HasSubstr("step 3, compute"));
  EXPECT_THAT(svg, Not(HasSubstr("step 4, ")));
}

TEST(TimelineSvg, EscapesNames) {
  timeline t = made_up(2, 3);
  t.device = "<GPU> \"R&D\" \x02";
  const std::string svg = timeline_svg(std::vector{t}, {.title = "a < b & 'c'"});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("&lt;GPU&gt; &quot;R&amp;D&quot;"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &apos;c&apos;"));
}

TEST(TimelineSvg, SaysThatTheCpuExecutorsTimesAreAModels) {
  const context where(make_cpu_executor({.seed = 3, .workers = 1}));
  std::vector<float> a(32 * 96, 1.5f), b(96 * 32), c(32 * 32);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 13);
  const gemms::problem p{.a = row_major<const float>(a.data(), 32, 96),
                         .b = row_major<const float>(b.data(), 96, 32),
                         .c = row_major(c.data(), 32, 32)};
  const std::string svg =
      timeline_svg(std::vector{record_gemm(where, "async-2", p), record_gemm(where, "double-buffered", p)});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(
      svg, HasSubstr("CPU executor, for NVIDIA H200: a tick is a cycle of the model, nothing was measured"));
  EXPECT_THAT(
      svg,
      HasSubstr("<title>One block of a GEMM kernel, modelled on the CPU executor, for NVIDIA H200</title>"));
  EXPECT_THAT(svg, HasSubstr("time in ticks"));
  EXPECT_THAT(svg, HasSubstr("(in 2 of 3 steps)"));
}

// A scan's tile goes through five phases; a computing warp has its own bar.
TEST(TimelineSvg, ShowsThePhasesOfARingWithRoles) {
  timeline t{.policy = "tiny",
             .device = "a test",
             .runs_on = target::cuda,
             .unit = "cycles",
             .steps = 1,
             .recorded = 1,
             .warps = 3,
             .kernel = "scan",
             .step_is = "tile",
             .phases = {"load", "look back", "store"},
             .roles = {{.name = "load", .loads = true},
                       {.name = "scan", .first = 1, .computes = true},
                       {.name = "store", .first = 2}}};
  const auto add = [&](int warp, span_kind kind, int event, std::int64_t begin, std::int64_t end) {
    t.spans.push_back({.begin = begin,
                       .end = end,
                       .kind = kind,
                       .event = static_cast<std::int8_t>(event),
                       .step = 0,
                       .slot = 0,
                       .agent = warp});
  };
  add(0, span_kind::load, 0, 0, 10), add(1, span_kind::wait, 0, 5, 500),
      add(1, span_kind::compute, 0, 500, 900);
  add(1, span_kind::commit, 1, 900, 901), add(2, span_kind::wait, 1, 0, 901),
      add(2, span_kind::release, 2, 1500, 1501);
  const std::string svg = timeline_svg(std::vector{t});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("One block of a scan kernel, recorded on a test"));
  EXPECT_THAT(svg, HasSubstr("numbers: the tile"));
  const bar look = bar_with(svg, "step 0, look back: 500 to 900"),
            store = bar_with(svg, "step 0, store: 900 to 1500");
  const bar load = bar_with(svg, "step 0, load in flight: 0 to 500"),
            work = bar_with(svg, "a warp computes: 500 to 900");
  EXPECT_EQ(look.y, load.y);
  EXPECT_LT(look.y, work.y);
  EXPECT_NE(look.colour, store.colour);
  EXPECT_NEAR(store.x, load.x + 900 / 500. * load.width, 0.1);
}

TEST(TimelineSvg, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(timeline_svg({}), bad_request);
  EXPECT_THROW(timeline_svg(std::vector{timeline{.policy = "empty"}}), bad_request);
  std::vector<timeline> mixed{made_up(1, 2), made_up(2, 2)};
  mixed[1].unit = "ns";
  EXPECT_THROW(timeline_svg(mixed), bad_request);
}

}  // namespace
}  // namespace antiphase::tool
