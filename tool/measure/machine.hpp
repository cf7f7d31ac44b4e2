// SPDX-License-Identifier: Apache-2.0
// Properties and state of a GPU during measurements: driver, clocks, power.
#pragma once
#include <string_view>

#include "tool/program/place.hpp"

namespace antiphase::tool {

// The member "machine" of a result file: the name; on a GPU also driver and CUDA versions, clocks and power,
// as NVML (NVIDIA's management library) reports them now. Values that it does not report are left out.
json machine_of(const place& at);

// Members that every result file begins with: schema, command, date, commit, place and machine.
constexpr int schema_of_records = 2, schema_of_traces = 1;
json result_envelope(std::string_view command, const place& at, int schema = schema_of_records);

}  // namespace antiphase::tool
