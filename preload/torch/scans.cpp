// SPDX-License-Identifier: Apache-2.0
// torch's scans on GPUs, computed where that is predicted to be faster: cumsum, cumprod, cummax, cummin and
// logcumsumexp.
#include <antiphase.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "preload/torch/operators.hpp"

namespace antiphase::torch {
namespace {

using dtype_or_none = std::optional<std::int8_t>;
using cumulative = owned(const borrowed& x, std::int64_t axis, dtype_or_none);
using cumulative_out = borrowed&(const borrowed& x, std::int64_t axis, dtype_or_none, borrowed& out);
using cumulative_in_place = borrowed&(borrowed& x, std::int64_t axis, dtype_or_none);
using two_results = std::tuple<owned, owned>(const borrowed& x, std::int64_t axis);
using one_result = owned(const borrowed& x, std::int64_t axis);

// Elements: with fewer no time is predicted, which would take longer than the call.
constexpr std::int64_t least_elements = 512;

struct type_of_elements {
  int type;   // of antiphase.h; 0: it does not scan it
  int bytes;  // 0: unknown
  bool is_floating;
};
// By the numbers of torch's dtypes, which are stable.
type_of_elements type_of(std::int32_t dtype) {
  static constexpr type_of_elements all[] = {{ANTIPHASE_U8, 1, false},  {ANTIPHASE_I8, 1, false},
                                             {ANTIPHASE_I16, 2, false}, {ANTIPHASE_I32, 4, false},
                                             {ANTIPHASE_I64, 8, false}, {ANTIPHASE_F16, 2, true},
                                             {ANTIPHASE_F32, 4, true},  {ANTIPHASE_F64, 8, true}};
  if (dtype >= 0 && static_cast<std::size_t>(dtype) < std::size(all)) return all[dtype];
  if (dtype == loaded().bfloat16) return {ANTIPHASE_BF16, 2, true};
  if (dtype == loaded().boolean) return {0, 1, false};
  return {0, 0, false};
}

struct scan_decision : decision {
  antiphase_scan_args call = ANTIPHASE_SCAN_ARGS_INIT;  // without addresses
  std::int32_t from = 0, to = 0;        // dtypes of the elements that are scanned, and of the results
  bool converts = false;                // the operand is copied first, to `from`
  bool extremes = false;                // by antiphase's operator, which also finds their indices
  std::vector<std::int64_t> strides{};  // of the result
};
constinit decisions<scan_decision> known;

struct scan_call {
  int op;
  const tensor& x;
  std::int64_t axis;
  std::int32_t to;  // dtype of the result
};

std::int32_t result_type(int op, const tensor& x, dtype_or_none asked) {
  if (asked) return *asked;
  const std::int32_t of = x.dtype();
  const type_of_elements t = type_of(of);
  return (op == ANTIPHASE_SUM || op == ANTIPHASE_PRODUCT) && t.bytes != 0 && !t.is_floating ? loaded().int64
                                                                                            : of;
}

// The axes from outermost to innermost if the tensor is densely packed in that order.
std::optional<std::vector<std::size_t>> order_in_memory(const tensor& x) {
  const std::span<const std::int64_t> sizes = x.sizes(), strides = x.strides();
  std::vector<std::size_t> order(sizes.size()), longer;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::copy_if(order, std::back_inserter(longer), [&](std::size_t i) { return sizes[i] > 1; });
  std::vector<std::size_t> sorted = longer;
  std::ranges::stable_sort(sorted, [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  std::int64_t step = 1;
  for (std::size_t n = sorted.size(); n-- > 0; step *= sizes[sorted[n]])
    if (strides[sorted[n]] != step) return std::nullopt;
  // Axes of one element could go anywhere: they keep their places.
  for (std::size_t n = 0; n < longer.size(); ++n) order[longer[n]] = sorted[n];
  return order;
}

// How the scanned elements lie, and the result.
void lay_out(const scan_call& c, scan_decision& d) {
  const std::span<const std::int64_t> sizes = c.x.sizes();
  std::optional<std::vector<std::size_t>> order = order_in_memory(c.x);
  if (!order) {  // the copy has axes in their order
    d.converts = true;
    order.emplace(sizes.size());
    std::iota(order->begin(), order->end(), std::size_t{0});
  }
  const auto axis = static_cast<std::size_t>(c.axis);
  std::int64_t step = 1;
  d.strides.resize(sizes.size());
  bool is_after = true;
  d.call.inner = d.call.outer = 1;
  for (std::size_t n = order->size(); n-- > 0;) {
    const std::size_t i = (*order)[n];
    if (i == axis) {
      d.call.length = sizes[i];
      is_after = false;
    } else {
      (is_after ? d.call.inner : d.call.outer) *= sizes[i];
    }
    d.strides[i] = step;
    step *= sizes[i];
  }
}

// Whether antiphase reads elements of one type, in one line, and adds them up in another.
bool adds_wider(const scan_call& c, int from, int to) {
  antiphase_scan_args asked = ANTIPHASE_SCAN_ARGS_INIT;
  asked.device = location_of(c.x).device(), asked.type = from, asked.result_type = to;
  asked.length = c.x.numel();
  asked.in = std::bit_cast<void*>(std::uint64_t{1} << 50),
  asked.out = std::bit_cast<void*>(std::uint64_t{1} << 51);
  char text[4096];
  return antiphase_scan_explain(&asked, text, sizeof text) == ANTIPHASE_OK;
}

// What is scanned in which types.
bool choose_types(const scan_call& c, scan_decision& d) {
  const type_of_elements of = type_of(c.x.dtype()), to = type_of(c.to);
  const bool boolean_extremes = d.extremes && c.to == loaded().boolean;
  if (of.bytes == 0 || (to.type == 0 && !boolean_extremes)) return false;
  if (c.op == ANTIPHASE_LOG_SUM_EXP && !of.is_floating) return false;
  if (d.extremes) return true;
  d.from = d.to = c.to;
  if (c.op == ANTIPHASE_LOG_SUM_EXP && of.bytes == 2) d.from = d.to = loaded().float32;
  d.call.type = type_of(d.to).type;
  if (c.x.dtype() == d.from) return true;
  const bool is_one_line = c.x.numel() == c.x.sizes()[static_cast<std::size_t>(c.axis)];
  if (c.op == ANTIPHASE_SUM && of.type != 0 && is_one_line && adds_wider(c, of.type, to.type)) {
    d.from = c.x.dtype();
    d.call.type = of.type, d.call.result_type = to.type;
  } else {
    d.converts = true;
  }
  return true;
}

bool wins(const scan_call& c, int device, double& gain) {
  const bool is_extreme = c.op == ANTIPHASE_MAX || c.op == ANTIPHASE_MIN;
  const std::span<const std::int64_t> sizes = c.x.sizes();
  const auto axis = static_cast<std::size_t>(c.axis);
  const auto product = [&](std::size_t first, std::size_t end) {
    return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first),
                           sizes.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1},
                           std::multiplies<>());
  };
  int read = type_of(c.x.dtype()).bytes, written = type_of(c.to).bytes + (is_extreme ? 8 : 0);
  if (c.op == ANTIPHASE_LOG_SUM_EXP && read == 2) read = written = 10;  // converted before and after
  double ours = 0, torchs = 0;
  int found = 0;
  if (antiphase_torch_scan_compare(device, c.op, product(0, axis), sizes[axis],
                                   product(axis + 1, sizes.size()), read, written, &ours, &torchs,
                                   &found) != ANTIPHASE_OK)
    return false;
  gain = torchs - ours;
  return found != 0;
}

scan_decision decided(const scan_call& c, const location& where) {
  scan_decision d;
  d.extremes = c.op == ANTIPHASE_MAX || c.op == ANTIPHASE_MIN;
  d.call.operation = c.op, d.call.device = where.device();
  if (!choose_types(c, d)) return d;
  lay_out(c, d);
  double gain = 0;
  const bool ours_wins = wins(c, d.call.device, gain);
  decide(d, scan_operators(), where, ours_wins, gain);
  return d;
}

std::shared_ptr<const scan_decision> decision_of(const scan_call& c, const location& where) {
  const std::size_t axes = c.x.dim();
  if (axes == 0 || axes > call_words::most_axes || c.axis < 0 || c.axis >= static_cast<std::int64_t>(axes) ||
      c.x.numel() < least_elements)
    return nullptr;
  // The working memory of scans cannot be made in a captured stream.
  if (where.is_captured()) return nullptr;
  call_words call;
  call.add(where.type, where.index, c.op, c.x.dtype(), c.to, c.axis, scan_operators().takes_all.load());
  call.add(c.x);
  return known.find(call, [&] { return decided(c, where); });
}

// A copy of another dtype, densely packed.
tensor converted(const tensor& x, std::int32_t to) {
  const std::span<const std::int64_t> sizes = x.sizes();
  std::vector<std::int64_t> strides(sizes.size());
  const auto order = order_in_memory(x);
  std::int64_t step = 1;
  for (std::size_t n = sizes.size(); n-- > 0;) {
    const std::size_t i = order ? (*order)[n] : n;
    strides[i] = step;
    step *= sizes[i];
  }
  tensor made = empty(sizes, strides, to, location_of(x));
  require(loaded().copy(made.get(), x.get(), 0));
  return made;
}

bool lies_as(const tensor& x, const scan_decision& d) {
  const std::span<const std::int64_t> sizes = x.sizes(), strides = x.strides();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && strides[i] != d.strides[i]) return false;
  return true;
}

