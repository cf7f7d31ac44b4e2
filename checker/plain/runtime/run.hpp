// SPDX-License-Identifier: Apache-2.0
// The run of a program in this process: its model, device and host thread, how it ends, and errors of calls.
#pragma once
#include <antiphase/plain/host.h>
#include <pthread.h>

#include <exception>
#include <string>

#include "checker/runs/model.hpp"

namespace antiphase::plain {

class undefined_values;

// A process has one program, with one host thread that calls CUDA.
struct program_run {
  const executor* device = nullptr;
  checker_detail::model* followed = nullptr;
  pthread_t host{};  // the thread that runs main
};
extern program_run current_run;

inline bool is_followed() { return current_run.followed != nullptr; }
inline checker_detail::model& followed() { return *current_run.followed; }
inline const executor& device() { return *current_run.device; }
unsigned seed();
undefined_values& undefined_results();
bool on_host_thread();
// Refuses a call of CUDA by another thread of the host than the one that runs main.
void only_by_main(const char* what, place where = {}, const void* code = __builtin_return_address(0));

// Leaves the program's main, by longjmp.
[[noreturn]] void end_run(std::exception_ptr why);
[[noreturn]] void end_run(const std::string& why);
// The same after a finding, which names it; `at`: what has ended main.
[[noreturn]] void end_run_at(const std::string& at, std::exception_ptr why);
template <class Exception> [[noreturn]] void end_run_with(const Exception& e) {
  end_run(std::make_exception_ptr(e));
}
// Ends the run, as something is not supported.
[[noreturn]] void refuse(place where, const std::string& what, const std::string& instead);
std::string message_of(const std::exception_ptr& thrown);
code_place line_at(const void* code);  // of the program
std::string text_of(place where);      // my.cu:12

// Errors of calls, which cudaGetLastError() returns; each function returns the error that it is given.
cudaError_t fails(cudaError_t e);
void refuse_launch(const char* name, place where, std::string what, std::string instead, cudaError_t e);
cudaError_t misused(place where, std::string what, std::string instead, cudaError_t e);
cudaError_t bad_copy(place where, std::string what, std::string memory, std::string instead, cudaError_t e);

void watch_for_signals();  // of kernels: loops without accesses, divisions by zero

}  // namespace antiphase::plain
