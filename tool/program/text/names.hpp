// SPDX-License-Identifier: Apache-2.0
// Option values that are names.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::tool {

// Index of `text` among the names that `option` takes. Throws bad_request with the closest name, or all of
// them: "--protocol 'warm': expected rested or hot".
std::size_t choice_of(std::string_view option, std::string_view text, const std::vector<std::string>& known);

// Parses numpy's short name of a type, which must be one of `known`; throws bad_request. For f32, float32 or
// double, the message gives the short name. `also`: values that the option takes besides types.
element parse_type(std::string_view option, std::string_view text, std::span<const element> known,
                   const std::vector<std::string>& also = {});

// All types that numpy knows; types that C++ calculates with come first.
inline constexpr element all_types[] = {element::f32, element::f64, element::i8, element::i16,
                                        element::i32, element::i64, element::u8, element::u16,
                                        element::u32, element::u64, element::f16};
inline constexpr std::span<const element> types_to_calculate_with = std::span(all_types).first(10);

// Names that gemm, attention and scan take as --policy, auto first.
std::vector<std::string> policies_of_gemm();
std::vector<std::string> policies_of_attention();
std::vector<std::string> policies_of_scan();
std::vector<std::string> names_of_types(std::span<const element> types);

}  // namespace antiphase::tool
