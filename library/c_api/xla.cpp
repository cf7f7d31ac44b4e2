// SPDX-License-Identifier: Apache-2.0
// Scans, attention and linear layers for XLA: handlers of its typed foreign function interface, of which this
// declares what they read.
#include <antiphase.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <type_traits>

// Every struct of the interface begins so: its size tells what the other side knows.
struct xla_head {
  std::size_t size;
  void* extensions;
};
struct xla_version {
  xla_head head;
  int series, number;
};
struct xla_error_request {
  xla_head head;
  const char* message;
  int code;
};
struct xla_stream_request {
  xla_head head;
  void* context;
  void* stream;  // out
};
struct xla_api {
  xla_head head;
  xla_version version;
  const void* internal;
  XLA_FFI_Error* (*create_error)(xla_error_request*);
  void *error_message, *destroy_error, *register_handler;
  XLA_FFI_Error* (*get_stream)(xla_stream_request*);
};
struct xla_list {  // of arguments or results
  xla_head head;
  std::int64_t count;
  const int* types;
  void** items;
};
struct xla_attributes {
  xla_head head;
  std::int64_t count;
  const int* types;
  const void* names;
  void** items;
};
struct XLA_FFI_CallFrame {
  xla_head head;
  const xla_api* api;
  void* context;
  int stage;
  xla_list arguments, results;
  xla_attributes attributes;
};
struct xla_buffer {
  xla_head head;
  int type;
  void* data;
};
struct xla_array {
  int type;
  std::size_t count;
  const void* data;
};
// An extension by which XLA asks for the version of the interface that a handler was written for.
struct xla_question {
  std::size_t size;
  int about;
  void* next;
  struct {
    std::size_t size;
    xla_version version;
    std::uint32_t traits;
  } * answer;
};

namespace {

// Versions 0.0 to 0.3 agree on all of the above.
constexpr int newest_number = 3;
constexpr int about_version = 1, executing = 3, array_attribute = 1, type_s64 = 5, invalid_argument = 3,
              internal = 13;

XLA_FFI_Error* failed(const XLA_FFI_CallFrame& frame, const char* why, int code) {
  xla_error_request request{{sizeof request, nullptr}, why, code};
  return frame.api->create_error(&request);
}

// Arguments and results of a call, in order, and the numbers of its attribute.
struct xla_call {
  const XLA_FFI_CallFrame& frame;
  const xla_array& layout;
  antiphase_stream stream;
  std::int64_t operands = 0, results = 0;  // taken so far
  // The array as the arguments of a function; false if it has another size.
  template <class Args> bool read(Args& args) const {
    if (layout.count * sizeof(std::int64_t) != sizeof args) return false;
    std::memcpy(&args, layout.data, sizeof args);
    return true;
  }
  // The address of the next one; null after the last.
  void* next(bool is_operand) {
    std::int64_t& taken = is_operand ? operands : results;
    const xla_list& all = is_operand ? frame.arguments : frame.results;
    return taken < all.count ? static_cast<const xla_buffer*>(all.items[taken++])->data : nullptr;
  }
  bool all_taken() const { return operands == frame.arguments.count && results == frame.results.count; }
};

// Runs run(xla_call&), which returns the status, or none if the call is not as `expected`. The attribute's
// number `device_at`, or its first half, is the device.
template <class Run>
XLA_FFI_Error* handled(XLA_FFI_CallFrame* frame, std::size_t device_at, const char* expected, Run run) {
  const auto* asked = static_cast<const xla_question*>(frame->head.extensions);
  if (asked != nullptr && asked->about == about_version) {
    asked->answer->version.series = 0;
    asked->answer->version.number = std::min(newest_number, frame->api->version.number);
    asked->answer->traits = 0;
    return nullptr;
  }
  if (frame->stage != executing) return nullptr;
  const auto* how =
      static_cast<const xla_array*>(frame->attributes.count == 1 ? frame->attributes.items[0] : nullptr);
  if (how == nullptr || frame->attributes.types[0] != array_attribute || how->type != type_s64 ||
      how->count <= device_at)
    return failed(*frame, expected, invalid_argument);
  std::int32_t device = 0;
  std::memcpy(&device, static_cast<const std::int64_t*>(how->data) + device_at, sizeof device);
  xla_stream_request stream{{sizeof stream, nullptr}, frame->context, nullptr};
  if (device != ANTIPHASE_CPU)
    if (XLA_FFI_Error* const error = frame->api->get_stream(&stream); error != nullptr) return error;
  xla_call call{*frame, *how, static_cast<antiphase_stream>(stream.stream)};
  const std::optional<antiphase_status> status = run(call);
  if (!status) return failed(*frame, expected, invalid_argument);
  return *status == ANTIPHASE_OK ? nullptr : failed(*frame, antiphase_last_message(), internal);
}

}  // namespace

