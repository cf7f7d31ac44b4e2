// SPDX-License-Identifier: Apache-2.0
// A template outside of AP_TARGET, not inlined: with and without instrumentation it has the same symbol.
namespace antiphase::test {

template <class T> [[gnu::noinline]] void add_one(T* to) { ++*to; }
template void add_one(int*);

}  // namespace antiphase::test
