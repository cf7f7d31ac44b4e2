# SPDX-License-Identifier: Apache-2.0
# `antiphase check` as a test of CTest. Installed with the package and in the wheel, for projects with or
# without a CUDA compiler.
include_guard(GLOBAL)

# antiphase_check(target [OPTIONS words...]): adds the test antiphase.check.<target>, which checks the C++ and
# CUDA sources of an executable with its include directories and definitions. Those that depend on the language
# ($<COMPILE_LANGUAGE:...>) are not known to a test: CMake refuses them.
# antiphase_check(NAME name SOURCES files... [OPTIONS words...]): the same for sources without a target.
# OPTIONS are those of `antiphase check`. The program's own arguments stand at their end, after --.
function(antiphase_check)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;OPTIONS")
  set(here "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  find_program(ANTIPHASE_PROGRAM antiphase REQUIRED DOC "The program antiphase, which checks CUDA programs"
               HINTS "${here}/../bin" "${here}/../../../bin" "${here}/../../../../bin")  # the wheel's; the prefix's
  if(DEFINED arg_NAME AND DEFINED arg_SOURCES AND NOT DEFINED arg_UNPARSED_ARGUMENTS)
    set(name "${arg_NAME}")
    set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
    set(words ${arg_SOURCES})
  elseif(TARGET "${arg_UNPARSED_ARGUMENTS}" AND NOT DEFINED arg_NAME AND NOT DEFINED arg_SOURCES)
    set(name "${arg_UNPARSED_ARGUMENTS}")
    get_target_property(folder ${name} SOURCE_DIR)
    set(included "$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>")
    set(defined "$<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>")
    set(words "$<FILTER:$<TARGET_PROPERTY:${name},SOURCES>,INCLUDE,\\.(cu|cpp|cc|cxx)$>"
              "$<$<BOOL:${included}>:-I$<JOIN:${included},$<SEMICOLON>-I>>" "$<$<BOOL:${defined}>:-D$<JOIN:${defined},$<SEMICOLON>-D>>")
  else()
    message(FATAL_ERROR "antiphase_check(): expected a target, or NAME and SOURCES; got: ${ARGN}")
  endif()
  add_test(NAME antiphase.check.${name} COMMAND "${ANTIPHASE_PROGRAM}" check ${words} ${arg_OPTIONS} COMMAND_EXPAND_LISTS
           WORKING_DIRECTORY "${folder}")
endfunction()
