# cmake -DWORK=<folder> -P check_layering_test.cmake
# Proves that check_layering.cmake fails on every kind of wrong include, one planted at a time, and passes what
# is right.

cmake_minimum_required(VERSION 3.22)

set(checker "${CMAKE_CURRENT_LIST_DIR}/check_layering.cmake")
set(failures "")

# Plants one line in one file of an otherwise empty project and runs the checker over it.
function(run_checker file line)
  file(REMOVE_RECURSE "${WORK}")
  file(WRITE "${WORK}/src/core/clean.cc" "#include <vector>\n#include \"metronome/core/check.h\"\n")
  file(WRITE "${WORK}/include/metronome/core/check.h" "#include <string>\n")
  file(WRITE "${WORK}/${file}" "// A comment.\n\n${line}\nint x;\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DROOT=${WORK}" -P "${checker}"
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(result "${result}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

macro(expect_rejected file line)
  run_checker("${file}" "${line}")
  string(FIND "${output}" " ${file}: " named)
  if(result EQUAL 0 OR named EQUAL -1)
    string(APPEND failures "\n  accepted, or failed without naming it: ${file}: ${line}\n${output}")
  endif()
endmacro()

macro(expect_accepted file line)
  run_checker("${file}" "${line}")
  if(NOT result EQUAL 0)
    string(APPEND failures "\n  rejected: ${file}: ${line}\n${output}")
  endif()
endmacro()

# Each arrow, backwards, and between folders that have none.
foreach(pair IN ITEMS core:games core:replay core:learner core:train core:viewer core:app
                      games:replay games:learner games:train games:viewer games:app
                      replay:games replay:learner replay:train replay:viewer replay:app
                      learner:games learner:train learner:viewer learner:app
                      train:viewer train:app
                      viewer:replay viewer:learner viewer:train viewer:app)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 from)
  list(GET pair 1 to)
  expect_rejected(src/${from}/planted.cc "#include \"metronome/${to}/thing.h\"")
  expect_rejected(src/${from}/planted.h "#include \"${to}/thing.h\"")
  expect_rejected(include/metronome/${from}/planted.h "#include \"metronome/${to}/thing.h\"")
endforeach()

foreach(pair IN ITEMS core:core games:core replay:core learner:core learner:replay train:core train:games
                      train:replay train:learner viewer:core viewer:games app:core app:games app:replay
                      app:learner app:train app:viewer app:app)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 from)
  list(GET pair 1 to)
  expect_accepted(src/${from}/planted.cc "#include \"metronome/${to}/thing.h\"")
  expect_accepted(src/${from}/planted.cc "#include \"${to}/thing.h\"")
endforeach()

# Libraries outside their folders, and inside.
foreach(header IN ITEMS torch/torch.h ATen/ATen.h c10/core/Device.h)
  foreach(folder IN ITEMS core games replay viewer app)
    expect_rejected(src/${folder}/planted.cc "#include <${header}>")
  endforeach()
  expect_accepted(src/learner/planted.cc "#include <${header}>")
  expect_accepted(src/train/planted.cc "#include <${header}>")
endforeach()
foreach(header IN ITEMS SDL.h SDL2/SDL.h SDL2_gfxPrimitives.h SDL2/SDL2_gfxPrimitives.h SDL_events.h)
  foreach(folder IN ITEMS core games replay learner train app)
    expect_rejected(src/${folder}/planted.cc "#include <${header}>")
  endforeach()
  expect_accepted(src/viewer/planted.cc "#include <${header}>")
endforeach()
foreach(header IN ITEMS CLI/CLI.hpp CLI/App.hpp toml++/toml.h toml++/toml.hpp toml.hpp)
  foreach(folder IN ITEMS core games replay learner train viewer)
    expect_rejected(src/${folder}/planted.cc "#include <${header}>")
  endforeach()
  expect_accepted(src/app/planted.cc "#include <${header}>")
endforeach()
expect_accepted(src/games/planted.cc "#include <Eigen/Core>")

# Other ways to write the same.
expect_rejected(src/core/planted.cc "  #  include <ATen/ATen.h>")
expect_rejected(src/core/planted.cc "#include<ATen/ATen.h>")
expect_rejected(src/core/planted.cc "#import \"metronome/games/game.h\"")
expect_rejected(src/core/planted.cc "#include \"../games/game.h\"")
expect_rejected(src/core/planted.cc "#include HEADER")
expect_rejected(include/metronome/train/planted.h "#include \"core/private.h\"")
expect_rejected(src/unknown/planted.cc "#include <vector>")
expect_accepted(src/core/planted.cc "// #include <ATen/ATen.h>")

file(REMOVE_RECURSE "${WORK}")
if(failures)
  message(FATAL_ERROR "check_layering.cmake is wrong about:${failures}")
endif()
