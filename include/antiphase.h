// SPDX-License-Identifier: Apache-2.0
// Matrix products and scans for C, and for all that can call C: libantiphase.so.0. C99 and C++; no header of
// CUDA is needed. docs/c.md is the first page.
//
// Every call returns a status, and nothing is ever thrown out of one. Host threads may call at the same time.
// Work is queued on a stream and may still run when the call returns; a call may be captured into a CUDA
// graph. Arguments are checked first: after ANTIPHASE_BAD_REQUEST or ANTIPHASE_NOT_SUPPORTED nothing has been
// launched or written.
#ifndef ANTIPHASE_H
#define ANTIPHASE_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ANTIPHASE_API __attribute__((visibility("default")))
#else
#define ANTIPHASE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// A cudaStream_t. NULL is the default stream.
typedef struct CUstream_st* antiphase_stream;

typedef enum antiphase_status {
  ANTIPHASE_OK = 0,
  ANTIPHASE_BAD_REQUEST = 1,    // an argument makes no sense
  ANTIPHASE_NOT_SUPPORTED = 2,  // it makes sense, but this device, or this version, cannot do it
  ANTIPHASE_DEVICE_ERROR = 3,   // the device failed while working
  ANTIPHASE_OUT_OF_MEMORY = 4,  // neither the device nor the allocator has so much left
  ANTIPHASE_FAILED = 5,         // anything else: a fault of the library
  ANTIPHASE_INTERRUPTED = 6     // by antiphase_set_interrupt_flag()
} antiphase_status;

// 10000 major + 100 minor + patch, of the library that runs.
ANTIPHASE_API int antiphase_version(void);
// "bad request", of a status that is known; else "unknown status". Lives for ever.
ANTIPHASE_API const char* antiphase_status_name(antiphase_status status);
// What went wrong in this thread's last call that did not return ANTIPHASE_OK: one sentence with the numbers.
// Empty if none has. It lives until the thread's next call.
ANTIPHASE_API const char* antiphase_last_message(void);

// ---- Devices
// -----------------------------------------------------------------------------------------------------------

// Where a call runs, as its arguments say: the number of a CUDA device from 0, in CUDA's order, or one of
// these.
enum {
  ANTIPHASE_CPU = -1,            // the CPU executor, on memory of the host: slow, and there on every machine
  ANTIPHASE_CURRENT_DEVICE = -2  // the calling thread's current CUDA device
};

// 0 without a driver. Never fails.
ANTIPHASE_API int antiphase_device_count(void);
// Waits for the work on the stream.
ANTIPHASE_API antiphase_status antiphase_synchronize(int device, antiphase_stream on);

// From now on the calling thread's calls on ANTIPHASE_CPU return ANTIPHASE_INTERRUPTED within a few
// milliseconds after *flag is no longer
// 0. Another thread sees to that, or a signal handler, which may write an int as well as a volatile
//    sig_atomic_t. What they write is unspecified then; a scan's own workspace has to be prepared again.
//    NULL: they run to their end, as at first.
ANTIPHASE_API void antiphase_set_interrupt_flag(const int* flag);

// So many bytes of the device's memory, from an address that is a multiple of 256, for work that is queued on
// the stream until they are given back on it, as cudaMallocAsync gives them; NULL if there are not so many.
// Called from any thread, with `user` as it was given. Neither function may throw or call antiphase.
typedef void* (*antiphase_allocate)(void* user, size_t bytes, int device, antiphase_stream on);
typedef void (*antiphase_deallocate)(void* user, void* memory, size_t bytes, int device, antiphase_stream on);
// From where calls without a workspace take theirs from now on, on all devices, ANTIPHASE_CPU among them:
// torch's or RMM's memory, say. Three times NULL: from the library's own pool on each device, as at first.
// What is in use goes back to where it came from.
ANTIPHASE_API antiphase_status antiphase_set_allocator(antiphase_allocate allocate,
                                                       antiphase_deallocate deallocate, void* user);
// Gives back to the device what the pool keeps and no queued work uses. By itself the pool keeps at most a
// tenth of the device's memory when a stream has been waited for, and gives back all of it that is free
// before a call fails for want of memory.
ANTIPHASE_API antiphase_status antiphase_trim(int device);

// ---- Matrix products
// -----------------------------------------------------------------------------------------------------------

enum { ANTIPHASE_PRECISION_FP32 = 0, ANTIPHASE_PRECISION_STRICT = 1 };  // docs/accuracy.md
// on what the bits of an output may depend
enum { ANTIPHASE_BY_SHAPE = 0, ANTIPHASE_BATCH_INVARIANT = 1 };
// where a device cannot keep the precision's bound
enum { ANTIPHASE_TAKE_WEAKER = 0, ANTIPHASE_REFUSE_WEAKER = 1 };
// a stride: one row, or one column, stands for all
#define ANTIPHASE_REPEATED INT64_MAX
// functions of results
enum { ANTIPHASE_IDENTITY = 0, ANTIPHASE_RELU = 1, ANTIPHASE_GELU = 2, ANTIPHASE_GELU_TANH = 3 };

