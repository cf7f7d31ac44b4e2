// SPDX-License-Identifier: Apache-2.0
#include "preload/torch/library.hpp"

#include <dlfcn.h>
#include <algorithm>
#include <atomic>
#include <initializer_list>

#include "core/per_process.hpp"

namespace antiphase::torch {
namespace {

// A library that the process has loaded already: torch's are not visible to others.
void* loaded_library(const char* name) { return dlopen(name, RTLD_NOLOAD | RTLD_LAZY); }

struct libraries {
  void* cpu = loaded_library("libtorch_cpu.so");
  void* cuda = loaded_library("libtorch_cuda.so");
};
const libraries& all_libraries() {
  static constinit made_once<libraries> all;
  return all.get([] {
    const libraries found;
    if (found.cpu == nullptr)
      throw unknown_torch("torch is not loaded: expected libtorch_cpu.so in this process");
    return found;
  });
}

void* symbol(void* library, const char* name) { return library == nullptr ? nullptr : dlsym(library, name); }
template <class Function> void find(Function*& to, const char* name) {
  to = reinterpret_cast<Function*>(symbol(all_libraries().cpu, name));
  if (to == nullptr)
    throw unknown_torch(std::string("torch has no ") + name + ": expected torch 2.10 or newer");
}
std::int32_t constant(const char* name) {
  std::int32_t (*function)() = nullptr;
  find(function, name);
  return function();
}

functions found() {
  functions f{};
  find(f.library_init_impl, "aoti_torch_library_init_impl");
  find(f.library_impl, "torch_library_impl");
  find(f.delete_library, "aoti_torch_delete_library_object");
  find(f.call_dispatcher, "torch_call_dispatcher");
  find(f.list_get_item, "torch_list_get_item");
  find(f.delete_list, "torch_delete_list");
  find(f.delete_tensor, "aoti_torch_delete_tensor_object");
  find(f.new_tensor, "aoti_torch_new_uninitialized_tensor");
  find(f.new_handle, "aoti_torch_new_tensor_handle");
  find(f.is_defined, "aoti_torch_is_defined");
  find(f.dim, "aoti_torch_get_dim");
  find(f.sizes, "aoti_torch_get_sizes");
  find(f.strides, "aoti_torch_get_strides");
  find(f.dtype, "aoti_torch_get_dtype");
  find(f.device_type, "aoti_torch_get_device_type");
  find(f.device_index, "aoti_torch_get_device_index");
  find(f.const_data, "torch_get_const_data_ptr");
  find(f.mutable_data, "torch_get_mutable_data_ptr");
  find(f.empty_strided, "aoti_torch_empty_strided");
  find(f.reinterpret, "aoti_torch__reinterpret_tensor");
  find(f.copy, "aoti_torch_copy_");
  const void* (*global_context)() = nullptr;
  find(global_context, "_ZN2at13globalContextEv");
  f.context = global_context();
  find(f.float32_precision, "_ZNK2at7Context16float32PrecisionENS_14Float32BackendENS_9Float32OpE");
  f.delete_word =
      reinterpret_cast<decltype(f.delete_word)>(symbol(all_libraries().cpu, "torch_delete_stable_ivalue"));
  f.current_stream = reinterpret_cast<decltype(f.current_stream)>(
      symbol(all_libraries().cuda, "aoti_torch_get_current_cuda_stream"));
  // of the CUDA runtime that torch has loaded
  f.capture_status =
      reinterpret_cast<decltype(f.capture_status)>(symbol(all_libraries().cuda, "cudaStreamIsCapturing"));
  f.cpu = constant("aoti_torch_device_type_cpu"), f.cuda = constant("aoti_torch_device_type_cuda");
  f.float32 = constant("aoti_torch_dtype_float32"), f.int64 = constant("aoti_torch_dtype_int64");
  f.uint8 = constant("aoti_torch_dtype_uint8"), f.boolean = constant("aoti_torch_dtype_bool");
  f.bfloat16 = constant("aoti_torch_dtype_bfloat16");
  return f;
}

const functions& untried() {
  static constinit made_once<functions> all;
  return all.get(found);
}

tensor of_three(const float (&values)[3]) {
  const std::int64_t size = 3, stride = 1;
  handle made = nullptr;
  const functions& f = untried();
  require(f.empty_strided(1, &size, &stride, f.float32, f.cpu, 0, &made));
  tensor x(made);
  std::copy_n(values, 3, x.data<float>());
  return x;
}
bool holds(const tensor& x, std::initializer_list<float> values) {
  return x.dtype() == untried().float32 && std::ranges::equal(values, std::span(x.data<const float>(), 3));
}

// Whether torch's kernels are called as they are declared here: tensors as arguments and results, alone and
// in a tuple, and optional values.
bool tried() {
  const tensor x = of_three({1, 3, 2});
  handle second = nullptr;
  require(untried().reinterpret(x.get(), 0, nullptr, nullptr, 0, &second));
  const tensor another(second);
  if (x.as_argument().counted == nullptr || another.as_argument().counted == x.as_argument().counted)
    return false;
  using cumulative = owned(const borrowed&, std::int64_t, std::optional<std::int8_t>);
  const auto sum = own_kernel<cumulative>("CPU", "6cumsumERKNS_6TensorElSt8optionalIN3c1010ScalarTypeEE");
  const auto largest =
      own_kernel<std::tuple<owned, owned>(const borrowed&, std::int64_t)>("CPU", "6cummaxERKNS_6TensorEl");
  const tensor sums(sum(x.as_argument(), 0, std::nullopt)),
      whole(sum(x.as_argument(), -1, static_cast<std::int8_t>(untried().int64)));
  auto [first, last] = largest(x.as_argument(), 0);
  const tensor values(std::move(first)), places(std::move(last));
  return holds(sums, {1, 4, 6}) && whole.dtype() == untried().int64 && whole.data<std::int64_t>()[2] == 6 &&
         holds(values, {1, 3, 3}) && places.dtype() == untried().int64;
}

}  // namespace

const functions& loaded() {
  static std::atomic<bool> works{false};
  if (!works.load(std::memory_order_acquire)) {
    static thread_local bool trying = false;
    if (!trying) {
      trying = true;
      const bool did = tried();
      trying = false;
      if (!did) throw unknown_torch("torch's kernels are called otherwise than those of the versions known");
      works.store(true, std::memory_order_release);
    }
  }
  return untried();
}

void* kernel_named(const std::string& key, const std::string& name) {
  const libraries& l = all_libraries();
  void* const of_device = key == "CPU" ? symbol(l.cpu, ("_ZN2at3cpu" + name).c_str())
                                       : symbol(l.cuda, ("_ZN2at4cuda" + name).c_str());
  if (of_device != nullptr) return of_device;
  if (void* const of_all = symbol(l.cpu, ("_ZN2at25compositeexplicitautograd" + name).c_str());
      of_all != nullptr)
    return of_all;
  throw unknown_torch("torch has no kernel " + name + " for " + key);
}

bool allows_tf32() {
  constexpr int cuda = 1, matmul = 3, tf32 = 2;
  return loaded().float32_precision(loaded().context, cuda, matmul) == tf32;
}

antiphase_stream location::current_stream() const {
  antiphase_stream on = nullptr;
  if (!on_cpu()) require(loaded().current_stream(index, &on));
  return on;
}
bool location::is_captured() const {
  int status = 0;
  return !on_cpu() && (loaded().capture_status(current_stream(), &status) != 0 || status != 0);
}

tensor empty(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int32_t dtype,
             const location& where) {
  handle made = nullptr;
  require(loaded().empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(), dtype,
                                 where.type, where.index, &made));
  return tensor(made);
}

std::array<bool, 4> arguments::four_booleans() {
  void* const list = std::bit_cast<void*>(*next_++);
  std::array<bool, 4> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    word item = 0;
    require(loaded().list_get_item(list, i, &item));
    all[i] = (item & 0xFF) != 0;
  }
  require(loaded().delete_list(list));
  return all;
}

std::optional<word> arguments::or_none() {
  word* const at = std::bit_cast<word*>(*next_++);
  if (at == nullptr) return std::nullopt;
  const word x = *at;
  if (loaded().delete_word != nullptr)
    loaded().delete_word(at);
  else
    delete at;
  return x;
}

}  // namespace antiphase::torch
