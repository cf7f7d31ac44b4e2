// SPDX-License-Identifier: Apache-2.0
// Matrix products, linear layers, scans and attention for C and languages that call C: libantiphase.so.0. C99
// or C++; no CUDA headers are needed. Begin with docs/use/c.md.
//
//   antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
//   args.m = 300, args.n = 100, args.k = 200;
//   args.a = a, args.b = b, args.c = c;  // device memory, rows densely packed
//   if (antiphase_sgemm(&args, stream) != ANTIPHASE_OK) fprintf(stderr, "%s\n", antiphase_last_message());
//
// Every call returns a status; none throws. Host threads may call concurrently. Work is queued on a stream
// and may still run when the call returns; a call may be captured into a CUDA graph. Arguments are checked
// first: after ANTIPHASE_BAD_REQUEST or ANTIPHASE_NOT_SUPPORTED nothing has been launched or written.
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
  ANTIPHASE_OUT_OF_MEMORY = 4,  // the device or the allocator has no room
  ANTIPHASE_FAILED = 5,         // anything else: a fault of the library
  ANTIPHASE_INTERRUPTED = 6     // by antiphase_set_interrupt_flag()
} antiphase_status;

// Version of the loaded library: 10000 major + 100 minor + patch.
ANTIPHASE_API int antiphase_version(void);
// A status in words, such as "bad request"; "unknown status" for other values. A static string.
ANTIPHASE_API const char* antiphase_status_name(antiphase_status status);
// What went wrong in this thread's last failed call: one sentence with the numbers; empty if none has failed.
// Valid until the thread's next call.
ANTIPHASE_API const char* antiphase_last_message(void);

// ---- Devices
// -----------------------------------------------------------------------------------------------------------

// Where a call runs: a CUDA device number from 0, in CUDA's order, or one of these.
enum {
  ANTIPHASE_CPU = -1,            // the CPU executor, on host memory: slow, available on every machine
  ANTIPHASE_CURRENT_DEVICE = -2  // the calling thread's current CUDA device
};

// 0 without a driver. Never fails.
ANTIPHASE_API int antiphase_device_count(void);
// 1 if predictions for the device were fitted to measurements of such a GPU (NVIDIA H200 and H100 SXM); else
// 0: those of an H200 are scaled, which says little about gains over other libraries. Never fails.
ANTIPHASE_API int antiphase_is_measured(int device);
// Waits for the work on the stream.
ANTIPHASE_API antiphase_status antiphase_synchronize(int device, antiphase_stream on);

// From now on the calling thread's calls on ANTIPHASE_CPU return ANTIPHASE_INTERRUPTED within a few
// milliseconds after another thread or a signal handler has set *flag to other than 0 (an int is as good as a
// volatile sig_atomic_t). An interrupted call leaves its results unspecified, and a scan's workspace has to
// be prepared again. NULL (the default): calls run to their end.
ANTIPHASE_API void antiphase_set_interrupt_flag(const int* flag);

// An allocator with the semantics of cudaMallocAsync: returns `bytes` of device memory, aligned to 256 bytes,
// for work that is queued on the stream until antiphase_deallocate on that stream; NULL if there is no room.
// Called from any thread, with `user` as passed to antiphase_set_allocator. Neither function may throw or
// call antiphase.
typedef void* (*antiphase_allocate)(void* user, size_t bytes, int device, antiphase_stream on);
typedef void (*antiphase_deallocate)(void* user, void* memory, size_t bytes, int device, antiphase_stream on);
// Sets the allocator for calls without a workspace, on all devices including ANTIPHASE_CPU: torch's or RMM's,
// say. Three times NULL (the default): the library's own pool on each device. Memory in use is returned to
// the allocator that it came from.
ANTIPHASE_API antiphase_status antiphase_set_allocator(antiphase_allocate allocate,
                                                       antiphase_deallocate deallocate, void* user);
