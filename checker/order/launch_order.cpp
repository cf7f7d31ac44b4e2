// SPDX-License-Identifier: Apache-2.0
#include "launch_order.hpp"

#include <algorithm>
#include <iterator>

namespace antiphase::checker_detail {

// sets of launches
// -----------------------------------------------------------------------------------------------------------

void past::extend(launch_number end) {
  for (; end_ < end; ++end_) unknown_.push_back(end_);
}
void past::add(launch_number n) {
  extend(n + 1);
  if (const auto at = std::ranges::lower_bound(unknown_, n); at != unknown_.end() && *at == n)
    unknown_.erase(at);
}
void past::add(const past& more) {
  std::erase_if(unknown_, [&](launch_number n) { return more.knows(n); });
  if (more.end_ <= end_) return;
  std::ranges::copy_if(more.unknown_, std::back_inserter(unknown_),
                       [&](launch_number n) { return n >= end_; });
  end_ = more.end_;
}

// launches
// -----------------------------------------------------------------------------------------------------------

bool launch_order::is_apart(stream s) const {
  return s != nullptr && std::ranges::find(apart_, s) != apart_.end();
}

// An operation on the stream knows these, apart from earlier ones on it.
past launch_order::of_others(stream on) const {
  past known = host_;
  if (is_apart(on)) return known;
  for (const auto& [of, l] : lanes_)
    if (of != on && (on == nullptr ? !is_apart(of) : of == nullptr)) known.add(l.known);
  return known;
}

void launch_order::begin(stream on, block_number first, overlap with_previous) {
  on_ = on;
  first_ = first;
  blocks_.clear();
  lets_begin_ = false;
  over_.clear();
  early_.clear();
  lane& l = lanes_[on];
  const auto has_begun_behind = [&](const kernel_ptr& k) {
    begin_.add(k->before_next());
    std::ranges::copy_if(k->over, std::back_inserter(over_),
                         [&](launch_number n) { return !begin_.knows(n); });
    if (!k->lets_begin) over_.push_back(k->number);
  };
  const auto waits_for = [&](const kernel_ptr& k) {
    after_.add(k->at_end());
    after_.add(k->number);
  };
  begin_ = of_others(on);
  begin_.add(with_previous == overlap::yes && l.last != nullptr ? l.since : l.known);
  std::vector<kernel_ptr> before = l.overlapped;
  if (with_previous == overlap::yes && l.last != nullptr) before.push_back(l.last);
  std::erase_if(before, [&](const kernel_ptr& k) { return begin_.knows(k->number); });
  for (const kernel_ptr& k : before) has_begun_behind(k);
  after_ = begin_;
  for (const kernel_ptr& k : before) waits_for(k);
  previous_ = before.empty() ? 0 : first;
  before_ = std::move(before);

  const auto number = static_cast<launch_number>(all_.size());
  const auto block_of = [&](launch_number n) { return n < number ? all_[n].first : first_; };
  first_visible_ = block_of(begin_.first_unknown(number));
  past least = host_;  // what every later launch knows
  if (apart_.empty()) {
    const lane& d = lanes_[nullptr];
    least.add(on == nullptr ? begin_ : d.last != nullptr ? d.last->begin : d.known);
  }
  first_pending_ = block_of(least.first_unknown(number));
}

void launch_order::waits(block_number block) {
  if (blocks_.size() <= block - first_) blocks_.resize(block - first_ + 1);
  blocks_[block - first_] |= a_wait;
}
void launch_order::lets_begin(block_number block, actor thread, stamp time, bool waited) {
  lets_begin_ = true;
  early_.try_emplace({block, thread}, time);
  if (blocks_.size() <= block - first_) blocks_.resize(block - first_ + 1);
  if (!waited) blocks_[block - first_] |= an_early_start;
}

void launch_order::close(block_number behind, const past& known) {
  lane& l = lanes_[on_];
  l.known.add(known);
  l.known.add(static_cast<launch_number>(all_.size()));
  l.since = {};
  l.last = nullptr;
  all_.push_back({first_, behind, on_, begin_});
}
void launch_order::end_copy(block_number behind) { close(behind, begin_); }
void launch_order::end(block_number behind) {
  const auto ended = std::make_shared<kernel_end>(
      kernel_end{.number = static_cast<launch_number>(all_.size()),
                 .lets_begin = lets_begin_,
                 .waited = std::ranges::any_of(blocks_, [](auto did) { return (did & a_wait) != 0; }),
                 .gated = std::ranges::find(blocks_, a_wait) != blocks_.end(),
                 .begin = begin_,
                 .after = after_,
                 .over = over_,
                 .early = std::move(early_)});
  close(behind, ended->at_end());
  lane& l = lanes_[on_];
  l.last = ended;
  std::erase_if(l.overlapped, [&](const kernel_ptr& k) { return l.known.knows(k->number); });
}

void launch_order::synchronize(stream on) {
  if (host_waits != nullptr) host_waits();
  if (on == nullptr)
    host_.add_all(static_cast<launch_number>(all_.size()));
  else
    host_.add(lanes_[on].known);
}
void launch_order::synchronize_default() {
  if (host_waits != nullptr) host_waits();
  host_.add(recorded(nullptr));
}
void launch_order::synchronize(const past& these) {
  if (host_waits != nullptr) host_waits();
  host_.add(these);
}
void launch_order::synchronize_before(block_number b) {
  if (const launch_number n = launch_of(b); n < all_.size()) host_.add(all_[n].begin);
}
bool launch_order::has_waited(const past& for_these) const {
  for (launch_number n = 0; n < all_.size(); ++n)
    if (for_these.knows(n) && !host_.knows(n)) return false;
  return true;
}

void launch_order::forget(stream s) {
  lanes_.erase(s);
  std::erase(apart_, s);
}

void launch_order::other_work(stream s) {
  lanes_[s].last = nullptr;
  lanes_[s].since = {};
}

past launch_order::recorded(stream on) const {
  past known = of_others(on);
  if (const auto l = lanes_.find(on); l != lanes_.end()) known.add(l->second.known);
  return known;
}
void launch_order::order_after(stream on, const past& these) {
  lanes_[on].known.add(these);
  lanes_[on].since.add(these);
}

launch_order::kernel_ptr launch_order::last_kernel(stream on) const {
  const auto l = lanes_.find(on);
  return l != lanes_.end() ? l->second.last : nullptr;
}
void launch_order::overlap_with(stream on, const kernel_ptr& k) {
  order_after(on, begun(k));
  lanes_[on].overlapped.push_back(k);
}
launch_order::kernel_ptr launch_order::at_once(const kernel_ptr& k) {
  const auto early = std::make_shared<kernel_end>(*k);
  early->lets_begin = true;
  early->early.clear();
  early->gated = false;
  return early;
}
past launch_order::begun(const kernel_ptr& k) { return k->before_next(); }

// queries
// -----------------------------------------------------------------------------------------------------------

launch_number launch_order::launch_of(block_number b) const {
  const auto behind = std::ranges::upper_bound(all_, b, {}, &past_launch::first);
  if (behind == all_.begin() || b >= std::prev(behind)->last) return ~launch_number{0};
  return static_cast<launch_number>(std::prev(behind) - all_.begin());
}
bool launch_order::over(block_number b) const {
  return !over_.empty() && std::ranges::find(over_, launch_of(b)) != over_.end();
}
bool launch_order::did_late(block_number b, actor thread, stamp time) const {
  return std::ranges::any_of(before_, [&](const kernel_ptr& k) {
    if (k->lets_begin && k->early.empty()) return launch_of(b) == k->number;  // at once
    const auto at = k->early.find({b, thread});
    return at != k->early.end() && time >= at->second;
  });
}
bool launch_order::on_same_stream(block_number b) const {
  const launch_number n = launch_of(b);
  return n < all_.size() && all_[n].stream == on_;
}
bool launch_order::unsynchronised(block_number b) const {
  const launch_number n = launch_of(b);
  return n < all_.size() && !host_.knows(n);
}

}  // namespace antiphase::checker_detail
