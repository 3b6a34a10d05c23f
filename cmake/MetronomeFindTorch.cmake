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
  # A CUDA build in a Python environment has NVIDIA's libraries beside it, and finds them when it is loaded. The
  # linker must look there too, or it takes the toolkit's, which may be older.
  get_filename_component(torch_packages "${directory}/../../../.." ABSOLUTE)
  file(GLOB torch_nvidia_folders "${torch_packages}/nvidia/*/lib")
  foreach(folder IN LISTS torch_nvidia_folders)
    set_property(TARGET torch APPEND PROPERTY INTERFACE_LINK_OPTIONS "-Wl,-rpath-link,${folder}")
  endforeach()
endmacro()
