# SPDX-License-Identifier: Apache-2.0
# Configures the library alone with a made-up CUDA compiler; checks the messages: -DCASE=<compiler>-<on|auto>
# -DSOURCE= -DWORK=
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/bin")
string(REGEX MATCH "^(.*)-(on|auto)$" _ "${CASE}")
set(compiler "${CMAKE_MATCH_1}")
string(TOUPPER "${CMAKE_MATCH_2}" asked)

set(nvcc "${WORK}/bin/nvcc")
if(compiler STREQUAL "old")
  file(WRITE "${nvcc}" "#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n")
  set(expected "is CUDA 11.8: expected 12.8 or newer")
elseif(compiler STREQUAL "silent")
  file(WRITE "${nvcc}" "#!/bin/sh\nexit 1\n")
  set(expected "does not say its version")
else()
  set(nvcc "CMAKE_CUDA_COMPILER-NOTFOUND")
  set(expected "no CUDA compiler was found")
  set(nowhere -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_MAKE_PROGRAM=true)
endif()
if(EXISTS "${nvcc}")
  file(CHMOD "${nvcc}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endif()

# A project of only the file that looks for CUDA: no other dependency is needed.
file(WRITE "${WORK}/source/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES NONE)\nset(ANTIPHASE_CUDA ${asked})\ninclude(\"${SOURCE}/cmake/AntiphaseCuda.cmake\")\n"
  "if(ANTIPHASE_HAS_CUDA)\n  message(FATAL_ERROR \"a GPU part out of nothing\")\nendif()\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -E env --unset=CUDACXX "${CMAKE_COMMAND}" -S "${WORK}/source" -B "${WORK}/build" "-DCMAKE_CUDA_COMPILER=${nvcc}" ${nowhere}
                OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
string(REGEX REPLACE "[ \n]+" " " said "${said}")
string(FIND "${said}" "${expected}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "expected the message '${expected}', got: ${said}")
endif()
if(asked STREQUAL "ON" AND failed EQUAL 0)
  message(FATAL_ERROR "configuring with ANTIPHASE_CUDA=ON must fail, got: ${said}")
endif()
if(asked STREQUAL "AUTO" AND NOT failed EQUAL 0)
  message(FATAL_ERROR "configuring with ANTIPHASE_CUDA=AUTO must go on without the GPU part, got: ${said}")
endif()
