# SPDX-License-Identifier: Apache-2.0
# Which CUB the benchmarks compare with: the CUDA toolkit's, or that of the CCCL (the libraries that CUB is
# part of) at ANTIPHASE_CCCL.
include_guard(GLOBAL)

set(ANTIPHASE_CCCL "" CACHE PATH "CCCL whose CUB the benchmarks compare with, a source tree or an install (default: the CUDA toolkit's)")
# the first version whose DeviceScan has an option to sum floats to the same bits in every run
set(ANTIPHASE_CCCL_RUN_TO_RUN 3.5.0)

# antiphase_use_cccl(target): puts the headers of ANTIPHASE_CCCL before the toolkit's.
function(antiphase_use_cccl target)
  if(NOT ANTIPHASE_CCCL)
    return()
  endif()
  set(version_header cuda/std/__cccl/version.h)
  if(EXISTS "${ANTIPHASE_CCCL}/libcudacxx/include/${version_header}")
    set(folders "${ANTIPHASE_CCCL}/libcudacxx/include" "${ANTIPHASE_CCCL}/cub" "${ANTIPHASE_CCCL}/thrust")
  elseif(EXISTS "${ANTIPHASE_CCCL}/include/${version_header}")
    set(folders "${ANTIPHASE_CCCL}/include")
  elseif(EXISTS "${ANTIPHASE_CCCL}/include/cccl/${version_header}")  # of a CUDA toolkit
    set(folders "${ANTIPHASE_CCCL}/include/cccl")
  else()
    message(FATAL_ERROR "antiphase: ANTIPHASE_CCCL is '${ANTIPHASE_CCCL}', where no CCCL is: expected a source tree or an install of version 3 or newer")
  endif()
  list(GET folders 0 first)
  file(STRINGS "${first}/${version_header}" line REGEX "define CCCL_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" number "${line}")  # 3005000 is 3.5.0
  math(EXPR major "${number} / 1000000")
  math(EXPR minor "${number} / 1000 % 1000")
  math(EXPR patch "${number} % 1000")
  set(version ${major}.${minor}.${patch})
  if(version VERSION_LESS ANTIPHASE_CCCL_RUN_TO_RUN)
    message(STATUS "antiphase: compared with CUB of CCCL ${version}, without its sums that are the same in every run: they came with ${ANTIPHASE_CCCL_RUN_TO_RUN}")
  else()
    message(STATUS "antiphase: compared with CUB of CCCL ${version}, also with its sums that are the same in every run")
  endif()
  target_include_directories(${target} BEFORE PRIVATE ${folders})
endfunction()
