# Finds the CUDA toolkit and says what the GPU part is compiled for. Sets ANTIPHASE_HAS_CUDA.
include_guard(GLOBAL)

set(ANTIPHASE_HAS_CUDA OFF)
set(ANTIPHASE_CUDA_MINIMUM 12.8)
if(ANTIPHASE_CUDA STREQUAL "OFF")
  message(STATUS "antiphase: GPU part not built (ANTIPHASE_CUDA=OFF)")
else()
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)  # also keeps check_language from guessing
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --version OUTPUT_VARIABLE _nvcc ERROR_VARIABLE _nvcc)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _ "${_nvcc}")
    set(_nvcc_version "${CMAKE_MATCH_1}")
    if(_nvcc_version VERSION_GREATER_EQUAL ANTIPHASE_CUDA_MINIMUM)
      enable_language(CUDA)
      find_package(CUDAToolkit REQUIRED)
      set(ANTIPHASE_HAS_CUDA ON)
      message(STATUS "antiphase: GPU part built with CUDA ${_nvcc_version}")
    elseif(ANTIPHASE_CUDA STREQUAL "ON")
      message(FATAL_ERROR "antiphase needs CUDA ${ANTIPHASE_CUDA_MINIMUM} or newer for its GPU part (tested with 13.0), but ${CMAKE_CUDA_COMPILER} is "
                          "version '${_nvcc_version}'. Install a newer toolkit, or configure with -DANTIPHASE_CUDA=OFF.")
    else()
      message(WARNING "antiphase: GPU part not built: it needs CUDA ${ANTIPHASE_CUDA_MINIMUM} or newer (tested with 13.0), but ${CMAKE_CUDA_COMPILER} is "
                      "version '${_nvcc_version}'")
    endif()
  elseif(ANTIPHASE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "antiphase: ANTIPHASE_CUDA=ON, but no CUDA compiler was found. Put nvcc on PATH, set CUDACXX, or configure with -DANTIPHASE_CUDA=OFF.")
  else()
    message(STATUS "antiphase: GPU part not built: no CUDA compiler found (put nvcc on PATH or set CUDACXX)")
  endif()
endif()

# What kernels are compiled for. The ladder's plain steps also run on Turing; cp.async needs Ampere, bulk copies Hopper. 80 is built as
# PTX too, so that GPUs newer than Hopper run it.
set(ANTIPHASE_ARCHITECTURES_PLAIN 75-real 80 90a-real CACHE STRING "Architectures of kernels that need nothing newer than sm_75")
set(ANTIPHASE_ARCHITECTURES_ASYNC 80 90a-real CACHE STRING "Architectures of kernels that copy asynchronously (sm_80)")
set(ANTIPHASE_ARCHITECTURES_BULK 90a-real CACHE STRING "Architectures of kernels that use bulk copies (sm_90)")

# antiphase_cuda_objects(name ARCHITECTURES list SOURCES files...): an object library of CUDA code with the project's flags.
function(antiphase_cuda_objects name)
  cmake_parse_arguments(arg "" "" "ARCHITECTURES;SOURCES" ${ARGN})
  add_library(${name} OBJECT ${arg_SOURCES})
  # CMake 3.25 on Debian knows no cuda_std_20.
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-lineinfo;-Xptxas=-v>")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${arg_ARCHITECTURES}")
  antiphase_options(${name})
endfunction()
