// Work that is launched as a CUDA graph.
#include "tool/measure/graph.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <memory>

namespace antiphase::tool {
namespace {

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw device_error(fmt::format("{} failed: {}", call, cudaGetErrorString(result)));
}

template <auto Destroy> struct destroys {
  template <class T> void operator()(T* owned) const { Destroy(owned); }
};
template <class Handle, auto Destroy> using owned = std::unique_ptr<std::remove_pointer_t<Handle>, destroys<Destroy>>;

// A stream, and the graph of what it was told. Memory that the library keeps for the stream is used by whoever launches the graph.
class recorded_work {
 public:
  recorded_work(const work& run, int runs) {
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    stream_.reset(made);
    run(made);
    check(cudaStreamSynchronize(made), "cudaStreamSynchronize");
    const auto recorded = record(run, runs);
    cudaGraphExec_t ready = nullptr;
    check(cudaGraphInstantiate(&ready, recorded.get(), 0), "cudaGraphInstantiate");
    graph_.reset(ready);
  }
  void launch(stream on) const { check(cudaGraphLaunch(graph_.get(), on), "cudaGraphLaunch"); }

 private:
  using graph = owned<cudaGraph_t, cudaGraphDestroy>;
  owned<cudaStream_t, cudaStreamDestroy> stream_;
  owned<cudaGraphExec_t, cudaGraphExecDestroy> graph_;

  graph record(const work& run, int runs) const {
    cudaGraph_t made = nullptr;
    check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
      for (int i = 0; i < runs; ++i) run(stream_.get());
    } catch (const error& failure) {
      cudaStreamEndCapture(stream_.get(), &made);  // what it reports is the consequence
      cudaGetLastError();
      const graph unfinished(made);
      throw not_supported(fmt::format("it cannot be captured into a graph: {}", failure.what()));
    }
    check(cudaStreamEndCapture(stream_.get(), &made), "cudaStreamEndCapture");
    return graph(made);
  }
};

}  // namespace

work in_graph(const context& where, const work& run, int runs) {
  if (where.kind() != target::cuda) throw not_supported("the CPU executor has no graphs");
  std::shared_ptr<const recorded_work> graph;
  where.runs_on().milliseconds([&](stream) { graph = std::make_shared<const recorded_work>(run, runs); }, nullptr);  // on its device
  return [graph](stream on) { graph->launch(on); };
}

}  // namespace antiphase::tool
