# SPDX-License-Identifier: Apache-2.0
# Configures a target with a made-up CCCL; checks the messages and the include paths: -DCASE= -DSOURCE=
# -DWORK=
file(REMOVE_RECURSE "${WORK}")
set(cccl "${WORK}/cccl")
set(folder "${cccl}/libcudacxx/include")
if(CASE STREQUAL "old")
  set(number 3004002)
  set(expected "CUB of CCCL 3.4.2, without its sums that are the same in every run: they came with 3.5.0")
elseif(CASE STREQUAL "new")
  set(number 3012007)
  set(expected "CUB of CCCL 3.12.7, also with its sums that are the same in every run")
elseif(CASE STREQUAL "install")
  set(number 3005000)
  set(folder "${cccl}/include")
  set(expected "CUB of CCCL 3.5.0, also with")
else()
  set(expected "ANTIPHASE_CCCL is '${cccl}', where no CCCL is: expected a source tree or an install")
endif()
if(NOT CASE STREQUAL "absent")
  file(WRITE "${folder}/cuda/std/__cccl/version.h" "#define CCCL_VERSION ${number}\n#define CCCL_MAJOR_VERSION (CCCL_VERSION / 1000000)\n")
endif()

file(WRITE "${WORK}/source/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES NONE)\ninclude(\"${SOURCE}/cmake/AntiphaseCccl.cmake\")\n"
  "add_library(rivals INTERFACE)\nfunction(target_include_directories)\n  message(STATUS \"folders: \${ARGN}\")\nendfunction()\nantiphase_use_cccl(rivals)\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${WORK}/source" -B "${WORK}/build" -DANTIPHASE_CCCL=${cccl} -DCMAKE_MAKE_PROGRAM=true
                OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
string(REGEX REPLACE "[ \n]+" " " said "${said}")
foreach(part "${expected}" "folders: rivals;BEFORE;PRIVATE;${folder}")
  string(FIND "${said}" "${part}" at)
  if(at EQUAL -1 AND NOT (CASE STREQUAL "absent" AND part MATCHES "^folders"))
    message(FATAL_ERROR "expected the message '${part}', got: ${said}")
  endif()
endforeach()
if(CASE STREQUAL "absent" AND failed EQUAL 0)
  message(FATAL_ERROR "configuring with a CCCL that is not there must fail, got: ${said}")
endif()
