// SPDX-License-Identifier: Apache-2.0
// Calls of the CUDA runtime and driver, checked; scopes, events and launch configurations.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/out_of_memory.hpp>
#include <antiphase/executor/executor.hpp>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "core/per_process.hpp"

namespace antiphase::cuda_detail {

// Checks a call of the runtime; `call` names it in the error.
template <class... Args> void check(cudaError_t result, fmt::format_string<Args...> call, Args&&... args) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears a non-sticky error, which the caller's next call would report
  const std::string text = fmt::format("{} failed: {} ({})", fmt::format(call, std::forward<Args>(args)...),
                                       cudaGetErrorString(result), cudaGetErrorName(result));
  if (result == cudaErrorMemoryAllocation) throw out_of_memory(text);
  throw device_error(text);
}

// Makes a device current for a scope and restores the caller's.
class current_device {
 public:
  explicit current_device(int device) : device_{device} {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ != device) check(cudaSetDevice(device), "cudaSetDevice({})", device);
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;
  ~current_device() {
    if (before_ != device_) cudaSetDevice(before_);
  }

 private:
  int device_, before_ = 0;
};

// A scope in relaxed capture mode. While the thread captures a stream, the runtime otherwise refuses calls
// that might wait for the device, such as making a memory pool.
class beside_capture {
 public:
  beside_capture() {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  }
  beside_capture(const beside_capture&) = delete;
  beside_capture& operator=(const beside_capture&) = delete;
  ~beside_capture() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// A CUDA event with timing.
class event {
 public:
  event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(event_); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Blocks a stream until it is opened: work queued meanwhile then runs without waiting for the host, whose
// launches take longer than short kernels. Opens by itself after `longest`, because queueing may wait for the
// stream (the first launch of a kernel does).
class gate {
 public:
  explicit gate(cudaStream_t on) : on_{on} {
    check(cudaLaunchHostFunc(on, wait, &open_), "cudaLaunchHostFunc");
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() {
    open();
    cudaStreamSynchronize(on_);  // the callback may still read the flag
  }
  void open() { open_.store(true, std::memory_order_release); }

 private:
  static constexpr std::chrono::milliseconds longest{100};
  cudaStream_t on_;
  std::atomic<bool> open_ = false;

  static void CUDART_CB wait(void* flag) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (!static_cast<std::atomic<bool>*>(flag)->load(std::memory_order_acquire) &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  }
};

inline int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute({}) of device {}",
        static_cast<int>(which), device);
  return value;
}

inline device_limits describe(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties of device {}", device);
  const auto bytes = [&](cudaDeviceAttr which) { return static_cast<std::size_t>(attribute(which, device)); };
  return {.name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .threads_per_block = properties.maxThreadsPerBlock,
          .threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor,
          .blocks_per_multiprocessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor, device),
          .registers_per_multiprocessor = properties.regsPerMultiprocessor,
          .shared_per_block = bytes(cudaDevAttrMaxSharedMemoryPerBlock),
          .shared_opt_in = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin),
          .shared_per_multiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          .shared_reserved = bytes(cudaDevAttrReservedSharedMemoryPerBlock)};
}

// A driver function, looked up at run time so that programs start without a driver. Null if the driver lacks
// it.
template <class Function> Function of_driver(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found),
        "asking the driver for {}", name);
  return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(function) : nullptr;
}

inline decltype(&cuTensorMapEncodeTiled) find_tensor_map_encoder() {
  const auto function = of_driver<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled", 12000);
  if (function == nullptr)
    throw not_supported(
        "the NVIDIA driver has no cuTensorMapEncodeTiled: tensor copies need a driver for CUDA 12.0 or "
        "newer");
  return function;
}
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  static constinit made_once<decltype(&cuTensorMapEncodeTiled)> found;
  return found.get(find_tensor_map_encoder);
}

inline CUtensorMapDataType data_type(int bytes) {
  switch (bytes) {
    case 1: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case 2: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case 4: return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  }
}
inline CUtensorMapSwizzle swizzle_mode(swizzle s) {
  switch (s) {
    case swizzle::bytes_32: return CU_TENSOR_MAP_SWIZZLE_32B;
    case swizzle::bytes_64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case swizzle::bytes_128: return CU_TENSOR_MAP_SWIZZLE_128B;
    case swizzle::none: break;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

// The runtime's launch configuration, with attributes only where needed.
struct launch_configuration {
  launch_configuration(const kernel& k, extent3 grid, std::size_t dynamic_shared, stream on, bool overlaps) {
    config.gridDim = dim3(grid.x, grid.y, grid.z);
    config.blockDim = dim3(static_cast<unsigned>(k.threads));
    config.dynamicSmemBytes = dynamic_shared;
    config.stream = on;
    config.attrs = attributes;
    if (k.cluster > 1) {
      cudaLaunchAttribute& a = attributes[config.numAttrs++];
      a.id = cudaLaunchAttributeClusterDimension;
      a.val.clusterDim.x = static_cast<unsigned>(k.cluster);
      a.val.clusterDim.y = a.val.clusterDim.z = 1;
    }
    if (overlaps) {
      cudaLaunchAttribute& a = attributes[config.numAttrs++];
      a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      a.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  launch_configuration(const launch_configuration&) = delete;
  launch_configuration& operator=(const launch_configuration&) = delete;
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[2]{};
};

}  // namespace antiphase::cuda_detail
