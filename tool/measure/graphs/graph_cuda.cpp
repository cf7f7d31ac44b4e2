// SPDX-License-Identifier: Apache-2.0
// Work launched as a CUDA graph.
#include "tool/measure/graphs/graph.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <memory>

namespace antiphase::tool {
namespace {

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears the error, lest a later call report it
  throw device_error(fmt::format("{} failed: {}", call, cudaGetErrorString(result)));
}

template <auto Destroy> struct destroys {
  template <class T> void operator()(T* owned) const { Destroy(owned); }
};
template <class Handle, auto Destroy> using owned =
    std::unique_ptr<std::remove_pointer_t<Handle>, destroys<Destroy>>;

using graph = owned<cudaGraph_t, cudaGraphDestroy>;
using own_stream = owned<cudaStream_t, cudaStreamDestroy>;

own_stream make_stream() {
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return own_stream(made);
}

// Lets the work allocate memory that it keeps for the stream.
void run_once(const work& run, cudaStream_t on) {
  run(on);
  check(cudaStreamSynchronize(on), "cudaStreamSynchronize");
}

graph record(const work& run, int runs, cudaStream_t on) {
  cudaGraph_t made = nullptr;
  check(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    for (int i = 0; i < runs; ++i) run(on);
  } catch (const error& failure) {
    cudaStreamEndCapture(on, &made);  // its error only follows from `failure`
    cudaGetLastError();
    const graph unfinished(made);
    throw not_supported(fmt::format("it cannot be captured into a graph: {}", failure.what()));
  }
  check(cudaStreamEndCapture(on, &made), "cudaStreamEndCapture");
  return graph(made);
}

// A stream and the graph captured from it. Every launch of the graph uses the memory that the library keeps
// for that stream.
class recorded_work {
 public:
  recorded_work(const work& run, int runs) : stream_(make_stream()) {
    run_once(run, stream_.get());
    const graph recorded = record(run, runs, stream_.get());
    cudaGraphExec_t ready = nullptr;
    check(cudaGraphInstantiate(&ready, recorded.get(), 0), "cudaGraphInstantiate");
    graph_.reset(ready);
  }
  void launch(stream on) const { check(cudaGraphLaunch(graph_.get(), on), "cudaGraphLaunch"); }

 private:
  own_stream stream_;
  owned<cudaGraphExec_t, cudaGraphExecDestroy> graph_;
};

std::vector<std::string> kernels_in(cudaGraph_t recorded) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(recorded, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(recorded, nodes.data(), &count), "cudaGraphGetNodes");
  std::vector<std::string> names;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type != cudaGraphNodeTypeKernel) continue;  // memory is allocated, freed or set
    cudaKernelNodeParams launch{};
    check(cudaGraphKernelNodeGetParams(node, &launch), "cudaGraphKernelNodeGetParams");
    const char* name = nullptr;
    check(cudaFuncGetName(&name, launch.func), "cudaFuncGetName");
    names.emplace_back(name);
  }
  return names;
}

}  // namespace

work in_graph(const context& where, const work& run, int runs) {
  if (where.kind() != target::cuda) throw not_supported("the CPU executor has no graphs");
  std::shared_ptr<const recorded_work> graph;
  // with its device current
  where.runs_on().milliseconds([&](stream) { graph = std::make_shared<const recorded_work>(run, runs); },
                               nullptr);
  return [graph](stream on) { graph->launch(on); };
}

std::vector<std::string> kernels_of(const context& where, const work& run) {
  if (where.kind() != target::cuda) throw not_supported("the CPU executor has no graphs");
  std::vector<std::string> names;
  const auto look = [&](stream) {
    const own_stream on = make_stream();
    graph recorded;
    try {
      recorded = record(run, 1, on.get());
    } catch (const not_supported&) {
      run_once(run, on.get());
      recorded = record(run, 1, on.get());
    }
    names = kernels_in(recorded.get());
  };
  where.runs_on().milliseconds(look, nullptr);  // with its device current
  return names;
}

}  // namespace antiphase::tool
