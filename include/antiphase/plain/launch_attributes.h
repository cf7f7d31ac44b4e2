// SPDX-License-Identifier: Apache-2.0
// Launches with attributes, such as cudaLaunchKernelEx, of plain CUDA under the checker.
#pragma once
#include "host.h"

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore,
  cudaLaunchAttributeAccessPolicyWindow,
  cudaLaunchAttributeCooperative,
  cudaLaunchAttributeSynchronizationPolicy,
  cudaLaunchAttributeClusterDimension,
  cudaLaunchAttributeClusterSchedulingPolicyPreference,
  cudaLaunchAttributeProgrammaticStreamSerialization,
  cudaLaunchAttributeProgrammaticEvent,
  cudaLaunchAttributePriority,
  cudaLaunchAttributeMemSyncDomainMap,
  cudaLaunchAttributeMemSyncDomain,
  cudaLaunchAttributePreferredClusterDimension,
  cudaLaunchAttributeLaunchCompletionEvent,
  cudaLaunchAttributeDeviceUpdatableKernelNode,
  cudaLaunchAttributePreferredSharedMemoryCarveout,
  cudaLaunchAttributeNvlinkUtilCentricScheduling = 16
};
enum cudaSynchronizationPolicy {
  cudaSyncPolicyAuto = 1,
  cudaSyncPolicySpin,
  cudaSyncPolicyYield,
  cudaSyncPolicyBlockingSync
};
enum cudaClusterSchedulingPolicy {
  cudaClusterSchedulingPolicyDefault,
  cudaClusterSchedulingPolicySpread,
  cudaClusterSchedulingPolicyLoadBalancing
};
enum cudaLaunchMemSyncDomain { cudaLaunchMemSyncDomainDefault, cudaLaunchMemSyncDomainRemote };
struct cudaLaunchMemSyncDomainMap {
  unsigned char default_, remote;
};
union cudaLaunchAttributeValue {
  char pad[64];
  cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  cudaSynchronizationPolicy syncPolicy;
  struct {
    unsigned x, y, z;
  } clusterDim;
  cudaClusterSchedulingPolicy clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  struct {
    cudaEvent_t event;
    int flags, triggerAtBlockStart;
  } programmaticEvent;
  int priority;
  cudaLaunchMemSyncDomainMap memSyncDomainMap;
  cudaLaunchMemSyncDomain memSyncDomain;
  struct {
    unsigned x, y, z;
  } preferredClusterDim;
  struct {
    cudaEvent_t event;
    int flags;
  } launchCompletionEvent;
  struct {
    int deviceUpdatable;
    void* devNode;
  } deviceUpdatableKernelNode;
  unsigned sharedMemCarveout;
  unsigned nvlinkUtilCentricScheduling;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  char pad[8 - sizeof(cudaLaunchAttributeID)];
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
typedef cudaLaunchConfig_t cudaLaunchConfig_st;
typedef cudaLaunchAttribute cudaLaunchAttribute_st;

typedef cudaLaunchAttributeID cudaStreamAttrID, cudaKernelNodeAttrID;
typedef cudaLaunchAttributeValue cudaStreamAttrValue, cudaKernelNodeAttrValue;
constexpr cudaLaunchAttributeID cudaStreamAttributeAccessPolicyWindow = cudaLaunchAttributeAccessPolicyWindow,
                                cudaStreamAttributeSynchronizationPolicy =
                                    cudaLaunchAttributeSynchronizationPolicy,
                                cudaStreamAttributePriority = cudaLaunchAttributePriority,
                                cudaKernelNodeAttributeAccessPolicyWindow =
                                    cudaLaunchAttributeAccessPolicyWindow,
                                cudaKernelNodeAttributeCooperative = cudaLaunchAttributeCooperative,
                                cudaKernelNodeAttributePriority = cudaLaunchAttributePriority,
                                cudaKernelNodeAttributeClusterDimension = cudaLaunchAttributeClusterDimension;

namespace antiphase::plain {
// Sets the attribute in `c`; refuses those that change what is checked and cannot be followed.
cudaError_t set_attribute(config& c, cudaLaunchAttributeID id, const cudaLaunchAttributeValue& value,
                          place where);
cudaError_t config_of(const cudaLaunchConfig_t& from, config& to, place where);
// A launch's configuration, and the line of the call.
struct located_config {
  const cudaLaunchConfig_t* config;
  machine::place place;
  located_config(const cudaLaunchConfig_t* c, machine::place at = machine::place::current())
      : config(c), place(at) {}
};
}  // namespace antiphase::plain

#define AP_CALL inline cudaError_t
template <class... P, class... A>
AP_CALL cudaLaunchKernelEx(ap_plain::located_config how, void (*f)(P...), A&&... a) {
  static_assert(sizeof...(P) == sizeof...(A),
                "antiphase check: the launch has more or fewer arguments than the kernel has parameters");
  ap_plain::config c({}, {});
  if (const cudaError_t e = ap_plain::config_of(*how.config, c, how.place); e != cudaSuccess) return e;
  ap_plain::call<P...>{ap_plain::name_of(reinterpret_cast<const void*>(f)), c, how.place,
                       f}(std::forward<A>(a)...);
  return ap_plain::last_error(false);
}
AP_CALL cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* f, void** a, AP_AT) {
  ap_plain::config c({}, {});
  const cudaError_t e = ap_plain::config_of(*how, c, ap_at);
  return e != cudaSuccess ? e : ap_plain::launch_by_address(f, c, a, ap_at);
}
template <class... P>
AP_CALL cudaLaunchKernelExC(const cudaLaunchConfig_t* how, void (*f)(P...), void** a, AP_AT) {
  return cudaLaunchKernelExC(how, ap_plain::address_of(f), a, ap_at);
}
AP_CALL cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) {
  return cudaSuccess;
}
AP_CALL cudaStreamGetAttribute(cudaStream_t, cudaStreamAttrID, cudaStreamAttrValue* v) {
  return *v = {}, cudaSuccess;
}
template <class F> AP_CALL cudaOccupancyMaxActiveClusters(int* clusters, F, const cudaLaunchConfig_t* c) {
  const dim3 block = c->blockDim;
  const int threads = static_cast<int>(block.x * block.y * block.z);
  ap_plain::config how({}, {});
  if (const cudaError_t e = ap_plain::config_of(*c, how, {}); e != cudaSuccess) return e;
  const int blocks = ap_plain::multiprocessors * ap_plain::blocks_together(threads, c->dynamicSmemBytes),
            size = static_cast<int>(std::max(how.cluster[0] * how.cluster[1] * how.cluster[2], 1u));
  return *clusters = blocks > 0 ? std::max(blocks / size, 1) : 0, cudaSuccess;
}
template <class F> AP_CALL cudaOccupancyMaxPotentialClusterSize(int* blocks, F, const cudaLaunchConfig_t*) {
  return *blocks = 8, cudaSuccess;
}
#undef AP_CALL
