// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of plain CUDA: each node is launched on a stream of its own, ordered by the graph's edges.
#include "checker/plain/runtime/launches/graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "checker/plain/runtime/run.hpp"

using antiphase::plain::place;
using antiphase::plain::recorded_launch;
using antiphase::plain::stream_work;

struct antiphase_plain_node {
  struct edge {
    cudaGraphNode_t source;
    bool programmatic;
  };
  antiphase_plain_graph* graph = nullptr;
  cudaGraphNodeParams params =
      antiphase::plain::of_kind(cudaGraphNodeTypeEmpty);  // as given; of captured nodes: the type only
  std::vector<edge> after;
  recorded_launch launch;                        // of a kernel
  stream_work work;                              // of another node
  std::shared_ptr<antiphase_plain_graph> child;  // of a graph
  bool enabled = true;
};
struct antiphase_plain_graph {
  std::vector<std::unique_ptr<antiphase_plain_node>> nodes;
};
struct antiphase_plain_graph_exec {
  antiphase_plain_graph graph;
  std::map<cudaGraphNode_t, cudaGraphNode_t> made_of;  // nodes of the graph it was made of, and its own
  antiphase::checker_detail::past done;                // launches of it come after each other
};

namespace antiphase::plain {
namespace {

using graph = antiphase_plain_graph;
using node = antiphase_plain_node;
using numbered = std::map<cudaGraphNode_t, cudaGraphNode_t>;

// Streams being captured. Each goes on after some nodes.
struct capture {
  graph* into = nullptr;
  bool owns = true;
  cudaStream_t origin = nullptr;
  std::map<cudaStream_t, std::vector<node::edge>> ends;
};
std::vector<std::unique_ptr<capture>>& captures() {
  static std::vector<std::unique_ptr<capture>> all;
  return all;
}
capture* capture_of(cudaStream_t on) {
  for (const auto& c : captures())
    if (c->ends.contains(on)) return c.get();
  return nullptr;
}
capture* capture_of(cudaEvent_t e) {
  for (const auto& c : captures())
    if (e->capture == c.get()) return c.get();
  return nullptr;
}

node* new_node(graph& g, cudaGraphNodeType type) {
  node* const n = g.nodes.emplace_back(std::make_unique<node>()).get();
  n->graph = &g;
  n->params = of_kind(type);
  return n;
}
bool is_kernel(const node& n) { return n.params.type == cudaGraphNodeTypeKernel; }

void copy_nodes(const graph& from, graph& to, numbered& made_of) {
  for (const auto& n : from.nodes) {
    node* const copy = new_node(to, n->params.type);
    *copy = *n;
    copy->graph = &to;
    made_of[n.get()] = copy;
  }
  for (const auto& n : to.nodes)
    for (node::edge& e : n->after) e.source = made_of.at(e.source);
}

int running = 0;  // graphs, one within the other
void run_node(const node& n, cudaStream_t on);
void run(const graph& g, cudaStream_t on) {
  checker_detail::launch_order& order = followed().launches;
  const checker_detail::past before = order.recorded(on);
  std::map<const node*, cudaStream_t> streams;
  const auto run_behind = [&](const auto& again, const node& n) -> void {
    if (streams.contains(&n)) return;
    for (const node::edge& e : n.after) again(again, *e.source);
    cudaStream_t& own = streams[&n];
    create_stream(&own, cudaStreamNonBlocking);
    order.order_after(own, before);
    for (const node::edge& e : n.after) {
      const auto k = order.last_kernel(streams.at(e.source));
      if (e.programmatic && k != nullptr)
        order.overlap_with(own, k);
      else
        order.order_after(own, order.recorded(streams.at(e.source)));
    }
    if (n.enabled) run_node(n, own);
  };
  ++running;
  for (const auto& n : g.nodes) run_behind(run_behind, *n);
  --running;
  order.other_work(on);
  for (const auto& [n, own] : streams) order.order_after(on, order.recorded(own));
  for (const auto& [n, own] : streams) order.forget(own);
}
void run_node(const node& n, cudaStream_t on) {
  if (is_kernel(n))
    launch(n.launch, on);
  else if (n.child != nullptr)
    run(*n.child, on);
  else if (n.work)
    n.work(on);
}

cudaError_t invalid() { return cudaErrorInvalidValue; }

// Sets what the node does.
cudaError_t fill(node& n, const cudaGraphNodeParams& p, place where) {
  n.params = p;
  switch (p.type) {
    case cudaGraphNodeTypeKernel: {
      if (p.kernel.extra != nullptr)
        refuse(where, "a kernel node with cudaKernelNodeParams::extra", "kernelParams");
      const config before = n.launch.configuration;  // attributes stay
      config c(p.kernel.gridDim, p.kernel.blockDim, p.kernel.sharedMemBytes);
      c.together = before.together;
      std::ranges::copy(before.cluster, c.cluster);
      n.launch = record_launch(p.kernel.func, c, p.kernel.kernelParams, where);
      break;
    }
    case cudaGraphNodeTypeMemset:
      n.work = [p = p.memset, where](cudaStream_t on) { set_now(p, on, where); };
      break;
    case cudaGraphNodeTypeMemcpy:
      n.work = [p = p.memcpy.copyParams, where](cudaStream_t on) {
        copy_box(p, on, returns::at_once, where);
      };
      break;
    case cudaGraphNodeTypeHost:
      n.work = [p = p.host, where](cudaStream_t on) {
        call_host_now(
            on, [p] { p.fn(p.userData); }, where);
      };
      break;
    case cudaGraphNodeTypeGraph: {
      n.child = std::make_shared<graph>();
      numbered made_of;
      copy_nodes(*p.graph.graph, *n.child, made_of);
      break;
    }
    case cudaGraphNodeTypeEventRecord:
      n.work = [e = p.eventRecord.event](cudaStream_t on) { record_now(e, on); };
      break;
    case cudaGraphNodeTypeWaitEvent:
      n.work = [e = p.eventWait.event](cudaStream_t on) { wait_now(on, e); };
      break;
    case cudaGraphNodeTypeEmpty: break;
    default:
      refuse(where, "a node of a graph that allocates memory, is conditional, or signals other programs",
             "nodes that are kernels, copies, sets of memory, host functions, events, graphs or empty");
  }
  return cudaSuccess;
}

node* own_of(cudaGraphExec_t e, cudaGraphNode_t n) {
  if (e == nullptr) return n;
  const auto at = e->made_of.find(n);
  return at == e->made_of.end() ? nullptr : at->second;
}

template <class From> cudaError_t hand_out(const From& all, cudaGraphNode_t* to, std::size_t* count) {
  if (to != nullptr)
    for (std::size_t i = 0; i < *count; ++i) to[i] = i < all.size() ? all[i] : nullptr;
  *count = to != nullptr ? std::min(*count, all.size()) : all.size();
  return cudaSuccess;
}

}  // namespace

// graphs
// -----------------------------------------------------------------------------------------------------------

cudaError_t create_graph(cudaGraph_t* g) { return *g = new graph, cudaSuccess; }
cudaError_t destroy_graph(cudaGraph_t g) { return delete g, cudaSuccess; }
cudaError_t clone_graph(cudaGraph_t* to, cudaGraph_t from) {
  numbered made_of;
  copy_nodes(*from, *(*to = new graph), made_of);
  return cudaSuccess;
}
cudaError_t instantiate(cudaGraphExec_t* to, cudaGraph_t from, unsigned long long flags) {
  if (from == nullptr) return invalid();
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0)
    refuse({}, "a graph that kernels launch (cudaGraphInstantiateFlagDeviceLaunch)",
           "cudaGraphLaunch() by the host");
  *to = new antiphase_plain_graph_exec;
  copy_nodes(*from, (*to)->graph, (*to)->made_of);
  return cudaSuccess;
}
cudaError_t update_graph(cudaGraphExec_t to, cudaGraph_t from, cudaGraphExecUpdateResultInfo* how) {
  const auto& old = to->graph.nodes;
  const auto differs = [&](auto result, cudaGraphNode_t at) {
    if (how != nullptr) *how = {result, at, nullptr};
    return cudaErrorGraphExecUpdateFailure;
  };
  if (old.size() != from->nodes.size()) return differs(cudaGraphExecUpdateErrorTopologyChanged, nullptr);
  std::map<const node*, std::size_t> at, of;
  for (std::size_t i = 0; i < old.size(); ++i) at[old[i].get()] = of[from->nodes[i].get()] = i;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const node &a = *old[i], &b = *from->nodes[i];
    if (a.params.type != b.params.type)
      return differs(cudaGraphExecUpdateErrorNodeTypeChanged, from->nodes[i].get());
    if (!std::ranges::equal(a.after, b.after, [&](const node::edge& x, const node::edge& y) {
          return at.at(x.source) == of.at(y.source) && x.programmatic == y.programmatic;
        }))
      return differs(cudaGraphExecUpdateErrorTopologyChanged, from->nodes[i].get());
  }
  antiphase_plain_graph fresh;
  numbered made_of;
  copy_nodes(*from, fresh, made_of);
  for (const auto& n : fresh.nodes) n->graph = &to->graph;
  for (std::size_t i = 0; i < old.size(); ++i)
    for (auto& [known, own] : to->made_of)
      if (own == old[i].get()) made_of[known] = fresh.nodes[i].get();
  to->graph.nodes = std::move(fresh.nodes);
  to->made_of = std::move(made_of);
  if (how != nullptr) *how = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
  return cudaSuccess;
}
cudaError_t destroy_graph(cudaGraphExec_t e) { return delete e, cudaSuccess; }

