// SPDX-License-Identifier: Apache-2.0
// torch's FP32 attention on GPUs, and its gradients: computed where that is predicted to be faster.
// torch.nn.functional.scaled_dot_product_attention calls these two operators for float32. Ours take and
// return what torch's do, so that either half may be torch's.
#include <antiphase.h>

#include <algorithm>

#include "preload/torch/operators.hpp"

namespace antiphase::torch {
namespace {

using attention_forward = std::tuple<owned, owned, owned, owned>(const borrowed& q, const borrowed& k,
                                                                 const borrowed& v,
                                                                 const std::optional<borrowed>& bias,
                                                                 bool compute_logsumexp, double dropout,
                                                                 bool is_causal, std::optional<double> scale);
using attention_backward_of_torch = std::tuple<owned, owned, owned, owned>(
    const borrowed& grad, const borrowed& q, const borrowed& k, const borrowed& v, const borrowed& bias,
    const borrowed& out, const borrowed& logsumexp, const borrowed& seed, const borrowed& offset,
    double dropout, std::array<bool, 4> gradients, bool is_causal, std::optional<double> scale);
constinit attention_forward* original_forward = nullptr;
constinit attention_backward_of_torch* original_backward = nullptr;

// Products of queries and keys, times depth. Queries that are alone come with more keys at each step, as text
// is generated: no call is like another, and with fewer products none is worth a question.
constexpr std::int64_t least_work = std::int64_t{1} << 25;

struct attention_decision : decision {
  antiphase_attention_args call = ANTIPHASE_ATTENTION_ARGS_INIT;  // without addresses
  std::size_t workspace = 0;
};
constinit decisions<attention_decision> known;

struct attention_call {
  const tensor &q, &k, &v;
  const tensor* bias;  // null: none
  bool is_causal;
  std::optional<double> scale;
  // of the backward pass, else null
  const tensor* out = nullptr;
  const tensor* grad = nullptr;
  bool of_bias = false;  // the bias's gradient is asked for, too
};

// All heads of a row lie next to each other, as torch's own kernels lay them.
using four = std::array<std::int64_t, 4>;
four strides_by_rows(std::span<const std::int64_t> s) { return {s[1] * s[2] * s[3], s[3], s[1] * s[3], 1}; }
tensor by_rows(std::span<const std::int64_t> sizes, const location& where) {
  return empty(sizes, strides_by_rows(sizes), loaded().float32, where);
}

std::int64_t step(std::int64_t stride) { return stride == 0 ? ANTIPHASE_REPEATED : stride; }
template <class Rows> void lay(Rows& rows, std::span<const std::int64_t> strides) {
  rows.member_stride = step(strides[0]), rows.head_stride = step(strides[1]);
  rows.row_stride = step(strides[2]);
}

// Rows can be read in place. Gradients of a sum cannot: they are one number with strides of 0.
bool is_readable(const tensor& x) {
  const std::span<const std::int64_t> strides = x.strides();
  return (x.sizes()[3] <= 1 || strides[3] == 1) && std::ranges::min(strides) >= 0;
}

bool has_shape(const tensor& x, const four& sizes) { return std::ranges::equal(x.sizes(), sizes); }

bool fits(const attention_call& c) {
  const std::span<const std::int64_t> q = c.q.sizes(), k = c.k.sizes();
  if (q.size() != 4 || k.size() != 4 || !std::ranges::equal(k, c.v.sizes())) return false;
  const four keys{q[0], q[1], k[2], q[3]};
  if (!has_shape(c.k, keys) || std::ranges::min(q) == 0 || k[2] == 0) return false;
  if (c.bias != nullptr) {
    const std::span<const std::int64_t> bias = c.bias->sizes(), strides = c.bias->strides();
    const four most{q[0], q[1], q[2], k[2]};
    if (bias.size() != 4) return false;
    for (std::size_t i = 0; i < 4; ++i)
      if ((bias[i] != 1 && bias[i] != most[i]) || strides[i] < 0) return false;
    if (c.of_bias && !has_shape(*c.bias, most)) return false;  // torch's has its shape
  }
  for (const tensor* of_queries : {c.out, c.grad})
    if (of_queries != nullptr && !std::ranges::equal(of_queries->sizes(), q)) return false;
  if (c.out != nullptr && !is_readable(*c.out)) return false;
  return is_readable(c.q) && is_readable(c.k) && is_readable(c.v);
}

// torch's own logsumexp has rows of a multiple of 32 elements, and infinity after the last query.
std::int64_t padded(std::int64_t queries) { return (queries + 31) / 32 * 32; }

// The arguments, without addresses.
antiphase_attention_args described(const attention_call& c) {
  antiphase_attention_args args = ANTIPHASE_ATTENTION_ARGS_INIT;
  const std::span<const std::int64_t> q = c.q.sizes(), k = c.k.sizes(), v = c.v.sizes();
  args.members = q[0], args.heads = q[1], args.queries = q[2], args.keys = k[2], args.depth = q[3];
  args.causal = c.is_causal ? ANTIPHASE_CAUSAL_TOP_LEFT : ANTIPHASE_ALL_KEYS;
  args.scale = static_cast<float>(c.scale.value_or(0)), args.scale_given = c.scale ? 1 : 0;
  lay(args.q, c.q.strides()), lay(args.k, c.k.strides()), lay(args.v, c.v.strides());
  if (c.bias != nullptr) {
    const std::span<const std::int64_t> sizes = c.bias->sizes(), strides = c.bias->strides();
    const auto shared = [&](std::size_t i) { return step(sizes[i] > 1 ? strides[i] : 0); };
    args.bias = {nullptr, shared(0), shared(1), shared(2), shared(3)};
  }
  if (c.grad == nullptr) {
    lay(args.out, strides_by_rows(q));
    args.logsumexp_stride = padded(args.queries);
    return args;
  }
  lay(args.out, c.out->strides());
  if (is_readable(*c.grad))
    lay(args.out_gradient, c.grad->strides());
  else  // it is copied
    lay(args.out_gradient, strides_by_rows(q));
  lay(args.q_gradient, strides_by_rows(q)), lay(args.k_gradient, strides_by_rows(k));
  lay(args.v_gradient, strides_by_rows(v));
  return args;
}

// The addresses of operands.
void point(antiphase_attention_args& args, const attention_call& c) {
  args.q.data = c.q.data<const float>(), args.k.data = c.k.data<const float>();
  args.v.data = c.v.data<const float>();
  if (c.bias != nullptr) args.bias.data = c.bias->data<const float>();
  if (c.grad == nullptr) return;
  args.out.data = const_cast<float*>(c.out->data<const float>());  // it is only read
  args.out_gradient.data = c.grad->data<const float>();
}

// Addresses of results that are not there yet, to ask what a call would do.
void make_up_results(antiphase_attention_args& args, const attention_call& c) {
  std::uint64_t next = std::uint64_t{1} << 50;
  const auto address = [&] { return std::bit_cast<float*>(next += std::uint64_t{1} << 50); };
  args.logsumexp = address();
  if (c.grad == nullptr)
    args.out.data = address();
  else
    args.q_gradient.data = address(), args.k_gradient.data = address(), args.v_gradient.data = address();
  if (c.of_bias) args.bias_gradient.data = address();
}

attention_decision decided(const attention_call& c, const location& where, bool is_captured) {
  attention_decision d;
  if (!fits(c)) return d;
  d.call = described(c);
  d.call.device = where.device();
  antiphase_attention_args asked = d.call;
  point(asked, c);
  make_up_results(asked, c);
  double predicted = 0, ours = 0, torchs = 0;
  int wins = 0;
  // antiphase does not compute it
  if (antiphase_attention_workspace(&asked, &d.workspace) != ANTIPHASE_OK) return d;
  constexpr int several = 4;
  const int launches = is_captured ? 0 : d.workspace == 0 ? 1 : several;
  if (antiphase_attention_predict(&asked, &predicted) != ANTIPHASE_OK ||
      antiphase_torch_attention_compare(d.call.device, c.grad != nullptr, asked.members, asked.heads,
                                        asked.queries, asked.keys, asked.depth, c.is_causal,
                                        c.bias != nullptr, launches, predicted, &ours, &torchs,
                                        &wins) != ANTIPHASE_OK)
    return d;
  decide(d, attention_operators(), where, wins != 0, torchs - ours);
  return d;
}

// Null: passed on without a question.
std::shared_ptr<const attention_decision> decision_of(const attention_call& c, const location& where) {
  const std::int32_t type = loaded().float32;
  for (const tensor* x : {&c.q, &c.k, &c.v, c.bias, c.out, c.grad})
    if (x != nullptr && (x->dtype() != type || x->dim() != 4)) return nullptr;
  if (allows_tf32()) return nullptr;
  const bool all = attention_operators().takes_all, is_captured = where.is_captured();
  if (!all && !is_captured && c.q.sizes()[2] == 1 && c.k.numel() < least_work) return nullptr;
  call_words call;
  call.add(where.type, where.index, c.is_causal, c.of_bias, all, is_captured, c.scale.has_value(),
           std::bit_cast<std::int64_t>(c.scale.value_or(0)));
  for (const tensor* x : {&c.q, &c.k, &c.v}) call.add(*x);
  for (const tensor* x : {c.bias, c.out, c.grad}) {
    call.add(x != nullptr);
    if (x != nullptr) call.add(*x);
  }
  return known.find(call, [&] { return decided(c, where, is_captured); });
}

// Makes a call that has its addresses.
using entry = antiphase_status(const antiphase_attention_args*, antiphase_stream);
void run(entry* call, antiphase_attention_args& args, const attention_decision& d, const location& where) {
  tensor memory;  // has an owner only until the work is queued: torch reuses it in the order of the stream
  if (d.workspace != 0 && !where.on_cpu()) {
    const std::int64_t size = static_cast<std::int64_t>(d.workspace), one = 1;
    memory = empty({&size, 1}, {&one, 1}, loaded().uint8, where);
    args.workspace = memory.data<void>(), args.workspace_size = d.workspace;
  }
  const antiphase_stream queue = where.current_stream();
  require_ours(call(&args, queue));
  if (where.on_cpu()) require_ours(antiphase_synchronize(ANTIPHASE_CPU, queue));
}

// ---- Forward
// -----------------------------------------------------------------------------------------------------------

using four_tensors = std::array<tensor, 4>;

four_tensors made(const attention_call& c, const attention_decision& d, const location& where,
                  bool compute_logsumexp) {
  antiphase_attention_args args = d.call;
  const std::int64_t row = compute_logsumexp ? args.logsumexp_stride : 0;
  tensor out = by_rows(c.q.sizes(), where),
         logsumexp = empty(std::array{args.members, args.heads, row},
                           std::array{args.heads * row, row, std::int64_t{1}}, loaded().float32, where);
  point(args, c);
  args.out.data = out.data<float>();
  if (compute_logsumexp) args.logsumexp = logsumexp.data<float>();
  // Of dropout, which there is none of. In a captured graph they are on the device, as torch's own.
  const location of_state = where.is_captured() ? where : location{loaded().cpu, 0};
  tensor seed = empty({}, {}, loaded().int64, of_state), offset = empty({}, {}, loaded().int64, of_state);
  run(antiphase_attention, args, d, where);
  return {std::move(out), std::move(logsumexp), std::move(seed), std::move(offset)};
}

void forward(word* stack, std::uint64_t, std::uint64_t) {
  arguments a(stack);
  const tensor q = a.a_tensor(), k = a.a_tensor(), v = a.a_tensor(), bias = a.tensor_or_none();
  const bool compute_logsumexp = a.boolean();
  const double dropout = a.real();
  const bool is_causal = a.boolean();
  const std::optional<double> scale = a.real_or_none();
  operators& family = attention_operators();
  if (dropout == 0) {
    const bool biased = static_cast<bool>(bias) && bias.defined();
    const attention_call c{
        .q = q, .k = k, .v = v, .bias = biased ? &bias : nullptr, .is_causal = is_causal, .scale = scale};
    const location where = location_of(q);
    if (const auto asked = decision_of(c, where))
      if (auto results = computed(family, *asked, [&](const attention_decision& d) {
            return made(c, d, where, compute_logsumexp);
          }))
        return std::apply([&](auto&... each) { give_all(stack, each...); }, *results);
  }
  passed(family);
  give(stack, original_forward(q.as_argument(), k.as_argument(), v.as_argument(),
                               bias ? std::optional(bias.as_argument()) : std::nullopt, compute_logsumexp,
                               dropout, is_causal, scale));
}

// ---- Backward
// -----------------------------------------------------------------------------------------------------------

// From the first query of a head to that of the next, in a logsumexp whose heads are that far apart.
std::int64_t stride_of_heads(const tensor& logsumexp, const antiphase_attention_args& p) {
  const std::span<const std::int64_t> sizes = logsumexp.sizes(), strides = logsumexp.strides();
  if (logsumexp.dtype() == loaded().float32 && sizes.size() == 3 && sizes[0] == p.members &&
      sizes[1] == p.heads && sizes[2] >= p.queries && (p.queries == 1 || strides[2] == 1)) {
    const std::int64_t stride = p.heads > 1 ? strides[1] : p.members > 1 ? strides[0] : sizes[2];
    if (stride >= p.queries && (p.members == 1 || strides[0] == p.heads * stride)) return stride;
  }
  throw std::runtime_error("the logsumexp is not that of the queries");
}

four_tensors made(const attention_call& c, const attention_decision& d, const location& where,
                  const tensor& logsumexp) {
  antiphase_attention_args args = d.call;
  args.logsumexp = const_cast<float*>(logsumexp.data<const float>());  // it is only read
  args.logsumexp_stride = stride_of_heads(logsumexp, args);
  tensor q = by_rows(c.q.sizes(), where), k = by_rows(c.k.sizes(), where), v = by_rows(c.v.sizes(), where);
  handle none = nullptr;
  require(loaded().new_tensor(&none));
  tensor of_bias(none), grad;
  if (c.of_bias) {
    const std::span<const std::int64_t> s = c.bias->sizes();
    of_bias = empty(s, four{s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}, loaded().float32, where);
    args.bias_gradient.data = of_bias.data<float>();
  }
  point(args, c);
  if (!is_readable(*c.grad)) {
    grad = by_rows(c.q.sizes(), where);
    require(loaded().copy(grad.get(), c.grad->get(), 0));
    args.out_gradient.data = grad.data<float>();
  }
  args.q_gradient.data = q.data<float>(), args.k_gradient.data = k.data<float>();
  args.v_gradient.data = v.data<float>();
  run(antiphase_attention_backward, args, d, where);
  return {std::move(q), std::move(k), std::move(v), std::move(of_bias)};
}

void backward(word* stack, std::uint64_t, std::uint64_t) {
  arguments a(stack);
  const tensor grad = a.a_tensor(), q = a.a_tensor(), k = a.a_tensor(), v = a.a_tensor(), bias = a.a_tensor(),
               out = a.a_tensor(), logsumexp = a.a_tensor(), seed = a.a_tensor(), offset = a.a_tensor();
  const double dropout = a.real();
  const std::array<bool, 4> gradients = a.four_booleans();
  const bool is_causal = a.boolean();
  const std::optional<double> scale = a.real_or_none();
  operators& family = attention_operators();
  const bool biased = bias.defined();
  if (dropout == 0 && (biased || !gradients[3]) && grad.defined()) {
    const attention_call c{.q = q,
                           .k = k,
                           .v = v,
                           .bias = biased ? &bias : nullptr,
                           .is_causal = is_causal,
                           .scale = scale,
                           .out = &out,
                           .grad = &grad,
                           .of_bias = gradients[3]};
    const location where = location_of(q);
    if (const auto asked = decision_of(c, where))
      if (auto results = computed(family, *asked,
                                  [&](const attention_decision& d) { return made(c, d, where, logsumexp); }))
        return std::apply([&](auto&... each) { give_all(stack, each...); }, *results);
  }
  passed(family);
  give(stack,
       original_backward(grad.as_argument(), q.as_argument(), k.as_argument(), v.as_argument(),
                         bias.as_argument(), out.as_argument(), logsumexp.as_argument(), seed.as_argument(),
                         offset.as_argument(), dropout, gradients, is_causal, scale));
}

// Signatures of C++, mangled: a torch whose kernels take something else has no such names.
constexpr operators::overridden all[] = {
    {"_scaled_dot_product_efficient_attention", forward,
     [](const std::string& key) {
       original_forward = own_kernel<attention_forward>(
           key == "CPU" ? "CUDA" : key,
           "39_scaled_dot_product_efficient_attentionERKNS_6TensorES3_S3_RKSt8optionalIS1_EbdbS4_IdE");
     }},
    {"_scaled_dot_product_efficient_attention_backward", backward, [](const std::string& key) {
       original_backward =
           own_kernel<attention_backward_of_torch>(key == "CPU" ? "CUDA" : key,
                                                   "48_scaled_dot_product_efficient_attention_backwardERKNS_"
                                                   "6TensorES3_S3_S3_S3_S3_S3_S3_S3_dSt5arrayIbLm4"
                                                   "EEbSt8optionalIdE");
     }}};

}  // namespace

operators& attention_operators() {
  static constinit operators one{.all = all};
  return one;
}

}  // namespace antiphase::torch
