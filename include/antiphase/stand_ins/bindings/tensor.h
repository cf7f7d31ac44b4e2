// SPDX-License-Identifier: Apache-2.0
// The part of PyTorch that host code of extensions uses: tensors on the simulated device, made, viewed and
// handed to kernels. Operations on them are computed by the host in double and rounded, in the order of the
// current stream. What is not here does not compile, by its name.
#pragma once
#include "tensor_types.h"

namespace at {
using namespace c10;
inline constexpr auto kByte = ScalarType::Byte, kUInt8 = kByte, kChar = ScalarType::Char, kInt8 = kChar,
                      kShort = ScalarType::Short, kInt16 = kShort, kInt = ScalarType::Int, kInt32 = kInt,
                      kLong = ScalarType::Long, kInt64 = kLong, kHalf = ScalarType::Half, kFloat16 = kHalf,
                      kFloat = ScalarType::Float, kFloat32 = kFloat, kDouble = ScalarType::Double,
                      kFloat64 = kDouble, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
inline constexpr auto kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
inline constexpr auto kStrided = Layout::Strided;

// streams and devices
// -----------------------------------------------------------------------------------------------------------
namespace cuda {
class CUDAStream {
 public:
  CUDAStream(cudaStream_t s = nullptr) : stream_(s) {}
  operator cudaStream_t() const { return stream_; }
  cudaStream_t stream() const { return stream_; }
  void synchronize() const { cudaStreamSynchronize(stream_); }
  DeviceIndex device_index() const { return 0; }
  Device device() const { return DeviceType::CUDA; }
  friend bool operator==(CUDAStream a, CUDAStream b) { return a.stream_ == b.stream_; }

 private:
  cudaStream_t stream_;
};
CUDAStream& current_stream();
inline CUDAStream getCurrentCUDAStream(int = -1) { return current_stream(); }
inline CUDAStream getDefaultCUDAStream(int = -1) { return {}; }
inline void setCurrentCUDAStream(CUDAStream s) { current_stream() = s; }
CUDAStream getStreamFromPool(bool high_priority = false, int device = -1);
struct CUDAGuard {
  template <class... A> explicit CUDAGuard(const A&...) {}
  template <class A> void set_device(A) {}
  template <class A> void set_index(A) {}
};
using OptionalCUDAGuard = CUDAGuard;
inline cudaError_t SetDevice(int device) { return cudaSetDevice(device); }
inline cudaError_t MaybeSetDevice(int device) { return cudaSetDevice(device); }
inline cudaError_t GetDevice(int* device) { return cudaGetDevice(device); }
using DeviceGuard = CUDAGuard;
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream s) : before_(current_stream()) { current_stream() = s; }
  ~CUDAStreamGuard() { current_stream() = before_; }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;

 private:
  CUDAStream before_;
};
class CUDAEvent {
 public:
  CUDAEvent(unsigned = 0) { cudaEventCreate(&event_); }
  ~CUDAEvent() { cudaEventDestroy(event_); }
  CUDAEvent(const CUDAEvent&) = delete;
  void record(CUDAStream s = getCurrentCUDAStream()) { cudaEventRecord(event_, s); }
  void block(CUDAStream s) { cudaStreamWaitEvent(s, event_); }
  void synchronize() { cudaEventSynchronize(event_); }

 private:
  cudaEvent_t event_ = nullptr;
};
inline int current_device() { return 0; }
inline DeviceIndex device_count() { return 1; }
inline bool is_available() { return true; }
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp p = [] {
    cudaDeviceProp now{};
    cudaGetDeviceProperties(&now, 0);
    return now;
  }();
  return &p;
}
inline cudaDeviceProp* getDeviceProperties(int) { return getCurrentDeviceProperties(); }
inline int warp_size() { return 32; }
template <class T> T ATenCeilDiv(T a, T b) { return (a + b - 1) / b; }
inline unsigned getApplyBlock() { return 512; }
inline void device_synchronize() { cudaDeviceSynchronize(); }
}  // namespace cuda
using cuda::DeviceGuard;
using OptionalDeviceGuard = cuda::CUDAGuard;
template <class T> inline T ceil_div(T a, T b) { return (a + b - 1) / b; }
template <class T> inline T ceilDiv(T a, T b) { return (a + b - 1) / b; }
template <class T> inline T divup(T a, T b) { return (a + b - 1) / b; }