// The scan, in `out` where it can lie there.
tensor scanned(const scan_call& c, const scan_decision& d, const location& where, const tensor* out) {
  tensor copy, made;
  if (d.converts) copy = converted(c.x, d.from);
  const tensor& from = d.converts ? copy : c.x;
  const bool in_place = out != nullptr && d.to == c.to && lies_as(*out, d);
  if (!in_place) made = empty(c.x.sizes(), d.strides, d.to, where);
  antiphase_scan_args args = d.call;
  args.in = from.data<const void>(), args.out = (in_place ? *out : made).data<void>();
  const antiphase_stream queue = where.current_stream();
  require_ours(antiphase_scan(&args, queue));
  if (where.on_cpu()) require_ours(antiphase_synchronize(ANTIPHASE_CPU, queue));
  if (!in_place && d.to != c.to) made = converted(made, c.to);
  if (out != nullptr && !in_place) require(loaded().copy(out->get(), made.get(), 0));
  return made;
}

std::tuple<tensor, tensor> both_extremes(const scan_call& c) {
  word stack[] = {0, std::bit_cast<word>(c.axis), c.op == ANTIPHASE_MAX ? word{1} : word{0}};
  handle operand = nullptr;
  require(loaded().new_handle(c.x.get(), &operand));
  stack[0] = std::bit_cast<word>(operand);
  require(loaded().call_dispatcher("antiphase::running_extremes", "", stack, version));
  return {tensor(std::bit_cast<handle>(stack[0])), tensor(std::bit_cast<handle>(stack[1]))};
}

