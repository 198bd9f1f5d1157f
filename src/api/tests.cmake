# Tests of the public headers, of what the library exports, and of the calls without a communicator.
accl_test(api/header DEPENDS accl_options)
set(api_tests ${PROJECT_SOURCE_DIR}/tests/api)
target_sources(api_header_test PRIVATE ${api_tests}/header_c99.c ${api_tests}/header_cuda.cc)
set_target_properties(api_header_test PROPERTIES C_EXTENSIONS OFF)
set_source_files_properties(${api_tests}/header_c99.c PROPERTIES COMPILE_OPTIONS -pedantic-errors)
set_source_files_properties(${api_tests}/header_cuda.cc PROPERTIES
  INCLUDE_DIRECTORIES ${api_tests}/cuda)

accl_test(api/strings DEPENDS nccl)

accl_test(api/abi)
target_compile_definitions(api_abi_test PRIVATE
  ACCL_NCCL_HEADER="${PROJECT_SOURCE_DIR}/include/accl/nccl.h"
  ACCL_COMPAT_DOCUMENT="${PROJECT_SOURCE_DIR}/docs/compat.md"
  ACCL_NCCL_LIBRARY="$<TARGET_FILE:nccl>")
add_dependencies(api_abi_test nccl)

if(ACCL_SANITIZE)
  set(consumer_flags -fsanitize=${ACCL_SANITIZE})
endif()
# An installed copy serves a project that knows nothing of ours.
add_test(NAME api/install COMMAND ${CMAKE_COMMAND}
  -DBUILD=${CMAKE_BINARY_DIR} -DWORK=${CMAKE_BINARY_DIR}/install_test
  -DPROJECT=${api_tests}/consumer -DGENERATOR=${CMAKE_GENERATOR}
  -DCC=${CMAKE_C_COMPILER} -DFLAGS=${consumer_flags}
  -P ${api_tests}/install_test.cmake)
set_tests_properties(api/install PROPERTIES TIMEOUT 120)
