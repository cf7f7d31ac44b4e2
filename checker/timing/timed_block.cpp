// SPDX-License-Identifier: Apache-2.0
#include "timed_block.hpp"

#include <algorithm>
#include <bit>

namespace antiphase::checker_detail {

using kind = lane_event::kind;

namespace {

// Moves loads ahead of arithmetic and of writes to shared memory, as nvcc does: neither can change what is
// loaded. It unrolls loops by four where nothing says otherwise.
void hoist_loads(std::vector<warp_op>& ops) {
  constexpr int unrolled = 4;
  std::map<place_number, int> often;
  auto first = ops.begin();
  const auto hoist = [&](auto last) {
    std::ranges::stable_partition(first, last, &warp_op::loads);
    first = last;
    often.clear();
  };
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    if (op->loads()) {
      if (++often[op->place] > unrolled) hoist(op), often[op->place] = 1;
    } else if (op->type != kind::arithmetic && !op->writes_shared()) {
      hoist(op);
      first = op + 1;
    }
  }
  hoist(ops.end());
}

}  // namespace

void timed_blocks::begin_launch(const char* kernel, extent3 grid, int threads) {
  kernel_ = kernel;
  grid_ = grid;
  threads_ = threads;
  ++launches_[kernel_];
}

void timed_blocks::begin_block(block_number block, extent3 index, std::uint32_t lowest,
                               std::uint32_t highest) {
  const std::uint64_t at = index.x + std::uint64_t{grid_.x} * (index.y + std::uint64_t{grid_.y} * index.z);
  if (at != std::min(wanted_, grid_.count() - 1) || launches_[kernel_] > most_launches) return;
  block_ = block;
  now_ = {};
  now_.kernel = kernel_;
  now_.grid = grid_;
  now_.threads = threads_;
  now_.warps = (threads_ + 31) / 32;
  now_.ops.resize(static_cast<std::size_t>(now_.warps));
  arithmetic_.assign(now_.ops.size(), {});
  lowest_ = lowest;
  words_.assign((highest - lowest + 3) / 4, 0);
  used_.assign(words_.size(), false);
  segments_.assign(static_cast<std::size_t>(threads_), 0);
  fills_.clear(), phases_.clear(), generations_.clear();
}

void timed_blocks::end_block(block_number block) {
  if (block != block_) return;
  block_ = 0;
  for (int w = 0; w < now_.warps; ++w) flush(w);
  for (auto& ops : now_.ops) hoist_loads(ops);
  split_fills(now_);
  now_.shared_words = static_cast<std::uint32_t>(std::ranges::count(used_, true));
  const auto size = [](const timed_block& b) {
    std::size_t all = 0;
    for (const auto& ops : b.ops) all += ops.size();
    return all;
  };
  const auto before = std::ranges::find(done_, now_.kernel, &timed_block::kernel);
  if (before == done_.end())
    done_.push_back(std::move(now_));
  else if (size(now_) > size(*before))
    *before = std::move(now_);
}

std::uint32_t timed_blocks::fill_of(const thread_model& t) {
  const std::uint32_t segment = segments_[static_cast<std::size_t>(t.index)];
  const auto [at, fresh] =
      fills_.try_emplace({t.warp, segment}, static_cast<std::uint32_t>(now_.fills.size()));
  if (fresh) now_.fills.push_back({t.warp, segment});
  return at->second;
}

lane_event timed_blocks::access(const thread_model& t, lane_event e) {
  e.type = kind::access;
  if (e.memory == line_memory::shared)
    touch(t, e, e.action == line_action::write || e.action == line_action::async_copy);
  return e;
}

void timed_blocks::touch(const thread_model& t, lane_event& e, bool fills) {
  if (e.moment < lowest_ || (e.moment - lowest_) / 4 >= words_.size()) return;
  e.more = fills ? fill_of(t) : words_[(e.moment - lowest_) / 4];
  const std::uint64_t end = std::min<std::uint64_t>(e.moment + e.bytes - lowest_, 4 * words_.size());
  for (std::uint64_t at = e.moment - lowest_; at < end; at += 4) {
    if (fills) words_[at / 4] = e.more;
    used_[at / 4] = true;
  }
}

