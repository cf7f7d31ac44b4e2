// CUB, compiled in.
#include <cub/device/device_scan.cuh>

#include "tool/rivals_cub.cuh"

namespace antiphase::tool {
namespace {

template <class T> work sums(const context& where, const void* in, void* out, std::int64_t count) {
  return with_workspace(where, [=](void* workspace, std::size_t& size, stream on) {
    return cub::DeviceScan::InclusiveSum(workspace, size, static_cast<const T*>(in), static_cast<T*>(out), count, on);
  });
}
template <class T> work sums_by_key(const context& where, const std::int32_t* keys, const void* in, void* out, std::int64_t count) {
  return with_workspace(where, [=](void* workspace, std::size_t& size, stream on) {
    return cub::DeviceScan::InclusiveSumByKey(workspace, size, keys, static_cast<const T*>(in), static_cast<T*>(out), count, {}, on);
  });
}

}  // namespace

rival cub_sums_by_key(const context& where, element type, const std::int32_t* keys, const void* in, void* out, std::int64_t count) {
  rival result = cub_as("DeviceScan::InclusiveSumByKey, 32-bit keys, 64-bit size, not deterministic for floats");
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
    case element::bf16: result.why_not = "its sums of 16-bit floats are rounded at every step, ours once"; break;
  }
  return result;
}

}  // namespace antiphase::tool
