// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime's functions with C linkage, for host code that nvcc has made from a source with the
// toolkit's own headers (--nvcc): its launches name kernels by the addresses of their host functions.
#pragma once
#ifndef AP_COMPUTE_CAPABILITY
#define AP_COMPUTE_CAPABILITY 90
#endif
#include <dlfcn.h>

#include <cstring>
#include <utility>

#include "cuda_runtime.h"

namespace antiphase::plain {
// Launches that are written <<<...>>> give their configuration, in the line where they are written, before
// they call the kernel's host function, which takes it and launches.
struct pushed_launch {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t on;
  place where;
  bool taken;
};
inline pushed_launch pushed{{}, {}, 0, nullptr, {}, false};
inline place place_of_launch(place otherwise) {
  return std::exchange(pushed.taken, false) ? pushed.where : otherwise;
}
inline cudaStream_t stream_of_host(cudaStream_t s) {  // cudaStreamLegacy of the toolkit is 1
  return reinterpret_cast<std::uintptr_t>(s) == 1 ? nullptr : s;
}
}  // namespace antiphase::plain

// AP_COMPUTE_CAPABILITY: of the GPU that kernels are compiled for, such as 90.
// A function of this C name with these parameters. AP_HERE: the place of its caller; AP_S: its stream.
#define AP_C(result, name, ...)                                                                          \
  extern "C" __attribute__((visibility("hidden"), used)) result ap_c_##name(__VA_ARGS__) __asm__(#name); \
  result ap_c_##name(__VA_ARGS__)
#define AP_E(name, ...) AP_C(cudaError_t, name, __VA_ARGS__)
#define AP_HERE ap_plain::place_of_host(__builtin_return_address(0))
#define AP_S ap_plain::stream_of_host(s)
using ap_size = std::size_t;

