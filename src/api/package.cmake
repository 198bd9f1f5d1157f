# What `cmake --install` puts where: libraries, headers (nccl.h under two names), tools, the documents
# that messages point to, pkg-config's `nccl` and `accl_host`, and `find_package(accl)`, which gives
# the targets accl::nccl and accl::host.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(public_headers ${PROJECT_SOURCE_DIR}/include/accl)

# The build tree has the headers where an installed one has them, and targets of the same names.
set(build_headers ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${build_headers})
file(CREATE_LINK ${public_headers} ${build_headers}/accl SYMBOLIC)
file(CREATE_LINK ${public_headers}/nccl.h ${build_headers}/nccl.h SYMBOLIC)
target_include_directories(nccl INTERFACE ${build_headers})
add_library(accl::nccl ALIAS nccl)
if(TARGET accl_host)
  add_library(accl::host ALIAS accl_host)
endif()

install(DIRECTORY ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${public_headers}/nccl.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET accl_host)
  install(TARGETS accl_host LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN *.md)

# From where the .pc files lie, so that an installed tree may be moved.
file(RELATIVE_PATH ACCL_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name nccl accl_host)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/accl)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/accl-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/accl-config.cmake
  INSTALL_DESTINATION ${config_folder}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/accl-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/accl-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/accl-config-version.cmake
  DESTINATION ${config_folder})
