// SPDX-License-Identifier: Apache-2.0
// Tensors of the stand-ins for PyTorch's headers: their memory, views, elements.
#include <antiphase/plain/libraries.h>
#include <antiphase/stand_ins/bindings/bindings.h>

#include "tensor_walk.hpp"

namespace at {
namespace cuda {
CUDAStream& current_stream() {
  static CUDAStream now;
  return now;
}
CUDAStream getStreamFromPool(bool, int) {
  cudaStream_t s = nullptr;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  return s;
}
}  // namespace cuda

namespace detail {
storage::storage(std::size_t bytes, Device on) : on_(on), bytes_(std::max<std::size_t>(bytes, 1)) {
  if (on.is_cuda())
    stream_ = cuda::getCurrentCUDAStream(), cudaMalloc(&data_, bytes_), ap_plain::owned_by_library(data_);
  else
    host_.resize(bytes_), data_ = host_.data();
}
storage::~storage() {
  // PyTorch would use the memory again when other streams have done with it: here it stays
  if (on_.is_cuda() && !borrowed_ && !used_on_others_) cudaFreeAsync(data_, stream_);
}
std::vector<char> storage::read() const {
  std::vector<char> all(bytes_);
  if (on_.is_cuda()) {
    cudaMemcpyAsync(all.data(), data_, bytes_, cudaMemcpyDeviceToHost, cuda::getCurrentCUDAStream());
    cudaStreamSynchronize(cuda::getCurrentCUDAStream());
  } else {
    std::copy_n(data(), bytes_, all.data());
  }
  return all;
}
void storage::write(const char* from, std::size_t n, std::size_t at) {
  if (n == 0) return;
  if (on_.is_cuda())
    cudaMemcpyAsync(data() + at, from, n, cudaMemcpyHostToDevice, cuda::getCurrentCUDAStream());
  else
    std::copy_n(from, n, data() + at);
}

namespace {
double read_one(const char* p, ScalarType t) {
  switch (t) {
#define AP_ONE(type, name)             \
  case ScalarType::name: {             \
    type v;                            \
    __builtin_memcpy(&v, p, sizeof v); \
    return static_cast<double>(v);     \
  }
    AP_ELEMENTS(AP_ONE)
#undef AP_ONE
    default: return 0;
  }
}
void write_one(char* p, ScalarType t, double x) {
  switch (t) {
#define AP_ONE(type, name)               \
  case ScalarType::name: {               \
    const type v = static_cast<type>(x); \
    __builtin_memcpy(p, &v, sizeof v);   \
    return;                              \
  }
    AP_ELEMENTS(AP_ONE)
#undef AP_ONE
    default: return;
  }
}
}  // namespace
}  // namespace detail

Tensor Tensor::made(IntArrayRef n, const TensorOptions& o) {
  for (const std::int64_t s : n)
    TORCH_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", n);
  Tensor t;
  t.is_ = std::make_shared<view_of>();
  t.is_->sizes = n.vec();
  t.is_->strides = detail::packed(n);
  t.is_->type = o.scalar_type();
  t.is_->memory = std::make_shared<detail::storage>(
      static_cast<std::size_t>(detail::product(n)) * elementSize(o.scalar_type()), o.device());
  return t;
}
Tensor Tensor::over(void* data, IntArrayRef n, const TensorOptions& o) {
  Tensor t;
  t.is_ = std::make_shared<view_of>();
  t.is_->sizes = n.vec();
  t.is_->strides = detail::packed(n);
  t.is_->type = o.scalar_type();
  t.is_->memory = std::make_shared<detail::storage>(
      data, static_cast<std::size_t>(detail::product(n)) * elementSize(o.scalar_type()), o.device());
  return t;
}
Tensor Tensor::from(IntArrayRef n, const TensorOptions& o, const std::vector<double>& values) {
  Tensor t = made(n, o);
  t.set_values(values);
  return t;
}
std::size_t Tensor::element_size() const { return elementSize(is().type); }
std::size_t Tensor::nbytes() const { return static_cast<std::size_t>(numel()) * element_size(); }
Device Tensor::device() const { return is().memory->on(); }
TensorOptions Tensor::options() const { return TensorOptions(is().type).device(device()); }
bool Tensor::is_floating_point() const { return isFloatingType(is().type); }
bool Tensor::is_same(const Tensor& o) const { return is_ == o.is_; }
bool Tensor::is_contiguous(MemoryFormat f) const {
  if (f == MemoryFormat::ChannelsLast) return dim() == 4 && permute({0, 2, 3, 1}).is_contiguous();
  const detail::sizes_t wanted = detail::packed(sizes());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (is().sizes[i] != 1 && is().strides[i] != wanted[i] && numel() > 0) return false;
  return true;
}
Tensor::type_and_place Tensor::type() const { return {is().type, is_cuda()}; }
void Tensor::record_stream(cuda::CUDAStream s) const { memory().used_on(s); }
Tensor Tensor::as_strided(IntArrayRef n, IntArrayRef strides, std::int64_t offset) const {
  Tensor t;
  t.is_ = std::make_shared<view_of>(is());
  t.is_->sizes = n.vec();
  t.is_->strides = strides.vec();
  t.is_->offset = offset;
  return t;
}
Tensor Tensor::as_strided(IntArrayRef n, IntArrayRef strides) const {
  return as_strided(n, strides, storage_offset());
}
Tensor Tensor::view(IntArrayRef n) const {
  TORCH_CHECK(is_contiguous(),
              "view size is not compatible with input tensor's size and stride. Use .reshape(...) instead.");
  const detail::sizes_t known = without_minus_one(n);
  return as_strided(known, detail::packed(known), storage_offset());
}
Tensor Tensor::view(ScalarType t) const {
  TORCH_CHECK(elementSize(t) == element_size(), "view of another element size");
  Tensor v = as_strided(sizes(), strides(), storage_offset());
  v.is_->type = t;
  return v;
}
Tensor Tensor::reshape_as(const Tensor& o) const { return reshape(o.sizes()); }
Tensor Tensor::flatten(std::int64_t first, std::int64_t last) const {
  const std::size_t a = dim() == 0 ? 0 : axis(first), b = dim() == 0 ? 0 : axis(last);
  detail::sizes_t n;
  for (std::size_t i = 0; i < is().sizes.size(); ++i)
    if (i > a && i <= b)
      n.back() *= is().sizes[i];
    else
      n.push_back(is().sizes[i]);
  if (n.empty()) n = {1};
  return reshape(n);
}
Tensor Tensor::unsqueeze(std::int64_t d) const {
  detail::sizes_t n = is().sizes, s = is().strides;
  const auto at = static_cast<std::ptrdiff_t>(d < 0 ? d + dim() + 1 : d);
  n.insert(n.begin() + at, 1), s.insert(s.begin() + at, 1);
  return as_strided(n, s, storage_offset());
}
Tensor Tensor::squeeze() const {
  detail::sizes_t n, s;
  for (std::size_t i = 0; i < is().sizes.size(); ++i)
    if (is().sizes[i] != 1) n.push_back(is().sizes[i]), s.push_back(is().strides[i]);
  return as_strided(n, s, storage_offset());
}
Tensor Tensor::squeeze(std::int64_t d) const { return size(d) == 1 ? select(d, 0) : *this; }
Tensor Tensor::permute(IntArrayRef order) const {
  detail::sizes_t n, s;
  for (const std::int64_t d : order) n.push_back(size(d)), s.push_back(stride(d));
  return as_strided(n, s, storage_offset());
}
Tensor Tensor::transpose(std::int64_t a, std::int64_t b) const {
  detail::sizes_t n = is().sizes, s = is().strides;
  std::swap(n[axis(a)], n[axis(b)]), std::swap(s[axis(a)], s[axis(b)]);
  return as_strided(n, s, storage_offset());
}
Tensor Tensor::t() const { return dim() < 2 ? *this : transpose(0, 1); }
Tensor Tensor::expand(IntArrayRef n) const {
  detail::sizes_t to = n.vec(), s(n.size());
  const std::size_t more = n.size() - is().sizes.size();
  for (std::size_t i = 0; i < n.size(); ++i) {
    if (i < more) continue;
    if (to[i] < 0) to[i] = is().sizes[i - more];
    s[i] = is().sizes[i - more] == to[i] ? is().strides[i - more] : 0;
    TORCH_CHECK(s[i] != 0 || is().sizes[i - more] == 1 || to[i] == is().sizes[i - more],
                "The expanded size of the tensor (", to[i], ") must match the existing size (",
                is().sizes[i - more], ")");
  }
  return as_strided(to, s, storage_offset());
}
Tensor Tensor::narrow(std::int64_t d, std::int64_t from, std::int64_t n) const {
  TORCH_CHECK(from >= 0 && from + n <= size(d), "start (", from, ") + length (", n,
              ") exceeds dimension size (", size(d), ").");
  detail::sizes_t to = is().sizes;
  to[axis(d)] = n;
  return as_strided(to, strides(), storage_offset() + from * stride(d));
}
Tensor Tensor::slice(std::int64_t d, std::int64_t from, std::int64_t to, std::int64_t step) const {
  to = std::min(to < 0 ? to + size(d) : to, size(d));
  detail::sizes_t n = is().sizes, s = is().strides;
  n[axis(d)] = std::max<std::int64_t>(0, (to - from + step - 1) / step), s[axis(d)] *= step;
  return as_strided(n, s, storage_offset() + from * stride(d));
}
Tensor Tensor::select(std::int64_t d, std::int64_t i) const {
  TORCH_CHECK(i < size(d) && i >= -size(d), "select(): index ", i, " out of range");
  detail::sizes_t n = is().sizes, s = is().strides;
  const auto at = static_cast<std::ptrdiff_t>(axis(d));
  const std::int64_t offset = storage_offset() + (i < 0 ? i + size(d) : i) * stride(d);
  n.erase(n.begin() + at), s.erase(s.begin() + at);
  return as_strided(n, s, offset);
}
Tensor Tensor::clone(std::optional<MemoryFormat>) const { return made(sizes(), options()).copy_(*this); }
Tensor Tensor::contiguous(MemoryFormat f) const {
  if (is_contiguous(f)) return *this;
  if (f == MemoryFormat::ChannelsLast) return permute({0, 2, 3, 1}).clone().permute({0, 3, 1, 2});
  return clone();
}
Tensor Tensor::to(const TensorOptions& o) const {
  if (o.scalar_type() == scalar_type() && o.device() == device()) return *this;
  return made(sizes(), o).copy_(*this);
}
Tensor Tensor::copy_(const Tensor& from, bool) const {
  const Tensor wide = from.sizes() == sizes() ? from : from.expand(sizes());
  if (wide.scalar_type() == scalar_type() && wide.is_contiguous() && is_contiguous()) {
    if (nbytes() > 0)
      cudaMemcpyAsync(start(), wide.start(), nbytes(), cudaMemcpyDefault, cuda::getCurrentCUDAStream());
    if (!is_cuda() && wide.is_cuda()) cudaStreamSynchronize(cuda::getCurrentCUDAStream());
    return *this;
  }
  set_values(wide.values());
  return *this;
}
std::vector<double> Tensor::values() const {
  const std::vector<char> bytes = memory().read();
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(numel()));
  const ScalarType t = scalar_type();
  const auto size = static_cast<std::int64_t>(element_size());
  const char* const first = bytes.data() + storage_offset() * size;
  if (numel() > 0)
    detail::each(sizes(), strides(),
                 [&](std::int64_t at) { all.push_back(detail::read_one(first + at * size, t)); });
  return all;
}
void Tensor::set_values(const std::vector<double>& v) const {
  if (numel() == 0) return;
  const auto size = static_cast<std::int64_t>(element_size());
  const ScalarType t = scalar_type();
  std::size_t k = 0;
  if (is_contiguous()) {
    std::vector<char> bytes(nbytes());
    for (; k < v.size(); ++k) detail::write_one(bytes.data() + static_cast<std::int64_t>(k) * size, t, v[k]);
    return memory().write(bytes.data(), bytes.size(), static_cast<std::size_t>(storage_offset() * size));
  }
  std::vector<char> bytes = memory().read();
  char* const first = bytes.data() + storage_offset() * size;
  detail::each(sizes(), strides(), [&](std::int64_t at) { detail::write_one(first + at * size, t, v[k++]); });
  memory().write(bytes.data(), bytes.size());
}
Tensor Tensor::zero_() const {
  if (is_contiguous() && is_cuda()) {
    if (nbytes() > 0) cudaMemsetAsync(start(), 0, nbytes(), cuda::getCurrentCUDAStream());
    return *this;
  }
  return fill_(0);
}
Tensor Tensor::fill_(Scalar s) const {
  set_values(std::vector<double>(static_cast<std::size_t>(numel()), s.toDouble()));
  return *this;
}
const Tensor::view_of& Tensor::is() const {
  TORCH_CHECK(is_ != nullptr, "tensor does not have a device");
  return *is_;
}
char* Tensor::start() const {
  return is().memory->data() + is().offset * static_cast<std::int64_t>(element_size());
}
std::size_t Tensor::axis(std::int64_t d) const {
  TORCH_CHECK(d < dim() && d >= -dim(), "Dimension out of range (expected to be in range of [", -dim(), ", ",
              dim() - 1, "], but got ", d, ")");
  return static_cast<std::size_t>(d < 0 ? d + dim() : d);
}
detail::sizes_t Tensor::without_minus_one(IntArrayRef n) const {
  detail::sizes_t known = n.vec();
  std::int64_t rest = 1;
  for (const std::int64_t s : known) rest *= s < 0 ? 1 : s;
  for (std::int64_t& s : known)
    if (s < 0) s = rest == 0 ? 0 : numel() / rest;
  TORCH_CHECK(detail::product(known) == numel(), "shape '", n, "' is invalid for input of size ", numel());
  return known;
}
std::int64_t Tensor::numel() const { return detail::product(sizes()); }

}  // namespace at
