// SPDX-License-Identifier: Apache-2.0
#include "launch_order.hpp"

#include <algorithm>
#include <iterator>

namespace antiphase::checker_detail {
namespace {

bool any_has(const launch_order::launches& all, block_number b) {
  return std::ranges::any_of(all,
                             [&](const launch_order::past_launch& p) { return b >= p.first && b < p.last; });
}

}  // namespace

bool launch_order::in_order(stream a, stream b) const {
  return a == b ||
         ((a == nullptr || b == nullptr) && std::ranges::find(apart_, a == nullptr ? b : a) == apart_.end());
}

bool launch_order::ordered_by_event(stream on, const past_launch& p) const {
  return std::ranges::find(ordered_, std::pair(on, p.first)) != ordered_.end();
}

void launch_order::begin(stream on, block_number first, overlap with_previous) {
  on_ = on;
  first_ = first_visible_ = first;
  first_pending_ = pending_.empty() ? first_ : pending_.front().first;
  unordered_.clear();
  for (const past_launch& p : pending_)
    if (!in_order(on, p.on) && !ordered_by_event(on, p)) {
      unordered_.push_back(p);
      first_visible_ = std::min(first_visible_, p.first);
    }
  if (with_previous == overlap::no)
    std::erase_if(chain_, [&](const past_launch& p) { return on == nullptr || p.on == on; });
  if (!chain_.empty()) first_pending_ = std::min(first_pending_, chain_.front().first);
  previous_ = 0;
  if (with_previous == overlap::no) return;
  for (const past_launch& p : chain_)
    if (p.on == on) first_visible_ = std::min(first_visible_, p.first);
  previous_ = first;
}

void launch_order::apart_from_default(stream s) {
  if (apart_.empty()) {  // so far nothing had to wait for the default stream's work
    std::ranges::copy_if(unsynchronised_, std::back_inserter(pending_),
                         [](const past_launch& p) { return p.on == nullptr; });
    std::ranges::sort(pending_, {}, &past_launch::first);
  }
  apart_.push_back(s);
}

void launch_order::end_copy(block_number behind) {
  if (on_ == nullptr)  // later launches come after this one, which came after all of these
    std::erase_if(pending_, [&](const past_launch& p) { return in_order(p.on, nullptr); });
  const past_launch ended{first_, behind, on_};
  if (on_ != nullptr || !apart_.empty()) pending_.push_back(ended);
  unsynchronised_.push_back(ended);
}
void launch_order::end(block_number behind) {
  end_copy(behind);
  chain_.push_back(unsynchronised_.back());
}

void launch_order::synchronize(stream on) {
  for (launches* of : {&pending_, &chain_, &unsynchronised_})
    std::erase_if(*of, [&](const past_launch& p) { return on == nullptr || p.on == on; });
}
void launch_order::synchronize_default() {
  for (launches* of : {&pending_, &chain_, &unsynchronised_})
    std::erase_if(*of, [&](const past_launch& p) { return in_order(p.on, nullptr); });
}
void launch_order::synchronize(const launches& these) {
  for (launches* of : {&pending_, &chain_, &unsynchronised_})
    std::erase_if(*of, [&](const past_launch& p) {
      return std::ranges::find(these, p.first, &past_launch::first) != these.end();
    });
}

launch_order::launches launch_order::recorded(stream on) const {
  launches known;
  std::ranges::copy_if(pending_, std::back_inserter(known),
                       [&](const past_launch& p) { return in_order(on, p.on) || ordered_by_event(on, p); });
  // on the default stream: only the host can still have to wait for them
  for (const past_launch& p : unsynchronised_)
    if (p.on == nullptr) known.push_back(p);
  return known;
}
void launch_order::order_after(stream on, const launches& these) {
  for (const past_launch& p : these) ordered_.emplace_back(on, p.first);
}

bool launch_order::ordered(block_number b) const { return !any_has(unordered_, b); }
bool launch_order::overlapped(block_number b) const {
  return previous_ != 0 && std::ranges::any_of(chain_, [&](const past_launch& p) {
           return p.on == on_ && b >= p.first && b < p.last;
         });
}
bool launch_order::unsynchronised(block_number b) const { return any_has(unsynchronised_, b); }

}  // namespace antiphase::checker_detail
