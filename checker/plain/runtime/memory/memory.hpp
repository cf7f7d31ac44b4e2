// SPDX-License-Identifier: Apache-2.0
// Memory of the device and of the host: whose it is, and how much of it there is.
#pragma once
#include <antiphase/plain/host.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "checker/runs/model.hpp"

namespace antiphase::plain {

// Device memory, or host memory that has been allocated or registered as pinned.
bool of_device(const void* p, std::size_t bytes = 1);
bool is_shared_with_host(const void* p);  // managed, or pinned
bool only_device(const void* p);
bool is_variable(const void* p);
std::string variable_name(const void* p);
// The allocation that holds an address; its size is 0 if there is none.
std::pair<std::uintptr_t, std::size_t> allocation_at(std::uintptr_t p);
// Memory that outlives a launch.
void visit_memory(const std::function<void(const void* start, std::size_t bytes)>& visit);
void report_leaks();
void follow_memory(checker_detail::model& m);  // of a run that begins

// Finds the addresses of virtual functions in what the host has copied: kernels must not call them.
void find_virtual_tables(const void* from, void* to, std::size_t bytes);

// Ends the run if the host has less memory there than a copy takes.
void require_allocated(const void* p, std::size_t bytes, const char* what, place where);
// True for memory of malloc() in kernels, which no call of the host may be given; that is a finding.
bool is_kernels_heap(const void* p, const char* what, place where);

}  // namespace antiphase::plain
