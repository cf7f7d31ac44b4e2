// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "../cuda_runtime.h"

// Only named, so that a program may include this; the pre-pass refuses its use.
namespace thrust {}
