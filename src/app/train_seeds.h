#ifndef METRONOME_APP_TRAIN_SEEDS_H_
#define METRONOME_APP_TRAIN_SEEDS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/commands.h"

namespace metronome {

/// Many runs of one configuration that differ in their seed, side by side: each a process of its own in a
/// folder of its own. The set's folder holds
///   config.toml      the configuration of all
///   seeds.json       the seeds, and the threads of each run
///   seed-<n>/        the runs
///   log.txt          what was said of them
///   seeds.csv        when all have ended, a row a run: seed,steps,best_mean,best_step,wall_s,exit_code
///   aggregate.json   and what they reached together

/// `metronome train --seeds`. The exit code: 0, 128 + n where signal n stopped them, else that of the first
/// run that failed; the others go on meanwhile.
int TrainSeeds(const TrainOptions& options);

/// Goes on with the set in `folder`: with runs that have not ended, and those that have not begun. Takes
/// --steps and --set as a run does.
int ResumeSeeds(const TrainOptions& options, const std::filesystem::path& folder);

/// Whether the folder holds a set.
bool IsSeedSet(const std::filesystem::path& folder);

/// "1..10", "1,3,7" or both. Throws Error (kUsage) for anything else, a seed twice, or more than 1,000.
std::vector<std::int64_t> ParseSeeds(const std::string& text);

}  // namespace metronome

#endif  // METRONOME_APP_TRAIN_SEEDS_H_
