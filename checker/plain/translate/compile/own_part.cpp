// SPDX-License-Identifier: Apache-2.0
// The part of a checked program that is the checker's own: hooks, sections, wrapped functions.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "checker/plain/translate/compile/compile_steps.hpp"

namespace antiphase::plain {
namespace {

// Compiled into each program without instrumentation. Tells the runtime where the device's variables are; an
// entry in each section makes its bounds exist. Its hooks return at once for accesses that are not tracked:
// the host's to its own memory, a thread's to its stack.
constexpr const char* hooks_of_program = R"(
extern "C" {
__attribute__((section("ap_device"), used)) static char antiphase_plain_some_device[16];
__attribute__((section("ap_constant"), used)) static char antiphase_plain_some_constant[16];
__attribute__((section("ap_managed"), used)) static char antiphase_plain_some_managed[16];
extern __attribute__((visibility("hidden"))) char __start_ap_device[], __stop_ap_device[], __start_ap_constant[], __stop_ap_constant[],
    __start_ap_managed[], __stop_ap_managed[];
struct range { unsigned long low, size; };
__attribute__((visibility("hidden"))) range antiphase_plain_unhooked_range = {0, ~0ul};
void antiphase_plain_loaded(char**, range*);
// before variables of the program are initialised
__attribute__((constructor(101))) static void antiphase_plain_load() {
  char* sections[] = {__start_ap_device, __stop_ap_device, __start_ap_constant, __stop_ap_constant, __start_ap_managed, __stop_ap_managed};
  antiphase_plain_loaded(sections, &antiphase_plain_unhooked_range);
}
#define INSIDE(p, from, to) ((unsigned long)(p) - (unsigned long)(from) < (unsigned long)(to) - (unsigned long)(from))
#define ACCESS(name) \
  void antiphase_checked_##name(void*); \
  __attribute__((visibility("hidden"))) void __tsan_##name(void* p) { \
    if ((unsigned long)p - antiphase_plain_unhooked_range.low >= antiphase_plain_unhooked_range.size || \
        INSIDE(p, __start_ap_device, __stop_ap_device) || INSIDE(p, __start_ap_constant, __stop_ap_constant) || \
        INSIDE(p, __start_ap_managed, __stop_ap_managed)) antiphase_checked_##name(p); \
  }
void* antiphase_plain_malloc(unsigned long);
void antiphase_plain_free_at(void*, const void*);
[[noreturn]] void antiphase_plain_overwritten_stack(const void*);
__attribute__((visibility("hidden"))) void __stack_chk_fail() { antiphase_plain_overwritten_stack(__builtin_return_address(0)); }
ACCESS(read1) ACCESS(read2) ACCESS(read4) ACCESS(read8) ACCESS(read16)
ACCESS(write1) ACCESS(write2) ACCESS(write4) ACCESS(write8) ACCESS(write16)
}
extern __attribute__((weak, visibility("hidden"))) const int warpSize = 32;
__attribute__((visibility("hidden"))) void* operator new(unsigned long n) { return antiphase_plain_malloc(n); }
__attribute__((visibility("hidden"))) void* operator new[](unsigned long n) { return antiphase_plain_malloc(n); }
__attribute__((visibility("hidden"))) void operator delete(void* p) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
__attribute__((visibility("hidden"))) void operator delete[](void* p) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
__attribute__((visibility("hidden"))) void operator delete(void* p, unsigned long) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
__attribute__((visibility("hidden"))) void operator delete[](void* p, unsigned long) noexcept { antiphase_plain_free_at(p, __builtin_return_address(0)); }
)";

}  // namespace

// g++ forgets the section of a variable that a template has. The pre-pass gives it a tag in its name, or
// names it.
std::string sections_of_templates(const words& variables) {
  std::string named;
  for (const std::string& v : variables)
    named += fmt::format(" *(.data._Z*{0}{1}I* .bss._Z*{0}{1}I*)", v.size(), v);
  std::string all = "SECTIONS {\n";
  for (const std::string section : {"ap_device", "ap_constant", "ap_managed"})
    all += fmt::format("  {0} : {{ *({0}) *(.data.*B{1}{0}* .bss.*B{1}{0}*){2} }}\n", section, section.size(),
                       std::exchange(named, ""));
  return all + "} INSERT AFTER .data;\n";
}

namespace {

// By these functions of the C library a host function may tell main that it is done. The linker's --wrap puts
// ours in their place.
struct wrapped_function {
  const char *result, *name, *parameters, *arguments;
};
constexpr const char *one = "void* p", *three = "int f, void* p, unsigned long n";
constexpr std::array<wrapped_function, 15> wrapped{{{"int", "pthread_mutex_lock", one, "p"},
                                                    {"int", "pthread_mutex_trylock", one, "p"},
                                                    {"int", "pthread_mutex_unlock", one, "p"},
                                                    {"int", "pthread_spin_lock", one, "p"},
                                                    {"int", "pthread_spin_unlock", one, "p"},
                                                    {"int", "pthread_rwlock_rdlock", one, "p"},
                                                    {"int", "pthread_rwlock_wrlock", one, "p"},
                                                    {"int", "pthread_rwlock_unlock", one, "p"},
                                                    {"int", "sem_wait", one, "p"},
                                                    {"int", "sem_trywait", one, "p"},
                                                    {"int", "sem_post", one, "p"},
                                                    {"int", "__cxa_guard_acquire", one, "p"},
                                                    {"void", "__cxa_guard_release", one, "p"},
                                                    {"long", "read", three, "f, p, n"},
                                                    {"long", "write", three, "f, p, n"}}};

}  // namespace

words wrapped_functions() {
  words names;
  for (const wrapped_function& f : wrapped) names.emplace_back(f.name);
  return names;
}
std::string own_part() {
  std::string all(hooks_of_program);
  all += "extern \"C\" {\nvoid antiphase_plain_lock();\n";
  for (const wrapped_function& f : wrapped)
    all += fmt::format(
        "{0} __real_{1}({2});\n"
        "__attribute__((visibility(\"hidden\"))) {0} __wrap_{1}({2}) {{\n"
        "  antiphase_plain_lock();\n"
        "  return __real_{1}({3});\n"
        "}}\n",
        f.result, f.name, f.parameters, f.arguments);
  return all + "}\n";
}

}  // namespace antiphase::plain
