// SPDX-License-Identifier: Apache-2.0
// Functions of clusters: barriers, places, the shared memory of other blocks. Plain CUDA under the checker.
#pragma once
#include "ptx.h"

AP_VERB void __cluster_barrier_arrive(AP_AT) { antiphase::machine::cluster_arrive(ap_at); }
AP_VERB void __cluster_barrier_arrive_relaxed(AP_AT) { antiphase::machine::cluster_arrive_relaxed(ap_at); }
AP_VERB void __cluster_barrier_wait(AP_AT) { antiphase::machine::cluster_wait(ap_at); }
AP_VERB void __threadfence_cluster() { antiphase::plain::fence(antiphase::scope::cluster); }
AP_VERB void* __cluster_map_shared_rank(const void* mine, unsigned rank, AP_AT) {
  return antiphase::plain::in_block(const_cast<void*>(mine), static_cast<int>(rank), ap_at);
}
AP_VERB unsigned __cluster_query_shared_rank(const void* p, AP_AT) {
  return static_cast<unsigned>(antiphase::plain::block_of(p, ap_at));
}
inline dim3 __clusterDim() { return antiphase::plain::cluster_dim(); }
inline unsigned __clusterDimIsSpecified() { return antiphase::plain::ptx::special_is_explicit_cluster(); }
inline unsigned __clusterSizeInBlocks() { return antiphase::plain::ptx::special_cluster_nctarank(); }
inline unsigned __clusterRelativeBlockRank() { return antiphase::plain::ptx::special_cluster_ctarank(); }
namespace antiphase::plain {
template <class Do> dim3 by_dimension(Do op) {
  const dim3 c = cluster_dim(), g = grid_dim();
  const uint3 b = block_idx();
  return {op(b.x, c.x, g.x), op(b.y, c.y, g.y), op(b.z, c.z, g.z)};
}
}  // namespace antiphase::plain
inline dim3 __clusterRelativeBlockIdx() {
  return antiphase::plain::by_dimension([](unsigned b, unsigned c, unsigned) { return b % c; });
}
inline dim3 __clusterIdx() {
  return antiphase::plain::by_dimension([](unsigned b, unsigned c, unsigned) { return b / c; });
}
inline dim3 __clusterGridDimInClusters() {
  return antiphase::plain::by_dimension([](unsigned, unsigned c, unsigned g) { return g / c; });
}
