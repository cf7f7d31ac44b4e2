// SPDX-License-Identifier: Apache-2.0
// Properties and state of a GPU during measurements, from NVML, which is loaded at run time.
#include "tool/measure/machine.hpp"

#include <dlfcn.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <antiphase/version.hpp>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include "tool/measure/provenance.hpp"

namespace antiphase::tool {
namespace {

using device = void*;
// Numbers from NVML's stable C interface. A result of 0 means success.
constexpr unsigned sm_clock = 1, memory_clock = 2;

class nvml {
 public:
  nvml() : library_{dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)} {
    if (library_ == nullptr) return;
    const auto start = find<int (*)()>("nvmlInit_v2");
    ready_ = start != nullptr && start() == 0;
  }
  nvml(const nvml&) = delete;
  nvml& operator=(const nvml&) = delete;
  ~nvml() {
    if (!ready_) return;
    if (const auto stop = find<int (*)()>("nvmlShutdown")) stop();
  }
  explicit operator bool() const { return ready_; }

  // Calls a function that stores its answer through its last argument; false if it does not exist or fails.
  template <class T, class... Args> bool ask(const char* function, T& answer, Args... arguments) const {
    const auto call = find<int (*)(Args..., T*)>(function);
    return call != nullptr && call(arguments..., &answer) == 0;
  }
  template <class... Args> std::string text(const char* function, Args... arguments) const {
    std::array<char, 128> answer{};
    const auto call = find<int (*)(Args..., char*, unsigned)>(function);
    return call != nullptr && call(arguments..., answer.data(), static_cast<unsigned>(answer.size())) == 0
               ? answer.data()
               : "";
  }

 private:
  void* library_;
  bool ready_ = false;

  template <class F> F find(const char* name) const { return reinterpret_cast<F>(dlsym(library_, name)); }
};

unsigned index_of(const std::string& on) {
  const std::size_t colon = on.find(':');
  unsigned index = 0;
  if (colon != std::string::npos) std::from_chars(on.data() + colon + 1, on.data() + on.size(), index);
  return index;
}

// NVML's device for CUDA's `on`. Their numbering may differ (CUDA_VISIBLE_DEVICES, order by speed), so the
// names must agree; otherwise none.
device find_device(const nvml& library, const place& at) {
  unsigned index = index_of(at.executor);
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && index == 0)
    std::from_chars(visible, visible + std::string_view(visible).size(), index);
  device found = nullptr;
  if (!library.ask("nvmlDeviceGetHandleByIndex_v2", found, index) ||
      library.text("nvmlDeviceGetName", found) != at.name)
    return nullptr;
  return found;
}

json clocks_of(const nvml& library, device of) {
  json clocks = json::object();
  unsigned mhz = 0;
  if (library.ask("nvmlDeviceGetClockInfo", mhz, of, sm_clock)) clocks["sm_mhz"] = mhz;
  if (library.ask("nvmlDeviceGetMaxClockInfo", mhz, of, sm_clock)) clocks["sm_max_mhz"] = mhz;
  if (library.ask("nvmlDeviceGetClockInfo", mhz, of, memory_clock)) clocks["memory_mhz"] = mhz;
  return clocks;
}

json power_of(const nvml& library, device of) {
  json power = json::object();
  unsigned milliwatts = 0, celsius = 0;
  constexpr unsigned of_the_chip = 0;
  if (library.ask("nvmlDeviceGetPowerUsage", milliwatts, of)) power["watts"] = milliwatts / 1000.;
  if (library.ask("nvmlDeviceGetEnforcedPowerLimit", milliwatts, of))
    power["limit_watts"] = milliwatts / 1000.;
  if (library.ask("nvmlDeviceGetTemperature", celsius, of, of_the_chip)) power["celsius"] = celsius;
  return power;
}

}  // namespace

json machine_of(const place& at) {
  json machine{{"name", at.name}};
  if (at.context.kind() != target::cuda) return machine;
  machine["cuda"] = {{"built_with", build_info().gpu_compiler}};
  const nvml library;
  if (!library) return machine;
  if (const std::string driver = library.text("nvmlSystemGetDriverVersion"); !driver.empty())
    machine["driver"] = driver;
  int version = 0;  // 13000 is 13.0
  if (library.ask("nvmlSystemGetCudaDriverVersion_v2", version))
    machine["cuda"]["driver"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  if (const device of = find_device(library, at)) {
    machine["clocks"] = clocks_of(library, of);
    machine["power"] = power_of(library, of);
  }
  return machine;
}

json result_envelope(std::string_view command, const place& at, int schema) {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  return {
      {"schema", schema},
      {"command", command},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)))},
      {"commit", built_from()},
      {"place", to_json(at)},
      {"machine", machine_of(at)}};
}

}  // namespace antiphase::tool