// Returns the pool's unused memory to the device. Without this call, waiting for a stream trims the pool to a
// tenth of the device's memory, and all that is unused is returned before a call fails with
// ANTIPHASE_OUT_OF_MEMORY.
ANTIPHASE_API antiphase_status antiphase_trim(int device);

// ---- Matrix products
// -----------------------------------------------------------------------------------------------------------

enum { ANTIPHASE_PRECISION_FP32 = 0, ANTIPHASE_PRECISION_STRICT = 1 };  // docs/use/accuracy.md
// what the bits of an output may depend on
enum { ANTIPHASE_BY_SHAPE = 0, ANTIPHASE_BATCH_INVARIANT = 1 };
// if the device cannot keep the precision's bound: compute anyway, or ANTIPHASE_NOT_SUPPORTED
enum { ANTIPHASE_TAKE_WEAKER = 0, ANTIPHASE_REFUSE_WEAKER = 1 };
// a stride that broadcasts: all rows, or all columns, are the same memory
#define ANTIPHASE_REPEATED INT64_MAX
// activation functions
enum { ANTIPHASE_IDENTITY = 0, ANTIPHASE_RELU = 1, ANTIPHASE_GELU = 2, ANTIPHASE_GELU_TANH = 3 };

// C(i, j) = f(alpha AB(i, j) + beta R(i, j) + row_bias[i] + column_bias[j]) in FP32, with A of m x k, B of
// k x n, C and R of m x n; R is C itself or `added`. Start from the initialiser and set what you need:
//
//   antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
//
// Layout. All matrices are device memory. Strides count elements: element (i, j) of A is
// a[i * a_row_stride + j * a_column_stride]. Both strides 0: densely packed rows; one alone 0 is refused
// where it matters. Column-major with a leading dimension: row stride 1, column stride ld. Transposed:
// exchange the two. Negative strides are allowed, and ANTIPHASE_REPEATED in operands that are only read.
//
// Batch. Member l begins l times the batch stride after the first; a stride of 0 shares one A, B or bias.
// Alternatively, a_members, b_members and c_members are device arrays of `batch` device pointers; a, b, c and
// the three batch strides stay 0 then, and overlaps between members cannot be detected.
//
// alpha = 0 leaves A and B unread, beta = 0 leaves R unread, k = 0 gives f(beta R + biases); m, n or batch =
// 0 does nothing. C may be R, but not overlap anything else. Elements between those of C are never touched.
typedef struct antiphase_sgemm_args {
  size_t size;     // sizeof this struct in the caller; set by the initialiser
  int32_t device;  // a device number, ANTIPHASE_CPU or (initialiser) ANTIPHASE_CURRENT_DEVICE
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
  const char* policy;  // NULL: the one with the least predicted time
  // device memory, aligned to 256 bytes, not to be touched until the work is done; NULL: from the allocator
  void* workspace;
  size_t workspace_size;  // at least as antiphase_sgemm_workspace() says
  const float* added;     // R; NULL: C itself
  int64_t added_row_stride, added_column_stride, added_batch_stride;
  const float* const* a_members;  // NULL: members by batch strides
  const float* const* b_members;
  float* const* c_members;
} antiphase_sgemm_args;

#define ANTIPHASE_SGEMM_ARGS_INIT                                                                            \
  {                                                                                                          \
    sizeof(antiphase_sgemm_args), ANTIPHASE_CURRENT_DEVICE, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, NULL, 0, 0,  \
        1.0f, 0.0f, 1, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL \
  }

