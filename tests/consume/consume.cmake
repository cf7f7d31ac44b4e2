# SPDX-License-Identifier: Apache-2.0
# Configures, builds and runs the consumer's project: cmake -DHOW=subdirectory|package|pkg_config
# -DREPOSITORY=... -DBUILD=... -DWORK=... -P consume.cmake
#   subdirectory   antiphase is a part of the consumer's build, with the project's own warnings as errors;
#                  kernels are those of BUILD, and so are objects whose sources do not read the configuration
#   package        antiphase has been built in BUILD; it is installed below WORK, where its tool runs and the
#                  package is found, with CHECKER
#                  also the checker
#   pkg_config     the same, but one program is compiled and linked with no more than what pkg-config says
# With SHARED, package and pkg_config do the same with the shared library and a program in C.
foreach(name HOW REPOSITORY BUILD WORK GENERATOR COMPILER)
  if("${${name}}" STREQUAL "")
    message(FATAL_ERROR "${name} is not set")
  endif()
endforeach()

# The product example prints 600: 200 products of 1.5 and 2.
function(expect_product program pattern)
  execute_process(COMMAND "${program}" OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "the consumer's product is wrong: expected 600, got: ${said}")
  endif()
endfunction()

function(run)
  message(STATUS "${ARGN}")
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Without CMake in the consumer.
if(HOW STREQUAL "pkg_config")
  file(REMOVE_RECURSE "${WORK}/installed")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
  file(GLOB_RECURSE described "${WORK}/installed/*/antiphase-cpp.pc")
  cmake_path(GET described PARENT_PATH folder)
  macro(ask name)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${PKG_CONFIG}" --cflags --libs ${name}
                    OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(needed UNIX_COMMAND "${said}")
  endmacro()
  ask(antiphase-cpp)
  separate_arguments(flags UNIX_COMMAND "${FLAGS}")
  run("${COMPILER}" ${flags} "${REPOSITORY}/examples/gemm.cpp" -o "${WORK}/consumer" ${needed})
  expect_product("${WORK}/consumer" "^600 on ")
  execute_process(COMMAND "${COMPILER}" -std=c++17 -fsyntax-only "-I${folder}/../../include" "${REPOSITORY}/examples/gemm.cpp" ERROR_VARIABLE said)
  if(NOT said MATCHES "antiphase needs C\\+\\+20")
    message(FATAL_ERROR "expected a sentence about C++20, got: ${said}")
  endif()
  foreach(file LICENSE NOTICE_THIRD_PARTY GPL-3.0.txt LGPL-3.0.txt)
    if(NOT EXISTS "${WORK}/installed/share/licenses/antiphase/${file}")
      message(FATAL_ERROR "${file} is not installed")
    endif()
  endforeach()
  if(SHARED)
    ask(antiphase)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${PKG_CONFIG}" --variable=fortran antiphase
                    OUTPUT_VARIABLE module OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    if(NOT EXISTS "${module}")
      message(FATAL_ERROR "the Fortran module is said to be '${module}', where nothing is")
    endif()
    cmake_path(GET folder PARENT_PATH libraries)
    run(cc -std=c99 "${REPOSITORY}/examples/gemm.c" -o "${WORK}/consumer_c" ${needed} "-Wl,-rpath,${libraries}")
    expect_product("${WORK}/consumer_c" "^600\n")
  endif()
  return()
endif()

