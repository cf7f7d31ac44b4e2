# SPDX-License-Identifier: Apache-2.0
# What an installation holds, and what the Python wheel holds of a build: the install component python, below antiphase/.
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

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(has_shared OFF)  # for antiphaseConfig.cmake
if(TARGET antiphase_shared)
  set(has_shared ON)
endif()
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/antiphase")
install(TARGETS antiphase antiphase_device EXPORT antiphaseTargets)
if(ANTIPHASE_HAS_CHECKER)
  install(TARGETS antiphase_checker EXPORT antiphaseTargets)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/antiphase" DESTINATION include)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DATADIR}/antiphase" PATTERN __pycache__ EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/course" DESTINATION "${CMAKE_INSTALL_DATADIR}/antiphase" PATTERN solutions EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/bench/results/timelines/steps/" DESTINATION "${CMAKE_INSTALL_DATADIR}/antiphase/recordings")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE_THIRD_PARTY" "${PROJECT_SOURCE_DIR}/LICENSES/GPL-3.0.txt" "${PROJECT_SOURCE_DIR}/LICENSES/LGPL-3.0.txt"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/antiphase")
# An export set of its own: projects that use only the shared library need no other dependency.
if(TARGET antiphase_shared)
  install(TARGETS antiphase_shared EXPORT antiphaseSharedTargets LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
  install(TARGETS antiphase_cublas DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)  # next to it
  install(EXPORT antiphaseSharedTargets NAMESPACE antiphase:: DESTINATION "${package}")
  install(FILES "${PROJECT_SOURCE_DIR}/include/antiphase.h" "${PROJECT_SOURCE_DIR}/include/antiphase_cublas.h" DESTINATION include)
  install(FILES "${PROJECT_SOURCE_DIR}/bindings/fortran/antiphase.f90" DESTINATION "${CMAKE_INSTALL_DATADIR}/antiphase")
  # Contents of the Python wheel, for pyproject.toml and scripts/build/wheel.py.
  add_custom_target(antiphase_wheel)
  antiphase_in_wheel(lib antiphase_shared antiphase_cublas antiphase_torch)
  # Next to the libraries and the tool, as in any prefix: headers for what the tool checks, and examples.
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION antiphase/include COMPONENT python EXCLUDE_FROM_ALL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION antiphase/share/antiphase COMPONENT python EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/course" DESTINATION antiphase/share/antiphase COMPONENT python EXCLUDE_FROM_ALL PATTERN solutions EXCLUDE)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/bench/results/timelines/steps/" DESTINATION antiphase/share/antiphase/recordings COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/AntiphaseCheck.cmake" DESTINATION antiphase/cmake COMPONENT python EXCLUDE_FROM_ALL)
  # For programs in C and Fortran: what an installation has, for the library alone. As wheels have no symbolic links,
  # the linker's name of the library is a script.
  set(wheel "${PROJECT_BINARY_DIR}/wheel")
  file(CONFIGURE OUTPUT "${wheel}/libantiphase.so" CONTENT "/* GNU ld script */\nINPUT(libantiphase.so.0)\n")
  set(fortran "antiphase/share/antiphase/antiphase.f90")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/antiphaseConfig.cmake.in" "${wheel}/antiphaseConfig.cmake"
                                INSTALL_DESTINATION antiphase/lib/cmake/antiphase PATH_VARS fortran)
  write_basic_package_version_file("${wheel}/antiphaseConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  set(prefix "\${pcfiledir}/../..")
  set(libdir "\${prefix}/lib")
  set(fortran share/antiphase/antiphase.f90)
  set(rpath " -Wl,-rpath,\${libdir}")  # no loader searches there
  configure_file("${PROJECT_SOURCE_DIR}/cmake/antiphase.pc.in" "${wheel}/antiphase.pc" @ONLY)
  unset(rpath)
  install(FILES "${wheel}/libantiphase.so" DESTINATION antiphase/lib COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES "${wheel}/antiphaseConfig.cmake" "${wheel}/antiphaseConfigVersion.cmake" "${PROJECT_SOURCE_DIR}/cmake/AntiphaseCheck.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/antiphaseSharedTargets.cmake" DESTINATION antiphase/lib/cmake/antiphase COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES "${wheel}/antiphase.pc" DESTINATION antiphase/lib/pkgconfig COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES "${PROJECT_SOURCE_DIR}/bindings/fortran/antiphase.f90" DESTINATION antiphase/share/antiphase COMPONENT python EXCLUDE_FROM_ALL)
endif()
install(EXPORT antiphaseTargets NAMESPACE antiphase:: DESTINATION "${package}")
set(fortran "${CMAKE_INSTALL_DATADIR}/antiphase/antiphase.f90")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/antiphaseConfig.cmake.in" "${PROJECT_BINARY_DIR}/antiphaseConfig.cmake"
                              INSTALL_DESTINATION "${package}" PATH_VARS fortran)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/antiphaseConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/antiphaseConfig.cmake" "${PROJECT_BINARY_DIR}/antiphaseConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/AntiphaseCheck.cmake" "${PROJECT_SOURCE_DIR}/cmake/AntiphaseChecked.cmake"
        DESTINATION "${package}")

# For builds without CMake: antiphase.pc leads to the shared library for C, antiphase-cpp.pc to the archive
# for C++. The archive's dependencies stand in Libs, since Libs.private is read only by `pkg-config
# --static`. Paths are relative to the files, so that the installation can be moved.
set(libraries "-lfmt -lboost_context -pthread")
if(ANTIPHASE_HAS_CUDA)
  string(APPEND libraries " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
endif()
cmake_path(SET folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(IS_ABSOLUTE folder fixed)
if(fixed)
  set(prefix "${CMAKE_INSTALL_PREFIX}")
  set(libdir "${CMAKE_INSTALL_LIBDIR}")
else()
  string(REGEX REPLACE "[^/]+" ".." up "${folder}")
  set(prefix "\${pcfiledir}/${up}")
  set(libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
set(described antiphase-cpp)
if(TARGET antiphase_shared)
  list(APPEND described antiphase)
endif()
foreach(name IN LISTS described)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${folder}")
endforeach()
