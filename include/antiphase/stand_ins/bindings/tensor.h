// SPDX-License-Identifier: Apache-2.0
// The part of PyTorch that host code of extensions uses: tensors on the simulated device, made, viewed and
// handed to kernels. Operations on them are computed by the host in double and rounded, in the order of the
// current stream. What is not here does not compile, by its name.
#pragma once

// PyTorch's small floats become float or double next to one, and stay what they are next to an integer.
namespace antiphase::plain {
template <class S, class T>
concept small_beside = (std::is_same_v<S, __half> ||
                        std::is_same_v<S, __nv_bfloat16>)&&std::is_arithmetic_v<T>;
template <class T> using wide_beside = std::conditional_t<std::is_integral_v<T>, float, T>;
template <class S, class T> using sum_beside = std::conditional_t<std::is_integral_v<T>, S, T>;
}  // namespace antiphase::plain
#define AP_BESIDE(op, result)                                           \
  template <class S, class T>                                           \
  requires antiphase::plain::small_beside<S, T>                         \
  inline result operator op(S a, T b) {                                 \
    using wide = antiphase::plain::wide_beside<T>;                      \
    return result(static_cast<wide>(float(a)) op static_cast<wide>(b)); \
  }                                                                     \
  template <class S, class T>                                           \
  requires antiphase::plain::small_beside<S, T>                         \
  inline result operator op(T a, S b) {                                 \
    using wide = antiphase::plain::wide_beside<T>;                      \
    return result(static_cast<wide>(a) op static_cast<wide>(float(b))); \
  }
#define AP_SUM(op) AP_BESIDE(op, AP_SUM_TYPE)
#define AP_SUM_TYPE antiphase::plain::sum_beside<S, T>
AP_SUM(+)
AP_SUM(-)
AP_SUM(*)
AP_SUM(/)
AP_BESIDE(<, bool)
AP_BESIDE(>, bool)
AP_BESIDE(<=, bool)
AP_BESIDE(>=, bool)
AP_BESIDE(==, bool)
AP_BESIDE(!=, bool)
#undef AP_SUM
#undef AP_SUM_TYPE
#undef AP_BESIDE

namespace c10 {
using Half = __half;
using BFloat16 = __nv_bfloat16;
using string_view = std::string_view;
template <class T> using optional = std::optional<T>;
inline constexpr auto nullopt = std::nullopt;
enum class ScalarType : signed char {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  Bool = 11,
  BFloat16 = 15,
  Undefined = 20
};
enum class DeviceType : signed char { CPU, CUDA };
enum class DispatchKey { CPU, CUDA, Meta, Autograd, AutogradCUDA, CompositeExplicitAutograd, Undefined };
enum class MemoryFormat { Contiguous, Preserve, ChannelsLast };
enum class Layout { Strided };

// every element type, with its name in C++ and in ScalarType
#define AP_ELEMENTS(do)                                                                                      \
  do                                                                                                         \
  (std::uint8_t, Byte) do(std::int8_t, Char) do(std::int16_t, Short) do(int, Int) do(std::int64_t, Long) do( \
      Half, Half) do(float, Float) do(double, Double) do(bool, Bool) do(BFloat16, BFloat16)

template <class T> struct scalar_type_of;
#define AP_ONE(type, name) \
  template <> struct scalar_type_of<type> { static constexpr ScalarType value = ScalarType::name; };
AP_ELEMENTS(AP_ONE)
#undef AP_ONE
template <> struct scalar_type_of<long long> { static constexpr ScalarType value = ScalarType::Long; };
template <class T> struct CppTypeToScalarType : scalar_type_of<T> {};

inline const char* toString(ScalarType t) {
  switch (t) {
#define AP_ONE(type, name) \
  case ScalarType::name: return #name;
    AP_ELEMENTS(AP_ONE)
#undef AP_ONE
    default: return "Undefined";
  }
}
inline std::ostream& operator<<(std::ostream& to, ScalarType t) { return to << toString(t); }
inline std::size_t elementSize(ScalarType t) {
  switch (t) {
#define AP_ONE(type, name) \
  case ScalarType::name: return sizeof(type);
    AP_ELEMENTS(AP_ONE)
#undef AP_ONE
    default: return 1;
  }
}
inline bool isFloatingType(ScalarType t) {
  return t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::Half ||
         t == ScalarType::BFloat16;
}
inline bool isIntegralType(ScalarType t, bool with_bool = false) {
  return t == ScalarType::Bool ? with_bool : !isFloatingType(t);
}

// errors
// -----------------------------------------------------------------------------------------------------------
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
template <class... A> std::string str(const A&... a) {
  std::ostringstream out;
  ((out << a), ...);
  return std::move(out).str();
}
template <class... A> [[noreturn]] void fail(const char* condition, const A&... a) {
  if constexpr (sizeof...(A) == 0)
    throw Error(std::string("Expected ") + condition + " to be true, but got false.");
  else
    throw Error(str(a...));
}

template <class T> class ArrayRef {
 public:
  using value_type = T;
  ArrayRef() = default;
  ArrayRef(const T* from, std::size_t n) : from_(from), n_(n) {}
  ArrayRef(const std::vector<T>& v) : from_(v.data()), n_(v.size()) {}
  ArrayRef(const std::initializer_list<T>& v) : from_(v.begin()), n_(v.size()) {}
  template <std::size_t N> ArrayRef(const std::array<T, N>& v) : from_(v.data()), n_(N) {}
  ArrayRef(const T& one) : from_(&one), n_(1) {}
  const T* begin() const { return from_; }
  const T* end() const { return from_ + n_; }
  const T* data() const { return from_; }
  std::size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const T& operator[](std::size_t i) const { return from_[i]; }
  const T& front() const { return from_[0]; }
  const T& back() const { return from_[n_ - 1]; }
  std::vector<T> vec() const { return {begin(), end()}; }
  ArrayRef slice(std::size_t from, std::size_t n) const { return {from_ + from, n}; }
  ArrayRef slice(std::size_t from) const { return {from_ + from, n_ - from}; }
  bool equals(ArrayRef o) const { return std::equal(begin(), end(), o.begin(), o.end()); }
  friend bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }
  friend std::ostream& operator<<(std::ostream& to, ArrayRef a) {
    to << "[";
    for (std::size_t i = 0; i < a.size(); ++i) to << (i > 0 ? ", " : "") << a[i];
    return to << "]";
  }

