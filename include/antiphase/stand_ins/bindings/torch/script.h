// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of this name: see bindings.h.
#pragma once
#include "../bindings.h"
