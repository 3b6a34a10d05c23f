#!/usr/bin/env bash
# setup_test.sh CASE: runs scripts/setup where only stubs of the package managers can be reached, and checks what it
# says and does. Nothing is installed.
set -euo pipefail

setup=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)/scripts/setup
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin="$work/a bin"
mkdir "$bin"

stub() { # NAME BODY
  rm -f "$bin/$1" # It may be a link to the real one, which must stay as it is.
  printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

for tool in bash sed grep tr uname dirname basename readlink cat env id; do
  ln -s "$(command -v "$tool")" "$bin/$tool"
done
for tool in cmake ninja ccache pkg-config c++; do
  stub "$tool" 'exit 0'
done

# A Debian with every package but those named.
debian_without() {
  local package body=
  for package in libeigen3-dev nlohmann-json3-dev libgtest-dev libgmock-dev libxxhash-dev libopenblas-dev \
    libsdl2-dev libpng-dev libspdlog-dev libcli11-dev libtomlplusplus-dev python3-venv libtorch-dev; do
    case " $* " in
      *" $package "*) ;;
      *) body="${body}echo $package installed
" ;;
    esac
  done
  stub uname 'echo Linux'
  stub dpkg-query "$body"
  stub apt-get "echo \"apt-get \$*\" >>'$work/done'"
  as_user 0
}

mac_without() {
  local formula
  mkdir -p "$work/brew prefix/opt"
  for formula in eigen nlohmann-json googletest xxhash sdl2 libpng spdlog cli11 tomlplusplus pytorch; do
    case " $* " in
      *" $formula "*) ;;
      *) mkdir "$work/brew prefix/opt/$formula" ;;
    esac
  done
  stub uname 'echo Darwin'
  stub xcode-select 'exit 0'
  stub brew "if [ \"\$1\" = --prefix ]; then echo '$work/brew prefix'; else echo \"brew \$*\" >>'$work/done'; fi"
}

as_user() { stub id "echo $1"; }

# Runs it; leaves its exit code in `code`, what it said in `said`, and what it did in `did`.
run() {
  code=0
  rm -f "$work/done"
  (
    unset CMAKE_PREFIX_PATH Torch_DIR METRONOME_TORCH_PYTHON
    export PATH=$bin
    [ -z "${own:-}" ] || export CMAKE_PREFIX_PATH=$own
    exec "$setup" "$@"
  ) >"$work/said" 2>"$work/errors" </dev/null || code=$?
  said=$(cat "$work/said")
  errors=$(cat "$work/errors")
  did=$(cat "$work/done" 2>/dev/null || true)
}

# expect WHAT TEXT PATTERN: the whole text must match the pattern of `case`.
expect() {
  # shellcheck disable=SC2254
  case "$2" in
    $3) ;;
    *)
      printf '%s is "%s" and should match "%s"\n' "$1" "$2" "$3" >&2
      exit 1
      ;;
  esac
}

case "$1" in
  DoesNothingWhenNothingIsMissing)
    debian_without
    run
    expect code "$code" 0
    expect did "$did" ''
    expect said "$said" 'setup: nothing is missing'
    ;;
  InstallsOnlyWhatIsMissing)
    debian_without libxxhash-dev libtorch-dev
    rm "$bin/ninja"
    run
    expect code "$code" 0
    expect did "$did" 'apt-get update
apt-get install -y * ninja-build libxxhash-dev libtorch-dev'
    ;;
  PrintsWhatItWouldDoAndDoesNothing)
    debian_without libxxhash-dev
    as_user 1000
    run --print
    expect code "$code" 0
    expect did "$did" ''
    expect said "$said" '*missing: libxxhash-dev
