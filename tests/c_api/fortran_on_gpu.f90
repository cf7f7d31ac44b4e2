! SPDX-License-Identifier: Apache-2.0
! examples/gemm.f90 with GPU memory: a column-major product of 300 x 100 x 200, every value checked. For
! bench/clients/clients_on_gpu.py.
program fortran_on_gpu
  use antiphase
  implicit none
  interface
    function cuda_malloc(memory, bytes) bind(c, name='cudaMalloc') result(status)
      import c_int, c_ptr, c_size_t
      type(c_ptr) :: memory
      integer(c_size_t), value :: bytes
      integer(c_int) :: status
    end function
    function cuda_memcpy(to, from, bytes, direction) bind(c, name='cudaMemcpy') result(status)
      import c_int, c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
      integer(c_int), value :: direction
      integer(c_int) :: status
    end function
  end interface
  integer, parameter :: m = 300, n = 100, k = 200, to_device = 1, to_host = 2
  real(c_float), target :: a(m, k), b(k, n), c(m, n)
  type(antiphase_sgemm_args) :: args
  integer :: i, j
  do j = 1, k
    do i = 1, m
      a(i, j) = real(mod(7 * i + 13 * j, 31) - 15) / 8
    end do
  end do
  do j = 1, n
    do i = 1, k
      b(i, j) = real(mod(11 * i + 5 * j, 29) - 14) / 8
    end do
  end do
  c = -1
  args%m = m; args%n = n; args%k = k
  args%a = on_device(c_loc(a), m * k); args%a_row_stride = 1; args%a_column_stride = m
  args%b = on_device(c_loc(b), k * n); args%b_row_stride = 1; args%b_column_stride = k
  args%c = on_device(c_loc(c), m * n); args%c_row_stride = 1; args%c_column_stride = m
  if (antiphase_sgemm(args, c_null_ptr) /= antiphase_ok) error stop antiphase_last_message()
  if (cuda_memcpy(c_loc(c), args%c, 4_c_size_t * m * n, to_host) /= 0) error stop 'cudaMemcpy to the host failed'
  ! Multiples of 1/8: sums are exact.
  if (any(c /= matmul(a, b))) error stop 'the product is wrong'
  print '(a)', 'right'
contains
  function on_device(from, elements) result(memory)
    type(c_ptr), intent(in) :: from
    integer, intent(in) :: elements
    type(c_ptr) :: memory
    if (cuda_malloc(memory, 4_c_size_t * elements) /= 0) error stop 'cudaMalloc failed: expected a GPU'
    if (cuda_memcpy(memory, from, 4_c_size_t * elements, to_device) /= 0) error stop 'cudaMemcpy to the device failed'
  end function
end program
