// SPDX-License-Identifier: Apache-2.0
// Host functions of plain CUDA under the checker: memory, copies, streams, events, errors.
#pragma once
#include "host_types.h"
#include "launch.h"

// the runtime
// -----------------------------------------------------------------------------------------------------------
namespace antiphase::plain {
enum class memory_kind { device, managed, host };  // host: pinned; kernels reach it too
cudaError_t allocate(void** to, std::size_t bytes, memory_kind kind, place where);
cudaError_t allocate_on(void** to, std::size_t bytes, cudaStream_t on, place where);
cudaError_t release(void* p, place where);
// registers host memory for use by kernels; 0 bytes: unregisters it
cudaError_t register_host(void* p, std::size_t bytes, place where);
cudaMemoryType type_of(const void* p);
// true if `bytes` at `offset` fit in a symbol of `symbol` bytes; otherwise a finding
bool holds(std::size_t symbol, std::size_t offset, std::size_t bytes, place where);
cudaError_t release_on(void* p, cudaStream_t on, place where);
// when_done: the call returns after the operation is done
enum class returns { at_once, when_done };
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t on,
                 returns when, place where);
cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t on,
                      returns when, place where);
cudaError_t copy_box(const cudaMemcpy3DParms& p, cudaStream_t on, returns when, place where);
cudaError_t set(void* p, int value, std::size_t bytes, cudaStream_t on, returns when, place where);
cudaError_t set_rows(void* p, std::size_t pitch, int value, std::size_t width, std::size_t height,
                     cudaStream_t on, returns when, place where);
cudaError_t set_limit(cudaLimit which, std::size_t value);
std::size_t limit(cudaLimit which);
int blocks_together(int threads, std::size_t shared);  // most that a multiprocessor holds
constexpr int multiprocessors = 8;                     // of the device: few, but a portable cluster fits
enum class waits_for { stream, all };
cudaError_t synchronize(cudaStream_t on, waits_for what, place where);
cudaError_t create_stream(cudaStream_t* s, unsigned flags = 0);  // flags 1: cudaStreamNonBlocking
unsigned flags_of(cudaStream_t s);
cudaError_t create_event(cudaEvent_t* e);
cudaError_t destroy_event(cudaEvent_t e, place where);
cudaError_t destroy_stream(cudaStream_t s, place where);
// not ready, as query(); else 1 ms
cudaError_t elapsed(float* ms, cudaEvent_t from, cudaEvent_t to, place where);
enum class event_of { stream, graph };  // graph: of a launched graph, even while the stream is captured
cudaError_t record(cudaEvent_t e, cudaStream_t on, event_of what, place where);
cudaError_t wait_for(cudaStream_t on, cudaEvent_t e, event_of what, place where);
cudaError_t synchronize(cudaEvent_t e, place where);
cudaError_t query(cudaStream_t on, place where);  // or not ready, when some work is there
cudaError_t query(cudaEvent_t e, place where);
cudaError_t last_error(bool forget);
cudaError_t reset_device();
cudaError_t properties(cudaDeviceProp* p);
cudaError_t attribute(int* value, cudaDeviceAttr a);
cudaError_t allow_shared(const void* entry, int bytes);
cudaError_t allow_large_clusters(const void* entry, int yes);
const char* error_name(cudaError_t e);
const char* error_text(cudaError_t e);

// For cudaLaunchKernel and the like, which take addresses of arguments: the kernel's type gives their types.
template <class... P, std::size_t... I> cudaError_t launch_by_addresses(void (*entry)(P...), config c,
                                                                        void** a, place where,
                                                                        std::index_sequence<I...>) {
  call<P...>{name_of(reinterpret_cast<const void*>(entry)), c, where, entry}.with(
      *static_cast<std::decay_t<P>*>(a[I])...);
  return last_error(false);
}
// The same for a kernel that is known by its address only; address_of() has told of its type.
using typed_launch = void (*)(const void* entry, const config& c, void** a, place where);
void know_kernel(const void* entry, typed_launch how);
cudaError_t launch_by_address(const void* entry, const config& c, void** a, place where);
template <class... P> void* address_of(void (*entry)(P...)) {
  void* const at = reinterpret_cast<void*>(entry);
  know_kernel(at, [](const void* e, const config& c, void** a, place where) {
    launch_by_addresses(reinterpret_cast<void (*)(P...)>(const_cast<void*>(e)), c, a, where,
                        std::index_sequence_for<P...>());
  });
  return at;
}
}  // namespace antiphase::plain

