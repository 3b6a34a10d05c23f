#!/usr/bin/env bash
# soak_test.sh CASE: gives scripts/soak the files of a made-up run, and checks its verdict.
set -euo pipefail

soak=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)/scripts/soak
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run="$work/a run"
mkdir "$run"

# A run of 1,000 episodes of 100 steps. In these expressions of awk, `step` is where an episode ended.
memory='50000'
median='80'
longest='900'
length='100'
collecting=1000 # steps before the first update

write_rows() {
  awk "BEGIN {
    print \"step,episode,return,length,ending,epsilon,loss,q_mean,updates,target_syncs,step_us_p50,step_us_p99,\" \\
      \"step_us_max,rss_kib,replay_size,wall_s\"
    for (episode = 1; step < 100000; ++episode) {
      length_of = ($length)
      step += length_of
      printf \"%d,%d,%d,%d,truncated,0.05,\", step, episode, length_of, length_of
      # There is no loss before the first update, and those steps are quick.
      if (step > $collecting) printf \"0.1,20,%d,%d,%.3f,120,%.3f,\", step - $collecting, step / 1000, ($median), ($longest)
      else printf \",,0,0,1,2,3,\"
      printf \"%d,%d,%.3f\n\", ($memory), step, step / 10000
    }
  }" >"$run/episodes.csv"
}

# write_log HEAP_BLOCKS [LINE]: the log of a run that ended, and another line in it.
write_log() {
  {
    echo "2026-01-01 12:00:00.000 info: run folder somewhere"
    if [ $# -gt 1 ]; then echo "$2"; fi
    echo "2026-01-01 12:00:10.000 info: heap blocks taken in the steps since learning began: $1"
    echo "2026-01-01 12:00:10.000 info: flatness: told by the program itself"
  } >"$run/log.txt"
}

# Leaves the exit code in `code` and the output in `said`.
judge() {
  code=0
  said=$("$soak" --verdict "$run" "$@" 2>&1) || code=$?
}

fail() {
  printf '%s\nexit code %s, output:\n%s\n' "$1" "$code" "$said" >&2
  exit 1
}
expect_code() { [ "$code" -eq "$1" ] || fail "Expected exit code $1"; }
expect_said() { case "$said" in *"$1"*) ;; *) fail "Expected: $1" ;; esac; }
expect_not_said() { case "$said" in *"$1"*) fail "Did not expect: $1" ;; esac; }

CallsAFlatRunFlat() {
  write_rows
  write_log 0
  judge --strict
  expect_code 0
  expect_said "soak: 100000 steps, 1000 episodes"
  expect_said "memory: 50000 KiB after the warm-up (step 20000), 50000 KiB at the end (+0 KiB; limit +64)"
  expect_said "slope +0.00 KiB per million steps"
  expect_said "median step: 80.0 us in the first tenth of learning, 80.0 us in the last (ratio 1.000;"
  expect_said "watchdog: 0 warnings"
  expect_not_said broken
}

MemoryMayGrowBySixtyFourKiB() {
  memory='50000 + (step >= 60000 ? 64 : 0)'
  write_rows
  write_log 0
  judge
  expect_code 0
  memory='50000 + (step >= 60000 ? 65 : 0)'
  write_rows
  judge
  expect_code 1
  expect_said "broken: memory grew by 65 KiB after the warm-up, more than 64"
}

FindsALeak() {
  memory='50000 + step / 100'
  write_rows
  write_log 0
  judge
  expect_code 1
  expect_said "broken: memory grew by 800 KiB"
  expect_not_said flat
}

PassesOverWhatGrowsInTheWarmUp() {
  memory='step < 20000 ? 40000 : 50000'
  write_rows
  write_log 0
  judge
  expect_code 0
  judge --warmup 10000
  expect_code 1
  expect_said "broken: memory grew by 10000 KiB"
}

MeasuresTheSlopeOfMemory() {
  # One KiB every 100 steps.
  memory='50000 + step / 100'
  write_rows
  write_log 0
  judge
  expect_said "(+800 KiB; limit +64)"
  expect_said "slope +10000.00 KiB per million steps"
  # What rises and comes back has no slope, and is told all the same.
  memory='50000 + (step == 60000 ? 30 : 0)'
  write_rows
  judge
  expect_code 0
  expect_said "(+0 KiB; limit +64); at most +30 KiB; slope +0.00 KiB"
}

CountsHeapBlocks() {
  write_rows
  write_log 1
  judge
  expect_code 1
  expect_said "broken: 1 heap blocks taken, more than 0"
}

AnUncountedBuildIsNotJudgedByHeapBlocks() {
  write_rows
  write_log 0
  sed 's/ since learning began: 0/: not counted in this build/' "$run/log.txt" >"$run/log" && mv "$run/log" "$run/log.txt"
  judge
  expect_code 0
  expect_said "not counted in this build"
}

ARunWithoutASummaryIsBroken() {
  write_rows
  echo "2026-01-01 12:00:00.000 info: run folder somewhere" >"$run/log.txt"
  judge
  expect_code 1
  expect_said "broken: the log does not say how many heap blocks were taken: did the run end?"
}

