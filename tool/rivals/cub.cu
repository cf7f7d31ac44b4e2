// SPDX-License-Identifier: Apache-2.0
// Prefix sums by CUB, which is compiled in.
#include <cub/device/device_scan.cuh>

#include "tool/rivals/cub.cuh"

#define AP_CUB_RUN_TO_RUN (CCCL_VERSION >= 3005000)
#if AP_CUB_RUN_TO_RUN
#include <cuda/execution>
#include <cuda/memory_resource>
#include <cuda/std/execution>
#include <cuda/stream>
#include <optional>
#endif

namespace antiphase::tool {

#if AP_CUB_RUN_TO_RUN
// Workspace for a call that gets its other arguments as an environment: allocated in the first run, then
// kept. Some members exist only to satisfy CUB's concepts.
class kept_workspace {
 public:
  explicit kept_workspace(const context& where)
      : where_(where), memory_(std::make_shared<std::optional<device_array<std::byte>>>()) {}

  void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t) { return allocate_sync(bytes); }
  void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}
  void* allocate_sync(std::size_t bytes, std::size_t = 0) {
    if (!*memory_ || (*memory_)->size() < bytes) memory_->emplace(where_, bytes);
    return (*memory_)->data();
  }
  void deallocate_sync(void*, std::size_t, std::size_t = 0) noexcept {}
  bool operator==(const kept_workspace& other) const { return memory_ == other.memory_; }
  friend constexpr void get_property(const kept_workspace&, cuda::mr::device_accessible) noexcept {}

 private:
  context where_;
  std::shared_ptr<std::optional<device_array<std::byte>>> memory_;
};
#endif

namespace {

template <class T> work sums(const context& where, const void* in, void* out, std::int64_t count) {
  return with_workspace(where, [=](void* workspace, std::size_t& size, stream on) {
    return cub::DeviceScan::InclusiveSum(workspace, size, static_cast<const T*>(in), static_cast<T*>(out),
                                         count, on);
  });
}
template <class T> work sums_by_key(const context& where, const std::int32_t* keys, const void* in, void* out,
                                    std::int64_t count) {
  return with_workspace(where, [=](void* workspace, std::size_t& size, stream on) {
    return cub::DeviceScan::InclusiveSumByKey(workspace, size, keys, static_cast<const T*>(in),
                                              static_cast<T*>(out), count, {}, on);
  });
}

#if AP_CUB_RUN_TO_RUN
template <class T> work sums_run_to_run(const context& where, const void* in, void* out, std::int64_t count) {
  return [=, workspace = kept_workspace(where)](stream on) {
    const cuda::std::execution::env how{cuda::stream_ref{on},
                                        cuda::std::execution::prop{cuda::mr::get_memory_resource, workspace},
                                        cuda::execution::require(cuda::execution::determinism::run_to_run)};
    check_cub(cub::DeviceScan::InclusiveSum(static_cast<const T*>(in), static_cast<T*>(out), count, how));
  };
}
#endif

}  // namespace

rival cub_sums_run_to_run([[maybe_unused]] const context& where, [[maybe_unused]] element type,
                          [[maybe_unused]] const void* in, [[maybe_unused]] void* out,
                          [[maybe_unused]] std::int64_t count) {
#if AP_CUB_RUN_TO_RUN
  rival result =
      cub_as("DeviceScan::InclusiveSum, 64-bit size, determinism run_to_run: the same bits in every run");
  result.key = "cub_run_to_run";
  if (type == element::f32) result.run = sums_run_to_run<float>(where, in, out, count);
  if (type == element::f64) result.run = sums_run_to_run<double>(where, in, out, count);
  return result;
#else
  return {};
#endif
}

rival cub_sums_by_key(const context& where, element type, const std::int32_t* keys, const void* in, void* out,
                      std::int64_t count) {
  rival result =
      cub_as("DeviceScan::InclusiveSumByKey, 32-bit keys, 64-bit size, not deterministic for floats");
  switch (type) {
    case element::f32: result.run = sums_by_key<float>(where, keys, in, out, count); break;
    case element::f64: result.run = sums_by_key<double>(where, keys, in, out, count); break;
    case element::i32: result.run = sums_by_key<std::int32_t>(where, keys, in, out, count); break;
    case element::i64: result.run = sums_by_key<std::int64_t>(where, keys, in, out, count); break;
    default: result.why_not = "sums by key are compiled in for f4, f8, i4 and i8"; break;
  }
  return result;
}

rival cub_sums(const context& where, element type, const void* in, void* out, std::int64_t count) {
  rival result = cub_as("DeviceScan::InclusiveSum, 64-bit size, not deterministic for floats");
  switch (type) {
    case element::f32: result.run = sums<float>(where, in, out, count); break;
    case element::f64: result.run = sums<double>(where, in, out, count); break;
    case element::i8: result.run = sums<std::int8_t>(where, in, out, count); break;
    case element::i16: result.run = sums<std::int16_t>(where, in, out, count); break;
    case element::i32: result.run = sums<std::int32_t>(where, in, out, count); break;
    case element::i64: result.run = sums<std::int64_t>(where, in, out, count); break;
    case element::u8: result.run = sums<std::uint8_t>(where, in, out, count); break;
    case element::u16: result.run = sums<std::uint16_t>(where, in, out, count); break;
    case element::u32: result.run = sums<std::uint32_t>(where, in, out, count); break;
    case element::u64: result.run = sums<std::uint64_t>(where, in, out, count); break;
    case element::f16:
    case element::bf16:
      result.why_not = "its sums of 16-bit floats are rounded at every step, ours once";
      break;
  }
  return result;
}

}  // namespace antiphase::tool
