! SPDX-License-Identifier: Apache-2.0
! antiphase.h for Fortran: functions and argument types of the same names. docs/use/c.md has an example.
!
! Components default to the initialisers' values: declare type(antiphase_sgemm_args) :: args, then set what
! you need. Fortran's arrays are column-major: row stride 1, column stride the leading extent.
module antiphase
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: antiphase_ok = 0, antiphase_bad_request = 1, antiphase_not_supported = 2, &
    antiphase_device_error = 3, antiphase_out_of_memory = 4, antiphase_failed = 5, antiphase_interrupted = 6
  integer(c_int32_t), parameter :: antiphase_cpu = -1, antiphase_current_device = -2
  integer(c_int32_t), parameter :: antiphase_precision_fp32 = 0, antiphase_precision_strict = 1
  integer(c_int64_t), parameter :: antiphase_repeated = huge(0_c_int64_t)
  integer(c_int32_t), parameter :: antiphase_by_shape = 0, antiphase_batch_invariant = 1
  integer(c_int32_t), parameter :: antiphase_take_weaker = 0, antiphase_refuse_weaker = 1
  integer(c_int32_t), parameter :: antiphase_identity = 0, antiphase_relu = 1, antiphase_gelu = 2, antiphase_gelu_tanh = 3
  integer(c_int32_t), parameter :: antiphase_f32 = 1, antiphase_f64 = 2, antiphase_i8 = 3, antiphase_i16 = 4, antiphase_i32 = 5, &
    antiphase_i64 = 6, antiphase_u8 = 7, antiphase_u16 = 8, antiphase_u32 = 9, antiphase_u64 = 10, antiphase_f16 = 11, &
    antiphase_bf16 = 12
  integer(c_int32_t), parameter :: antiphase_sum = 0, antiphase_product = 1, antiphase_min = 2, antiphase_max = 3, &
    antiphase_log_sum_exp = 4
  integer(c_int32_t), parameter :: antiphase_inclusive = 0, antiphase_exclusive = 1
  integer(c_int32_t), parameter :: antiphase_forward = 0, antiphase_reverse = 1
  integer(c_int32_t), parameter :: antiphase_by_keys = 0, antiphase_by_head_flags = 1

  integer(c_int32_t), parameter :: antiphase_all_keys = 0, antiphase_causal_top_left = 1, antiphase_causal_bottom_right = 2

  integer(c_size_t), parameter, private :: sgemm_bytes = 280, scan_bytes = 120, attention_bytes = 544, &
    linear_bytes = 208

  type, bind(c) :: antiphase_sgemm_args
    integer(c_size_t) :: size = sgemm_bytes
    integer(c_int32_t) :: device = antiphase_current_device
    integer(c_int32_t) :: precision = antiphase_precision_fp32
    integer(c_int64_t) :: m = 0, n = 0, k = 0
    type(c_ptr) :: a = c_null_ptr
    integer(c_int64_t) :: a_row_stride = 0, a_column_stride = 0
    type(c_ptr) :: b = c_null_ptr
    integer(c_int64_t) :: b_row_stride = 0, b_column_stride = 0
    type(c_ptr) :: c = c_null_ptr
    integer(c_int64_t) :: c_row_stride = 0, c_column_stride = 0
    real(c_float) :: alpha = 1, beta = 0
    integer(c_int64_t) :: batch = 1
    integer(c_int64_t) :: a_batch_stride = 0, b_batch_stride = 0, c_batch_stride = 0
    type(c_ptr) :: row_bias = c_null_ptr, column_bias = c_null_ptr
    integer(c_int64_t) :: row_bias_batch_stride = 0, column_bias_batch_stride = 0
    integer(c_int32_t) :: function = antiphase_identity
    integer(c_int32_t) :: reproducible = antiphase_by_shape
    integer(c_int32_t) :: if_weaker = antiphase_take_weaker
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: policy = c_null_ptr
    type(c_ptr) :: workspace = c_null_ptr
    integer(c_size_t) :: workspace_size = 0
    type(c_ptr) :: added = c_null_ptr
    integer(c_int64_t) :: added_row_stride = 0, added_column_stride = 0, added_batch_stride = 0
    type(c_ptr) :: a_members = c_null_ptr, b_members = c_null_ptr, c_members = c_null_ptr
  end type

  type, bind(c) :: antiphase_scan_args
    integer(c_size_t) :: size = scan_bytes
    integer(c_int32_t) :: device = antiphase_current_device
    integer(c_int32_t) :: type = 0
    type(c_ptr) :: in = c_null_ptr, out = c_null_ptr
    integer(c_int64_t) :: outer = 1, length = 0, inner = 1
    integer(c_int32_t) :: operation = antiphase_sum
    integer(c_int32_t) :: kind = antiphase_inclusive
    integer(c_int32_t) :: direction = antiphase_forward
    integer(c_int32_t) :: result_type = 0
    type(c_ptr) :: initial = c_null_ptr
    type(c_ptr) :: keys = c_null_ptr
    integer(c_int32_t) :: key_type = 0
    integer(c_int32_t) :: segments = antiphase_by_keys
    type(c_ptr) :: policy = c_null_ptr
    type(c_ptr) :: workspace = c_null_ptr
    integer(c_size_t) :: workspace_size = 0
  end type

  type, bind(c) :: antiphase_heads
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: member_stride = 0, head_stride = 0, row_stride = 0
  end type

  type, bind(c) :: antiphase_written_heads
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: member_stride = 0, head_stride = 0, row_stride = 0
  end type

  type, bind(c) :: antiphase_bias
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: member_stride = 0, head_stride = 0, query_stride = 0, key_stride = 0
  end type

  type, bind(c) :: antiphase_visible
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: member_stride = 0, head_stride = 0, query_stride = 0, key_stride = 0
  end type

  type, bind(c) :: antiphase_linear_operand
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: row_stride = 0, k_stride = 0, member_stride = 0
  end type

  type, bind(c) :: antiphase_linear_args
    integer(c_size_t) :: size = linear_bytes
    integer(c_int32_t) :: device = antiphase_current_device
    integer(c_int32_t) :: type = antiphase_bf16, result_type = antiphase_bf16
    integer(c_int32_t) :: function = antiphase_identity
    integer(c_int64_t) :: m = 0, n = 0, k = 0, members = 1
    type(antiphase_linear_operand) :: x, w
    type(c_ptr) :: y = c_null_ptr
    integer(c_int64_t) :: y_row_stride = 0, y_member_stride = 0
    type(c_ptr) :: bias = c_null_ptr
    integer(c_int64_t) :: bias_member_stride = 0
    type(c_ptr) :: residual = c_null_ptr
    integer(c_int64_t) :: residual_row_stride = 0, residual_member_stride = 0
    type(c_ptr) :: group_ends = c_null_ptr
    type(c_ptr) :: kernel = c_null_ptr
    integer(c_int32_t) :: overlap = 0, reserved = 0
  end type

  type, bind(c) :: antiphase_attention_args
    integer(c_size_t) :: size = attention_bytes
    integer(c_int32_t) :: device = antiphase_current_device
    integer(c_int32_t) :: causal = antiphase_all_keys
    integer(c_int64_t) :: members = 1, heads = 1, kv_heads = 0
    integer(c_int64_t) :: queries = 0, keys = 0, depth = 0
    type(antiphase_heads) :: q, k, v
    type(antiphase_written_heads) :: out
    real(c_float) :: scale = 0
    integer(c_int32_t) :: scale_given = 0
    integer(c_int64_t) :: window_before = -1, window_behind = -1
    type(antiphase_bias) :: bias
    type(antiphase_visible) :: visible
    type(c_ptr) :: query_offsets = c_null_ptr, key_offsets = c_null_ptr
    integer(c_int64_t) :: query_rows = 0, key_rows = 0
    type(c_ptr) :: logsumexp = c_null_ptr, softmax = c_null_ptr
    type(c_ptr) :: policy = c_null_ptr
    type(c_ptr) :: workspace = c_null_ptr
    integer(c_size_t) :: workspace_size = 0
    type(antiphase_heads) :: out_gradient
    type(antiphase_written_heads) :: q_gradient, k_gradient, v_gradient
    type(antiphase_bias) :: bias_gradient
    integer(c_int64_t) :: logsumexp_stride = 0
  end type

  ! Streams are the cudaStream_t of C, by value: c_null_ptr is the default stream.
  interface
    integer(c_int) function antiphase_version() bind(c)
      import
    end function
    integer(c_int) function antiphase_device_count() bind(c)
      import
    end function
    integer(c_int) function antiphase_is_measured(device) bind(c)
      import
      integer(c_int), value :: device
    end function
    integer(c_int) function antiphase_synchronize(device, on) bind(c)
      import
      integer(c_int), value :: device
      type(c_ptr), value :: on
    end function
    integer(c_int) function antiphase_set_allocator(allocate, deallocate, user) bind(c)
      import
      type(c_funptr), value :: allocate, deallocate
      type(c_ptr), value :: user
    end function
    subroutine antiphase_set_interrupt_flag(flag) bind(c)
      import
      type(c_ptr), value :: flag
    end subroutine
    integer(c_int) function antiphase_trim(device) bind(c)
      import
      integer(c_int), value :: device
    end function
    integer(c_int) function antiphase_sgemm(args, on) bind(c)
      import
      type(antiphase_sgemm_args), intent(in) :: args
      type(c_ptr), value :: on
    end function
    integer(c_int) function antiphase_sgemm_workspace(args, bytes) bind(c)
      import
      type(antiphase_sgemm_args), intent(in) :: args
      integer(c_size_t), intent(out) :: bytes
    end function
    integer(c_int) function antiphase_sgemm_gain(args, times) bind(c)
      import
      type(antiphase_sgemm_args), intent(in) :: args
      real(c_double), intent(out) :: times
    end function
    integer(c_int) function antiphase_sgemm_predict(args, seconds, cublas_seconds, borrowed) bind(c)
      import
      type(antiphase_sgemm_args), intent(in) :: args
      real(c_double), intent(out) :: seconds, cublas_seconds
      integer(c_size_t), intent(out) :: borrowed
    end function
    integer(c_int) function antiphase_sgemm_compare(args, seconds, cublas_seconds, times, eager_times, &
                                                  host_saved, borrowed) bind(c)
      import
      type(antiphase_sgemm_args), intent(in) :: args
      real(c_double), intent(out) :: seconds, cublas_seconds, times, eager_times, host_saved
      integer(c_size_t), intent(out) :: borrowed
    end function
    integer(c_int) function antiphase_sgemm_explain(args, text, room) bind(c)
      import
      type(antiphase_sgemm_args), intent(in) :: args
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), value :: room
    end function
    integer(c_int) function antiphase_scan(args, on) bind(c)
      import
      type(antiphase_scan_args), intent(in) :: args
      type(c_ptr), value :: on
    end function
    integer(c_int) function antiphase_scan_workspace(args, bytes) bind(c)
      import
      type(antiphase_scan_args), intent(in) :: args
      integer(c_size_t), intent(out) :: bytes
    end function
    integer(c_int) function antiphase_scan_prepare_workspace(args, on) bind(c)
      import
      type(antiphase_scan_args), intent(in) :: args
      type(c_ptr), value :: on
    end function
    integer(c_int) function antiphase_scan_explain(args, text, room) bind(c)
      import
      type(antiphase_scan_args), intent(in) :: args
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), value :: room
    end function
    integer(c_int) function antiphase_linear(args, on) bind(c)
      import
      type(antiphase_linear_args), intent(in) :: args
      type(c_ptr), value :: on
    end function
    integer(c_int) function antiphase_linear_explain(args, text, room) bind(c)
      import
      type(antiphase_linear_args), intent(in) :: args
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), value :: room
    end function
    integer(c_int) function antiphase_attention(args, on) bind(c)
      import
      type(antiphase_attention_args), intent(in) :: args
      type(c_ptr), value :: on
    end function
    integer(c_int) function antiphase_attention_backward(args, on) bind(c)
      import
      type(antiphase_attention_args), intent(in) :: args
      type(c_ptr), value :: on
    end function
    integer(c_int) function antiphase_attention_workspace(args, bytes) bind(c)
      import
      type(antiphase_attention_args), intent(in) :: args
      integer(c_size_t), intent(out) :: bytes
    end function
    integer(c_int) function antiphase_attention_predict(args, seconds) bind(c)
      import
      type(antiphase_attention_args), intent(in) :: args
      real(c_double), intent(out) :: seconds
    end function
    integer(c_int) function antiphase_attention_explain(args, text, room) bind(c)
      import
      type(antiphase_attention_args), intent(in) :: args
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), value :: room
    end function
    integer(c_int) function antiphase_torch_attention_compare(device, backward, members, heads, queries, keys, depth, &
                                                            causal, biased, launches, predicted, seconds, &
                                                            torch_seconds, wins) bind(c)
      import
      integer(c_int), value :: device, backward, causal, biased, launches
      integer(c_int64_t), value :: members, heads, queries, keys, depth
      real(c_double), value :: predicted
      real(c_double), intent(out) :: seconds, torch_seconds
      integer(c_int), intent(out) :: wins
    end function
    integer(c_int) function antiphase_torch_scan_compare(device, operation, outer, length, inner, read, written, &
                                                       seconds, torch_seconds, wins) bind(c)
      import
      integer(c_int), value :: device, operation, read, written
      integer(c_int64_t), value :: outer, length, inner
      real(c_double), intent(out) :: seconds, torch_seconds
      integer(c_int), intent(out) :: wins
    end function
    integer(c_int) function antiphase_advise(question, answer, room) bind(c)
      import
      character(kind=c_char), intent(in) :: question(*)
      character(kind=c_char), intent(out) :: answer(*)
      integer(c_size_t), value :: room
    end function
  end interface
  private :: text_at

contains

  function antiphase_status_name(status) result(text)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: text
    interface
      type(c_ptr) function of_status(status) bind(c, name="antiphase_status_name")
        import
        integer(c_int), value :: status
      end function
    end interface
    text = text_at(of_status(status))
  end function

  function antiphase_last_message() result(text)
    character(:), allocatable :: text
    interface
      type(c_ptr) function of_thread() bind(c, name="antiphase_last_message")
        import
      end function
    end interface
    text = text_at(of_thread())
  end function

  function text_at(at) result(text)
    type(c_ptr), intent(in) :: at
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    interface
      integer(c_size_t) function strlen(text) bind(c)
        import
        type(c_ptr), value :: text
      end function
    end interface
    call c_f_pointer(at, letters, [strlen(at)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

end module
