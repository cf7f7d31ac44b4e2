// SPDX-License-Identifier: Apache-2.0
// PyTorch's types that tensors are made of: elements, errors, numbers, devices, options; and its macros.
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
