# metronome_find_torch(<folder with TorchConfig.cmake>): find_package(Torch) for that one libtorch.
#
# TorchConfig.cmake itself looks for Caffe2 and its libraries in the system's folders before its own, and keeps
# what it found: where two are installed it mixes them. So its own prefix goes first, and nothing is kept.
# For use in a function: it changes CMAKE_PREFIX_PATH.
macro(metronome_find_torch directory)
  foreach(name IN ITEMS Caffe2_DIR TORCH_LIBRARY c10_LIBRARY kineto_LIBRARY C10_CUDA_LIBRARY)
    unset(${name} CACHE)
  endforeach()
  # <prefix>/share/cmake/Torch, or with lib/ or lib/<architecture>/ instead of share/.
  foreach(levels IN ITEMS "../../../.." "../../..")
    get_filename_component(torch_prefix "${directory}/${levels}" ABSOLUTE)
    list(PREPEND CMAKE_PREFIX_PATH "${torch_prefix}")
  endforeach()
  find_package(Torch REQUIRED NO_DEFAULT_PATH PATHS "${directory}")
endmacro()