ANTIPHASE_API antiphase_status antiphase_sgemm(const antiphase_sgemm_args* args, antiphase_stream on);
// Bytes of workspace that the call takes, 0 if none. Never fewer when m, n, k or the batch grow.
ANTIPHASE_API antiphase_status antiphase_sgemm_workspace(const antiphase_sgemm_args* args, size_t* bytes);
// Predicted speed-up over cuBLAS's FP32, as a lower estimate. Where cuBLAS was measured (NVIDIA H200 and H100
// SXM), its time comes from a cost model fitted to that; elsewhere from multiply-adds at four fifths of the
// device's peak rate, which no measured BLAS exceeds. Of the GPU's time alone: what counts in a graph. At
// most 1 if less than a fifth is saved and less than 1.6 microseconds. 0 on a GPU that was not measured
// (antiphase_is_measured) and for which there is no tuning.
// ANTIPHASE_CPU: that of the simulated GPU.
ANTIPHASE_API antiphase_status antiphase_sgemm_gain(const antiphase_sgemm_args* args, double* times);
// Predicted seconds of the call and of cuBLAS's FP32 (a lower estimate where that was not measured), and the
// bytes that the call takes from the allocator if it has no workspace: often fewer than
// antiphase_sgemm_workspace() says.
ANTIPHASE_API antiphase_status antiphase_sgemm_predict(const antiphase_sgemm_args* args, double* seconds,
                                                       double* cublas_seconds, size_t* borrowed);
// The results of the two functions above, for the price of one; also eager_times, the speed-up of a call
// outside of graphs, where the host may take longer than the GPU; and host_saved, the seconds by which a call
// of cuBLAS takes the host longer. If the thread's next call is the same product, it does not choose again
// what it runs.
ANTIPHASE_API antiphase_status antiphase_sgemm_compare(const antiphase_sgemm_args* args, double* seconds,
                                                       double* cublas_seconds, double* times,
                                                       double* eager_times, double* host_saved,
                                                       size_t* borrowed);
// What the call would run, and why, as lines of text, truncated to `room` bytes with the final 0 (4096 is
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
enum {
  ANTIPHASE_SUM = 0,
  ANTIPHASE_PRODUCT = 1,
  ANTIPHASE_MIN = 2,
  ANTIPHASE_MAX = 3,
  // log(exp(x0) + exp(x1) + ...) of F32 and F64: inclusive, without keys, policy and workspace, and with no
  // explanation
  ANTIPHASE_LOG_SUM_EXP = 4
};
enum { ANTIPHASE_INCLUSIVE = 0, ANTIPHASE_EXCLUSIVE = 1 };
enum { ANTIPHASE_FORWARD = 0, ANTIPHASE_REVERSE = 1 };
enum { ANTIPHASE_BY_KEYS = 0, ANTIPHASE_BY_HEAD_FLAGS = 1 };

// outer x inner scans of `length` elements each, over one densely packed array: element i of scan (o, j) lies
// at (o length + i) inner + j. `out` may be `in`, but not overlap it otherwise. Start from the initialiser;
// the default is an inclusive, forward sum of FP32:
//
//   antiphase_scan_args args = ANTIPHASE_SCAN_ARGS_INIT;
//   args.in = in, args.out = out, args.length = n;
//   antiphase_status status = antiphase_scan(&args, stream);
//
typedef struct antiphase_scan_args {
  size_t size;     // sizeof this struct in the caller; set by the initialiser
  int32_t device;  // a device number, ANTIPHASE_CPU or (initialiser) ANTIPHASE_CURRENT_DEVICE
  int32_t type;    // of the elements; 0: ANTIPHASE_F32
  const void* in;
  void* out;
  int64_t outer, length, inner;  // initialiser: 1, 0, 1
  int32_t operation;
  int32_t kind;  // inclusive; or exclusive: an output leaves out its own element
  int32_t direction;
  int32_t result_type;  // of results and all sums, wider than the elements'; 0: the elements' type
  // All below may be missing in an older caller's struct.
  // host memory: the initial value of exclusive scans, of the result's type; NULL: the identity (0 for sums,
  // 1 for products, ...)
  const void* initial;
  // device memory: keys or flags that divide one line into segments, each scanned on its own; NULL: none
  const void* keys;
  int32_t key_type;  // 0: ANTIPHASE_I32
  // by keys: a segment ends where the next key differs; by head flags: it begins where a byte is not 0
  int32_t segments;
  const char* policy;  // NULL: the fastest
  void* workspace;     // see antiphase_scan_workspace(); prepared once; NULL: the library's
  size_t workspace_size;
} antiphase_scan_args;