// What nvcc's code calls
// -----------------------------------------------------------------------------------------------------------
AP_C(void**, __cudaRegisterFatBinary, void*) {
  static void* handle;
  return &handle;
}
AP_C(void, __cudaRegisterFatBinaryEnd, void**) {}
AP_C(void, __cudaUnregisterFatBinary, void**) {}
AP_C(void, __cudaRegisterFunction, void**, const char* host, char*, const char* name, int, void*, void*,
     void*, void*, int*) {
  ap_plain::name_host_symbol(host, name);
}
AP_C(void, __cudaRegisterVar, void**, char* host, char*, const char* name, int, ap_size, int, int) {
  ap_plain::name_host_symbol(host, name);
}
namespace antiphase::plain {
struct managed_pointer {
  void** pointer;
  managed_pointer* next;
};
inline managed_pointer* managed_pointers = nullptr;
}  // namespace antiphase::plain
AP_C(void, __cudaRegisterManagedVar, void**, void** pointer, char*, const char* name, int, ap_size, int,
     int) {
  ap_plain::name_host_symbol(pointer, name);
  ap_plain::managed_pointers = new ap_plain::managed_pointer{pointer, ap_plain::managed_pointers};
}
AP_C(char, __cudaInitModule, void**) {
  for (const auto* m = ap_plain::managed_pointers; m != nullptr; m = m->next)
    *m->pointer = ap_plain::variable_of_host(m->pointer).address;
  ap_plain::managed_pointers = nullptr;
  return 1;
}
AP_C(unsigned, __cudaPushCallConfiguration, dim3 g, dim3 b, ap_size n, cudaStream_t s) {
  ap_plain::pushed = {g, b, n, AP_S, AP_HERE, false};
  return 0;
}
AP_E(__cudaPopCallConfiguration, dim3* g, dim3* b, ap_size* n, cudaStream_t* s) {
  *g = ap_plain::pushed.grid, *b = ap_plain::pushed.block;
  *n = ap_plain::pushed.shared, *s = ap_plain::pushed.on, ap_plain::pushed.taken = true;
  return cudaSuccess;
}
AP_E(__cudaGetKernel, const void** kernel, const void* host) {
  *kernel = ap_plain::kernel_of_host(host);
  return *kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
AP_E(__cudaLaunchKernel, const void* kernel, dim3 g, dim3 b, void** a, ap_size n, cudaStream_t s) {
  return ap_plain::launch_by_address(kernel, {g, b, n, AP_S}, a, ap_plain::place_of_launch(AP_HERE));
}

// What checked_prelude.hpp and ends.h redirect in other units, by their names
// -----------------------------------------------------------------------------------------------------------
AP_C([[noreturn]] void, exit, int code) { exit(code); }
AP_C([[noreturn]] void, _Exit, int code) { exit(code); }
AP_C([[noreturn]] void, quick_exit, int code) { exit(code); }
AP_C([[noreturn]] void, _exit, int code) { exit(code); }
AP_C([[noreturn]] void, abort) { abort(); }
AP_C(void*, malloc, ap_size n) { return malloc(n); }
AP_C(void*, realloc, void* p, ap_size n) { return realloc(p, n); }
AP_C(void, free, void* p) { free(p); }
AP_C([[noreturn]] void, __assert_fail, const char* what, const char* file, unsigned line, const char* in) {
  __assert_fail(what, file, line, in);
}
AP_C(void*, memcpy, void* to, const void* from, ap_size n) { return memcpy(to, from, n); }
AP_C(void*, memmove, void* to, const void* from, ap_size n) { return memmove(to, from, n); }
AP_C(void*, memset, void* to, int v, ap_size n) { return memset(to, v, n); }
AP_C(int, memcmp, const void* a, const void* b, ap_size n) { return memcmp(a, b, n); }

// Launches
// -----------------------------------------------------------------------------------------------------------
#define AP_KERNEL                                            \
  const void* const kernel = ap_plain::kernel_of_host(host); \
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction
AP_E(cudaLaunchKernel, const void* host, dim3 g, dim3 b, void** a, ap_size n, cudaStream_t s) {
  AP_KERNEL;
  return ap_plain::launch_by_address(kernel, {g, b, n, AP_S}, a, ap_plain::place_of_launch(AP_HERE));
}
AP_E(cudaLaunchCooperativeKernel, const void* host, dim3 g, dim3 b, void** a, ap_size n, cudaStream_t s) {
  AP_KERNEL;
  return cudaLaunchCooperativeKernel(kernel, g, b, a, n, AP_S, AP_HERE);
}
AP_E(cudaLaunchKernelExC, const cudaLaunchConfig_t* how, const void* host, void** a) {
  AP_KERNEL;
  cudaLaunchConfig_t own = *how;
  own.stream = ap_plain::stream_of_host(own.stream);
  return cudaLaunchKernelExC(&own, kernel, a, AP_HERE);
}
AP_E(cudaFuncSetAttribute, const void* host, cudaFuncAttribute which, int value) {
  AP_KERNEL;
  return cudaFuncSetAttribute(kernel, which, value);
}
AP_E(cudaFuncGetAttributes, cudaFuncAttributes* to, const void* host) {
  AP_KERNEL;
  const cudaError_t e = cudaFuncGetAttributes(to, kernel);
  to->ptxVersion = to->binaryVersion = AP_COMPUTE_CAPABILITY;
  return e;
}
AP_E(cudaFuncSetCacheConfig, const void*, cudaFuncCache) { return cudaSuccess; }
AP_E(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, const void* host, int threads, ap_size n) {
  AP_KERNEL;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, n);
}
AP_E(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int* blocks, const void* host, int threads,
     ap_size n, unsigned) {
  AP_KERNEL;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, n);
}
AP_E(cudaOccupancyMaxActiveClusters, int* clusters, const void* host, const cudaLaunchConfig_t* how) {
  AP_KERNEL;
  return cudaOccupancyMaxActiveClusters(clusters, kernel, how);
}
AP_E(cudaOccupancyMaxPotentialClusterSize, int* blocks, const void*, const cudaLaunchConfig_t* how) {
  return cudaOccupancyMaxPotentialClusterSize(blocks, nullptr, how);
}
#undef AP_KERNEL

