# SPDX-License-Identifier: Apache-2.0
# Debian packages, by cpack -G DEB: libantiphase0 (the shared libraries), libantiphase-dev (headers, the archive
# for C++, descriptions for CMake and pkg-config, the Fortran module), antiphase (the tool).
include_guard(GLOBAL)
include(GNUInstallDirs)
if(NOT TARGET antiphase_shared OR NOT TARGET antiphase_tool)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME antiphase)
set(CPACK_PACKAGE_CONTACT "The antiphase authors" CACHE STRING "Maintainer that Debian packages name, as Name <address>")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime development tool)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/library/c_api")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libantiphase0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/packages/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_BINARY_DIR}/packages/triggers")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libantiphase-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME antiphase)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)

set(version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libantiphase0 (= ${version}), libfmt-dev, libboost-context-dev")
if(ANTIPHASE_HAS_CHECKER)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libdw-dev, pkg-config")
endif()
# check compiles programs with the headers; run preloads the shared libraries.
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "libantiphase-dev (= ${version})")
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS g++)

foreach(part "RUNTIME=shared libraries" "DEVELOPMENT=development files" "TOOL=command-line tool with the checker")
  string(REGEX MATCH "^(.*)=(.*)$" _ "${part}")
  set(CPACK_DEBIAN_${CMAKE_MATCH_1}_DESCRIPTION "Matrix products and scans whose data movement hides behind computation, on\nNVIDIA GPUs and, from the same source, without one.\n.\nThis package has the ${CMAKE_MATCH_2}.")
endforeach()

# Debian's place for licenses, one for each package. It has the Apache License itself.
file(READ "${PROJECT_SOURCE_DIR}/NOTICE_THIRD_PARTY" notices)
set(copyright "${CMAKE_CURRENT_BINARY_DIR}/packages/copyright")
file(CONFIGURE OUTPUT "${copyright}" @ONLY CONTENT [[
antiphase: Copyright (c) 2026 The antiphase authors, licensed under the Apache License, version 2.0:
/usr/share/common-licenses/Apache-2.0

@notices@]])
foreach(part runtime=libantiphase0 development=libantiphase-dev tool=antiphase)
  string(REGEX MATCH "^(.*)=(.*)$" _ "${part}")
  install(FILES "${copyright}" DESTINATION "share/doc/${CMAKE_MATCH_2}" COMPONENT ${CMAKE_MATCH_1} EXCLUDE_FROM_ALL)
endforeach()
# The tool keeps its symbols: reports name lines of its kernels.
foreach(library antiphase_shared antiphase_cublas)
  install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${library}>\" COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT runtime EXCLUDE_FROM_ALL)
endforeach()
install(CODE "file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/*.1\")
execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT tool EXCLUDE_FROM_ALL)
include(CPack)
