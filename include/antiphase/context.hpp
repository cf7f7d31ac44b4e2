// SPDX-License-Identifier: Apache-2.0
// The device that calls of the library run on, and memory there.
#pragma once
#if __cplusplus < 202002L
#error "antiphase needs C++20: compile with -std=c++20"
#endif
#include <antiphase/executor/executor.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace antiphase {

// A handle of one GPU, or of the CPU executor, which runs the same kernels without a GPU:
//
//   const context where = context::best();       // the first usable GPU, else the CPU executor
//   const context second = context::on("cuda:1");
//
// Cheap to copy and immutable; the stream is an argument of each call. Host threads may share a context and
// its streams, the default stream included: concurrent calls give the results that each gives alone.
class context {
 public:
  explicit context(std::shared_ptr<const executor> runs_on) : executor_(std::move(runs_on)) {}

  // "cpu", "cuda" (device 0) or "cuda:N". Throws bad_request for any other text, not_supported where the
  // device does not exist or cannot be used.
  static context on(std::string_view where);
  // The first usable GPU, else the CPU executor; then `why_not_cuda`, if given, receives the reason.
  static context best(std::string* why_not_cuda = nullptr);

  const executor& runs_on() const { return *executor_; }
  target kind() const { return executor_->kind(); }
  const device_limits& limits() const { return executor_->limits(); }

 private:
  std::shared_ptr<const executor> executor_;
};

namespace array_detail {

// size * element_bytes. Throws bad_request for 2^63 bytes or more.
std::size_t bytes_of(std::size_t size, std::size_t element_bytes);
// Throws bad_request if `count` host elements do not fit into an array of `size`, or `host` is null.
void require_source(const void* host, std::size_t count, std::size_t size);

}  // namespace array_detail

// Owns `size` elements (0 is fine) in memory that kernels of a context can reach:
//
//   const std::vector<float> host(1000, 1.0f);
//   device_array<float> x(where, host), y(where, 1000);  // a copy; uninitialised
//   std::vector<float> back = x.to_host();
//
// Move-only; an array that was moved from is empty. Throws bad_request for 2^63 bytes or more, out_of_memory
// (a device_error) where the device has no room.
template <class T> class device_array {
 public:
  device_array(const context& where, std::size_t size)
      : where_(where),
        size_(size),
        data_(static_cast<T*>(where.runs_on().allocate(array_detail::bytes_of(size, sizeof(T))))) {}
  device_array(const context& where, std::span<const T> host) : device_array(where, host.size()) {
    copy_from(host);
  }
  device_array(device_array&& other) noexcept
      : where_(other.where_),
        size_(std::exchange(other.size_, 0)),
        data_(std::exchange(other.data_, nullptr)) {}
  device_array& operator=(device_array&& other) noexcept {
    std::swap(where_, other.where_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~device_array() {
    if (data_ != nullptr) where_.runs_on().deallocate(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Both block until the copy is done. They run on the default stream: wait first for work on streams that do
  // not synchronise with it. copy_from() replaces the first host.size() elements; it throws bad_request for
  // more than size() of them, and for a null pointer.
  void copy_from(std::span<const T> host) {
    array_detail::require_source(host.data(), host.size(), size_);
    where_.runs_on().copy_in(data_, host.data(), host.size_bytes(), nullptr);
  }
  std::vector<T> to_host() const {
    std::vector<T> host(size_);
    where_.runs_on().copy_out(host.data(), data_, size_ * sizeof(T), nullptr);
    return host;
  }

 private:
  context where_;
  std::size_t size_;
  T* data_;
};

}  // namespace antiphase
