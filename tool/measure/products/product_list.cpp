// SPDX-License-Identifier: Apache-2.0
// Lists of products to measure: random, from a file, or a map of sizes.
#include "tool/measure/products/product_list.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cerrno>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <span>

#include "tool/base/errors.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/measure/products/suite.hpp"

namespace antiphase::tool {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 29;  // of A, B and C of a random product: 2 GiB
constexpr const char* layouts[] = {"nn", "nt", "tn", "tt"};
constexpr const char* members[] = {"name", "group", "m", "n", "k", "layout", "beta", "count"};

// The standard specifies the generator's numbers, but not how its distributions transform them.
class dice {
 public:
  explicit dice(std::uint64_t seed) : bits_(seed) {}
  double below_one() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::int64_t extent(std::int64_t largest) {
    const double drawn = std::exp(below_one() * std::log(static_cast<double>(largest)));
    const std::int64_t size = std::clamp<std::int64_t>(std::llround(drawn), 1, largest);
    const bool odd = below_one() < .3;
    if (size <= 3) return size;
    return odd ? (size - 1) | 1 : size / 4 * 4;
  }
  const char* layout() { return layouts[bits_() % std::size(layouts)]; }

 private:
  std::mt19937_64 bits_;
};

double elements(const extents& e) {
  const auto m = static_cast<double>(e.m), n = static_cast<double>(e.n), k = static_cast<double>(e.k);
  return m * k + k * n + m * n;
}

std::string content_of(const std::string& path) {
  const file_handle file = open_file(path, O_RDONLY);
  const auto cannot = [&](const char* what) {
    return bad_input{fmt::format("{}: cannot be {}: {}", input_name(path), what, error_text(errno))};
  };
  if (!file) throw cannot("opened for reading");
  constexpr std::size_t most = std::size_t{1} << 20;
  std::string content(most, '\0');
  const std::ptrdiff_t found = read_fully(file.get(), std::as_writable_bytes(std::span(content)));
  if (found < 0) throw cannot("read");
  if (static_cast<std::size_t>(found) == most)
    throw bad_input{
        fmt::format("{}: too long for a list of products: expected less than 1 MiB", input_name(path))};
  content.resize(static_cast<std::size_t>(found));
  return content;
}

// Reads the members of one product; errors name the file and the product.
class product_reader {
 public:
  product_reader(const json& from, std::string who) : from_(from), who_(std::move(who)) {
    if (!from.is_object()) complain("expected an object");
    for (const auto& [key, value] : from.items())
      if (std::ranges::find(members, key) == std::end(members))
        complain(fmt::format("there is no member {}", tool::quoted(key)));
  }
  std::string text(const char* key) const {
    const json& value = member(key, "a text");
    if (!value.is_string() || value.get<std::string>().empty()) wrong(key, "a text");
    return value.get<std::string>();
  }
  std::string layout() const {
    const std::string found = text("layout");
    if (std::ranges::find(layouts, found) == std::end(layouts)) wrong("layout", "nn, nt, tn or tt");
    return found;
  }
  std::int64_t integer(const char* key) const {
    const json& value = member(key, "an integer from 1 on");
    if (!value.is_number_integer() || value < 1 || value > std::numeric_limits<int>::max())
      wrong(key, "an integer from 1 to 2147483647");
    return value.get<std::int64_t>();
  }
  float number(const char* key) const {
    const json& value = member(key, "a number");
    if (!value.is_number() || !std::isfinite(value.get<float>())) wrong(key, "a number that fits FP32");
    return value.get<float>();
  }
  bool has(const char* key) const { return from_.contains(key); }
  [[noreturn]] void complain(const std::string& what) const {
    throw bad_input{fmt::format("{}: {}", who_, what)};
  }

 private:
  const json& from_;
  std::string who_;

