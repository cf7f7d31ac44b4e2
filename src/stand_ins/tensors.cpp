// SPDX-License-Identifier: Apache-2.0
// Tensors of the stand-ins for PyTorch's headers, and calls from Python.
#include <antiphase/plain/libraries.h>
#include <antiphase/stand_ins/bindings/bindings.h>

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
void multiply(const double* a, const double* b, double* c, std::int64_t batch, std::int64_t m, std::int64_t n,
              std::int64_t k) {
  for (; batch-- > 0; a += m * k, b += k * n, c += m * n)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t l = 0; l < k; ++l)
        for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
}
std::int64_t product(IntArrayRef n) {
  return std::accumulate(n.begin(), n.end(), std::int64_t{1}, std::multiplies<>());
}
sizes_t packed(IntArrayRef n) {
  sizes_t s(n.size());
  std::int64_t at = 1;
  for (std::size_t i = n.size(); i-- > 0; at *= std::max<std::int64_t>(n[i], 1)) s[i] = at;
  return s;
}
// calls f(place) for each index in order, with the place that strides give it
template <class F> void each(IntArrayRef n, IntArrayRef strides, F f) {
  const std::int64_t all = product(n);
  sizes_t at(n.size());
  std::int64_t place = 0;
  for (std::int64_t k = 0; k < all; ++k) {
    f(place);
    for (std::size_t d = n.size(); d-- > 0;) {
      place += strides[d];
      if (++at[d] < n[d]) break;
      place -= at[d] * strides[d];
      at[d] = 0;
    }
  }
}
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
ScalarType common(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (isFloatingType(a) != isFloatingType(b)) return isFloatingType(a) ? a : b;
  if (isFloatingType(a) && elementSize(a) == 2 && elementSize(b) == 2) return ScalarType::Float;
  if (a == ScalarType::Bool) return b;
  if (b == ScalarType::Bool) return a;
  return elementSize(a) >= elementSize(b) ? a : b;
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
template <class F> Tensor Tensor::mapped(F f, ScalarType t) const {
  std::vector<double> v = values();
  for (double& x : v) x = f(x);
  return from(sizes(), options().dtype(t), v);
}
template <class F> Tensor Tensor::mapped(F f) const {
  return mapped(f, is_floating_point() ? scalar_type() : ScalarType::Float);
}
template <class F> Tensor Tensor::joined(const Tensor& o, F f, std::optional<ScalarType> type) const {
  detail::sizes_t n(static_cast<std::size_t>(std::max(dim(), o.dim())), 1);
  for (const Tensor* t : {this, &o})
    for (std::int64_t i = 0; i < t->dim(); ++i) {
      std::int64_t& to = n[n.size() - 1 - static_cast<std::size_t>(i)];
      const std::int64_t s = t->size(-1 - i);
      TORCH_CHECK(to == s || to == 1 || s == 1, "The size of tensor a (", to,
                  ") must match the size of tensor b (", s, ") at non-singleton dimension ",
                  static_cast<std::int64_t>(n.size()) - 1 - i);
      if (s != 1) to = s;
    }
  std::vector<double> a = expand(n).values();
  const std::vector<double> b = o.expand(n).values();
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = f(a[i], b[i]);
  const ScalarType t = o.dim() == 0 && dim() > 0 && is_floating_point()
                           ? scalar_type()
                           : detail::common(scalar_type(), o.scalar_type());
  return from(n, (is_cuda() ? options() : o.options()).dtype(type.value_or(t)), a);
}
Tensor Tensor::of(Scalar s) const {  // a tensor without axes, of a type that gives way to this one's
  const bool wider = s.isFloatingPoint() && !is_floating_point();
  return from({}, options().dtype(wider ? ScalarType::Float : scalar_type()), {s.toDouble()});
}
Tensor Tensor::add(const Tensor& o, Scalar times) const { return add(o.mul(times)); }
Tensor Tensor::sub(const Tensor& o, Scalar times) const { return sub(o.mul(times)); }
Tensor Tensor::div(const Tensor& o) const {
  const ScalarType t = detail::common(scalar_type(), o.scalar_type());
  return joined(
      o, [](double a, double b) { return a / b; }, isFloatingType(t) ? t : ScalarType::Float);
}
Tensor Tensor::operator-() const { return mul(-1); }
Tensor Tensor::clamp(std::optional<Scalar> low, std::optional<Scalar> high) const {
  return mapped(
      [&](double a) {
        if (low && a < low->toDouble()) a = low->toDouble();
        return high && a > high->toDouble() ? high->toDouble() : a;
      },
      scalar_type());
}
Tensor& Tensor::clamp_(std::optional<Scalar> low, std::optional<Scalar> high) {
  return copy_(clamp(low, high)), *this;
}
Tensor Tensor::masked_fill(const Tensor& mask, Scalar s) const {
  const double v = s.toDouble();
  const Tensor marked = mask.mapped([](double a) { return a; }, ScalarType::Bool);
  std::vector<double> a = values();
  const std::vector<double> m = marked.expand(sizes()).values();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (m[i] != 0) a[i] = v;
  return from(sizes(), options(), a);
}
template <class F>
Tensor Tensor::folded(std::vector<std::int64_t> dims, bool keep, double first, F f, ScalarType t) const {
  std::vector<bool> gone(is().sizes.size(), dims.empty());
  for (const std::int64_t d : dims) gone[axis(d)] = true;
  detail::sizes_t n, kept, strides(is().sizes.size());
  for (std::size_t i = 0; i < gone.size(); ++i) {
    kept.push_back(gone[i] ? 1 : is().sizes[i]);
    if (!gone[i] || keep) n.push_back(gone[i] ? 1 : is().sizes[i]);
  }
  const detail::sizes_t packed = detail::packed(kept);
  for (std::size_t i = 0; i < gone.size(); ++i) strides[i] = gone[i] ? 0 : packed[i];
  std::vector<double> out(static_cast<std::size_t>(detail::product(kept)), first);
  const std::vector<double> v = values();
  std::size_t k = 0;
  if (!v.empty())
    detail::each(sizes(), strides, [&](std::int64_t at) {
      double& to = out[static_cast<std::size_t>(at)];
      to = f(to, v[k++]);
    });
  return from(n, options().dtype(t), out);
}
Tensor Tensor::sum(IntArrayRef dims, bool keep, std::optional<ScalarType> t) const {
  return folded(dims.vec(), keep, 0, std::plus<>(),
                t.value_or(is_floating_point() ? scalar_type() : ScalarType::Long));
}
Tensor Tensor::sum(std::optional<ScalarType> t) const { return sum(IntArrayRef(), false, t); }
Tensor Tensor::mean(IntArrayRef dims, bool keep) const {
  const Tensor s = folded(dims.vec(), keep, 0, std::plus<>(), ScalarType::Double);
  return s.mul(static_cast<double>(s.numel()) / static_cast<double>(numel())).to(scalar_type());
}
Tensor Tensor::mean() const { return mean(IntArrayRef()); }
Tensor Tensor::amax(IntArrayRef dims, bool keep) const {
  return folded(
      dims.vec(), keep, -std::numeric_limits<double>::infinity(),
      [](double a, double b) { return a != a || a > b ? a : b; }, scalar_type());
}
Tensor Tensor::amin(IntArrayRef dims, bool keep) const {
  return folded(
      dims.vec(), keep, std::numeric_limits<double>::infinity(),
      [](double a, double b) { return a != a || a < b ? a : b; }, scalar_type());
}
Tensor Tensor::max() const { return amax({}); }
Tensor Tensor::min() const { return amin({}); }
Tensor Tensor::prod() const { return folded({}, false, 1, std::multiplies<>(), scalar_type()); }
Tensor Tensor::prod(std::int64_t d, bool keep) const {
  return folded({d}, keep, 1, std::multiplies<>(), scalar_type());
}
Tensor Tensor::any() const {
  return folded(
      {}, false, 0, [](double a, double b) -> double { return a != 0 || b != 0; }, ScalarType::Bool);
}
Tensor Tensor::all() const {
  return folded(
      {}, false, 1, [](double a, double b) -> double { return a != 0 && b != 0; }, ScalarType::Bool);
}
Tensor Tensor::norm() const {
  return folded(
             {}, false, 0, [](double a, double b) { return a + b * b; }, ScalarType::Double)
      .sqrt()
      .to(scalar_type());
}
Tensor Tensor::softmax(std::int64_t d) const {
  const Tensor e = sub(amax({d}, true)).exp();
  return e.div(e.sum({d}, true));
}
Tensor Tensor::matmul(const Tensor& o) const {
  const bool row = dim() == 1, column = o.dim() == 1;
  Tensor a = row ? unsqueeze(0) : *this, b = column ? o.unsqueeze(1) : o;
  TORCH_CHECK(a.size(-1) == b.size(-2), "mat1 and mat2 shapes cannot be multiplied (", a.sizes(), " and ",
              b.sizes(), ")");
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  detail::sizes_t lead = a.sizes().slice(0, static_cast<std::size_t>(a.dim() - 2)).vec(), of = lead;
  if (b.dim() > a.dim()) lead = b.sizes().slice(0, static_cast<std::size_t>(b.dim() - 2)).vec();
  detail::sizes_t an = lead, bn = lead, cn = lead;
  an.insert(an.end(), {m, k}), bn.insert(bn.end(), {k, n}), cn.insert(cn.end(), {m, n});
  const std::vector<double> x = a.expand(an).values(), y = b.expand(bn).values();
  std::vector<double> z(static_cast<std::size_t>(detail::product(cn)));
  detail::multiply(x.data(), y.data(), z.data(), detail::product(lead), m, n, k);
  Tensor c = from(cn, options(), z);
  if (row) c = c.squeeze(-2);
  return column ? c.squeeze(-1) : c;
}
Tensor Tensor::cumsum(std::int64_t d) const {
  const Tensor last = transpose(d, -1);
  std::vector<double> v = last.values();
  const auto n = static_cast<std::size_t>(size(d));
  for (std::size_t i = 0; i < v.size(); ++i)
    if (i % n != 0) v[i] += v[i - 1];
  return from(last.sizes(), options(), v).transpose(d, -1);
}
std::tuple<Tensor, Tensor> Tensor::extremes(std::int64_t d, bool keep, bool largest) const {
  const Tensor last = transpose(d, -1);
  const std::vector<double> v = last.values();
  const auto n = static_cast<std::size_t>(size(d));
  TORCH_CHECK(n > 0, "max() or min(): Expected reduction dim ", d, " to have non-zero size.");
  std::vector<double> found, at;
  for (std::size_t row = 0; row < v.size(); row += n) {
    std::size_t best = 0;  // the first of several; a NaN before all others
    for (std::size_t i = 1; i < n && v[row + best] == v[row + best]; ++i)
      if (const double a = v[row + i], b = v[row + best]; a != a || (largest ? a > b : a < b)) best = i;
    found.push_back(v[row + best]), at.push_back(static_cast<double>(best));
  }
  detail::sizes_t sizes = last.sizes().vec();
  sizes.back() = 1;
  const auto shaped = [&](const std::vector<double>& of, const TensorOptions& o) {
    const Tensor t = from(sizes, o, of).transpose(d, -1);
    return keep ? t : t.squeeze(d);
  };
  return {shaped(found, options()), shaped(at, options().dtype(ScalarType::Long))};
}
Tensor Tensor::bernoulli(double p) const {
  return rand(sizes(), options()).mapped([p](double a) -> double { return a < p; }, scalar_type());
}
Tensor Tensor::bernoulli() const {  // each element is the chance of its own
  return rand(sizes(), options().dtype(ScalarType::Double))
      .joined(
          *this, [](double a, double b) -> double { return a < b; }, scalar_type());
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
#define AP_TWO(name, expression)                                               \
  Tensor Tensor::name(const Tensor& o) const {                                 \
    return joined(o, [](double a, double b) -> double { return expression; }); \
  }
AP_TWO(add, a + b)
AP_TWO(sub, a - b)
AP_TWO(mul, a* b)
AP_TWO(pow, std::pow(a, b))
AP_TWO(maximum, a != a || a > b ? a : b)
AP_TWO(minimum, a != a || a < b ? a : b)
#undef AP_TWO
#define AP_TWO(sign, name)                                                           \
  Tensor Tensor::name(const Tensor& o) const {                                       \
    return joined(                                                                   \
        o, [](double a, double b) -> double { return a sign b; }, ScalarType::Bool); \
  }
AP_TWO(<, lt)
AP_TWO(>, gt)
AP_TWO(<=, le)
AP_TWO(>=, ge)
AP_TWO(==, eq)
AP_TWO(!=, ne)
#undef AP_TWO
#define AP_EACH(name, expression)                                 \
  Tensor Tensor::name() const {                                   \
    return mapped([](double a) -> double { return expression; }); \
  }
AP_EACH(exp, std::exp(a))
AP_EACH(log, std::log(a))
AP_EACH(sqrt, std::sqrt(a))
AP_EACH(rsqrt, 1 / std::sqrt(a))
AP_EACH(sigmoid, 1 / (1 + std::exp(-a)))
AP_EACH(tanh, std::tanh(a))
AP_EACH(sin, std::sin(a))
AP_EACH(cos, std::cos(a))
AP_EACH(reciprocal, 1 / a)
AP_EACH(erf, std::erf(a))
AP_EACH(log1p, std::log1p(a))
#undef AP_EACH
#define AP_EACH(name, expression)                                                \
  Tensor Tensor::name() const {                                                  \
    return mapped([](double a) -> double { return expression; }, scalar_type()); \
  }
AP_EACH(abs, std::fabs(a))
AP_EACH(neg, -a)
AP_EACH(relu, a < 0 ? 0 : a)
AP_EACH(floor, std::floor(a))
AP_EACH(ceil, std::ceil(a))
AP_EACH(round, std::nearbyint(a))
AP_EACH(square, a* a)
AP_EACH(sign, (a > 0) - (a < 0))
#undef AP_EACH
std::int64_t Tensor::numel() const { return detail::product(sizes()); }

Tensor empty(IntArrayRef n, TensorOptions o, std::optional<MemoryFormat>) { return Tensor::made(n, o); }
Tensor empty_strided(IntArrayRef n, IntArrayRef strides, TensorOptions o) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < n.size(); ++i) last += (n[i] - 1) * strides[i];
  return Tensor::made({last + 1}, o).as_strided(n, strides);
}
Tensor zeros(IntArrayRef n, TensorOptions o) { return Tensor::made(n, o).zero_(); }
Tensor full(IntArrayRef n, Scalar s, TensorOptions o) { return Tensor::made(n, o).fill_(s); }
Tensor empty_like(const Tensor& like, TensorOptions o, std::optional<MemoryFormat> f) {
  if (like.is_contiguous() || f == MemoryFormat::Contiguous) return empty(like.sizes(), o);
  std::vector<std::int64_t> order(static_cast<std::size_t>(like.dim())), back(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return like.stride(a) > like.stride(b); });
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const Tensor sorted = like.permute(order);
  return sorted.is_contiguous() ? empty(sorted.sizes(), o).permute(back) : empty(like.sizes(), o);
}
Tensor empty_like(const Tensor& like) { return empty_like(like, like.options()); }
Tensor full_like(const Tensor& like, Scalar s) { return empty_like(like).fill_(s); }
Tensor full_like(const Tensor& like, Scalar s, TensorOptions o) { return empty_like(like, o).fill_(s); }
Tensor arange(Scalar from, Scalar to, Scalar step, TensorOptions o) {
  std::vector<double> v;
  for (double x = from.toDouble(); x < to.toDouble(); x += step.toDouble()) v.push_back(x);
  return Tensor::from({static_cast<std::int64_t>(v.size())}, o, v);
}
Tensor rand(IntArrayRef n, TensorOptions o) {
  std::vector<double> v(static_cast<std::size_t>(detail::product(n)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>((i * 2654435761u >> 8) % 4096) / 4096;
  return Tensor::from(n, o, v);
}
Tensor randn(IntArrayRef n, TensorOptions o) { return rand(n, o).sub(0.5).mul(3.5); }
Tensor rand_like(const Tensor& like) { return rand(like.sizes(), like.options()); }
Tensor randn_like(const Tensor& like) { return randn(like.sizes(), like.options()); }
Tensor scalar_tensor(Scalar s, TensorOptions o) { return Tensor::from({}, o, {s.toDouble()}); }
Tensor from_blob(void* data, IntArrayRef n, TensorOptions o) { return Tensor::over(data, n, o); }
Tensor cat(TensorList all, std::int64_t d) {
  std::vector<std::int64_t> n = all[0].sizes().vec();
  const auto at = static_cast<std::size_t>(d < 0 ? d + all[0].dim() : d);
  n[at] = 0;
  for (const Tensor& t : all) n[at] += t.size(d);
  const Tensor to = empty(n, all[0].options());
  std::int64_t from = 0;
  for (const Tensor& t : all) to.narrow(d, from, t.size(d)).copy_(t), from += t.size(d);
  return to;
}
Tensor stack(TensorList all, std::int64_t d) {
  std::vector<Tensor> each;
  for (const Tensor& t : all) each.push_back(t.unsqueeze(d));
  return cat(each, d);
}
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b) { return c.add(a.matmul(b)); }
Tensor linear(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b) {
  const Tensor y = x.matmul(w.t());
  return b && b->defined() ? y.add(*b) : y;
}
namespace {
// An element of one side, x or the product, meets one of the other along an axis, at fine = coarse * stride -
// padding + kernel * dilation. The product of a transposed convolution is the fine side.
struct axis_of_convolution {
  std::int64_t coarse, fine, kernel, stride, padding, dilation;
};
// Calls f(place on the coarse side, place on the fine side, place in the kernel) for all that meet.
template <class F> void each_meeting(const axis_of_convolution* axes, std::size_t n, std::int64_t coarse,
                                     std::int64_t fine, std::int64_t kernel, const F& f) {
  if (n == 0) return f(coarse, fine, kernel);
  const axis_of_convolution& a = axes[0];
  for (std::int64_t k = 0; k < a.kernel; ++k)
    for (std::int64_t i = 0; i < a.coarse; ++i)
      if (const std::int64_t at = i * a.stride - a.padding + k * a.dilation; at >= 0 && at < a.fine)
        each_meeting(axes + 1, n - 1, coarse * a.coarse + i, fine * a.fine + at, kernel * a.kernel + k, f);
}
}  // namespace
Tensor convolution(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   std::int64_t groups) {
  TORCH_CHECK(x.dim() == w.dim() && x.dim() > 2, "convolution: x has ", x.dim(), " axes, the weights ",
              w.dim(), ": expected as many, and more than two");
  const std::int64_t from = x.size(1) / groups, to = transposed ? w.size(1) : w.size(0) / groups;
  TORCH_CHECK((transposed ? w.size(0) : w.size(1) * groups) == x.size(1), "convolution: x has ", x.size(1),
              " channels, which does not fit weights of ", w.sizes(), " in ", groups, " groups");
  const auto of = [](IntArrayRef all, std::size_t i) { return all[std::min(i, all.size() - 1)]; };
  std::vector<axis_of_convolution> axes;
  detail::sizes_t n{x.size(0), to * groups};
  for (std::int64_t d = 2; d < x.dim(); ++d) {
    const auto i = static_cast<std::size_t>(d - 2);
    const std::int64_t in = x.size(d), reach = of(dilation, i) * (w.size(d) - 1) + 1, s = of(stride, i);
    n.push_back(transposed ? (in - 1) * s - 2 * of(padding, i) + reach + of(output_padding, i)
                           : (in + 2 * of(padding, i) - reach) / s + 1);
    axes.push_back({transposed ? in : n.back(), transposed ? n.back() : in, w.size(d), s, of(padding, i),
                    of(dilation, i)});
  }
  const std::vector<double> xs = x.values(), ws = w.values(),
                            bs = b && b->defined() ? b->values() : std::vector<double>(n[1]);
  std::vector<double> y(static_cast<std::size_t>(detail::product(n)));
  const std::int64_t of_x = detail::product(x.sizes().slice(2)),
                     of_y = detail::product(IntArrayRef(n).slice(2)),
                     of_w = detail::product(w.sizes().slice(2));
  for (std::int64_t image = 0; image < n[0]; ++image)
    for (std::int64_t c = 0; c < n[1]; ++c) {
      double* const out = y.data() + (image * n[1] + c) * of_y;
      std::fill_n(out, of_y, bs[static_cast<std::size_t>(c)]);
      for (std::int64_t k = 0; k < from; ++k) {
        const std::int64_t channel = c / to * from + k;
        const double* const in = xs.data() + (image * x.size(1) + channel) * of_x;
        const double* const kernel = ws.data() + (transposed ? channel * to + c % to : c * from + k) * of_w;
        each_meeting(axes.data(), axes.size(), 0, 0, 0,
                     [&](std::int64_t coarse, std::int64_t fine, std::int64_t at) {
                       out[transposed ? fine : coarse] += in[transposed ? coarse : fine] * kernel[at];
                     });
      }
    }
  return Tensor::from(n, x.options(), y);
}
std::tuple<Tensor, Tensor> _unique(const Tensor& a, bool, bool) {
  const std::vector<double> all = a.values();
  std::vector<double> once = all, places;
  std::ranges::sort(once);
  once.erase(std::unique(once.begin(), once.end()), once.end());
  for (const double v : all)
    places.push_back(static_cast<double>(std::ranges::lower_bound(once, v) - once.begin()));
  return {Tensor::from({static_cast<std::int64_t>(once.size())}, a.options(), once),
          Tensor::from(a.sizes(), a.options().dtype(ScalarType::Long), places)};
}
Tensor constant_pad_nd(const Tensor& a, IntArrayRef by, Scalar value) {
  std::vector<std::int64_t> n = a.sizes().vec();
  for (std::size_t i = 0; i < by.size(); i += 2) n[n.size() - 1 - i / 2] += by[i] + by[i + 1];
  const Tensor out = full(n, value, a.options());
  Tensor inner = out;
  for (std::size_t i = 0; i < by.size(); i += 2) {
    const std::int64_t d = a.dim() - 1 - static_cast<std::int64_t>(i / 2);
    inner = inner.narrow(d, by[i], a.size(d));
  }
  inner.copy_(a);
  return out;
}
}  // namespace at