JudgesSlownessOnlyWhenStrict() {
  median='step > 89000 ? 100 : 80'
  write_rows
  write_log 0
  judge
  expect_code 0
  expect_said "80.0 us in the first tenth of learning, 100.0 us in the last (ratio 1.250"
  judge --strict
  expect_code 1
  expect_said "broken: the median step of the last tenth is 1.250 of the first tenth"
  # Faster is not flat either.
  median='step > 89000 ? 60 : 80'
  write_rows
  judge --strict
  expect_code 1
  expect_said 0.750
}

JudgesWarningsOnlyWhenStrict() {
  write_rows
  write_log 0 '2026-01-01 12:00:05.000 warning: watchdog, step 500: the phase "game" has become slow'
  judge
  expect_code 0
  expect_said "watchdog: 1 warning"
  expect_said 'the phase "game" has become slow'
  judge --strict
  expect_code 1
  expect_said "broken: 1 warnings of the watchdog"
}

WeighsEpisodesByTheirLength() {
  # Of every four episodes three are short and quick, but most steps are in the fourth.
  length='(episode % 4 == 0 ? 170 : 10)'
  median='(episode % 4 == 0 ? 80 : 40)'
  write_rows
  write_log 0
  judge
  expect_code 0
  expect_said "median step: 80.0 us in the first tenth of learning, 80.0 us in the last"
}

LeavesOutWhatCameBeforeLearning() {
  collecting=30000
  write_rows
  write_log 0
  judge
  expect_code 0
  expect_said "median step: 80.0 us in the first tenth of learning, 80.0 us in the last"
}

NamesTheWorstStep() {
  longest='step == 70000 ? 12345 : 900'
  write_rows
  write_log 0
  judge
  expect_said "worst step: 12345.0 us, in the episode that ended at step 70000"
}

TooShortARunIsBroken() {
  write_rows
  write_log 0
  judge --warmup 100000
  expect_code 1
  expect_said "broken: fewer than two episodes of learning after the warm-up of 100000 steps"
}

RefusesAFolderWithoutARun() {
  judge
  expect_code 1
  expect_said "soak: no $run/episodes.csv"
}

# Stands for the program: it notes its arguments, and its run is the one made here.
write_program() {
  write_rows
  write_log 0
  {
    echo '#!/usr/bin/env bash'
    echo "echo \"\$*\" >'$work/arguments'"
    # shellcheck disable=SC2016
    echo 'while [ "$1" != --run ]; do shift; done'
    echo "cp -R '$run' \"\$2\""
  } >"$work/program"
  chmod +x "$work/program"
}

JudgesTheRunThatItMade() {
  write_program
  code=0
  said=$(cd "$work" && "$soak" --short --metronome "$work/program" --seed 3 2>&1) || code=$?
  expect_code 0
  expect_said flat
  said=$(cat "$work/arguments")
  expect_said "configs/soak.toml --steps 100000 --run runs/soak-1 --seed 3"
  # The next one has a folder of its own, and a broken limit is a failure.
  memory='step'
  write_program
  said=$(cd "$work" && "$soak" --short --metronome "$work/program" 2>&1) || code=$?
  expect_code 1
  [ -d "$work/runs/soak-2" ] || fail "Expected runs/soak-2"
}

AsksTheWholeFormForItsEpisodes() {
  write_program
  code=0
  said=$(cd "$work" && "$soak" --metronome "$work/program" 2>&1) || code=$?
  expect_code 1
  expect_said "broken: the last episode ended at step 100000, before 1999800"
  expect_said "broken: 1000 episodes, fewer than 5000"
}

# write_stoppable_program WEIGHTS: a program that is stopped in a run of the name *-stopped, and goes on with it to
# these weights; those of the run that is not stopped are "weights".
write_stoppable_program() {
  write_rows
  write_log 0
  mkdir -p "$run/checkpoints/100000" "$run/checkpoints/best" "$run/recordings"
  for file in evals.csv checkpoints/100000/{state.json,replay-0.segment} checkpoints/best/weights.safetensors \
    recordings/best.recording; do
    echo same >"$run/$file"
  done
  echo weights >"$run/checkpoints/100000/weights.safetensors"
  cat >"$work/program" <<END
#!/usr/bin/env bash
case "\$*" in
  *--resume*)
    echo "\$*" >>'$work/resumed'
    echo '$1' >"\$3/checkpoints/100000/weights.safetensors"
    exit 0
    ;;
esac
while [ "\$1" != --run ]; do shift; done
cp -R '$run' "\$2"
case "\$2" in *-stopped) exit 143 ;; esac
END
  chmod +x "$work/program"
}

SameRunAlthoughItWasStopped() {
  write_stoppable_program weights
  code=0
  said=$(cd "$work" && "$soak" --short --stops 1 --metronome "$work/program" --seed 3 2>&1) || code=$?
  expect_code 0
  expect_said "stopped and gone on with 1 times: the same run to the last bit"
  said=$(cat "$work/resumed")
  expect_said "train --resume runs/soak-1-stopped --steps 100000 --seed 3"
}

AnotherRunWhenStoppedIsBroken() {
  write_stoppable_program others
  code=0
  said=$(cd "$work" && "$soak" --short --stops 1 --metronome "$work/program" 2>&1) || code=$?
  expect_code 1
  expect_said "broken: stopped 1 times, runs/soak-1-stopped is not the run that runs/soak-1 is"
}

"$1"
