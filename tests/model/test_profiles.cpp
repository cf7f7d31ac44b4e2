// SPDX-License-Identifier: Apache-2.0
// Machine profiles: files read and refused, the shipped ones, and that of a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/machine.hpp>
#include <antiphase/executor/published.hpp>
#include <nlohmann/json.hpp>

namespace antiphase {
namespace {

using testing::HasSubstr, testing::StartsWith;
using ordered = nlohmann::ordered_json;

ordered h200_file() { return ordered::parse(to_text(shipped_profile("H200"))); }
std::string profile_refusal(const ordered& content) {
  try {
    parse_profile(content.dump(), "'p.json'");
  } catch (const bad_request& e) {
    return e.what();
  }
  return "taken";
}

TEST(machine_profile, is_read_as_it_was_written) {
  for (const machine_profile& p : shipped_profiles()) {
    const machine_profile again = parse_profile(to_text(p), "text");
    EXPECT_EQ(again.limits.name, p.limits.name);
    EXPECT_EQ(numbers_of(again.limits), numbers_of(p.limits));
    for (const machine_member& m : machine_members()) {
      EXPECT_EQ((again.*m.figure).value, (p.*m.figure).value) << m.name;
      EXPECT_EQ((again.*m.figure).source, (p.*m.figure).source) << m.name;
    }
  }
}

TEST(machine_profile, every_number_has_a_source_and_only_measured_devices_are_called_so) {
  for (const machine_profile& p : shipped_profiles())
    for (const machine_member& m : machine_members()) {
      const std::string& source = (p.*m.figure).source;
      const std::string kind = source.substr(0, source.find(':'));
      EXPECT_TRUE(kind == "measured" || kind == "published" || kind == "assumed" || kind == "fitted")
          << p.limits.name << " " << source;
      const bool memory_of_other = m.figure == &machine_profile::memory_in_flight;
      if (p.limits.name != "NVIDIA H200" && !memory_of_other) {
        EXPECT_NE(kind, "measured") << p.limits.name << " " << m.name;
      }
    }
  const device_limits& published = published_device("9.0");
  device_limits shipped = shipped_profile("h200").limits;
  EXPECT_EQ(numbers_of(shipped), numbers_of(published));
  EXPECT_EQ(numbers_of(shipped_profile("rtx-4090").limits), numbers_of(published_device("8.9")));
  EXPECT_EQ(numbers_of(shipped_profile("A100").limits), numbers_of(published_device("8.0")));
}

TEST(machine_profile, names_are_found_and_refused) {
  EXPECT_EQ(shipped_profile("nvidia h200").limits.name, "NVIDIA H200");
  EXPECT_EQ(shipped_profile("H100").limits.name, "NVIDIA H100 SXM");
  try {
    shipped_profile("H20");
    FAIL();
  } catch (const bad_request& e) {
    EXPECT_THAT(e.what(), HasSubstr("'H20'"));
    EXPECT_THAT(e.what(), HasSubstr("NVIDIA A100"));
  }
}

TEST(machine_profile, what_is_wrong_is_told) {
  EXPECT_THAT(profile_refusal(ordered::array()), HasSubstr("'p.json': not a JSON object"));
  ordered p = h200_file();
  p["machine_profile"] = 2;
  EXPECT_THAT(profile_refusal(p), HasSubstr("'machine_profile' is 2: expected 1"));
  p = h200_file();
  p.erase("name");
  EXPECT_THAT(profile_refusal(p), HasSubstr("'name' is missing"));
  p = h200_file();
  p["compute_capability"] = "nine";
  EXPECT_THAT(profile_refusal(p), HasSubstr("\"nine\""));
  p = h200_file();
  p["limits"]["multiprocessors"] = 0;
  EXPECT_THAT(profile_refusal(p), HasSubstr("'multiprocessors' is 0"));
  p = h200_file();
  p["figures"].erase("clock_hz");
  EXPECT_THAT(profile_refusal(p), HasSubstr("'clock_hz' is missing"));
  for (const ordered& bad : {ordered(0), ordered(-1), ordered("fast"), ordered(nullptr), ordered(1e300)}) {
    p = h200_file();
    p["figures"]["memory_bytes_per_second"]["value"] = bad;
    EXPECT_THAT(profile_refusal(p), HasSubstr("'memory_bytes_per_second'")) << bad;
  }
  p = h200_file();
  p["figures"]["tensor_fp16_per_second"]["value"] = 0;  // a device without Tensor Cores
  EXPECT_EQ(profile_refusal(p), "taken");
  EXPECT_THROW(read_profile("/nonexistent/profile.json"), bad_request);
}

TEST(machine_profile, devices_have_their_own_or_a_yardstick) {
  device_limits d = shipped_profile("H200").limits;
  EXPECT_EQ(profile_of(d).memory_bytes.value, 4.24e12);
  for (const auto& [name, of] : {std::pair{"NVIDIA H100 80GB HBM3", "H100"},
                                 {"NVIDIA GeForce RTX 4090", "RTX 4090"},
                                 {"NVIDIA A100-SXM4-40GB", "A100"}}) {
    device_limits same = shipped_profile(of).limits;
    same.name = name;
    EXPECT_EQ(profile_of(same).memory_bytes.value, shipped_profile(of).memory_bytes.value) << name;
    EXPECT_EQ(profile_of(same).limits.name, name);
  }
  d.name = "Some GPU";
  d.multiprocessors = 66;
  const machine_profile half = profile_of(d);
  EXPECT_EQ(half.memory_bytes.value, 2.12e12);
  EXPECT_EQ(half.tensor_fp16.value, 4.09e14 / 2);
  EXPECT_EQ(half.limits.name, "Some GPU");
  for (const machine_member& m : machine_members())
    EXPECT_THAT((half.*m.figure).source, StartsWith("assumed: "));
  const machine_profile turing = profile_of(published_device("7.5"));
  EXPECT_EQ(turing.multiply_adds.value, 64);
}

}  // namespace
}  // namespace antiphase