// An axis counted from the first; negative if there is none such.
std::int64_t counted_axis(std::int64_t axis, const tensor& x) {
  return axis < 0 ? axis + static_cast<std::int64_t>(x.dim()) : axis;
}

// What Make makes of a decision about a call, if it is to be computed.
template <class Make> auto computed_scan(const scan_call& c, Make make) {
  const location where = location_of(c.x);
  const std::shared_ptr<const scan_decision> asked = decision_of(c, where);
  operators& family = scan_operators();
  auto found = asked == nullptr
                   ? std::optional<decltype(make(*asked, where))>()
                   : computed(family, *asked, [&](const scan_decision& d) { return make(d, where); });
  if (!found) passed(family);
  return found;
}

// Gives the scan as a new tensor, or what `original` returns.
template <class Original> void give_new(word* stack, const scan_call& c, Original original) {
  if (auto made = computed_scan(
          c, [&](const scan_decision& d, const location& where) { return scanned(c, d, where, nullptr); }))
    give(stack, std::move(*made));
  else
    give(stack, original());
}
// Writes the scan to `out`; false if it is not computed here.
bool computed_into(const scan_call& c, tensor& out) {
  return computed_scan(
             c, [&](const scan_decision& d, const location& where) { return scanned(c, d, where, &out); })
      .has_value();
}

// ---- Forms of operators
// -----------------------------------------------------------------------------------------------------------

template <int Op> struct functional {
  static constinit inline cumulative* original = nullptr;
  static void override(word* stack, std::uint64_t, std::uint64_t) {
    arguments a(stack);
    const tensor x = a.a_tensor();
    const std::int64_t axis = a.integer();
    const dtype_or_none dtype = a.dtype_or_none();
    const scan_call c{Op, x, counted_axis(axis, x), result_type(Op, x, dtype)};
    give_new(stack, c, [&] { return original(x.as_argument(), axis, dtype); });
  }
};

