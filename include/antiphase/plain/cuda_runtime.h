// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 11
#error "antiphase check needs g++ 11 or newer to compile programs with: set CXX to another"
#endif
// Include guard that other headers test.
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_API_H__
#include <climits>

#include "atomic_builtins.h"
#include "clusters.h"
#include "device.h"
#include "graphs.h"
#include "mathematics.h"
#include "ptx.h"
#include "tensor_maps.h"
#include "tensor_memory.h"
#include "textures.h"
