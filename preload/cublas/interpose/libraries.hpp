// SPDX-License-Identifier: Apache-2.0
// The libraries of the process; which of them is cuBLAS, and which is this one.
#pragma once

namespace antiphase::cublas {

// The C library's own dlsym().
void* real_dlsym(void* library, const char* name);
using dlsym_function = void*(void*, const char*);
dlsym_function* address_of_real_dlsym();

// File and load address of the library that an address belongs to; null if none.
const char* file_of(const void* address);
const void* beginning_of(const void* address);
bool is_ours(const void* address);
bool is_cublas(const void* address);
bool is_cublas_file(const char* path);

// Handle of a library that is loaded already, by its file; null if it is not. It stays loaded unless let_go()
// is called, since its functions are remembered.
void* loaded(const char* file);
// Handle of the program itself and all it sees.
void* loaded_program();
void let_go(void* library);
// Function of that name in the library or one it depends on; null if there is none, or it is ours.
void* function_in(void* library, const char* name);

}  // namespace antiphase::cublas