// Memory
// -----------------------------------------------------------------------------------------------------------
AP_E(cudaMalloc, void** p, ap_size n) { return cudaMalloc(p, n, AP_HERE); }
AP_E(cudaMallocManaged, void** p, ap_size n, unsigned f) { return cudaMallocManaged(p, n, f, AP_HERE); }
AP_E(cudaMallocAsync, void** p, ap_size n, cudaStream_t s) { return cudaMallocAsync(p, n, AP_S, AP_HERE); }
AP_E(cudaMallocFromPoolAsync, void** p, ap_size n, cudaMemPool_t, cudaStream_t s) {
  return cudaMallocAsync(p, n, AP_S, AP_HERE);
}
AP_E(cudaMallocPitch, void** p, ap_size* pitch, ap_size w, ap_size h) {
  return cudaMallocPitch(p, pitch, w, h);
}
AP_E(cudaMallocHost, void** p, ap_size n) { return cudaMallocHost(p, n, 0, AP_HERE); }
AP_E(cudaHostAlloc, void** p, ap_size n, unsigned flags) { return cudaHostAlloc(p, n, flags, AP_HERE); }
AP_E(cudaFree, void* p) { return cudaFree(p, AP_HERE); }
AP_E(cudaFreeAsync, void* p, cudaStream_t s) { return cudaFreeAsync(p, AP_S, AP_HERE); }
AP_E(cudaFreeHost, void* p) { return cudaFreeHost(p, AP_HERE); }
AP_E(cudaHostGetDevicePointer, void** p, void* of, unsigned flags) {
  return cudaHostGetDevicePointer(p, of, flags);
}
AP_E(cudaHostRegister, void* p, ap_size n, unsigned flags) { return cudaHostRegister(p, n, flags, AP_HERE); }
AP_E(cudaHostUnregister, void* p) { return cudaHostUnregister(p, AP_HERE); }
AP_E(cudaPointerGetAttributes, cudaPointerAttributes* a, const void* p) {
  return cudaPointerGetAttributes(a, p);
}
AP_E(cudaMemcpy, void* to, const void* from, ap_size n, cudaMemcpyKind k) {
  return cudaMemcpy(to, from, n, k, AP_HERE);
}
AP_E(cudaMemcpyAsync, void* to, const void* from, ap_size n, cudaMemcpyKind k, cudaStream_t s) {
  return cudaMemcpyAsync(to, from, n, k, AP_S, AP_HERE);
}
AP_E(cudaMemcpy2D, void* to, ap_size tp, const void* from, ap_size fp, ap_size w, ap_size h,
     cudaMemcpyKind k) {
  return cudaMemcpy2D(to, tp, from, fp, w, h, k, AP_HERE);
}
AP_E(cudaMemcpy2DAsync, void* to, ap_size tp, const void* from, ap_size fp, ap_size w, ap_size h,
     cudaMemcpyKind k, cudaStream_t s) {
  return cudaMemcpy2DAsync(to, tp, from, fp, w, h, k, AP_S, AP_HERE);
}
AP_E(cudaMemset, void* p, int v, ap_size n) { return cudaMemset(p, v, n, AP_HERE); }
AP_E(cudaMemsetAsync, void* p, int v, ap_size n, cudaStream_t s) {
  return cudaMemsetAsync(p, v, n, AP_S, AP_HERE);
}
AP_E(cudaMemset2D, void* p, ap_size pitch, int v, ap_size w, ap_size h) {
  return cudaMemset2D(p, pitch, v, w, h, AP_HERE);
}
AP_E(cudaMemset2DAsync, void* p, ap_size pitch, int v, ap_size w, ap_size h, cudaStream_t s) {
  return cudaMemset2DAsync(p, pitch, v, w, h, AP_S, AP_HERE);
}
#define AP_SYMBOL                                                         \
  const ap_plain::device_variable v = ap_plain::variable_of_host(symbol); \
  if (v.address == nullptr) return cudaErrorInvalidSymbol;                \
  if (!ap_plain::holds(v.bytes, offset, n, AP_HERE)) return cudaErrorInvalidValue
