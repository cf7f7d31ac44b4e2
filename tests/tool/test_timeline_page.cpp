// SPDX-License-Identifier: Apache-2.0
// The page of timelines, without a browser: it is self-contained, and shows the timelines' figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/core/error.hpp>
#include "tool/pictures/timeline_page.hpp"

#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/trace/well_formed.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::made_up;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string data_text(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(open);
  return from == page.npos
             ? std::string()
             : page.substr(from + open.size(), page.find("</script>", from) - from - open.size());
}

TEST(TimelinePage, StandsAlone) {
  EXPECT_LT(timeline_page_template().size(), 64u << 10);
  const std::string page = timeline_page(std::vector{made_up(1, 6), made_up(2, 6)}, "one & <two>");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<title>one &amp; &lt;two&gt;, recorded on a test</title>"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  // Nothing external is loaded: no URL, no other file.
  EXPECT_FALSE(std::regex_search(
      page,
      std::regex(
          "https?:|//[a-z]+\\.[a-z]|@import|url\\(|import\\(|<link(?! rel=\"icon\" href=\"data:,\")|src=")))
      << page;
  EXPECT_EQ(page, timeline_page(std::vector{made_up(1, 6), made_up(2, 6)}, "one & <two>"))
      << "the same timelines give the same text";
}

TEST(TimelinePage, HasEverySpanSlotAndFigure) {
  const std::vector<timeline> timelines{made_up(1, 3), made_up(2, 5)};
  const json data = json::parse(data_text(timeline_page(timelines)));
  EXPECT_EQ(data.at("unit"), "cycles");
  ASSERT_EQ(data.at("timelines").size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const timeline& t = timelines[i];
    const json& told = data.at("timelines").at(i);
    EXPECT_EQ(told.at("title"), "gemm made-up");
    ASSERT_EQ(told.at("spans").size(), 8 * t.spans.size());
    for (std::size_t s = 0; s < t.spans.size(); ++s) {
      const auto number = [&](std::size_t n) { return told.at("spans").at(8 * s + n).get<std::int64_t>(); };
      EXPECT_EQ(number(0), t.spans[s].agent);
      EXPECT_EQ(number(1), static_cast<int>(t.spans[s].kind));
      EXPECT_EQ(number(4), t.spans[s].step);
      EXPECT_EQ(number(6), t.spans[s].begin);
      EXPECT_EQ(number(7), t.spans[s].end - t.spans[s].begin);
    }
    const std::vector<step_times> steps = by_step(t);
    ASSERT_EQ(told.at("slots").size(), 9 * steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      EXPECT_EQ(told.at("slots").at(9 * s), steps[s].slot);
      EXPECT_EQ(told.at("slots").at(9 * s + 2), steps[s].issued);
      EXPECT_EQ(told.at("slots").at(9 * s + 6), steps[s].compute_end);
    }
    const overlap o = measure(t);
    EXPECT_EQ(told.at("summary").at("hidden"), o.hidden);
    EXPECT_EQ(told.at("summary").at("waiting"), o.waiting);
    EXPECT_EQ(told.at("summary").at("limited_by"), o.limited_by);
  }
}

TEST(TimelinePage, PlaysWhatBreaksWithoutAWait) {
  drawn_finding f{.title = "1. overwritten in use: kernel k",
                  .memory = "shared memory, byte 4",
                  .now = "write",
                  .earlier = "read",
                  .missing = "a wait",
                  .replay = "antiphase check k",
                  .schedule = {.lanes = {{"thread 0",
                                          {{.kind = event_kind::write,
                                            .action = "writes",
                                            .place = {"k.cu", 7},
                                            .begin = 1,
                                            .end = 2,
                                            .mark = event_mark::now}}}},
                               .end = 3},
                  .lines = {{{"k.cu", 7}, "a[i] = 1;"}},
                  .without = "slot"};
  const std::vector<timeline> two{made_up(1, 3), made_up(2, 3)};
  const json data =
      json::parse(data_text(timeline_page(two, "t", std::vector<taken_wait>{{.timeline = 1, .finding = f}})));
  EXPECT_FALSE(data.at("timelines").at(0).contains("broken"));
  const json& broken = data.at("timelines").at(1).at("broken");
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken.at(0).at("without"), "slot");
  EXPECT_EQ(broken.at(0).at("end"), 3);
  EXPECT_EQ(broken.at(0).at("lines"), json::parse(R"([["k.cu:7", "a[i] = 1;"]])"));
  EXPECT_EQ(broken.at(0).at("lanes").at(0).at("events").at(0),
            json::parse(R"([1, "writes", "k.cu:7", 1, 1, 2, 1, false])"));
}

