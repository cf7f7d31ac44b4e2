// SPDX-License-Identifier: Apache-2.0
// The torch that this process has loaded: its functions for C, which every torch from 2.10 on has, its own
// kernels, and its tensors. Nothing of torch is needed to build this.
#pragma once
#include <antiphase.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace antiphase::torch {

// ---- What torch's headers call StableIValue, AtenTensorHandle and at::Tensor
// -----------------------------------------------------------------------------------------------------------

using word = std::uint64_t;  // an argument or a result of a kernel
struct tensor_object;
using handle = tensor_object*;
using kernel = void (*)(word* stack, std::uint64_t arguments, std::uint64_t results);
using failure = std::int32_t;  // 0: none

// torch's own kernels are C++ functions of tensors, which hold one counted address. By reference: a tensor's
// handle points to it. By value, which must not be trivial to destroy, or it would be returned in a register.
struct borrowed {
  void* counted;
};
struct owned {
  void* counted = nullptr;
  owned() = default;
  owned(owned&& other) noexcept : counted(std::exchange(other.counted, nullptr)) {}
  owned& operator=(owned&& other) noexcept { return std::swap(counted, other.counted), *this; }
  ~owned() {}  // whoever has it takes it: tensor(owned)
};

// ---- Functions for C
// -----------------------------------------------------------------------------------------------------------

struct functions {
  failure (*library_init_impl)(const char* space, const char* key, const char* file, std::uint32_t line,
                               void** library);
  failure (*library_impl)(void* library, const char* name, kernel, std::uint64_t version);
  failure (*delete_library)(void* library);
  failure (*call_dispatcher)(const char* name, const char* overload, word* stack, std::uint64_t version);
  failure (*list_get_item)(void* list, std::size_t index, word* item);
  failure (*delete_list)(void* list);
  failure (*delete_tensor)(handle);
  failure (*new_tensor)(handle*);          // undefined
  failure (*new_handle)(handle, handle*);  // of the same tensor
  failure (*is_defined)(handle, bool*);
  failure (*dim)(handle, std::int64_t*);
  failure (*sizes)(handle, std::int64_t**);
  failure (*strides)(handle, std::int64_t**);
  failure (*dtype)(handle, std::int32_t*);
  failure (*device_type)(handle, std::int32_t*);
  failure (*device_index)(handle, std::int32_t*);
  failure (*const_data)(handle, const void**);
  failure (*mutable_data)(handle, void**);
  failure (*empty_strided)(std::int64_t dim, const std::int64_t* sizes, const std::int64_t* strides,
                           std::int32_t dtype, std::int32_t device_type, std::int32_t device, handle*);
  failure (*reinterpret)(handle, std::int64_t dim, const std::int64_t* sizes, const std::int64_t* strides,
                         std::int64_t offset, handle*);
  failure (*copy)(handle to, handle from, std::int32_t non_blocking);
  failure (*delete_word)(word*);  // null before torch 2.13
  // null without CUDA
  failure (*current_stream)(std::int32_t device, antiphase_stream*);
  int (*capture_status)(antiphase_stream, int* status);
  std::int32_t (*float32_precision)(const void* context, int backend, int operation);
  const void* context;
  std::int32_t cpu, cuda, float32, int64, uint8, boolean, bfloat16;
};
// A torch that this library does not know, and why.
struct unknown_torch : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws unknown_torch if the process has none, or one without these. What it finds has been tried on
// tensors of the CPU.
const functions& loaded();
inline constexpr std::uint64_t version = 0x020a000000000000;  // 2.10: the form of arguments and results

// One of torch's own kernels for a key, or else the one for all keys, by its mangled name without the
// namespace. Throws unknown_torch if there is none.
void* kernel_named(const std::string& key, const std::string& name);
template <class Function> Function* own_kernel(const std::string& key, const std::string& name) {
  return reinterpret_cast<Function*>(kernel_named(key, name));
}

// Whether products may be made of TF32 operands, which torch's own attention then does.
bool allows_tf32();

// ---- Tensors
// -----------------------------------------------------------------------------------------------------------

inline void require(failure f) {
  if (f != 0) throw std::runtime_error("antiphase: a function of torch's has failed, as it has logged");
}

