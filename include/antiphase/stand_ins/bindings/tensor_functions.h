// SPDX-License-Identifier: Apache-2.0
// Functions of PyTorch on tensors, its checks of arguments, and dispatch by element type.
#pragma once
#include "tensor.h"

namespace at {

inline TensorOptions dtype(ScalarType t) { return t; }
inline TensorOptions device(Device d) { return d; }
Tensor empty(IntArrayRef n, TensorOptions o = {}, std::optional<MemoryFormat> = {});
Tensor empty_strided(IntArrayRef n, IntArrayRef strides, TensorOptions o = {});
Tensor zeros(IntArrayRef n, TensorOptions o = {});
Tensor full(IntArrayRef n, Scalar s, TensorOptions o = {});
inline Tensor ones(IntArrayRef n, TensorOptions o = {}) { return full(n, 1, o); }
// Like `like`: in the order of its strides, if these have no gaps, as PyTorch makes them.
Tensor empty_like(const Tensor& like, TensorOptions o, std::optional<MemoryFormat> f = {});
Tensor empty_like(const Tensor& like);
#define AP_LIKE(name, start)                                                                           \
  inline Tensor name##_like(const Tensor& like, TensorOptions o) { return empty_like(like, o).start; } \
  inline Tensor name##_like(const Tensor& like) { return name##_like(like, like.options()); }
AP_LIKE(zeros, zero_())
AP_LIKE(ones, fill_(1))
#undef AP_LIKE
Tensor full_like(const Tensor& like, Scalar s);
Tensor full_like(const Tensor& like, Scalar s, TensorOptions o);
Tensor arange(Scalar from, Scalar to, Scalar step, TensorOptions o = {});
inline Tensor arange(Scalar from, Scalar to, TensorOptions o = {}) { return arange(from, to, 1, o); }
inline Tensor arange(Scalar to, TensorOptions o = kLong) { return arange(0, to, 1, o); }
// numbers that follow from their places
Tensor rand(IntArrayRef n, TensorOptions o = {});
Tensor randn(IntArrayRef n, TensorOptions o = {});
Tensor rand_like(const Tensor& like);
Tensor randn_like(const Tensor& like);
Tensor scalar_tensor(Scalar s, TensorOptions o = {});
template <class T> Tensor tensor(std::initializer_list<T> v, TensorOptions o = scalar_type_of<T>::value) {
  return Tensor::from({static_cast<std::int64_t>(v.size())}, o, std::vector<double>(v.begin(), v.end()));
}
template <class T>
requires(std::is_arithmetic_v<T>) Tensor tensor(T v, TensorOptions o = scalar_type_of<T>::value) {
  return scalar_tensor(v, o);
}
template <class T> Tensor tensor(const std::vector<T>& v, TensorOptions o = scalar_type_of<T>::value) {
  return Tensor::from({static_cast<std::int64_t>(v.size())}, o, std::vector<double>(v.begin(), v.end()));
}
Tensor from_blob(void* data, IntArrayRef n, TensorOptions o = {});
Tensor cat(TensorList all, std::int64_t d = 0);
inline Tensor cat(std::initializer_list<Tensor> all, std::int64_t d = 0) { return cat(TensorList(all), d); }
Tensor stack(TensorList all, std::int64_t d = 0);
inline Tensor stack(std::initializer_list<Tensor> all, std::int64_t d = 0) {
  return stack(TensorList(all), d);
}
inline Tensor matmul(const Tensor& a, const Tensor& b) { return a.matmul(b); }
inline Tensor mm(const Tensor& a, const Tensor& b) { return a.matmul(b); }
inline Tensor bmm(const Tensor& a, const Tensor& b) { return a.matmul(b); }
inline Tensor mv(const Tensor& a, const Tensor& b) { return a.matmul(b); }
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b);
Tensor linear(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b = {});
// Of batches, with any number of axes after the channels; one number of an array is for all axes.
Tensor convolution(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   std::int64_t groups);
#define AP_CONVOLUTIONS(axes)                                                                               \
  inline Tensor conv##axes(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b = {},           \
                           IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,       \
                           std::int64_t groups = 1) {                                                       \
    return convolution(x, w, b, stride, padding, dilation, false, 0, groups);                               \
  }                                                                                                         \
  inline Tensor conv_transpose##axes(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b = {}, \
                                     IntArrayRef stride = 1, IntArrayRef padding = 0,                       \
                                     IntArrayRef output_padding = 0, std::int64_t groups = 1,               \
                                     IntArrayRef dilation = 1) {                                            \
    return convolution(x, w, b, stride, padding, dilation, true, output_padding, groups);                   \
  }
