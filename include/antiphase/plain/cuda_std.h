// SPDX-License-Identifier: Apache-2.0
// cuda::std is the host's own library here. These are its headers that compile quickly.
#pragma once
#include <array>
#include <bitset>
#include <cassert>
#include <cfloat>
#include <concepts>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numbers>
#include <optional>
#include <ratio>
#include <span>
#include <tuple>
#include <utility>

#include <cuda/atomic>
