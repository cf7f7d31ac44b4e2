# SPDX-License-Identifier: Apache-2.0
# Sources of the library, from several folders.
include_guard(GLOBAL)

# antiphase_compile_in(source header function files...): generates SOURCE, whose FUNCTION, declared in HEADER,
# returns the texts of the files, which may be patterns; a file is taken once.
function(antiphase_compile_in source header function)
  foreach(pattern ${ARGN})
    file(GLOB matching CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
    if(NOT matching)
      message(FATAL_ERROR "antiphase: there is no file ${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
    endif()
    list(APPEND found ${matching})
  endforeach()
  list(REMOVE_DUPLICATES found)
  foreach(file IN LISTS found)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    string(APPEND texts "R\"text(${text})text\", ")
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${source}" @ONLY CONTENT [[
#include "@header@"

std::span<const std::string_view> @function@() {
  static constexpr std::string_view all[] = {@texts@};
  return all;
}
]])
endfunction()

# antiphase_apart(files...): files of the library that have names in common with others, so that they are compiled
# alone where others are compiled together.
function(antiphase_apart)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY antiphase PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