template <int Op> struct to_out {
  static constinit inline cumulative_out* original = nullptr;
  static void override(word* stack, std::uint64_t, std::uint64_t) {
    arguments a(stack);
    const tensor x = a.a_tensor();
    const std::int64_t axis = a.integer();
    const dtype_or_none dtype = a.dtype_or_none();
    tensor out = a.a_tensor();
    const scan_call c{Op, x, counted_axis(axis, x), result_type(Op, x, dtype)};
    const bool fits = std::ranges::equal(out.sizes(), x.sizes()) && out.dtype() == c.to &&
                      location_of(out) == location_of(x);
    if (!fits || !computed_into(c, out)) original(x.as_argument(), axis, dtype, out.as_argument());
    give(stack, std::move(out));
  }
};

template <int Op> struct in_place {
  static constinit inline cumulative_in_place* original = nullptr;
  static void override(word* stack, std::uint64_t, std::uint64_t) {
    arguments a(stack);
    tensor x = a.a_tensor();
    const std::int64_t axis = a.integer();
    const dtype_or_none dtype = a.dtype_or_none();
    const scan_call c{Op, x, counted_axis(axis, x), result_type(Op, x, dtype)};
    if (c.to != x.dtype() || !computed_into(c, x)) original(x.as_argument(), axis, dtype);
    give(stack, std::move(x));
  }
};

template <int Op> struct with_indices {
  static constinit inline two_results* original = nullptr;
  static void override(word* stack, std::uint64_t, std::uint64_t) {
    arguments a(stack);
    const tensor x = a.a_tensor();
    const std::int64_t axis = a.integer();
    const scan_call c{Op, x, counted_axis(axis, x), x.dtype()};
    if (auto made = computed_scan(c, [&](const scan_decision&, const location&) { return both_extremes(c); }))
      give_all(stack, std::get<0>(*made), std::get<1>(*made));
    else
      give(stack, original(x.as_argument(), axis));
  }
};

struct of_logarithms {
  static constinit inline one_result* original = nullptr;
  static void override(word* stack, std::uint64_t, std::uint64_t) {
    arguments a(stack);
    const tensor x = a.a_tensor();
    const std::int64_t axis = a.integer();
    const scan_call c{ANTIPHASE_LOG_SUM_EXP, x, counted_axis(axis, x), x.dtype()};
    give_new(stack, c, [&] { return original(x.as_argument(), axis); });
  }
};

// A row; torch's kernel by its name and signature as mangled.
template <class Form, const char* Mangled> constexpr operators::overridden row(const char* name) {
  return {name, Form::override, [](const std::string& key) {
            Form::original = own_kernel<std::remove_pointer_t<decltype(Form::original)>>(key, Mangled);
          }};
}
constexpr char cumsum[] = "6cumsumERKNS_6TensorElSt8optionalIN3c1010ScalarTypeEE",
               cumsum_out[] = "11cumsum_outfERKNS_6TensorElSt8optionalIN3c1010ScalarTypeEERS1_",
               cumsum_in_place[] = "7cumsum_ERNS_6TensorElSt8optionalIN3c1010ScalarTypeEE",
               cumprod[] = "7cumprodERKNS_6TensorElSt8optionalIN3c1010ScalarTypeEE",
               cumprod_out[] = "12cumprod_outfERKNS_6TensorElSt8optionalIN3c1010ScalarTypeEERS1_",
               cumprod_in_place[] = "8cumprod_ERNS_6TensorElSt8optionalIN3c1010ScalarTypeEE",
               cummax[] = "6cummaxERKNS_6TensorEl", cummin[] = "6cumminERKNS_6TensorEl",
               logcumsumexp[] = "12logcumsumexpERKNS_6TensorEl";
constexpr operators::overridden all[] = {
    row<functional<ANTIPHASE_SUM>, cumsum>("cumsum"),
    row<to_out<ANTIPHASE_SUM>, cumsum_out>("cumsum.out"),
    row<in_place<ANTIPHASE_SUM>, cumsum_in_place>("cumsum_"),
    row<functional<ANTIPHASE_PRODUCT>, cumprod>("cumprod"),
    row<to_out<ANTIPHASE_PRODUCT>, cumprod_out>("cumprod.out"),
    row<in_place<ANTIPHASE_PRODUCT>, cumprod_in_place>("cumprod_"),
    row<with_indices<ANTIPHASE_MAX>, cummax>("cummax"),
    row<with_indices<ANTIPHASE_MIN>, cummin>("cummin"),
    row<of_logarithms, logcumsumexp>("logcumsumexp"),
};

}  // namespace

operators& scan_operators() {
  static constinit operators one{.all = all};
  return one;
}

}  // namespace antiphase::torch
