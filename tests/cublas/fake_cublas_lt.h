// SPDX-License-Identifier: Apache-2.0
// The part of cuBLASLt that the interposer meets, with its names, arguments and version node: it writes down
// how it was called.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { FAKE_ATTRIBUTES = 40 };
// Attributes by number, each with the bytes that it is kept in; 0: this version does not know it.
typedef struct fake_attributes {
  uint64_t value[FAKE_ATTRIBUTES];
  size_t bytes[FAKE_ATTRIBUTES];
} fake_attributes;

typedef struct fake_lt_handle {
  int calls;
  const void* seen[16];  // the arguments of the last call
} fake_lt_handle;

int cublasLtMatmulDescGetAttribute(const fake_attributes*, int, void*, size_t, size_t*);
int cublasLtMatrixLayoutGetAttribute(const fake_attributes*, int, void*, size_t, size_t*);
int cublasLtMatmul(fake_lt_handle*, const fake_attributes* how, const void* alpha, const void* a,
                   const fake_attributes*, const void* b, const fake_attributes*, const void* beta,
                   const void* c, const fake_attributes*, void* d, const fake_attributes*,
                   const void* algorithm, void* workspace, size_t bytes, void* stream);
