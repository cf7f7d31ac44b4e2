! SPDX-License-Identifier: Apache-2.0
! The Fortran module on the CPU executor: columns with a leading dimension, a scan, attention, and error reports.
program test_fortran
  use antiphase
  implicit none
  integer :: faults = 0
  call products()
  call scans()
  call attending()
  call mistakes()
  print '(i0, a)', faults, ' faults'
  if (faults /= 0) error stop

contains

  subroutine expect(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (.not. right) then
      faults = faults + 1
      print '(3a)', what, ': ', antiphase_last_message()
    end if
  end subroutine

  subroutine products()
    integer, parameter :: m = 13, n = 21, k = 17, extra = 3
    real(c_float), target :: a(m + extra, k), b(k + extra, n), c(m + extra, n), bias(m)
    real(c_float) :: before(m + extra, n)
    type(antiphase_sgemm_args) :: args
    integer :: i, j
    do concurrent(i = 1:m + extra, j = 1:k)
      a(i, j) = mod(7 * i + 3 * j, 11) - 5
    end do
    do concurrent(i = 1:k + extra, j = 1:n)
      b(i, j) = mod(5 * i + 2 * j, 13) - 6
    end do
    do concurrent(i = 1:m + extra, j = 1:n)
      c(i, j) = i + 100 * j
    end do
    bias = [(real(i), i = 1, m)]
    before = c
    call expect(args%size == c_sizeof(args), 'the size of the arguments')
    args%device = antiphase_cpu
    args%m = m; args%n = n; args%k = k
    args%a = c_loc(a); args%a_row_stride = 1; args%a_column_stride = size(a, 1)
    args%b = c_loc(b); args%b_row_stride = 1; args%b_column_stride = size(b, 1)
    args%c = c_loc(c); args%c_row_stride = 1; args%c_column_stride = size(c, 1)
    args%alpha = 2; args%beta = -1
    args%row_bias = c_loc(bias)
    args%function = antiphase_relu
    call expect(antiphase_sgemm(args, c_null_ptr) == antiphase_ok, 'a product')
    call expect(antiphase_synchronize(antiphase_cpu, c_null_ptr) == antiphase_ok, 'waiting')
    ! Integers, so exact.
    call expect(all(c(:m, :) == max(0., 2 * matmul(a(:m, :), b(:k, :)) - before(:m, :) + spread(bias, 2, n))), 'its results')
    call expect(all(c(m + 1:, :) == before(m + 1:, :)), 'what lies between them')
    args%a_row_stride = 0
    call expect(antiphase_sgemm(args, c_null_ptr) == antiphase_bad_request, 'a leading dimension alone')
    args%a_row_stride = antiphase_repeated
    call expect(antiphase_sgemm(args, c_null_ptr) == antiphase_ok, 'a row again and again')
  end subroutine

  subroutine scans()
    real(c_float), target :: x(1003)
    type(antiphase_scan_args) :: args
    integer :: i
    x = [(real(mod(i, 7)), i = 1, size(x))]
    call expect(args%size == c_sizeof(args), 'the size of the arguments')
    args%device = antiphase_cpu
    args%in = c_loc(x); args%out = c_loc(x); args%length = size(x)
    call expect(antiphase_scan(args, c_null_ptr) == antiphase_ok, 'a scan')
    call expect(x(1003) == sum([(mod(i, 7), i = 1, size(x))]), 'its last sum')
    call expect(x(5) == 15, 'its fifth sum')
  end subroutine

  subroutine attending()
    real(c_float), target :: q(5, 3), k(5, 4), v(5, 4), out(5, 3)
    real(c_float) :: weights(4)
    type(antiphase_attention_args) :: args
    integer :: i, j
    do concurrent(i = 1:5, j = 1:4)
      k(i, j) = mod(7 * i + 3 * j, 11) - 5
      v(i, j) = mod(5 * i + 2 * j, 13) - 6
    end do
    do concurrent(i = 1:5, j = 1:3)
      q(i, j) = mod(3 * i + 5 * j, 7) - 3
    end do
    call expect(args%size == c_sizeof(args), 'the size of the arguments')
    args%device = antiphase_cpu
    args%queries = 3; args%keys = 4; args%depth = 5
    args%q%data = c_loc(q); args%k%data = c_loc(k); args%v%data = c_loc(v); args%out%data = c_loc(out)
    args%scale = 0.25
    args%window_before = 1
    call expect(antiphase_attention(args, c_null_ptr) == antiphase_ok, 'attention')
    do i = 1, 3
      ! The diagonal of query i is key i + 1.
      weights = [(merge(exp(0.25 * dot_product(q(:, i), k(:, j))), 0., j >= i), j = 1, 4)]
      call expect(all(abs(out(:, i) - matmul(v, weights) / sum(weights)) < 1e-5), 'its results')
    end do
  end subroutine

  subroutine mistakes()
    type(antiphase_sgemm_args) :: args
    integer(c_size_t) :: bytes
    args%device = antiphase_cpu
    args%m = -1
    call expect(antiphase_sgemm(args, c_null_ptr) == antiphase_bad_request, 'negative rows')
    call expect(antiphase_last_message() == 'A is -1 x 0: extents must not be negative', 'their sentence')
    call expect(antiphase_status_name(antiphase_bad_request) == 'bad request', 'a name')
    args%m = 0
    call expect(antiphase_sgemm_workspace(args, bytes) == antiphase_ok .and. bytes == 0, 'an empty workspace')
    call expect(antiphase_version() >= 100 .and. antiphase_device_count() >= 0, 'version and devices')
  end subroutine

end program