// C(i, j) = f(alpha AB(i, j) + beta R(i, j) + row_bias[i] + column_bias[j]) in FP32, A of m x k, B of k x n,
// C and R of m x n; R is C, or `added`. Make one with the initialiser, then set what you need:
//
//   antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
//
// Memory is the device's. Strides count elements: element (i, j) lies at a[i * a_row_stride + j *
// a_column_stride]. Both 0 stand for densely packed rows; one alone is refused where it counts. Column-major
// with a leading dimension: row stride 1, column stride ld. Transposed: the other way round. Negative strides
// are fine, and in what is only read ANTIPHASE_REPEATED. Member l of a batch lies l times the batch stride
// behind the first; 0 is the same A, B or bias for all.
//
// Or the addresses of the members' matrices stand in three arrays of `batch` pointers in memory of the
// device, a_members and so on; then a, b, c and the three strides are left at 0. What members overlap nobody
// can tell before the work is done.
//
// alpha = 0 leaves A and B unread, beta = 0 leaves R unread, k = 0 gives f(beta R + biases); m, n or batch =
// 0 does nothing. C may not overlap anything else, but may be R. Elements between those of C are never
// touched.
typedef struct antiphase_sgemm_args {
  size_t size;     // of this struct, as the caller was compiled: the initialiser's
  int32_t device;  // the number of one, ANTIPHASE_CPU or (initialiser) ANTIPHASE_CURRENT_DEVICE
  int32_t precision;
  int64_t m, n, k;
  const float* a;
  int64_t a_row_stride, a_column_stride;
  const float* b;
  int64_t b_row_stride, b_column_stride;
  float* c;
  int64_t c_row_stride, c_column_stride;
  float alpha, beta;  // initialiser: 1 and 0
  // All below may be missing in an older caller's struct.
  int64_t batch;  // initialiser: 1
  int64_t a_batch_stride, b_batch_stride, c_batch_stride;
  const float* row_bias;     // m values, or NULL
  const float* column_bias;  // n values, or NULL
  int64_t row_bias_batch_stride, column_bias_batch_stride;
  // f: ANTIPHASE_IDENTITY, _RELU, _GELU (with the normal distribution) or _GELU_TANH (its approximation)
  int32_t function;
  int32_t reproducible;
  int32_t if_weaker;
  int32_t reserved;    // 0
  const char* policy;  // NULL: the one that is predicted to be fastest
  // of the device, aligned to 256, left alone until the work is done; NULL: the allocator's
  void* workspace;
  size_t workspace_size;  // at least as antiphase_sgemm_workspace() says
  const float* added;     // R; NULL: C itself
  int64_t added_row_stride, added_column_stride, added_batch_stride;
  const float* const* a_members;  // NULL: they lie at equal distances
  const float* const* b_members;
  float* const* c_members;
} antiphase_sgemm_args;

#define ANTIPHASE_SGEMM_ARGS_INIT                                                                            \
  {                                                                                                          \
    sizeof(antiphase_sgemm_args), ANTIPHASE_CURRENT_DEVICE, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, NULL, 0, 0,  \
        1.0f, 0.0f, 1, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL \
  }

ANTIPHASE_API antiphase_status antiphase_sgemm(const antiphase_sgemm_args* args, antiphase_stream on);
// The bytes that the call takes; 0 if it needs none. Never fewer when m, n, k or the batch grow.
ANTIPHASE_API antiphase_status antiphase_sgemm_workspace(const antiphase_sgemm_args* args, size_t* bytes);
// How many times faster than cuBLAS's FP32 the call is predicted to be, at least. On a device on which cuBLAS
// was measured (an NVIDIA H200) by a law fitted to that; elsewhere in place of cuBLAS by multiply-adds at
// four fifths of the device's peak rate, which no BLAS that was measured exceeds. At most 1 if less than 1.5
// microseconds are saved. For ANTIPHASE_CPU it is that of the GPU which it simulates.
ANTIPHASE_API antiphase_status antiphase_sgemm_gain(const antiphase_sgemm_args* args, double* times);
// The seconds that the call is predicted to take, and those of cuBLAS's FP32 (on devices on which it was not
// measured: at least); and the bytes that it asks the allocator for if it has no workspace, which are often
// fewer than antiphase_sgemm_workspace() says.
ANTIPHASE_API antiphase_status antiphase_sgemm_predict(const antiphase_sgemm_args* args, double* seconds,
                                                       double* cublas_seconds, size_t* borrowed);
// All that these two tell, for the price of one. If the same thread makes the same call next, that need not
// choose again what it runs.
ANTIPHASE_API antiphase_status antiphase_sgemm_judge(const antiphase_sgemm_args* args, double* seconds,
                                                     double* cublas_seconds, double* times, size_t* borrowed);