#define ANTIPHASE_SCAN_ARGS_INIT                                                                           \
  {                                                                                                        \
    sizeof(antiphase_scan_args), ANTIPHASE_CURRENT_DEVICE, 0, NULL, NULL, 1, 0, 1, 0, 0, 0, 0, NULL, NULL, \
        0, 0, NULL, NULL, 0                                                                                \
  }

ANTIPHASE_API antiphase_status antiphase_scan(const antiphase_scan_args* args, antiphase_stream on);
// Bytes of a workspace, aligned to 16 bytes, for this scan and all shorter ones that are otherwise the same.
ANTIPHASE_API antiphase_status antiphase_scan_workspace(const antiphase_scan_args* args, size_t* bytes);
// Initialises args' workspace: once before its first use, and again after a scan with it has failed. Waits
// for the stream. The workspace then serves scans one after the other, captured ones too.
ANTIPHASE_API antiphase_status antiphase_scan_prepare_workspace(const antiphase_scan_args* args,
                                                                antiphase_stream on);
ANTIPHASE_API antiphase_status antiphase_scan_explain(const antiphase_scan_args* args, char* text,
                                                      size_t room);

// ---- Linear layers
// -----------------------------------------------------------------------------------------------------------

// Element (i, k) of member b: data[i row_stride + k k_stride + b member_stride], 16-bit numbers. row_stride
// and k_stride 0: densely packed rows; a member_stride of 0 is shared by all members. A stride of 0 among
// others, or ANTIPHASE_REPEATED, shares what it steps over.
typedef struct antiphase_linear_operand {
  const void* data;
  int64_t row_stride, k_stride, member_stride;
} antiphase_linear_operand;

// y = f(x w^T + bias) + residual: x is m x k, w n x k, y m x n, f16 or bf16 with FP32 sums. A row of y has
// the same bits whatever m, its place, the other rows, the member and the strides. All arrays are device
// memory.
//
//   antiphase_linear_args args = ANTIPHASE_LINEAR_ARGS_INIT;
//   args.m = m, args.n = n, args.k = k;
//   args.x.data = x, args.w.data = w, args.y = y;
//   antiphase_status status = antiphase_linear(&args, stream);
//
typedef struct antiphase_linear_args {
  size_t size;          // sizeof this struct in the caller; set by the initialiser
  int32_t device;       // a device number, ANTIPHASE_CPU or (initialiser) ANTIPHASE_CURRENT_DEVICE
  int32_t type;         // of x and w: ANTIPHASE_F16 or (initialiser) ANTIPHASE_BF16
  int32_t result_type;  // of y, bias and residual: F32, F16 or (initialiser) BF16
  int32_t function;     // ANTIPHASE_IDENTITY, _RELU, _GELU or _GELU_TANH
  int64_t m, n, k;
  int64_t members;  // of a batch, or groups of rows; initialiser: 1
  antiphase_linear_operand x, w;
  void* y;
  int64_t y_row_stride, y_member_stride;  // 0: densely packed
  const void* bias;                       // n numbers; NULL: none
  int64_t bias_member_stride;
  const void* residual;                                 // NULL: none; y itself, or apart from it
  int64_t residual_row_stride, residual_member_stride;  // 0: densely packed; or ANTIPHASE_REPEATED
  // Of experts: group g is the rows of x and y up to group_ends[g], and takes member g of w and bias. Rising,
  // up to m, as only ANTIPHASE_CPU checks. NULL: each member has m rows.
  const int32_t* group_ends;
  const char* kernel;  // NULL: the fastest; others have the same bits
  int32_t overlap;     // 1: reads w while kernels before it end, none of which writes w
  int32_t reserved;    // 0
} antiphase_linear_args;

