// SPDX-License-Identifier: Apache-2.0
// Functions on tensors of the stand-ins for PyTorch's headers.
#include <antiphase/stand_ins/bindings/bindings.h>

#include "tensor_walk.hpp"

namespace at {

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
