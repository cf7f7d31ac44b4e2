// SPDX-License-Identifier: Apache-2.0
// What the model knows of a whole program, beside its kernels: events, memory shared with the host, variables, findings of the host's.
#include <algorithm>

#include "accessor.hpp"

namespace antiphase::checker_detail {

// events ------------------------------------------------------------------------------------------------------------------------------

model::launches model::recorded(stream on) const {
  launches known;
  std::copy_if(pending_.begin(), pending_.end(), std::back_inserter(known), [&](const past_launch& p) {
    return in_order(on, p.on) || std::find(ordered_.begin(), ordered_.end(), std::pair(on, p.first)) != ordered_.end();
  });
  for (const past_launch& p : unsynchronised_)  // of the default stream: nobody else has to wait for them but the host
    if (p.on == nullptr) known.push_back(p);
  return known;
}

void model::order_after(stream on, const launches& these) {
  for (const past_launch& p : these) ordered_.emplace_back(on, p.first);
}

void model::synchronize(const launches& these) {
  const auto waited = [&](const past_launch& p) {
    return std::any_of(these.begin(), these.end(), [&](const past_launch& q) { return p.first == q.first; });
  };
  for (launches* of : {&pending_, &chain_, &unsynchronised_}) std::erase_if(*of, waited);
}

bool model::unsynchronised(block_number b) const {
  return std::any_of(unsynchronised_.begin(), unsynchronised_.end(), [&](const past_launch& p) { return b >= p.first && b < p.last; });
}

// memory ------------------------------------------------------------------------------------------------------------------------------

namespace {

cell known_to_all() {
  cell c;
  c.state = cell_state::written;
  return c;
}

}  // namespace

void model::follow_as_written(const void* p, std::size_t bytes) { memory_.set(p, bytes, known_to_all()); }

void model::follow_variables(std::uintptr_t low, std::uintptr_t high) {
  variables_ = static_cast<const unsigned char*>(memory_.allocate(high - low));
  follow_as_written(variables_, high - low);
  variables_low_ = low;
  variables_high_ = high;
}

void model::begin_shared_variable(const void* p, std::size_t bytes) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - memory_.lowest();
  if (bytes == 0 || memory_.byte(offset).state != cell_state::nobodys) return;
  cell fresh;
  fresh.state = cell_state::uninitialised;
  memory_.set(p, bytes, fresh);
}

void model::host_acquires(const void* p) {
  const auto a = atomics_.find(reinterpret_cast<std::uintptr_t>(followed(p)));
  if (a == atomics_.end()) return;
  if (const auto released = a->second.find({2, 0}); released != a->second.end()) host_known_ = join(host_known_, released->second, 0);
}

void model::host_touch(const void* p, std::size_t bytes, access_kind kind, const void* code, bool atomic) {
  static thread_model host;
  static stamp time = 1;
  host.index = -1;
  host.time = &time;
  const accessor w{.thread = host,
                   .kind = kind,
                   .place = number_of_code(code),
                   .bytes = bytes,
                   .what = kind == access_kind::read ? "read by the host" : "write by the host"};
  p = followed(p);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - memory_.lowest();
  constexpr const char* missing =
      "cudaDeviceSynchronize(), or cudaStreamSynchronize() of its stream, between the launch or copy and this: it may still be under way";
  memory_.visit(offset, bytes, [&](cell& c, std::size_t at, std::size_t) {
    if (c.state == cell_state::nobodys || c.state == cell_state::freed)
      return report(w, finding_kind::outside_memory, at, nullptr, nullptr,
                    c.state == cell_state::freed ? "the memory has been given back" : "nobody allocated it");
    const auto both_atomic = [&](std::uint8_t reach) { return atomic && reach == static_cast<std::uint8_t>(scope::system); };
    const view* v = host_known_ != nullptr ? host_known_->of(c.block) : nullptr;
    const bool acquired = v != nullptr && c.writer < blocks_[c.block].threads && c.time <= v->of_thread(c.writer);
    if ((c.state == cell_state::written || c.state == cell_state::copied) && unsynchronised(c.block) && !acquired && !both_atomic(c.scope))
      report(w, finding_kind::race, at, &c, nullptr, missing);
    if (kind == access_kind::read) return;
    const auto check = [&](const reader& r) {
      if (r.lanes != 0 && unsynchronised(r.block) && !both_atomic(r.scope))
        report(w, finding_kind::overwritten_in_use, at, nullptr, &r, missing);
    };
    check(c.first);
    each_reader(c, check);
    memory_.clear_readers(c);
    c = known_to_all();
  });
}

// findings ----------------------------------------------------------------------------------------------------------------------------

void model::note(finding_kind kind, const std::string& kernel, place_number at, std::string action, std::string memory, std::string missing,
                 const std::optional<event_log::question>& shown) {
  bool fresh = false;
  found& f = entry(kind, at, 0, false, fresh);
  if (!fresh) return;
  f.what.kernel = kernel;
  f.what.access.action = std::move(action);
  f.what.memory = std::move(memory);
  f.what.missing = std::move(missing);
  if (log && shown) f.drawn = log->taken(*shown);
}

finding_side model::side_here(place_number at, const char* action) const {
  return side_of({.thread = *current_, .kind = access_kind::read, .place = at, .bytes = 0, .what = action});
}
void model::note(finding_kind kind, const std::string& kernel, place_number at, const finding_side& by, std::string missing) {
  bool fresh = false;
  found& f = entry(kind, at, 0, false, fresh);
  if (!fresh) return;
  f.what.kernel = kernel;
  f.what.access = by;
  f.what.missing = std::move(missing);
}

void model::note_here(finding_kind kind, place_number at, std::string action, std::string memory, std::string missing) {
  if (current_ == nullptr) return;
  if (current_->misled) return say_misled();
  const accessor w{.thread = *current_, .kind = access_kind::read, .place = at, .bytes = 0, .what = action};
  bool fresh = false;
  found& f = entry(kind, at, 0, false, fresh);
  if (!fresh) return;
  f.what.access = side_of(w);
  f.what.memory = std::move(memory);
  f.what.missing = std::move(missing);
  if (log) f.drawn = log->taken({.now = {{current_->block, current_->index}, at, f.what.access.action}, .earlier = {}});
}

}  // namespace antiphase::checker_detail
