// SPDX-License-Identifier: Apache-2.0
// Values of tensors of the stand-ins for PyTorch's headers: arithmetic, reductions, products.
#include <antiphase/stand_ins/bindings/bindings.h>

#include "tensor_walk.hpp"

namespace at {
namespace detail {
namespace {
void multiply(const double* a, const double* b, double* c, std::int64_t batch, std::int64_t m, std::int64_t n,
              std::int64_t k) {
  for (; batch-- > 0; a += m * k, b += k * n, c += m * n)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t l = 0; l < k; ++l)
        for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
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

}  // namespace at
