// SPDX-License-Identifier: Apache-2.0
// Scans for XLA: a handler of its typed foreign function interface, of which this declares what it reads.
#include <antiphase.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Every struct of the interface begins so: its size tells what the other side knows.
struct xla_head {
  std::size_t size;
  void* extensions;
};
struct xla_version {
  xla_head head;
  int major, minor;
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
constexpr int newest_minor = 3;
constexpr int about_version = 1, executing = 3, array_attribute = 1, type_s64 = 5, invalid_argument = 3,
              internal = 13;

XLA_FFI_Error* failed(const XLA_FFI_CallFrame& frame, const char* why, int code) {
  xla_error_request request{{sizeof request, nullptr}, why, code};
  return frame.api->create_error(&request);
}

// The attribute: device, type, operation, kind, direction, outer, length, inner.
constexpr std::size_t numbers = 8;

}  // namespace

XLA_FFI_Error* antiphase_xla_scan(XLA_FFI_CallFrame* frame) {
  const auto* asked = static_cast<const xla_question*>(frame->head.extensions);
  if (asked != nullptr && asked->about == about_version) {
    asked->answer->version.major = 0;
    asked->answer->version.minor = std::min(newest_minor, frame->api->version.minor);
    asked->answer->traits = 0;
    return nullptr;
  }
  if (frame->stage != executing) return nullptr;
  const auto* how =
      static_cast<const xla_array*>(frame->attributes.count == 1 ? frame->attributes.items[0] : nullptr);
  if (frame->arguments.count != 1 || frame->results.count != 1 || how == nullptr ||
      frame->attributes.types[0] != array_attribute || how->type != type_s64 || how->count != numbers)
    return failed(
        *frame, "antiphase_xla_scan: expected one operand, one result and an array of 8 integers of 64 bits",
        invalid_argument);
  std::int64_t number[numbers];
  std::memcpy(number, how->data, sizeof number);
  antiphase_scan_args args = ANTIPHASE_SCAN_ARGS_INIT;
  args.device = static_cast<std::int32_t>(number[0]);
  args.type = static_cast<std::int32_t>(number[1]);
  args.operation = static_cast<std::int32_t>(number[2]);
  args.kind = static_cast<std::int32_t>(number[3]);
  args.direction = static_cast<std::int32_t>(number[4]);
  args.outer = number[5], args.length = number[6], args.inner = number[7];
  args.in = static_cast<const xla_buffer*>(frame->arguments.items[0])->data;
  args.out = static_cast<const xla_buffer*>(frame->results.items[0])->data;
  xla_stream_request stream{{sizeof stream, nullptr}, frame->context, nullptr};
  if (args.device != ANTIPHASE_CPU)
    if (XLA_FFI_Error* const error = frame->api->get_stream(&stream); error != nullptr) return error;
  if (antiphase_scan(&args, static_cast<antiphase_stream>(stream.stream)) == ANTIPHASE_OK) return nullptr;
  return failed(*frame, antiphase_last_message(), internal);
}
