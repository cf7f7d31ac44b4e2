# SPDX-License-Identifier: Apache-2.0
# Configures under a condition that rules the checker out; checks the messages: -DCASE=off|<reason>-<on|auto>
# -DSOURCE= -DWORK=
file(REMOVE_RECURSE "${WORK}")
set(compiler GNU)
set(sanitize OFF)
set(asked AUTO)
if(CASE MATCHES "-on$")
  set(asked ON)
endif()
if(CASE STREQUAL "off")
  set(asked OFF)
  set(expected "checker not built: ANTIPHASE_CHECKER=OFF")
elseif(CASE MATCHES "^sanitize")
  set(sanitize ON)
  set(expected "built: this build has other instrumentation")
elseif(CASE MATCHES "^clang")
  set(compiler Clang)
  set(expected "built: it needs g++, the compiler is Clang")
else()
  set(expected "built: libdw was not found: install libdw-dev")
endif()

# A project of only the deciding file. pkg-config finds nothing.
file(WRITE "${WORK}/source/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES NONE)\nset(CMAKE_CXX_COMPILER_ID ${compiler})\nset(ANTIPHASE_SANITIZE ${sanitize})\n"
  "set(ANTIPHASE_CHECKER ${asked})\ninclude(\"${SOURCE}/cmake/AntiphaseHasChecker.cmake\")\n"
  "if(ANTIPHASE_HAS_CHECKER)\n  message(FATAL_ERROR \"a checker out of nothing\")\nendif()\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -E env --unset=PKG_CONFIG_PATH PKG_CONFIG_LIBDIR=/nowhere "${CMAKE_COMMAND}" -S "${WORK}/source" -B "${WORK}/build"
                OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
string(REGEX REPLACE "[ \n]+" " " said "${said}")
string(FIND "${said}" "${expected}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "expected the message '${expected}', got: ${said}")
endif()
if(asked STREQUAL "ON" AND failed EQUAL 0)
  message(FATAL_ERROR "configuring with ANTIPHASE_CHECKER=ON must fail, got: ${said}")
endif()
if(NOT asked STREQUAL "ON" AND NOT failed EQUAL 0)
  message(FATAL_ERROR "configuring with ANTIPHASE_CHECKER=${asked} must go on without the checker, got: ${said}")
endif()
