// SPDX-License-Identifier: Apache-2.0
// Refuses a library that `antiphase check` does not support.
#error antiphase check does not follow Tensor Cores (wmma): use loops over shared memory
