# SPDX-License-Identifier: Apache-2.0
# Compiles BPF sources, links them into one object and generates its skeleton header.
find_program(BPF_CLANG NAMES clang-19 clang-20 clang-21 clang REQUIRED)
find_program(BPFTOOL bpftool PATHS /usr/sbin /sbin REQUIRED)

# ll_bpf_skeleton(NAME SOURCES...): NAME.bpf.o and NAME.skel.h, and an interface target ll_NAME_skel.
function(ll_bpf_skeleton name)
  set(objects)
  foreach(source ${ARGN})
    get_filename_component(stem ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${stem}.bpf.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${BPF_CLANG} -g -O2 -std=gnu11 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86
              -Wall -Wextra -Wshadow -Werror -Wno-unused-parameter
              -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
              -I${CMAKE_CURRENT_SOURCE_DIR} -MD -MF ${object}.d -MT ${object}
              -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d
      COMMENT "BPF ${source}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(linked ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.linked.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
  add_custom_command(OUTPUT ${linked} COMMAND ${BPFTOOL} gen object ${linked} ${objects}
    DEPENDS ${objects} COMMENT "BPF link ${name}" VERBATIM)
  add_custom_command(OUTPUT ${skeleton}
    COMMAND sh -c "${BPFTOOL} gen skeleton ${linked} name ${name}_bpf > ${skeleton}.tmp && mv ${skeleton}.tmp ${skeleton}"
    DEPENDS ${linked} COMMENT "BPF skeleton ${name}" VERBATIM)
  add_custom_target(${name}_skel_gen DEPENDS ${skeleton})
  add_library(ll_${name}_skel INTERFACE)
  add_dependencies(ll_${name}_skel ${name}_skel_gen)
  target_include_directories(ll_${name}_skel SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
