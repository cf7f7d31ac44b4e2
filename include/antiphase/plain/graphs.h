// SPDX-License-Identifier: Apache-2.0
// CUDA graphs, stream capture and host functions of plain CUDA under the checker.
#pragma once
#include "launch_attributes.h"

// kinds
// -----------------------------------------------------------------------------------------------------------
struct antiphase_plain_graph;
struct antiphase_plain_node;
struct antiphase_plain_graph_exec;
typedef antiphase_plain_graph* cudaGraph_t;
typedef antiphase_plain_node* cudaGraphNode_t;
typedef antiphase_plain_graph_exec* cudaGraphExec_t;
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel,
  cudaGraphNodeTypeMemcpy,
  cudaGraphNodeTypeMemset,
  cudaGraphNodeTypeHost,
  cudaGraphNodeTypeGraph,
  cudaGraphNodeTypeEmpty,
  cudaGraphNodeTypeWaitEvent,
  cudaGraphNodeTypeEventRecord,
  cudaGraphNodeTypeExtSemaphoreSignal,
  cudaGraphNodeTypeExtSemaphoreWait,
  cudaGraphNodeTypeMemAlloc,
  cudaGraphNodeTypeMemFree,
  cudaGraphNodeTypeConditional = 13
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
  cudaStreamCaptureStatusInvalidated
};
enum cudaGraphExecUpdateResult {
  cudaGraphExecUpdateSuccess,
  cudaGraphExecUpdateError,
  cudaGraphExecUpdateErrorTopologyChanged,
  cudaGraphExecUpdateErrorNodeTypeChanged,
  cudaGraphExecUpdateErrorFunctionChanged,
  cudaGraphExecUpdateErrorParametersChanged,
  cudaGraphExecUpdateErrorNotSupported,
  cudaGraphExecUpdateErrorUnsupportedFunctionChange,
  cudaGraphExecUpdateErrorAttributesChanged
};
struct cudaGraphExecUpdateResultInfo {
  cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode, errorFromNode;
};
enum cudaGraphInstantiateFlags {
  cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
  cudaGraphInstantiateFlagUpload = 2,
  cudaGraphInstantiateFlagDeviceLaunch = 4,
  cudaGraphInstantiateFlagUseNodePriority = 8
};
enum cudaGraphDependencyType { cudaGraphDependencyTypeDefault, cudaGraphDependencyTypeProgrammatic };
constexpr unsigned char cudaGraphKernelNodePortDefault = 0, cudaGraphKernelNodePortProgrammatic = 1,
                        cudaGraphKernelNodePortLaunchCompletion = 2;
struct cudaGraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
typedef void (*cudaHostFn_t)(void*);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void*);
#define CUDART_CB
struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void **kernelParams, **extra;
};
typedef cudaKernelNodeParams cudaKernelNodeParamsV2;
struct cudaMemsetParams {
  void* dst;
  std::size_t pitch;
  unsigned value, elementSize;
  std::size_t width, height;
};
typedef cudaMemsetParams cudaMemsetParamsV2;
struct cudaHostNodeParams {
  cudaHostFn_t fn;
  void* userData;
};
typedef cudaHostNodeParams cudaHostNodeParamsV2;
struct cudaMemcpyNodeParams {
  int flags, reserved[3];
  cudaMemcpy3DParms copyParams;
};
struct cudaChildGraphNodeParams {
  cudaGraph_t graph;
};
struct cudaEventWaitNodeParams {
  cudaEvent_t event;
};
typedef cudaEventWaitNodeParams cudaEventRecordNodeParams;
struct cudaGraphNodeParams {
  cudaGraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    cudaKernelNodeParamsV2 kernel;
    cudaMemcpyNodeParams memcpy;
    cudaMemsetParamsV2 memset;
    cudaHostNodeParamsV2 host;
    cudaChildGraphNodeParams graph;
    cudaEventWaitNodeParams eventWait;
    cudaEventRecordNodeParams eventRecord;
  };
  long long reserved2;
};