# A compiler launcher that copies objects of the test's own build instead of compiling them again: kernels, and,
# where Ninja knows what they include, those that do not depend on how the build is configured.
if(HOW STREQUAL "subdirectory" AND NOT KERNELS STREQUAL "")
  file(WRITE "${WORK}/same" "")
  if(GENERATOR STREQUAL "Ninja")
    execute_process(COMMAND "${NINJA}" -C "${BUILD}" -t deps OUTPUT_VARIABLE known COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE ";" "," known "${known}")
    string(REPLACE "\n\n" ";" known "${known}")
    foreach(one IN LISTS known)
      if(NOT one MATCHES "/build_config\\.hpp" AND one MATCHES "^CMakeFiles/antiphase\\.dir/([^:\n]*\\.o):")
        file(APPEND "${WORK}/same" "${CMAKE_MATCH_1}\n")
      endif()
    endforeach()
  endif()
  file(WRITE "${WORK}/launcher" [=[
#!/bin/sh
before=
for word; do
  case $before in -o) object=$word ;; -MF) dependencies=$word ;; esac
  before=$word
done
case $object in
  */antiphase.dir/library/kernels/* | */antiphase.dir/learn/kernels/*)
    name=${object##*/antiphase.dir/}
    echo "$object: @KERNELS@/$name" >"$dependencies"
    exec cp "@KERNELS@/$name" "$object" ;;
  */antiphase.dir/*)
    name=${object##*/antiphase.dir/}
    if grep -qxF "$name" "@WORK@/same"; then
      echo "$object: @BUILD@/CMakeFiles/antiphase.dir/$name" >"$dependencies"
      exec cp "@BUILD@/CMakeFiles/antiphase.dir/$name" "$object"
    fi ;;
