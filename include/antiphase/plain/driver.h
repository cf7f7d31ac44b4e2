// SPDX-License-Identifier: Apache-2.0
// Helpers for drivers: programs that launch kernels only to have them checked (antiphase check my.cu
// --kernels driver.cpp). Arrays on the device, input values, comparison of results, and what threads did.
#pragma once
#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda_runtime.h"

// Argument `number` of a launch in JSON, converted to the type of the kernel's parameter. `said`: what is
// wrong if that type does not fit.
#define AP_ARGUMENT(number, said)                                                              \
  template <class Is> struct ap_argument_##number {                                            \
    const Is& is;                                                                              \
    ap_argument_##number(const Is& x) : is(x) {}                                               \
    template <class To> operator To() const {                                                  \
      static_assert(::antiphase::driver::fits<To, Is>, "antiphase check: " said);              \
      if constexpr (::antiphase::driver::fits<To, Is>) return ::antiphase::driver::as<To>(is); \
    }                                                                                          \
  };

// One thing that a thread did: see antiphase::driver::recording.
struct antiphase_plain_act {
  int kind;
  int line;                      // in the kernel; 0: not known
  unsigned long address, bytes;  // of an access or a copy
  bool shared;                   // its address is in shared memory
  // Of a synchronisation: "block barrier", "waits for copies", ...; of a warp: "multiplies on Tensor Cores";
  // "invalid operation": since its last access the thread has computed with a signaling NaN or the like, as
  // IEEE 754 has it (on x86 alone).
  const char* what;
  // A copy's group; the last group that a wait has found landed; number is the warp's multiply-adds on Tensor
  // Cores; at "ends", the thread's time in ticks of the executor's clock; of an access, a digest of what the
  // thread had compared, handed to other lanes or stored: another one shows that these values differ.
  unsigned long of, number;
  unsigned long moment;  // place in the order in which all threads' acts happened
};
extern "C" void antiphase_plain_record();
extern "C" void antiphase_plain_differs(const char* how);  // stands in the finding if the program fails
extern "C" unsigned long antiphase_plain_recorded(unsigned, int, antiphase_plain_act*, unsigned long);

namespace antiphase::driver {

// n values that follow from index and seed: small integers, of both signs if T is signed, so that sums are
// exact.
template <class T> std::vector<T> numbers(std::size_t n, unsigned seed = 1) {
  std::vector<T> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    const int v = static_cast<int>((i * 2654435761u + seed * 40503u) >> 7 & 31) - 16;
    all[i] = static_cast<T>(static_cast<float>(static_cast<T>(-1) < static_cast<T>(1) ? v : v + 16));
  }
  return all;
}

// The contents of a file as an array of T; ends the program if it cannot be read.
template <class T> std::vector<T> contents(const char* name) {
  std::FILE* const file = std::fopen(name, "rb");
  if (file == nullptr) std::fprintf(stderr, "there is no file '%s'\n", name), std::exit(2);
  std::fseek(file, 0, SEEK_END);
  std::vector<T> all(static_cast<std::size_t>(std::ftell(file)) / sizeof(T));
  std::rewind(file);
  const std::size_t came = std::fread(all.data(), sizeof(T), all.size(), file);
  std::fclose(file);
  if (came != all.size()) std::exit(2);
  return all;
}

// Appends a member to a struct's bytes, at a multiple of its size.
template <class T> void put_member(unsigned char* all, std::size_t& end, T value) {
  end = (end + sizeof value - 1) / sizeof value * sizeof value;
  std::memcpy(all + end, &value, sizeof value);
  end += sizeof value;
}

// Writes an array of the device's to a file, whole or not at all.
template <class Array> void write_contents(const char* name, const Array& a) {
  const auto all = a.to_host();
  const std::string draft = std::string(name) + ".part" + std::to_string(getpid());
  std::FILE* const file = std::fopen(draft.c_str(), "wb");
  const bool done = file != nullptr && std::fwrite(all.data(), sizeof all[0], all.size(), file) == all.size();
  if ((file != nullptr && std::fclose(file) != 0) || !done || std::rename(draft.c_str(), name) != 0)
    std::fprintf(stderr, "'%s' cannot be written\n", name), std::remove(draft.c_str()), std::exit(2);
}