AP_CONVOLUTIONS(1d)
AP_CONVOLUTIONS(2d)
AP_CONVOLUTIONS(3d)
#undef AP_CONVOLUTIONS
inline Tensor add(const Tensor& a, const Tensor& b) { return a.add(b); }
inline Tensor sub(const Tensor& a, const Tensor& b) { return a.sub(b); }
inline Tensor mul(const Tensor& a, const Tensor& b) { return a.mul(b); }
inline Tensor div(const Tensor& a, const Tensor& b) { return a.div(b); }
inline Tensor pow(const Tensor& a, Scalar b) { return a.pow(b); }
inline Tensor maximum(const Tensor& a, const Tensor& b) { return a.maximum(b); }
inline Tensor minimum(const Tensor& a, const Tensor& b) { return a.minimum(b); }
inline Tensor sum(const Tensor& a) { return a.sum(); }
inline Tensor sum(const Tensor& a, IntArrayRef d, bool keep = false) { return a.sum(d, keep); }
inline Tensor mean(const Tensor& a) { return a.mean(); }
inline Tensor mean(const Tensor& a, IntArrayRef d, bool keep = false) { return a.mean(d, keep); }
inline Tensor amax(const Tensor& a, IntArrayRef d, bool keep = false) { return a.amax(d, keep); }
inline Tensor max(const Tensor& a) { return a.max(); }
inline Tensor min(const Tensor& a) { return a.min(); }
inline std::tuple<Tensor, Tensor> max(const Tensor& a, std::int64_t d, bool keep = false) {
  return a.max(d, keep);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& a, std::int64_t d, bool keep = false) {
  return a.min(d, keep);
}
inline Tensor argmax(const Tensor& a, std::int64_t d, bool keep = false) { return a.argmax(d, keep); }
inline Tensor argmin(const Tensor& a, std::int64_t d, bool keep = false) { return a.argmin(d, keep); }
inline Tensor amin(const Tensor& a, IntArrayRef d, bool keep = false) { return a.amin(d, keep); }
inline Tensor prod(const Tensor& a) { return a.prod(); }
inline Tensor prod(const Tensor& a, std::int64_t d, bool keep = false) { return a.prod(d, keep); }
inline Tensor bernoulli(const Tensor& a) { return a.bernoulli(); }
inline Tensor bernoulli(const Tensor& a, double p) { return a.bernoulli(p); }
// The different elements in order, and for each of a's where it is among them.
std::tuple<Tensor, Tensor> _unique(const Tensor& a, bool sorted = true, bool return_inverse = false);
inline Tensor softmax(const Tensor& a, std::int64_t d) { return a.softmax(d); }
inline Tensor cumsum(const Tensor& a, std::int64_t d) { return a.cumsum(d); }
inline Tensor clamp(const Tensor& a, std::optional<Scalar> l, std::optional<Scalar> h = {}) {
  return a.clamp(l, h);
}
inline Tensor transpose(const Tensor& a, std::int64_t i, std::int64_t j) { return a.transpose(i, j); }
inline Tensor flatten(const Tensor& a, std::int64_t i = 0, std::int64_t j = -1) { return a.flatten(i, j); }
inline Tensor reshape(const Tensor& a, IntArrayRef n) { return a.reshape(n); }
inline Tensor unsqueeze(const Tensor& a, std::int64_t d) { return a.unsqueeze(d); }
inline Tensor squeeze(const Tensor& a) { return a.squeeze(); }

