# SPDX-License-Identifier: Apache-2.0
# What the Python wheel holds of a build: the install component python, below antiphase/.
include_guard(GLOBAL)

# antiphase_in_wheel(folder targets...): installs libraries and programs into a folder of the wheel, libraries without
# their symbols. The target antiphase_wheel, which exists where the shared library is built, builds all of them.
function(antiphase_in_wheel folder)
  if(NOT TARGET antiphase_wheel)
    return()
  endif()
  add_dependencies(antiphase_wheel ${ARGN})
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")  # one file, by the name that programs load: wheels have no symbolic links
      set(file "$<TARGET_SONAME_FILE_NAME:${target}>")
      install(PROGRAMS "$<TARGET_FILE:${target}>" RENAME "${file}" DESTINATION "antiphase/${folder}" COMPONENT python EXCLUDE_FROM_ALL)
    else()
      set(file "$<TARGET_FILE_NAME:${target}>")
      install(TARGETS ${target} DESTINATION "antiphase/${folder}" COMPONENT python EXCLUDE_FROM_ALL)
    endif()
    if(NOT type STREQUAL "EXECUTABLE")  # reports name the lines of the tool's kernels
      install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/antiphase/${folder}/${file}\" COMMAND_ERROR_IS_FATAL ANY)"
              COMPONENT python EXCLUDE_FROM_ALL)
    endif()
  endforeach()
endfunction()