template <class T> struct OpMathType {
  using type = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
};
template <class T> using opmath_type = typename OpMathType<T>::type;
template <class T, bool on_device> struct AccumulateType {
  using type = std::conditional_t<std::is_integral_v<T>, std::int64_t,
                                  std::conditional_t<sizeof(T) == 8 || !on_device, double, float>>;
};
template <class T, bool on_device> using acc_type = typename AccumulateType<T, on_device>::type;

// accessors
// -----------------------------------------------------------------------------------------------------------
template <class T> struct DefaultPtrTraits { using PtrType = T*; };
template <class T> struct RestrictPtrTraits { using PtrType = T* __restrict__; };
// what an accessor gives for one index: the rest of the axes
template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits,
          class Index = std::int64_t>
class TensorAccessor {
 public:
  TensorAccessor(T* p, const Index* sizes, const Index* strides) : p_(p), sizes_(sizes), strides_(strides) {}
  Index size(Index i) const { return sizes_[i]; }
  Index stride(Index i) const { return strides_[i]; }
  T* data() const { return p_; }
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1)
      return (p_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1, Traits, Index>(p_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  T* p_;
  const Index *sizes_, *strides_;
};
template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits,
          class Index = std::int64_t>
class GenericPackedTensorAccessor {
 public:
  GenericPackedTensorAccessor(T* p, const std::int64_t* sizes, const std::int64_t* strides) : p_(p) {
    for (std::size_t i = 0; i < N; ++i)
      sizes_[i] = static_cast<Index>(sizes[i]), strides_[i] = static_cast<Index>(strides[i]);
  }
  Index size(Index i) const { return sizes_[i]; }
  Index stride(Index i) const { return strides_[i]; }
  T* data() const { return p_; }
  decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, N, Traits, Index>(p_, sizes_, strides_)[i];
  }

 private:
  T* p_;
  Index sizes_[N], strides_[N];
};
template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, std::int32_t>;
template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, std::int64_t>;
template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits, class I = std::int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, I>;

// tensors
// -----------------------------------------------------------------------------------------------------------
namespace detail {
using sizes_t = std::vector<std::int64_t>;
// Memory of one or more tensors: the device's, freed in the order of the stream that it was made on, as
// PyTorch's allocator does; or the host's.
class storage {
 public:
  storage(std::size_t bytes, Device on);
  storage(void* data, std::size_t bytes, Device on) : on_(on), data_(data), bytes_(bytes), borrowed_(true) {}
  ~storage();
  storage(const storage&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  std::size_t bytes() const { return bytes_; }
  Device on() const { return on_; }
  void used_on(cudaStream_t s) { used_on_others_ |= s != stream_; }
  std::vector<char> read() const;
  void write(const char* from, std::size_t n, std::size_t at = 0);

 private:
  Device on_;
  void* data_ = nullptr;
  std::size_t bytes_;
  std::vector<char> host_;
  cudaStream_t stream_ = nullptr;
  bool borrowed_ = false, used_on_others_ = false;
};
}  // namespace detail

class Tensor {
 public:
  Tensor() = default;
  static Tensor made(IntArrayRef n, const TensorOptions& o);
  static Tensor over(void* data, IntArrayRef n, const TensorOptions& o);
  static Tensor from(IntArrayRef n, const TensorOptions& o, const std::vector<double>& values);