*apt-get install * libxxhash-dev'
    ;;
  WithoutTorchNeedsNeitherTorchNorSdl)
    debian_without libtorch-dev libopenblas-dev libsdl2-dev libpng-dev libspdlog-dev libcli11-dev libtomlplusplus-dev
    run --no-torch
    expect code "$code" 0
    expect said "$said" 'setup: nothing is missing'
    ;;
  TakesTheLibtorchThatIsNamed)
    debian_without libtorch-dev
    own="$work/my torch"
    mkdir -p "$own/share/cmake/Torch"
    touch "$own/share/cmake/Torch/TorchConfig.cmake"
    run
    expect code "$code" 0
    expect did "$did" ''
    expect said "$said" "setup: using the libtorch in $own*nothing is missing"
    ;;
  PassesOverAPythonTorchWithTheOldStringAbi)
    debian_without libtorch-dev
    mkdir -p "$work/torch/share/cmake/Torch"
    echo 'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")' >"$work/torch/share/cmake/Torch/TorchConfig.cmake"
    stub python3 "echo '$work/torch'"
    run
    expect did "$did" '*install * libtorch-dev'
    echo >"$work/torch/share/cmake/Torch/TorchConfig.cmake"
    run
    expect did "$did" ''
    expect said "$said" "setup: using the libtorch in $work/torch*"
    ;;
  UsesSudoWhenNotRoot)
    debian_without libxxhash-dev
    as_user 1000
    stub sudo "shift; echo \"sudo \$1\" >>'$work/done'; case \$1 in true) ;; *) exec \"\$@\" ;; esac"
    run
    expect code "$code" 0
    expect did "$did" 'sudo true
sudo apt-get
apt-get update
sudo env
apt-get install * libxxhash-dev'
    ;;
  SaysInOneLineThatItNeedsRoot)
    debian_without libxxhash-dev
    as_user 1000
    run
    expect code "$code" 1
    expect did "$did" ''
    expect errors "$errors" 'setup: not root, and there is no sudo here; as root: apt-get install libxxhash-dev'
    stub sudo 'exit 1'
    run
    expect code "$code" 1
    expect did "$did" ''
    expect errors "$errors" 'setup: not root, and sudo refused; as root: apt-get install libxxhash-dev'
    ;;
  FailsWhenAptFails)
    debian_without libxxhash-dev
    stub apt-get 'exit 100'
    run
    expect code "$code" 1
    expect errors "$errors" 'setup: apt-get could not install libxxhash-dev; *'
    ;;
  ChoosesOpenBlasOverTheReference)
    library=
    for library in /usr/lib/*/openblas-*/libblas.so.3; do :; done
    if [ ! -e "$library" ]; then
      echo "Skipped: no OpenBLAS of Debian's here"
      exit 77
    fi
    triplet=$(basename "$(dirname "$(dirname "$library")")")
    debian_without
    # shellcheck disable=SC2016
    stub readlink "case \$2 in */libblas.so.3) echo /usr/lib/$triplet/blas/libblas.so.3 ;; *) exit 1 ;; esac"
    stub update-alternatives "echo \"\$*\" >>'$work/done'"
    run
    expect code "$code" 0
    expect did "$did" "--set libblas.so.3-$triplet /usr/lib/$triplet/openblas-*/libblas.so.3"
    ;;
  InstallsWithHomebrewOnAMac)
    mac_without sdl2 pytorch
    run
    expect code "$code" 0
    expect did "$did" 'brew install sdl2 pytorch'
    run --print
    expect did "$did" ''
    ;;
  SaysWhatToDoOnAMacWithoutHomebrew)
    mac_without
    rm "$bin/brew"
    run
    expect code "$code" 1
    expect errors "$errors" 'setup: no Homebrew: *'
    ;;
  ListsWhatIsNeededOnOtherSystems)
    stub uname 'echo Plan9'
    run
    expect code "$code" 1
    expect errors "$errors" 'setup: knows Debian, Ubuntu and macOS only; install *libtorch*'
    ;;
  RefusesAnUnknownOption)
    debian_without libxxhash-dev
    run --prnt
    expect code "$code" 2
    expect did "$did" ''
    ;;
  *)
    echo "no case $1" >&2
    exit 2
    ;;
esac
# An error is one line.
lines=0
while read -r _; do lines=$((lines + 1)); done <"$work/errors"
expect 'number of error lines' "$lines" '[01]'
