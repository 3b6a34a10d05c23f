#ifndef METRONOME_APP_COMMANDS_H_
#define METRONOME_APP_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/effective_config.h"

namespace metronome {

/// What the commands get from the command line, as text and not yet judged: the flags that share the
/// configuration's table are checked by it, and with the same messages. Each Run...() returns the exit code,
/// and throws Error for a mistake.

/// The flags that make up a configuration.
struct ConfigOptions {
  std::optional<std::string> config;
  std::vector<std::string> set;
  std::optional<std::string> steps;
  std::optional<std::string> seed;
  std::optional<std::string> device;
  std::optional<std::string> threads;
};

/// Reads and checks everything that `options` names. Without --config, `default_text` stands for the file.
EffectiveConfig LoadConfig(const ConfigOptions& options, const std::string& default_text = "");

struct TrainOptions {
  ConfigOptions config;
  std::optional<std::string> run;
  std::optional<std::string> resume;  ///< The folder of the run to go on with; then `run` is refused.
  std::optional<std::string> seeds;
  std::optional<std::string> jobs;  ///< Goes with seeds.
  std::optional<std::string> log_level;
  bool quiet = false;  ///< Stands for log_level warning.
};
int RunTrain(const TrainOptions& options);

struct EvalOptions {
  std::string target;  ///< A run folder or checkpoint; with `policy`, a game.
  std::optional<std::string> policy;
  std::vector<std::string> set;
  std::optional<std::string> episodes;
  std::optional<std::string> seed;
  std::optional<std::string> epsilon;
  bool json = false;
};
int RunEval(const EvalOptions& options);

struct QOptions {
  std::string target;                     ///< A run folder or checkpoint.
  std::vector<std::string> observations;  ///< At least one.
  bool json = false;
};
int RunQ(const QOptions& options);

struct BenchOptions {
  std::optional<std::string> config;
  std::vector<std::string> set;
  bool json = false;
};
int RunBench(const BenchOptions& options);

int RunGames(const std::optional<std::string>& name);

int RunConfigCommand(const ConfigOptions& options);

int RunVersion();

/// The integer that a flag was given. Throws Error (kUsage) for anything else, or out of [low, high].
std::int64_t ParseIntegerFlag(const std::string& flag, const std::string& text, std::int64_t low,
                              std::int64_t high);
/// The same for a number.
double ParseNumberFlag(const std::string& flag, const std::string& text, double low, double high);

}  // namespace metronome

#endif  // METRONOME_APP_COMMANDS_H_
