// SPDX-License-Identifier: Apache-2.0
// Timelines as trace files.
#include <gtest/gtest.h>
#include "tool/pictures/perfetto.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/trace/well_formed.hpp"

namespace antiphase::tool {
namespace {

using antiphase::testing::made_up;
using nlohmann::json;

// made_up() with waits long enough to be seen: a load takes 200, its computation 400.
timeline with_long_waits(int stages, int steps) {
  timeline t = made_up(stages, steps);
  for (span_record& s : t.spans) s.begin *= 20, s.end *= 20;
  return t;
}

TEST(Perfetto, HasEverySpanUnderItsWarp) {
  const std::vector<timeline> timelines{made_up(1, 3), made_up(3, 5)};
  const json trace = json::parse(perfetto_json(timelines));
  std::map<std::string, int> threads;  // of the second timeline, by name
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "M" && e.at("name") == "thread_name" && e.at("pid") == 2)
      threads[e.at("args").at("name")] = e.at("tid");
  ASSERT_EQ(threads.size(), 4u);  // three buffers and a warp

  std::multiset<std::pair<double, double>> in_trace, in_timeline;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X" && e.at("pid") == 2 && e.at("tid") == threads.at("warp 0"))
      in_trace.insert({e.at("ts").get<double>(), e.at("dur").get<double>()});
  for (const span_record& s : timelines[1].spans)
    in_timeline.insert({static_cast<double>(s.begin) / 1000, static_cast<double>(s.end - s.begin) / 1000});
  EXPECT_EQ(in_trace, in_timeline);
}

TEST(Perfetto, ShowsBuffersLoadedThenComputedFrom) {
  const json trace = json::parse(perfetto_json(std::vector{made_up(2, 6)}));
  std::map<int, std::vector<json>> buffers;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X" && e.at("tid") < 1000) buffers[e.at("tid").get<int>()].push_back(e);
  ASSERT_EQ(buffers.size(), 2u);
  for (const auto& [slot, events] : buffers) {
    ASSERT_EQ(events.size(), 6u);
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].at("cat"), i % 2 == 0 ? "load in flight" : "compute");
      EXPECT_EQ(events[i].at("args").at("step"), slot + 2 * static_cast<int>(i / 2));
      const auto begin = [&](std::size_t n) { return events[n].at("ts").get<double>(); };
      const double before = i == 0 ? 0 : begin(i - 1) + events[i - 1].at("dur").get<double>();
      EXPECT_GE(begin(i) + 1e-9, before);
    }
  }
}

TEST(Perfetto, CountsBuffersAndBytesInFlight) {
  timeline t = with_long_waits(2, 6);
  t.step_bytes = 100;
  const json trace = json::parse(perfetto_json(std::vector{t}));
  std::map<double, std::map<std::string, int>> at;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "C")
      for (const auto& [name, value] : e.at("args").items()) at[e.at("ts")][name] = value;
  // The first load alone until 200; from there on the next is in flight for as long as one is computed from.
  const std::map<std::string, int> none{{"in use", 0}, {"full", 0}, {"loading", 0}, {"bytes", 0}};
  ASSERT_GT(at.size(), 6u);
  EXPECT_EQ(at.begin()->second,
            (std::map<std::string, int>{{"in use", 0}, {"full", 0}, {"loading", 1}, {"bytes", 100}}));
  EXPECT_EQ(at[.2], (std::map<std::string, int>{{"in use", 1}, {"full", 0}, {"loading", 1}, {"bytes", 100}}));
  EXPECT_EQ(at[.4], (std::map<std::string, int>{{"in use", 1}, {"full", 1}, {"loading", 0}, {"bytes", 0}}));
  EXPECT_EQ(at.rbegin()->second, none);
}

TEST(Perfetto, ArrowsLeadFromLoadsToUsesAndFromArrivalsToWaits) {
  for (const int stages : {1, 2}) {
    const json trace = json::parse(perfetto_json(std::vector{with_long_waits(stages, 4)}));
    std::map<int, std::vector<json>> arrows;
    std::map<std::string, int> count;
    for (const json& e : trace.at("traceEvents"))
      if (e.value("cat", "") == "flow") arrows[e.at("id")].push_back(e);
    for (const auto& [id, ends] : arrows) {
      ASSERT_EQ(ends.size(), 2u);
      EXPECT_EQ(ends[0].at("ph"), "s");
      EXPECT_EQ(ends[1].at("ph"), "f");
      EXPECT_LE(ends[0].at("ts"), ends[1].at("ts"));
      ++count[ends[0].at("name")];
      for (const json& end : ends) {  // each lies in a span of its thread, which it binds to
        int covering = 0;
        for (const json& e : trace.at("traceEvents"))
          covering += e.at("ph") == "X" && e.at("tid") == end.at("tid") && e.at("ts") <= end.at("ts") &&
                      end.at("ts").get<double>() <= e.at("ts").get<double>() + e.at("dur").get<double>();
        EXPECT_GT(covering, 0) << end;
      }
    }
    EXPECT_EQ(count["load to its use"], 4);
    // With one buffer every wait is ended by a landing; with two only the first.
    EXPECT_EQ(count["landing ends a wait"], stages == 1 ? 4 : 1);
  }
}

TEST(Perfetto, NamesProcessesAndCarriesTheFigures) {
  const json trace = json::parse(perfetto_json(std::vector{made_up(1, 5), made_up(2, 5)}));
  std::vector<std::string> names;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("name") == "process_name") names.push_back(e.at("args").at("name"));
  ASSERT_EQ(names.size(), 2u);
  EXPECT_NE(names[0].find("1 stage,"), std::string::npos);
  EXPECT_NE(names[1].find("2 stages,"), std::string::npos);
  const json& about = trace.at("otherData").at("timelines");
  EXPECT_EQ(about.at(0).at("hidden"), 0.0);
  EXPECT_EQ(about.at(1).at("steps_hidden"), 4);
  EXPECT_EQ(about.at(1).at("unit"), "cycles");
}

}  // namespace
}  // namespace antiphase::tool
