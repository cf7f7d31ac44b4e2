// SPDX-License-Identifier: Apache-2.0
// The plan of a call: its workspace, its launches and its description, whatever computes it.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/executor/kernel.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace antiphase::choices {

// Where a plan runs. A plan refers to no executor: it may run on any device with the limits that it was
// made for.
struct work {
  const antiphase::context& context;
  std::span<std::byte> memory = {};     // at least plan::workspace bytes, aligned to 256
  std::uint64_t* recomputed = nullptr;  // gemm_options::recomputed
  stream queue = nullptr;

  launch_counts launch(const kernel& code, extent3 grid, const void* arguments) const {
    return context.runs_on().launch(code, grid, arguments, queue);
  }
};

// What explain() reports about a plan. Families leave members that they have no use for as they are.
struct description {
  std::string name;               // instead of the candidate's; empty: the candidate's
  std::vector<std::string> code;  // the names of the kernels that compute the result
  int tile_m = 0, tile_n = 0, tile_k = 0;
  std::int64_t tile = 0, tiles = 0;  // elements; of all lines
  int stages = 0;
  std::uint64_t blocks = 0;
  int cluster = 1;  // blocks that share a tile
  int parts = 1;    // clusters that share a tile
  // sentences about the launches, and about alternatives to them
  std::vector<std::string> launches, alternatives;
};

class plan {
 public:
  std::size_t workspace = 0;  // bytes
  bool keeps_state = false;   // in the workspace, between calls

  plan() = default;
  launch_counts launch(const work& w) const { return made_->launch(w); }
  description described() const {
    description text;
    made_->describe(text);
    return text;
  }

  // launch: launch_counts(const Made&, const work&); describe: void(const Made&, description&).
  template <auto Launch, auto Describe, class Made>
  static plan of_type(Made made, std::size_t workspace, bool keeps_state = false) {
    struct model final : base {
      Made made;
      explicit model(Made&& m) : made(std::move(m)) {}
      launch_counts launch(const work& w) const override { return Launch(made, w); }
      void describe(description& text) const override { Describe(made, text); }
    };
    plan all;
    all.workspace = workspace, all.keeps_state = keeps_state;
    all.made_ = std::make_shared<const model>(std::move(made));
    return all;
  }

 private:
  struct base {
    virtual ~base() = default;
    virtual launch_counts launch(const work& w) const = 0;
    virtual void describe(description& text) const = 0;
  };
  std::shared_ptr<const base> made_;
};

// Runs in the memory that is given, checked before; empty: memory is borrowed, if the plan needs any.
launch_counts run(const plan& p, work given);

// The launches of a plan with workspace `memory`, none of which runs. Throws not_supported if the device
// cannot run one of them.
struct listed_launch {
  kernel code;
  extent3 grid;
  std::vector<std::byte> arguments;
};
std::vector<listed_launch> launches_of(const plan& p, const executor& device, std::span<std::byte> memory);
// The same with workspace at a dummy address: a large problem would need a large allocation.
std::vector<listed_launch> launches_of(const plan& p, const executor& device);

}  // namespace antiphase::choices
