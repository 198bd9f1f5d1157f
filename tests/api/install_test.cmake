# Installs the build into a folder, builds tests/api/consumer against it by find_package, and runs it.
# Arguments: BUILD, WORK, PROJECT, GENERATOR, CC, FLAGS.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
foreach(file include/nccl.h include/accl/nccl.h include/accl/device.h)
  if(NOT EXISTS ${WORK}/prefix/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

must(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/consumer -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_C_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
must(${CMAKE_COMMAND} --build ${WORK}/consumer)
must(${WORK}/consumer/consumer)

# The prefix in nccl.pc is the one that was configured, so look only at what does not depend on it.
file(GLOB_RECURSE pc ${WORK}/prefix/*/nccl.pc)
file(READ "${pc}" text)
if(NOT text MATCHES "Version: 2\\.27\\.7\n" OR NOT text MATCHES "-lnccl\n")
  message(FATAL_ERROR "nccl.pc has no version or no library:\n${text}")
endif()
