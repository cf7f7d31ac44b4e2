# SPDX-License-Identifier: Apache-2.0
# The build of ./run demo compiles few files, and none of what the demonstration does not run: -DSOURCE= -DWORK=
# It takes minutes of processor time: what it compiles stands for that.
file(REMOVE_RECURSE "${WORK}")
execute_process(COMMAND "${CMAKE_COMMAND}" --preset demo -S "${SOURCE}" -B "${WORK}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ "${WORK}/compile_commands.json" commands)
string(JSON count LENGTH "${commands}")
if(count LESS 40 OR count GREATER 110)
  message(FATAL_ERROR "the demonstration compiles ${count} files: expected 40 to 110")
endif()
foreach(unshown IN ITEMS commands/bench commands/report commands/tune src/checker src/c_api src/cublas kernels/attention kernels/gemm_fp64_kernels_fp64.cpp model/advise)
  if(commands MATCHES "\"file\": \"[^\"]*${unshown}")
    message(FATAL_ERROR "the demonstration compiles ${unshown}, which it does not run")
  endif()
endforeach()