AP_E(cudaMemcpyToSymbol, const void* symbol, const void* from, ap_size n, ap_size offset, cudaMemcpyKind k) {
  AP_SYMBOL;
  return cudaMemcpy(static_cast<char*>(v.address) + offset, from, n, k, AP_HERE);
}
AP_E(cudaMemcpyFromSymbol, void* to, const void* symbol, ap_size n, ap_size offset, cudaMemcpyKind k) {
  AP_SYMBOL;
  return cudaMemcpy(to, static_cast<char*>(v.address) + offset, n, k, AP_HERE);
}
AP_E(cudaMemcpyToSymbolAsync, const void* symbol, const void* from, ap_size n, ap_size offset,
     cudaMemcpyKind k, cudaStream_t s) {
  AP_SYMBOL;
  return cudaMemcpyAsync(static_cast<char*>(v.address) + offset, from, n, k, AP_S, AP_HERE);
}
AP_E(cudaMemcpyFromSymbolAsync, void* to, const void* symbol, ap_size n, ap_size offset, cudaMemcpyKind k,
     cudaStream_t s) {
  AP_SYMBOL;
  return cudaMemcpyAsync(to, static_cast<char*>(v.address) + offset, n, k, AP_S, AP_HERE);
}
#undef AP_SYMBOL
AP_E(cudaGetSymbolAddress, void** p, const void* symbol) {
  *p = ap_plain::variable_of_host(symbol).address;
  return *p != nullptr ? cudaSuccess : cudaErrorInvalidSymbol;
}
AP_E(cudaGetSymbolSize, ap_size* n, const void* symbol) {
  *n = ap_plain::variable_of_host(symbol).bytes;
  return *n != 0 ? cudaSuccess : cudaErrorInvalidSymbol;
}
AP_E(cudaMemGetInfo, ap_size* left, ap_size* all) { return cudaMemGetInfo(left, all); }
AP_E(cudaMemPrefetchAsync, ...) { return cudaSuccess; }
AP_E(cudaMemAdvise, ...) { return cudaSuccess; }
AP_E(cudaDeviceSetLimit, cudaLimit l, ap_size v) { return cudaDeviceSetLimit(l, v); }
AP_E(cudaDeviceGetLimit, ap_size* v, cudaLimit l) { return cudaDeviceGetLimit(v, l); }
AP_E(cudaDeviceGetDefaultMemPool, cudaMemPool_t* p, int d) { return cudaDeviceGetDefaultMemPool(p, d); }
AP_E(cudaDeviceGetMemPool, cudaMemPool_t* p, int d) { return cudaDeviceGetMemPool(p, d); }
AP_E(cudaMemPoolCreate, cudaMemPool_t* p, const void*) { return cudaMemPoolCreate(p, nullptr); }
AP_E(cudaMemPoolDestroy, cudaMemPool_t) { return cudaSuccess; }
AP_E(cudaMemPoolSetAttribute, cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
AP_E(cudaMemPoolTrimTo, cudaMemPool_t, ap_size) { return cudaSuccess; }

// Streams, events, devices, errors
// -----------------------------------------------------------------------------------------------------------
AP_E(cudaDeviceSynchronize) { return cudaDeviceSynchronize(AP_HERE); }
AP_E(cudaStreamSynchronize, cudaStream_t s) { return cudaStreamSynchronize(AP_S, AP_HERE); }
AP_E(cudaStreamQuery, cudaStream_t s) { return cudaStreamQuery(AP_S, AP_HERE); }
AP_E(cudaStreamCreate, cudaStream_t* s) { return cudaStreamCreate(s); }
AP_E(cudaStreamCreateWithFlags, cudaStream_t* s, unsigned f) { return cudaStreamCreateWithFlags(s, f); }
AP_E(cudaStreamCreateWithPriority, cudaStream_t* s, unsigned f, int) {
  return cudaStreamCreateWithFlags(s, f);
}
AP_E(cudaDeviceGetStreamPriorityRange, int* least, int* most) {
  return cudaDeviceGetStreamPriorityRange(least, most);
}
AP_E(cudaStreamDestroy, cudaStream_t s) { return cudaStreamDestroy(AP_S, AP_HERE); }
AP_E(cudaStreamGetFlags, cudaStream_t s, unsigned* f) { return cudaStreamGetFlags(AP_S, f); }
AP_E(cudaStreamGetDevice, cudaStream_t s, int* d) { return cudaStreamGetDevice(AP_S, d); }
AP_E(cudaStreamGetId, cudaStream_t s, unsigned long long* id) { return cudaStreamGetId(AP_S, id); }
AP_E(cudaStreamIsCapturing, cudaStream_t s, cudaStreamCaptureStatus* is) {
  return cudaStreamIsCapturing(AP_S, is);
}
AP_E(cudaStreamWaitEvent, cudaStream_t s, cudaEvent_t e, unsigned f) {
  return cudaStreamWaitEvent(AP_S, e, f, AP_HERE);
}
AP_E(cudaEventCreate, cudaEvent_t* e) { return cudaEventCreate(e); }
AP_E(cudaEventCreateWithFlags, cudaEvent_t* e, unsigned f) { return cudaEventCreateWithFlags(e, f); }
AP_E(cudaEventDestroy, cudaEvent_t e) { return cudaEventDestroy(e, AP_HERE); }
AP_E(cudaEventRecord, cudaEvent_t e, cudaStream_t s) { return cudaEventRecord(e, AP_S, AP_HERE); }
AP_E(cudaEventSynchronize, cudaEvent_t e) { return cudaEventSynchronize(e, AP_HERE); }
AP_E(cudaEventQuery, cudaEvent_t e) { return cudaEventQuery(e, AP_HERE); }
AP_E(cudaEventElapsedTime, float* ms, cudaEvent_t from, cudaEvent_t to) {
  return cudaEventElapsedTime(ms, from, to, AP_HERE);
}
AP_E(cudaGetLastError) { return cudaGetLastError(); }
AP_E(cudaPeekAtLastError) { return cudaPeekAtLastError(); }
AP_C(const char*, cudaGetErrorString, cudaError_t e) { return cudaGetErrorString(e); }
AP_C(const char*, cudaGetErrorName, cudaError_t e) { return cudaGetErrorName(e); }
AP_E(cudaGetDeviceCount, int* n) { return cudaGetDeviceCount(n); }
AP_E(cudaGetDevice, int* d) { return cudaGetDevice(d); }
AP_E(cudaSetDevice, int d) { return cudaSetDevice(d); }
AP_E(cudaSetDeviceFlags, unsigned) { return cudaSuccess; }
AP_E(cudaDeviceReset) { return cudaDeviceReset(); }
AP_E(cudaDeviceGetAttribute, int* v, cudaDeviceAttr a, int d) {
  if (a == cudaDevAttrComputeCapabilityMajor) return *v = AP_COMPUTE_CAPABILITY / 10, cudaSuccess;
  if (a == cudaDevAttrComputeCapabilityMinor) return *v = AP_COMPUTE_CAPABILITY % 10, cudaSuccess;
  return cudaDeviceGetAttribute(v, a, d);
}
AP_E(cudaDeviceGetPCIBusId, char* to, int n, int d) { return cudaDeviceGetPCIBusId(to, n, d); }
AP_E(cudaDeviceGetByPCIBusId, int* d, const char* name) { return cudaDeviceGetByPCIBusId(d, name); }
AP_E(cudaDeviceCanAccessPeer, int* can, int d, int of) { return cudaDeviceCanAccessPeer(can, d, of); }
AP_E(cudaStreamGetPriority, cudaStream_t s, int* p) { return cudaStreamGetPriority(AP_S, p); }
AP_E(cudaLaunchHostFunc, cudaStream_t s, cudaHostFn_t f, void* with) {
  return cudaLaunchHostFunc(AP_S, f, with, AP_HERE);
}
AP_E(cudaStreamAddCallback, cudaStream_t s, cudaStreamCallback_t f, void* with, unsigned flags) {
  return cudaStreamAddCallback(AP_S, f, with, flags, AP_HERE);
}
AP_E(cudaStreamBeginCapture, cudaStream_t s, cudaStreamCaptureMode m) {
  return cudaStreamBeginCapture(AP_S, m, AP_HERE);
}
AP_E(cudaStreamEndCapture, cudaStream_t s, cudaGraph_t* g) { return cudaStreamEndCapture(AP_S, g, AP_HERE); }
AP_E(cudaThreadExchangeStreamCaptureMode, cudaStreamCaptureMode*) { return cudaSuccess; }
AP_E(cudaGraphCreate, cudaGraph_t* g, unsigned flags) { return cudaGraphCreate(g, flags); }
AP_E(cudaGraphClone, cudaGraph_t* to, cudaGraph_t from) { return cudaGraphClone(to, from); }
AP_E(cudaGraphDestroy, cudaGraph_t g) { return cudaGraphDestroy(g); }
AP_E(cudaGraphGetNodes, cudaGraph_t g, cudaGraphNode_t* to, ap_size* n) {
  return cudaGraphGetNodes(g, to, n);
}
AP_E(cudaGraphInstantiate, cudaGraphExec_t* e, cudaGraph_t g, unsigned long long flags) {
  return cudaGraphInstantiate(e, g, flags);
}
AP_E(cudaGraphInstantiateWithFlags, cudaGraphExec_t* e, cudaGraph_t g, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(e, g, flags);
}
AP_E(cudaGraphExecUpdate, cudaGraphExec_t e, cudaGraph_t g, cudaGraphExecUpdateResultInfo* how) {
  return cudaGraphExecUpdate(e, g, how);
}
AP_E(cudaGraphExecDestroy, cudaGraphExec_t e) { return cudaGraphExecDestroy(e); }
AP_E(cudaGraphLaunch, cudaGraphExec_t e, cudaStream_t s) { return cudaGraphLaunch(e, AP_S, AP_HERE); }
AP_E(cudaGraphUpload, cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
AP_E(cudaDriverGetVersion, int* v) { return *v = 13000, cudaSuccess; }
AP_E(cudaRuntimeGetVersion, int* v) { return *v = 13000, cudaSuccess; }
AP_E(cudaProfilerStart) { return cudaSuccess; }
AP_E(cudaProfilerStop) { return cudaSuccess; }
AP_E(cudaDeviceSetCacheConfig, cudaFuncCache) { return cudaSuccess; }
AP_E(cudaGetDriverEntryPoint, const char* symbol, void** function, unsigned long flags,
     cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPoint(symbol, function, flags, found);
}
AP_E(cudaGetDriverEntryPointByVersion, const char* symbol, void** function, unsigned, unsigned long flags,
     cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPoint(symbol, function, flags, found);
}

// The driver as the toolkit's headers load it: libcuda.so.1 by dlopen(), functions by cuGetProcAddress()
// -----------------------------------------------------------------------------------------------------------
#define AP_D(name, result, ...)                                               \
  {                                                                           \
    name, reinterpret_cast<void*>(+[](__VA_ARGS__) -> int { return result; }) \
  }
namespace antiphase::plain {
struct driver_function {
  const char* name;
  void* address;
};
inline constexpr std::uintptr_t only_context = 16;
inline int set_context(void** c) { return *c = reinterpret_cast<void*>(only_context), 0; }
inline const driver_function driver_functions[] = {
    AP_D("cuInit", 0, unsigned),
    AP_D("cuDriverGetVersion", (*v = 13000, 0), int* v),
    AP_D("cuDeviceGet", (*d = 0, 0), int* d, int),
    AP_D("cuDeviceGetCount", (*n = 1, 0), int* n),
    AP_D("cuDeviceGetAttribute", ap_c_cudaDeviceGetAttribute(v, static_cast<cudaDeviceAttr>(a), d), int* v,
         int a, int d),
    AP_D("cuDeviceGetName", (std::strncpy(to, "antiphase's simulated device", n), 0), char* to, int n, int),
    AP_D("cuDevicePrimaryCtxRetain", set_context(c), void** c, int),
    AP_D("cuDevicePrimaryCtxRelease", 0, int),
    AP_D("cuDevicePrimaryCtxGetState", (*flags = 0, *active = 1, 0), int, unsigned* flags, int* active),
    AP_D("cuCtxGetCurrent", set_context(c), void** c),
    AP_D("cuCtxSetCurrent", 0, void*),
    AP_D("cuCtxPushCurrent", 0, void*),
    AP_D("cuCtxPopCurrent", set_context(c), void** c),
    AP_D("cuCtxGetDevice", (*d = 0, 0), int* d),
    AP_D("cuStreamGetCtx", set_context(c), cudaStream_t, void** c),
    AP_D("cuStreamGetDevice", (*d = 0, 0), cudaStream_t, int* d),
    AP_D("cuStreamGetPriority", (*p = 0, 0), cudaStream_t, int* p),
    AP_D("cuStreamGetId", cudaStreamGetId(AP_S, id), cudaStream_t s, unsigned long long* id),
    AP_D("cuStreamCreateWithPriority", cudaStreamCreateWithFlags(s, f), cudaStream_t* s, unsigned f, int),
    AP_D("cuStreamDestroy", cudaStreamDestroy(AP_S, AP_HERE), cudaStream_t s),
    AP_D("cuStreamSynchronize", cudaStreamSynchronize(AP_S, AP_HERE), cudaStream_t s),
    AP_D("cuStreamQuery", cudaStreamQuery(AP_S, AP_HERE), cudaStream_t s),
    AP_D("cuStreamWaitEvent", cudaStreamWaitEvent(AP_S, e, f, AP_HERE), cudaStream_t s, cudaEvent_t e,
         unsigned f),
    AP_D("cuEventCreate", cudaEventCreate(e, f), cudaEvent_t* e, unsigned f),
    AP_D("cuEventDestroy", cudaEventDestroy(e, AP_HERE), cudaEvent_t e),
    AP_D("cuEventRecord", cudaEventRecord(e, AP_S, AP_HERE), cudaEvent_t e, cudaStream_t s),
    AP_D("cuEventSynchronize", cudaEventSynchronize(e, AP_HERE), cudaEvent_t e),
    AP_D("cuEventQuery", cudaEventQuery(e, AP_HERE), cudaEvent_t e),
    AP_D("cuMemcpyAsync", cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, AP_S, AP_HERE), void* to,
         const void* from, ap_size n, cudaStream_t s),
    AP_D("cuMemsetD8Async", cudaMemsetAsync(p, v, n, AP_S, AP_HERE), void* p, unsigned char v, ap_size n,
         cudaStream_t s),
    AP_D("cuDeviceGetDefaultMemPool", set_context(p), void** p, int),
    AP_D("cuMemGetDefaultMemPool", set_context(p), void** p, const void*, int),
    AP_D("cuMemPoolCreate", set_context(p), void** p, const void*),
    AP_D("cuMemPoolDestroy", 0, void*),
    AP_D("cuMemPoolSetAttribute", 0, void*, int, void*),
    AP_D("cuMemPoolGetAttribute", (*static_cast<int*>(v) = 0, 0), void*, int, void* v),
    AP_D("cuMemPoolTrimTo", 0, void*, ap_size),
    AP_D("cuMemPoolSetAccess", 0, void*, const void*, ap_size),
    AP_D("cuMemAllocFromPoolAsync", cudaMallocAsync(p, n, AP_S, AP_HERE), void** p, ap_size n, void*,
         cudaStream_t s),
    AP_D("cuMemFreeAsync", cudaFreeAsync(p, AP_S, AP_HERE), void* p, cudaStream_t s),
    AP_D("cuMemFree", cudaFree(p, AP_HERE), void* p),
    AP_D("cuMemAllocManaged", cudaMallocManaged(p, n, 1, AP_HERE), void** p, ap_size n, unsigned),
    AP_D("cuMemAllocHost", cudaMallocHost(p, n, 0, AP_HERE), void** p, ap_size n),
    AP_D("cuMemFreeHost", cudaFreeHost(p, AP_HERE), void* p),
    {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&cuTensorMapEncodeTiled)}};
}  // namespace antiphase::plain
extern "C" __attribute__((used)) CUresult cuGetProcAddress_v2(const char* name, void** function, int,
                                                              unsigned long, int* found) {
  *function = nullptr;
  for (const auto& f : ap_plain::driver_functions)
    if (std::strcmp(f.name, name) == 0) *function = f.address;
  if (found != nullptr) *found = *function != nullptr ? 0 : 1;
  return *function != nullptr ? CUDA_SUCCESS : static_cast<CUresult>(500);
}
AP_C(void*, dlopen, const char* name, int mode) {
  const bool of_driver = name != nullptr && std::strncmp(name, "libcuda.so", 10) == 0;
  Dl_info self;
  if (of_driver && dladdr(reinterpret_cast<void*>(&cuGetProcAddress_v2), &self) != 0) name = self.dli_fname;
  return dlmopen(LM_ID_BASE, name, mode);
}
