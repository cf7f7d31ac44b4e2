// SPDX-License-Identifier: Apache-2.0
// The version of NVIDIA's core libraries that the stand-ins follow. Plain CUDA under the checker.
#pragma once
#define CCCL_MAJOR_VERSION 2
#define CCCL_MINOR_VERSION 2
#define CCCL_PATCH_VERSION 0
#define CCCL_VERSION 2002000
