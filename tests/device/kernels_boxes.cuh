// SPDX-License-Identifier: Apache-2.0
// Probe kernels: boxes stored to tensors by TMA, and a box multicast to all blocks of a cluster (sm_90).
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/multicast.cuh>
#include <antiphase/device/tensor_store.cuh>
#include <vector>
#include "tests/device/stored_box.hpp"
#include "tests/device/tensor_cases.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

template <int Dimensions> struct stored_box {
  using params = stored_box_params;
  struct storage {
    alignas(1024) unsigned char box[stored_box_limit];
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    for (int i = thread_index(); i < p.bytes; i += threads) s.box[i] = p.in[i];
    fence_async();
    block_barrier();
    if (thread_index() != 0) return;
    if constexpr (Dimensions == 2) tensor_store(p.map, s.box, p.first[0], p.first[1]);
    if constexpr (Dimensions == 3) tensor_store(p.map, s.box, p.first[0], p.first[1], p.first[2]);
    if constexpr (Dimensions == 4) tensor_store(p.map, s.box, p.first[0], p.first[1], p.first[2], p.first[3]);
    bulk_commit();
    bulk_wait<0>();
  }
};

// The last block of a cluster loads for all; each writes its copy after that of the block before it.
struct box_for_all {
  using params = box_params;
  struct storage {
    alignas(1024) unsigned char box[4096];
    mbarrier landed;
  };
  static constexpr int threads = 64, cluster = 3;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) {
      s.landed.init(1);
      fence_mbarrier_init();
      s.landed.arrive(bytes{p.bytes});
    }
    cluster_barrier();
    if (thread_index() == 0 && cluster_rank() == cluster - 1)
      tensor_load_multicast(s.box, p.map, s.landed, (1u << cluster) - 1, p.first[0], p.first[1]);
    s.landed.wait(0);
    for (int i = thread_index(); i < p.bytes; i += threads) p.out[cluster_rank() * p.bytes + i] = s.box[i];
  }
};

std::vector<kernel> box_kernels() {
  return {kernel_of<stored_box<2>>("stored-2"), kernel_of<stored_box<3>>("stored-3"),
          kernel_of<stored_box<4>>("stored-4"), kernel_of<box_for_all>("box-for-all")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
