// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "curand.h"

#include <antiphase/plain/letters.h>

namespace antiphase::plain {
// A generator in a kernel. Its numbers are any, so that the kinds differ in name and size alone.
template <int Words, int Kind> struct random_state : random_numbers { unsigned rest[Words - 6]; };
template <class S>
concept is_random_state = std::is_base_of_v<random_numbers, S>;
}  // namespace antiphase::plain
typedef antiphase::plain::random_state<12, 0> curandStateXORWOW, curandState, curandState_t,
    curandStateXORWOW_t;
typedef antiphase::plain::random_state<16, 1> curandStatePhilox4_32_10, curandStatePhilox4_32_10_t;
typedef antiphase::plain::random_state<18, 2> curandStateMRG32k3a, curandStateMRG32k3a_t;

#define AP_RANDOM template <antiphase::plain::is_random_state S> AP_VERB
AP_RANDOM void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                           S* s) {
  S fresh{};
  fresh.seed = seed, fresh.sequence = sequence, fresh.position = offset;
  *s = fresh;
}
AP_RANDOM unsigned curand(S* s) { return s->bits(); }
AP_RANDOM float curand_uniform(S* s) { return s->uniform(); }
AP_RANDOM double curand_uniform_double(S* s) { return s->uniform_double(); }
AP_RANDOM float curand_normal(S* s) { return static_cast<float>(s->normal()); }
AP_RANDOM double curand_normal_double(S* s) { return s->normal(); }
AP_RANDOM float curand_log_normal(S* s, float mean, float deviation) {
  return std::exp(mean + deviation * curand_normal(s));
}
AP_RANDOM double curand_log_normal_double(S* s, double mean, double deviation) {
  return std::exp(mean + deviation * s->normal());
}
AP_RANDOM unsigned curand_poisson(S* s, double mean) { return s->poisson(mean); }
#define AP_SEVERAL(name, type, of)                                \
  AP_RANDOM type##2 name##2##of(S* s) {                           \
    const auto x = name##of(s);                                   \
    return {x, name##of(s)};                                      \
  }                                                               \
  AP_RANDOM type##4 name##4##of(S* s) {                           \
    const auto x = name##of(s), y = name##of(s), z = name##of(s); \
    return {x, y, z, name##of(s)};                                \
  }
AP_SEVERAL(curand, uint, )
AP_SEVERAL(curand_uniform, float, )
AP_SEVERAL(curand_uniform, double, _double)
AP_SEVERAL(curand_normal, float, )
AP_SEVERAL(curand_normal, double, _double)
#undef AP_SEVERAL
AP_RANDOM float2 curand_log_normal2(S* s, float mean, float deviation) {
  const float x = curand_log_normal(s, mean, deviation);
  return {x, curand_log_normal(s, mean, deviation)};
}
AP_RANDOM void skipahead(unsigned long long n, S* s) { s->position += n; }
AP_RANDOM void skipahead_sequence(unsigned long long n, S* s) { s->sequence += n; }
#undef AP_RANDOM

#include <antiphase/plain/letters.h>
