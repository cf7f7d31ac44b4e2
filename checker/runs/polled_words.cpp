// SPDX-License-Identifier: Apache-2.0
// Of a deadlock: what the words hold that threads poll, what they held before, and who has written them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "checker/order/places.hpp"
#include "model.hpp"

namespace antiphase::checker_detail {
namespace {

std::int64_t number_of(const void* p, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, p, bytes);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

}  // namespace

std::string model::polled_words(std::span<const void* const> polled) {
  struct word {
    const void* at;
    std::span<const atomic_write> writes;
  };
  std::vector<word> words;
  std::set<const void*> seen;
  word latest{nullptr, {}};  // of a thread
  for (const void* p : polled) {
    if (p == nullptr && latest.at != nullptr && seen.insert(latest.at).second) words.push_back(latest);
    if (p == nullptr) latest = {nullptr, {}};
    if (!memory.follows(p)) continue;
    const std::size_t offset = memory.offset_of(p);
    if (const auto writes = old.latest(memory.lowest() + offset, memory.byte(offset)); !writes.empty())
      latest = {p, writes};
  }
  // Those that have held the most come first: one of their values is likely to have been lost.
  std::ranges::stable_sort(words, std::ranges::greater{}, [](const word& w) { return w.writes.size(); });
  constexpr std::size_t shown_words = 2;
  std::string all;
  for (const word& w : std::span(words).first(std::min(words.size(), shown_words))) {
    std::string text;
    const void* value = w.at;
    for (std::size_t i = w.writes.size(); i-- > 0; value = &w.writes[i].before) {
      const extent3& b = clocks.block(w.writes[i].block).index;
      const code_place at = places.first_line(w.writes[i].place);
      text += fmt::format("{}{}, written by block ({}, {}, {}), thread {} in {}:{}",
                          text.empty() ? "" : ", before it ", number_of(value, w.writes[i].bytes), b.x, b.y,
                          b.z, w.writes[i].writer, shown(at.file), at.line);
    }
    if (w.writes.front().was_written)
      text += fmt::format(", before it {}", number_of(value, w.writes.front().bytes));
    all += fmt::format("; a polled word holds {}", text);
  }
  return all;
}

}  // namespace antiphase::checker_detail
