#!/usr/bin/env bash
# Writes the golden playthroughs under tests/golden/playthroughs anew, of every game or of those named:
#   scripts/update_golden.sh [GAME]...
# Only when a game was meant to change; look at what git shows before committing.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="${METRONOME_BUILD_DIR:-$root/build/golden}"

cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DMETRONOME_WITH_TORCH=OFF >/dev/null
cmake --build "$build" --target write_playthroughs --parallel
"$(find "$build" -name write_playthroughs -type f -perm -u+x | head -n 1)" "$@"
git -C "$root" --no-pager diff --stat -- tests/golden/playthroughs
