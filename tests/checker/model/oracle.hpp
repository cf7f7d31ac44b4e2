// SPDX-License-Identifier: Apache-2.0
// Naive reference for the checker's model: every step of a run is a node, and each node stores the set of all
// nodes before it.
#pragma once
#include <algorithm>
#include <antiphase/core/scope.hpp>
#include <bitset>
#include <cstddef>
#include <utility>
#include <vector>

namespace antiphase::test {

// Steps are added in an order in which they could have happened, so edges end in the newest node only.
class oracle {
 public:
  static constexpr std::size_t most = 1024;
  using nodes = std::bitset<most>;
  enum class by { thread, copy, engine };  // engine: bulk copies and Tensor Cores

  struct touch {
    int node = 0;
    std::size_t start = 0, end = 0;
    bool writes = false;
    scope reach{};  // of an atomic operation
    int block = 0;
    by actor = by::thread;
    bool updates = false;  // an atomic read-modify-write
    int warp = -1;         // of a thread that reads, and of one whose engine writes shared memory
    bool is_over = false;  // a release or a barrier has waited for the read
  };

  int add(std::initializer_list<int> after) {
    before_.emplace_back();
    for (int n : after) follow(n);
    return newest();
  }
  void follow(int n) {  // the newest node comes after n; n < 0: no edge
    if (n < 0) return;
    before_.back() |= before_[static_cast<std::size_t>(n)];
    before_.back().set(static_cast<std::size_t>(n));
  }
  // The newest node has waited for the asynchronous n: for its effect, not for what its issuer did before.
  void landed(int n) { before_.back().set(static_cast<std::size_t>(n)); }
  void drop() { before_.pop_back(); }
  int newest() const { return static_cast<int>(before_.size()) - 1; }
  bool ordered(int a, int b) const {
    return before_[static_cast<std::size_t>(b)].test(static_cast<std::size_t>(a));
  }
  void proxy_fence(int n) { fences_.push_back(n); }
  // A release or a barrier of this warp: its reads so far are over.
  void reads_are_over(int block, int warp) {
    for (touch& t : touches_) t.is_over |= t.block == block && t.warp == warp && t.actor == by::thread;
  }
  void cluster_of(int block, int cluster) { clusters_.emplace_back(block, cluster); }

  // Verdict on an access against an earlier one.
  enum class fault { none, unordered, unfenced };
  fault fault_of(const touch& earlier, const touch& now) const {
    if (earlier.end <= now.start || now.end <= earlier.start || !(earlier.writes || now.writes))
      return fault::none;
    if (!ordered(earlier.node, now.node))
      return reach_each_other(earlier, now) ? fault::none : fault::unordered;
    const bool may_still_read = now.writes && earlier.warp >= 0 && earlier.warp == now.warp &&
                                earlier.block == now.block && !earlier.is_over;
    if (now.actor != by::engine || earlier.actor == by::engine || !(earlier.writes || may_still_read))
      return fault::none;
    for (int f : fences_)
      if (ordered(earlier.node, f) && ordered(f, now.node)) return fault::none;
    return earlier.block == 0 || earlier.block < launch_first_block ? fault::none : fault::unfenced;
  }
  std::vector<std::pair<int, fault>> conflicts(const touch& now) const {
    std::vector<std::pair<int, fault>> all;
    for (const touch& t : touches_)
      if (const fault f = fault_of(t, now); f != fault::none && !observed(t, now) && !is_replaced(t, now))
        all.emplace_back(t.node, f);
    return all;
  }
  // An atomic write is overwritten safely by a write (not an update) that comes after an update which has
  // read it, or read a later value. The same holds for accesses of the atomic write's block before it, within
  // as wide a scope.
  bool observed(const touch& earlier, const touch& now) const {
    if (!now.writes || now.updates) return false;
    const auto same_place = [](const touch& a, const touch& b) { return a.start < b.end && b.start < a.end; };
    const auto last = std::find_if(touches_.rbegin(), touches_.rend(),
                                   [&](const touch& t) { return t.writes && same_place(t, now); });
    if (last == touches_.rend() || !last->updates || !ordered(last->node, now.node)) return false;
    return std::any_of(touches_.begin(), touches_.end(), [&](const touch& t) {
      const bool behind =
          earlier.block == t.block && earlier.reach >= t.reach && ordered(earlier.node, t.node);
      return t.writes && t.reach != scope{} && same_place(t, earlier) && reach_each_other(*last, t) &&
             (t.node == earlier.node || behind);
    });
  }
  void remember(const touch& t) {
    for (const touch& earlier : touches_)
      if (t.reach == scope{} && fault_of(earlier, t) != fault::none && observed(earlier, t))
        replaced_.emplace_back(earlier, t);
    touches_.push_back(t);
  }

  bool reach_each_other(scope a, int block_a, scope b, int block_b) const {
    if (a == scope{} || b == scope{}) return false;
    if (block_a == block_b) return true;
    if (a >= scope::device && b >= scope::device) return true;
    return a >= scope::cluster && b >= scope::cluster && cluster(block_a) != 0 &&
           cluster(block_a) == cluster(block_b);
  }
  int launch_first_block = 1;

 private:
  // An access after a plain write that safely replaced an earlier one (observed()) does not conflict with the
  // earlier one in the replaced bytes.
  bool is_replaced(const touch& earlier, const touch& now) const {
    for (std::size_t byte = std::max(earlier.start, now.start); byte < std::min(earlier.end, now.end); ++byte)
      if (std::none_of(replaced_.begin(), replaced_.end(), [&](const auto& r) {
            return r.first.node == earlier.node && ordered(r.second.node, now.node) &&
                   r.second.start <= byte && byte < r.second.end;
          }))
        return false;
    return true;
  }
  bool reach_each_other(const touch& a, const touch& b) const {
    return reach_each_other(a.reach, a.block, b.reach, b.block);
  }
  int cluster(int block) const {
    for (auto [b, c] : clusters_)
      if (b == block) return c;
    return 0;
  }

  std::vector<nodes> before_;
  std::vector<int> fences_;
  std::vector<touch> touches_;
  // an earlier write, and the write that safely replaced it
  std::vector<std::pair<touch, touch>> replaced_;
  std::vector<std::pair<int, int>> clusters_;
};

}  // namespace antiphase::test
