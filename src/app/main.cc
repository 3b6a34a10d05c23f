// Reads the command line with CLI11, runs one command, and turns every error into one line and its exit code.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "app/show.h"
#include "metronome/core/error.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

/// One line on standard error, whatever the message holds.
void PrintError(const std::string& message) {
  std::string line = "metronome: ";
  for (const char character : message) {
    const auto byte = static_cast<unsigned char>(character);
    line += character == '\n' ? ' ' : byte < 0x20 || byte == 0x7f ? '?' : character;
  }
  std::cerr << line << std::endl;
}

/// What a flag was given; empty when it wasn't there.
std::optional<std::string> Given(const CLI::Option* option) {
  return option->count() > 0 ? std::optional(option->results().front()) : std::nullopt;
}

/// All that a flag was given, in order.
std::vector<std::string> AllGiven(const CLI::Option* option) {
  return option->count() > 0 ? option->results() : std::vector<std::string>();
}

/// One value each time it is given, and as often as one likes.
CLI::Option* AddRepeated(CLI::App* command, const std::string& name, const std::string& type,
                         const std::string& what) {
  return command->add_option(name, what)
      ->type_name(type)
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* AddSet(CLI::App* command, const std::string& what) {
  return AddRepeated(command, "--set", "SECTION.KEY=VALUE", what);
}

CLI::Option* AddFlag(CLI::App* command, const std::string& name, const std::string& type,
                     const std::string& what) {
  return command->add_option(name, what)->type_name(type)->type_size(1)->expected(1);
}

/// A flag without a value.
CLI::Option* AddSwitch(CLI::App* command, const std::string& name, const std::string& what) {
  return command->add_flag(name, what);
}

/// Refuses what no option or argument of the command took, naming the nearest option.
void RefuseExtras(const CLI::App& command, const std::string& name) {
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) {
    return;
  }
  const std::string& extra = extras.front();
  const std::string prefix = name.empty() ? "" : name + ": ";
  if (extra.size() < 2 || extra.front() != '-') {
    throw Error(ExitCode::kUsage, prefix + "unexpected argument \"" + extra + "\"");
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& long_name : option->get_lnames()) {
      known.push_back("--" + long_name);
    }
  }
  const std::string given = extra.substr(0, extra.find('='));
  throw Error(ExitCode::kUsage,
              prefix + "unknown option " + given + "; did you mean " + NearestName(given, known) + "?");
}
int Run(int argc, char** argv) {
  CLI::App app("Trains a deep Q-network to play a 2D game, and keeps perfect time while it does.",
               "metronome");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.footer(
      "Example:\n  metronome train --config configs/racer.toml\n\n`metronome COMMAND --help` explains one "
      "command.");
  const CLI::Option* const version =
      AddSwitch(&app, "--version", "Print the version, libtorch, BLAS and the devices found");

  std::vector<CLI::App*> commands;
  const auto add_command = [&](const std::string& name, const std::string& what, const std::string& example) {
    CLI::App* const command = app.add_subcommand(name, what);
    command->set_help_flag("-h,--help", "Print this help");
    command->allow_extras();
    command->footer("Example:\n  " + example);
    commands.push_back(command);
    return command;
  };

  CLI::App* const train =
      add_command("train", "Train an agent: a new run in a new folder",
                  "metronome train --config configs/racer.toml --set learner.learning_rate=1e-3 --seed 3\n"
                  "  metronome train --resume runs/racer-1 --steps 500000\n"
                  "  metronome train --config configs/cartpole.toml --seeds 1..10");
  const CLI::Option* const train_config =
      AddFlag(train, "--config", "FILE", "The run's configuration (TOML)");
  const CLI::Option* const train_set = AddSet(train, "Set one key; goes over the file; may be repeated");
  const CLI::Option* const train_run =
      AddFlag(train, "--run", "DIR", "The run's folder, which must not exist; default runs/<game>-<n>");
  const CLI::Option* const train_resume =
      AddFlag(train, "--resume", "DIR",
              "Go on with the run in DIR from its newest good checkpoint; --steps raises the total");
  const CLI::Option* const train_steps = AddFlag(train, "--steps", "N", "Stands for train.steps");
  const CLI::Option* const train_seed = AddFlag(train, "--seed", "N", "Stands for train.seed");
  const CLI::Option* const train_device =
      AddFlag(train, "--device", "auto|cpu|mps|cuda", "Stands for device.name");
  const CLI::Option* const train_threads = AddFlag(train, "--threads", "N", "Stands for device.threads");

  const CLI::Option* const train_seeds =
      AddFlag(train, "--seeds", "A..B|A,B,C",
              "A run for each of these seeds, side by side, and what they reach together");
  const CLI::Option* const train_jobs =
      AddFlag(train, "--jobs", "N", "With --seeds: runs at once; default as many as there are cores for");
  const CLI::Option* const train_log_level =
      AddFlag(train, "--log-level", "debug|info|warning|error", "Messages on the terminal; default info");
  const CLI::Option* const train_quiet =
      AddSwitch(train, "--quiet", "No live line, and no messages but warnings: --log-level warning");

  CLI::App* const eval = add_command("eval", "Play greedily without a window, and print what was reached",
                                     "metronome eval runs/racer-1 --episodes 100\n"
                                     "  metronome eval racer --policy scripted");
  const CLI::Option* const eval_target =
      eval->add_option("PATH|GAME",
                       "A run folder (its best checkpoint, else its newest) or a checkpoint; with "
                       "--policy, a game")
          ->type_name("")
          ->required();
  const CLI::Option* const eval_policy =
      AddFlag(eval, "--policy", "random|scripted", "Play a game without a network");
  const CLI::Option* const eval_set = AddSet(eval, "With --policy: one setting of the game; may be repeated");
  const CLI::Option* const eval_episodes = AddFlag(eval, "--episodes", "N", "Episodes to play; default 20");
  const CLI::Option* const eval_seed = AddFlag(eval, "--seed", "N", "Seed of the episodes; default 1");
  const CLI::Option* const eval_epsilon =
      AddFlag(eval, "--epsilon", "E", "Share of random actions, 0 to 1; default 0");
  const CLI::Option* const eval_json = AddSwitch(eval, "--json", "Print one JSON object instead of text");

  CLI::App* const q = add_command("q", "Print what a trained network thinks of an observation: its Q-values",
                                  "metronome q runs/cartpole-1 --observation \"0.1, 0, -0.02, 0\" --json\n"
                                  "  metronome q runs/cartpole-1 --observation @observation.txt");
  const CLI::Option* const q_target =
      q->add_option("PATH", "A run folder (its best checkpoint, else its newest) or a checkpoint")
          ->type_name("")
          ->required();
  const CLI::Option* const q_observation =
      AddRepeated(q, "--observation", "NUMBERS|@FILE",
                  "All numbers of an observation, in the order of `metronome games NAME`; may be repeated")
          ->required();
  const CLI::Option* const q_json = AddSwitch(q, "--json", "Print one JSON object instead of text");

  CLI::App* const watch = add_command("watch", "Watch an agent play, in a window or as a film",
                                      "metronome watch runs/racer-1\n"
                                      "  metronome watch runs/racer-1 --follow --speed 4\n"
                                      "  metronome watch runs/racer-1/recordings/best.recording\n"
                                      "  metronome watch racer --policy scripted --record racer.mp4\n\n"
                                      "In the window H shows the keys.");
  const CLI::Option* const watch_target =
      watch
          ->add_option(
              "PATH|GAME",
              "A run folder (its best checkpoint, else its newest), a checkpoint or a recording; with "
              "--policy, a game")
          ->type_name("")
          ->required();
  const CLI::Option* const watch_policy =
      AddFlag(watch, "--policy", "random|scripted", "Watch a game without a network");
  const CLI::Option* const watch_set =
      AddSet(watch, "With --policy: one setting of the game; may be repeated");
  const CLI::Option* const watch_episodes =
      AddFlag(watch, "--episodes", "N", "End after so many; default none, of a film 1");
  const CLI::Option* const watch_speed =
      AddFlag(watch, "--speed", "X|fastest", "Times the game's own pace, 0.1 to 1000; default 1");
  const CLI::Option* const watch_seed =
      AddFlag(watch, "--seed", "N", "Seed of the episodes; default 1, the episodes of eval");
  const CLI::Option* const watch_epsilon =
      AddFlag(watch, "--epsilon", "E", "Share of random actions, 0 to 1; default 0");
  const CLI::Option* const watch_follow = AddSwitch(
      watch, "--follow", "Each new episode takes the newest checkpoint of a run that is still training");
  const CLI::Option* const watch_record =
      AddFlag(watch, "--record", "FILE",
              "No window: film to FILE.mp4 or FILE.gif (by ffmpeg), or to a folder of PNG");
  const CLI::Option* const watch_size =
      AddFlag(watch, "--size", "WIDTHxHEIGHT", "Of the window or film; default 1280x800");
  const CLI::Option* const watch_whole =
      AddSwitch(watch, "--whole", "Begin with the whole picture, not the close-up");
  const CLI::Option* const watch_senses = AddSwitch(watch, "--senses", "Begin with what the player senses");

  CLI::App* const play = add_command("play", "Play a game with the keyboard",
                                     "metronome play racer --set game.grip=6\n\n"
                                     "In the window H shows the keys.");
  const CLI::Option* const play_game =
      play->add_option("GAME", "A game, as metronome games lists them")->type_name("")->required();
  const CLI::Option* const play_set = AddSet(play, "One setting of the game; may be repeated");
  const CLI::Option* const play_seed =
      AddFlag(play, "--seed", "N", "Seed of the episodes; default another each time");
  const CLI::Option* const play_size =
      AddFlag(play, "--size", "WIDTHxHEIGHT", "Of the window; default 1280x800");

  CLI::App* const bench = add_command("bench", "Measure how fast this machine trains",
                                      "metronome bench --config configs/racer.toml --json");
  const CLI::Option* const bench_config =
      AddFlag(bench, "--config", "FILE", "What to measure; default a cartpole run");
  const CLI::Option* const bench_set = AddSet(bench, "Set one key; goes over the file; may be repeated");
  const CLI::Option* const bench_json = AddSwitch(bench, "--json", "Print one JSON object instead of text");

  CLI::App* const games = add_command("games", "List the games, or all about one", "metronome games racer");
  const CLI::Option* const games_name = games->add_option("NAME", "One game")->type_name("");

  CLI::App* const config = add_command("config", "Print the effective configuration as TOML, explained",
                                       "metronome config --config configs/racer.toml --set learner.loss=mse");
  const CLI::Option* const config_config = AddFlag(config, "--config", "FILE", "A configuration (TOML)");
  const CLI::Option* const config_set = AddSet(config, "Set one key; goes over the file; may be repeated");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error, std::cout, std::cerr);  // --help
    }
    const std::vector<CLI::App*> parsed = app.get_subcommands();
    throw Error(ExitCode::kUsage, (parsed.empty() ? "" : parsed.front()->get_name() + ": ") + error.what());
  }
  for (const CLI::App* command : commands) {
    if (command->parsed()) {
      RefuseExtras(*command, command->get_name());
    }
  }
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty() && !extras.front().starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands) {
      names.push_back(command->get_name());
    }
    throw Error(ExitCode::kUsage, "unknown command \"" + extras.front() + "\"; did you mean " +
                                      NearestName(extras.front(), names) + "?");
  }
  RefuseExtras(app, "");

  if (version->count() > 0) {
    return RunVersion();
  }
  if (train->parsed()) {
    TrainOptions options;
    options.config.config = Given(train_config);
    options.config.set = AllGiven(train_set);
    options.config.steps = Given(train_steps);
    options.config.seed = Given(train_seed);
    options.config.device = Given(train_device);
    options.config.threads = Given(train_threads);
    options.run = Given(train_run);
    options.resume = Given(train_resume);
    options.seeds = Given(train_seeds);
    options.jobs = Given(train_jobs);
    options.log_level = Given(train_log_level);
    options.quiet = train_quiet->count() > 0;
    return RunTrain(options);
  }
  if (eval->parsed()) {
    return RunEval({.target = *Given(eval_target),
                    .policy = Given(eval_policy),
                    .set = AllGiven(eval_set),
                    .episodes = Given(eval_episodes),
                    .seed = Given(eval_seed),
                    .epsilon = Given(eval_epsilon),
                    .json = eval_json->count() > 0});
  }
  if (q->parsed()) {
    return RunQ(
        {.target = *Given(q_target), .observations = AllGiven(q_observation), .json = q_json->count() > 0});
  }
  if (watch->parsed()) {
    return RunWatch({.target = *Given(watch_target),
                     .policy = Given(watch_policy),
                     .set = AllGiven(watch_set),
                     .episodes = Given(watch_episodes),
                     .speed = Given(watch_speed),
                     .seed = Given(watch_seed),
                     .epsilon = Given(watch_epsilon),
                     .record = Given(watch_record),
                     .size = Given(watch_size),
                     .follow = watch_follow->count() > 0,
                     .whole = watch_whole->count() > 0,
                     .senses = watch_senses->count() > 0});
  }
  if (play->parsed()) {
    return RunPlay({.game = *Given(play_game),
                    .set = AllGiven(play_set),
                    .seed = Given(play_seed),
                    .size = Given(play_size)});
  }
  if (bench->parsed()) {
    return RunBench(
        {.config = Given(bench_config), .set = AllGiven(bench_set), .json = bench_json->count() > 0});
  }
  if (games->parsed()) {
    return RunGames(Given(games_name));
  }
  if (config->parsed()) {
    ConfigOptions options;
    options.config = Given(config_config);
    options.set = AllGiven(config_set);
    return RunConfigCommand(options);
  }
  throw Error(ExitCode::kUsage, "no command given; see metronome --help");
}

/// What was printed must have arrived: a full disk or a closed pipe is an error, not silence.
void FlushOutput() {
  std::cout.flush();
  if (!std::cout || std::ferror(stdout) != 0) {
    throw Error(ExitCode::kInputOutput, "standard output can't be written");
  }
}

int Main(int argc, char** argv) {
  // A reader that goes away should be told about, not end the program unseen.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that may not grow any longer: the write fails, and is told.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = Run(argc, argv);
    FlushOutput();
    return code;
  } catch (const Error& error) {
    PrintError(error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    PrintError("out of memory");
    return static_cast<int>(ExitCode::kInputOutput);
  } catch (const std::exception& error) {
    PrintError(error.what());
    return static_cast<int>(ExitCode::kInputOutput);
  }
}

}  // namespace
}  // namespace metronome

int main(int argc, char** argv) { return metronome::Main(argc, argv); }