// CUDA's names
// -----------------------------------------------------------------------------------------------------------
#define AP_CALL inline cudaError_t
namespace ap_plain = antiphase::plain;
template <class T> AP_CALL cudaMalloc(T** p, std::size_t n, AP_AT) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::device, ap_at);
}
template <class T> AP_CALL cudaMallocManaged(T** p, std::size_t n, unsigned = 1, AP_AT) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::managed, ap_at);
}
template <class T> AP_CALL cudaMallocAsync(T** p, std::size_t n, cudaStream_t s, AP_AT) {
  return ap_plain::allocate_on((void**)p, n, s, ap_at);
}
template <class T>
AP_CALL cudaMallocPitch(T** p, std::size_t* pitch, std::size_t width, std::size_t height, AP_AT) {
  *pitch = (width + 511) / 512 * 512;
  return ap_plain::allocate((void**)p, *pitch * height, ap_plain::memory_kind::device, ap_at);
}
template <class T> AP_CALL cudaMallocHost(T** p, std::size_t n, unsigned = 0, AP_AT) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::host, ap_at);
}
template <class T> AP_CALL cudaHostAlloc(T** p, std::size_t n, unsigned, AP_AT) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::host, ap_at);
}
AP_CALL cudaFree(void* p, AP_AT) { return ap_plain::release(p, ap_at); }
AP_CALL cudaFreeAsync(void* p, cudaStream_t on, AP_AT) { return ap_plain::release_on(p, on, ap_at); }
AP_CALL cudaFreeHost(void* p, AP_AT) { return ap_plain::release(p, ap_at); }
template <class T> AP_CALL cudaHostGetDevicePointer(T** p, void* of, unsigned) {
  return *p = static_cast<T*>(of), cudaSuccess;
}
AP_CALL cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  const cudaMemoryType type = ap_plain::type_of(p);
  void* const at = const_cast<void*>(p);
  *a = {type, 0, type == cudaMemoryTypeUnregistered ? nullptr : at,
        type == cudaMemoryTypeDevice ? nullptr : at};
  return cudaSuccess;
}
AP_CALL cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, cudaSuccess; }
AP_CALL cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorPeerAccessUnsupported; }
AP_CALL cudaDeviceDisablePeerAccess(int) { return cudaErrorPeerAccessUnsupported; }
AP_CALL cudaHostRegister(void* p, std::size_t n, unsigned, AP_AT) {
  return ap_plain::register_host(p, n, ap_at);
}
AP_CALL cudaHostUnregister(void* p, AP_AT) { return ap_plain::register_host(p, 0, ap_at); }
AP_CALL cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind k, AP_AT) {
  return ap_plain::copy(to, from, n, k, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind k, cudaStream_t s = nullptr,
                        AP_AT) {
  return ap_plain::copy(to, from, n, k, s, ap_plain::returns::at_once, ap_at);
}
// There is one device, so both are its memory.
AP_CALL cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t n, AP_AT) {
  if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
  return ap_plain::copy(to, from, n, cudaMemcpyDeviceToDevice, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t n,
                            cudaStream_t s = nullptr, AP_AT) {
  if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
  return ap_plain::copy(to, from, n, cudaMemcpyDeviceToDevice, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemcpy2D(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h,
                     cudaMemcpyKind k, AP_AT) {
  return ap_plain::copy_rows(to, tp, from, fp, w, h, k, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpy2DAsync(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w,
                          std::size_t h, cudaMemcpyKind k, cudaStream_t s = nullptr, AP_AT) {
  return ap_plain::copy_rows(to, tp, from, fp, w, h, k, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemcpy3D(const cudaMemcpy3DParms* p, AP_AT) {
  return ap_plain::copy_box(*p, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t s = nullptr, AP_AT) {
  return ap_plain::copy_box(*p, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMalloc3D(cudaPitchedPtr* p, cudaExtent e, AP_AT) {
  *p = {nullptr, (e.width + 511) / 512 * 512, e.width, e.height};
  return ap_plain::allocate(&p->ptr, p->pitch * e.height * e.depth, ap_plain::memory_kind::device, ap_at);
}
AP_CALL cudaMemset(void* p, int v, std::size_t n, AP_AT) {
  return ap_plain::set(p, v, n, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemsetAsync(void* p, int v, std::size_t n, cudaStream_t s = nullptr, AP_AT) {
  return ap_plain::set(p, v, n, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemset2D(void* p, std::size_t pitch, int v, std::size_t w, std::size_t h, AP_AT) {
  return ap_plain::set_rows(p, pitch, v, w, h, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemset2DAsync(void* p, std::size_t pitch, int v, std::size_t w, std::size_t h,
                          cudaStream_t s = nullptr, AP_AT) {
  return ap_plain::set_rows(p, pitch, v, w, h, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemset3DAsync(cudaPitchedPtr p, int v, cudaExtent e, cudaStream_t s = nullptr, AP_AT) {
  for (std::size_t z = 0; z < e.depth; ++z)
    if (const cudaError_t failed = cudaMemset2DAsync(static_cast<char*>(p.ptr) + z * p.ysize * p.pitch,
                                                     p.pitch, v, e.width, e.height, s, ap_at);
        failed != cudaSuccess)
      return failed;
  return cudaSuccess;
}
AP_CALL cudaMemset3D(cudaPitchedPtr p, int v, cudaExtent e, AP_AT) {
  return cudaMemset3DAsync(p, v, e, nullptr, ap_at);
}
template <class T> AP_CALL cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t n,
                                              std::size_t offset = 0,
                                              cudaMemcpyKind k = cudaMemcpyHostToDevice, AP_AT) {
  if (!ap_plain::holds(sizeof symbol, offset, n, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy((char*)&symbol + offset, from, n, k, nullptr, ap_plain::returns::when_done, ap_at);
}
template <class T> AP_CALL cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t n,
                                                std::size_t offset = 0,
                                                cudaMemcpyKind k = cudaMemcpyDeviceToHost, AP_AT) {
  if (!ap_plain::holds(sizeof symbol, offset, n, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy(to, (const char*)&symbol + offset, n, k, nullptr, ap_plain::returns::when_done,
                        ap_at);
}
template <class T> AP_CALL cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t n,
                                                   std::size_t offset, cudaMemcpyKind k,
                                                   cudaStream_t s = nullptr, AP_AT) {
  if (!ap_plain::holds(sizeof symbol, offset, n, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy((char*)&symbol + offset, from, n, k, s, ap_plain::returns::at_once, ap_at);
}
template <class T> AP_CALL cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t n,
                                                     std::size_t offset, cudaMemcpyKind k,
                                                     cudaStream_t s = nullptr, AP_AT) {
  if (!ap_plain::holds(sizeof symbol, offset, n, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy(to, (const char*)&symbol + offset, n, k, s, ap_plain::returns::at_once, ap_at);
}
template <class P, class T> AP_CALL cudaGetSymbolAddress(P** p, const T& symbol) {
  return *p = (P*)&symbol, cudaSuccess;
}
template <class T> AP_CALL cudaGetSymbolSize(std::size_t* n, const T&) { return *n = sizeof(T), cudaSuccess; }
AP_CALL cudaMemGetInfo(std::size_t* left, std::size_t* all) {
  return *left = std::size_t{1} << 30, *all = std::size_t{1} << 30, cudaSuccess;
}
AP_CALL cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
AP_CALL cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
AP_CALL cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned, cudaStream_t = nullptr) {
  return cudaSuccess;
}
AP_CALL cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
AP_CALL cudaDeviceSetLimit(cudaLimit l, std::size_t v) { return ap_plain::set_limit(l, v); }
AP_CALL cudaDeviceGetLimit(std::size_t* v, cudaLimit l) { return *v = ap_plain::limit(l), cudaSuccess; }
// Pools of memory: there is one.
AP_CALL cudaDeviceGetDefaultMemPool(cudaMemPool_t* p, int) { return *p = nullptr, cudaSuccess; }
AP_CALL cudaDeviceGetMemPool(cudaMemPool_t* p, int) { return *p = nullptr, cudaSuccess; }
AP_CALL cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
AP_CALL cudaMemPoolCreate(cudaMemPool_t* p, const cudaMemPoolProps*) { return *p = nullptr, cudaSuccess; }
AP_CALL cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
AP_CALL cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
AP_CALL cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
template <class T>
AP_CALL cudaMallocFromPoolAsync(T** p, std::size_t n, cudaMemPool_t, cudaStream_t s, AP_AT) {
  return cudaMallocAsync(p, n, s, ap_at);
}
template <class T> AP_CALL cudaMallocAsync(T** p, std::size_t n, cudaMemPool_t, cudaStream_t s, AP_AT) {
  return cudaMallocAsync(p, n, s, ap_at);
}
AP_CALL cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

AP_CALL cudaDeviceSynchronize(AP_AT) {
  return ap_plain::synchronize(nullptr, ap_plain::waits_for::all, ap_at);
}
AP_CALL cudaThreadSynchronize(AP_AT) {
  return ap_plain::synchronize(nullptr, ap_plain::waits_for::all, ap_at);
}
AP_CALL cudaStreamSynchronize(cudaStream_t s, AP_AT) {
  return ap_plain::synchronize(s, ap_plain::waits_for::stream, ap_at);
}
AP_CALL cudaStreamQuery(cudaStream_t s, AP_AT) { return ap_plain::query(s, ap_at); }
AP_CALL cudaStreamCreate(cudaStream_t* s) { return ap_plain::create_stream(s); }
AP_CALL cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return ap_plain::create_stream(s, flags);
}
AP_CALL cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
  return ap_plain::create_stream(s, flags);
}
AP_CALL cudaDeviceGetStreamPriorityRange(int* least, int* most) { return *least = *most = 0, cudaSuccess; }
AP_CALL cudaStreamDestroy(cudaStream_t s, AP_AT) { return ap_plain::destroy_stream(s, ap_at); }
AP_CALL cudaStreamGetPriority(cudaStream_t, int* p) { return *p = 0, cudaSuccess; }
AP_CALL cudaStreamGetFlags(cudaStream_t s, unsigned* f) { return *f = ap_plain::flags_of(s), cudaSuccess; }
AP_CALL cudaDeviceGetPCIBusId(char* to, int size, int) {
  return size < 13 ? cudaErrorInvalidValue : (memcpy(to, "0000:00:00.0", 13), cudaSuccess);
}
AP_CALL cudaDeviceGetByPCIBusId(int* device, const char*) { return *device = 0, cudaSuccess; }
AP_CALL cudaStreamGetDevice(cudaStream_t, int* d) { return *d = 0, cudaSuccess; }
AP_CALL cudaStreamGetId(cudaStream_t s, unsigned long long* id) {
  return *id = reinterpret_cast<unsigned long long>(s), cudaSuccess;
}
AP_CALL cudaStreamCopyAttributes(cudaStream_t, cudaStream_t) { return cudaSuccess; }
AP_CALL cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags = 0, AP_AT) {
  return ap_plain::wait_for(
      s, e, flags == cudaEventWaitExternal ? ap_plain::event_of::graph : ap_plain::event_of::stream, ap_at);
}
AP_CALL cudaEventCreate(cudaEvent_t* e, unsigned = 0) { return ap_plain::create_event(e); }
AP_CALL cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return ap_plain::create_event(e); }
AP_CALL cudaEventDestroy(cudaEvent_t e, AP_AT) { return ap_plain::destroy_event(e, ap_at); }
AP_CALL cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr, AP_AT) {
  return ap_plain::record(e, s, ap_plain::event_of::stream, ap_at);
}
AP_CALL cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s = nullptr, unsigned flags = 0, AP_AT) {
  return ap_plain::record(
      e, s, flags == cudaEventRecordExternal ? ap_plain::event_of::graph : ap_plain::event_of::stream, ap_at);
}
AP_CALL cudaEventSynchronize(cudaEvent_t e, AP_AT) { return ap_plain::synchronize(e, ap_at); }
AP_CALL cudaEventQuery(cudaEvent_t e, AP_AT) { return ap_plain::query(e, ap_at); }
AP_CALL cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to, AP_AT) {
  return ap_plain::elapsed(ms, from, to, ap_at);
}

AP_CALL cudaGetLastError() { return ap_plain::last_error(true); }
AP_CALL cudaPeekAtLastError() { return ap_plain::last_error(false); }
inline const char* cudaGetErrorString(cudaError_t e) { return ap_plain::error_text(e); }
inline const char* cudaGetErrorName(cudaError_t e) { return ap_plain::error_name(e); }

AP_CALL cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
AP_CALL cudaGetDevice(int* d) { return *d = 0, cudaSuccess; }
AP_CALL cudaSetDevice(int d) { return d == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
AP_CALL cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
AP_CALL cudaChooseDevice(int* d, const cudaDeviceProp*) { return *d = 0, cudaSuccess; }
AP_CALL cudaGetDeviceFlags(unsigned* flags) { return *flags = cudaDeviceScheduleAuto, cudaSuccess; }
AP_CALL cudaDeviceGetCacheConfig(cudaFuncCache* c) { return *c = cudaFuncCachePreferNone, cudaSuccess; }
AP_CALL cudaDeviceGetP2PAttribute(int* v, int, int, int) { return *v = 0, cudaSuccess; }
AP_CALL cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
AP_CALL cudaDeviceReset() { return ap_plain::reset_device(); }
AP_CALL cudaGetDeviceProperties(cudaDeviceProp* p, int) { return ap_plain::properties(p); }
AP_CALL cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) { return ap_plain::attribute(v, a); }
AP_CALL cudaDriverGetVersion(int* v) { return *v = 12000, cudaSuccess; }
AP_CALL cudaRuntimeGetVersion(int* v) { return *v = 12000, cudaSuccess; }
AP_CALL cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
AP_CALL cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* c) {
  return *c = cudaSharedMemBankSizeFourByte, cudaSuccess;
}
AP_CALL cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t = 0, unsigned = 4) { return cudaSuccess; }
AP_CALL cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
AP_CALL cudaProfilerStart() { return cudaSuccess; }
AP_CALL cudaProfilerStop() { return cudaSuccess; }
template <class F> AP_CALL cudaFuncSetSharedMemConfig(F, cudaSharedMemConfig) { return cudaSuccess; }
template <class F> AP_CALL cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
AP_CALL cudaFuncSetAttribute(const void* f, cudaFuncAttribute a, int v) {
  return a == cudaFuncAttributeMaxDynamicSharedMemorySize      ? ap_plain::allow_shared(f, v)
         : a == cudaFuncAttributeNonPortableClusterSizeAllowed ? ap_plain::allow_large_clusters(f, v)
                                                               : cudaSuccess;
}
template <class... P> AP_CALL cudaFuncSetAttribute(void (*f)(P...), cudaFuncAttribute a, int v) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(f), a, v);
}
AP_CALL cudaFuncGetAttributes(cudaFuncAttributes* a, const void* f) {
  if (f == nullptr) return cudaErrorInvalidDeviceFunction;
  *a = {};
  a->maxThreadsPerBlock = 1024, a->numRegs = 32, a->maxDynamicSharedSizeBytes = 49152;
  return a->ptxVersion = a->binaryVersion = 90, cudaSuccess;
}
template <class... P> AP_CALL cudaFuncGetAttributes(cudaFuncAttributes* a, void (*f)(P...)) {
  return cudaFuncGetAttributes(a, reinterpret_cast<const void*>(f));
}
template <class F>
AP_CALL cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int threads, std::size_t n) {
  if (threads <= 0) return cudaErrorInvalidValue;
  return *blocks = ap_plain::blocks_together(threads, n), cudaSuccess;
}
template <class F> AP_CALL cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F f,
                                                                                  int threads, std::size_t n,
                                                                                  unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, n);
}
template <class F> AP_CALL cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, F, int blocks, int) {
  return *bytes = blocks > 0 ? (228 << 10) / blocks - (1 << 10) : 0, cudaSuccess;
}
template <class F>
AP_CALL cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F, std::size_t n = 0, int = 0) {
  const int each = ap_plain::blocks_together(256, n);
  return *grid = 4 * (each < 2 ? each : 2), *block = 256, cudaSuccess;
}
template <class F, class Bytes>
AP_CALL cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, F f, Bytes n, int = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, f, n(256));
}
template <class... P> AP_CALL cudaLaunchKernel(void (*f)(P...), dim3 g, dim3 b, void** a, std::size_t n = 0,
                                               cudaStream_t s = nullptr, AP_AT) {
  return ap_plain::launch_by_addresses(f, {g, b, n, s}, a, ap_at, std::index_sequence_for<P...>());
}
AP_CALL cudaLaunchKernel(const void* f, dim3 g, dim3 b, void** a, std::size_t n = 0, cudaStream_t s = nullptr,
                         AP_AT) {
  return ap_plain::launch_by_address(f, {g, b, n, s}, a, ap_at);
}
template <class... P> AP_CALL cudaLaunchCooperativeKernel(void (*f)(P...), dim3 g, dim3 b, void** a,
                                                          std::size_t n = 0, cudaStream_t s = nullptr,
                                                          AP_AT) {
  ap_plain::config c(g, b, n, s);
  c.together = true;
  return ap_plain::launch_by_addresses(f, c, a, ap_at, std::index_sequence_for<P...>());
}
AP_CALL cudaLaunchCooperativeKernel(const void* f, dim3 g, dim3 b, void** a, std::size_t n = 0,
                                    cudaStream_t s = nullptr, AP_AT) {
  ap_plain::config c(g, b, n, s);
  c.together = true;
  return ap_plain::launch_by_address(f, c, a, ap_at);
}
#undef AP_CALL
