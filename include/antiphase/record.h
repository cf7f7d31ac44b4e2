// SPDX-License-Identifier: Apache-2.0
// Marks in any kernel: what the warps of a block do and when, as a file that `antiphase trace --read` draws.
// For nvcc (C++17), without a library; under `antiphase check` it does so with the CPU executor's clock.
//
//   __global__ void smooth(const float* from, float* to, antiphase::span_log log) {
//     antiphase::span_marks mark(log);
//     for (int t = 0; t < tiles; ++t) {
//       mark.begin(antiphase::span_kind::load, t, t % 2);
//       ...                                                  // copies tile t into slot t % 2
//       mark.begin(antiphase::span_kind::wait, t, t % 2);    // ends the one before
//       __syncthreads();
//       mark.begin(antiphase::span_kind::compute, t, t % 2);
//       ...
//       mark.end();
//     }
//   }
//
//   antiphase::span_recorder recorder(threads / 32);
//   smooth<<<blocks, threads>>>(from, to, recorder.log());
//   recorder.write("own.json", {"smooth", "two buffers", 4096});
//
// The kinds are those of span_kind: `load` begins a load, `wait` ends when its data are there. Loads that
// block, as they end in registers or plain stores, need no wait. Warps with different tasks are named by
// recorded_kernel::roles; `acquire` is their wait for a free slot, and `release` gives it back.
#pragma once
#include <cuda_runtime.h>
#include <antiphase/channel/record.hpp>

#include <algorithm>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace antiphase {

// A warp's marks; those of the recorded block alone write. All lanes may call it, the first one of a warp
// logs. A mark costs the first lane a read of the clock and 44 bytes of writes to global memory, others a
// branch.
class span_marks {
 public:
  __device__ explicit span_marks(const span_log& to) : log_(to) {
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    agent_ = static_cast<int>(thread / 32);
    logs_ = thread % 32 == 0 && block == to.block && to.spans != nullptr;
  }
  // Ends the span in progress, if any, and begins one of step `step` in slot `slot`.
  __device__ void begin(span_kind kind, int step, int slot = 0) {
    if (!logs_) return;
    const long long now = clock();
    close(now);
    open_ = true;
    kind_ = kind, step_ = step, slot_ = slot, begin_ = now;
  }
  __device__ void end() {
    if (logs_) close(clock());
  }

 private:
  static __device__ long long clock() {
#if defined(AP_CHECKED)
    return clock64() / 4096;  // that clock runs ahead, for kernels that wait by it
#else
    long long now;  // no access to memory moves past it
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
#endif
  }
  __device__ void close(long long now) {
    if (!open_) return;
    open_ = false;
    if (count_ < log_.capacity) {
      span_record& to = log_.spans[static_cast<long long>(agent_) * log_.capacity + count_];
      to.begin = begin_, to.end = now;
      to.kind = kind_, to.ring = 0, to.event = 0;
      to.step = step_, to.slot = slot_, to.agent = agent_;
    }
    log_.counts[agent_] = ++count_;
  }

  span_log log_;
  long long begin_ = 0;
  int agent_ = 0, count_ = 0, step_ = 0, slot_ = 0;
  span_kind kind_ = span_kind::load;
  bool logs_ = false, open_ = false;
};

// Neighbouring warps with the same task.
struct recorded_role {
  std::string name;
  int first = 0, count = 1;
  bool loads = false, computes = false;
};
struct recorded_kernel {
  std::string name = "kernel", variant = "";
  long long step_bytes = 0;               // loaded by a step of the block; 0: not known
  std::vector<recorded_role> roles = {};  // empty: every warp loads and computes
};

// Memory for the marks of one block, and what they say. Calls of the CUDA runtime that fail throw
// std::runtime_error.
class span_recorder {
 public:
  // `warps` of a block, and room for so many spans of each; `block`: x + gridDim.x * (y + gridDim.y * z).
  explicit span_recorder(int warps, int spans_of_warp = 1024, unsigned block = 0)
      : warps_(warps), log_{nullptr, nullptr, spans_of_warp, block} {
    if (warps < 1 || warps > 32 || spans_of_warp < 1)
      throw std::runtime_error("span_recorder: expected 1 to 32 warps, and room for at least one span");
    require(cudaMalloc(&log_.spans, sizeof(span_record) * room()), "cudaMalloc");
    require(cudaMalloc(&log_.counts, sizeof(int) * static_cast<std::size_t>(warps)), "cudaMalloc");
    require(cudaMemset(log_.counts, 0, sizeof(int) * static_cast<std::size_t>(warps)), "cudaMemset");
  }
  span_recorder(const span_recorder&) = delete;
  span_recorder& operator=(const span_recorder&) = delete;
  ~span_recorder() {
    cudaFree(log_.spans);
    cudaFree(log_.counts);
  }
  const span_log& log() const { return log_; }  // a kernel's argument

