// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker. Every generator is the
// same one here, of other numbers than cuRAND's: the same in each run.
#pragma once
#define CURAND_H_  // helper_cuda.h of the samples asks for it
#define CURAND_VER_MAJOR 10
#define CURAND_VER_MINOR 3
#define CURAND_VER_PATCH 0
#define CURAND_VERSION 10300
#include <antiphase/plain/libraries.h>

#include <antiphase/plain/letters.h>

enum curandStatus {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999
};
typedef curandStatus curandStatus_t;
enum curandRngType {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
};
typedef curandRngType curandRngType_t;
enum curandOrdering {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_SEEDED = 102,
  CURAND_ORDERING_PSEUDO_LEGACY = 103,
  CURAND_ORDERING_PSEUDO_DYNAMIC = 104
};
typedef curandOrdering curandOrdering_t;

namespace antiphase::plain {
// Numbers by their position in a sequence.
struct random_numbers {
  unsigned long long seed, sequence, position;

  static unsigned long long mixed(unsigned long long x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
  }
  unsigned bits() {
    const unsigned long long start =
        mixed(seed + 0x9E3779B97F4A7C15u) ^ mixed(sequence + 0xD1B54A32D192ED03u);
    return static_cast<unsigned>(mixed(start + 0x9E3779B97F4A7C15u * ++position) >> 32);
  }
  // in (0, 1], as cuRAND's
  float uniform() { return static_cast<float>((bits() >> 8) + 1) * 0x1p-24f; }
  double uniform_double() {
    const unsigned long long high = bits();
    return static_cast<double>((high << 21 ^ bits() >> 11) + 1) * 0x1p-53;
  }
  double normal() {
    const double r = std::sqrt(-2 * std::log(uniform_double()));
    return r * std::cos(6.283185307179586 * uniform_double());
  }
  unsigned poisson(double mean) {
    if (mean > 500) {
      const double n = mean + std::sqrt(mean) * normal() + 0.5;
      return n > 0 ? static_cast<unsigned>(n) : 0;
    }
    unsigned n = 0;
    for (double p = uniform_double(); p > std::exp(-mean); p *= uniform_double()) ++n;
    return n;
  }
};
enum class random_kind {
  bits,
  wide_bits,
  uniform,
  uniform_double,
  normal,
  normal_double,
  log_normal,
  log_normal_double,
  poisson
};
void fill_random(void* to, std::size_t n, random_kind kind, double a, double b, unsigned long long seed,
                 unsigned long long first);
}  // namespace antiphase::plain

struct antiphase_plain_curand {
  unsigned long long seed = 0, position = 0;
  cudaStream_t stream = nullptr;
  bool on_host = false;
};
typedef antiphase_plain_curand* curandGenerator_t;

#define AP_RANDOM AP_C_OR_INLINE curandStatus_t
AP_RANDOM curandCreateGenerator(curandGenerator_t* g, curandRngType_t type) {
  if (type >= CURAND_RNG_QUASI_DEFAULT)
    antiphase::plain::refuse_use("a generator of quasi-random numbers", "one of pseudo-random numbers");
  return *g = new antiphase_plain_curand, CURAND_STATUS_SUCCESS;
}
AP_RANDOM curandCreateGeneratorHost(curandGenerator_t* g, curandRngType_t type) {
  const curandStatus_t s = curandCreateGenerator(g, type);
  (*g)->on_host = true;
  return s;
}
AP_RANDOM curandDestroyGenerator(curandGenerator_t g) { return delete g, CURAND_STATUS_SUCCESS; }
AP_RANDOM curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long seed) {
  return g->seed = seed, g->position = 0, CURAND_STATUS_SUCCESS;
}
AP_RANDOM curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset) {
  return g->position = offset, CURAND_STATUS_SUCCESS;
}
AP_RANDOM curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t) { return CURAND_STATUS_SUCCESS; }
AP_RANDOM curandSetStream(curandGenerator_t g, cudaStream_t s) {
  return g->stream = s, CURAND_STATUS_SUCCESS;
}
AP_RANDOM curandGenerateSeeds(curandGenerator_t) { return CURAND_STATUS_SUCCESS; }
AP_RANDOM curandGetVersion(int* v) { return *v = 10300, CURAND_STATUS_SUCCESS; }
// `group`: n is a multiple of it, as Box and Muller's transformation makes pairs.
#define AP_GENERATE(Name, T, kind, a, b, group, ...)                        \
  AP_RANDOM Name(curandGenerator_t g, T* to, std::size_t n __VA_ARGS__) {   \
    namespace ap = antiphase::plain;                                        \
    if (n % group != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;           \
    const unsigned long long first = g->position;                           \
    g->position += 4 * n;                                                   \
    if (g->on_host) {                                                       \
      T* const all = new T[n];                                              \
      ap::fill_random(all, n, ap::random_kind::kind, a, b, g->seed, first); \
      memcpy(to, all, n * sizeof(T));                                       \
      delete[] all;                                                         \
    } else {                                                                \
      ap::kept_kernel(#Name, g->stream, [=, seed = g->seed] {               \
        ap::library_writes(to, n * sizeof(T));                              \
        ap::fill_random(to, n, ap::random_kind::kind, a, b, seed, first);   \
      });                                                                   \
    }                                                                       \
    return CURAND_STATUS_SUCCESS;                                           \
  }
#define AP_SPREAD(T) , T mean, T deviation
AP_GENERATE(curandGenerate, unsigned, bits, 0, 0, 1)
AP_GENERATE(curandGenerateLongLong, unsigned long long, wide_bits, 0, 0, 1)
AP_GENERATE(curandGenerateUniform, float, uniform, 0, 0, 1)
AP_GENERATE(curandGenerateUniformDouble, double, uniform_double, 0, 0, 1)
AP_GENERATE(curandGeneratePoisson, unsigned, poisson, mean, 0, 1, , double mean)
AP_GENERATE(curandGenerateNormal, float, normal, mean, deviation, 2, AP_SPREAD(float))
AP_GENERATE(curandGenerateNormalDouble, double, normal_double, mean, deviation, 2, AP_SPREAD(double))
AP_GENERATE(curandGenerateLogNormal, float, log_normal, mean, deviation, 2, AP_SPREAD(float))
AP_GENERATE(curandGenerateLogNormalDouble, double, log_normal_double, mean, deviation, 2, AP_SPREAD(double))
#undef AP_SPREAD
#undef AP_GENERATE
#undef AP_RANDOM

#include <antiphase/plain/letters.h>
