#!/usr/bin/env bash
# plot_test.sh CASE: scripts/plot with made-up runs. Exit status 77: there is no Python with matplotlib.
set -euo pipefail

plot=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd -P)/plot
python=${METRONOME_PYTHON:-python3}
# Never an installation from within a test.
if ! "$python" -c 'import matplotlib' >/dev/null 2>&1; then
  echo "Skipped: $python has no matplotlib"
  exit 77
fi
export METRONOME_PYTHON=$python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# run NAME LEARNING_RATE SEED: a run of 200 episodes, the first 20 without an update, and a last row that is cut.
run() {
  mkdir -p "$1"
  printf '[game]\nname = "cartpole"\n\n[learner]\n# Step size.\nlearning_rate = %s\n\n[train]\nseed = %s\n' "$2" "$3" \
    >"$1/config.toml"
  awk -v seed="$3" 'BEGIN {
    print "step,episode,return,length,ending,epsilon,loss,q_mean,updates,target_syncs,step_us_p50,step_us_p99," \
      "step_us_max,rss_kib,replay_size,wall_s"
    for (i = 1; i <= 200; ++i) {
      learns = i > 20
      printf "%d,%d,%d,10,terminated,0.1,%s,%s,%d,%d,100.5,140,900,170000,%d,%.3f\n", i * 10, i, i + seed, \
        (learns ? 1.0 / i : ""), (learns ? i / 10 : ""), (learns ? (i - 20) * 10 : 0), 0, i * 10, i / 10
    }
    printf "2010,201,5"
  }' >"$1/episodes.csv"
  printf 'step,episodes,mean,std,min,max,wall_s\n500,20,50,1,40,60,5.0\n1000,20,90.5,1,80,99,10.0\n2000,20,180,1,170,190,20.0\n' \
    >"$1/evals.csv"
}

# kind FILE: "png" or "svg", by what it holds.
kind() {
  case "$(head -c 200 "$1" | tr -d '\0')" in
    *PNG*) echo png ;;
    *'<?xml'*) echo svg ;;
    *) echo unknown ;;
  esac
}

case "$1" in
  DrawsEachPage)
    run a 0.001 1
    for page in learning training flatness; do
      for end in png svg; do
        "$plot" a --page "$page" --out "$page.$end"
        [ "$(kind "$page.$end")" = "$end" ] || fail "$page.$end is no $end"
      done
    done
    # Axes have their units.
    grep -q 'environment steps' learning.svg || fail "no unit of the steps"
    grep -q 'return, game points' learning.svg || fail "no unit of the return"
    grep -q 'microseconds' flatness.svg || fail "no unit of time"
    grep -q 'resident, MiB' flatness.svg || fail "no unit of memory"
    grep -q 'cartpole (1 seed)' learning.svg || fail "the run has no name"
    ;;
  GroupsSeedsByTheirConfiguration)
    run a 0.001 1
    run b 0.001 2
    run c 0.1 1
    "$plot" a b c --out out.svg
    grep -q 'learning_rate = 0.001 (2 seeds)' out.svg || fail "the two seeds are no group"
    grep -q 'learning_rate = 0.1 (1 seed)' out.svg || fail "the other configuration has no line"
    "$plot" a b c --label healthy --label sick --out out.svg
    grep -q 'healthy (2 seeds)' out.svg || fail "the label is not used"
    ;;
  TakesASetOfSeedsAsItsRuns)
    run set/seed-1 0.001 1
    run set/seed-2 0.001 2
    run set/seed-2-unfinished-1 0.001 2
    echo '{}' >set/seeds.json
    "$plot" set --out out.svg
    grep -q 'cartpole (2 seeds)' out.svg || fail "the set is not its two runs"
    ;;
  GivesTheSameFileForTheSameRuns)
    run a 0.001 1
    for end in png svg; do
      "$plot" a --out "1.$end"
      "$plot" a --out "2.$end"
      cmp "1.$end" "2.$end"
    done
    ;;
  RefusesInOneLine)
    mkdir empty
    run a 0.001 1
    refuse() { # EXPECTED ARGUMENT...
      local expected=$1 said
      shift
      if said=$("$plot" "$@" 2>&1); then fail "accepted: $*"; fi
      case "$said" in
        *"$expected"*) ;;
        *) fail "said: $said" ;;
      esac
    }
    refuse 'empty: no run, it has no config.toml' empty --out out.png
    refuse 'nowhere: no run' nowhere --out out.png
    refuse 'must end in .png or .svg' a --out out.jpg
    refuse '--label: given 2 times' a --label x --label y --out out.png
    [ ! -e out.png ] || fail "made a picture all the same"
    [ "$("$plot" empty --out out.png 2>&1 | wc -l)" -eq 1 ] || fail "more than one line"
    ;;
  *) fail "no case $1" ;;
esac
