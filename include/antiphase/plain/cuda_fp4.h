// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name: the pre-pass refuses its types.
#pragma once
#include "cuda_fp8.h"
