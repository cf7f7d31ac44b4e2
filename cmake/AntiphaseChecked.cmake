# SPDX-License-Identifier: Apache-2.0
# Kernels for the checker. Installed with the package: users check kernels of their own with it.
include_guard(GLOBAL)

# antiphase_checked_kernels(target SOURCES files... [DEFINITIONS names...]): compiles sources with kernels
# once more, into the inline namespace `checked` and with every memory access instrumented, and adds them to
# the target. Definitions outside of AP_TARGET must not be compiled into the target a second time. Needs g++;
# the target links antiphase::checker, never libtsan.
function(antiphase_checked_kernels target)
  cmake_parse_arguments(arg "" "" "SOURCES;DEFINITIONS" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "antiphase: kernels for the checker need g++, this is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  set(library "${target}_checked")
  foreach(source ${arg_SOURCES})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(GET source STEM stub)
    set(stub "${CMAKE_CURRENT_BINARY_DIR}/kernels/${library}_${stub}.cpp")
    file(CONFIGURE OUTPUT "${stub}" CONTENT "#include \"${source}\"\n")
    list(APPEND stubs "${stub}")
  endforeach()
  if(TARGET ${library})
    target_sources(${library} PRIVATE ${stubs})
  else()
    add_library(${library} OBJECT ${stubs})
    target_include_directories(${library} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_link_libraries(${library} PRIVATE antiphase::device)
    # -fno-builtin: memcpy() and the like remain calls, which the prelude redirects to the checker.
    # -fno-optimize-sibling-calls: a hook's return address identifies the access, so no hook may be
    # tail-called. -g1: lines for the reports. -fno-weak: inline functions and templates that are not inlined
    # become local to the object; as weak symbols, they could be replaced by another object's without
    # instrumentation. -w: the compiler warns that constants become local too, and that libtsan knows no
    # fences; the sources' warnings show in the other targets' compilations. -fno-tree-loop-optimize:
    # optimising loops in which every access is a call takes ten times as long as all the rest.
    target_compile_options(${library} PRIVATE -O1 -fno-tree-loop-optimize -g1 -fsanitize=thread -fno-builtin -fno-optimize-sibling-calls -fno-weak -w
                                              "SHELL:--param tsan-instrument-func-entry-exit=0" "SHELL:--param tsan-distinguish-volatile=1"
                                              "SHELL:-include antiphase/executor/cpu/checked_prelude.hpp")
    target_compile_definitions(${library} PRIVATE AP_CHECKED)
    if(PROJECT_NAME STREQUAL "antiphase")  # other projects choose the warnings for their own kernels
      antiphase_options(${library})
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
  endif()
  target_compile_definitions(${library} PRIVATE ${arg_DEFINITIONS})
endfunction()