// the runtime
// -----------------------------------------------------------------------------------------------------------
namespace antiphase::plain {
// One row after the other: a copy of one row is a width and heights of 1.
struct row_copy {
  void* destination;
  std::size_t to_pitch;
  const void* source;
  std::size_t from_pitch, width, height;
  cudaMemcpyKind kind;
};
// Edges that a new node gets; `data` may be null.
struct edges {
  const cudaGraphNode_t* sources;
  std::size_t count;
  const cudaGraphEdgeData* data = nullptr;
};
cudaError_t create_graph(cudaGraph_t* g);
cudaError_t destroy_graph(cudaGraph_t g);
cudaError_t clone_graph(cudaGraph_t* to, cudaGraph_t from);
cudaError_t instantiate(cudaGraphExec_t* to, cudaGraph_t from, unsigned long long flags);
cudaError_t update_graph(cudaGraphExec_t to, cudaGraph_t from, cudaGraphExecUpdateResultInfo* how);
cudaError_t destroy_graph(cudaGraphExec_t e);
cudaError_t launch_graph(cudaGraphExec_t e, cudaStream_t on, place where);
cudaError_t add_node(cudaGraphNode_t* n, cudaGraph_t g, edges of, const cudaGraphNodeParams& p, place where);
cudaError_t add_copy(cudaGraphNode_t* n, cudaGraph_t g, edges of, const row_copy& c, place where);
cudaError_t add_edge(cudaGraph_t g, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData* data);
cudaError_t remove_edge(cudaGraph_t g, cudaGraphNode_t from, cudaGraphNode_t to);
cudaError_t remove_node(cudaGraphNode_t n);
// of a node, or of what an executable graph made of it
cudaError_t set_node(cudaGraphExec_t e, cudaGraphNode_t n, const cudaGraphNodeParams& p, place where);
cudaError_t set_copy(cudaGraphExec_t e, cudaGraphNode_t n, const row_copy& c, place where);
cudaError_t set_attribute(cudaGraphNode_t n, cudaLaunchAttributeID id, const cudaLaunchAttributeValue& value,
                          place where);
cudaError_t enable_node(cudaGraphExec_t e, cudaGraphNode_t n, bool on);
cudaError_t get_node(cudaGraphNode_t n, cudaGraphNodeParams& p);
// nodes of the graph, those without dependencies, those before or after a node
enum class asked { all, roots };
cudaError_t get_nodes(cudaGraph_t g, asked which, cudaGraphNode_t* to, std::size_t* count);
cudaError_t get_edges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, std::size_t* count);
cudaError_t get_neighbours(cudaGraphNode_t n, bool before, cudaGraphNode_t* to, std::size_t* count);
cudaError_t begin_capture(cudaStream_t on, cudaGraph_t into, edges of, place where);
cudaError_t end_capture(cudaStream_t on, cudaGraph_t* g, place where);
bool is_capturing(cudaStream_t on);
cudaError_t call_host(cudaStream_t on, cudaHostFn_t f, void* with, place where);
cudaError_t call_host(cudaStream_t on, cudaStreamCallback_t f, void* with, place where);
inline cudaGraphNodeParams of_kind(cudaGraphNodeType t) {
  cudaGraphNodeParams p{t, {}, {}, 0};
  return p;
}
inline cudaGraphNodeParams params_of(const cudaKernelNodeParams& k) {
  auto p = of_kind(cudaGraphNodeTypeKernel);
  return p.kernel = k, p;
}
inline cudaGraphNodeParams params_of(const cudaMemsetParams& k) {
  auto p = of_kind(cudaGraphNodeTypeMemset);
  return p.memset = k, p;
}
inline cudaGraphNodeParams params_of(const cudaHostNodeParams& k) {
  auto p = of_kind(cudaGraphNodeTypeHost);
  return p.host = k, p;
}
inline cudaGraphNodeParams params_of(const cudaMemcpy3DParms& k) {
  auto p = of_kind(cudaGraphNodeTypeMemcpy);
  return p.memcpy.copyParams = k, p;
}
inline cudaGraphNodeParams params_of(cudaGraph_t k) {
  auto p = of_kind(cudaGraphNodeTypeGraph);
  return p.graph.graph = k, p;
}
inline cudaGraphNodeParams params_of(cudaGraphNodeType t, cudaEvent_t e) {
  auto p = of_kind(t);
  return p.eventWait.event = e, p;
}
}  // namespace antiphase::plain

// CUDA's names
// -----------------------------------------------------------------------------------------------------------
#define AP_CALL inline cudaError_t
AP_CALL cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void* with, AP_AT) {
  return ap_plain::call_host(s, f, with, ap_at);
}
AP_CALL cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f, void* with, unsigned, AP_AT) {
  return ap_plain::call_host(s, f, with, ap_at);
}

AP_CALL cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode, AP_AT) {
  return ap_plain::begin_capture(s, nullptr, {nullptr, 0}, ap_at);
}
AP_CALL cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t* from,
                                      const cudaGraphEdgeData* data, std::size_t n, cudaStreamCaptureMode,
                                      AP_AT) {
  return ap_plain::begin_capture(s, g, {from, n, data}, ap_at);
}
AP_CALL cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g, AP_AT) {
  return ap_plain::end_capture(s, g, ap_at);
}
AP_CALL cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* is) {
  return *is = ap_plain::is_capturing(s) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone,
         cudaSuccess;
}
AP_CALL cudaStreamGetCaptureInfo(cudaStream_t s, cudaStreamCaptureStatus* is,
                                 unsigned long long* id = nullptr) {
  if (id != nullptr) *id = 1;
  return cudaStreamIsCapturing(s, is);
}
AP_CALL cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

