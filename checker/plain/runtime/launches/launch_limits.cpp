// SPDX-License-Identifier: Apache-2.0
// Limits of launches: threads, blocks, clusters, shared memory, attributes of kernels.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain {
namespace {
constexpr std::uint64_t portable_cluster = 8;  // blocks that every GPU with clusters has together
constexpr int most_multiprocessors = 144;  // of a GPU of compute capability 9.0, of which no product has more
struct kernel_attributes {
  std::map<const void*, int> dynamic_shared;          // that a kernel may have
  std::set<const void*> large_clusters;               // kernels that may have them
  std::map<std::string, dim3, std::less<>> clusters;  // what __cluster_dims__ says, by name
  std::map<const void*, dim3> entries;                // the same of kernels that host code by nvcc launches
  dim3* asked_cluster = nullptr;                      // if a kernel's body is called for it
};
kernel_attributes& attributes() {  // programs register before main
  static kernel_attributes all;
  return all;
}
}  // namespace

// A launch's attribute, or what __cluster_dims__ says; a template's name is followed by its arguments.
dim3 cluster_of(std::string_view name, const config& c, const void* entry, void (*body)(const void*),
                const void* params) {
  if (c.cluster[0] != 0) return {c.cluster[0], c.cluster[1], c.cluster[2]};
  if (const auto known = attributes().entries.find(entry); known != attributes().entries.end())
    return known->second;
  name = name.substr(0, name.find('<'));
  name.remove_prefix(name.rfind(':') + 1);  // npos: nothing
  const auto at = attributes().clusters.find(name);
  dim3 size = at == attributes().clusters.end() ? dim3() : at->second;
  if (size.x == 0) {
    attributes().asked_cluster = &size;
    body(params);
    attributes().asked_cluster = nullptr;
  }
  return size;
}
// True if some GPU of the kind has all blocks of a cooperative launch in progress at once.
bool holds_together(const char* name, std::uint64_t blocks, int threads, std::size_t shared, place where) {
  const int each = blocks_together(threads, shared);
  if (each == 0 || blocks <= static_cast<std::uint64_t>(most_multiprocessors * each)) return true;
  refuse_launch(
      name, where,
      fmt::format("a cooperative launch of {} blocks, of {} threads and {} bytes of shared memory", blocks,
                  threads, shared),
      fmt::format("at most {}: {} a multiprocessor, of which GPUs of compute capability 9.0 have up to {}",
                  most_multiprocessors * each, each, most_multiprocessors),
      cudaErrorCooperativeLaunchTooLarge);
  return false;
}

