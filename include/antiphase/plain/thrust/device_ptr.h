// SPDX-License-Identifier: Apache-2.0
// Says what `antiphase check` does not follow.
#error antiphase check does not follow Thrust: use cudaMalloc, cudaMemcpy and kernels of the program
