// SPDX-License-Identifier: Apache-2.0
// A small library with thread-local storage: dynamic, or, with FIXED, in the static TLS surplus that the C
// library reserves for libraries loaded at runtime.
#ifdef FIXED
[[gnu::tls_model("initial-exec")]]
#endif
thread_local long neighbours[8];

extern "C" long next_of_neighbour() { return ++neighbours[3]; }
