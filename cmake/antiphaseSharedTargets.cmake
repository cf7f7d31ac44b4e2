# SPDX-License-Identifier: Apache-2.0
# antiphase::shared in the Python package. (An installation has a file of this name that CMake writes.)
include_guard(GLOBAL)
get_filename_component(_antiphase_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
add_library(antiphase::shared SHARED IMPORTED)
set_target_properties(antiphase::shared PROPERTIES IMPORTED_LOCATION "${_antiphase_prefix}/lib/libantiphase.so.0" IMPORTED_SONAME libantiphase.so.0
                                                   INTERFACE_INCLUDE_DIRECTORIES "${_antiphase_prefix}/include")
unset(_antiphase_prefix)
