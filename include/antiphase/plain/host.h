// SPDX-License-Identifier: Apache-2.0
// Host functions of plain CUDA under the checker: memory, copies, streams, events, errors.
#pragma once
#include "launch.h"

// kinds
// -----------------------------------------------------------------------------------------------------------
enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorPeerAccessUnsupported = 217,
  cudaErrorAssert = 710,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999
};
typedef cudaError cudaError_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
struct antiphase_plain_event;
typedef antiphase_plain_event* cudaEvent_t;
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault,
  cudaSharedMemBankSizeFourByte,
  cudaSharedMemBankSizeEightByte
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX,
  cudaDevAttrMaxBlockDimY,
  cudaDevAttrMaxBlockDimZ,
  cudaDevAttrMaxGridDimX,
  cudaDevAttrMaxGridDimY,
  cudaDevAttrMaxGridDimZ,
  cudaDevAttrMaxSharedMemoryPerBlock,
  cudaDevAttrTotalConstantMemory,
  cudaDevAttrWarpSize,
  cudaDevAttrMaxPitch,
  cudaDevAttrMaxRegistersPerBlock,
  cudaDevAttrClockRate,
  cudaDevAttrTextureAlignment,
  cudaDevAttrGpuOverlap,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrKernelExecTimeout,
  cudaDevAttrIntegrated,
  cudaDevAttrCanMapHostMemory,
  cudaDevAttrComputeMode,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth,
  cudaDevAttrL2CacheSize,
  cudaDevAttrMaxThreadsPerMultiProcessor,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor,
  cudaDevAttrStreamPrioritiesSupported = 78,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor,
  cudaDevAttrManagedMemory,
  cudaDevAttrPageableMemoryAccess = 88,
  cudaDevAttrConcurrentManagedAccess,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaComputeMode {
  cudaComputeModeDefault,
  cudaComputeModeExclusive,
  cudaComputeModeProhibited,
  cudaComputeModeExclusiveProcess
};
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  std::size_t totalConstMem;
  int major, minor, multiProcessorCount, concurrentKernels, memoryClockRate, memoryBusWidth, l2CacheSize,
      maxThreadsPerMultiProcessor;
  std::size_t sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
  int regsPerMultiprocessor, managedMemory, concurrentManagedAccess, cooperativeLaunch, unifiedAddressing,
      canMapHostMemory, asyncEngineCount, deviceOverlap, integrated, ECCEnabled, pciBusID, pciDeviceID,
      computeMode, kernelExecTimeoutEnabled, pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables,
      hostNativeAtomicSupported, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported,
      isMultiGpuBoard, multiGpuBoardGroupID, singleToDoublePrecisionPerfRatio, computePreemptionSupported,
      canUseHostPointerForRegisteredMem, cooperativeMultiDeviceLaunch, directManagedMemAccessFromHost,
      maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize, persistingL2CacheMaxSize, tccDriver, pciDomainID;
  std::size_t textureAlignment, texturePitchAlignment, surfaceAlignment, reservedSharedMemPerBlock;
  int maxTexture1D, maxTexture2D[2], maxTexture3D[3], maxTexture1DLayered[2], maxTexture2DLayered[3];
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered,
  cudaMemoryTypeHost,
  cudaMemoryTypeDevice,
  cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};
enum cudaLimit {
  cudaLimitStackSize,
  cudaLimitPrintfFifoSize,
  cudaLimitMallocHeapSize,
  cudaLimitDevRuntimeSyncDepth,
  cudaLimitPersistingL2CacheSize = 6
};
enum cudaAccessProperty {
  cudaAccessPropertyNormal,
  cudaAccessPropertyStreaming,
  cudaAccessPropertyPersisting
};
struct cudaAccessPolicyWindow {
  void* base_ptr;
  std::size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp, missProp;
};
enum cudaStreamAttrID { cudaStreamAttributeAccessPolicyWindow = 1 };
union cudaStreamAttrValue {
  cudaAccessPolicyWindow accessPolicyWindow;
};
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid,
  cudaMemLocationTypeDevice,
  cudaMemLocationTypeHost,
  cudaMemLocationTypeHostNuma
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2,
                   cudaHostAllocWriteCombined = 4;
constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2;
constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2,
                   cudaDeviceScheduleBlockingSync = 4, cudaDeviceBlockingSync = 4, cudaDeviceMapHost = 8;
constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2;
constexpr int cudaCpuDeviceId = -1;
#define cudaStreamLegacy (static_cast<cudaStream_t>(nullptr))

// the runtime
// -----------------------------------------------------------------------------------------------------------
namespace antiphase::plain {
enum class memory_kind { device, managed, host };  // host: pinned; kernels reach it too
cudaError_t allocate(void** to, std::size_t bytes, memory_kind kind, place where);
void is_of_pool(void* p);  // that it is never released is no fault: PyTorch's allocator has it
cudaError_t release(void* p, place where);
// registers host memory for use by kernels; 0 bytes: unregisters it
cudaError_t register_host(void* p, std::size_t bytes);
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
cudaError_t set(void* p, int value, std::size_t bytes, cudaStream_t on, returns when, place where);
cudaError_t synchronize(cudaStream_t on, bool all);
cudaError_t create_stream(cudaStream_t* s, unsigned flags = 0);  // flags 1: cudaStreamNonBlocking
cudaError_t create_event(cudaEvent_t* e);
cudaError_t destroy_event(cudaEvent_t e);
cudaError_t record(cudaEvent_t e, cudaStream_t on);
cudaError_t wait_for(cudaStream_t on, cudaEvent_t e);
cudaError_t synchronize(cudaEvent_t e);
cudaError_t last_error(bool forget);
cudaError_t reset_device();
cudaError_t properties(cudaDeviceProp* p);
cudaError_t attribute(int* value, cudaDeviceAttr a);
cudaError_t allow_shared(const void* entry, int bytes);
const char* error_name(cudaError_t e);
const char* error_text(cudaError_t e);

// For cudaLaunchKernel and the like, which take addresses of arguments: the kernel's type gives their types.
template <class... P, std::size_t... I> cudaError_t launch_by_addresses(void (*entry)(P...), config c,
                                                                        void** a, place where,
                                                                        std::index_sequence<I...>) {
  call<P...>{name_of(reinterpret_cast<const void*>(entry)), c, where,
             entry}(*static_cast<std::decay_t<P>*>(a[I])...);
  return last_error(false);
}
}  // namespace antiphase::plain

