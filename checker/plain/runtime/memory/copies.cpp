// SPDX-License-Identifier: Apache-2.0
// Copies and fills of memory, now or into a graph, and tensor maps for the copies of kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>

#include <antiphase/plain/libraries.h>
#include <antiphase/plain/tensor_maps.h>
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/memory/memory.hpp"
#include "checker/plain/runtime/run.hpp"
#include "checker/runs/executor.hpp"
#include "core/executor/cpu/units/tensor_elements.hpp"

namespace antiphase::plain {
using checker_detail::access_kind;
using checker_detail::atomic_kind;
using checker_detail::model;

bool holds(std::size_t symbol, std::size_t offset, std::size_t bytes, place where) {
  if (offset <= symbol && bytes <= symbol - offset) return true;
  bad_copy(where, fmt::format("a copy of {} bytes to or from a symbol", bytes),
           fmt::format("the symbol has {} bytes, {} of them after the offset", symbol,
                       symbol - std::min(symbol, offset)),
           "a size in bytes that the symbol has", cudaErrorInvalidValue);
  return false;
}
namespace {
cudaError_t copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t on,
                     returns when, place where) {
  if (bytes > 0 && (is_kernels_heap(to, "a copy", where) || is_kernels_heap(from, "a copy", where)))
    return cudaErrorInvalidValue;
  const bool to_device = of_device(to, bytes), from_device = of_device(from, bytes);
  const bool wanted_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
             wanted_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const auto wrong = [&](bool is, bool wanted, const void* p) {
    return kind != cudaMemcpyDefault && is != wanted && !is_shared_with_host(p);
  };
  model& m = followed();
  if (bytes > 0 && (wrong(to_device, wanted_to, to) || wrong(from_device, wanted_from, from))) {
    m.findings.note(finding_kind::bad_copy, "", m.places.number_of(where),
                    "a copy whose kind does not fit its pointers",
                    fmt::format("to {}, from {}", to_device ? "device memory" : "host memory",
                                from_device ? "device memory" : "host memory"),
                    "the cudaMemcpyKind of what the pointers are");
    return fails(cudaErrorInvalidValue);
  }
  const auto* const start = static_cast<const char*>(from);
  auto* const target = static_cast<char*>(to);
  if (bytes > 0 && to_device && from_device && target != start && target < start + bytes &&
      start < target + bytes)
    m.findings.note(finding_kind::bad_copy, "", m.places.number_of(where),
                    fmt::format("a copy of {} bytes, {} bytes from where it begins to where it goes", bytes,
                                std::abs(target - start)),
                    "", "memory that does not overlap: another buffer in between");
  if (!to_device) require_allocated(to, bytes, "to", where);
  if (!from_device) require_allocated(from, bytes, "from", where);
  const auto wait = [&] {
    if (on == nullptr)
      m.launches.synchronize_default();
    else
      m.launches.synchronize(on);
  };
  // From pageable host memory a copy is staged: the call waits for the stream first, and may return before
  // the device's memory is written (CUDA runtime, API synchronization behavior).
  const bool staged = only_device(to) && !from_device;
  if (when == returns::when_done && staged) wait();
  m.host_place = where;
  m.host_stages = staged;
  if (to_device && from_device)
    device().copy(to, from, bytes, on);
  else if (to_device)
    device().copy_in(to, from, bytes, on), find_virtual_tables(from, to, bytes);
  else if (from_device)
    device().copy_out(to, from, bytes, on);
  else
    std::memmove(to, from, bytes);
  m.host_place = {};
  m.host_stages = false;
  if (graph_runs() && !to_device) ordinary_memory()->copied(to, bytes, access_kind::write, where, on);
  if (graph_runs() && !from_device) ordinary_memory()->copied(from, bytes, access_kind::read, where, on);
  if (when == returns::when_done && !staged && !(only_device(to) && only_device(from))) wait();
  return cudaSuccess;
}
cudaError_t copy_rows_now(const row_copy& c, cudaStream_t on, returns when, place where) {
  for (std::size_t i = 0; i < c.height; ++i)
    if (const cudaError_t e =
            copy_now(static_cast<char*>(c.destination) + i * c.to_pitch,
                     static_cast<const char*>(c.source) + i * c.from_pitch, c.width, c.kind, on, when, where);
        e != cudaSuccess)
      return e;
  return cudaSuccess;
}
cudaError_t set_now(void* p, std::span<const unsigned char> value, std::size_t bytes, cudaStream_t on,
                    place where);
cudaError_t set_now(void* p, int value, std::size_t bytes, cudaStream_t on, place where) {
  const auto byte = static_cast<unsigned char>(value);
  return set_now(p, {&byte, 1}, bytes, on, where);
}
cudaError_t set_now(void* p, std::span<const unsigned char> value, std::size_t bytes, cudaStream_t on,
                    place where) {
  if (bytes == 0) return cudaSuccess;
  if (!of_device(p, bytes))
    return bad_copy(where, "cudaMemset() of host memory", "", "a pointer to device memory",
                    cudaErrorInvalidValue);
  if (is_kernels_heap(p, "cudaMemset()", where)) return cudaErrorInvalidValue;
  followed().host_place = where;
  checker_detail::fill(device(), p, value, bytes, on);
  followed().host_place = {};
  return cudaSuccess;
}
}  // namespace

