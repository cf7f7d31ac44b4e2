// SPDX-License-Identifier: Apache-2.0
// Tensor maps: what cuTensorMapEncodeTiled() makes of a tensor in memory.
#include <antiphase/plain/tensor_maps.h>
#include <algorithm>
#include <cstring>
#include <string>

#include "run.hpp"

namespace antiphase::plain {}  // namespace antiphase::plain

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
  constexpr int bytes_of[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  if (rank < 2 || rank > tensor_dimensions || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || static_cast<std::size_t>(type) >= std::size(bytes_of) ||
      std::any_of(element_strides, element_strides + rank, [](cuuint32_t s) { return s != 1; }))
    return refuse("a tensor map that antiphase check does not have",
                  "2 to 4 dimensions, no interleaving, element strides of 1, zeros outside",
                  CUDA_ERROR_NOT_SUPPORTED);
  tensor_layout layout{.data = address,
                       .element_bytes = bytes_of[type],
                       .dimensions = static_cast<int>(rank),
                       .pattern = static_cast<antiphase::swizzle>(swizzle)};
  for (cuuint32_t d = 0; d < rank; ++d) {
    layout.extent[d] = extents[d];
    layout.box[d] = box[d];
    layout.stride[d] = d == 0 ? 0 : strides[d - 1];  // none for the innermost dimension
  }
  try {
    const tensor_map encoded = plain::device().encode(layout);
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