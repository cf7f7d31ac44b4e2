// SPDX-License-Identifier: Apache-2.0
// A matrix product from C, on the CPU executor. For arrays on a GPU, leave args.device as it is initialized.
#include <antiphase.h>
#include <stdio.h>

int main(void) {
  static float a[300 * 200], b[200 * 100], c[300 * 100];
  for (int i = 0; i < 300 * 200; ++i) a[i] = 1.5f;
  for (int i = 0; i < 200 * 100; ++i) b[i] = 2.0f;
  antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
  args.device = ANTIPHASE_CPU;
  args.m = 300, args.n = 100, args.k = 200;
  args.a = a, args.b = b, args.c = c;
  if (antiphase_sgemm(&args, NULL) != ANTIPHASE_OK ||
      antiphase_synchronize(args.device, NULL) != ANTIPHASE_OK)
    return puts(antiphase_last_message()), 1;
  printf("%g\n", c[0]);
}
