// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of this name, and for IndexUtils.cuh: how a tensor lies, for kernels that find its
// elements themselves.
#pragma once
#include "../../../bindings.h"

#define MAX_TENSORINFO_DIMS 25

namespace at::cuda::detail {

template <class T, class IndexType> struct TensorInfo {
  T* data = nullptr;
  IndexType sizes[MAX_TENSORINFO_DIMS] = {}, strides[MAX_TENSORINFO_DIMS] = {};
  int dims = 0;

  TensorInfo() = default;
  TensorInfo(T* p, int n, const IndexType* size, const IndexType* stride) : data(p), dims(n) {
    TORCH_CHECK(n < MAX_TENSORINFO_DIMS, "CUDA Tensors cannot have more than 25 dimensions");
    for (int i = 0; i < n; ++i) sizes[i] = size[i], strides[i] = stride[i];
  }
  void reduceDim(int d) { sizes[d] = 1; }
  bool isContiguous() const { return dims == 1 && strides[0] == 1; }
  // Joins axes that lie one after the other, except for `exclude`; returns where that one is then.
  int collapseDims(int exclude = -1) {
    int last = -1, excluded = -1;
    for (int d = 0; d < dims; ++d) {
      if (d != exclude && sizes[d] == 1) continue;
      if (last >= 0 && d != exclude && last != excluded && strides[last] == sizes[d] * strides[d]) {
        sizes[last] *= sizes[d], strides[last] = strides[d];
        continue;
      }
      sizes[++last] = sizes[d], strides[last] = strides[d];
      if (d == exclude) excluded = last;
    }
    if (last < 0) sizes[last = 0] = 1, strides[0] = 1;
    dims = last + 1;
    return excluded;
  }
};

// The offset of an element by its number in the order of the sizes.
template <class T, class IndexType, int Dims> struct IndexToOffset {
  static IndexType get(IndexType number, const TensorInfo<T, IndexType>& of) {
    IndexType offset = 0;
    for (int d = of.dims - 1; d > 0; --d) {
      offset += number % of.sizes[d] * of.strides[d];
      number /= of.sizes[d];
    }
    return offset + number * of.strides[0];
  }
};

template <class T, class IndexType> TensorInfo<T, IndexType> getTensorInfo(const Tensor& t) {
  IndexType sizes[MAX_TENSORINFO_DIMS] = {}, strides[MAX_TENSORINFO_DIMS] = {};
  const int n = static_cast<int>(t.dim());
  for (int i = 0; i < n && i < MAX_TENSORINFO_DIMS; ++i) {
    sizes[i] = static_cast<IndexType>(t.size(i));
    strides[i] = static_cast<IndexType>(t.stride(i));
  }
  return {static_cast<T*>(t.data_ptr()), n, sizes, strides};
}
inline bool canUse32BitIndexMath(const Tensor& t, std::int64_t most = 0x7FFFFFFF) {
  std::int64_t last = 0;
  for (std::int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return t.numel() < most && last < most;
}

}  // namespace at::cuda::detail
