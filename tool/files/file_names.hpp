// SPDX-License-Identifier: Apache-2.0
// What paths name: open descriptors of this process, links, the same file under two names.
#pragma once
#include <optional>
#include <string>

namespace antiphase::tool {

// The open descriptor of this process that a path names: 1 for /dev/stdout, N for /dev/fd/N, /proc/self/fd/N
// and symbolic links to them. Such a path has to be used through its descriptor: opened again, a file would
// be read or written from its start. Nothing for any other path. "-" is no path.
std::optional<int> named_descriptor(const std::string& path);
// The same with "-" for standard input, standard output.
std::optional<int> input_descriptor(const std::string& path);
std::optional<int> output_descriptor(const std::string& path);

// What a symbolic link, or a chain of them, finally points to; the end need not exist. Empty on an error,
// which is in errno.
std::string follow_links(std::string path);

// Whether what is written to a path ends up where standard output does: "-", /dev/stdout, the file that it is
// redirected to.
bool is_standard_output(const std::string& path);

// Throws bad_request if `output` and `input` name the same file, under whatever names: links of both kinds
// are seen through. `-` is the standard output and input. A path that does not exist yet, and a device, is no
// other path's file.
void refuse_same_file(const std::string& output, const std::string& input);
// Throws bad_request if two inputs are one stream, which can be read only once: standard input, a descriptor,
// a FIFO.
void refuse_same_stream(const std::string& one, const std::string& other);

}  // namespace antiphase::tool