#define ANTIPHASE_LINEAR_ARGS_INIT                                                                          \
  {                                                                                                         \
    sizeof(antiphase_linear_args), ANTIPHASE_CURRENT_DEVICE, ANTIPHASE_BF16, ANTIPHASE_BF16, 0, 0, 0, 0, 1, \
        {NULL, 0, 0, 0}, {NULL, 0, 0, 0}, NULL, 0, 0, NULL, 0, NULL, 0, 0, NULL, NULL, 0, 0                 \
  }

ANTIPHASE_API antiphase_status antiphase_linear(const antiphase_linear_args* args, antiphase_stream on);
// The kernel that would run, as a line of text, truncated to `room` bytes with the final 0.
ANTIPHASE_API antiphase_status antiphase_linear_explain(const antiphase_linear_args* args, char* text,
                                                        size_t room);

// ---- Attention
// -----------------------------------------------------------------------------------------------------------

// Which keys a query sees: all; those up to the diagonal, which lies at the query's own index; or at that
// index + keys - queries.
enum { ANTIPHASE_ALL_KEYS = 0, ANTIPHASE_CAUSAL_TOP_LEFT = 1, ANTIPHASE_CAUSAL_BOTTOM_RIGHT = 2 };

// Rows of `depth` contiguous elements: those of member b, head h and index i begin at
// data + b member_stride + h head_stride + i row_stride. Strides count elements. All three 0: densely packed,
// [member][head][row][depth]. A stride of 0 among others, or ANTIPHASE_REPEATED, shares what it steps over.
typedef struct antiphase_heads {
  const float* data;
  int64_t member_stride, head_stride, row_stride;
} antiphase_heads;
typedef struct antiphase_written_heads {
  float* data;
  int64_t member_stride, head_stride, row_stride;
} antiphase_written_heads;
// One value for each pair of query and key. All four strides 0: densely packed, [member][head][query][key]. A
// stride of 0 among others, or ANTIPHASE_REPEATED, shares the value.
typedef struct antiphase_bias {
  const float* data;
  int64_t member_stride, head_stride, query_stride, key_stride;
} antiphase_bias;
typedef struct antiphase_bias_gradient {
  float* data;
  int64_t member_stride, head_stride, query_stride, key_stride;
} antiphase_bias_gradient;
typedef struct antiphase_visible {
  const unsigned char* data;
  int64_t member_stride, head_stride, query_stride, key_stride;
} antiphase_visible;

