// SPDX-License-Identifier: Apache-2.0
// The scope of an atomic operation or a fence.
#pragma once

namespace antiphase {

// The threads between which memory is ordered: those of a block, a cluster, a device, or all devices and the
// host. Blocks of one launch need device scope or wider to see each other's writes (PTX ISA, memory
// consistency model: morally strong operations).
enum class scope : unsigned char { block = 1, cluster, device, system };

}  // namespace antiphase