cudaError_t launch_graph(cudaGraphExec_t e, cudaStream_t on, place where) {
  if (e == nullptr)
    return misused(where, "cudaGraphLaunch() of no graph", "cudaGraphInstantiate() before it",
                   cudaErrorInvalidValue);
  if (capture* const c = capture_of(on)) {
    node* const n = new_node(*c->into, cudaGraphNodeTypeGraph);
    n->child = std::make_shared<graph>();
    numbered made_of;
    copy_nodes(e->graph, *n->child, made_of);
    n->after = std::exchange(c->ends[on], {{n, false}});
    return cudaSuccess;
  }
  if (disturbs_capture(on, waits_for::stream, "cudaGraphLaunch()", where))
    return cudaErrorStreamCaptureImplicit;
  checker_detail::launch_order& order = followed().launches;
  order.order_after(on, e->done);
  run(e->graph, on);
  e->done = order.recorded(on);
  return last_error(false);
}

// nodes
// -----------------------------------------------------------------------------------------------------------

cudaError_t add_edge(cudaGraph_t, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData* data) {
  if (from == nullptr || to == nullptr) return invalid();
  if (data != nullptr && data->from_port == cudaGraphKernelNodePortLaunchCompletion)
    refuse({}, "an edge of a graph from cudaGraphKernelNodePortLaunchCompletion",
           "cudaGraphKernelNodePortProgrammatic, or a whole dependency");
  const bool programmatic = data != nullptr && data->type == cudaGraphDependencyTypeProgrammatic;
  if (programmatic && !(is_kernel(*from) && is_kernel(*to))) return invalid();
  to->after.push_back({from, programmatic});
  return cudaSuccess;
}
cudaError_t remove_edge(cudaGraph_t, cudaGraphNode_t from, cudaGraphNode_t to) {
  std::erase_if(to->after, [&](const node::edge& e) { return e.source == from; });
  return cudaSuccess;
}
cudaError_t remove_node(cudaGraphNode_t n) {
  for (const auto& other : n->graph->nodes) remove_edge(n->graph, n, other.get());
  std::erase_if(n->graph->nodes, [&](const auto& other) { return other.get() == n; });
  return cudaSuccess;
}
cudaError_t add_node(cudaGraphNode_t* n, cudaGraph_t g, edges of, const cudaGraphNodeParams& p, place where) {
  if (g == nullptr) return invalid();
  *n = new_node(*g, p.type);
  for (std::size_t i = 0; i < of.count; ++i)
    if (const cudaError_t e = add_edge(g, of.sources[i], *n, of.data != nullptr ? of.data + i : nullptr);
        e != cudaSuccess)
      return e;
  return fill(**n, p, where);
}
cudaError_t add_copy(cudaGraphNode_t* n, cudaGraph_t g, edges of, const row_copy& c, place where) {
  const cudaError_t e = add_node(n, g, of, of_kind(cudaGraphNodeTypeEmpty), where);
  return e != cudaSuccess ? e : set_copy(nullptr, *n, c, where);
}
cudaError_t set_node(cudaGraphExec_t e, cudaGraphNode_t n, const cudaGraphNodeParams& p, place where) {
  node* const own = own_of(e, n);
  return own == nullptr ? invalid() : fill(*own, p, where);
}
cudaError_t set_copy(cudaGraphExec_t e, cudaGraphNode_t n, const row_copy& c, place where) {
  node* const own = own_of(e, n);
  if (own == nullptr) return invalid();
  own->params = of_kind(cudaGraphNodeTypeMemcpy);
  own->work = [c, where](cudaStream_t on) { copy_rows_now(c, on, where); };
  return cudaSuccess;
}
cudaError_t set_attribute(cudaGraphNode_t n, cudaLaunchAttributeID id, const cudaLaunchAttributeValue& value,
                          place where) {
  return is_kernel(*n) ? set_attribute(n->launch.configuration, id, value, where) : invalid();
}
cudaError_t enable_node(cudaGraphExec_t e, cudaGraphNode_t n, bool on) {
  node* const own = own_of(e, n);
  return own == nullptr ? invalid() : (own->enabled = on, cudaSuccess);
}
cudaError_t get_node(cudaGraphNode_t n, cudaGraphNodeParams& p) { return p = n->params, cudaSuccess; }

