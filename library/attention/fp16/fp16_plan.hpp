// SPDX-License-Identifier: Apache-2.0
// Plans of attention on Tensor Cores: policies fp16 and fp16-short, and the ladder's last steps, whose
// kernels are fp16's.
#pragma once
#include <span>
#include <string>

#include "library/attention/fp16/fp16_kernels.hpp"
#include "library/attention/plan.hpp"

namespace antiphase::attentions {

// Columns of the table in plan.cpp.
std::string fp16_unsuited(const request& r);
double fp16_seconds(const request& r);
choices::plan plan_fp16(const request& r);
std::string short_unsuited(const request& r);
double short_seconds(const request& r);
choices::plan plan_short(const request& r);
std::string roles_unsuited(const request& r);
choices::plan plan_roles(const request& r);
choices::plan plan_antiphase(const request& r);

std::span<const split_instance> split_instances(target where);
std::span<const contract_instance> contract_instances(target where);
std::span<const forward_instance> forward_instances(target where);
std::span<const short_instance> short_instances(target where);
std::span<const gradient_split_instance> gradient_split_instances(target where);
std::span<const gradient_instance> gradient_instances(target where);

// A given forward kernel, without a choice.
choices::plan plan_forward(const request& r, const forward_instance& with);

}  // namespace antiphase::attentions
