# Finds libtorch and the BLAS. Defines
#   metronome_torch   libtorch with its include folders (as system headers), compile flags and run path
#   metronome_blas    OpenBLAS or Accelerate; cblas.h where there is one
#   METRONOME_TORCH_HAS_CUDA   whether the learner is built for CUDA as well: this libtorch is, and the CUDA toolkit
#                              is there (METRONOME_CUDA=OFF: not then either)
#   METRONOME_TORCH_DESCRIPTION   "1.13.0 from the system, /usr/lib/cmake/Torch"
#
# libtorch is taken from the first of these places that has one:
#   1. CMAKE_PREFIX_PATH or Torch_DIR, given to CMake or set in the environment
#   2. the Python environment's torch, as `python3` finds it (METRONOME_TORCH_PYTHON=OFF leaves it out)
#   3. Homebrew
#   4. the system
# and used only if a small program compiles and links with it: see torch_probe/. One that was named (1) and
# doesn't fit stops the configuration; one that was merely found is passed over, with the reason.

option(METRONOME_TORCH_PYTHON "Use the libtorch of the Python environment's torch package, where there is one" ON)
option(METRONOME_CUDA "Build for CUDA where libtorch was and the CUDA toolkit is there" ON)

include(MetronomeFindTorch)

# Sets `out` to the folder with TorchConfig.cmake under one of the prefixes, or to "".
function(metronome_find_torch_config out)
  set(suffixes share/cmake/Torch lib/cmake/Torch cmake/Torch Torch .)
  if(CMAKE_LIBRARY_ARCHITECTURE)
    list(PREPEND suffixes "lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch")
  endif()
  unset(directory)
  find_path(directory TorchConfig.cmake PATHS ${ARGN} PATH_SUFFIXES ${suffixes} NO_DEFAULT_PATH NO_CACHE)
  if(NOT directory)
    set(directory "")
  endif()
  string(REGEX REPLACE "/[./]*$" "" directory "${directory}")
  set(${out} "${directory}" PARENT_SCOPE)
endfunction()

