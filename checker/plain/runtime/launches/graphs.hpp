// SPDX-License-Identifier: Apache-2.0
// Functions that the runtime of plain CUDA and its graphs need of each other.
#pragma once
#include <antiphase/plain/graphs.h>

#include <functional>
#include <vector>

#include "checker/runs/model.hpp"

struct antiphase_plain_event {
  antiphase::checker_detail::past after;
  // recorded when this kernel lets others begin; null: when everything before has ended
  antiphase::checker_detail::launch_order::kernel_ptr kernel;
  // while a stream is captured: the nodes that it stands for; a programmatic one lets others begin
  struct node {
    cudaGraphNode_t node;
    bool programmatic;
  };
  bool destroyed = false, recorded = false, waited_for = false;  // since it was recorded last
  std::vector<antiphase::checker_detail::past> replaced;         // by the last record
  antiphase::plain::place recorded_at;
  const void* capture = nullptr;
  std::vector<node> nodes;
};

namespace antiphase::plain {

// A launch to be done later, any number of times.
struct recorded_launch {
  const char* name = "";
  config configuration{{}, {}};
  machine::place place;
  const void* entry = nullptr;
  void (*body)(const void*) = nullptr;
  std::vector<unsigned char> params;
};
void launch(const recorded_launch& l, cudaStream_t on);
// The launch that such a call would do; not done.
recorded_launch record_launch(const void* entry, const config& c, void** arguments, place where);

// Work for a stream, which is done at once, or goes into a graph while the stream is captured.
using stream_work = std::function<void(cudaStream_t on)>;
bool captured(cudaStream_t on, cudaGraphNodeType type, const stream_work& work, place where);
bool captured(const recorded_launch& l);
bool any_capture();
bool graph_runs();  // what is done is done by nodes of a graph
// The same of events. False: not captured.
bool captured_record(cudaEvent_t e, cudaStream_t on, event_of what, place where);
bool captured_wait(cudaStream_t on, cudaEvent_t e, event_of what, place where);
// True, with a finding, for what no stream that is captured may do: `on` or, for `all`, any stream.
bool disturbs_capture(cudaStream_t on, waits_for what, const char* call, place where);

// Work of nodes.
void copy_rows_now(const row_copy& c, cudaStream_t on, place where);
void set_now(const cudaMemsetParams& p, cudaStream_t on, place where);
void call_host_now(cudaStream_t on, const std::function<void()>& f, place where);
void record_now(cudaEvent_t e, cudaStream_t on);
void wait_now(cudaStream_t on, cudaEvent_t e);

}  // namespace antiphase::plain