lane_event timed_blocks::order(const thread_model& t, kind is, place_number place, std::uint64_t at,
                               std::uint32_t bytes) {
  lane_event e{.type = is, .place = place, .bytes = bytes, .moment = at};
  if (is == kind::arrive || is == kind::copies_arrive) e.more = phases_[at];
  if (is == kind::wait) e.more = phases_[at] - 1;  // that has ended; ~0: none
  if (is == kind::named_arrive) e.more = generations_[at];
  if (is == kind::named_wait) e.more = generations_[at] - 1;
  if (is != kind::arithmetic) ++segments_[static_cast<std::size_t>(t.index)];
  return e;
}

lane_event timed_blocks::bulk_load(const thread_model& t, std::uint64_t to, std::uint32_t bytes,
                                   std::uint64_t word, place_number place) {
  lane_event e{.type = kind::bulk_load,
               .action = line_action::bulk_copy,
               .memory = line_memory::shared,
               .place = place,
               .bytes = bytes,
               .moment = to};
  touch(t, e, true);
  now_.bulk_loads.push_back({to, word, phases_[word]});
  e.moment = now_.bulk_loads.size() - 1;
  return e;
}

lane_event timed_blocks::matrix(const thread_model& t, std::optional<std::uint64_t> at,
                                std::uint32_t multiply_adds, place_number place) {
  lane_event e{.type = kind::matrix, .place = place, .bytes = multiply_adds};
  if (at) {
    e.action = line_action::async_copy, e.moment = *at;
    touch(t, e, false);
  }
  return e;
}

void timed_blocks::instruction(block_number block, int warp, const lane_event& e, const warp_request& r) {
  if (block != block_) return;
  warp_op op{.type = e.type,
             .action = e.action,
             .memory = e.memory,
             .place = e.place,
             .lanes = static_cast<std::uint32_t>(std::popcount(r.lanes)),
             .bytes = e.bytes,
             .more = e.more,
             .moment = e.moment,
             .last = e.moment};
  if (e.type == kind::access) op.last = r.address[static_cast<std::size_t>(31 - std::countl_zero(r.lanes))];
  if (e.type == kind::access) {
    if (e.memory != line_memory::shared)
      op.units = static_cast<std::uint32_t>(sectors(r).units);
    else if (e.action != line_action::bulk_copy)
      op.units = e.action == line_action::atomic ? op.lanes : static_cast<std::uint32_t>(wavefronts(r).units);
    if (e.memory == line_memory::global && e.action != line_action::write)
      now_.global_bytes += op.lanes * e.bytes;
  } else if (e.type == kind::bulk_load) {
    now_.global_bytes += op.lanes * e.bytes;
  }
  if (e.type != kind::bulk_load) return add(warp, op);
  op.lanes = 1;
  for (std::size_t lane = 0; lane < 32; ++lane)  // each has its own
    if ((r.lanes >> lane & 1) != 0) {
      op.moment = r.address[lane];
      add(warp, op);
    }
}

void timed_blocks::met(block_number block, int warp, std::uint64_t meeting, place_number at) {
  if (block == block_) add(warp, {.type = kind::meeting, .place = at, .moment = meeting});
}

// Arithmetic is reported at the begin of a basic block, before what the block reads; it comes after that.
void timed_blocks::add(int warp, const warp_op& op) {
  const bool reads = op.type == kind::access && op.action == line_action::read;
  if (!reads) flush(warp);
  if (op.type == kind::arithmetic)
    arithmetic_[static_cast<std::size_t>(warp)] = op;
  else
    now_.ops[static_cast<std::size_t>(warp)].push_back(op);
}
void timed_blocks::flush(int warp) {
  warp_op& op = arithmetic_[static_cast<std::size_t>(warp)];
  if (op.bytes > 0) now_.ops[static_cast<std::size_t>(warp)].push_back(op);
  op = {};
}

}  // namespace antiphase::checker_detail