XLA_FFI_Error* antiphase_xla_scan(XLA_FFI_CallFrame* frame) {
  return handled(frame, 0,
                 "antiphase_xla_scan: expected one operand, one result and an array of 8 integers of 64 bits",
                 [](xla_call& call) -> std::optional<antiphase_status> {
                   // device, type, operation, kind, direction, outer, length, inner
                   std::int64_t number[8];
                   if (call.layout.count != std::size(number)) return {};
                   std::memcpy(number, call.layout.data, sizeof number);
                   antiphase_scan_args args = ANTIPHASE_SCAN_ARGS_INIT;
                   args.device = static_cast<std::int32_t>(number[0]);
                   args.type = static_cast<std::int32_t>(number[1]);
                   args.operation = static_cast<std::int32_t>(number[2]);
                   args.kind = static_cast<std::int32_t>(number[3]);
                   args.direction = static_cast<std::int32_t>(number[4]);
                   args.outer = number[5], args.length = number[6], args.inner = number[7];
                   args.in = call.next(true), args.out = call.next(false);
                   if (!call.all_taken()) return {};
                   return antiphase_scan(&args, call.stream);
                 });
}

XLA_FFI_Error* antiphase_xla_linear(XLA_FFI_CallFrame* frame) {
  return handled(
      frame, 1,
      "antiphase_xla_linear: expected antiphase_linear_args as an array of integers of 64 bits, an "
      "operand for each address, and one result",
      [](xla_call& call) -> std::optional<antiphase_status> {
        antiphase_linear_args args = ANTIPHASE_LINEAR_ARGS_INIT;
        if (!call.read(args)) return {};
        for (const void** const address : {&args.x.data, &args.w.data, &args.bias, &args.residual})
          if (*address != nullptr) *address = call.next(true);
        args.y = call.next(false);
        if (!call.all_taken()) return {};
        return antiphase_linear(&args, call.stream);
      });
}

XLA_FFI_Error* antiphase_xla_attention(XLA_FFI_CallFrame* frame) {
  return handled(
      frame, 1,
      "antiphase_xla_attention: expected antiphase_attention_args as an array of integers of 64 bits, and an "
      "operand or a result for each address",
      [](xla_call& call) -> std::optional<antiphase_status> {
        antiphase_attention_args args = ANTIPHASE_ATTENTION_ARGS_INIT;
        if (!call.read(args)) return {};
        const bool backward = args.out_gradient.data != nullptr;
        const auto take = [&](auto& address, bool is_operand) {
          if (address != nullptr)
            address = static_cast<std::remove_reference_t<decltype(address)>>(call.next(is_operand));
        };
        take(args.q.data, true), take(args.k.data, true), take(args.v.data, true);
        take(args.out.data, backward);
        take(args.bias.data, true), take(args.visible.data, true);
        take(args.query_offsets, true), take(args.key_offsets, true);
        take(args.logsumexp, false), take(args.softmax, backward);
        take(args.out_gradient.data, true);
        take(args.q_gradient.data, false), take(args.k_gradient.data, false),
            take(args.v_gradient.data, false), take(args.bias_gradient.data, false);
        if (!call.all_taken()) return {};
        return backward ? antiphase_attention_backward(&args, call.stream)
                        : antiphase_attention(&args, call.stream);
      });
}
