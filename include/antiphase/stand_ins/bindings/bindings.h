// SPDX-License-Identifier: Apache-2.0
// Replaces headers of PyTorch, pybind11 and Python. Next to a driver (antiphase check --kernels) code outside
// of kernels that uses them is dropped. Otherwise a part of PyTorch is here, in tensor_functions.h, and
// calls.h calls functions from Python.
#pragma once
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <antiphase/plain/cuda_bf16.h>
#include <antiphase/plain/cuda_fp16.h>
#include <antiphase/plain/cuda_runtime.h>
#include "tensor_functions.h"
#ifndef AP_DRIVEN
#include "calls.h"
#endif
