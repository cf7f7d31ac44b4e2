# SPDX-License-Identifier: Apache-2.0
# Which GPUs the GPU part is compiled for.
include_guard(GLOBAL)

set(ANTIPHASE_GPUS all CACHE STRING
    "GPUs to compile for: all (machine code for Hopper, PTX for the others), native (those of this machine), or a list of architectures such as 80;90a")

# antiphase_native_gpus(variable): the architectures of this machine's GPUs, such as 80;90a.
function(antiphase_native_gpus variable)
  find_program(nvidia_smi nvidia-smi NO_CACHE)
  set(said "")
  if(nvidia_smi)
    execute_process(COMMAND "${nvidia_smi}" --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE said ERROR_QUIET)
  endif()
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${said}")
  if(NOT found)
    message(FATAL_ERROR "antiphase: ANTIPHASE_GPUS is native, but nvidia-smi finds no GPU here: expected one, or a list such as 90a")
  endif()
  list(REMOVE_DUPLICATES found)
  list(TRANSFORM found REPLACE "\\." "")
  list(TRANSFORM found REPLACE "^90$" "90a")
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# antiphase_architectures(gpus): sets ANTIPHASE_ARCHITECTURES_<features>, what kernels that need these
# features are compiled for. The ladder's plain steps also run on Turing; cp.async needs Ampere, bulk copies
# Hopper, and NO_BULK are kernels in the place of those on other GPUs. RIVALS are the libraries that
# benchmarks compare with. Kernels that none of the GPUs can run are only compiled to PTX, the least that can
# be linked.
function(antiphase_architectures gpus)
  if(gpus STREQUAL "native")
    antiphase_native_gpus(gpus)
  endif()
  # machine code for each of the others would take half of the build: their driver makes it when it is first
  # needed
  if(gpus STREQUAL "all")
    set(PLAIN 75-virtual 90a-real)
    set(ASYNC 80-virtual 90a-real)
    set(BULK 90a-real)
    set(NO_BULK 80-virtual)
    set(RIVALS 80-virtual 90a-real)
  else()
    set(known "75|80|86|87|88|89|90a|1[0-9][0-9][af]?")
    if(gpus STREQUAL "")
      message(FATAL_ERROR "antiphase: ANTIPHASE_GPUS is empty: expected all, native, or a list of architectures such as 80;90a")
    endif()
    foreach(gpu IN LISTS gpus)
      if(NOT gpu MATCHES "^(${known})$")
        message(FATAL_ERROR "antiphase: ANTIPHASE_GPUS names '${gpu}': expected all, native, or architectures from 75 on such as 80;90a (Hopper is 90a)")
      endif()
      list(APPEND PLAIN ${gpu}-real)
      list(APPEND RIVALS ${gpu}-real)
      if(NOT gpu STREQUAL "75")
        list(APPEND ASYNC ${gpu}-real)
        if(gpu STREQUAL "90a")
          set(BULK 90a-real)
        else()
          list(APPEND NO_BULK ${gpu}-real)
        endif()
      endif()
    endforeach()
    foreach(least ASYNC=80 BULK=90a NO_BULK=80)
      string(REGEX MATCH "^(.*)=(.*)$" _ "${least}")
      if(NOT DEFINED ${CMAKE_MATCH_1})
        set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2}-virtual)
      endif()
    endforeach()
    list(JOIN gpus ", " names)
    message(STATUS "antiphase: GPU part for ${names} alone, without PTX for others (ANTIPHASE_GPUS)")
  endif()
  foreach(features PLAIN ASYNC BULK NO_BULK RIVALS)
    set(ANTIPHASE_ARCHITECTURES_${features} ${${features}} PARENT_SCOPE)
  endforeach()
endfunction()