cudaError_t get_nodes(cudaGraph_t g, asked which, cudaGraphNode_t* to, std::size_t* count) {
  std::vector<cudaGraphNode_t> all;
  for (const auto& n : g->nodes)
    if (which == asked::all || n->after.empty()) all.push_back(n.get());
  return hand_out(all, to, count);
}
cudaError_t get_edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, std::size_t* count) {
  std::vector<cudaGraphNode_t> begin, end;
  for (const auto& n : g->nodes)
    for (const node::edge& e : n->after) begin.push_back(e.source), end.push_back(n.get());
  std::size_t same = *count;
  hand_out(begin, from, &same);
  return hand_out(end, to, count);
}
cudaError_t get_neighbours(cudaGraphNode_t n, bool before, cudaGraphNode_t* to, std::size_t* count) {
  std::vector<cudaGraphNode_t> all;
  for (const auto& other : n->graph->nodes) {
    const node &first = before ? *other : *n, &second = before ? *n : *other;
    if (std::ranges::find(second.after, &first, &node::edge::source) != second.after.end())
      all.push_back(other.get());
  }
  return hand_out(all, to, count);
}

// capture
// -----------------------------------------------------------------------------------------------------------

cudaError_t begin_capture(cudaStream_t on, cudaGraph_t into, edges of, place where) {
  if (on == nullptr)
    return misused(where, "cudaStreamBeginCapture() of the default stream",
                   "a stream made by cudaStreamCreate(): the default stream cannot be captured",
                   cudaErrorStreamCaptureUnsupported);
  if (capture_of(on) != nullptr)
    return misused(where, "cudaStreamBeginCapture() of a stream that is being captured",
                   "cudaStreamEndCapture() before it", cudaErrorInvalidValue);
  captures().push_back(std::make_unique<capture>());
  capture& c = *captures().back();
  c.owns = into == nullptr;
  c.into = into != nullptr ? into : new graph;
  c.origin = on;
  for (std::size_t i = 0; i < of.count; ++i) c.ends[on].push_back({of.sources[i], false});
  c.ends[on];
  return cudaSuccess;
}
cudaError_t end_capture(cudaStream_t on, cudaGraph_t* g, place where) {
  capture* const c = capture_of(on);
  if (g != nullptr) *g = nullptr;
  if (c == nullptr || c->origin != on)
    return misused(where, "cudaStreamEndCapture() of a stream whose capture has not begun",
                   "the stream of cudaStreamBeginCapture()", cudaErrorStreamCaptureUnmatched);
  std::set<const node*> joined;
  std::vector<const node*> left;
  const auto take = [&](const std::vector<node::edge>& all) {
    for (const node::edge& e : all)
      if (joined.insert(e.source).second) left.push_back(e.source);
  };
  take(c->ends[on]);
  while (!left.empty()) {
    const node* const n = left.back();
    left.pop_back();
    take(n->after);
  }
  const bool whole = std::ranges::all_of(c->ends, [&](const auto& of) {
    return std::ranges::all_of(of.second, [&](const node::edge& e) { return joined.contains(e.source); });
  });
  graph* const made = c->into;
  const bool owns = c->owns;
  std::erase_if(captures(), [&](const auto& other) { return other.get() == c; });
  if (whole) return g != nullptr ? (*g = made, cudaSuccess) : cudaSuccess;
  if (owns) delete made;
  return misused(where, "cudaStreamEndCapture() while work of another stream has not been joined",
                 "cudaEventRecord() there, and cudaStreamWaitEvent() by the stream where capture began",
                 cudaErrorStreamCaptureUnjoined);
}
bool any_capture() { return !captures().empty(); }
bool graph_runs() { return running > 0; }
bool is_capturing(cudaStream_t on) { return capture_of(on) != nullptr; }

