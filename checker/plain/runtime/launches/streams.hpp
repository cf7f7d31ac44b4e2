// SPDX-License-Identifier: Apache-2.0
// Streams: work that is done now or goes into a graph, and host functions.
#pragma once
#include "checker/plain/runtime/host_work.hpp"
#include "checker/plain/runtime/launches/graphs.hpp"

namespace antiphase::plain {

bool has_streams();  // the program has made some

bool is_gone(cudaStream_t on, const char* what, place where);  // destroyed, which is a finding
bool is_gone(cudaEvent_t e, const char* what, place where);
// True for work that is not done now: it goes into a graph, or is an error.
bool put_off(cudaGraphNodeType type, const char* what, cudaStream_t on, returns when, const stream_work& work,
             place where);
// Host functions may not call CUDA: a finding.
bool in_host_function(const char* what, place where);
checker_detail::thread_model* host_function_thread();  // null: no host function runs
// Ordinary memory of the host; null before main.
host_work* ordinary_memory();
void follow_ordinary_memory(checker_detail::model& m);
std::optional<std::uint64_t> found_by_host(const void* p, std::size_t bytes);

}  // namespace antiphase::plain
