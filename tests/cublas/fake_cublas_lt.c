// SPDX-License-Identifier: Apache-2.0
#include "fake_cublas_lt.h"

#include <string.h>

static int ask(const fake_attributes* of, int which, void* to, size_t bytes, size_t* written) {
  if (which < 0 || which >= FAKE_ATTRIBUTES || of->bytes[which] == 0 || of->bytes[which] != bytes) return 7;
  memcpy(to, &of->value[which], bytes);
  if (written != NULL) *written = bytes;
  return 0;
}
int cublasLtMatmulDescGetAttribute(const fake_attributes* of, int which, void* to, size_t bytes,
                                   size_t* written) {
  return ask(of, which, to, bytes, written);
}
int cublasLtMatrixLayoutGetAttribute(const fake_attributes* of, int which, void* to, size_t bytes,
                                     size_t* written) {
  return ask(of, which, to, bytes, written);
}
int cublasLtMatmul(fake_lt_handle* on, const fake_attributes* how, const void* alpha, const void* a,
                   const fake_attributes* of_a, const void* b, const fake_attributes* of_b, const void* beta,
                   const void* c, const fake_attributes* of_c, void* d, const fake_attributes* of_d,
                   const void* algorithm, void* workspace, size_t bytes, void* stream) {
  if (on == NULL) return 1;
  ++on->calls;
  const void* const all[] = {
      on,    how, alpha, a, of_a, b, of_b, beta, c, of_c, d, of_d, algorithm, workspace, (const void*)bytes,
      stream};
  memcpy(on->seen, all, sizeof all);
  return 0;
}
