// SPDX-License-Identifier: Apache-2.0
// Bulk stores of the CPU executor: contiguous bytes, boxes of tensors and reductions, in a thread's groups.
#include <antiphase/plain/rounded.h>
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/executor/cpu/worker.hpp"

namespace antiphase::cpu_detail {
namespace {

template <class T> T updated(bulk_update what, T now, T value) {
  switch (what) {
    case bulk_update::min: return std::min(now, value);
    case bulk_update::max: return std::max(now, value);
    default: break;
  }
  if constexpr (std::is_unsigned_v<T>) {
    if (what == bulk_update::bit_and) return now & value;
    if (what == bulk_update::bit_or) return now | value;
    if (what == bulk_update::bit_xor) return now ^ value;
  }
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    using word = std::make_unsigned_t<T>;  // to wrap around
    return static_cast<T>(static_cast<word>(now) + static_cast<word>(value));
  } else {
    return now + value;
  }
}

// Atomic: other workers may update the same numbers.
template <class T, class Step>
void update_all(void* to, const unsigned char* values, std::size_t bytes, Step step) {
  auto* at = static_cast<T*>(to);
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
    T value, now, after;
    std::memcpy(&value, values + i * sizeof(T), sizeof value);
    __atomic_load(&at[i], &now, __ATOMIC_RELAXED);
    do after = step(now, value);
    // reloads `now` on failure
    while (!__atomic_compare_exchange(&at[i], &now, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
}
template <class T>
void update_numbers(void* to, const unsigned char* values, std::size_t bytes, bulk_update what) {
  update_all<T>(to, values, bytes, [what](T now, T value) { return updated(what, now, value); });
}
void update_halves(void* to, const unsigned char* values, std::size_t bytes, bulk_update what,
                   float (*from)(std::uint16_t), std::uint16_t (*rounded)(float)) {
  update_all<std::uint16_t>(to, values, bytes, [&](std::uint16_t now, std::uint16_t value) {
    return rounded(updated(what, from(now), from(value)));
  });
}

}  // namespace

void update(void* to, const unsigned char* values, std::size_t bytes, const machine::bulk_step& step) {
  const bool wide = step.number_bytes == 8;
  switch (step.number) {
    case machine::number_kind::floating:
      if (step.number_bytes == 2)
        return update_halves(to, values, bytes, step.update, plain::from_half, plain::to_half);
      return wide ? update_numbers<double>(to, values, bytes, step.update)
                  : update_numbers<float>(to, values, bytes, step.update);
    case machine::number_kind::bfloat:
      return update_halves(to, values, bytes, step.update, plain::from_bfloat, plain::to_bfloat);
    case machine::number_kind::signed_integer:
      return wide ? update_numbers<std::int64_t>(to, values, bytes, step.update)
                  : update_numbers<std::int32_t>(to, values, bytes, step.update);
    case machine::number_kind::unsigned_integer:
      return wide ? update_numbers<std::uint64_t>(to, values, bytes, step.update)
                  : update_numbers<std::uint32_t>(to, values, bytes, step.update);
  }
}

namespace {

void capture(const block_state& block, bulk_store_state& s) {
  if (s.captured) return;
  if (s.box != nullptr)
    s.captured = rows_of_box(block, s);
  else
    s.captured.emplace(s.source, s.source + s.bytes);
}

}  // namespace

void finish(bulk_store_state& s) {
  if (std::exchange(s.written, true)) return;
  if (s.box != nullptr)
    write_box(s);
  else if (s.updates)
    update(s.destination, s.captured->data(), s.bytes, *s.updates);
  else
    std::memcpy(s.destination, s.captured->data(), s.bytes);
}

void issue(thread_state& self, bulk_store_state store, place where) {
  const machine::block_view& block = *self.block;
  if (store.source < block.shared || store.source + store.bytes > block.shared + block.shared_bytes)
    fail(self, fault::bad_copy, where,
         fmt::format(
             "the source of a bulk store ({} bytes) does not lie in the block's {} bytes of shared memory",
             store.bytes, block.shared_bytes));
  ++self.owner->counts.copies;
  self.owner->counts.copied_bytes += store.bytes;
  if (observer* watch = self.owner->watch()) watch->bulk_store_issued(self, store, where);
  self.owner->begin_work(self);
  self.time.instruction_alone();
  self.owner->in_turn(self);
  store.read = self.time.now();
  store.lands = self.time.landing_by_engine(store.bytes);
  if (self.owner->lands_now()) {
    capture(*self.home, store);
    finish(store);
  }
  self.stores.open.push_back(std::move(store));
}

}  // namespace antiphase::cpu_detail

namespace antiphase::machine {

using namespace cpu_detail;

namespace {

void require_multiples(const thread_state& self, const void* to, const void* from, std::uint32_t bytes,
                       const char* what, place where) {
  const auto require = [&](const void* p, const char* which) {
    if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0)
      fail(self, fault::bad_copy, where,
           fmt::format("the {} of a {} is not aligned to 16 bytes", which, what));
  };
  require(to, "destination");
  require(from, "source");
  if (bytes % 16 != 0)
    fail(self, fault::bad_copy, where, fmt::format("a {} of {} bytes is not a multiple of 16", what, bytes));
}

}  // namespace

void bulk_store(void* to, const void* from, std::uint32_t bytes, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_multiples(self, to, from, bytes, "bulk store", where);
  issue(
      self,
      bulk_store_state{.destination = to, .source = static_cast<const unsigned char*>(from), .bytes = bytes},
      where);
}

void bulk_reduce(void* to, const void* from, std::uint32_t bytes, bulk_step what, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  require_multiples(self, to, from, bytes, "bulk reduction", where);
  issue(self,
        bulk_store_state{.destination = to,
                         .source = static_cast<const unsigned char*>(from),
                         .bytes = bytes,
                         .updates = what},
        where);
}

void bulk_commit() {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->bulk_stores_committed(self);
  bulk_store_queue& q = self.stores;
  q.groups.push_back(std::move(q.open));
  q.open.clear();
}

void bulk_wait(int groups_left, bulk_done what, place) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->bulk_stores_waited(self, groups_left, what);
  bulk_store_queue& q = self.stores;
  const std::size_t left = static_cast<std::size_t>(groups_left);
  if (q.groups.size() <= left) return;
  const std::size_t done = q.groups.size() - left;
  for (std::size_t i = 0; i < done; ++i)
    for (const auto& store : q.groups[i])
      self.time.wait_until(what == bulk_done::read ? store.read : store.lands);
  self.owner->in_turn(self);
  for (; q.read < done; ++q.read)
    for (auto& store : q.groups[q.read]) capture(*self.home, store);
  if (what == bulk_done::read) return;
  for (std::size_t i = 0; i < done; ++i)
    for (auto& store : q.groups[i]) finish(store);
  q.groups.erase(q.groups.begin(), q.groups.begin() + static_cast<std::ptrdiff_t>(done));
  q.read -= done;
}

}  // namespace antiphase::machine