class tensor {
 public:
  tensor() = default;
  explicit tensor(handle h) : handle_(h) {}
  explicit tensor(owned&& result) {
    require(loaded().new_tensor(&handle_));
    std::memcpy(handle_, &result.counted, sizeof result.counted);
  }
  tensor(tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  tensor& operator=(tensor&& other) noexcept { return std::swap(handle_, other.handle_), *this; }
  ~tensor() {
    if (handle_ != nullptr) loaded().delete_tensor(handle_);
  }
  explicit operator bool() const { return handle_ != nullptr; }
  handle get() const { return handle_; }
  word released() { return std::bit_cast<word>(std::exchange(handle_, nullptr)); }
  // As torch's kernels take it.
  borrowed& as_argument() const { return *reinterpret_cast<borrowed*>(handle_); }

  template <class T> T asked(failure (*function)(handle, T*)) const {
    T answer{};
    require(function(handle_, &answer));
    return answer;
  }
  bool defined() const { return asked(loaded().is_defined); }
  std::int32_t dtype() const { return asked(loaded().dtype); }
  template <class T> T* data() const {
    if constexpr (std::is_const_v<T>)
      return static_cast<T*>(asked(loaded().const_data));
    else
      return static_cast<T*>(asked(loaded().mutable_data));
  }
  std::size_t dim() const { return static_cast<std::size_t>(asked(loaded().dim)); }
  std::span<const std::int64_t> sizes() const { return {asked(loaded().sizes), dim()}; }
  std::span<const std::int64_t> strides() const { return {asked(loaded().strides), dim()}; }
  std::int64_t numel() const {
    std::int64_t all = 1;
    for (const std::int64_t extent : sizes()) all *= extent;
    return all;
  }

 private:
  handle handle_ = nullptr;
};

// Where a tensor lies.
struct location {
  std::int32_t type, index;
  bool operator==(const location&) const = default;
  bool on_cpu() const { return type == loaded().cpu; }
  int device() const { return on_cpu() ? ANTIPHASE_CPU : index; }
  antiphase_stream current_stream() const;  // null on the CPU
  bool is_captured() const;                 // into a graph: what is queued now
};
inline location location_of(const tensor& x) {
  return {x.asked(loaded().device_type), x.asked(loaded().device_index)};
}
tensor empty(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int32_t dtype,
             const location&);

// ---- Arguments and results of kernels
// -----------------------------------------------------------------------------------------------------------

// Reads the arguments of a call one after the other, and owns those that are tensors.
class arguments {
 public:
  explicit arguments(word* stack) : next_(stack) {}
  tensor a_tensor() { return tensor(std::bit_cast<handle>(*next_++)); }
  std::int64_t integer() { return std::bit_cast<std::int64_t>(*next_++); }
  double real() { return std::bit_cast<double>(*next_++); }
  bool boolean() { return (*next_++ & 0xFF) != 0; }
  std::array<bool, 4> four_booleans();
  tensor tensor_or_none() {
    const std::optional<word> x = or_none();
    return x ? tensor(std::bit_cast<handle>(*x)) : tensor();
  }
  std::optional<double> real_or_none() {
    const std::optional<word> x = or_none();
    return x ? std::optional(std::bit_cast<double>(*x)) : std::nullopt;
  }
  // A dtype, which torch's kernels take as a byte.
  std::optional<std::int8_t> dtype_or_none() {
    const std::optional<word> x = or_none();
    return x ? std::optional(static_cast<std::int8_t>(*x)) : std::nullopt;
  }

 private:
  std::optional<word> or_none();
  word* next_;
};

inline void give(word* stack, tensor&& only) { *stack = only.released(); }
template <class... Tensors> void give_all(word* stack, Tensors&&... all) {
  ((*stack++ = all.released()), ...);
}
template <class... Results> void give(word* stack, std::tuple<Results...>&& all) {
  std::apply([&](auto&... each) { give_all(stack, tensor(std::move(each))...); }, all);
}
inline void give(word* stack, owned&& only) { give(stack, tensor(std::move(only))); }

}  // namespace antiphase::torch
