# SPDX-License-Identifier: Apache-2.0
# Finds the CUDA toolkit and says what the GPU part is compiled for. Sets ANTIPHASE_HAS_CUDA.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/AntiphaseGpus.cmake")

set(ANTIPHASE_HAS_CUDA OFF)
set(ANTIPHASE_CUDA_MINIMUM 12.8)
unset(_why_not)

# The version is checked before CMake tests the compiler: an old one does not know the architectures and would
# be reported as broken, not as old.
if(ANTIPHASE_CUDA STREQUAL "OFF")
  set(_why_not "ANTIPHASE_CUDA=OFF")
else()
  if(NOT CMAKE_CUDA_COMPILER AND DEFINED ENV{CUDACXX})
    set(CMAKE_CUDA_COMPILER "$ENV{CUDACXX}" CACHE FILEPATH "CUDA compiler")
  endif()
  find_program(CMAKE_CUDA_COMPILER nvcc DOC "CUDA compiler")
  if(NOT CMAKE_CUDA_COMPILER)
    set(_why_not "no CUDA compiler was found: put nvcc on PATH or set CUDACXX")
  else()
    execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --version OUTPUT_VARIABLE _nvcc ERROR_VARIABLE _nvcc)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _ "${_nvcc}")
    set(_nvcc_version "${CMAKE_MATCH_1}")
    if(NOT _nvcc_version)
      set(_why_not "${CMAKE_CUDA_COMPILER} does not say its version")
    elseif(_nvcc_version VERSION_LESS ANTIPHASE_CUDA_MINIMUM)
      set(_why_not "${CMAKE_CUDA_COMPILER} is CUDA ${_nvcc_version}: expected ${ANTIPHASE_CUDA_MINIMUM} or newer (tested with 13.0)")
    endif()
  endif()
endif()

if(NOT DEFINED _why_not)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # a default that keeps CMake from guessing: each list of kernels names its own
    set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(ANTIPHASE_HAS_CUDA ON)
  message(STATUS "antiphase: GPU part built with CUDA ${_nvcc_version}")
elseif(ANTIPHASE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "antiphase: the GPU part cannot be built: ${_why_not}. Install a CUDA toolkit, or configure with -DANTIPHASE_CUDA=OFF.")
else()
  message(STATUS "antiphase: GPU part not built: ${_why_not}")
endif()

if(ANTIPHASE_HAS_CUDA)
  antiphase_architectures("${ANTIPHASE_GPUS}")
endif()

option(ANTIPHASE_LINE_NUMBERS "Kernels know their source lines, for profilers and compute-sanitizer: three times as large, a tenth longer to build" OFF)

# antiphase_cuda_objects(name ARCHITECTURES list SOURCES files...): an object library of CUDA code with the
# project's flags.
function(antiphase_cuda_objects name)
  cmake_parse_arguments(arg "" "" "ARCHITECTURES;SOURCES" ${ARGN})
  add_library(${name} OBJECT ${arg_SOURCES})
  # CMake 3.25 on Debian knows no cuda_std_20.
  # What the wheel holds takes half of the room (zstd), which costs a second for each 1.6 MB of machine code.
  set(compression size)
  if(ANTIPHASE_QUICK AND NOT name MATCHES "^antiphase_")
    set(compression speed)
  endif()
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Xptxas=-v;--compress-mode=${compression}>"
                                         "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${ANTIPHASE_LINE_NUMBERS}>>:-lineinfo>")
  # Nothing is measured with these kernels. The tests' compile in two thirds of the time with -Ofc=mid, the
  # recording twins in a sixth with -Ofc=max: for some twins, no level between none and full optimisation fits
  # into the registers. Not for runs on a GPU: with -Ofc=mid, ptxas of CUDA 13.0 stores 16 bytes at local
  # addresses that are multiples of 4 (test_scan_custom, on an H200; right with full optimisation).
  # Of the library's kernels only those may be optimized less that no figure and no test of machine code names:
  # report.py compares the figures' kernels with the compiled ones.
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    if((ANTIPHASE_QUICK_KERNELS AND name MATCHES "^antiphase_twins_")
       OR (ANTIPHASE_UNRUN_KERNELS AND name MATCHES "^((test|example|mutants)_|antiphase_(attention|attention_async|columns|log_sum_exp|passes_of_others|rivals|ring_async_of_others|ring_of_others|traced_async)$|tile_sizes_)"))
      target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Ofc=max>")
      set_property(TARGET ${name} PROPERTY ANTIPHASE_LESS_OPTIMIZED ON)
    elseif(ANTIPHASE_QUICK_KERNELS AND name MATCHES "^(test|example)_")
      target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Ofc=mid>")
    endif()
  endif()
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${arg_ARCHITECTURES}")
  antiphase_options(${name})
