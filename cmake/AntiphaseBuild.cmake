# SPDX-License-Identifier: Apache-2.0
# Compile options of the project's own targets. Consumers of the library inherit none of them but the language
# standard.
include_guard(GLOBAL)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What a precompiled header defines counts as unchanged as long as its source is.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  endif()
endif()

# ThreadSanitizer keeps a stack of calls per host thread, which the executor's fibers would mix up: without
# calls it knows none, and finds races between host threads all the same. Pointers that are null, or that lead
# to something else than their type says, AddressSanitizer finds when memory is accessed: without
# UndefinedBehavior- Sanitizer's checks of them once more, programs are compiled in two thirds of the time. So
# are they without those of alignment and of what the compiler warns of, which the library and all kernels
# keep.
set(ANTIPHASE_PROGRAM_SANITIZER_FLAGS "")
if(ANTIPHASE_SANITIZE STREQUAL "address")
  set(ANTIPHASE_SANITIZER_FLAGS -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=all)
  set(ANTIPHASE_PROGRAM_SANITIZER_FLAGS -fno-sanitize=pointer-overflow,alignment,return,nonnull-attribute,returns-nonnull-attribute)
elseif(ANTIPHASE_SANITIZE STREQUAL "thread")
  set(ANTIPHASE_SANITIZER_FLAGS -fsanitize=thread --param=tsan-instrument-func-entry-exit=0)
elseif(ANTIPHASE_SANITIZE)
  message(FATAL_ERROR "antiphase: ANTIPHASE_SANITIZE is '${ANTIPHASE_SANITIZE}': expected address or thread")
endif()

# antiphase_options(target): warnings and sanitizers, as the build asks for them. The library's public
# requirement, C++20, is set where the target is made.
function(antiphase_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  if(ANTIPHASE_WARNINGS)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wno-psabi;-Werror>"
      "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas>")
    # where GCC 12 optimises, it warns of branches that cannot be taken (its bug 105329)
    if(NOT ANTIPHASE_QUICK AND NOT ANTIPHASE_SANITIZE)
      target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")
    endif()
  endif()
  if(ANTIPHASE_SANITIZE)
    # Programs are not optimised: where every access is checked, the optimiser takes longer than most tests
    # run. It pays for the library, in which they spend their time.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:${ANTIPHASE_SANITIZER_FLAGS};-fno-omit-frame-pointer;-g1;-D_GLIBCXX_ASSERTIONS>"
      "$<$<COMPILE_LANGUAGE:CXX>:$<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,-O0,-O1;-fno-tree-loop-optimize>>"
      "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:${ANTIPHASE_PROGRAM_SANITIZER_FLAGS}>")
    target_link_options(${target} PRIVATE ${ANTIPHASE_SANITIZER_FLAGS})
  endif()
endfunction()

# antiphase_compile_quickly(target level): for programs that spend their time in the library, and as long in
# the optimiser as in everything else.
function(antiphase_compile_quickly target level)
  if(NOT ANTIPHASE_SANITIZE)
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O${level}>")
  endif()
endfunction()

# antiphase_quick(target [OPTIMISED files...]): with ANTIPHASE_QUICK, a library whose functions run once per
# call, but for the files named, in which the tests spend their time.
function(antiphase_quick target)
  cmake_parse_arguments(arg "" "" "OPTIMISED" ${ARGN})
  if(ANTIPHASE_QUICK AND NOT ANTIPHASE_SANITIZE)
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>")
    # With a precompiled header of another level, GCC 12 fails.
    set_source_files_properties(${arg_OPTIMISED} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# antiphase_precompile(target headers...): most of the time for a small file is that of the headers it
# includes, of the standard library and {fmt}. Nothing of what is precompiled may be missing where it is used:
# tests/consume builds the library without.
function(antiphase_precompile target)
  if(PROJECT_IS_TOP_LEVEL)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()
