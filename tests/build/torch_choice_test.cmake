# cmake -DCASE=... -DROOT=<project> -DWORK=<folder> -DGENERATOR=... -DCOMPILER=... -P torch_choice_test.cmake
# Configures with a pretended libtorch, and checks what is said of it.

cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE "${WORK}")
set(torch "${WORK}/pretended/torch")
set(config "${torch}/share/cmake/Torch/TorchConfig.cmake")
set(old_abi "set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=0\")\nadd_library(torch INTERFACE IMPORTED)\n")

function(configure)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${ROOT}/tests/build/torch_choice" -B "${WORK}/build" -G "${GENERATOR}"
                          "-DMETRONOME_ROOT=${ROOT}" "-DCMAKE_CXX_COMPILER=${COMPILER}" ${ARGN}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  # CMake wraps long lines.
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(result "${result}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "Expected \"${text}\" in:\n${output}")
  endif()
endfunction()

function(expect_stop)
  string(REGEX MATCHALL "CMake Error at" errors "${output}")
  list(LENGTH errors count)
  if(result EQUAL 0 OR NOT count EQUAL 1)
    message(FATAL_ERROR "Expected the configuration to stop with one error, found ${count}:\n${output}")
  endif()
endfunction()

if(CASE STREQUAL "AWrongStringAbiStopsTheConfiguration")
  file(WRITE "${config}" "${old_abi}")
  configure("-DCMAKE_PREFIX_PATH=${torch}")
  expect_stop()
  expect("The libtorch in ${torch}/share/cmake/Torch can't be used: it was built with the old C++ string ABI")
  expect("name another with Torch_DIR")

elseif(CASE STREQUAL "ACudaBuildWithoutCudaStopsTheConfiguration")
  file(WRITE "${config}" "message(FATAL_ERROR \"Your installed Caffe2 version uses CUDA but I cannot find it\")\n")
  configure("-DTorch_DIR=${torch}/share/cmake/Torch")
  expect_stop()
  expect("it is a CUDA build, and the CUDA libraries it needs were not found")

elseif(CASE STREQUAL "ATorchDirWithoutTorchStopsTheConfiguration")
  configure("-DTorch_DIR=${WORK}/nothing")
  expect_stop()
  expect("Torch_DIR=${WORK}/nothing has no TorchConfig.cmake")

elseif(CASE STREQUAL "APythonTorchThatDoesNotFitIsPassedOver")
  file(WRITE "${config}" "${old_abi}")
  file(WRITE "${torch}/__init__.py" "")
  set(ENV{PYTHONPATH} "${WORK}/pretended")
  find_program(python NAMES python3 python)
  configure()
  if(NOT python)
    message(STATUS "Skipped: no Python here")
  elseif(output MATCHES "named by CMAKE_PREFIX_PATH")
    message(STATUS "Skipped: another libtorch is named in the environment")
  else()
    expect("Passing over the libtorch in ${torch}/share/cmake/Torch: it was built with the old C++ string ABI")
  endif()
  configure(-DMETRONOME_TORCH_PYTHON=OFF)
  string(FIND "${output}" "${torch}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "Python's torch was looked at all the same:\n${output}")
  endif()

else()
  message(FATAL_ERROR "There is no case ${CASE}")
endif()
file(REMOVE_RECURSE "${WORK}")
