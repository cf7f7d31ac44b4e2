// SPDX-License-Identifier: Apache-2.0
// The libraries of the process, and which of them are cuBLAS and which we.
#pragma once

namespace antiphase::cublas {

// The C library's own dlsym().
void* real_dlsym(void* library, const char* name);
using dlsym_function = void*(void*, const char*);
dlsym_function* address_of_real_dlsym();

// The file of the library that an address belongs to, and where it begins in memory; null if to none.
const char* file_of(const void* address);
const void* beginning_of(const void* address);
bool is_ours(const void* address);
bool is_cublas(const void* address);
bool is_cublas_file(const char* path);

// A library that is loaded already, by its file; null if it is not. It stays, unless somebody lets go: its
// functions are remembered.
void* loaded(const char* file);
// All that the program itself sees.
void* loaded_program();
void let_go(void* library);
// A function that a library, or one that it depends on, has under that name, if it is not ours.
void* function_in(void* library, const char* name);

}  // namespace antiphase::cublas