esac
exec @LAUNCHER@ "$@"
]=])
  configure_file("${WORK}/launcher" "${WORK}/launcher" @ONLY)
  file(CHMOD "${WORK}/launcher" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(LAUNCHER "${WORK}/launcher")
endif()

set(options -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
            "-DCONSUMER_MAIN=${REPOSITORY}/examples/gemm.cpp" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
if(HOW STREQUAL "subdirectory")
  # tests/checker/api covers the checker as a part of a build
  list(APPEND options "-DANTIPHASE_FROM=${REPOSITORY}" -DANTIPHASE_CUDA=OFF -DANTIPHASE_CHECKER=OFF -DANTIPHASE_WARNINGS=ON -DANTIPHASE_QUICK=ON
                      # higher optimisation would take longer than everything else; without -O, GCC warns of
                      # loops
                      "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG")
else()
  file(REMOVE_RECURSE "${WORK}/installed")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/installed")
  execute_process(COMMAND "${WORK}/installed/bin/antiphase" ladder gemm --size 40 --policy tiled --on cpu --json --quiet OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  string(JSON verified GET "${said}" records 0 verified)
  if(NOT verified)
    message(FATAL_ERROR "the installed tool's product is wrong: ${said}")
  endif()
  list(APPEND options "-DCMAKE_PREFIX_PATH=${WORK}/installed" -DANTIPHASE_FROM=)
endif()
run("${CMAKE_COMMAND}" --fresh -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${WORK}/build" ${options})
run("${CMAKE_COMMAND}" --build "${WORK}/build" --parallel 2 --target consumer own_kernel)
expect_product("${WORK}/build/consumer" "^600 on ")
run("${WORK}/build/own_kernel")

# A project without C++, and without the dependencies of the static library.
if(HOW STREQUAL "package" AND SHARED)
  set(in_c "${CMAKE_COMMAND}" --fresh -S "${CMAKE_CURRENT_LIST_DIR}/project_c" -B "${WORK}/c" -G "${GENERATOR}" "-DCONSUMER_MAIN=${REPOSITORY}/examples/gemm.c"
      "-DCMAKE_PREFIX_PATH=${WORK}/installed" -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)
  foreach(components IN ITEMS "shared" "")
    run(${in_c} "-DCONSUMER_COMPONENTS=${components}")
    run("${CMAKE_COMMAND}" --build "${WORK}/c")
    expect_product("${WORK}/c/consumer" "^600\n")
  endforeach()
  execute_process(COMMAND ${in_c} -DCONSUMER_COMPONENTS=checker ERROR_VARIABLE said RESULT_VARIABLE code)
  if(code EQUAL 0 OR NOT said MATCHES "needs a project with C\\+\\+ among its")
    message(FATAL_ERROR "expected a sentence about C++, got ${code} and: ${said}")
  endif()
  run("${WORK}/installed/bin/antiphase" run -- true)
  file(GLOB_RECURSE interposer "${WORK}/installed/*/libantiphase_cublas.so")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "LD_PRELOAD=${interposer}" true ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(interposer STREQUAL "" OR NOT said STREQUAL "")  # e.g. cannot be preloaded, library not found
    message(FATAL_ERROR "the installed '${interposer}' cannot be put in front of a program: ${said}")
  endif()
endif()

# A consumer's own kernel under the checker: the unchanged example, and a finding for its broken variant.
if(HOW STREQUAL "package" AND CHECKER)
  set(example "${REPOSITORY}/examples/own_kernel")
  run("${CMAKE_COMMAND}" --fresh -S "${example}" -B "${WORK}/check" ${options})
  run("${CMAKE_COMMAND}" --build "${WORK}/check" --parallel 2)
  run("${WORK}/check/check_smooth" right)
  file(READ "${example}/smooth.cuh" source)
  string(FIND "${source}" "v[t] + v[t + 1]" at)
  string(SUBSTRING "${source}" 0 ${at} before)
  string(REGEX MATCHALL "\n" ends "${before}")
  list(LENGTH ends number)
  math(EXPR number "${number} + 1")
  execute_process(COMMAND "${WORK}/check/check_smooth" broken OUTPUT_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 5 OR NOT said MATCHES "smooth\\.cuh:${number}[^0-9]")
    message(FATAL_ERROR "expected exit code 5 and a finding in line ${number} of smooth.cuh, got ${code} and: ${said}")
  endif()
endif()

# Programs in CUDA as tests of CTest: a broken one fails, and a target's is checked with what the target has.
if(HOW STREQUAL "package" AND CHECKER)
  run("${CMAKE_COMMAND}" --fresh -S "${CMAKE_CURRENT_LIST_DIR}/project_check" -B "${WORK}/programs" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${WORK}/installed"
      "-DCONSUMER_SUM=${REPOSITORY}/examples/plain_cuda/sum.cu")
  execute_process(COMMAND "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/programs" --output-on-failure OUTPUT_VARIABLE said)
  foreach(sign IN ITEMS "antiphase\\.check\\.broken \\.+\\*\\*\\*Failed" "sum\\.cu:11" "antiphase\\.check\\.program \\.+   Passed")
    if(NOT said MATCHES "${sign}")
      message(FATAL_ERROR "expected a line like '${sign}', got: ${said}")
    endif()
  endforeach()
endif()

# The consumer inherits C++20 and the include paths: no warnings, no sanitizers, no defines.
file(READ "${WORK}/build/compile_commands.json" commands)
string(JSON count LENGTH "${commands}")
set(seen 0)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON file GET "${commands}" ${i} file)
  string(JSON command GET "${commands}" ${i} command)
  if(file MATCHES "/(gemm|own_kernel)\\.cpp$" AND NOT file MATCHES "/(core|library)/")
    math(EXPR seen "${seen} + 1")
    foreach(own IN ITEMS "-DNDEBUG" "${FLAGS}")  # from the build type and from the test
      string(REPLACE "${own}" "" command "${command}")
    endforeach()
    if(NOT command MATCHES "-std=(c|gnu)\\+\\+20")
      message(FATAL_ERROR "${file} is not compiled as C++20: ${command}")
    endif()
    if(command MATCHES " -(W|D|fsanitize|fno)[^ ]*")
      message(FATAL_ERROR "${file} inherits '${CMAKE_MATCH_0}' from antiphase: ${command}")
    endif()
  endif()
endforeach()
if(NOT seen EQUAL 2)
  message(FATAL_ERROR "expected the consumer's 2 files in compile_commands.json, found ${seen}")
endif()