// CUDA's names
// -----------------------------------------------------------------------------------------------------------
#define AP_CALL inline cudaError_t
#define AP_HERE ::antiphase::plain::place ap_at = ::antiphase::plain::place::current()
namespace ap_plain = antiphase::plain;
template <class T> AP_CALL cudaMalloc(T** p, std::size_t n, AP_HERE) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::device, ap_at);
}
template <class T> AP_CALL cudaMallocManaged(T** p, std::size_t n, unsigned = 1, AP_HERE) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::managed, ap_at);
}
template <class T> AP_CALL cudaMallocAsync(T** p, std::size_t n, cudaStream_t, AP_HERE) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::device, ap_at);
}
template <class T>
AP_CALL cudaMallocPitch(T** p, std::size_t* pitch, std::size_t width, std::size_t height, AP_HERE) {
  *pitch = (width + 511) / 512 * 512;
  return ap_plain::allocate((void**)p, *pitch * height, ap_plain::memory_kind::device, ap_at);
}
template <class T> AP_CALL cudaMallocHost(T** p, std::size_t n, unsigned = 0, AP_HERE) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::host, ap_at);
}
template <class T> AP_CALL cudaHostAlloc(T** p, std::size_t n, unsigned, AP_HERE) {
  return ap_plain::allocate((void**)p, n, ap_plain::memory_kind::host, ap_at);
}
AP_CALL cudaFree(void* p, AP_HERE) { return ap_plain::release(p, ap_at); }
AP_CALL cudaFreeAsync(void* p, cudaStream_t on, AP_HERE) { return ap_plain::release_on(p, on, ap_at); }
AP_CALL cudaFreeHost(void* p, AP_HERE) { return ap_plain::release(p, ap_at); }
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
AP_CALL cudaHostRegister(void* p, std::size_t n, unsigned) { return ap_plain::register_host(p, n); }
AP_CALL cudaHostUnregister(void* p) { return ap_plain::register_host(p, 0); }
AP_CALL cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind k, AP_HERE) {
  return ap_plain::copy(to, from, n, k, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind k, cudaStream_t s = nullptr,
                        AP_HERE) {
  return ap_plain::copy(to, from, n, k, s, ap_plain::returns::at_once, ap_at);
}
// There is one device, so both are its memory.
AP_CALL cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t n, AP_HERE) {
  if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
  return ap_plain::copy(to, from, n, cudaMemcpyDeviceToDevice, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t n,
                            cudaStream_t s = nullptr, AP_HERE) {
  if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
  return ap_plain::copy(to, from, n, cudaMemcpyDeviceToDevice, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemcpy2D(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h,
                     cudaMemcpyKind k, AP_HERE) {
  return ap_plain::copy_rows(to, tp, from, fp, w, h, k, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpy2DAsync(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w,
                          std::size_t h, cudaMemcpyKind k, cudaStream_t s = nullptr, AP_HERE) {
  return ap_plain::copy_rows(to, tp, from, fp, w, h, k, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemset(void* p, int v, std::size_t n, AP_HERE) {
  return ap_plain::set(p, v, n, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemsetAsync(void* p, int v, std::size_t n, cudaStream_t s = nullptr, AP_HERE) {
  return ap_plain::set(p, v, n, s, ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemset2D(void* p, std::size_t pitch, int v, std::size_t w, std::size_t h, AP_HERE) {
  for (std::size_t i = 0; i < h; ++i)
    ap_plain::set(static_cast<char*>(p) + i * pitch, v, w, nullptr, ap_plain::returns::when_done, ap_at);
  return cudaSuccess;
}
template <class T> AP_CALL cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t n,
                                              std::size_t offset = 0,
                                              cudaMemcpyKind k = cudaMemcpyHostToDevice, AP_HERE) {
  if (!ap_plain::holds(sizeof symbol, offset, n, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy((char*)&symbol + offset, from, n, k, nullptr, ap_plain::returns::when_done, ap_at);
}
template <class T> AP_CALL cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t n,
                                                std::size_t offset = 0,
                                                cudaMemcpyKind k = cudaMemcpyDeviceToHost, AP_HERE) {
  if (!ap_plain::holds(sizeof symbol, offset, n, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy(to, (const char*)&symbol + offset, n, k, nullptr, ap_plain::returns::when_done,
                        ap_at);
}
template <class T> AP_CALL cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t n,
                                                   std::size_t offset, cudaMemcpyKind k,
                                                   cudaStream_t s = nullptr, AP_HERE) {
  return ap_plain::copy((char*)&symbol + offset, from, n, k, s, ap_plain::returns::at_once, ap_at);
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
AP_CALL cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }
AP_CALL cudaDeviceGetLimit(std::size_t* v, cudaLimit) { return *v = std::size_t{8} << 20, cudaSuccess; }
AP_CALL cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) {
  return cudaSuccess;
}
AP_CALL cudaStreamGetAttribute(cudaStream_t, cudaStreamAttrID, cudaStreamAttrValue* v) {
  return *v = {}, cudaSuccess;
}
AP_CALL cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

AP_CALL cudaDeviceSynchronize() { return ap_plain::synchronize(nullptr, true); }
AP_CALL cudaThreadSynchronize() { return ap_plain::synchronize(nullptr, true); }
AP_CALL cudaStreamSynchronize(cudaStream_t s) { return ap_plain::synchronize(s, false); }
AP_CALL cudaStreamQuery(cudaStream_t s) { return ap_plain::synchronize(s, false); }
AP_CALL cudaStreamCreate(cudaStream_t* s) { return ap_plain::create_stream(s); }
AP_CALL cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return ap_plain::create_stream(s, flags);
}
AP_CALL cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
  return ap_plain::create_stream(s, flags);
}
AP_CALL cudaDeviceGetStreamPriorityRange(int* least, int* most) { return *least = *most = 0, cudaSuccess; }
AP_CALL cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
AP_CALL cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0) { return ap_plain::wait_for(s, e); }
AP_CALL cudaEventCreate(cudaEvent_t* e) { return ap_plain::create_event(e); }
AP_CALL cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return ap_plain::create_event(e); }
AP_CALL cudaEventDestroy(cudaEvent_t e) { return ap_plain::destroy_event(e); }
AP_CALL cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr) { return ap_plain::record(e, s); }
AP_CALL cudaEventSynchronize(cudaEvent_t e) { return ap_plain::synchronize(e); }
AP_CALL cudaEventQuery(cudaEvent_t e) { return ap_plain::synchronize(e); }
AP_CALL cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  return *ms = 1, cudaSuccess;
}  // no timing

AP_CALL cudaGetLastError() { return ap_plain::last_error(true); }
AP_CALL cudaPeekAtLastError() { return ap_plain::last_error(false); }
inline const char* cudaGetErrorString(cudaError_t e) { return ap_plain::error_text(e); }
inline const char* cudaGetErrorName(cudaError_t e) { return ap_plain::error_name(e); }

AP_CALL cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
AP_CALL cudaGetDevice(int* d) { return *d = 0, cudaSuccess; }
AP_CALL cudaSetDevice(int d) { return d == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
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
template <class F> AP_CALL cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class... P> AP_CALL cudaFuncSetAttribute(void (*f)(P...), cudaFuncAttribute a, int v) {
  return a == cudaFuncAttributeMaxDynamicSharedMemorySize
             ? ap_plain::allow_shared(reinterpret_cast<const void*>(f), v)
             : cudaSuccess;
}
AP_CALL cudaFuncSetAttribute(const void* f, cudaFuncAttribute a, int v) {
  return a == cudaFuncAttributeMaxDynamicSharedMemorySize ? ap_plain::allow_shared(f, v) : cudaSuccess;
}
template <class... P> AP_CALL cudaFuncGetAttributes(cudaFuncAttributes* a, void (*)(P...)) {
  return *a = {0, 0, 0, 1024, 32, 90, 90, 49152}, cudaSuccess;
}
template <class F>
AP_CALL cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int threads, std::size_t) {
  return *blocks = threads > 0 ? 2048 / threads < 32 ? 2048 / threads : 32 : 0, cudaSuccess;
}
template <class F>
AP_CALL cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F, std::size_t = 0, int = 0) {
  return *grid = 8, *block = 256, cudaSuccess;
}
template <class... P> AP_CALL cudaLaunchKernel(void (*f)(P...), dim3 g, dim3 b, void** a, std::size_t n = 0,
                                               cudaStream_t s = nullptr, AP_HERE) {
  return ap_plain::launch_by_addresses(f, {g, b, n, s}, a, ap_at, std::index_sequence_for<P...>());
}
template <class... P> AP_CALL cudaLaunchCooperativeKernel(void (*f)(P...), dim3 g, dim3 b, void** a,
                                                          std::size_t n = 0, cudaStream_t s = nullptr,
                                                          AP_HERE) {
  ap_plain::config c(g, b, n, s);
  c.together = true;
  return ap_plain::launch_by_addresses(f, c, a, ap_at, std::index_sequence_for<P...>());
}
#undef AP_CALL
