// SPDX-License-Identifier: Apache-2.0
/* What libantiphase_cublas.so offers next to the functions of cuBLAS that it stands in front of:
 * docs/use/cublas.md. */
#ifndef ANTIPHASE_CUBLAS_H
#define ANTIPHASE_CUBLAS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ANTIPHASE_CUBLAS_API __attribute__((visibility("default")))
#else
#define ANTIPHASE_CUBLAS_API
#endif

/* Redirects the cuBLAS calls of the program and of all loaded libraries to this library, which need not have
 * been preloaded. Returns the number of import slots that were changed; 0 if there are none, or all had been
 * changed before; -1 if there was no memory. Call it again after loading further libraries. Function pointers
 * obtained by dlsym() are not redirected. */
ANTIPHASE_CUBLAS_API int antiphase_cublas_enable(void);
/* Undoes antiphase_cublas_enable() in the libraries that are still loaded. Returns the number of slots that
 * lead to cuBLAS again. */
ANTIPHASE_CUBLAS_API int antiphase_cublas_disable(void);
/* What has been done with products so far: the line that is printed at the program's end, truncated to `room`
 * bytes with the final 0. Returns the length of the whole line without the 0. */
ANTIPHASE_CUBLAS_API size_t antiphase_cublas_report(char* text, size_t room);
/* For a profile: measures what a call that is not cuBLAS's queues in a stream between begin and end. kind is
 * "attention" or "scans", seconds what the call is predicted to take, would_be what it would take: the same if it
 * would be passed on. begin returns null where nothing can be measured; then predictions count. end takes what begin
 * has returned, and returns 0, or -1 for another kind. */
ANTIPHASE_CUBLAS_API void* antiphase_cublas_begin(struct CUstream_st* stream);
ANTIPHASE_CUBLAS_API int antiphase_cublas_end(void* begun, const char* kind, double seconds, double would_be);
/* Runs a program, found as by execvp(), in the current environment. `words`: the program, its arguments and a
 * null pointer. This process ends as the program does, with its exit code or by its signal; the function
 * returns, with the error number, only if the program cannot be executed.
 *
 * Where the environment asks for a report, a profile or a log file, this process stays as the program's
 * parent. It forwards SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2, and reports for the program and its children what
 * they did not report themselves because they were killed, crashed or left by _exit(). Otherwise this process
 * becomes the program (exec). */
ANTIPHASE_CUBLAS_API int antiphase_cublas_run(char* const words[]);

#ifdef __cplusplus
}
#endif

#endif