# Sets `out` to the folder that holds the cmake files of `python3`'s torch, or to "". Looks without importing
# torch, which takes seconds.
function(metronome_find_python_torch out)
  set(${out} "" PARENT_SCOPE)
  # Not kept: another environment may be active the next time.
  find_program(python NAMES python3 python NO_CACHE)
  if(NOT python)
    return()
  endif()
  execute_process(
    COMMAND "${python}" -c
            "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE folder ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
  if(result EQUAL 0 AND folder)
    set(${out} "${folder}/share/cmake" PARENT_SCOPE)
  endif()
endfunction()

# Sets `out` to the reason why the libtorch of `directory` can't be used, "" if it can. A libtorch that fitted
# is not asked again until its TorchConfig.cmake changes.
function(metronome_probe_torch directory out)
  set(${out} "" PARENT_SCOPE)
  file(TIMESTAMP "${directory}/TorchConfig.cmake" timestamp)
  set(key "${directory} ${timestamp}")
  if(METRONOME_TORCH_PROBED STREQUAL key)
    return()
  endif()
  set(build "${CMAKE_BINARY_DIR}/torch_probe")
  file(REMOVE_RECURSE "${build}")
  # Not try_compile: there a failure to configure, which is what is to be found out, ends everything.
  set(settings "")
  foreach(name IN ITEMS CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS CMAKE_PREFIX_PATH CMAKE_MAKE_PROGRAM CMAKE_TOOLCHAIN_FILE
                        CMAKE_OSX_SYSROOT CMAKE_OSX_ARCHITECTURES CMAKE_OSX_DEPLOYMENT_TARGET)
    if(${name})
      string(REPLACE ";" "\\;" value "${${name}}")
      list(APPEND settings "-D${name}=${value}")
    endif()
  endforeach()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/torch_probe" -B "${build}" -G "${CMAKE_GENERATOR}"
            "-DMETRONOME_TORCH_CANDIDATE=${directory}" -DCMAKE_BUILD_TYPE=Release ${settings}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(result EQUAL 0)
    execute_process(COMMAND "${CMAKE_COMMAND}" --build "${build}"
                    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  endif()
  file(REMOVE_RECURSE "${build}")
  if(result EQUAL 0)
    set(METRONOME_TORCH_PROBED "${key}" CACHE INTERNAL "The libtorch that was found to fit")
    return()
  endif()
  set(log "${CMAKE_BINARY_DIR}/torch_probe.log")
  file(WRITE "${log}" "${output}")
  # CMake wraps long messages, so the reason may run over lines.
  string(REGEX REPLACE "[ \n]+" " " flat "${output}")
  if(flat MATCHES "metronome-probe<([^>]*)>")
    set(reason "${CMAKE_MATCH_1}")
  elseif(flat MATCHES "ndefined (reference to (symbol )?.|symbols [^\"]*\")(c10::Device|_ZN3c106Device)")
    set(reason "it was built with another C++ string ABI than this compiler's")
  elseif(flat MATCHES "CUDA|libcudart")
    set(reason "it is a CUDA build, and the CUDA libraries it needs were not found (see ${log})")
  else()
    set(reason "a small program does not build with it (see ${log})")
  endif()
  set(${out} "${reason}" PARENT_SCOPE)
endfunction()

# Sets `out_directory` and `out_origin` to the libtorch to use.
function(metronome_choose_torch out_directory out_origin)
  # What an earlier configuration found is not what the user asked for.
  set(asked "${Torch_DIR}")
  if(asked STREQUAL METRONOME_TORCH_FOUND OR asked MATCHES "NOTFOUND$")
    set(asked "")
  endif()
  if(NOT asked)
    set(asked "$ENV{Torch_DIR}")
  endif()
  if(asked AND NOT EXISTS "${asked}/TorchConfig.cmake")
    message(FATAL_ERROR "Torch_DIR=${asked} has no TorchConfig.cmake: name the folder that holds it")
  endif()

  set(environment_prefixes "$ENV{CMAKE_PREFIX_PATH}")
  string(REPLACE ":" ";" environment_prefixes "${environment_prefixes}")
  metronome_find_python_torch(python)
  set(homebrew "")
  if(APPLE OR DEFINED ENV{HOMEBREW_PREFIX})
    foreach(prefix IN ITEMS "$ENV{HOMEBREW_PREFIX}" /opt/homebrew /usr/local)
      if(prefix)
        list(APPEND homebrew "${prefix}/opt/pytorch" "${prefix}")
      endif()
    endforeach()
  endif()

  set(origins named)
  set(named_prefixes ${asked})
  if(NOT asked)
    set(named_prefixes ${CMAKE_PREFIX_PATH} ${environment_prefixes})
  endif()
  set(named_text "as named by CMAKE_PREFIX_PATH or Torch_DIR")
  if(METRONOME_TORCH_PYTHON)
    list(APPEND origins python)
    set(python_prefixes ${python})
    set(python_text "from the Python environment")
  endif()
  list(APPEND origins homebrew system)
  set(homebrew_prefixes ${homebrew})
  set(homebrew_text "from Homebrew")
  set(system_prefixes ${CMAKE_SYSTEM_PREFIX_PATH})
  set(system_text "from the system")

  set(passed_over "")
  foreach(origin IN LISTS origins)
    if(NOT ${origin}_prefixes)
      continue()
    endif()
    metronome_find_torch_config(directory ${${origin}_prefixes})
    if(NOT directory)
      continue()
    endif()
    metronome_probe_torch("${directory}" reason)
    if(NOT reason)
      set(${out_directory} "${directory}" PARENT_SCOPE)
      set(${out_origin} "${${origin}_text}" PARENT_SCOPE)
      return()
    endif()
    if(origin STREQUAL named)
      message(FATAL_ERROR "The libtorch in ${directory} can't be used: ${reason}; name another with Torch_DIR")
    endif()
    message(STATUS "Passing over the libtorch in ${directory}: ${reason}")
    string(APPEND passed_over " (passed over ${directory}: ${reason})")
  endforeach()
  message(FATAL_ERROR "No libtorch that can be used${passed_over}: run scripts/setup (METRONOME_TORCH_PYTHON=OFF "
                      "scripts/setup leaves Python's out), or name one with -DTorch_DIR=..., or build only "
                      "simulation and replay with -DMETRONOME_WITH_TORCH=OFF")
endfunction()

function(metronome_add_torch)
  metronome_choose_torch(directory origin)
  if(Torch_DIR STREQUAL METRONOME_TORCH_FOUND OR NOT EXISTS "${Torch_DIR}")
    set(given FALSE)
    unset(Torch_DIR CACHE)
  else()
    set(given TRUE)
  endif()
  # Caffe2's part of it is talkative: a line for each of its own libraries, a warning for each static one that
  # a wheel leaves out. Errors are still shown.
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
  metronome_find_torch("${directory}")
  unset(CMAKE_MESSAGE_LOG_LEVEL)
  if(NOT given)
    set(METRONOME_TORCH_FOUND "${Torch_DIR}" CACHE INTERNAL "The Torch_DIR that was found, not given")
  endif()

  add_library(metronome_torch INTERFACE)
  # torch is an imported target: its include folders are system ones, its flags and run path come along.
  target_link_libraries(metronome_torch INTERFACE ${TORCH_LIBRARIES})
  get_target_property(torch_options torch INTERFACE_COMPILE_OPTIONS)
  if(TORCH_CXX_FLAGS AND NOT torch_options)
    separate_arguments(flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
    target_compile_options(metronome_torch INTERFACE ${flags})
  endif()

  # Debian has CUDA's headers of libtorch, but no CUDA in it: so the library is asked, not the headers.
  set(has_cuda FALSE)
  if(METRONOME_CUDA AND TARGET torch_cuda)
    find_package(CUDAToolkit QUIET)
    if(TARGET CUDA::cudart)
      set(has_cuda TRUE)
      target_link_libraries(metronome_torch INTERFACE CUDA::cudart)
    endif()
  endif()
  set(METRONOME_TORCH_HAS_CUDA ${has_cuda} PARENT_SCOPE)

  set(description "${Torch_VERSION} ${origin}, ${directory}")
  if(has_cuda)
    string(APPEND description ", with CUDA ${CUDAToolkit_VERSION}")
  endif()
  message(STATUS "libtorch ${description}")
  set(METRONOME_TORCH_DESCRIPTION "${description}" PARENT_SCOPE)
endfunction()

# On a Mac, Accelerate: it reaches the processor's matrix units, which OpenBLAS does not. Elsewhere OpenBLAS.
# The reference BLAS works but is about ten times slower.
function(metronome_add_blas)
  set(vendors OpenBLAS Generic)
  if(APPLE)
    set(vendors Apple OpenBLAS Generic)
  endif()
  foreach(vendor IN LISTS vendors)
    set(BLA_VENDOR ${vendor})
    find_package(BLAS QUIET)
    if(BLAS_FOUND)
      break()
    endif()
  endforeach()
  if(NOT BLAS_FOUND)
    message(FATAL_ERROR "No BLAS found: run scripts/setup")
  endif()
  if(BLA_VENDOR STREQUAL Generic)
    message(WARNING "No OpenBLAS found: training on the processor will be about ten times slower. Run scripts/setup")
  endif()
  message(STATUS "BLAS ${BLA_VENDOR}, ${BLAS_LIBRARIES}")
  add_library(metronome_blas INTERFACE)
  target_link_libraries(metronome_blas INTERFACE BLAS::BLAS)
endfunction()

metronome_add_torch()
metronome_add_blas()
