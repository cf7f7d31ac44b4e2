# SPDX-License-Identifier: Apache-2.0
# Compile options of the project's own targets. Consumers of the library inherit only the language standard.
include_guard(GLOBAL)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # A precompiled header's definitions count as unchanged as long as its source is.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  endif()
endif()

# ThreadSanitizer keeps one call stack per host thread, which the executor's fibers would mix up. Without
# instrumented calls it has none and still finds races between host threads. AddressSanitizer finds null
# pointers and pointers to objects of another size or type on access: without UndefinedBehaviorSanitizer's
# checks of the same, programs compile in two thirds of the time. Programs also go without checks of alignment
# and of what the compiler warns of, for the same gain; the library and all kernels keep these.
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
    # GCC 12, when it optimises, warns of branches that cannot be taken (GCC bug 105329)
    if(NOT ANTIPHASE_QUICK AND NOT ANTIPHASE_SANITIZE)
      target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")
    endif()
  endif()
  if(ANTIPHASE_SANITIZE)
    # Programs are not optimised: with every access checked, the optimiser takes longer than most tests run.
    # It pays for the library, where they spend their time.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:${ANTIPHASE_SANITIZER_FLAGS};-fno-omit-frame-pointer;-g1;-D_GLIBCXX_ASSERTIONS>"
      "$<$<COMPILE_LANGUAGE:CXX>:$<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,-O0,-Og;-fno-tree-loop-optimize>>"
      "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:${ANTIPHASE_PROGRAM_SANITIZER_FLAGS}>")
    target_link_options(${target} PRIVATE ${ANTIPHASE_SANITIZER_FLAGS})
  endif()
endfunction()

# antiphase_compile_quickly(target level): -O<level> for programs that spend their time in the library, and
# half of their compilation in the optimiser; -O0 in the build of the demonstration.
function(antiphase_compile_quickly target level)
  if(ANTIPHASE_DEMO)
    set(level 0)
  endif()
  if(NOT ANTIPHASE_SANITIZE)
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O${level}>")
  endif()
endfunction()

# antiphase_quick(target [OPTIMISED files...]): with ANTIPHASE_QUICK, -Og for a library whose functions run
# once per call, -O2 for the files named, where the tests spend their time.
function(antiphase_quick target)
  cmake_parse_arguments(arg "" "" "OPTIMISED" ${ARGN})
  if(ANTIPHASE_QUICK AND NOT ANTIPHASE_SANITIZE)
    antiphase_compile_quickly(${target} g)
    # With a precompiled header of another level, GCC 12 fails.
    set_source_files_properties(${arg_OPTIMISED} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# antiphase_precompile(target headers...): headers of the standard library and {fmt} take most of the
# compilation of a small file. Sources still include all that they use: tests/consume builds the library
# without precompiled headers.
function(antiphase_precompile target)
  if(PROJECT_IS_TOP_LEVEL)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()

# antiphase_compile_in(source header function files...): generates SOURCE, whose FUNCTION, declared in HEADER,
# returns the texts of the files, which may be patterns; a file is taken once.
function(antiphase_compile_in source header function)
  foreach(pattern ${ARGN})
    file(GLOB matching CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
    if(NOT matching)
      message(FATAL_ERROR "antiphase: there is no file ${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
    endif()
    list(APPEND found ${matching})
  endforeach()
  list(REMOVE_DUPLICATES found)
  foreach(file IN LISTS found)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    string(APPEND texts "R\"text(${text})text\", ")
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${source}" @ONLY CONTENT [[
#include "@header@"

std::span<const std::string_view> @function@() {
  static constexpr std::string_view all[] = {@texts@};
  return all;
}
]])
endfunction()

# antiphase_apart(files...): files of the library that have names in common with others, so that they are compiled
# alone where others are compiled together.
function(antiphase_apart)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY antiphase PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
