// SPDX-License-Identifier: Apache-2.0
// A small library with thread-local storage of its own: found anywhere, or, in a program that runs already,
// in the little room that the C library keeps for those that ask for a fixed place.
#ifdef FIXED
[[gnu::tls_model("initial-exec")]]
#endif
thread_local long neighbours[8];

extern "C" long next_of_neighbour() { return ++neighbours[3]; }
