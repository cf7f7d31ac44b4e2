// SPDX-License-Identifier: Apache-2.0
// How far an atomic operation or a fence reaches.
#pragma once

namespace antiphase {

// Between whom memory is ordered: the threads of a block, a cluster of blocks, a device, or all devices and
// the host. Blocks of one launch see each other's writes at device scope or wider only (PTX ISA, memory
// consistency model: morally strong operations).
enum class scope : unsigned char { block = 1, cluster, device, system };

}  // namespace antiphase
