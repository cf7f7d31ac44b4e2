# SPDX-License-Identifier: Apache-2.0
# Binaries that run with an older C library than this system's: libraries and tool of the Python wheel.
include_guard(GLOBAL)

set(ANTIPHASE_GLIBC "" CACHE STRING "Oldest GNU C library that the shared libraries and the tool shall run with, 2.28 or newer; they then hold all other libraries. Empty: this system's")
unset(_why_not)
if(NOT ANTIPHASE_GLIBC STREQUAL "")
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(NOT ANTIPHASE_GLIBC MATCHES "^2\\.(2[89]|[3-9][0-9])$")
    message(FATAL_ERROR "antiphase: ANTIPHASE_GLIBC is '${ANTIPHASE_GLIBC}': expected 2.28 or newer, or nothing for this system's C library")
  elseif(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT Python3_FOUND)
    set(_why_not "that needs x86-64, g++ and Python")
  elseif(ANTIPHASE_SANITIZE)
    set(_why_not "sanitizers need this system's")
  endif()
endif()
if(ANTIPHASE_GLIBC STREQUAL "" OR DEFINED _why_not)
  if(DEFINED _why_not)
    message(STATUS "antiphase: ANTIPHASE_GLIBC is ignored: ${_why_not}")
  endif()
  # antiphase_portable(target): nothing to do
  function(antiphase_portable target)
  endfunction()
  return()
endif()

set(maker "${PROJECT_SOURCE_DIR}/scripts/build/old_glibc.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${maker}" "${PROJECT_SOURCE_DIR}/scripts/build/manylinux.py")
execute_process(COMMAND "${Python3_EXECUTABLE}" "${maker}" "${ANTIPHASE_GLIBC}" "${CMAKE_CXX_COMPILER}" "${PROJECT_BINARY_DIR}/glibc" COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "antiphase: shared libraries and tool run with GNU C libraries from ${ANTIPHASE_GLIBC} on")

set(Boost_USE_STATIC_LIBS ON)
# libdw and what it needs, in the order that the linker wants
set(ANTIPHASE_STATIC_LIBDW "")
foreach(name dw elf z bz2 lzma zstd)
  find_library(ANTIPHASE_STATIC_${name} lib${name}.a)
  mark_as_advanced(ANTIPHASE_STATIC_${name})
  if(ANTIPHASE_STATIC_${name})
    list(APPEND ANTIPHASE_STATIC_LIBDW "${ANTIPHASE_STATIC_${name}}")
  endif()
endforeach()

# antiphase_portable(target): links a shared library or a program so that it runs with the old C library.
function(antiphase_portable target)
  target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/core/portable/older_libc.cpp")
  # Threads and dlopen() were libraries of their own before 2.34.
  target_link_options(${target} PRIVATE "-L${PROJECT_BINARY_DIR}/glibc"
                      "LINKER:--push-state,--no-as-needed,-lpthread,-ldl,-lrt,--pop-state")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES ANTIPHASE_PORTABLE ON)
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/core/portable/older_start.cpp" "${PROJECT_SOURCE_DIR}/library/c_api/formatting.cpp")
    if(ANTIPHASE_HAS_CUDA)
      target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/core/portable/shared_gpu_code.cpp")
      target_link_options(${target} PRIVATE "LINKER:--wrap=__cudaRegisterFatBinary")
    endif()
    set_property(SOURCE "${PROJECT_SOURCE_DIR}/library/c_api/formatting.cpp" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -fno-inline)
    # Programs that the checker loads use their own C++ library. Exceptions pass through them and through us:
    # both must use one unwinder, this system's.
    target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc "LINKER:--wrap=__libc_start_main,--as-needed,--gc-sections"
                        "LINKER:--exclude-libs,libstdc++.a:libdw.a:libelf.a:libz.a:libbz2.a:liblzma.a:libzstd.a:libboost_context.a")
  else()
    target_link_options(${target} PRIVATE "LINKER:--wrap=_dl_find_object")
  endif()
endfunction()
