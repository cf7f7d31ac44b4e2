// SPDX-License-Identifier: Apache-2.0
// What paths refer to: open descriptors of this process, links, the same file under two names.
#pragma once
#include <optional>
#include <string>

namespace antiphase::tool {

// The open descriptor of this process that a path names: 1 for /dev/stdout, N for /dev/fd/N, /proc/self/fd/N
// and symbolic links to them. Such a path must be used through its descriptor: opening it again would read or
// write a file from its start. Nothing for any other path; "-" is not a path.
std::optional<int> named_descriptor(const std::string& path);
// The same, with "-" for standard input or output.
std::optional<int> input_descriptor(const std::string& path);
std::optional<int> output_descriptor(const std::string& path);

// Final target of a symbolic link or a chain of them; it need not exist. On an error: empty, with errno set.
std::string follow_links(std::string path);

// Whether output to this path ends up where standard output goes: "-", /dev/stdout, or the file that standard
// output is redirected to.
bool is_standard_output(const std::string& path);

// Throws bad_request if `output` and `input` are the same file, even through symbolic or hard links. "-" is
// standard output and input. A path that does not exist yet and a device never count as the same file.
void refuse_same_file(const std::string& output, const std::string& input);
// Throws bad_request if two inputs are the same stream, which can be read only once: standard input, a
// descriptor or a FIFO.
void refuse_same_stream(const std::string& one, const std::string& other);

}  // namespace antiphase::tool