 private:
  const T* from_ = nullptr;
  std::size_t n_ = 0;
};
using IntArrayRef = ArrayRef<std::int64_t>;

class Scalar {
 public:
  Scalar() = default;
  template <class T>
  requires(std::is_arithmetic_v<T>) Scalar(T v)
      : value_(static_cast<double>(v)),
        whole_(static_cast<std::int64_t>(v)),
        type_(std::is_same_v<T, bool> ? ScalarType::Bool
              : std::is_integral_v<T> ? ScalarType::Long
                                      : ScalarType::Double) {}
  template <class T> T to() const {
    return isFloatingType(type_) ? static_cast<T>(value_) : static_cast<T>(static_cast<double>(whole_));
  }
  double toDouble() const { return value_; }
  float toFloat() const { return static_cast<float>(value_); }
  std::int64_t toLong() const { return isFloatingType(type_) ? static_cast<std::int64_t>(value_) : whole_; }
  int toInt() const { return static_cast<int>(toLong()); }
  bool toBool() const { return value_ != 0; }
  bool isFloatingPoint() const { return isFloatingType(type_); }
  ScalarType type() const { return type_; }

 private:
  double value_ = 0;
  std::int64_t whole_ = 0;
  ScalarType type_ = ScalarType::Long;
};

using DeviceIndex = signed char;
class Device {
 public:
  Device(DeviceType t = DeviceType::CPU, int = -1) : type_(t) {}
  Device(const std::string& name) : type_(name.starts_with("cuda") ? DeviceType::CUDA : DeviceType::CPU) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return static_cast<DeviceIndex>(is_cuda() ? 0 : -1); }
  bool has_index() const { return is_cuda(); }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  std::string str() const { return is_cuda() ? "cuda:0" : "cpu"; }
  friend bool operator==(const Device& a, const Device& b) { return a.type_ == b.type_; }
  friend std::ostream& operator<<(std::ostream& to, const Device& d) { return to << d.str(); }

 private:
  DeviceType type_;
};

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type_(t) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType d) : device_(d) {}
  TensorOptions dtype(ScalarType t) const {
    return with([&](auto& o) { o.type_ = t; });
  }
  TensorOptions dtype(std::optional<ScalarType> t) const { return t ? dtype(*t) : *this; }
  template <class T> TensorOptions dtype() const { return dtype(scalar_type_of<T>::value); }
  TensorOptions device(Device d) const {
    return with([&](auto& o) { o.device_ = d; });
  }
  TensorOptions device(DeviceType d, int = 0) const { return device(Device(d)); }
  TensorOptions device_index(int) const { return device(DeviceType::CUDA); }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
  TensorOptions pinned_memory(bool) const { return *this; }
  ScalarType scalar_type() const { return type_; }
  ScalarType dtype() const { return type_; }
  Device device() const { return device_; }

 private:
  template <class F> TensorOptions with(F change) const {
    TensorOptions o = *this;
    change(o);
    return o;
  }
  ScalarType type_ = ScalarType::Float;
  Device device_ = DeviceType::CPU;
};
}  // namespace c10

#define AP_MESSAGE(condition, ...) ::c10::fail(#condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK(condition, ...)                         \
  do {                                                      \
    if (!(condition)) AP_MESSAGE(condition, ##__VA_ARGS__); \
  } while (false)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_CHECK
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_CHECK TORCH_CHECK
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), "Check failed: " #a " == " #b)
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b), "Check failed: " #a " != " #b)
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b), "Check failed: " #a " < " #b)
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b), "Check failed: " #a " <= " #b)
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b), "Check failed: " #a " > " #b)
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b), "Check failed: " #a " >= " #b)
#define AT_ERROR(...) ::c10::fail("" __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) (std::cerr << ::c10::str(__VA_ARGS__) << '\n')
#define TORCH_WARN_ONCE TORCH_WARN
#define C10_CUDA_CHECK(call)                                          \
  do {                                                                \
    if (const cudaError_t ap_error = (call); ap_error != cudaSuccess) \
      ::c10::fail("", "CUDA error: ", cudaGetErrorString(ap_error));  \
  } while (false)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define C10_CUDA_ERROR_HANDLED(call) (call)
#define C10_CUDA_IGNORE_ERROR(call) (void)(call)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define THCudaCheck C10_CUDA_CHECK
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK C10_CUDA_KERNEL_LAUNCH_CHECK
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define C10_WARP_SIZE 32
#define C10_EXPORT
#define C10_RESTRICT __restrict__
#define C10_UNLIKELY(x) (x)
#define C10_LIKELY(x) (x)
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define TORCH_API
#define CUDA_KERNEL_LOOP_TYPE(i, n, type)                                          \
  for (type i = static_cast<type>(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
       i += static_cast<type>(blockDim.x) * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)

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
