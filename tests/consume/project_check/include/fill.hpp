// SPDX-License-Identifier: Apache-2.0
#pragma once

void fill(int* numbers, int count);
