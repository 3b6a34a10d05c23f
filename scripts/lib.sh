# shellcheck shell=bash
# Shared by the scripts beside it, which source it. Runs under the bash 3.2 of macOS.
# Sets `project`, the root of the checkout.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# How many jobs to run at once.
processors() { getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# newest_checkpoint RUN: the step of its newest checkpoint, nothing where it has none.
newest_checkpoint() { (cd "$1/checkpoints" 2>/dev/null && ls) | grep -E '^[0-9]+$' | sort -n | tail -n 1 || true; }

# run_essence RUN: everything about a finished run that must not depend on where it was stopped: tables but for times
# and memory, state, weights, replay, recordings.
run_essence() (
  cd "$1" || exit
  cut -d, -f1-10,15 episodes.csv
  cut -d, -f1-6 evals.csv
  cd "checkpoints/$(newest_checkpoint .)" || exit
  grep -v wall_seconds state.json
  cksum weights.safetensors replay-*.segment ../best/weights.safetensors
  cd ../../recordings || exit
  cksum ./*.recording
)

# configure_and_build PRESET [TARGET...]: brings build/PRESET up to date. Quick when nothing changed.
configure_and_build() {
  local preset=$1
  shift
  local build=$project/build/$preset
  local log=$build/configure.log
  # A preset may forbid a package that nothing asks for; that is no cause for a warning.
  local settings=(--no-warn-unused-cli)
  if command -v ccache >/dev/null 2>&1; then
    settings+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  if [ -n "${METRONOME_TORCH_PYTHON:-}" ]; then
    settings+=("-DMETRONOME_TORCH_PYTHON=$METRONOME_TORCH_PYTHON")
  fi
  # A checkout that was copied or moved brings a build folder that belongs to another place.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$project" "$build/CMakeCache.txt"; then
    echo "Removing $build, which belongs to another checkout"
    rm -rf "$build"
  fi
  mkdir -p "$build"
  echo "Configuring build/$preset"
  if ! (cd "$project" && cmake --preset "$preset" "${settings[@]}") >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  if grep -q '^CMake.* Warning' "$log"; then
    cat "$log"
  else
    grep -E '^-- (libtorch|BLAS|Passing over)' "$log" || true
  fi
  local targets=()
  if [ $# -gt 0 ]; then
    targets=(--target "$@")
  fi
  cmake --build "$build" ${targets[@]+"${targets[@]}"}
}

# python_with PACKAGE...: prints a Python that has these packages, each named as it is imported: the one that
# METRONOME_PYTHON names, else python3, else one in build/python-venv, which is made and filled where it lacks them.
python_with() {
  local python package modules=
  for package in "$@"; do
    modules="$modules${modules:+, }$package"
  done
  local own=$project/build/python-venv/bin/python
  for python in ${METRONOME_PYTHON:+"$METRONOME_PYTHON"} python3 "$own"; do
    if "$python" -c "import $modules" >/dev/null 2>&1; then
      echo "$python"
      return 0
    fi
  done
  echo "No python3 here has $modules; installing into build/python-venv" >&2
  if ! { [ -x "$own" ] || python3 -m venv "$project/build/python-venv"; } >&2 ||
    ! "$own" -m pip install --quiet --disable-pip-version-check "$@" >&2; then
    echo "Could not; install $modules for python3 by hand, or name a Python that has it in METRONOME_PYTHON" >&2
    return 1
  fi
  echo "$own"
}
