// SPDX-License-Identifier: Apache-2.0
// Folders: of files that come with the program, and new ones for a user.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace antiphase::tool {

// share/antiphase/NAME next to the program, or `source`, in the sources that it was built from: the first
// that has the file `known`. Throws error, which says that `what` are missing.
std::filesystem::path shipped_folder(const std::string& name, const std::filesystem::path& source,
                                     const std::string& known, const std::string& what);

// Makes the folder, with the ones it is in, and its files: names and texts. Throws bad_request if it is there
// already, and says what was expected; output_failed. Whatever it throws, nothing of it remains.
void make_folder(const std::filesystem::path& folder, const std::string& expected,
                 std::span<const std::pair<std::string, std::string>> files);

// Makes files below a folder, with the folders that they are in. Throws bad_request if one of them is there
// already; output_failed. Whatever it throws, nothing of what it made remains.
void make_files(const std::filesystem::path& folder,
                std::span<const std::pair<std::string, std::string>> files);

}  // namespace antiphase::tool