// An array on the device. Without values it is uninitialised, and a kernel that reads it gets a finding.
template <class T> class array {
 public:
  using kernel_argument = T*;  // what a template kernel is called with
  explicit array(std::size_t n) : size_(n) { cudaMalloc(&data_, n * sizeof(T)); }
  explicit array(const std::vector<T>& values) : array(values.size()) {
    cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();  // for non-blocking streams
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { cudaFree(data_); }
  operator T*() const { return data_; }
  std::size_t size() const { return size_; }
  T* data() const { return data_; }
  std::vector<T> to_host() const {
    std::vector<T> all(size_);
    cudaMemcpy(all.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
    return all;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// What an argument of a launch in JSON may be a parameter of type To for. An array stands for one of vectors
// or structs of its elements, and an array of integers for one of other types of their size.
struct address {
  unsigned long bits;
};
template <class To, class From> constexpr bool fits = [] {
  constexpr bool real = std::is_floating_point_v<From> || std::is_class_v<From>;
  if constexpr (std::is_arithmetic_v<From> || std::is_constructible_v<float, From>)
    return real ? std::is_constructible_v<To, From> && !std::is_integral_v<To>
                : std::is_constructible_v<To, From> || std::is_enum_v<To>;
  else if constexpr (std::is_same_v<From, std::nullptr_t>)
    return std::is_pointer_v<To>;
  else if constexpr (std::is_same_v<From, address>)
    return std::is_pointer_v<To> || (std::is_integral_v<To> && sizeof(To) == sizeof(From));
  else
    return std::is_trivially_copyable_v<To> && sizeof(To) == sizeof(From);
}();
template <class To, class T> constexpr bool fits<To*, array<T>> = [] {
  if constexpr (std::is_void_v<To> || std::is_same_v<std::remove_cv_t<To>, T>)
    return true;
  else if constexpr (std::is_class_v<To> || std::is_union_v<To>)
    return sizeof(To) % sizeof(T) == 0 && (sizeof(To) > sizeof(T) || std::is_integral_v<T>);
  else
    return std::is_integral_v<T> && (std::is_integral_v<To> || std::is_enum_v<To>)&&sizeof(To) == sizeof(T);
}();
template <class To, class T> constexpr bool fits<To, array<T>> = false;
template <class To, class T> To as(const array<T>& a) { return (To)a.data(); }
template <class To> To as(const address& a) { return (To)a.bits; }
template <class To, class From> To as(const From& x) {
  if constexpr (std::is_constructible_v<To, From> || std::is_enum_v<To>)
    return static_cast<To>(x);
  else
    return __builtin_bit_cast(To, x);
}

// True if every a[i] is expected(i), within a relative `tolerance`; otherwise prints the first that is not.
// NaN is expected where expected(i) is NaN.
template <class T, class F>
bool holds(const char* name, const array<T>& a, F expected, double tolerance = 0) {
  const std::vector<T> all = a.to_host();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto value = expected(i);
    const double is = static_cast<double>(all[i]), wanted = static_cast<double>(value);
    char how[256];
    if constexpr (std::is_integral_v<T> && std::is_same_v<decltype(value), const T>) {  // exactly
      if (all[i] == value || (tolerance > 0 && std::fabs(is - wanted) <= tolerance * std::fabs(wanted)))
        continue;
      std::snprintf(how, sizeof how, "%.100s[%zu] is %s: expected %s", name, i,
                    std::to_string(all[i]).c_str(), std::to_string(value).c_str());
    } else {
      if ((is != is && wanted != wanted) || is == wanted ||
          std::fabs(is - wanted) <= tolerance * std::fabs(wanted))
        continue;
      std::snprintf(how, sizeof how, "%.100s[%zu] is %.9g: expected %.9g", name, i,
                    is != is ? std::fabs(is) : is, wanted);
    }
    std::fprintf(stderr, "%s\n", how);
    antiphase_plain_differs(how);
    return false;
  }
  return true;
}

// Acts of a kernel's threads, each in its own order, for demands that results do not show, such as one
// barrier a step:
//
//   const recording r;
//   my_kernel<<<blocks, threads>>>(from, to);
//   cudaDeviceSynchronize();
//   for (const recording::act& a : r.of(0, 0)) barriers += a.is("block barrier");
//
// It records until the run ends, so it is for small launches.
class recording {
 public:
  struct act : antiphase_plain_act {
    bool reads() const { return kind == 0; }   // by the thread itself
    bool writes() const { return kind == 1; }  // the same
    bool copies() const { return kind == 3; }  // issues an asynchronous copy; address: in shared memory
    bool waits() const { return kind == 5; }   // for copies, a barrier or other threads
    bool is(const char* name) const { return std::string(what) == name; }
  };
  recording() { antiphase_plain_record(); }
  // Acts of a thread of the last kernel that ran. `block` counts blocks as they began; the first is 0.
  std::vector<act> of(unsigned block, int thread) const {
    std::vector<act> all(antiphase_plain_recorded(block, thread, nullptr, 0));
    antiphase_plain_recorded(block, thread, all.data(), all.size());
    return all;
  }
  // Ticks of the executor's clock that such a thread took: for copies, barriers and other threads that it
  // waited for. Ordinary code takes none. 0 if it did not end.
  unsigned long ticks(unsigned block, int thread) const {
    const std::vector<act> all = of(block, thread);
    return !all.empty() && all.back().is("ends") ? all.back().number : 0;
  }
};

}  // namespace antiphase::driver