// Arguments with the names and numbers that errors give them.
struct TensorArg {
  Tensor tensor;
  const char* name;
  int pos;
  TensorArg(Tensor t, const char* n, int p) : tensor(std::move(t)), name(n), pos(p) {}
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
};
using CheckedFrom = const char*;
#define AP_CHECKS(of_two, of_all, condition, expected)                                                       \
  inline void of_two(CheckedFrom c, const TensorArg& a, const TensorArg& b) {                                \
    TORCH_CHECK(condition, "Expected tensor for argument #", a.pos, " '", a.name, "' and argument #", b.pos, \
                " '", b.name, "' to have the same " expected " (while checking arguments for ", c, ")");     \
  }                                                                                                          \
  inline void of_all(CheckedFrom c, ArrayRef<TensorArg> all) {                                               \
    for (const TensorArg& one : all) of_two(c, all[0], one);                                                 \
  }
AP_CHECKS(checkSameGPU, checkAllSameGPU, a->is_cuda() && b->is_cuda(), "device, a GPU")
AP_CHECKS(checkSameType, checkAllSameType, a->scalar_type() == b->scalar_type(), "type")
AP_CHECKS(checkSameSize, checkAllSameSize, a->sizes() == b->sizes(), "size")
AP_CHECKS(checkSameNumel, checkAllSameNumel, a->numel() == b->numel(), "number of elements")
#undef AP_CHECKS
inline void checkDim(CheckedFrom c, const TensorArg& a, std::int64_t dim) {
  TORCH_CHECK(a->dim() == dim, "Expected ", dim, "-dimensional tensor, but got ", a->dim(),
              "-dimensional tensor for argument #", a.pos, " '", a.name, "' (while checking arguments for ",
              c, ")");
}
inline void checkContiguous(CheckedFrom c, const TensorArg& a) {
  TORCH_CHECK(a->is_contiguous(), "Expected contiguous tensor, but got non-contiguous tensor for argument #",
              a.pos, " '", a.name, "' (while checking arguments for ", c, ")");
}
inline void checkAllContiguous(CheckedFrom c, ArrayRef<TensorArg> all) {
  for (const TensorArg& one : all) checkContiguous(c, one);
}
inline void checkScalarType(CheckedFrom c, const TensorArg& a, ScalarType t) {
  TORCH_CHECK(a->scalar_type() == t, "Expected tensor for argument #", a.pos, " '", a.name,
              "' to have scalar type ", t, "; but got ", a->scalar_type(),
              " instead (while checking arguments for ", c, ")");
}
inline void checkDefined(CheckedFrom c, const TensorArg& a) {
  TORCH_CHECK(a->defined(), "Expected tensor for argument #", a.pos, " '", a.name,
              "' to be non-null, but it was undefined (while checking arguments for ", c, ")");
}
inline void checkAllDefined(CheckedFrom c, ArrayRef<TensorArg> all) {
  for (const TensorArg& one : all) checkDefined(c, one);
}

// Pads the last axes; `by` has two numbers per axis, the last axis first.
Tensor constant_pad_nd(const Tensor& a, IntArrayRef by, Scalar value = 0);
}  // namespace at
namespace c10 {
namespace cuda = at::cuda;
}

namespace torch {
using namespace at;
namespace cuda {
using namespace at::cuda;
inline void synchronize() { cudaDeviceSynchronize(); }
}  // namespace cuda
using Dtype = ScalarType;
struct NoGradGuard {
  NoGradGuard() {}
};
namespace indexing {}
namespace headeronly {
using namespace c10;
}
}  // namespace torch
namespace at {
using NoGradGuard = torch::NoGradGuard;
using AutoDispatchBelowADInplaceOrView = NoGradGuard;
}  // namespace at

// Atomic additions under PyTorch's names.
template <class T> inline T gpuAtomicAdd(T* p, T v) { return atomicAdd(p, v); }
template <class T> inline void gpuAtomicAddNoReturn(T* p, T v) { atomicAdd(p, v); }
template <class T> inline T WARP_SHFL(T v, int from, int width = 32, unsigned mask = ~0u) {
  return __shfl_sync(mask, v, from, width);
}
template <class T> inline T WARP_SHFL_DOWN(T v, unsigned by, int width = 32, unsigned mask = ~0u) {
  return __shfl_down_sync(mask, v, by, width);
}
template <class T> inline T WARP_SHFL_UP(T v, unsigned by, int width = 32, unsigned mask = ~0u) {
  return __shfl_up_sync(mask, v, by, width);
}
template <class T> inline T WARP_SHFL_XOR(T v, int by, int width = 32, unsigned mask = ~0u) {
  return __shfl_xor_sync(mask, v, by, width);
}

