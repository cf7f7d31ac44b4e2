// SPDX-License-Identifier: Apache-2.0
#include "library/choice/remembered.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace antiphase::choices {

struct remembered {
  plan runs;
  std::vector<std::uint64_t> words;
  std::string device;
  int users = 0;  // recalled objects
};

namespace {

// Direct-mapped: a call replaces the one in its place when it comes for the second time. An entry has about a
// kilobyte.
constexpr std::size_t places = 256;
struct table {
  std::array<std::unique_ptr<remembered>, places> known{};
  std::array<std::uint64_t, places> seen{};  // hashes of calls that came once
};

// Per thread. Calls from thread-local destructors that run after forgetting's find no table and make none.
thread_local table* of_thread = nullptr;
thread_local bool has_ended = false;
struct forgetting {
  ~forgetting() {
    delete of_thread;
    of_thread = nullptr;
    has_ended = true;
  }
};
table* made_table() {
  if (of_thread != nullptr || has_ended) return of_thread;
  static thread_local const forgetting at_the_end;
  static_cast<void>(at_the_end);
  return of_thread = new (std::nothrow) table;
}

std::size_t place_of(std::uint64_t hash) { return static_cast<std::size_t>(hash % places); }

remembered* recall(const call_key& key) {
  if (of_thread == nullptr) return nullptr;
  remembered* const here = of_thread->known[place_of(key.hash())].get();
  return here != nullptr && std::ranges::equal(here->words, key.words()) && here->device == key.device()
             ? here
             : nullptr;
}

}  // namespace

void call_key::add_device(family calls) {
  const auto numbers = numbers_of(device_);
  add(kind_, calls);
  std::ranges::copy(numbers, words_.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += numbers.size();
}

std::uint64_t call_key::hash() const {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < hashed_words; ++i) h = (h ^ words_[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
  return h;
}

recalled::recalled(const std::optional<call_key>& key) : entry_(key ? recall(*key) : nullptr) {
  if (entry_ != nullptr) ++entry_->users;
}
recalled::~recalled() {
  if (entry_ != nullptr) --entry_->users;
}
const plan* recalled::get() const { return entry_ != nullptr ? &entry_->runs : nullptr; }

void remember(const call_key& key, const plan& p) {
  table* const all = made_table();
  if (all == nullptr) return;
  const std::uint64_t hash = key.hash();
  std::uint64_t& seen = all->seen[place_of(hash)];
  if (seen == hash) remember_at_once(key, p);
  seen = hash;
}

void remember_at_once(const call_key& key, const plan& p) {
  table* const all = made_table();
  if (all == nullptr) return;
  std::unique_ptr<remembered>& here = all->known[place_of(key.hash())];
  if (here != nullptr && here->users > 0) return;
  try {
    here = std::make_unique<remembered>(remembered{
        .runs = p, .words = {key.words().begin(), key.words().end()}, .device = std::string(key.device())});
  } catch (const std::bad_alloc&) {  // not remembered: checked again the next time
  }
}

}  // namespace antiphase::choices
