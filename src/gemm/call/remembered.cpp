// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/call/remembered.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

namespace antiphase::gemms {
namespace {

// Direct-mapped: a call replaces the one in its place when it comes for the second time. An entry has under a
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

// Hashes the first 12 words, addresses and extents mostly: calls that agree in these share a place.
std::uint64_t hash_of(const call& of) {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < 12; ++i) h = (h ^ of.all[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
  return h;
}
bool runs_several_plans(const choice& c) { return c.by_members() || c.finishes_behind(); }
std::size_t place_of(std::uint64_t hash) { return static_cast<std::size_t>(hash % places); }

std::uint64_t word(std::int64_t x) { return static_cast<std::uint64_t>(x); }
std::uint64_t word(const void* x) { return reinterpret_cast<std::uintptr_t>(x); }
std::uint32_t half(float x) { return std::bit_cast<std::uint32_t>(x); }
template <class Enumeration> std::uint32_t half(Enumeration x) { return static_cast<std::uint32_t>(x); }
template <class First, class Second> std::uint64_t both(First x, Second y) {
  return std::uint64_t{half(x)} << 32 | half(y);
}

}  // namespace

std::optional<call> call_of(const context& where, const problem& p, const gemm_options& options) {
  const epilogue& e = options.epilogue;
  if (options.policy != "auto" || options.ran != nullptr || options.tuning != nullptr ||
      options.prepared_a != nullptr || options.prepared_b != nullptr || e.residual.data != nullptr ||
      e.input.data != nullptr || e.before.data != nullptr)
    return std::nullopt;
  const batch& of = options.batch;
  const device_limits& device = where.limits();
  call c{.all = {word(p.a.data),
                 word(p.b.data),
                 word(p.c.data),
                 word(p.c.rows),
                 word(p.c.columns),
                 word(p.a.columns),
                 word(p.a.row_stride),
                 word(p.b.row_stride),
                 word(p.c.row_stride),
                 word(of.count),
                 word(e.row_bias),
                 word(e.column_bias),
                 word(p.a.rows),
                 word(p.b.rows),
                 word(p.b.columns),
                 word(p.a.column_stride),
                 word(p.b.column_stride),
                 word(p.c.column_stride),
                 both(p.alpha, p.beta),
                 both(e.scale, where.kind()),
                 both(options.accuracy, options.reproducible),
                 both(options.if_weaker, e.function),
                 word(of.a_stride),
                 word(of.b_stride),
                 word(of.c_stride),
                 word(of.a),
                 word(of.b),
                 word(of.c),
                 word(e.row_bias_stride),
                 word(e.column_bias_stride),
                 word(options.workspace.data()),
                 options.workspace.size(),
                 word(options.recomputed)},
         .device = device.name};
  std::ranges::copy(numbers_of(device), c.all.end() - std::tuple_size_v<decltype(numbers_of(device))>);
  return c;
}

remembered* recall(const call& of) {
  if (of_thread == nullptr) return nullptr;
  remembered* const here = of_thread->known[place_of(hash_of(of))].get();
  return here != nullptr && here->all == of.all && here->device == of.device ? here : nullptr;
}

void remember(const call& of, const choice& c) {
  if (runs_several_plans(c)) return;
  table* const all = made_table();
  if (all == nullptr) return;
  const std::uint64_t hash = hash_of(of);
  std::uint64_t& seen = all->seen[place_of(hash)];
  if (seen == hash) remember_at_once(of, c);
  seen = hash;
}

void remember_at_once(const call& of, const choice& c) {
  if (runs_several_plans(c)) return;
  table* const all = made_table();
  if (all == nullptr) return;
  std::unique_ptr<remembered>& here = all->known[place_of(hash_of(of))];
  if (here != nullptr && here->users > 0) return;
  try {
    here = std::make_unique<remembered>(remembered{
        .plan = c.plan, .workspace = c.workspace(), .all = of.all, .device = std::string(of.device)});
  } catch (const std::bad_alloc&) {  // not remembered: judged again the next time
  }
}

}  // namespace antiphase::gemms
