// What a scan problem says, in the terms of its kernels.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace antiphase::scans {

std::string_view name(scan_operation operation);
bool is_empty(const problem& p);

// The type of the results.
inline element result_type(const problem& p) { return p.accumulate.value_or(p.type); }
// The type of the same size whose arithmetic has the same bits.
element unsigned_of(element type);

// Bits of an element, the lowest ones of the word: where a scan begins that says nothing else, and where this exclusive one begins.
std::uint64_t identity_bits(element type, scan_operation operation);
std::uint64_t first_of_exclusive(const problem& p);

// What can be said of a problem without its memory, and of segments by key. Throw bad_request naming the first argument that is wrong.
void require_sensible_sizes(const problem& p);
void require_sensible(const problem& p, const scan_keys& keys);

// A workspace of the caller's: large enough, there, aligned; and, for a sensible problem with such keys or none, memory of its own.
void require_workspace(std::span<std::byte> given, std::size_t bytes);
void require_own_memory(const problem& p, const scan_keys* keys, std::span<std::byte> workspace);

// "sum of i8 into i32, by key"
std::string description(const problem& p, const scan_keys* keys);

}  // namespace antiphase::scans
