// SPDX-License-Identifier: Apache-2.0
// Options of bench gemm that select a list of products.
#include <fmt/format.h>

#include <antiphase/core/error.hpp>

#include "tool/commands/bench/list/bench_gemm_list.hpp"

namespace antiphase::tool {
namespace {

constexpr std::int64_t usual_largest = 16384, most_largest = 1 << 20, most_depth = 1 << 24,
                       most_random = 100000;

product_list suite_of(const std::string& file) {
  if (file.empty()) return {.option = "--suite", .set = "suite", .products = suite_of_products()};
  return {.option = "--suite", .set = file, .products = read_products(file)};
}
product_list random_list(std::int64_t seed, std::int64_t count, std::int64_t largest) {
  if (count < 1 || count > most_random)
    throw bad_request(fmt::format("--random {} {}: expected a seed and a number of products from 1 to {}",
                                  seed, count, most_random));
  return {.option = "--random",
          .set = fmt::format("random {}", seed),
          .products = random_products(static_cast<std::uint64_t>(seed), count, largest)};
}

product_list list_that_is_asked_for(const product_list_options& options) {
  if (options.suite) return suite_of(*options.suite);
  const std::int64_t largest = options.largest > 0 ? options.largest : usual_largest;
  product_list list;
  if (options.map)
    list = {.option = "--map",
            .set = fmt::format("map {}", *options.map),
            .products = map_of_products(*options.map, largest)};
  else if (options.serving)
    list = {.option = "--serving",
            .set = "serving",
            .products = products_of_serving(largest),
            .invariance = batch_invariance::measured};
  else
    list = random_list(options.random[0], options.random[1], largest);
  if (largest != usual_largest) list.set += fmt::format(" up to {}", largest);
  return list;
}

}  // namespace

void add_list_options(arguments command, product_list_options& options) {
  command
      .add_option("--random", options.random,
                  "That many products of random shapes, the same for the same seed")
      .values(2, 2)
      .check(integer_from(0))
      .type_name("SEED COUNT");
  command
      .add_option("--suite", options.suite,
                  "The products of a file like bench/suite.json; without a name, of that file")
      .values(0, 1)
      .type_name("[FILE]");
  command.add_option("--map", options.map, "M x N for all powers of two, with this K")
      .check(integer_between(1, most_depth))
      .type_name("K");
  command.add_flag("--serving", options.serving,
                   "Products of a model that serves 1 to 512 tokens at once, also with batch_invariant "
                   "results: what that costs");
  command
      .add_option("--largest", options.largest,
                  "Largest extent of --random and --serving, and M, N of --map (default 16384)")
      .check(integer_between(1, most_largest))
      .type_name("N");
}

std::optional<product_list> list_of(const product_list_options& options) {
  std::vector<const char*> given;
  if (!options.random.empty()) given.push_back("--random");
  if (options.suite) given.push_back("--suite");
  if (options.map) given.push_back("--map");
  if (options.serving) given.push_back("--serving");
  if (given.size() > 1) throw bad_request(fmt::format("{} and {}: expected one of them", given[0], given[1]));
  if (options.largest > 0 && (options.suite || given.empty()))
    throw bad_request("--largest is for --random, --map and --serving: expected one of them");
  if (given.empty()) return std::nullopt;
  return list_that_is_asked_for(options);
}

}  // namespace antiphase::tool