bool captured(cudaStream_t on, cudaGraphNodeType type, const stream_work& work, place where) {
  capture* const c = capture_of(on);
  if (c == nullptr) return disturbs_capture(on, waits_for::stream, "work on the default stream", where);
  node* const n = new_node(*c->into, type);
  n->work = work;
  // A programmatic edge leads to kernels only: the rest waits for the whole kernel.
  n->after = std::exchange(c->ends[on], {{n, false}});
  for (node::edge& e : n->after) e.programmatic = false;
  return true;
}
bool captured(const recorded_launch& l) {
  const cudaStream_t on = l.configuration.stream;
  capture* const c = capture_of(on);
  if (c == nullptr)
    return !captures().empty() &&
           disturbs_capture(on, waits_for::stream, "a launch on the default stream", l.place);
  if (l.configuration.begun != nullptr)
    refuse(l.place, "cudaLaunchAttributeLaunchCompletionEvent in a captured stream",
           "cudaLaunchAttributeProgrammaticEvent, or cudaEventRecord()");
  node* const n = new_node(*c->into, cudaGraphNodeTypeKernel);
  n->launch = l;
  n->after = std::exchange(c->ends[on], {{n, false}});
  if (l.configuration.overlaps && n->after.size() == 1 && is_kernel(*n->after[0].source))
    n->after[0].programmatic = true;
  n->launch.configuration.overlaps = false;
  if (cudaEvent_t const e = std::exchange(n->launch.configuration.lets_begin, nullptr); e != nullptr) {
    e->capture = c;
    e->nodes = {{n, true}};
  }
  return true;
}
bool captured_record(cudaEvent_t e, cudaStream_t on, event_of what, place where) {
  capture* const c = capture_of(on);
  e->capture = nullptr;
  if (c == nullptr) return false;
  if (what == event_of::graph)
    return captured(
        on, cudaGraphNodeTypeEventRecord, [e](cudaStream_t s) { record_now(e, s); }, where);
  e->capture = c;
  e->nodes.clear();
  for (const node::edge& b : c->ends[on]) e->nodes.push_back({b.source, b.programmatic});
  return true;
}
bool captured_wait(cudaStream_t on, cudaEvent_t e, event_of what, place where) {
  capture *const c = capture_of(on), *const of = capture_of(e);
  if (c == nullptr && of == nullptr) return false;
  if (c != nullptr && what == event_of::graph)
    return captured(
        on, cudaGraphNodeTypeWaitEvent, [e](cudaStream_t s) { wait_now(s, e); }, where);
  if (of == nullptr || (c != nullptr && c != of)) {
    misused(where, "cudaStreamWaitEvent() of a captured stream, for an event recorded outside of the capture",
            "an event recorded while the streams are captured, or cudaEventWaitExternal",
            cudaErrorStreamCaptureIsolation);
    return true;
  }
  for (const auto& [is, programmatic] : e->nodes) of->ends[on].push_back({is, programmatic});
  of->ends[on];
  return true;
}
bool disturbs_capture(cudaStream_t on, waits_for what, const char* call, place where) {
  if (captures().empty()) return false;
  const bool disturbs = what == waits_for::all || std::ranges::any_of(captures(), [&](const auto& c) {
                          return on == nullptr && std::ranges::any_of(c->ends, [](const auto& of) {
                                   return !followed().launches.is_apart(of.first);
                                 });
                        });
  if (!disturbs) return false;
  misused(where, fmt::format("{} while a stream is captured", call), "cudaStreamEndCapture() before it",
          cudaErrorStreamCaptureImplicit);
  return true;
}

}  // namespace antiphase::plain