AP_CALL cudaGraphCreate(cudaGraph_t* g, unsigned) { return ap_plain::create_graph(g); }
AP_CALL cudaGraphDestroy(cudaGraph_t g) { return ap_plain::destroy_graph(g); }
AP_CALL cudaGraphClone(cudaGraph_t* to, cudaGraph_t from) { return ap_plain::clone_graph(to, from); }
AP_CALL cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long flags = 0) {
  return ap_plain::instantiate(e, g, flags);
}
AP_CALL cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, cudaGraphNode_t*, char*, std::size_t) {
  return ap_plain::instantiate(e, g, 0);
}
AP_CALL cudaGraphInstantiateWithFlags(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long flags = 0) {
  return ap_plain::instantiate(e, g, flags);
}
AP_CALL cudaGraphExecDestroy(cudaGraphExec_t e) { return ap_plain::destroy_graph(e); }
AP_CALL cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t g, cudaGraphExecUpdateResultInfo* how) {
  return ap_plain::update_graph(e, g, how);
}
AP_CALL cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t g, cudaGraphNode_t* at,
                            cudaGraphExecUpdateResult* how) {
  cudaGraphExecUpdateResultInfo all{};
  const cudaError_t done = ap_plain::update_graph(e, g, &all);
  if (at != nullptr) *at = all.errorNode;
  return *how = all.result, done;
}
AP_CALL cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s, AP_AT) {
  return ap_plain::launch_graph(e, s, ap_at);
}
AP_CALL cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
AP_CALL cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned) { return cudaSuccess; }

#define AP_ADD(Kind, Params)                                                                          \
  AP_CALL cudaGraphAdd##Kind##Node(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,    \
                                   std::size_t count, Params p, AP_AT) {                              \
    return ap_plain::add_node(n, g, {from, count}, ap_plain::params_of(*p), ap_at);                   \
  }                                                                                                   \
  AP_CALL cudaGraph##Kind##NodeSetParams(cudaGraphNode_t n, Params p, AP_AT) {                        \
    return ap_plain::set_node(nullptr, n, ap_plain::params_of(*p), ap_at);                            \
  }                                                                                                   \
  AP_CALL cudaGraphExec##Kind##NodeSetParams(cudaGraphExec_t e, cudaGraphNode_t n, Params p, AP_AT) { \
    return ap_plain::set_node(e, n, ap_plain::params_of(*p), ap_at);                                  \
  }
