// SPDX-License-Identifier: Apache-2.0
// Calls from Python of functions that PYBIND11_MODULE or TORCH_LIBRARY names; kernels.h: launches of kernels.
// antiphase_check/session.py writes the file of calls and reads that of results.
#pragma once
#include <array>

#include "kernels.h"

namespace antiphase::plain::python {

// A value of Python. What it cannot be converted to throws std::invalid_argument.
class value {
 public:
  value() = default;  // None
  value(bool b);
  value(std::int64_t i);
  value(double d);
  value(const char* s) : value(std::string(s)) {}
  value(const std::string& s);
  value(const at::Tensor& t);
  value(std::vector<value> all);
  // of a kernel: the bytes of a number
  struct word {
    at::ScalarType type;
    unsigned char bytes[8];
  };
  value(const word& w);
  bool none() const { return is_ == nullptr; }
  bool to_bool() const;
  std::int64_t to_int() const;
  double to_float() const;
  std::string to_text() const;
  at::Tensor to_tensor() const;
  at::Scalar to_scalar() const;
  const std::vector<value>& to_list() const;
  // the bits of a kernel's parameter, argument `number` of a launch
  void to_parameter(void* to, const parameter_form& form, std::size_t number) const;
  struct content;
  const content& inside() const { return *is_; }

 private:
  std::shared_ptr<const content> is_;
};
[[noreturn]] void unfit(const std::string& wanted);

// conversions
// -----------------------------------------------------------------------------------------------------------
template <class T> struct from_python;
template <class T> std::decay_t<T> to_c(const value& v) { return from_python<std::decay_t<T>>::of(v); }
template <class T>
requires std::is_arithmetic_v<T>
struct from_python<T> {
  static T of(const value& v) {
    if constexpr (std::is_same_v<T, bool>)
      return v.to_bool();
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(v.to_int());
    else
      return static_cast<T>(v.to_float());
  }
};
#define AP_FROM(type, expression)                         \
  template <> struct from_python<type> {                  \
    static type of(const value& v) { return expression; } \
  };
AP_FROM(at::Tensor, v.to_tensor())
AP_FROM(std::string, v.to_text())
AP_FROM(at::Scalar, v.to_scalar())
AP_FROM(at::ScalarType, static_cast<at::ScalarType>(v.to_int()))
AP_FROM(at::Device, v.to_text())
#undef AP_FROM
template <class T> struct from_python<std::optional<T>> {
  static std::optional<T> of(const value& v) {
    return v.none() ? std::optional<T>() : std::optional<T>(to_c<T>(v));
  }
};
template <class T> struct from_python<std::vector<T>> {
  static std::vector<T> of(const value& v) {
    std::vector<T> out;
    for (const value& one : v.to_list()) out.push_back(to_c<T>(one));
    return out;
  }
};
template <class T> struct from_python<at::ArrayRef<T>> {
  static at::ArrayRef<T> of(const value& v) {
    static std::vector<std::unique_ptr<std::vector<T>>> kept;  // until the program ends
    kept.push_back(std::make_unique<std::vector<T>>(to_c<std::vector<T>>(v)));
    return *kept.back();
  }
};
template <class T, std::size_t N> struct from_python<std::array<T, N>> {
  static std::array<T, N> of(const value& v) {
    const auto all = to_c<std::vector<T>>(v);
    if (all.size() != N) unfit("a list of another length");
    std::array<T, N> out;
    std::copy(all.begin(), all.end(), out.begin());
    return out;
  }
};
template <class... T> struct from_python<std::tuple<T...>> {
  static std::tuple<T...> of(const value& v) {
    const std::vector<value>& all = v.to_list();
    if (all.size() != sizeof...(T)) unfit("a tuple of another length");
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::tuple<T...>(to_c<T>(all[I])...); }
    (std::index_sequence_for<T...>());
  }
};

inline value to_python(const value& v) { return v; }
inline value to_python(const at::Tensor& t) { return t; }
inline value to_python(const std::string& s) { return s; }
inline value to_python(const char* s) { return s; }
inline value to_python(const at::Scalar& s) {
  return s.isFloatingPoint() ? value(s.toDouble()) : value(s.toLong());
}
template <class T>
requires std::is_arithmetic_v<T> value to_python(T v) {
  if constexpr (std::is_same_v<T, bool>)
    return v;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::int64_t>(v);
  else
    return static_cast<double>(v);
}
template <class T> value to_python(const std::optional<T>& v) { return v ? to_python(*v) : value(); }
template <class T> value to_python(const std::vector<T>& v) {
  std::vector<value> all;
  for (const T& one : v) all.push_back(to_python(one));
  return all;
}
template <class... T> value to_python(const std::tuple<T...>& v) {
  return std::apply([](const auto&... one) { return value(std::vector<value>{to_python(one)...}); }, v);
}
template <class A, class B> value to_python(const std::pair<A, B>& v) {
  return std::vector<value>{to_python(v.first), to_python(v.second)};
}