void copy_rows_now(const row_copy& c, cudaStream_t on, place where) {
  copy_rows_now(c, on, returns::at_once, where);
}
void set_now(const cudaMemsetParams& p, cudaStream_t on, place where) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) {
    misused(where, fmt::format("a memset node of elements of {} bytes", p.elementSize), "1, 2 or 4 bytes",
            cudaErrorInvalidValue);
    return;
  }
  if (p.height > 1 && p.pitch < p.width * p.elementSize) {
    misused(where,
            fmt::format("a memset node of rows of {} bytes, {} apart", p.width * p.elementSize, p.pitch),
            "a pitch in bytes: at least the width", cudaErrorInvalidValue);
    return;
  }
  const auto value = std::bit_cast<std::array<unsigned char, sizeof p.value>>(p.value);
  for (std::size_t row = 0; row < p.height; ++row)
    set_now(static_cast<char*>(p.dst) + row * p.pitch, {value.data(), p.elementSize}, p.width * p.elementSize,
            on, where);
}
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t on,
                 returns when, place where) {
  return copy_rows(to, bytes, from, bytes, bytes, 1, kind, on, when, where);
}
cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t on,
                      returns when, place where) {
  only_by_main("memory is copied", where);
  if (width > 0 && height > 0 && (width > to_pitch || width > from_pitch))
    return bad_copy(where, fmt::format("a copy of rows of {} bytes", width),
                    fmt::format("a pitch of {} bytes", std::min(to_pitch, from_pitch)),
                    "a pitch in bytes, from the beginning of a row to that of the next: at least the width",
                    cudaErrorInvalidPitchValue);
  const row_copy c{to, to_pitch, from, from_pitch, width, height, kind};
  const auto later = [c, where](cudaStream_t s) { copy_rows_now(c, s, where); };
  if (is_gone(on, "a copy", where)) return cudaErrorInvalidResourceHandle;
  if (put_off(cudaGraphNodeTypeMemcpy, "a copy", on, when, later, where)) return cudaSuccess;
  return copy_rows_now(c, on, when, where);
}
cudaError_t set(void* p, int value, std::size_t bytes, cudaStream_t on, returns when, place where) {
  only_by_main("memory is set", where);
  const auto later = [=](cudaStream_t s) { set_now(p, value, bytes, s, where); };
  if (is_gone(on, "cudaMemset()", where)) return cudaErrorInvalidResourceHandle;
  if (put_off(cudaGraphNodeTypeMemset, "cudaMemset()", on, when, later, where)) return cudaSuccess;
  const cudaError_t e = set_now(p, value, bytes, on, where);
  // cudaMemset of device memory returns at once too
  if (e == cudaSuccess && bytes > 0 && when == returns::when_done && is_shared_with_host(p))
    wait_for_stream(on);
  return e;
}
cudaError_t set_rows(void* p, std::size_t pitch, int value, std::size_t width, std::size_t height,
                     cudaStream_t on, returns when, place where) {
  if (height > 1 && width > pitch)
    return bad_copy(where, fmt::format("cudaMemset2D() of rows of {} bytes", width),
                    fmt::format("a pitch of {} bytes", pitch), "a pitch in bytes: at least the width",
                    cudaErrorInvalidValue);
  for (std::size_t i = 0; i < height; ++i)
    if (const cudaError_t e = set(static_cast<char*>(p) + i * pitch, value, width, on, when, where);
        e != cudaSuccess)
      return e;
  return cudaSuccess;
}
}  // namespace antiphase::plain

using namespace antiphase;

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill fill) {
  const auto refuse = [code = __builtin_return_address(0)](const std::string& why, const std::string& instead,
                                                           CUresult result) {
    plain::followed().findings.note(finding_kind::bad_copy, "cuTensorMapEncodeTiled",
                                    plain::followed().places.number_of(code, plain::place{}), why, "",
                                    instead);
    return result;
  };
  constexpr auto& types = cpu_detail::tensor_elements;
  // PTX's number of the type
  const int number = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ ? 8
                     : type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                         ? type + 1
                         : type;
  if (rank < 1 || rank > tensor_dimensions || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || static_cast<std::size_t>(number) >= std::size(types) ||
      std::any_of(element_strides, element_strides + rank, [](cuuint32_t s) { return s != 1; }))
    return refuse("a tensor map that antiphase check does not have",
                  "1 to 5 dimensions, no interleaving, element strides of 1, zeros outside",
                  CUDA_ERROR_NOT_SUPPORTED);
  tensor_layout layout{.data = address,
                       .element_bytes = types[number].bytes,
                       .dimensions = static_cast<int>(rank),
                       .pattern = static_cast<antiphase::swizzle>(swizzle)};
  for (cuuint32_t d = 0; d < rank; ++d) {
    layout.extent[d] = extents[d];
    layout.box[d] = box[d];
    layout.stride[d] = d == 0 ? 0 : strides[d - 1];  // none for the innermost dimension
  }
  if (rank == 1) {  // one row: its pitch is never used
    layout.dimensions = 2;
    layout.extent[1] = layout.box[1] = 1;
    layout.stride[1] = (extents[0] * static_cast<cuuint64_t>(layout.element_bytes) + 15) / 16 * 16;
  }
  try {
    tensor_map encoded = plain::device().encode(layout);
    machine::set_numbers(encoded, types[number].numbers);
    static_assert(sizeof encoded == sizeof *map);
    std::memcpy(map, &encoded, sizeof encoded);
  } catch (const bad_request& e) {
    return refuse(e.what(), "what the driver's manual allows", CUDA_ERROR_INVALID_VALUE);
  }
  return CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long,
                                    cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (found != nullptr) *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}