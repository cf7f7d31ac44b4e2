// SPDX-License-Identifier: Apache-2.0
// The part of cuBLASLt that the interposer uses, with the real names, arguments and version node: records its
// calls.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { FAKE_ATTRIBUTES = 40 };
// Attributes by number, each with its size in bytes; 0: unknown to this version.
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