// What the call would run, and why: lines of text, cut off where `room` bytes with the final 0 end (4096 is
// enough for most).
ANTIPHASE_API antiphase_status antiphase_sgemm_explain(const antiphase_sgemm_args* args, char* text,
                                                       size_t room);

// ---- Scans
// -----------------------------------------------------------------------------------------------------------

enum {  // types of elements; 0 is the default, which each member names
  ANTIPHASE_F32 = 1,
  ANTIPHASE_F64 = 2,
  ANTIPHASE_I8 = 3,
  ANTIPHASE_I16 = 4,
  ANTIPHASE_I32 = 5,
  ANTIPHASE_I64 = 6,
  ANTIPHASE_U8 = 7,
  ANTIPHASE_U16 = 8,
  ANTIPHASE_U32 = 9,
  ANTIPHASE_U64 = 10,
  ANTIPHASE_F16 = 11,
  ANTIPHASE_BF16 = 12
};
enum { ANTIPHASE_SUM = 0, ANTIPHASE_PRODUCT = 1, ANTIPHASE_MIN = 2, ANTIPHASE_MAX = 3 };
enum { ANTIPHASE_INCLUSIVE = 0, ANTIPHASE_EXCLUSIVE = 1 };
enum { ANTIPHASE_FORWARD = 0, ANTIPHASE_REVERSE = 1 };
enum { ANTIPHASE_BY_KEYS = 0, ANTIPHASE_BY_HEAD_FLAGS = 1 };

// outer x inner scans of `length` elements each, over one densely packed array: element i of the scan (o, j)
// lies at (o length + i) inner + j. `out` may be `in`, but not overlap it otherwise. Make one with
// ANTIPHASE_SCAN_ARGS_INIT.
typedef struct antiphase_scan_args {
  size_t size;     // of this struct, as the caller was compiled: the initialiser's
  int32_t device;  // the number of one, ANTIPHASE_CPU or (initialiser) ANTIPHASE_CURRENT_DEVICE
  int32_t type;    // of the elements; 0: ANTIPHASE_F32
  const void* in;
  void* out;
  int64_t outer, length, inner;  // initialiser: 1, 0, 1
  int32_t operation;
  int32_t kind;  // inclusive; or exclusive: an output is what lies before it
  int32_t direction;
  int32_t result_type;  // of results and of all sums, wider than the elements'; 0: the elements'
  // All below may be missing in an older caller's struct.
  // of the host: where exclusive scans begin, one value of the result's type; NULL: 0 of sums, 1 of products,
  // ...
  const void* initial;
  // of the device: what tells the segments of one line apart, each scanned on its own; NULL: no segments
  const void* keys;
  int32_t key_type;  // 0: ANTIPHASE_I32
  // a segment ends where the next key is another one, or begins where a head flag, a byte, is not 0
  int32_t segments;
  const char* policy;  // NULL: the fastest
  void* workspace;     // as antiphase_scan_workspace() says, initialised once; NULL: the library's
  size_t workspace_size;
} antiphase_scan_args;

#define ANTIPHASE_SCAN_ARGS_INIT                                                                           \
  {                                                                                                        \
    sizeof(antiphase_scan_args), ANTIPHASE_CURRENT_DEVICE, 0, NULL, NULL, 1, 0, 1, 0, 0, 0, 0, NULL, NULL, \
        0, 0, NULL, NULL, 0                                                                                \
  }

ANTIPHASE_API antiphase_status antiphase_scan(const antiphase_scan_args* args, antiphase_stream on);
// The bytes of a workspace, aligned to 16, for this scan and all that are shorter and otherwise the same.
ANTIPHASE_API antiphase_status antiphase_scan_workspace(const antiphase_scan_args* args, size_t* bytes);
// Initialises args' workspace, once before its first use and again after a scan in it has failed; waits for
// the stream. Then the workspace serves scans one after the other, captured ones too.
ANTIPHASE_API antiphase_status antiphase_scan_prepare_workspace(const antiphase_scan_args* args,
                                                                antiphase_stream on);
ANTIPHASE_API antiphase_status antiphase_scan_explain(const antiphase_scan_args* args, char* text,
                                                      size_t room);

// ---- Advice
// -----------------------------------------------------------------------------------------------------------

// Which policy and how many buffers suit a product, a scan or a kernel of one's own, predicted for a device
// that need not be there; nothing runs. The question is a JSON object: {"about": "gemm", "m": 4096, "n":
// 4096, "k": 4096}, {"about": "scan", "count": 65536, "size": 4} or {"about": "kernel", "kernel":
// "smem=16KiB,regs=64,compute=900clk"}, each with "device", the name of a machine profile ("H200" if absent),
// or "profile", the text of a file that `antiphase info --measure` wrote. The answer is one, cut off where
// `room` bytes with the final 0 end (16384 are enough). ANTIPHASE_BAD_REQUEST for questions that make no
// sense.
ANTIPHASE_API antiphase_status antiphase_advise(const char* question, char* answer, size_t room);

#ifdef __cplusplus
}
#endif
#endif
