// SPDX-License-Identifier: Apache-2.0
// The thread or engine that is about to access memory.
#pragma once
#include "model.hpp"

namespace antiphase::checker_detail {

struct model::accessor {
  thread_model& thread;
  access_kind kind;
  place_number place;
  std::size_t bytes;
  scope reach{};  // of an atomic operation; none: 0
  actor_kind by = actor_kind::thread;
  actor number = 0;  // of an asynchronous actor
  stamp group = 0;
  std::string_view what{};   // instead of "read of 4 bytes"
  bool updates = false;      // an atomic operation that writes too: its write stands for it
  bool init_fenced = false;  // of an mbarrier that the engine sees

  void become(actor_kind k, actor n, stamp g) {
    by = k;
    number = n;
    group = g;
  }
  bool asynchronous() const { return by != actor_kind::thread; }
  // The engines behind bulk copies and Tensor Cores see ordinary writes only after a proxy fence; cp.async sees them as the thread does.
  bool behind_proxy() const { return asynchronous() && by != actor_kind::copies; }
  actor as() const { return asynchronous() ? number : static_cast<actor>(thread.index); }
  stamp time() const { return asynchronous() ? group : *thread.time; }
};

// A reader for each warp or actor of the cell's groups.
template <class Do> void model::each_reader(const cell& c, Do f) {
  for (std::uint32_t number = c.more; number != 0; number = memory_.group(number).next) {
    reader r = memory_.group(number).of;
    if (r.by_copy()) {
      r.lanes = memory_.group(number).lanes()[0];
      f(r);
      continue;
    }
    for (r.unit = 0; r.unit < memory_.group(number).warps(); ++r.unit) {
      r.lanes = memory_.group(number).lanes()[r.unit];
      if (r.lanes != 0) f(r);
    }
  }
}

}  // namespace antiphase::checker_detail