// functions
// -----------------------------------------------------------------------------------------------------------
struct parameter {  // of a function, as py::arg names it
  std::string name;
  bool has_value = false;
  value otherwise = {};
};
using entry = void (*)();
struct function {
  entry calls = nullptr;
  value (*call)(entry, const char* name, const std::vector<value>&) = nullptr;
  std::size_t takes = 0;
  std::vector<parameter> named = {};
};
void add(const std::string& name, function f);
std::string name_in(const std::string& schema);  // of TORCH_LIBRARY
template <class R, class... A> void add(const std::string& name, R (*f)(A...), std::vector<parameter> named) {
  add(name, function{reinterpret_cast<entry>(f),
                     [](entry e, const char*, const std::vector<value>& all) -> value {
                       [[maybe_unused]] std::size_t at = 0;
                       std::tuple<std::decay_t<A>...> converted{to_c<A>(all[at++])...};
                       return std::apply(
                           [&](auto&... a) -> value {
                             const auto g = reinterpret_cast<R (*)(A...)>(e);
                             if constexpr (std::is_void_v<R>)
                               return g(static_cast<A>(a)...), value();
                             else
                               return to_python(g(static_cast<A>(a)...));
                           },
                           converted);
                     },
                     sizeof...(A), std::move(named)});
}

}  // namespace antiphase::plain::python

// pybind11
// -----------------------------------------------------------------------------------------------------------
namespace pybind11 {
struct arg_with_value {
  std::string name;
  antiphase::plain::python::value otherwise;
};
struct arg {
  const char* name;
  explicit arg(const char* n) : name(n) {}
  arg& noconvert(bool = true) { return *this; }
  arg& none(bool = true) { return *this; }
  template <class T> arg_with_value operator=(const T& v) const {
    return {name, antiphase::plain::python::to_python(v)};
  }
  arg_with_value operator=(std::nullopt_t) const { return {name, {}}; }
  arg_with_value operator=(std::nullptr_t) const { return {name, {}}; }
};
inline namespace literals {
inline arg operator""_a(const char* name, std::size_t) { return arg(name); }
}  // namespace literals
struct gil_scoped_release {
  gil_scoped_release() {}
};
struct gil_scoped_acquire {
  gil_scoped_acquire() {}
};
template <class... T> struct call_guard {};
class module_ {
 public:
  template <class F, class... More> module_& def(const char* name, F f, const More&... more) {
    std::vector<antiphase::plain::python::parameter> named;
    (note(named, more), ...);
    antiphase::plain::python::add(name, +f, std::move(named));
    return *this;
  }
  const char*& doc() {
    static const char* text = "";
    return text;
  }

 private:
  using parameters = std::vector<antiphase::plain::python::parameter>;
  static void note(parameters& to, const arg& a) { to.push_back({a.name}); }
  static void note(parameters& to, const arg_with_value& a) { to.push_back({a.name, true, a.otherwise}); }
  template <class T> static void note(parameters&, const T&) {}  // a text, a guard
};
using module = module_;
}  // namespace pybind11
namespace py = pybind11;
namespace torch {
using pybind11::arg;
template <class F> F wrap_pybind_function(F f) { return f; }
template <class F> F wrap_pybind_function_no_gil(F f) { return f; }

// TORCH_LIBRARY
template <class F> F dispatch(c10::DispatchKey, F f) { return f; }
class Library {
 public:
  template <class F> Library& def(const std::string& schema, F f) { return impl(schema, f); }
  Library& def(const std::string&) { return *this; }
  template <class F> Library& impl(const std::string& schema, F f) {
    antiphase::plain::python::add(antiphase::plain::python::name_in(schema), +f, {});
    return *this;
  }
};
}  // namespace torch
#define TORCH_FN(f) (&(f))
#define AP_JOINED(a, b) a##b
#define AP_JOIN(a, b) AP_JOINED(a, b)
#define AP_LIBRARY(m, number)                                       \
  static void AP_JOIN(antiphase_library_, number)(torch::Library&); \
  static const int AP_JOIN(antiphase_library_made_, number) = [] {  \
    torch::Library ap_library;                                      \
    AP_JOIN(antiphase_library_, number)(ap_library);                \
    return 0;                                                       \
  }();                                                              \
  static void AP_JOIN(antiphase_library_, number)(torch::Library & m)
#define TORCH_LIBRARY(name, m) AP_LIBRARY(m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(name, m) AP_LIBRARY(m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(name, where, m) AP_LIBRARY(m, __COUNTER__)
#define TORCH_EXTENSION_NAME antiphase_extension
#define PYBIND11_MODULE(name, m)                  \
  static void antiphase_bind(pybind11::module_&); \
  static const int antiphase_bound = [] {         \
    pybind11::module_ ap_module;                  \
    antiphase_bind(ap_module);                    \
    return 0;                                     \
  }();                                            \
  static void antiphase_bind([[maybe_unused]] pybind11::module_& m)