bool fits(const char* name, const config& c, dim3 cluster, const void* entry, place where) {
  const auto refuse = [&](const std::string& what, const std::string& instead) {
    refuse_launch(name, where, what, instead, cudaErrorInvalidConfiguration);
    return false;
  };
  const std::uint64_t threads = std::uint64_t{c.block.x} * c.block.y * c.block.z,
                      blocks = std::uint64_t{c.grid.x} * c.grid.y * c.grid.z;
  if (threads == 0 || blocks == 0)
    return refuse(fmt::format("a launch of {} x {} x {} blocks of {} x {} x {} threads", c.grid.x, c.grid.y,
                              c.grid.z, c.block.x, c.block.y, c.block.z),
                  "at least one block, of at least one thread");
  if (threads > 1024 || c.block.z > 64)
    return refuse(fmt::format("a launch of {} x {} x {} threads a block", c.block.x, c.block.y, c.block.z),
                  "at most 1024 threads a block, 64 of them along z");
  if (c.grid.x > 0x7FFFFFFF || c.grid.y > 65535 || c.grid.z > 65535)
    return refuse(fmt::format("a launch of {} x {} x {} blocks", c.grid.x, c.grid.y, c.grid.z),
                  "at most 65535 blocks along y and z");
  if (cluster.x != 1 || cluster.y != 1 || cluster.z != 1) {
    const std::uint64_t size = std::uint64_t{cluster.x} * cluster.y * cluster.z;
    if (size < 1 || size > 16)
      return refuse(
          fmt::format("a launch in clusters of {} x {} x {} blocks", cluster.x, cluster.y, cluster.z),
          "1 to 16 blocks in a cluster");
    if (const auto& large = attributes().large_clusters;
        size > portable_cluster && (entry != nullptr ? !large.contains(entry) : large.empty()))
      return refuse(fmt::format("a launch in clusters of {} blocks", size),
                    fmt::format("at most {}; cudaFuncSetAttribute(kernel, "
                                "cudaFuncAttributeNonPortableClusterSizeAllowed, 1) allows 16",
                                portable_cluster));
    if (c.grid.x % cluster.x != 0 || c.grid.y % cluster.y != 0 || c.grid.z % cluster.z != 0)
      return refuse(fmt::format("a launch of {} x {} x {} blocks in clusters of {} x {} x {}", c.grid.x,
                                c.grid.y, c.grid.z, cluster.x, cluster.y, cluster.z),
                    "a multiple of the cluster's blocks along each dimension");
  }
  if (c.together && !holds_together(name, blocks, static_cast<int>(threads), c.shared, where)) return false;
  const auto allowed = attributes().dynamic_shared.find(entry);
  const std::size_t most =
      allowed != attributes().dynamic_shared.end()
          ? std::max<std::size_t>(static_cast<std::size_t>(allowed->second), static_shared)
      : entry == nullptr && !attributes().dynamic_shared.empty() ? most_shared
                                                                 : static_shared;
  if (c.shared > most)
    return refuse(fmt::format("a launch with {} bytes of dynamic shared memory", c.shared),
                  fmt::format("at most {}; cudaFuncSetAttribute(kernel, "
                              "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows up to {}",
                              most, most_shared));
  limit_shared(allowed != attributes().dynamic_shared.end() || most > static_shared ? most_shared
                                                                                    : static_shared);
  return true;
}
void set_cluster(const void* entry, dim3 size) { attributes().entries[entry] = size; }
int register_cluster(const char* kernel, int x, int y, int z) {
  attributes().clusters.insert_or_assign(kernel, dim3(x, y, z));
  return 0;
}
void keeps_bounds(long most) {
  if (!on_device()) return;  // asked for its cluster
  const int threads = machine::current->block->threads;
  if (most <= 0 || threads <= most || machine::current->index != 0) return;
  refuse_launch(running_launch.kernel, running_launch.place,
                fmt::format("a launch of {} threads a block", threads),
                fmt::format("at most {}, as its __launch_bounds__ says", most), cudaErrorInvalidValue);
}
bool tells_cluster(int x, int y, int z) noexcept {
  if (attributes().asked_cluster != nullptr) *attributes().asked_cluster = dim3(x, y, z);
  return attributes().asked_cluster != nullptr;
}
int blocks_together(int threads, std::size_t shared) {
  constexpr int warps = 64, blocks = 32;
  const int warps_of_block = (threads + 31) / 32;
  if (threads < 1 || threads > 1024 || shared > most_shared) return 0;
  const std::size_t by_shared = (most_shared + reserved_shared) / (shared + reserved_shared);
  return static_cast<int>(
      std::min<std::size_t>({blocks, static_cast<std::size_t>(warps / warps_of_block), by_shared}));
}
cudaError_t allow_large_clusters(const void* entry, int yes) {
  if (yes != 0)
    attributes().large_clusters.insert(entry);
  else
    attributes().large_clusters.erase(entry);
  return cudaSuccess;
}
cudaError_t allow_shared(const void* entry, int bytes) {
  if (bytes < 0 || bytes > static_cast<int>(most_shared)) return fails(cudaErrorInvalidValue);
  attributes().dynamic_shared[entry] = bytes;
  return cudaSuccess;
}
}  // namespace antiphase::plain