// The page shows the loop of a ring of one slot, and that of more.
TEST(TimelinePage, ShowsTheLoopOfThePipeline) {
  std::ifstream file(PIPELINE_HEADER);
  const std::string source{std::istreambuf_iterator<char>(file), {}}, page{timeline_page_template()};
  const std::size_t loop = source.find("if constexpr (lead == 0)"), other = source.find("} else {", loop),
                    end = source.find("channel.release(position)", other);
  ASSERT_NE(end, source.npos);
  const auto calls = [&](std::size_t from, std::size_t to) {
    std::string told = "[";
    const std::regex call(R"re((?:if \(i \+ lead < steps\) )?(?:channel\.(\w+)|(load|compute))\([^;]*;)re");
    const std::string text = source.substr(from, to - from) + "channel.release(position);";
    for (std::sregex_iterator i(text.begin(), text.end(), call); i != std::sregex_iterator(); ++i) {
      std::string verb = (*i)[1].matched ? (*i)[1] : (*i)[2];
      for (char& c : verb) c = static_cast<char>(std::toupper(c));
      told += (told.size() > 1 ? ", [\"" : "[\"") + i->str() + "\", " + verb + "]";
    }
    return told + "]";
  };
  EXPECT_THAT(page, HasSubstr(calls(loop, other)));
  EXPECT_THAT(page, HasSubstr(calls(other, end)));
}

TEST(TimelinePage, NamesCannotEndItsScript) {
  timeline t = made_up(2, 3);
  t.policy = "</script><script>alert(1)</script><!--";
  const std::string page = timeline_page(std::vector{t});
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_EQ(json::parse(data_text(page)).at("timelines").at(0).at("title"), "gemm " + t.policy);
  EXPECT_THAT(data_text(page), Not(HasSubstr("<!")));
}

TEST(TimelinePage, SaysWhatWasMeasured) {
  timeline t = made_up(2, 3);
  EXPECT_THAT(timeline_page(std::vector{t}), HasSubstr("Recorded on a test, in clock cycles."));
  t.runs_on = target::cpu;
  EXPECT_THAT(timeline_page(std::vector{t}), HasSubstr("nothing was measured"));
  EXPECT_THAT(timeline_page(std::vector{t}),
              HasSubstr("pipeline, modelled on the CPU executor, for a test</title>"));
}

TEST(TimelinePage, HasARecordingNextToItsModel) {
  std::vector<timeline> both{made_up(1, 2), made_up(2, 2)};
  both[0].unit = "cycles", both[0].runs_on = target::cuda;
  both[1].unit = "ticks", both[1].runs_on = target::cpu;
  const std::string page = timeline_page(both);
  EXPECT_THAT(page, HasSubstr("\"unit\":\"cycles\""));
  EXPECT_THAT(page, HasSubstr(", recorded\""));
  EXPECT_THAT(page, HasSubstr(", modelled\""));
  EXPECT_THAT(page, HasSubstr("A tick is a cycle of a modelled multiprocessor"));
  EXPECT_THAT(timeline_page(std::vector{both[0]}), Not(HasSubstr(", recorded\"")));
}

TEST(TimelinePage, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(timeline_page({}), bad_request);
  EXPECT_THROW(timeline_page(std::vector{timeline{.policy = "empty"}}), bad_request);
  std::vector<timeline> mixed{made_up(1, 2), made_up(2, 2)};
  mixed[1].unit = "ns";
  EXPECT_THROW(timeline_page(mixed), bad_request);
}

}  // namespace
}  // namespace antiphase::tool