// For every member, head and query i: O_i = sum over keys j of P_ij V_j in FP32, with P_i the softmax of
// scale Q_i K_j + bias_ij over visible keys. A query that sees no key has O_i = 0. All arrays are device
// memory.
//
//   antiphase_attention_args args = ANTIPHASE_ATTENTION_ARGS_INIT;
//   args.members = 8, args.heads = 12, args.queries = args.keys = 1024, args.depth = 64;
//   args.q.data = q, args.k.data = k, args.v.data = v, args.out.data = out;
//   antiphase_status status = antiphase_attention(&args, stream);
//
typedef struct antiphase_attention_args {
  size_t size;       // sizeof this struct in the caller; set by the initialiser
  int32_t device;    // a device number, ANTIPHASE_CPU or (initialiser) ANTIPHASE_CURRENT_DEVICE
  int32_t causal;    // ANTIPHASE_ALL_KEYS, _CAUSAL_TOP_LEFT or _CAUSAL_BOTTOM_RIGHT
  int64_t members;   // the batch; initialiser: 1
  int64_t heads;     // of q and out; initialiser: 1
  int64_t kv_heads;  // of k and v, a divisor of heads: head h reads h / (heads / kv_heads). 0: as many
  int64_t queries, keys, depth;  // rows of a member, and elements of a row, at most 256
  antiphase_heads q, k, v;
  antiphase_written_heads out;
  float scale;
  int32_t scale_given;  // 1: `scale` is taken as it is; 0 (initialiser): likewise, but 0 is 1 / sqrt(depth)
  // All below may be missing in an older caller's struct.
  // Visible are only keys at most so far before and after the diagonal, which lies as with _BOTTOM_RIGHT if
  // `causal` is ANTIPHASE_ALL_KEYS; negative (initialiser): all.
  int64_t window_before, window_behind;
  antiphase_bias bias;        // added to scale Q_i K_j; -infinity hides a key. NULL: none
  antiphase_visible visible;  // bytes: 0 hides a key. NULL: none
  // Members of different lengths, packed one after the other: member b has the rows offsets[b] to
  // offsets[b + 1] - 1, with members + 1 offsets in device memory. `queries` and `keys` are the lengths of
  // the longest member at least then, and member strides are not used; query_rows and key_rows are rows of
  // all. NULL: all members have the same length.
  const int32_t* query_offsets;
  const int32_t* key_offsets;
  int64_t query_rows, key_rows;
  // Results, if not NULL: the logarithm of the sum of exp(scale Q_i K_j + bias_ij), [member][head][query];
  // and two numbers for each row in the same order, for antiphase_attention_backward(). Packed: [head][row].
  float* logsumexp;
  float* softmax;
  const char* policy;  // NULL: the one with the least predicted time
  // device memory, aligned to 256 bytes, not to be touched until the work is done; NULL: from the allocator
  void* workspace;
  size_t workspace_size;  // at least as antiphase_attention_workspace() says
  // for antiphase_attention_backward(): the gradient of out, and where to write those of q, k and v
  antiphase_heads out_gradient;
  antiphase_written_heads q_gradient, k_gradient, v_gradient;
  // likewise, of the bias for each pair, also where the bias is shared. NULL: none. Where `causal`, a window
  // or packed members leave pairs out, it is not supported.
  antiphase_bias_gradient bias_gradient;
  // Floats of logsumexp from the first query of a head to that of the next; those after the last query become
  // infinity; of packed members, those after all rows. 0: as many as there are queries, or packed rows.
  int64_t logsumexp_stride;
} antiphase_attention_args;

#define ANTIPHASE_ATTENTION_ARGS_INIT                                                                      \
  {                                                                                                        \
    sizeof(antiphase_attention_args), ANTIPHASE_CURRENT_DEVICE, 0, 1, 1, 0, 0, 0, 0, {NULL, 0, 0, 0},      \
        {NULL, 0, 0, 0}, {NULL, 0, 0, 0}, {NULL, 0, 0, 0}, 0, 0, -1, -1, {NULL, 0, 0, 0, 0},               \
        {NULL, 0, 0, 0, 0}, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, {NULL, 0, 0, 0}, {NULL, 0, 0, 0}, \
        {NULL, 0, 0, 0}, {NULL, 0, 0, 0}, {NULL, 0, 0, 0, 0}, 0                                            \
  }

ANTIPHASE_API antiphase_status antiphase_attention(const antiphase_attention_args* args, antiphase_stream on);
// Computes the gradients of q, k and v from out_gradient, the operands, and `out` and `softmax` as
// antiphase_attention() has left them; if `softmax` is NULL, from `logsumexp`, whose rounding error is then
// one of every weight.
ANTIPHASE_API antiphase_status antiphase_attention_backward(const antiphase_attention_args* args,
                                                            antiphase_stream on);
// What follows is of antiphase_attention_backward() if out_gradient is given. Bytes of workspace that the
// call takes, 0 if none.
ANTIPHASE_API antiphase_status antiphase_attention_workspace(const antiphase_attention_args* args,
                                                             size_t* bytes);
// Predicted seconds; ANTIPHASE_CPU: those of the simulated GPU.
ANTIPHASE_API antiphase_status antiphase_attention_predict(const antiphase_attention_args* args,
                                                           double* seconds);
