// SPDX-License-Identifier: Apache-2.0
// Libraries of which a program may only include the header: the pre-pass refuses each use by name.
#pragma once
#include <antiphase/plain/cuda_runtime.h>
