// SPDX-License-Identifier: Apache-2.0
// The texts of core/executor/profiles, compiled in.
#pragma once
#include <span>
#include <string_view>

namespace antiphase {

std::span<const std::string_view> shipped_profile_texts();

}  // namespace antiphase
