// SPDX-License-Identifier: Apache-2.0
// Parts of the subcommand advise.
#pragma once
#include <antiphase/advise.hpp>
#include <string>

#include "tool/commands/check/check.hpp"

namespace antiphase::tool {

std::string text_of(const advice& a);
// Prints advice on each kernel of a program that has buffers.
void advise_program(const program_request& r, const machine_profile& on);
// Prints advice on the kernel whose timeline is in the file.
void advise_recording(const common_options& common, const std::string& file, const machine_profile& on);

}  // namespace antiphase::tool
