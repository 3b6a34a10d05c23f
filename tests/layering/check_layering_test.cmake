# cmake -DWORK=<folder> -P check_layering_test.cmake
# Proves that check_layering.cmake fails on every kind of wrong include, and passes what is right.

cmake_minimum_required(VERSION 3.22)

set(checker "${CMAKE_CURRENT_LIST_DIR}/check_layering.cmake")
set(failures "")
set(planted 0)

# Every wrong include goes into a file of its own in one tree, every right one into another, so that the checker
# runs once over each.
foreach(tree IN ITEMS wrong right single)
  file(REMOVE_RECURSE "${WORK}/${tree}")
  file(WRITE "${WORK}/${tree}/src/core/clean.cc" "#include <vector>\n#include \"metronome/core/check.h\"\n")
  file(WRITE "${WORK}/${tree}/include/metronome/core/check.h" "#include <string>\n")
endforeach()

# `planted` in the file's name gets a number, so that each line has a file of its own.
macro(plant tree file line)
  math(EXPR planted "${planted} + 1")
  string(REPLACE planted "planted${planted}" name "${file}")
  file(WRITE "${WORK}/${tree}/${name}" "// A comment.\n\n${line}\nint x;\n")
  list(APPEND ${tree}_files "${name}")
  set("text_${name}" "${line}")
endmacro()

macro(expect_rejected file line)
  plant(wrong "${file}" "${line}")
endmacro()

macro(expect_accepted file line)
  plant(right "${file}" "${line}")
endmacro()

function(run_checker tree)
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DROOT=${WORK}/${tree}" -P "${checker}"
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(result "${result}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

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
foreach(header IN ITEMS SDL.h SDL2/SDL.h SDL2_gfxPrimitives.h SDL2/SDL2_gfxPrimitives.h SDL_events.h png.h)
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

run_checker(wrong)
if(result EQUAL 0)
  string(APPEND failures "\n  it passes the wrong ones")
endif()
foreach(file IN LISTS wrong_files)
  string(FIND "${output}" " ${file}: " named)
  if(named EQUAL -1)
    string(APPEND failures "\n  accepted: ${file}: ${text_${file}}")
  endif()
endforeach()

run_checker(right)
if(NOT result EQUAL 0)
  string(APPEND failures "\n  rejected:\n${output}")
endif()

# One wrong line among right ones is enough to fail.
plant(single src/games/planted.cc "#include <SDL.h>")
run_checker(single)
if(result EQUAL 0)
  string(APPEND failures "\n  it passes one wrong line")
endif()

file(REMOVE_RECURSE "${WORK}")
if(failures)
  message(FATAL_ERROR "check_layering.cmake is wrong about:${failures}")
endif()