  const json& member(const char* key, const char* expected) const {
    if (!has(key)) complain(fmt::format("'{}' is missing: expected {}", key, expected));
    return from_.at(key);
  }
  [[noreturn]] void wrong(const char* key, const char* expected) const {
    complain(fmt::format("'{}' is {}: expected {}", key,
                         tool::quoted(from_.at(key).dump(-1, ' ', true, json::error_handler_t::replace)),
                         expected));
  }
};

listed_product read_product(const json& from, std::string who) {
  const product_reader read(from, std::move(who));
  listed_product p{.name = read.text("name"),
                   .group = read.text("group"),
                   .size = {read.integer("m"), read.integer("n"), read.integer("k")},
                   .layout = read.layout()};
  if (read.has("beta")) p.beta = read.number("beta");
  if (read.has("count")) p.count = read.integer("count");
  if (elements(p.size) * static_cast<double>(p.count) > 0x1p40)
    read.complain("its matrices are too large: expected at most 2^40 elements");
  return p;
}

}  // namespace

std::vector<listed_product> random_products(std::uint64_t seed, std::int64_t count, std::int64_t largest) {
  std::vector<listed_product> products;
  dice d(seed);
  while (static_cast<std::int64_t>(products.size()) < count) {
    const std::int64_t m = d.extent(largest), n = d.extent(largest), k = d.extent(largest);
    const char* const layout = d.layout();
    if (elements({m, n, k}) > static_cast<double>(most_elements)) continue;
    products.push_back({.name = fmt::format("{}", products.size() + 1),
                        .group = "random",
                        .size = {m, n, k},
                        .layout = layout});
  }
  return products;
}

std::vector<listed_product> map_of_products(std::int64_t k, std::int64_t largest) {
  std::vector<listed_product> products;
  for (std::int64_t m = 1; m <= largest; m *= 2)
    for (std::int64_t n = 1; n <= largest; n *= 2)
      products.push_back({.name = fmt::format("{} x {}", m, n), .group = "map", .size = {m, n, k}});
  return products;
}

std::vector<listed_product> products_of_serving(std::int64_t largest) {
  struct layer {
    const char* name;
    std::int64_t n, k;
  };
  std::vector<listed_product> products;
  for (const layer& l : {layer{"projection", 4096, 4096},
                         {"feed forward, up", 14336, 4096},
                         {"feed forward, down", 4096, 14336}})
    for (const std::int64_t tokens : {1, 8, 32, 128, 512})
      products.push_back({.name = tokens == 1 ? "one token" : fmt::format("{} tokens", tokens),
                          .group = l.name,
                          .size = {std::min(tokens, largest), std::min(l.n, largest), std::min(l.k, largest)},
                          .layout = "nt"});
  return products;
}

std::vector<listed_product> suite_of_products() {
  return parse_products(std::string(suite_text()), "bench/suite.json");
}

std::vector<listed_product> read_products(const std::string& path) {
  return parse_products(content_of(path), input_name(path));
}

std::vector<listed_product> parse_products(const std::string& text, const std::string& from) {
  const json content = json::parse(text, nullptr, false);
  if (content.is_discarded())
    throw bad_input{fmt::format("{}: not JSON: expected a list of products as in bench/suite.json", from)};
  if (!content.is_object() || !content.contains("products") || !content["products"].is_array() ||
      content["products"].empty())
    throw bad_input{
        fmt::format("{}: no products: expected {{\"products\": [...]}} as in bench/suite.json", from)};
  std::vector<listed_product> products;
  std::set<std::string> names;
  for (const json& one : content["products"]) {
    const std::string who = fmt::format("{}: product {}", from, products.size() + 1);
    products.push_back(read_product(one, who));
    const listed_product& p = products.back();
    if (!names.insert(p.group + "\n" + p.name).second)
      throw bad_input{fmt::format("{}: there are two of the group {} called {}: expected names of their own",
                                  who, tool::quoted(p.group), tool::quoted(p.name))};
  }
  return products;
}

}  // namespace antiphase::tool
