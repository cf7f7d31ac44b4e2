# Compile options of the project's own targets. Consumers of the library inherit none of them but the language standard.
include_guard(GLOBAL)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  endif()
endif()

# antiphase_options(target): warnings and sanitizers, as the build asks for them. The library's public requirement, C++20, is set
# where the target is made.
function(antiphase_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  if(ANTIPHASE_WARNINGS)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Werror>"
      "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas>")
  endif()
  if(ANTIPHASE_SANITIZE)
    # Kernels with unrolled loops and a check at every access take the optimiser many minutes; without its loop passes, seconds.
    # (g++ 12 takes the instrumented std::regex for uninitialised.)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=all;-fno-omit-frame-pointer;-O1;-fno-tree-loop-optimize;-Wno-maybe-uninitialized>")
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
endfunction()
