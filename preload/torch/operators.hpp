// SPDX-License-Identifier: Apache-2.0
// Operators of torch's that are overridden: which, what is remembered of their calls, and what became of
// those.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/per_process.hpp"
#include "preload/torch/library.hpp"

namespace antiphase::torch {

// What became of the calls of a family.
struct counts {
  std::atomic<std::int64_t> computed{0}, passed{0};
  std::atomic<std::int64_t> unmeasured{0};  // passed on because nothing was measured on their GPU
  std::atomic<double> saved{0};             // seconds, as predicted
};

struct operators {
  struct overridden {
    const char* name;
    kernel override;
    void (*find_original)(const std::string& key);
  };
  std::span<const overridden> all;
  counts became{};
  std::atomic<bool> takes_all{false};  // every call that we can compute, whatever is predicted
};
operators& attention_operators();
operators& scan_operators();

// What a decision about a call says; what else is known of the call is derived from it.
struct decision {
  bool takes = false;
  bool measured = true;  // on this GPU
  double gain = 0;       // seconds, as predicted
};

inline void decide(decision& d, const operators& family, const location& where, bool wins, double gain) {
  d.takes = wins || family.takes_all;
  d.measured = antiphase_is_measured(where.device()) != 0;
  d.gain = wins ? gain : 0;
}
inline void require_ours(antiphase_status status) {
  if (status != ANTIPHASE_OK) throw std::runtime_error(antiphase_last_message());
}

// Makes the call if the decision is to make it. Nothing if torch's own is to compute it, or ours has failed,
// which has written nothing: torch's own computes the call then, or says what is wrong.
template <class Decision, class Make> auto computed(operators& family, const Decision& known, Make make)
    -> std::optional<decltype(make(known))> {
  if (!known.takes) {
    if (!known.measured) family.became.unmeasured.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  try {
    std::optional<decltype(make(known))> made(make(known));
    family.became.computed.fetch_add(1, std::memory_order_relaxed);
    family.became.saved.fetch_add(known.gain, std::memory_order_relaxed);
    return made;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}
inline void passed(operators& family) { family.became.passed.fetch_add(1, std::memory_order_relaxed); }

// All that a decision follows from, as words.
class call_words {
 public:
  static constexpr std::size_t most_axes = 12;
  template <class... T> void add(T... values) {
    ((words_[size_++] = static_cast<std::int64_t>(values)), ...);
  }
  // A tensor of at most most_axes axes, without its address but how that is aligned.
  void add(const tensor& x) {
    const std::span<const std::int64_t> sizes = x.sizes(), strides = x.strides();
    add(sizes.size(), std::bit_cast<std::uintptr_t>(x.data<const void>()) % 16);
    for (std::size_t i = 0; i < sizes.size(); ++i) add(sizes[i], strides[i]);
  }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(words_.data()), size_ * sizeof words_[0]};
  }

 private:
  std::array<std::int64_t, 8 * most_axes + 32> words_;
  std::size_t size_ = 0;
};

// Decisions by their calls. When there are many, it begins anew.
template <class Decision> class decisions {
 public:
  template <class Make> std::shared_ptr<const Decision> find(const call_words& call, Make make) {
    table& all = tables_.get();
    {
      const std::scoped_lock lock(all.change);
      if (const auto known = all.known.find(call.bytes()); known != all.known.end()) return known->second;
    }
    auto made = std::make_shared<const Decision>(make());
    const std::scoped_lock lock(all.change);
    if (all.known.size() >= most) all.known.clear();
    all.known.emplace(call.bytes(), made);
    return made;
  }
  void forget() {
    table& all = tables_.get();
    const std::scoped_lock lock(all.change);
    all.known.clear();
  }

 private:
  static constexpr std::size_t most = 4096;
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct table {
    std::mutex change;
    std::unordered_map<std::string, std::shared_ptr<const Decision>, hash, std::equal_to<>> known;
  };
  per_process<table> tables_;
};

}  // namespace antiphase::torch
