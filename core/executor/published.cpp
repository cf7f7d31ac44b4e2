// SPDX-License-Identifier: Apache-2.0
#include <antiphase/executor/published.hpp>

#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <string>
#include <vector>

#include "core/per_process.hpp"

namespace antiphase {
namespace {

constexpr std::size_t kib = 1024;

// Limits of a compute capability, from the table "Technical specifications per compute capability" of
// NVIDIA's CUDA C++ programming guide. All have 64 K registers per multiprocessor, 48 KiB of shared memory
// without opting in, and 1024 threads per block.
struct of_capability {
  int major, minor;
  int threads, blocks;                   // per multiprocessor
  std::size_t shared_block, shared_all;  // KiB: of a block, opted in; of a multiprocessor
  std::size_t reserved = 1;              // KiB per block, by the system; none before 8.0
};
// Multiprocessors are those of the architectures' whitepapers; B200: both dies.
struct product_of {
  const char* name;
  int multiprocessors;
  of_capability capability;
};
constexpr product_of products[] = {
    {"T4", 40, {7, 5, 1024, 16, 64, 64, 0}},       {"A100", 108, {8, 0, 2048, 32, 163, 164}},
    {"RTX 3090", 82, {8, 6, 1536, 16, 99, 100}},   {"RTX 4090", 128, {8, 9, 1536, 24, 99, 100}},
    {"H200", 132, {9, 0, 2048, 32, 227, 228}},     {"B200", 148, {10, 0, 2048, 32, 227, 228}},
    {"RTX 5090", 170, {12, 0, 1536, 24, 99, 100}},
};

}  // namespace

std::span<const device_limits> published_devices() {
  static constinit made_once<std::vector<device_limits>> all;
  return all.get([] {
    std::vector<device_limits> list;
    for (const product_of& p : products)
      list.push_back({.name = p.name,
                      .major = p.capability.major,
                      .minor = p.capability.minor,
                      .multiprocessors = p.multiprocessors,
                      .threads_per_multiprocessor = p.capability.threads,
                      .blocks_per_multiprocessor = p.capability.blocks,
                      .shared_opt_in = p.capability.shared_block * kib,
                      .shared_per_multiprocessor = p.capability.shared_all * kib,
                      .shared_reserved = p.capability.reserved * kib});
    return list;
  });
}

const device_limits& published_device(std::string_view wanted) {
  std::vector<std::string> known;
  for (const device_limits& device : published_devices()) {
    known.push_back(compute_capability(device));
    if (known.back() == wanted) return device;
  }
  throw bad_request("there are no published limits here of compute capability '" + std::string(wanted) +
                    "': expected " + listed(known));
}

}  // namespace antiphase
