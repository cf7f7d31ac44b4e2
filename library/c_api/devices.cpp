// SPDX-License-Identifier: Apache-2.0
#include "library/c_api/devices.hpp"

#include <antiphase.h>
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/gemm/gain.hpp>
#include <map>
#include <memory>
#include <mutex>

#include "core/per_process.hpp"
#include "library/c_api/allocator.hpp"
#include "library/c_api/status.hpp"

namespace antiphase::c_api {
namespace {

struct place {
  std::shared_ptr<const executor> own;  // made by the library
  context lent;                         // the same with the caller's allocator
};

struct known_places {
  std::mutex change;
  std::map<int, place> places;
};
constinit lasting<per_process<known_places>> known;

const place& place_of(int device) {
  if (device == ANTIPHASE_CURRENT_DEVICE) device = current_cuda_device();
  if (device < ANTIPHASE_CPU)
    throw bad_request(fmt::format(
        "device is {}: expected the number of a CUDA device, ANTIPHASE_CPU or ANTIPHASE_CURRENT_DEVICE",
        device));
  auto& [change, places] = known.value.get();
  const std::scoped_lock lock(change);
  if (const auto found = places.find(device); found != places.end()) return found->second;
  auto own = device == ANTIPHASE_CPU ? make_cpu_executor() : make_cuda_executor({.device = device});
  context lent(with_allocator(own, device));
  return places.emplace(device, place{std::move(own), std::move(lent)}).first->second;
}

}  // namespace

const context& where(int device) { return place_of(device).lent; }

}  // namespace antiphase::c_api

using antiphase::c_api::guarded;

int antiphase_device_count(void) {
  int count = 0;
  // With a broken driver the runtime may fail in unexpected ways: that counts as no device.
  static_cast<void>(guarded([&] { count = antiphase::cuda_device_count(); }));
  return count;
}

int antiphase_is_measured(int device) {
  bool is = false;
  static_cast<void>(guarded([&] { is = antiphase::is_measured(antiphase::c_api::where(device).limits()); }));
  return is ? 1 : 0;
}

antiphase_status antiphase_synchronize(int device, antiphase_stream on) {
  return guarded([&] { antiphase::c_api::where(device).runs_on().synchronize(on); });
}

void antiphase_set_interrupt_flag(const int* flag) { antiphase::set_interrupt_flag(flag); }

antiphase_status antiphase_trim(int device) {
  return guarded([&] { antiphase::trim_pool(*antiphase::c_api::place_of(device).own); });
}