  // what it is
  bool defined() const { return is_ != nullptr; }
  IntArrayRef sizes() const { return is().sizes; }
  IntArrayRef strides() const { return is().strides; }
  std::int64_t dim() const { return static_cast<std::int64_t>(is().sizes.size()); }
  std::int64_t ndimension() const { return dim(); }
  std::int64_t size(std::int64_t d) const { return is().sizes[axis(d)]; }
  std::int64_t stride(std::int64_t d) const { return is().strides[axis(d)]; }
  std::int64_t numel() const;
  std::int64_t storage_offset() const { return is().offset; }
  ScalarType scalar_type() const { return is().type; }
  ScalarType dtype() const { return is().type; }
  std::size_t element_size() const;
  std::size_t itemsize() const { return element_size(); }
  std::size_t nbytes() const;
  Device device() const;
  bool is_cuda() const { return device().is_cuda(); }
  bool is_cpu() const { return device().is_cpu(); }
  DeviceIndex get_device() const { return device().index(); }
  TensorOptions options() const;
  bool is_floating_point() const;
  bool requires_grad() const { return false; }
  bool is_sparse() const { return false; }
  bool is_same(const Tensor& o) const;
  bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const { return is_contiguous(); }
  struct type_and_place {
    ScalarType type;
    bool on_device;
    operator ScalarType() const { return type; }
    ScalarType scalarType() const { return type; }
    bool is_cuda() const { return on_device; }
  };
  type_and_place type() const;

