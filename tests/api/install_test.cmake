# Installs the build into a folder, builds tests/api/consumer against it by find_package and pkg-config,
# and against the build tree itself, and runs it.
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

# The same program against the build tree, by the line that the README gives.
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
file(GLOB sources ${PROJECT}/*.c)
must(${CC} ${flags} ${sources} -o ${WORK}/by_build_tree -I${BUILD}/include -L${BUILD}/lib
  -Wl,-rpath,${BUILD}/lib -lnccl -laccl_host)
must(${WORK}/by_build_tree)

foreach(file bin/all_reduce_perf bin/accl_info share/doc/accl/docs/compat.md share/doc/accl/LICENSE)
  if(NOT EXISTS ${WORK}/prefix/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

# The same program by pkg-config, whatever the prefix.
file(GLOB_RECURSE pc ${WORK}/prefix/*/nccl.pc)
get_filename_component(pc_folder "${pc}" DIRECTORY)
get_filename_component(libraries "${pc_folder}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${pc_folder})
find_program(PKG_CONFIG pkg-config)
if(NOT PKG_CONFIG)
  file(READ "${pc}" text)
  if(NOT text MATCHES "Version: 2\\.27\\.7\n" OR NOT text MATCHES "-lnccl\n")
    message(FATAL_ERROR "nccl.pc has no version or no library:\n${text}")
  endif()
  return()
endif()
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs nccl accl_host OUTPUT_VARIABLE options
  RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "pkg-config does not know nccl and accl_host")
endif()
separate_arguments(options UNIX_COMMAND "${options}")
must(${CC} ${flags} ${sources} -o ${WORK}/by_pkg_config ${options} -Wl,-rpath,${libraries})
must(${WORK}/by_pkg_config)
