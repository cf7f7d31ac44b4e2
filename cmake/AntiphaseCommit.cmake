# SPDX-License-Identifier: Apache-2.0
# cmake -D ROOT=... -D FILE=... -P AntiphaseCommit.cmake: writes the definition for
# tool/measure/provenance.hpp to FILE, if it has changed. `code` lists the paths that figures depend on:
# uncommitted changes there append -dirty.
set(code core library checker preload learn include tool cmake bench/suite.json CMakeLists.txt)
set(commit "")
find_program(git git)
if(git)
  execute_process(COMMAND "${git}" -C "${ROOT}" rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  else()
    execute_process(COMMAND "${git}" -C "${ROOT}" status --porcelain -- ${code} OUTPUT_VARIABLE changed ERROR_QUIET)
    if(changed)
      string(APPEND commit -dirty)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${FILE}" @ONLY CONTENT [[
// Where the program comes from; written by cmake/AntiphaseCommit.cmake.
#include "tool/measure/provenance.hpp"

std::string_view antiphase::tool::built_from() { return "@commit@"; }
]])