  // The timeline as JSON, once the kernel has run; waits for it.
  std::string json(const recorded_kernel& of) const {
    std::vector<span_record> all(room());
    std::vector<int> counts(static_cast<std::size_t>(warps_));
    require(cudaDeviceSynchronize(), "the recorded kernel");
    require(cudaMemcpy(counts.data(), log_.counts, sizeof(int) * counts.size(), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    require(cudaMemcpy(all.data(), log_.spans, sizeof(span_record) * all.size(), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    std::vector<span_record> spans;
    long long dropped = 0;
    for (int w = 0; w < warps_; ++w) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(w) * log_.capacity;
      const int count = counts[static_cast<std::size_t>(w)];
      spans.insert(spans.end(), first, first + std::min(count, log_.capacity));
      dropped += std::max(0, count - log_.capacity);
    }
    return text(of, std::move(spans), dropped);
  }
  // The same as a file, which is whole: the name is given last, to a file next to it.
  void write(const char* file, const recorded_kernel& of) const {
    const std::string text = json(of), part = std::string(file) + ".part";
    std::FILE* const out = std::fopen(part.c_str(), "w");
    bool written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    written = out != nullptr && std::fclose(out) == 0 && written;
    if (written && std::rename(part.c_str(), file) == 0) return;
    if (out != nullptr) std::remove(part.c_str());
    throw std::runtime_error(std::string("span_recorder: ") + file + " cannot be written");
  }

 private:
  std::size_t room() const {
    return static_cast<std::size_t>(warps_) * static_cast<std::size_t>(log_.capacity);
  }
  static void require(cudaError_t result, const char* what) {
    if (result != cudaSuccess)
      throw std::runtime_error(std::string("span_recorder: ") + what + ": " + cudaGetErrorString(result));
  }
  static std::string quoted(const std::string& s) {
    std::string out = "\"";
    for (const char c : s) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
  }
  std::string text(const recorded_kernel& of, std::vector<span_record> spans, long long dropped) const {
    int stages = 1, steps = 0;
    long long origin = spans.empty() ? 0 : spans.front().begin;
    bool waits = false;
    for (const span_record& s : spans) {
      stages = std::max(stages, s.slot + 1);
      steps = std::max(steps, s.step + 1);
      origin = std::min(origin, static_cast<long long>(s.begin));
      waits |= s.kind == span_kind::wait;
    }
    // Steps that were loaded, waited for and computed from, up to the first that was not.
    std::set<int> loaded, landed, computed;
    for (const span_record& s : spans) {
      if (s.kind == span_kind::load) loaded.insert(s.step);
      if (s.kind == (waits ? span_kind::wait : span_kind::load)) landed.insert(s.step);
      if (s.kind == span_kind::compute) computed.insert(s.step);
    }
    int recorded = 0;
    while (loaded.count(recorded) + landed.count(recorded) + computed.count(recorded) == 3) ++recorded;

#if defined(AP_CHECKED)  // the CPU executor
    const std::string device = "CPU executor", unit = "ticks", measured = "false";
#else
    int current = 0;
    cudaDeviceProp properties{};
    require(cudaGetDevice(&current), "cudaGetDevice");
    require(cudaGetDeviceProperties(&properties, current), "cudaGetDeviceProperties");
    const std::string device = properties.name, unit = "cycles", measured = "true";
#endif
    std::string out = "{\"antiphase_timeline\":1,\"kernel\":" + quoted(of.name) +
                      ",\"policy\":" + quoted(of.variant) + ",\"device\":" + quoted(device) +
                      ",\"measured\":" + measured + ",\"unit\":" + quoted(unit);
    const auto number = [&](const char* name, long long value) {
      out += std::string(",\"") + name + "\":" + std::to_string(value);
    };
    number("stages", stages), number("steps", steps), number("recorded", recorded), number("warps", warps_);
    number("block", log_.block), number("dropped", dropped), number("step_bytes", of.step_bytes);
    if (!waits) out += ",\"loads_block\":true";
    out += ",\"step_is\":\"step\",\"phases\":[\"load\",\"compute\"],\"rings\":[\"buffers\"],\"roles\":[";
    for (std::size_t i = 0; i < of.roles.size(); ++i) {
      const recorded_role& r = of.roles[i];
      out += (i == 0 ? "{\"name\":" : ",{\"name\":") + quoted(r.name);
      number("first", r.first), number("count", r.count);
      out += std::string(",\"loads\":") + (r.loads ? "true" : "false") +
             ",\"computes\":" + (r.computes ? "true" : "false") + "}";
    }
    out += "],\"spans\":[";
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const span_record& s = spans[i];
      const int event = !of.roles.empty() && s.kind == span_kind::release ? 1 : 0;
      const long long numbers[] = {
          s.begin - origin, s.end - origin, static_cast<int>(s.kind), 0, event, s.step, s.slot, s.agent};
      for (const long long n : numbers) out += (out.back() == '[' ? "" : ",") + std::to_string(n);
    }
    return out + "]}\n";
  }

  int warps_;
  span_log log_;
};

}  // namespace antiphase
