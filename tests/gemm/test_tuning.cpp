// SPDX-License-Identifier: Apache-2.0
// Tunings: their files, which one is used, and that it decides what auto takes, but not what is guaranteed.
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm/gain.hpp>
#include <antiphase/gemm_comparison.hpp>
#include <antiphase/version.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/gemm/asked.hpp"

namespace antiphase::gemm_test {
namespace {

using gemms::tuning_class;
using testing::HasSubstr;
using json = nlohmann::json;

gemm_tuning::of_policy factors_of(std::string policy, auto factor) {
  gemm_tuning::of_policy one{std::move(policy), {}};
  for (std::size_t i = 0; i < one.factors.size(); ++i) one.factors[i] = factor(i);
  return one;
}
// For the device: fp64's factors depend on the class, fp16 has one.
gemm_tuning tuning_of(const device_limits& d) {
  return {.source = "made",
          .version = std::string(build_info().version),
          .device = d.name,
          .compute_capability = compute_capability(d),
          .multiprocessors = d.multiprocessors,
          .made = "today",
          .policies = {factors_of("fp64", [](std::size_t i) { return 1 + static_cast<double>(i) / 64; }),
                       factors_of("fp16", [](std::size_t) { return 0.5; })}};
}

TEST(gemm_tuning, classes_are_numbered_without_gaps) {
  for (std::size_t i = 0; i < tuning_class::count; ++i) EXPECT_EQ(gemms::tuning_class_at(i).index(), i);
  const auto place = [](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count = 1) {
    return gemms::tuning_class_of(m, n, k, count).cell;
  };
  using at = std::array<std::size_t, 4>;
  EXPECT_EQ(gemms::tuning_class_of(1, 1, 4).index(), 0U);
  EXPECT_EQ(gemms::tuning_class_of(1 << 20, 1 << 20, (1 << 20) + 1).index(), tuning_class::count - 1);
  EXPECT_EQ(place(64, 2, 4), (at{0, 0, 0, tuning_class::not_m_or_n}));
  EXPECT_EQ(place(4, 68, 8), (at{1, 1, 1, tuning_class::all}));
  EXPECT_EQ(place(68, 4, 8), (at{1, 1, 1, tuning_class::all}));
  EXPECT_EQ(place(1, 512, 64), (at{0, 1, 2, tuning_class::all}));
  EXPECT_EQ(place(3, 513, 65), (at{1, 2, 3, tuning_class::not_k}));
  EXPECT_EQ(place(512, 2048, 4096), (at{5, 2, 5, tuning_class::all}));
  EXPECT_EQ(place(2049, 513, 4097), (at{6, 3, 6, tuning_class::not_k}));
  EXPECT_EQ(place(8, 8, 4, 8), (at{2, 0, 0, tuning_class::all}));
  EXPECT_EQ(place(8, 8, 4, 9), (at{2, 1, 0, tuning_class::all}));
  EXPECT_EQ(place(8, 8, 4, std::int64_t{1} << 62), (at{2, 3, 0, tuning_class::all}));
}

TEST(gemm_tuning, a_file_keeps_all_of_it) {
  const gemm_tuning made = tuning_of(an_h200()), read = gemms::parse_tuning(to_text(made), "'a.json'");
  EXPECT_EQ(read.source, "'a.json'");
  EXPECT_EQ(read.version, made.version);
  EXPECT_EQ(read.device, made.device);
  EXPECT_EQ(read.compute_capability, "9.0");
  EXPECT_EQ(read.multiprocessors, 132);
  EXPECT_EQ(read.made, "today");
  ASSERT_EQ(read.policies.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.policies[i].policy, made.policies[i].policy);
    EXPECT_EQ(read.policies[i].factors, made.policies[i].factors);
  }
  const tuning_class last = gemms::tuning_class_at(tuning_class::count - 1);
  EXPECT_EQ(read.factor("fp64", last), 1 + (tuning_class::count - 1.) / 64);
  EXPECT_EQ(read.factor("fp64-dots", last), 1);
}

// The error is one sentence that names the file.
TEST(gemm_tuning, a_broken_file_is_refused_with_its_name) {
  const json good = json::parse(to_text(tuning_of(an_h200())));
  const auto said = [](const std::string& text) -> std::string {
    try {
      gemms::parse_tuning(text, "'a.json'");
    } catch (const bad_request& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said(good.dump()), "nothing");
  for (const char* text : {"", "{", "[]", "3", "\"gemm\"", "{\"tuning\": \"gemm\"} more", "\xff\xfe"})
    EXPECT_THAT(said(text),
                HasSubstr("tuning 'a.json': not a JSON object: expected a file that 'antiphase tune' wrote"))
        << text;
  EXPECT_THAT(said("{}"), HasSubstr("tuning 'a.json': 'tuning' is missing: expected \"gemm\""));
  EXPECT_THAT(said(std::string(100'000, '[')), HasSubstr("not a JSON object"));

  for (const char* key : {"schema", "tuning", "version", "device", "classes", "factors"}) {
    json without = good;
    without.erase(key);
    EXPECT_THAT(said(without.dump()),
                HasSubstr(std::string("tuning 'a.json': '") + key + "' is missing: expected "))
        << key;
  }
  for (const char* key : {"name", "compute_capability", "multiprocessors"}) {
    json without = good;
    without["device"].erase(key);
    EXPECT_THAT(said(without.dump()), HasSubstr(std::string("'") + key + "' is missing: expected ")) << key;
  }
  for (const char* key : {"schema", "tuning", "version", "device", "classes", "factors", "made"})
    for (const json& value : {json(nullptr), json(-1), json(1e300), json(json::array({1})), json(true)}) {
      json wrong = good;
      wrong[key] = value;
      EXPECT_THAT(said(wrong.dump()),
                  testing::AllOf(HasSubstr("tuning 'a.json': "), HasSubstr(": expected ")))
          << key << value;
    }
  const auto with = [&](const char* pointer, const json& value) {
    json wrong = good;
    wrong[json::json_pointer(pointer)] = value;
    return said(wrong.dump());
  };
  EXPECT_THAT(with("/schema", 2), HasSubstr("'schema' is 2: expected 1"));
  EXPECT_THAT(with("/tuning", "scan"), HasSubstr("'tuning' is \"scan\": expected \"gemm\""));
  EXPECT_THAT(with("/device/name", ""), HasSubstr("'name' is \"\": expected the device's name"));
  for (const char* capability : {"", "9", "9.", ".0", "9.0a", "9,0", "nine", "109.0"})
    EXPECT_THAT(with("/device/compute_capability", capability),
                HasSubstr("expected a compute capability such as \"9.0\""))
        << capability;
  for (const json& number : {json(0), json(-132), json(132.5), json("132"), json(1u << 30)})
    EXPECT_THAT(with("/device/multiprocessors", number), HasSubstr("'multiprocessors' is ")) << number;
  EXPECT_THAT(with("/classes/k", {32, 256}),
              HasSubstr("'k' is [32,256]: expected [4,16,64,256,1024,4096], which this version tells apart"));
  EXPECT_THAT(with("/factors/slit", good["factors"]["fp16"]),
              HasSubstr("a policy 'slit': expected fp64-short, fp64, fp64-dots"));
  EXPECT_THAT(with("/factors/tiled", good["factors"]["fp16"]),
              HasSubstr("a policy 'tiled': expected fp64-short, fp64, fp64-dots"));
  EXPECT_THAT(with("/factors/fp16/4/3/6", {1, 1}),
              HasSubstr("'fp16' is [1,1]: expected arrays of 7, in each 4, in each 7, in each 3 factors"));
  EXPECT_THAT(with("/factors/fp16/7", good["factors"]["fp16"][0]),
              HasSubstr("expected arrays of 7, in each 4"));
  for (const json& factor : {json(0), json(-1), json(1e-9), json(1e9), json("1"), json(nullptr)})
    EXPECT_THAT(with("/factors/fp16/6/3/6/2", factor), HasSubstr("expected factors from 1/1024 to 1024"))
        << factor;
  EXPECT_THAT(said(good.dump() + std::string(10, ' ')), "nothing");
  EXPECT_THROW(gemms::read_tuning("no such file"), bad_request);
  EXPECT_THROW(gemms::read_tuning("/"), bad_request);
}

// On a card without cost models of its own, nothing is taken from cuBLAS by those of another card.
TEST(gemm_tuning, an_unmeasured_card_takes_products_by_its_tuning_alone) {
  device_limits renamed = an_h200(), smaller = an_h200();
  renamed.name = "NVIDIA GH200 480GB", smaller.multiprocessors = 66;
  std::vector<device_limits> all{renamed, smaller};
  for (const char* const capability : {"8.0", "8.6", "8.9", "10.0", "12.0"})
    all.push_back(published_device(capability));
  const gemm_problem p = asked{4096, 4096, 4096}.what();
  for (const device_limits& d : all) {
    SCOPED_TRACE(d.name);
    const context where = on_paper(d);
    EXPECT_FALSE(is_measured(d));
    const gemm_comparison is = compare(where, p);
    EXPECT_EQ(is.gain, 0);
    EXPECT_GT(is.seconds, 0);
    EXPECT_GT(is.cublas_seconds, 0);
    const gemm_tuning own = tuning_of(d), other = tuning_of(an_h200());
    EXPECT_GT(compare(where, p, {.tuning = &own}).gain, 0);
    EXPECT_EQ(compare(where, p, {.tuning = &other}).gain, 0);
  }
  EXPECT_TRUE(is_measured(an_h200()));
  EXPECT_GT(compare(on_paper(an_h200()), p).gain, 1);
}

TEST(gemm_tuning, one_of_another_device_or_version_is_left_aside) {
  const device_limits here = an_h200();
  const gemm_tuning fitting = tuning_of(here);
  EXPECT_EQ(gemms::mismatch(fitting, here), "");
  EXPECT_EQ(gemms::tuning_for(here, &fitting), &fitting);
  EXPECT_THAT(gemms::tuning_text(here, &fitting), testing::StrEq("made, for NVIDIA H200 (today)"));

  const gemm_tuning* const usual = gemms::tuning_for(here);
  const auto expect_aside = [&](const gemm_tuning& t, const std::string& why) {
    EXPECT_THAT(gemms::mismatch(t, here), HasSubstr(why));
    EXPECT_EQ(gemms::tuning_for(here, &t), usual);
    EXPECT_THAT(gemms::tuning_text(here, &t), HasSubstr("made is left aside: " + gemms::mismatch(t, here)));
    const context where = on_paper(here);
    EXPECT_THAT(explain(where, asked{64, 64, 64}.what(), {.tuning = &t}).tuning,
                HasSubstr("made is left aside: "));
  };
  gemm_tuning other = fitting;
  other.device = "NVIDIA H100 PCIe";
  expect_aside(other,
               "it is for NVIDIA H100 PCIe (9.0, 132 multiprocessors), this is NVIDIA H200 (9.0, 132 "
               "multiprocessors)");
  other = fitting;
  other.multiprocessors = 114;
  expect_aside(other, "it is for NVIDIA H200 (9.0, 114 multiprocessors)");
  other = fitting;
  other.compute_capability = "8.0";
  expect_aside(other, "it is for NVIDIA H200 (8.0, 132 multiprocessors)");
  other = fitting;
  other.version = "0.0.1";
  expect_aside(other,
               "it was made with version 0.0.1 of the library, this is " + std::string(build_info().version));

  // Classes and policies in a file of another version are not validated.
  json file = json::parse(to_text(other));
  file["factors"]["faster"] = 3;
  file["classes"] = 1;
  EXPECT_TRUE(gemms::parse_tuning(file.dump(), "'a.json'").policies.empty());
}

TEST(gemm_tuning, without_one_predictions_are_taken_as_they_are) {
  EXPECT_EQ(gemms::tuning_for(an_h200()), nullptr);
  EXPECT_THAT(gemms::tuning_text(an_h200()),
              HasSubstr("none for NVIDIA H200, so predictions are taken as they are"));
}

// Predictions are multiplied by the factor of the policy and the shape's class; auto takes the least result.
TEST(gemm_tuning, factors_decide_among_policies) {
  const device_limits d = an_h200();
  const context where = on_paper(d);
  const gemm_tuning none{};
  EXPECT_EQ(gemms::tuning_text(d, &none), "none, so predictions are taken as they are");
  int changed = 0;
  for (const std::int64_t m : {1, 7, 33, 130, 700})
    for (const std::int64_t n : {1, 60, 512, 3000})
      for (const std::int64_t k : {2, 31, 300, 5000})
        for (const float beta : {0.f, 1.f}) {
          const gemm_problem p = asked{m, n, k, "nn", beta}.what();
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", beta " << beta);
          const gemm_choice plain = explain(where, p, {.tuning = &none});
          const tuning_class of = gemms::tuning_class_of(m, n, k);
          for (const gemm_choice::candidate& c : plain.considered) {
            EXPECT_EQ(c.factor, 1);
            // here: only this shape's class makes the candidate the slowest; else only the other classes do.
            for (const bool here : {true, false}) {
              gemm_tuning slow = tuning_of(d);
              slow.policies = {factors_of(
                  c.kernel, [&](std::size_t i) { return (i == of.index()) == here ? 1000. : 1.; })};
              const gemm_choice tuned = explain(where, p, {.tuning = &slow});
              const auto found =
                  std::ranges::find(tuned.considered, c.kernel, &gemm_choice::candidate::kernel);
              ASSERT_NE(found, tuned.considered.end());
              EXPECT_EQ(found->factor, here ? 1000 : 1);
              EXPECT_EQ(found->predicted, c.predicted * found->factor);
              if (!here) {
                EXPECT_EQ(tuned.kernel, plain.kernel);
              }
              if (here && c.kernel == plain.kernel && plain.considered.size() > 1) {
                EXPECT_NE(tuned.kernel, plain.kernel);
                ++changed;
              }
              if (tuned.kernel == c.kernel) {
                EXPECT_EQ(tuned.predicted, found->predicted);
              }
              EXPECT_EQ(explain(where, p, {.tuning = &slow}).kernel, tuned.kernel);
            }
          }
        }
  EXPECT_GT(changed, 100);
}

// With nothing to multiply there is nothing to choose; empty extents have a class, too.
TEST(gemm_tuning, empty_products_are_fine) {
  const context where = on_paper(an_h200());
  for (const std::int64_t m : {0, 1, 5000})
    for (const std::int64_t n : {0, 1, 5000})
      for (const std::int64_t k : {0, 7})
        for (const std::int64_t count : {0, 1, 3}) {
          if (m * n * k * count != 0) continue;
          const gemm_choice is =
              explain(where, asked{m, n, k}.what(),
                      {.batch = {.count = count, .a_stride = 1 << 20, .c_stride = 1 << 26}});
          EXPECT_TRUE(is.considered.empty());
          EXPECT_GT(is.predicted, 0);
        }
}

// The class is that of one member for policies with a launch for each member, and that of the batch for
// policies that take it in one launch.
TEST(gemm_tuning, batches_and_epilogues_have_the_class_of_what_runs) {
  const device_limits d = an_h200();
  const context where = on_paper(d);
  const std::int64_t m = 64, n = 64, k = 64;
  const gemm_batch of{.count = 500, .a_stride = m * k, .b_stride = k * n, .c_stride = m * n};
  const std::size_t alone = gemms::tuning_class_of(m, n, k).index(),
                    together = gemms::tuning_class_of(m, n, k, 500).index();
  ASSERT_NE(alone, together);
  gemm_tuning t = tuning_of(d);
  t.policies = {factors_of("fp64", [&](std::size_t i) { return i == together ? 3. : 1.; }),
                factors_of("fp16", [&](std::size_t i) { return i == alone ? 2. : 1.; })};
  const std::vector<float> bias(static_cast<std::size_t>(n));
  const gemm_options how{.batch = of, .epilogue = {.column_bias = bias.data()}, .tuning = &t};
  for (const gemm_choice::candidate& c : explain(where, asked{m, n, k}.what(), how).considered) {
    const double right = c.kernel == "fp64" ? 3 : c.kernel == "fp16" ? 2 : 1;
    EXPECT_EQ(c.factor, right) << c.kernel;
  }
}

// With any tuning, a larger product is never offered a smaller workspace, and the offer suffices.
TEST(gemm_tuning, the_workspace_still_grows_with_the_problem) {
  const device_limits d = an_h200();
  const context where = on_paper(d);
  std::vector<gemm_tuning> all{tuning_of(d)};
  for (const gemms::policy_info& p : gemms::policies())
    if (p.ladder == nullptr) {
      all.push_back(tuning_of(d));
      all.back().policies = {
          factors_of(std::string(p.name), [](std::size_t i) { return i % 2 == 0 ? 1 / 500. : 500.; })};
    }
  for (const gemm_tuning& t : all) {
    std::size_t before = 0;
    for (const auto& [m, n, k, count] :
         std::initializer_list<std::array<std::int64_t, 4>>{{1, 1, 1, 1},
                                                            {7, 5, 3, 1},
                                                            {8, 8, 32, 1},
                                                            {9, 9, 33, 1},
                                                            {32, 33, 100, 1},
                                                            {33, 64, 256, 1},
                                                            {64, 64, 257, 1},
                                                            {128, 300, 2048, 1},
                                                            {129, 512, 2049, 1},
                                                            {512, 512, 4096, 1},
                                                            {513, 600, 4096, 1},
                                                            {513, 600, 4096, 2},
                                                            {4096, 600, 4100, 2},
                                                            {4096, 4096, 8192, 2}}) {
      SCOPED_TRACE(testing::Message()
                   << m << " x " << n << " x " << k << " with " << t.policies.front().policy);
      const gemm_options how{
          .batch = {.count = count, .a_stride = m * k, .b_stride = k * n, .c_stride = m * n}, .tuning = &t};
      const std::size_t offered = gemm_workspace(where, asked{m, n, k}.what(), how);
      EXPECT_GE(offered, before);
      EXPECT_GE(offered, explain(where, asked{m, n, k}.what(), how).workspace);
      before = offered;
    }
  }
}

// Each is slowed once it has run, so that another one runs: with the bits that it gives when asked for.
TEST(gemm_tuning, a_call_runs_what_the_tuning_chooses) {
  const context where = context::on("cpu");
  gemm_tuning t = tuning_of(where.limits());
  t.policies.clear();
  const product p = product_of(random_reals(40, 70, 1), random_reals(70, 36, 2));
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b);
  for (int i = 0; i < 3; ++i) {
    matrix c(where, p.c, p.place_c), again(where, p.c, p.place_c);
    gemm_choice ran;
    gemm(where, {.a = a.view(), .b = b.view(), .c = c.view()}, {.ran = &ran, .tuning = &t});
    EXPECT_EQ(std::ranges::count(t.policies, ran.kernel, &gemm_tuning::of_policy::policy), 0) << ran.kernel;
    gemm(where, {.a = a.view(), .b = b.view(), .c = again.view()}, {.policy = ran.kernel});
    EXPECT_TRUE(same_bits(c.read(), again.read())) << ran.kernel;
    t.policies.push_back(factors_of(ran.kernel, [](std::size_t) { return 500.; }));
  }
}

}  // namespace
}  // namespace antiphase::gemm_test
