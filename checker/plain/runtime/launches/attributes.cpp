// SPDX-License-Identifier: Apache-2.0
// What the simulated device reports: properties, limits, names of errors.
#include <algorithm>
#include <map>
#include <utility>

#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain {
namespace {
// what the device reports, for programs that take all of it; allocations beyond it work
constexpr std::size_t device_memory = std::size_t{1} << 30;
std::map<cudaLimit, std::size_t> usual_limits() {
  return {{cudaLimitStackSize, 1024},
          {cudaLimitPrintfFifoSize, std::size_t{1} << 20},
          {cudaLimitMallocHeapSize, std::size_t{8} << 20}};
}
std::map<cudaLimit, std::size_t> limits = usual_limits();
}  // namespace

cudaError_t properties(cudaDeviceProp* p) {
  *p = {};
  std::strcpy(p->name, "antiphase's simulated device");
  p->totalGlobalMem = device_memory;
  p->sharedMemPerBlock = static_shared;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 0x7FFFFFFF;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7FFFFFFF;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->clockRate = 1'000'000;
  p->totalConstMem = 65536;
  std::tie(p->major, p->minor) = std::pair(9, 0);
  p->multiProcessorCount = multiprocessors;
  p->concurrentKernels = p->managedMemory = p->concurrentManagedAccess = p->cooperativeLaunch =
      p->unifiedAddressing = p->canMapHostMemory = p->deviceOverlap = p->streamPrioritiesSupported =
          p->computePreemptionSupported = p->canUseHostPointerForRegisteredMem = p->globalL1CacheSupported =
              p->localL1CacheSupported = 1;
  p->maxBlocksPerMultiProcessor = 32;
  p->reservedSharedMemPerBlock = 1024;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->asyncEngineCount = 2;
  p->memoryClockRate = 1'000'000;
  p->memoryBusWidth = 1024;
  p->l2CacheSize = 1 << 22;
  p->maxThreadsPerMultiProcessor = 2048;
  p->sharedMemPerMultiprocessor = most_shared + 1024;
  p->sharedMemPerBlockOptin = most_shared;
  return cudaSuccess;
}
cudaError_t attribute(int* value, cudaDeviceAttr a) {
  cudaDeviceProp p;
  properties(&p);
  const std::pair<cudaDeviceAttr, std::size_t> numbers[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
      {cudaDevAttrReservedSharedMemoryPerBlock, p.reservedSharedMemPerBlock},
      {cudaDevAttrTotalConstantMemory, p.totalConstMem},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrMaxPitch, p.memPitch},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
      {cudaDevAttrClockRate, p.clockRate},
      {cudaDevAttrTextureAlignment, p.textureAlignment},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrMemoryClockRate, p.memoryClockRate},
      {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
      {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
      {cudaDevAttrComputeCapabilityMajor, p.major}};
  // what this device has not, or is not
  constexpr cudaDeviceAttr none[] = {cudaDevAttrKernelExecTimeout,
                                     cudaDevAttrIntegrated,
                                     cudaDevAttrComputeMode,
                                     cudaDevAttrEccEnabled,
                                     cudaDevAttrPciBusId,
                                     cudaDevAttrPciDeviceId,
                                     cudaDevAttrTccDriver,
                                     cudaDevAttrComputeCapabilityMinor,
                                     cudaDevAttrHostNativeAtomicSupported,
                                     cudaDevAttrPageableMemoryAccess,
                                     cudaDevAttrPageableMemoryAccessUsesHostPageTables,
                                     cudaDevAttrDirectManagedMemAccessFromHost,
                                     cudaDevAttrMaxPersistingL2CacheSize,
                                     cudaDevAttrMaxAccessPolicyWindowSize};
  const auto* const number = std::ranges::find(numbers, a, &std::pair<cudaDeviceAttr, std::size_t>::first);
  if (number != std::end(numbers))
    *value = static_cast<int>(number->second);
  else
    *value = std::ranges::find(none, a) == std::end(none) ? 1 : 0;
  return cudaSuccess;
}
cudaError_t set_limit(cudaLimit which, std::size_t value) {
  limits[which] = value;
  return cudaSuccess;
}
std::size_t limit(cudaLimit which) {
  const auto at = limits.find(which);
  return at != limits.end() ? at->second : 0;
}
namespace {
struct error_row {
  cudaError_t e;
  const char *name, *text;
};
constexpr error_row errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints"}};
}  // namespace

const char* error_name(cudaError_t e) {
  for (const error_row& r : errors)
    if (r.e == e) return r.name;
  return "cudaErrorUnknown";
}
const char* error_text(cudaError_t e) {
  for (const error_row& r : errors)
    if (r.e == e) return r.text;
  return "unknown error";
}
}  // namespace antiphase::plain