// What the call would run, and why, as lines of text, truncated to `room` bytes with the final 0 (4096 is
// enough).
ANTIPHASE_API antiphase_status antiphase_attention_explain(const antiphase_attention_args* args, char* text,
                                                           size_t room);

// ---- torch's own operators
// -----------------------------------------------------------------------------------------------------------

// For programs that override them on GPUs: predicted seconds of our call through torch, with what it takes
// the host, and of torch's own; ours are infinite for calls unlike those that were measured. *wins: 1 where
// ours takes at most 0.9 of torch's time, of attention 0.85, of its gradients 0.8; 0 on a GPU that was not
// measured (antiphase_is_measured). FP32 attention, or its gradients (backward is not 0); `causal` and
// `biased` are 0 or 1. launches: kernels of our call that the host launches: 1 of a forward without a
// workspace, which is to take less of the host and of the GPU, 0 in a captured stream. predicted: of
// antiphase_attention_predict(); infinite if that refuses the call.
ANTIPHASE_API antiphase_status antiphase_torch_attention_compare(int device, int backward, int64_t members,
                                                                 int64_t heads, int64_t queries, int64_t keys,
                                                                 int64_t depth, int causal, int biased,
                                                                 int launches, double predicted,
                                                                 double* seconds, double* torch_seconds,
                                                                 int* wins);
// The same for a scan of outer x inner lines of `length` elements, of which each is read and written with so
// many bytes. ANTIPHASE_MIN and ANTIPHASE_MAX: with their indices.
ANTIPHASE_API antiphase_status antiphase_torch_scan_compare(int device, int operation, int64_t outer,
                                                            int64_t length, int64_t inner, int read,
                                                            int written, double* seconds,
                                                            double* torch_seconds, int* wins);

// ---- XLA
// -----------------------------------------------------------------------------------------------------------

// Handlers of XLA's typed foreign function interface, for `jax.ffi` and other clients of XLA, on GPUs and the
// CPU executor. XLA tells the stream.
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;
// One operand, one result, and an attribute, an array of 8 integers of 64 bits: device, type, operation,
// kind, direction, outer, length and inner, as in antiphase_scan_args.
ANTIPHASE_API struct XLA_FFI_Error* antiphase_xla_scan(struct XLA_FFI_CallFrame* frame);
// An attribute, antiphase_attention_args as an array of integers of 64 bits, in which 1 stands for each
// address that is not NULL. Operands and results come in the order of the struct's members; it is
// antiphase_attention_backward() if out_gradient is given.
ANTIPHASE_API struct XLA_FFI_Error* antiphase_xla_attention(struct XLA_FFI_CallFrame* frame);
// Likewise for antiphase_linear_args: the operands are those of x, w, bias and residual that are not NULL
// there, the result is y.
ANTIPHASE_API struct XLA_FFI_Error* antiphase_xla_linear(struct XLA_FFI_CallFrame* frame);

// ---- Advice
// -----------------------------------------------------------------------------------------------------------

// Predicts which policy and how many stages suit a product, a scan or a kernel of one's own. Nothing runs,
// and the device need not be present. `question` is a JSON object, one of
//
//   {"about": "gemm", "m": 4096, "n": 4096, "k": 4096}
//   {"about": "scan", "count": 65536, "size": 4}
//   {"about": "kernel", "kernel": "smem=16KiB,regs=64,compute=900clk"}
//
// each with "device", the name of a machine profile (default "H200"), or "profile", the text of a file that
// `antiphase info --measure` wrote. The answer is a JSON object too, truncated to `room` bytes with the final
// 0 (16384 are enough). ANTIPHASE_BAD_REQUEST for questions that make no sense.
ANTIPHASE_API antiphase_status antiphase_advise(const char* question, char* answer, size_t room);

#ifdef __cplusplus
}
#endif
#endif
