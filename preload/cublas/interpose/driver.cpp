// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/interpose/driver.hpp"

#include <optional>

#include "core/per_process.hpp"
#include "preload/cublas/interpose/libraries.hpp"

namespace antiphase::cublas {
namespace {

std::optional<driver> found_driver() {
  void* const library = loaded("libcuda.so.1");
  if (library == nullptr) return std::nullopt;
  driver all;
  bool whole = true;
  const auto find = [&]<class Function>(Function*& to, const char* name) {
    to = reinterpret_cast<Function*>(real_dlsym(library, name));
    whole &= to != nullptr;
  };
  find(all.current_device, "cuCtxGetDevice");
  find(all.is_capturing, "cuStreamIsCapturing");
  find(all.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find(all.create_event, "cuEventCreate");
  find(all.destroy_event, "cuEventDestroy_v2");
  find(all.record_event, "cuEventRecord");
  find(all.query_event, "cuEventQuery");
  find(all.query_stream, "cuStreamQuery");
  find(all.milliseconds, "cuEventElapsedTime");
  find(all.allocate, "cuMemAlloc_v2");
  find(all.release, "cuMemFree_v2");
  find(all.copy, "cuMemcpyDtoDAsync_v2");
  find(all.copy_out, "cuMemcpyDtoHAsync_v2");
  find(all.synchronize, "cuStreamSynchronize");
  return whole ? std::optional(all) : std::nullopt;
}

}  // namespace

const driver* driver_of_process() {
  static constinit made_once<std::optional<driver>> known;
  const std::optional<driver>& one = known.get(found_driver);
  return one ? &*one : nullptr;
}

}  // namespace antiphase::cublas