endfunction()

# antiphase_kernels(target name ARCHITECTURES list SOURCES files... [DEFINITIONS names...] [UNCHECKED]
# [UNSHOWN]): adds the same lists of kernels to a target twice, compiled by g++ for the CPU executor and, if there is CUDA, by
# nvcc for GPUs (as the object library <target>_<name>, which the target names in its property
# ANTIPHASE_KERNELS). Of a family of the library that ANTIPHASE_FAMILIES leaves out, only the names.
# UNSHOWN: antiphase demo runs none of them on the CPU executor, so the build for it compiles
# their names alone, all in one file. The property ANTIPHASE_KERNEL_LISTS names the files for the checker: all but UNCHECKED
# ones.
function(antiphase_kernels target name)
  cmake_parse_arguments(arg "UNCHECKED;UNSHOWN" "" "ARCHITECTURES;SOURCES;DEFINITIONS" ${ARGN})
  set(owner ${target})
  string(REGEX MATCH "^[^/;]+" family "${arg_SOURCES}")
  set(left_out OFF)
  if(target STREQUAL "antiphase" AND family IN_LIST ANTIPHASE_ALL_FAMILIES AND NOT family IN_LIST ANTIPHASE_FAMILIES)
    set(left_out ON)
  endif()
  if(left_out OR (ANTIPHASE_DEMO AND arg_UNSHOWN))
    set(owner ${target}_unshown)
    if(NOT TARGET ${owner})
      add_library(${owner} OBJECT)
      set_target_properties(${owner} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
      target_include_directories(${owner} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
      target_compile_options(${owner} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/core/kernels_by_name.cuh")
      antiphase_options(${owner})
      antiphase_compile_quickly(${owner} 0)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${owner}>)
    endif()
  endif()
  # Fiber switches dominate the run time on the CPU: more optimisation takes longer than most kernels run
  # there, that of unrolled loops ten times as long. Under AddressSanitizer, checks of pointer-overflow would
  # take as long as all others, on accesses that are checked anyway. Under ThreadSanitizer hardly any kernel
  # runs.
  set(level -O1)
  if(ANTIPHASE_QUICK)
    set(level -Og)
  endif()
  set(stub_options "$<$<CONFIG:Release>:${level};$<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-optimize>>")
  if(ANTIPHASE_SANITIZE STREQUAL "address")
    set(stub_options -Og -fsanitize=alignment -fno-sanitize=pointer-overflow)
  elseif(ANTIPHASE_SANITIZE STREQUAL "thread")
    set(stub_options -O0)
  endif()
  foreach(source ${arg_SOURCES})
    cmake_path(REMOVE_EXTENSION source OUTPUT_VARIABLE stub)
    string(REPLACE "/" "_" stub "${stub}")
    set(stub "${CMAKE_CURRENT_BINARY_DIR}/kernels/${stub}")
    foreach(language cpp cu)
      file(CONFIGURE OUTPUT "${stub}.${language}" CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
    endforeach()
    target_sources(${owner} PRIVATE "${stub}.cpp")
    if(owner STREQUAL target)
      set_source_files_properties("${stub}.cpp" TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${stub_options}"
                                                           # built with other options than the stub
                                                           SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    list(APPEND cuda_sources "${stub}.cu")
    if(NOT arg_UNCHECKED)
      set_property(TARGET ${target} APPEND PROPERTY ANTIPHASE_KERNEL_LISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    endif()
  endforeach()
  if(ANTIPHASE_HAS_CUDA)
    antiphase_cuda_objects(${target}_${name} ARCHITECTURES ${arg_ARCHITECTURES} SOURCES ${cuda_sources})
    target_compile_definitions(${target}_${name} PRIVATE ${arg_DEFINITIONS})
    if(left_out)
      target_compile_options(${target}_${name} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/core/kernels_by_name.cuh")
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${name}>)
    set_property(TARGET ${target} APPEND PROPERTY ANTIPHASE_KERNELS ${target}_${name})
  endif()
endfunction()