  // its memory
  template <class T> T* data_ptr() const {
    using element = std::remove_const_t<T>;
    TORCH_CHECK(scalar_type_of<element>::value == is().type, "expected scalar type ",
                toString(scalar_type_of<element>::value), " but found ", toString(is().type));
    return reinterpret_cast<T*>(start());
  }
  void* data_ptr() const { return start(); }
  template <class T> T* data() const { return data_ptr<T>(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> const T* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  void* mutable_data_ptr() const { return start(); }
  const void* const_data_ptr() const { return start(); }
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits, class Index>
  GenericPackedTensorAccessor<T, N, Traits, Index> packed_as() const {
    TORCH_CHECK(dim() == static_cast<std::int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ",
                dim());
    return {data_ptr<T>(), is().sizes.data(), is().strides.data()};
  }
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor32() const {
    return packed_as<T, N, Traits, std::int32_t>();
  }
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor64() const {
    return packed_as<T, N, Traits, std::int64_t>();
  }
  template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits, class I = std::int64_t>
  auto packed_accessor() const {
    return packed_as<T, N, Traits, I>();
  }
  template <class T, std::size_t N> TensorAccessor<T, N> accessor() const {
    TORCH_CHECK(dim() == static_cast<std::int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ",
                dim());
    return {data_ptr<T>(), is().sizes.data(), is().strides.data()};
  }
  template <class T = double> T item() const {
    TORCH_CHECK(numel() == 1, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
    return static_cast<T>(values()[0]);
  }
  detail::storage& memory() const { return *is().memory; }
  void record_stream(cuda::CUDAStream s) const;

  // views
  Tensor as_strided(IntArrayRef n, IntArrayRef strides, std::int64_t offset) const;
  Tensor as_strided(IntArrayRef n, IntArrayRef strides) const;
  Tensor view(IntArrayRef n) const;
  Tensor view(ScalarType t) const;
  Tensor view_as(const Tensor& o) const { return view(o.sizes()); }
  Tensor reshape(IntArrayRef n) const { return contiguous().view(n); }
  Tensor reshape_as(const Tensor& o) const;
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1) const;
  Tensor unsqueeze(std::int64_t d) const;
  Tensor squeeze() const;
  Tensor squeeze(std::int64_t d) const;
  Tensor permute(IntArrayRef order) const;
  Tensor transpose(std::int64_t a, std::int64_t b) const;
  Tensor t() const;
  Tensor expand(IntArrayRef n) const;
  Tensor expand_as(const Tensor& o) const { return expand(o.sizes()); }
  Tensor narrow(std::int64_t d, std::int64_t from, std::int64_t n) const;
  Tensor slice(std::int64_t d, std::int64_t from, std::int64_t to, std::int64_t step = 1) const;
  Tensor select(std::int64_t d, std::int64_t i) const;
  Tensor new_empty(IntArrayRef n, std::optional<TensorOptions> o = {}) const {
    return made(n, o.value_or(options()));
  }
  Tensor new_zeros(IntArrayRef n, std::optional<TensorOptions> o = {}) const {
    return new_empty(n, o).zero_();
  }
  Tensor new_ones(IntArrayRef n, std::optional<TensorOptions> o = {}) const {
    return new_empty(n, o).fill_(1);
  }
  Tensor new_full(IntArrayRef n, Scalar s, std::optional<TensorOptions> o = {}) const {
    return new_empty(n, o).fill_(s);
  }
  Tensor operator[](std::int64_t i) const { return select(0, i); }
  Tensor detach() const { return *this; }
  Tensor alias() const { return *this; }

  // copies
  Tensor clone(std::optional<MemoryFormat> = {}) const;
  Tensor contiguous(MemoryFormat f = MemoryFormat::Contiguous) const;
  Tensor to(const TensorOptions& o) const;
  Tensor to(ScalarType t, bool = false, bool = false) const { return to(options().dtype(t)); }
  Tensor to(Device d, bool = false) const { return to(options().device(d)); }
  Tensor to(DeviceType d, bool = false) const { return to(options().device(d)); }
  Tensor to(Device d, ScalarType t, bool = false) const { return to(options().device(d).dtype(t)); }
  Tensor type_as(const Tensor& o) const { return to(o.options()); }
  Tensor cuda() const { return to(DeviceType::CUDA); }
  Tensor cpu() const { return to(DeviceType::CPU); }
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor copy_(const Tensor& from, bool = false) const;
  Tensor set_requires_grad(bool) const { return *this; }

  // the elements in order, as the host computes with them
  std::vector<double> values() const;
  void set_values(const std::vector<double>& v) const;

  // elementwise
  Tensor zero_() const;
  Tensor fill_(Scalar s) const;
  template <class F> Tensor mapped(F f, ScalarType t) const;
  template <class F> Tensor mapped(F f) const;
  template <class F> Tensor joined(const Tensor& o, F f, std::optional<ScalarType> type = {}) const;
  Tensor of(Scalar s) const;
#define AP_TWO(name)                                                 \
  Tensor name(const Tensor& o) const;                                \
  Tensor name(Scalar s) const { return name(of(s)); }                \
  Tensor& name##_(const Tensor& o) { return copy_(name(o)), *this; } \
  Tensor& name##_(Scalar s) { return name##_(of(s)); }
  AP_TWO(add)
  AP_TWO(sub)
  AP_TWO(mul)
  AP_TWO(div)
  AP_TWO(pow)
  AP_TWO(maximum)
  AP_TWO(minimum)
#undef AP_TWO
  Tensor add(const Tensor& o, Scalar times) const;
  Tensor sub(const Tensor& o, Scalar times) const;
#define AP_TWO(sign, name)                                                            \
  friend Tensor operator sign(const Tensor& a, const Tensor& b) { return a.name(b); } \
  friend Tensor operator sign(const Tensor& a, Scalar b) { return a.name(b); }        \
  friend Tensor operator sign(Scalar a, const Tensor& b) { return b.of(a).name(b); }  \
  Tensor& operator sign##=(const Tensor& b) { return name##_(b); }                    \
  Tensor& operator sign##=(Scalar b) { return name##_(b); }
  AP_TWO(+, add)
  AP_TWO(-, sub)
  AP_TWO(*, mul)
  AP_TWO(/, div)
#undef AP_TWO
  Tensor operator-() const;
#define AP_TWO(sign, name)                                                            \
  Tensor name(const Tensor& o) const;                                                 \
  Tensor name(Scalar s) const { return name(of(s)); }                                 \
  friend Tensor operator sign(const Tensor& a, const Tensor& b) { return a.name(b); } \
  friend Tensor operator sign(const Tensor& a, Scalar b) { return a.name(b); }
  AP_TWO(<, lt)
  AP_TWO(>, gt)
  AP_TWO(<=, le)
  AP_TWO(>=, ge)
  AP_TWO(==, eq)
  AP_TWO(!=, ne)
#undef AP_TWO
#define AP_MAPS(do)                                                                                          \
  do                                                                                                         \
  (exp) do(log) do(sqrt) do(rsqrt) do(sigmoid) do(tanh) do(sin) do(cos) do(reciprocal) do(erf) do(log1p) do( \
      abs) do(neg) do(relu) do(floor) do(ceil) do(round) do(square) do(sign)
#define AP_EACH(name)  \
  Tensor name() const; \
  Tensor& name##_() { return copy_(name()), *this; }
  AP_MAPS(AP_EACH)
#undef AP_EACH
  Tensor clamp(std::optional<Scalar> low, std::optional<Scalar> high = {}) const;
  Tensor clamp_min(Scalar low) const { return clamp(low); }
  Tensor clamp_max(Scalar high) const { return clamp({}, high); }
  Tensor& clamp_(std::optional<Scalar> low, std::optional<Scalar> high = {});
  Tensor masked_fill(const Tensor& mask, Scalar s) const;

  // reductions
  template <class F>
  Tensor folded(std::vector<std::int64_t> dims, bool keep, double first, F f, ScalarType t) const;
  Tensor sum(IntArrayRef dims, bool keep = false, std::optional<ScalarType> t = {}) const;
  Tensor sum(std::optional<ScalarType> t = {}) const;
  Tensor mean(IntArrayRef dims, bool keep = false) const;
  Tensor mean() const;
  Tensor amax(IntArrayRef dims, bool keep = false) const;
  Tensor amin(IntArrayRef dims, bool keep = false) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> extremes(std::int64_t d, bool keep, bool largest) const;  // and their indices
  std::tuple<Tensor, Tensor> max(std::int64_t d, bool keep = false) const { return extremes(d, keep, true); }
  std::tuple<Tensor, Tensor> min(std::int64_t d, bool keep = false) const { return extremes(d, keep, false); }
  Tensor argmax(std::int64_t d, bool keep = false) const { return std::get<1>(max(d, keep)); }
  Tensor argmin(std::int64_t d, bool keep = false) const { return std::get<1>(min(d, keep)); }
  Tensor prod() const;
  Tensor prod(std::int64_t d, bool keep = false) const;
  Tensor bernoulli(double p) const;
  Tensor bernoulli() const;
  Tensor& bernoulli_(double p = 0.5) { return copy_(bernoulli(p)), *this; }
  Tensor any() const;
  Tensor all() const;
  Tensor norm() const;
  Tensor softmax(std::int64_t d) const;
  Tensor matmul(const Tensor& o) const;
  Tensor mm(const Tensor& o) const { return matmul(o); }
  Tensor bmm(const Tensor& o) const { return matmul(o); }
  Tensor cumsum(std::int64_t d) const;

 private:
  struct view_of {
    detail::sizes_t sizes, strides;
    std::int64_t offset = 0;
    ScalarType type = ScalarType::Float;
    std::shared_ptr<detail::storage> memory;
  };
  const view_of& is() const;
  char* start() const;
  std::size_t axis(std::int64_t d) const;
  detail::sizes_t without_minus_one(IntArrayRef n) const;
  std::shared_ptr<view_of> is_;
};
using TensorList = ArrayRef<Tensor>;
inline std::optional<Device> device_of(const Tensor& t) {
  return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
}

// functions
// -----------------------------------------------------------------------------------------------------------
#define AP_EACH(name) \
  inline Tensor name(const Tensor& a) { return a.name(); }
AP_MAPS(AP_EACH)
#undef AP_EACH
#undef AP_MAPS

}  // namespace at
