// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/products.hpp"

#include <antiphase.h>

#include <optional>

#include "preload/cublas/decision.hpp"
#include "preload/cublas/interpose/layers.hpp"
#include "preload/cublas/report/timer.hpp"
#include "preload/cublas/report/verify.hpp"
#include "preload/cublas/settings.hpp"
#include "preload/cublas/triangles.hpp"

namespace antiphase::cublas {
namespace {

thread_local int originals_under_way = 0;

bool is_sensible(const product& p) {
  const auto known = [](int op) { return op == as_it_is || op == is_transposed || op == is_conjugate; };
  if (!known(p.op_a) || !known(p.op_b)) return false;
  if (p.m <= 0 || p.n <= 0 || p.k <= 0 || p.count <= 0 || p.alpha == nullptr || p.beta == nullptr)
    return false;
  if (p.by_pointers && (p.a == nullptr || p.b == nullptr || p.c == nullptr)) return false;
  return p.lda >= (p.op_a == as_it_is ? p.m : p.k) && p.ldb >= (p.op_b == as_it_is ? p.k : p.n) &&
         p.ldc >= p.m;
}

// Reason not to take a product, from its arguments alone; `computed`: none.
outcome told_by_arguments(const product& p) {
  if (p.kind != family::product) return told_by_triangle(p);
  if (!p.is_16_bit()) {
    if (!p.is_f32()) return outcome::not_fp32;
    if (const outcome why = refusal_of(asked_by_compute(p.compute)); why != outcome::computed) return why;
  }
  if (!is_sensible(p)) return outcome::unusual;
  return is_small(p.m, p.n, p.k) ? outcome::small : outcome::computed;
}

antiphase_sgemm_args arguments_of(const product& p) {
  antiphase_sgemm_args x = arguments_as_said();
  x.m = p.m, x.n = p.n, x.k = p.k;
  const auto place = [](std::int64_t& row_stride, std::int64_t& column_stride, std::int64_t ld,
                        bool transposed) {
    row_stride = transposed ? ld : 1, column_stride = transposed ? 1 : ld;
  };
  if (p.by_pointers) {
    x.a_members = static_cast<const float* const*>(p.a), x.b_members = static_cast<const float* const*>(p.b);
    x.c_members = static_cast<float* const*>(p.c);
  } else {
    x.a = static_cast<const float*>(p.a), x.b = static_cast<const float*>(p.b);
    x.c = static_cast<float*>(const_cast<void*>(p.c));
  }
  place(x.a_row_stride, x.a_column_stride, p.lda, p.op_a != as_it_is);
  place(x.b_row_stride, x.b_column_stride, p.ldb, p.op_b != as_it_is);
  place(x.c_row_stride, x.c_column_stride, p.ldc, false);
  x.batch = p.count, x.a_batch_stride = p.step_a, x.b_batch_stride = p.step_b, x.c_batch_stride = p.step_c;
  return said().batch_invariant && !p.by_pointers ? transposed(x) : x;
}

// Adds the factors, which are host pointers.
void add_factors(antiphase_sgemm_args& x, const void* alpha, const void* beta) {
  x.alpha = *static_cast<const float*>(alpha), x.beta = *static_cast<const float*>(beta);
}

// Computes a request that is worth it.
outcome compute(const request& r, decision& d) {
  if (r.of_triangle != nullptr) return outcome_of_parts(*r.of_triangle, d.block, r.stream);
  const antiphase_status status = antiphase_sgemm(&r.args, r.stream);
  if (status == ANTIPHASE_NOT_SUPPORTED) d.eager = d.captured = outcome::refused;  // so will it be later
  return outcome_of(status);
}

struct original_call {
  int (*call)(void*, void*);
  void* context;
  int operator()(void* in_place_of_c = nullptr) const { return call(context, in_place_of_c); }
};

int passed_on(const original_call& original, const listed_product& as, outcome why,
              const prediction& predicted) {
  count(why);
  if (said().lists()) list(as, why, predicted);
  return original();
}

// Times the original, and records what would have become of the product.
int profiled(const original_call& original, const listed_product& as, outcome what,
             const prediction& predicted, antiphase_stream on) {
  count(what, predicted);
  list(as, what, predicted);
  timing time(on);
  const int status = original();
  time.ends_with(kind_of(as), as, what, predicted);
  return status;
}

// Tries to compute by antiphase. The status if it did, or if it failed and C is undefined; nullopt: call the
// original.
std::optional<int> computed(const request& r, decision& d, outcome& what) {
  what = compute(r, d);
  if (what != outcome::computed && what != outcome::failed) return std::nullopt;
  count(what, d.predicted);
  if (what == outcome::computed) count_computed(kind_of(r.listed));
  if (said().lists()) list(r.listed, what, d.predicted);
  return what == outcome::computed ? status_success : status_execution_failed;
}

void compare(const original_call& original, const request& r, const verification& both) {
  const double difference =
      both.is_possible() && original(both.in_place_of_c()) == status_success ? both.difference() : -1;
  if (difference < 0)
    count_not_verified();
  else
    count_verified(r.listed, difference);
}

// A product in 16 bits, as a linear layer.
int layer(const original_call& original, const request& r) {
  const antiphase_linear_args x = layer_of(r);
  const outcome what = outcome_of(antiphase_linear(&x, r.stream));
  if (what != outcome::computed && what != outcome::failed) return passed_on(original, r.listed, what, {});
  count(what);
  if (said().lists()) list(r.listed, what, {});
  return what == outcome::computed ? status_success : status_execution_failed;
}

int carried_out_now(const reading& all, const original_call& original) {
  if (const auto* const no = std::get_if<refusal>(&all))
    return said().profiles ? profiled(original, no->listed, no->why, no->predicted, no->stream)
                           : passed_on(original, no->listed, no->why, no->predicted);
  const request& r = std::get<request>(all);
  if (r.type != type_f32) return layer(original, r);
  decision of_triangle;
  if (r.of_triangle != nullptr) of_triangle = decision_of(*r.of_triangle);
  decision& d = r.of_triangle != nullptr ? of_triangle : decision_of(r.args);
  outcome what = d.outcome_on(r.stream);
  if (said().profiles) return profiled(original, r.listed, what, d.predicted, r.stream);
  if (what != outcome::computed) return passed_on(original, r.listed, what, d.predicted);
  std::optional<verification> both;
  if (should_verify()) both.emplace(r.args, r.stream);
  const std::optional<int> status = computed(r, d, what);
  if (!status) return passed_on(original, r.listed, what, d.predicted);
  if (both && what == outcome::computed) compare(original, r, *both);
  return *status;
}

}  // namespace

antiphase_sgemm_args arguments_as_said() {
  antiphase_sgemm_args x = ANTIPHASE_SGEMM_ARGS_INIT;
  x.device = said().device;
  x.precision = said().precision;
  x.if_weaker = ANTIPHASE_REFUSE_WEAKER;
  if (said().batch_invariant) x.reproducible = ANTIPHASE_BATCH_INVARIANT;
  return x;
}
outcome asked_of(const original& of, handle of_caller, bool is_16_bit, antiphase_stream& on) {
  int pointers = -1, math = -1;
  if (of.math_mode(of_caller, &math) != status_success) return outcome::unusual;
  if (!is_16_bit)
    if (const outcome why = refusal_of(asked_by_math(math)); why != outcome::computed) return why;
  if (of.pointer_mode(of_caller, &pointers) != status_success) return outcome::unusual;
  if (pointers != pointers_of_host) return outcome::factors;
  return of.stream(of_caller, &on) == status_success ? outcome::computed : outcome::unusual;
}
outcome outcome_of(antiphase_status status) {
  switch (status) {
    case ANTIPHASE_OK: return outcome::computed;
    case ANTIPHASE_OUT_OF_MEMORY: return outcome::no_memory;
    case ANTIPHASE_NOT_SUPPORTED:
    case ANTIPHASE_BAD_REQUEST: return outcome::refused;  // overlapping matrices
    default: return outcome::failed;
  }
}

passing_on::passing_on() noexcept { ++originals_under_way; }
passing_on::~passing_on() { --originals_under_way; }

reading request_of(const original& of, function by, handle of_caller, const product& p) {
  const listed_product as{
      by,  p.m,   p.n, p.k, p.count, p.op_a == as_it_is ? 'N' : 'T', p.op_b == as_it_is ? 'N' : 'T',
      'N', false, 0};
  refusal otherwise{.why = outcome::no_gain, .listed = as};
  const auto no = [&](outcome why) { return otherwise.why = why, otherwise; };
  if (said().profiles && of.is_whole() && of_caller != nullptr) of.stream(of_caller, &otherwise.stream);
  if (const outcome why = told_by_arguments(p); why != outcome::computed) return no(why);
  if (!of.is_whole() || of_caller == nullptr) return no(outcome::unusual);
  request r{arguments_of(p), nullptr, as};
  if (p.is_16_bit()) r.type = p.type_a, r.result = p.type_c;
  // Only the handle knows where the factors are; it is asked only if the product may be worth it.
  if (!said().profiles && !p.is_16_bit()) {
    const decision* outlook = known_outlook_of(r.args);
    if (outlook == nullptr) {
      // A new shape is checked with the factors of this call if they are host pointers: one decision is
      // enough then.
      request first = r;
      if (asked_of(of, of_caller, false, first.stream) == outcome::computed) {
        add_factors(first.args, p.alpha, p.beta);
        decision_of(first.args);
      }
      outlook = &outlook_of(r.args);
    }
    otherwise.predicted = outlook->predicted;
    if (!outlook->is_for_any()) return no(outlook->eager);
  }
  if (const outcome why = asked_of(of, of_caller, p.is_16_bit(), r.stream); why != outcome::computed)
    return no(why);
  add_factors(r.args, p.alpha, p.beta);
  r.listed.adds = r.args.beta != 0;
  if (p.is_16_bit() && !is_layer(r)) return no(outcome::unusual);
  return r;
}

bool is_considered() {
  if (originals_under_way == 0 && !said().disabled) return true;
  count(originals_under_way > 0 ? outcome::within_cublas : outcome::disabled);
  return false;
}

bool is_passed_on_at_once(const product& p) {
  const settings& s = said();
  if (s.lists() || s.disabled || originals_under_way > 0) return false;
  const outcome why = told_by_arguments(p);
  if (why != outcome::computed) count(why);
  return why != outcome::computed;
}

int carried_out(const reading& r, int (*call)(void*, void*), void* context) noexcept {
  return carried_out_now(r, {call, context});
}

}  // namespace antiphase::cublas
