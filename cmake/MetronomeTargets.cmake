# How this project's own targets are compiled. Everything is set on targets, nothing globally.

# C++20, warnings, sanitizers and the processor for one of our targets.
function(metronome_configure_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(METRONOME_NATIVE AND NOT METRONOME_SANITIZE)
    target_compile_options(${target} PRIVATE -march=native)
  endif()
  if(METRONOME_SANITIZE)
    string(REPLACE ";" "," sanitizers "${METRONOME_SANITIZE}")
    target_compile_options(${target} PUBLIC -fsanitize=${sanitizers} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${sanitizers})
  endif()
endfunction()

# metronome_library(<folder> SOURCES a.cc b.cc [LINK targets...])
# The static library metronome_<folder>, with include/ as its public headers.
function(metronome_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LINK_PRIVATE" ${ARGN})
  set(target metronome_${folder})
  add_library(${target} STATIC ${arg_SOURCES})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/include"
                                       PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE})
  metronome_configure_target(${target})
endfunction()

# metronome_test(<name> SOURCES a_test.cc [LINK targets...] [LABELS ...])
# One test program under tests/; each of its cases is a test of ctest.
function(metronome_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE METRONOME_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  metronome_configure_target(${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}")
endfunction()
