// SPDX-License-Identifier: Apache-2.0
// The start of a program that must run with GNU C libraries from 2.28 on. From 2.34 on the library runs a
// program's constructors, unless the start files name a function that does. Before, they always named one.
// Destructors are run by the dynamic loader in both.
extern "C" {
using action = void (*)(int, char**, char**);
extern action __init_array_start[], __init_array_end[];
void _init();

static void construct(int argc, char** argv, char** environment) {
  _init();
  for (action* a = __init_array_start; a != __init_array_end; ++a) (*a)(argc, argv, environment);
}

using main_function = int (*)(int, char**, char**);
int __real___libc_start_main(main_function, int, char**, action, void (*)(), void (*)(), void*);
// by the linker's --wrap, in place of __libc_start_main
int __wrap___libc_start_main(main_function main, int argc, char** argv, action, void (*)(), void (*at_exit)(),
                             void* stack) {
  return __real___libc_start_main(main, argc, argv, construct, nullptr, at_exit, stack);
}
}