AP_ADD(Kernel, const cudaKernelNodeParams*)
AP_ADD(Memset, const cudaMemsetParams*)
AP_ADD(Host, const cudaHostNodeParams*)
AP_ADD(Memcpy, const cudaMemcpy3DParms*)
#undef AP_ADD
AP_CALL cudaGraphAddMemcpyNode1D(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,
                                 std::size_t count, void* to, const void* of, std::size_t bytes,
                                 cudaMemcpyKind k, AP_AT) {
  return ap_plain::add_copy(n, g, {from, count}, {to, bytes, of, bytes, bytes, 1, k}, ap_at);
}
AP_CALL cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t n, void* to, const void* of, std::size_t bytes,
                                       cudaMemcpyKind k, AP_AT) {
  return ap_plain::set_copy(nullptr, n, {to, bytes, of, bytes, bytes, 1, k}, ap_at);
}
AP_CALL cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t e, cudaGraphNode_t n, void* to, const void* of,
                                           std::size_t bytes, cudaMemcpyKind k, AP_AT) {
  return ap_plain::set_copy(e, n, {to, bytes, of, bytes, bytes, 1, k}, ap_at);
}
AP_CALL cudaGraphAddEmptyNode(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,
                              std::size_t count, AP_AT) {
  return ap_plain::add_node(n, g, {from, count}, ap_plain::of_kind(cudaGraphNodeTypeEmpty), ap_at);
}
AP_CALL cudaGraphAddChildGraphNode(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,
                                   std::size_t count, cudaGraph_t child, AP_AT) {
  return ap_plain::add_node(n, g, {from, count}, ap_plain::params_of(child), ap_at);
}
AP_CALL cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t e, cudaGraphNode_t n, cudaGraph_t child, AP_AT) {
  return ap_plain::set_node(e, n, ap_plain::params_of(child), ap_at);
}
AP_CALL cudaGraphAddEventRecordNode(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,
                                    std::size_t count, cudaEvent_t e, AP_AT) {
  return ap_plain::add_node(n, g, {from, count}, ap_plain::params_of(cudaGraphNodeTypeEventRecord, e), ap_at);
}
AP_CALL cudaGraphAddEventWaitNode(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,
                                  std::size_t count, cudaEvent_t e, AP_AT) {
  return ap_plain::add_node(n, g, {from, count}, ap_plain::params_of(cudaGraphNodeTypeWaitEvent, e), ap_at);
}
AP_CALL cudaGraphAddNode(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from, std::size_t count,
                         cudaGraphNodeParams* p, AP_AT) {
  return ap_plain::add_node(n, g, {from, count}, *p, ap_at);
}
AP_CALL cudaGraphAddNode(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,
                         const cudaGraphEdgeData* data, std::size_t count, cudaGraphNodeParams* p, AP_AT) {
  return ap_plain::add_node(n, g, {from, count, data}, *p, ap_at);
}
AP_CALL cudaGraphAddNode_v2(cudaGraphNode_t* n, cudaGraph_t g, const cudaGraphNode_t* from,
                            const cudaGraphEdgeData* data, std::size_t count, cudaGraphNodeParams* p, AP_AT) {
  return ap_plain::add_node(n, g, {from, count, data}, *p, ap_at);
}
AP_CALL cudaGraphNodeSetParams(cudaGraphNode_t n, cudaGraphNodeParams* p, AP_AT) {
  return ap_plain::set_node(nullptr, n, *p, ap_at);
}
AP_CALL cudaGraphExecNodeSetParams(cudaGraphExec_t e, cudaGraphNode_t n, cudaGraphNodeParams* p, AP_AT) {
  return ap_plain::set_node(e, n, *p, ap_at);
}
AP_CALL cudaGraphAddDependencies(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                 const cudaGraphEdgeData* data, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    if (const cudaError_t e = ap_plain::add_edge(g, from[i], to[i], data != nullptr ? data + i : nullptr);
        e != cudaSuccess)
      return e;
  return cudaSuccess;
}
AP_CALL cudaGraphAddDependencies(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                 std::size_t n) {
  return cudaGraphAddDependencies(g, from, to, nullptr, n);
}
AP_CALL cudaGraphAddDependencies_v2(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                    const cudaGraphEdgeData* data, std::size_t n) {
  return cudaGraphAddDependencies(g, from, to, data, n);
}
AP_CALL cudaGraphRemoveDependencies(cudaGraph_t g, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                    std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) ap_plain::remove_edge(g, from[i], to[i]);
  return cudaSuccess;
}
AP_CALL cudaGraphDestroyNode(cudaGraphNode_t n) { return ap_plain::remove_node(n); }
AP_CALL cudaGraphNodeSetEnabled(cudaGraphExec_t e, cudaGraphNode_t n, unsigned on) {
  return ap_plain::enable_node(e, n, on != 0);
}
AP_CALL cudaGraphKernelNodeSetAttribute(cudaGraphNode_t n, cudaLaunchAttributeID id,
                                        const cudaLaunchAttributeValue* v, AP_AT) {
  return ap_plain::set_attribute(n, id, *v, ap_at);
}
AP_CALL cudaGraphKernelNodeGetParams(cudaGraphNode_t n, cudaKernelNodeParams* p) {
  auto all = ap_plain::of_kind(cudaGraphNodeTypeKernel);
  const cudaError_t e = ap_plain::get_node(n, all);
  return *p = all.kernel, e;
}
AP_CALL cudaGraphNodeGetType(cudaGraphNode_t n, cudaGraphNodeType* t) {
  auto all = ap_plain::of_kind(cudaGraphNodeTypeEmpty);
  const cudaError_t e = ap_plain::get_node(n, all);
  return *t = all.type, e;
}
AP_CALL cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t* to, std::size_t* n) {
  return ap_plain::get_nodes(g, ap_plain::asked::all, to, n);
}
AP_CALL cudaGraphGetRootNodes(cudaGraph_t g, cudaGraphNode_t* to, std::size_t* n) {
  return ap_plain::get_nodes(g, ap_plain::asked::roots, to, n);
}
AP_CALL cudaGraphGetEdges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, std::size_t* n) {
  return ap_plain::get_edges(g, from, to, n);
}
AP_CALL cudaGraphGetEdges(cudaGraph_t g, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData*,
                          std::size_t* n) {
  return ap_plain::get_edges(g, from, to, n);
}
AP_CALL cudaGraphNodeGetDependencies(cudaGraphNode_t n, cudaGraphNode_t* to, std::size_t* count) {
  return ap_plain::get_neighbours(n, true, to, count);
}
AP_CALL cudaGraphNodeGetDependentNodes(cudaGraphNode_t n, cudaGraphNode_t* to, std::size_t* count) {
  return ap_plain::get_neighbours(n, false, to, count);
}
#undef AP_CALL
