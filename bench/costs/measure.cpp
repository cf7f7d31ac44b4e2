// SPDX-License-Identifier: Apache-2.0
// Times every plausible way to compute random products, for scripts/cost_models/fit.py.
//
//   measure_ways SECONDS FILE
//
// FILE becomes a JSON object: the device, and for each product [M, N, K, members, whether C is added to, "WAY
// us WAY us ..."], each time the mean over the four layouts of densely packed operands, measured in CUDA
// graphs. Every run takes the same products, as many as there is time for.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/version.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "library/gemm/choice/choose.hpp"
#include "tool/measure/graphs/graph_times.hpp"
#include "tool/measure/products/product_list.hpp"
#include "tool/measure/products/product_memory.hpp"

namespace antiphase::fit {
namespace {

using tool::listed_product;

constexpr std::uint64_t seed = 20261127;  // differs from the lists of bench gemm, which check the fit
constexpr std::int64_t products = 16384, largest = 8192;
// relative to the fastest predicted way; slower ones are not measured
constexpr double worth_measuring = 2.2;
constexpr std::size_t most_ways = 12;

gemms::product_shape shape_of(const listed_product& p) {
  return {p.size.m, p.size.n, p.size.k, p.count, p.beta != 0};
}

// Log-uniform shapes; every third with extents rounded down to multiples of 8. Every fifth adds C; some small
// ones are batches.
std::vector<listed_product> drawn() {
  std::vector<listed_product> all = tool::random_products(seed, products, largest);
  for (std::size_t i = 0; i < all.size(); ++i) {
    listed_product& p = all[i];
    p.beta = i % 5 == 4;
    if (i % 3 == 2)
      for (std::int64_t* e : {&p.size.m, &p.size.n, &p.size.k}) *e = *e > 8 ? *e / 8 * 8 : *e;
    if (i % 9 == 8 && p.of_a() + p.of_b() + p.of_c() < 1 << 16) p.count = 4 << i % 8;
  }
  return all;
}

class ways_measured {
 public:
  ways_measured(const context& where, const std::vector<listed_product>& all)
      : where_(where),
        models_(costs::models_of(where.limits())),
        memory_(where, all, 0),
        workspace_(where, std::size_t{256} << 20) {}

  std::string of(listed_product p) {
    std::vector<gemms::way> ways = ways_of(shape_of(p), where_.limits(), models_);
    const auto seconds = [&](const gemms::way& w) { return w.seconds(models_); };
    std::ranges::sort(ways, {}, seconds);
    const double most = worth_measuring * seconds(ways.front());
    std::erase_if(ways, [&](const gemms::way& w) { return seconds(w) > most; });
    if (ways.size() > most_ways) ways.resize(most_ways);
    std::map<std::size_t, double> sums;
    std::vector<int> seen(ways.size());
    for (const char* const layout : {"nn", "nt", "tn", "tt"}) {
      p.layout = layout;
      const gemms::request request = gemms::request_for(where_, memory_.problem(p), memory_.options(p, {}));
      std::vector<tool::work> works;
      std::vector<std::size_t> which;
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const std::optional<choices::plan> made = ways[i].plan_for(request);
        if (!made || made->workspace > workspace_.size()) continue;
        works.push_back([this, made](stream on) {
          made->launch({.context = where_, .memory = {workspace_.data(), made->workspace}, .queue = on});
        });
        which.push_back(i);
      }
      if (works.empty()) continue;
      const std::vector<tool::timing> times =
          tool::graph_times(where_, works, {.samples = 3, .graph_us = 100, .most_runs = 30, .works_ms = 40});
      for (std::size_t i = 0; i < which.size(); ++i) sums[which[i]] += times[i].median_us, ++seen[which[i]];
    }
    std::string text;
    for (const auto& [i, sum] : sums)
      if (seen[i] == 4) text += fmt::format("{}{} {:.4g}", text.empty() ? "" : " ", ways[i].name, sum / 4);
    return text;
  }

 private:
  const context& where_;
  const costs::models& models_;
  tool::product_memory memory_;
  device_array<std::byte> workspace_;
};

int run(double seconds, const char* path) {
  const context where = context::on("cuda");
  const std::vector<listed_product> all = drawn();
  ways_measured measure(where, all);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const listed_product& p : all) {
    if (std::chrono::steady_clock::now() >= end) break;
    rows.push_back({p.size.m, p.size.n, p.size.k, p.count, static_cast<int>(p.beta), measure.of(p)});
  }
  std::ofstream file(path);
  file << "{\"device\": " << nlohmann::json(where.limits().name)
       << ", \"multiprocessors\": " << where.limits().multiprocessors
       << ", \"version\": " << nlohmann::json(std::string(build_info().version)) << ",\n \"products\": [\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    file << "  " << rows[i].dump() << (i + 1 < rows.size() ? ",\n" : "\n");
  file << "]}\n";
  file.close();
  fmt::print("{} products on {}\n", rows.size(), where.limits().name);
  return file ? 0 : 1;
}

}  // namespace
}  // namespace antiphase::fit

int main(int count, char** words) try {
  if (count != 3) {
    fmt::print(stderr, "usage: measure_ways SECONDS FILE\n");
    return 2;
  }
  return antiphase::fit::run(std::atof(words[1]), words[2]);
} catch (const std::exception& e) {
  fmt::print(stderr, "measure_ways: {}\n", e.what());
  return 1;
}
