// SPDX-License-Identifier: Apache-2.0
/* What libantiphase_cublas.so offers beside the functions of cuBLAS that it stands in front of:
 * docs/cublas.md. */
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

/* Leads the calls of cuBLAS of all libraries that the process has loaded, and of the program, to this
 * library, which need not have been preloaded. Returns how many calls' slots have been changed: 0 if there is
 * none, or all were before. Libraries that are loaded later are served by another call. Functions that
 * somebody has asked for by dlsym() stay theirs. -1: there was no memory. */
ANTIPHASE_CUBLAS_API int antiphase_cublas_enable(void);
/* Takes that back, in the libraries that are still loaded, and nothing else. Returns how many slots lead to
 * cuBLAS again. */
ANTIPHASE_CUBLAS_API int antiphase_cublas_disable(void);
/* What has become of products so far, in the words of the line that a program says at its end, cut off where
 * `room` bytes with the final 0 end. Returns the bytes that the whole has without the 0. */
ANTIPHASE_CUBLAS_API size_t antiphase_cublas_report(char* text, size_t room);
/* Runs a program, which execvp() finds, in the environment as it is. This process ends as the program does:
 * with its exit code, or by its signal. Where the environment asks for a report, a profile or a log file,
 * this process is the program's parent meanwhile. It hands SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 on to the
 * program, and tells what that and its children have left untold: those that were killed, crashed, or left by
 * _exit(). Otherwise this process becomes the program. Returns only if the program cannot be executed: the
 * number of the error. `words`: the program and its arguments, and a null pointer behind them. */
ANTIPHASE_CUBLAS_API int antiphase_cublas_run(char* const words[]);

#ifdef __cplusplus
}
#endif

#endif