// dispatch by element type
// -----------------------------------------------------------------------------------------------------------
#define AT_DISPATCH_CASE(which, ...)                 \
  case which: {                                      \
    using scalar_t = ::at::detail::type_of_t<which>; \
    return __VA_ARGS__();                            \
  }
#define AT_DISPATCH_CASE_TMPL AT_DISPATCH_CASE
#define AT_PRIVATE_CASE_TYPE(name, which, type, ...) \
  case which: {                                      \
    using scalar_t = type;                           \
    return __VA_ARGS__();                            \
  }
#define AT_DISPATCH_SWITCH(type, name, ...)                                                            \
  [&] {                                                                                                \
    const ::at::ScalarType ap_type = (type);                                                           \
    switch (ap_type) {                                                                                 \
      __VA_ARGS__                                                                                      \
      default: ::c10::fail("", "\"", name, "\" not implemented for '", ::c10::toString(ap_type), "'"); \
    }                                                                                                  \
  }()
namespace at::detail {
template <ScalarType> struct type_of;
#define AP_ONE(is, name) \
  template <> struct type_of<ScalarType::name> { using type = is; };
AP_ELEMENTS(AP_ONE)
#undef AP_ONE
template <ScalarType T> using type_of_t = typename type_of<T>::type;
}  // namespace at::detail
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)              \
  AT_DISPATCH_CASE(::at::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)        \
  AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(one, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)        \
  AT_DISPATCH_CASE(one, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(one, two, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND(one, __VA_ARGS__)     \
  AT_DISPATCH_CASE(two, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)            \
  AT_DISPATCH_CASE(::at::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::at::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(one, ...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(one, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(one, two, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND(one, __VA_ARGS__) AT_DISPATCH_CASE(two, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(one, two, three, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND2(one, two, __VA_ARGS__) AT_DISPATCH_CASE(three, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(one, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND(one, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(one, two, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(one, two, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(type, name, ...)                \
  AT_DISPATCH_SWITCH(type, name,                                           \
                     AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__) \
                         AT_DISPATCH_CASE(::at::ScalarType::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(one, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND(one, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(one, two, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND2(one, two, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(one, two, three, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND3(one, two, three, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_HALF(type, name, ...) \
  AT_DISPATCH_ALL_TYPES_AND(::at::ScalarType::Half, type, name, __VA_ARGS__)
// Dispatch_v2.h: the types follow the body, which may have commas. The body goes in brackets through
// the macros that repeat it.
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(...) __VA_ARGS__
#define AT_FLOATING_TYPES ::at::kDouble, ::at::kFloat
#define AT_INTEGRAL_TYPES ::at::kByte, ::at::kChar, ::at::kInt, ::at::kLong, ::at::kShort
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AP_AGAIN_1(...) __VA_ARGS__
#define AP_AGAIN_4(...) AP_AGAIN_1(AP_AGAIN_1(AP_AGAIN_1(AP_AGAIN_1(__VA_ARGS__))))
#define AP_AGAIN(...) AP_AGAIN_4(AP_AGAIN_4(AP_AGAIN_4(AP_AGAIN_4(__VA_ARGS__))))  // 16 types at least
#define AP_NO_NAME
#define AP_CASES(body, which, ...) \
  AT_DISPATCH_CASE(which, AT_WRAP body) __VA_OPT__(AP_NEXT_CASES AP_NO_NAME()(body, __VA_ARGS__))
#define AP_NEXT_CASES() AP_CASES
#define AT_DISPATCH_V2(type, name, body, ...) \
  AT_DISPATCH_SWITCH(type, name, AP_AGAIN(AP_CASES((body), __VA_ARGS__)))
#define AT_DISPATCH_INDEX_TYPES(type, name, ...)                                             \
  [&] {                                                                                      \
    if ((type) == ::at::ScalarType::Int) {                                                   \
      using index_t = int;                                                                   \
      return __VA_ARGS__();                                                                  \
    }                                                                                        \
    TORCH_CHECK((type) == ::at::ScalarType::Long, name " is not implemented for this type"); \
    using index_t = std::int64_t;                                                            \
    return __VA_ARGS__();                                                                    \
  }()
