! SPDX-License-Identifier: Apache-2.0
! A matrix product from Fortran, on the CPU executor. For arrays on a GPU, leave args%device as initialized.
program gemm
  use antiphase
  implicit none
  real(c_float), target :: a(300, 200), b(200, 100), c(300, 100)
  type(antiphase_sgemm_args) :: args
  a = 1.5
  b = 2.0
  args%device = antiphase_cpu
  args%m = 300; args%n = 100; args%k = 200
  args%a = c_loc(a); args%a_row_stride = 1; args%a_column_stride = 300
  args%b = c_loc(b); args%b_row_stride = 1; args%b_column_stride = 200
  args%c = c_loc(c); args%c_row_stride = 1; args%c_column_stride = 300
  if (antiphase_sgemm(args, c_null_ptr) /= antiphase_ok) error stop antiphase_last_message()
  print '(f5.1)', c(1, 1)
end program
