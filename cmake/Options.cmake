# SPDX-License-Identifier: Apache-2.0
# One interface target carries the warnings and sanitizers of everything we compile ourselves.
add_library(ll_options INTERFACE)
target_compile_options(ll_options INTERFACE
  -Wall -Wextra -Wshadow -Wcast-align -Wformat=2 -Wundef -Wimplicit-fallthrough -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
target_include_directories(ll_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(ll_options INTERFACE LL_VERSION="${PROJECT_VERSION}")
if(LL_SANITIZE OR LL_FUZZ)
  target_compile_options(ll_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ll_options INTERFACE -fsanitize=address,undefined)
endif()
if(LL_FUZZ)
  target_compile_options(ll_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A source with gRPC or CLI11 in it takes up to 0.9 GB to compile: not more of them at a time than memory holds.
cmake_host_system_information(RESULT memory_mb QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR jobs "${memory_mb} / 900")
if(jobs LESS 1)
  set(jobs 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS compile=${jobs})
set(CMAKE_JOB_POOL_COMPILE compile)
