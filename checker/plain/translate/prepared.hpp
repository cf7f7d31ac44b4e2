// SPDX-License-Identifier: Apache-2.0
// What all programs have in common, compiled once: the stand-in headers as g++'s precompiled header, and the
// part of its own that each program gets. Both lie in a folder of the user's cache.
#pragma once
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

struct prepared_parts {
  // To include first: g++ takes the precompiled one next to it, or this text if it cannot.
  std::filesystem::path header;
  std::filesystem::path own_part;  // an object
};

// How both are made. Commands lack input and output, which are added.
struct preparation {
  std::vector<std::string> compile_header, compile_own_part;
  std::string header, own_part;             // their texts
  std::filesystem::path compiler, include;  // files whose changes make them stale
};

// Parts that an earlier program has left. Without a cache folder (ANTIPHASE_CACHE, or antiphase in
// XDG_CACHE_HOME or in ~/.cache; ANTIPHASE_CACHE=off for none) there are never any.
std::optional<prepared_parts> prepared(const preparation& how);
// Makes them for later programs, until the future is ready; its destructor waits for that.
std::future<void> prepare(const preparation& how);

// Throws device_error if the disk is full, say.
void write_file(const std::filesystem::path& file, std::string_view text);

// Runs a command and returns its exit status; what it prints goes to the file, which lies in a
// temporary_folder. Throws not_supported if the command does not start.
int run_command(const std::vector<std::string>& command, const std::filesystem::path& said);

}  // namespace antiphase::plain
