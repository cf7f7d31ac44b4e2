// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "cuda_runtime.h"
#include "tensor_maps.h"
#define CUDA_VERSION 12000
