#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "metronome/core/allocation_counter.h"
#include "metronome/core/clock.h"
#include "metronome/core/error.h"
#include "metronome/core/hash.h"
#include "metronome/core/histogram.h"
#include "metronome/core/rng.h"
#include "metronome/core/text.h"
#include "metronome/games/time_limit.h"
#include "metronome/learner/device.h"
#include "metronome/learner/learner.h"
#include "train/trainer.h"

namespace metronome {
namespace {

// Long enough for a steady median, short enough to be run often.
constexpr std::int64_t kWarmUpNanoseconds = 200'000'000;
constexpr std::int64_t kMeasureNanoseconds = 1'000'000'000;
constexpr int kGameChunks = 20;
constexpr int kStepsPerChunk = 25'000;
constexpr int kCountedSteps = 2'000;
constexpr std::uint64_t kSeed = 1;

struct GameRate {
  std::string name;
  double steps_per_second = 0.0;  // the median over the chunks
  std::uint64_t hash = 0;         // of what was simulated: states, observations, rewards
};

struct Timing {
  double median_us = 0.0;
  double p99_us = 0.0;
  double per_second = 0.0;
};

/// A step of the learner alone, an update and an act, on one device.
struct DeviceRate {
  std::string name;   // "cpu, generic"
  std::string fault;  // why there is no rate, or ""
  Timing step;
  double uploads = 0.0;     // a step
  double read_backs = 0.0;  // a step
};

struct Report {
  std::vector<GameRate> games;
  GameRate configured_game;
  std::uint64_t hash = 0;  // over all games
  std::string device;
  Timing act;
  Timing sample;
  Timing update;
  Timing step;
  PhaseTimes phases;  // of the measured steps together
  std::int64_t steps = 0;
  std::optional<double> allocations_per_step;
  std::optional<double> allocated_bytes_per_step;
  Timing static_update;
  Timing autograd_update;
  double checks_us = 0.0;  // that a step's numbers are finite
  std::vector<DeviceRate> devices;
  int threads = 1;
  double flops_per_update = 0.0;
  double peak_flops = 0.0;  // of a large matrix product with these threads
  double arithmetic_us() const { return 1e6 * flops_per_update / peak_flops; }
};

/// Random actions, headless, the observation written at every step.
GameRate MeasureGame(const GameConfig& config) {
  TimeLimit environment(config);
  const GameSpec& spec = environment.game().spec();
  std::vector<float> observation(static_cast<std::size_t>(spec.observation.size()));
  Rng actions(kSeed, "bench actions");
  Rng seeds(kSeed, "bench seeds");
  StateHasher hasher;
  std::vector<double> rates;
  environment.Reset(seeds.NextBits());
  for (int chunk = 0; chunk < kGameChunks; ++chunk) {
    double reward = 0.0;
    const std::int64_t start = MonotonicNanoseconds();
    for (int i = 0; i < kStepsPerChunk; ++i) {
      const EpisodeStep step = environment.Step(static_cast<int>(actions.UniformInt(spec.num_actions())));
      environment.game().WriteObservation(observation);
      reward += static_cast<double>(step.reward);
      if (step.ended()) {
        environment.Reset(seeds.NextBits());
        environment.game().WriteObservation(observation);
      }
    }
    const auto nanoseconds = static_cast<double>(MonotonicNanoseconds() - start);
    rates.push_back(kStepsPerChunk * 1e9 / nanoseconds);
    hasher.Add(environment.game().StateHash()).Add(reward);
    for (const float value : observation) {
      hasher.Add(value);
    }
  }
  std::nth_element(rates.begin(), rates.begin() + kGameChunks / 2, rates.end());
  return {config.name, rates[kGameChunks / 2], hasher.value()};
}

Timing TimingOf(const DurationHistogram& durations) {
  return {durations.QuantileNanoseconds(0.5) / 1e3, durations.QuantileNanoseconds(0.99) / 1e3,
          static_cast<double>(durations.count()) * 1e9 / static_cast<double>(durations.total_nanoseconds())};
}

/// Repeats `work` until it is warm, and then measures each repetition.
Timing Measure(const std::function<void()>& work) {
  const auto repeat = [&work](std::int64_t nanoseconds, DurationHistogram& durations) {
    const std::int64_t start = MonotonicNanoseconds();
    for (std::int64_t now = start; now - start < nanoseconds;) {
      work();
      const std::int64_t end = MonotonicNanoseconds();
      durations.Add(end - now);
      now = end;
    }
  };
  const auto durations = std::make_unique<DurationHistogram>();
  repeat(kWarmUpNanoseconds, *durations);
  durations->Clear();
  repeat(kMeasureNanoseconds, *durations);
  return TimingOf(*durations);
}

Timing MeasureUpdates(const NetworkSpec& network, LearnerConfig learner_config, const DeviceConfig& device,
                      Engine engine, const ReplayBuffer& replay) {
  learner_config.engine = engine;
  learner_config.ops = Ops::kAuto;
  Rng weights(kSeed, "weights");
  const std::unique_ptr<Learner> learner =
      MakeLearner(network, learner_config, {"cpu", device.threads}, weights);
  Rng sampling(kSeed, "bench sampling");
  replay.Sample(sampling, learner->batch());
  return Measure([&learner] { learner->Update(); });
}

/// The static engine on every device found, and with both kinds of ops on the processor.
std::vector<DeviceRate> MeasureDevices(const NetworkSpec& network, LearnerConfig learner_config, int threads,
                                       const ReplayBuffer& replay) {
  learner_config.engine = Engine::kStatic;
  std::vector<DeviceRate> rates;
  for (const std::string& device : DevicesFound()) {
    for (const Ops ops : {Ops::kFused, Ops::kGeneric}) {
      if (ops == Ops::kFused && device != "cpu") continue;
      learner_config.ops = ops;
      DeviceRate rate;
      rate.name = DeviceDescription(device) + (ops == Ops::kFused ? ", fused" : ", generic");
      try {
        Rng weights(kSeed, "weights");
        const std::unique_ptr<Learner> learner =
            MakeLearner(network, learner_config, {device, threads}, weights);
        Rng sampling(kSeed, "bench sampling");
        replay.Sample(sampling, learner->batch());
        const std::size_t size = learner->batch().observations.size() / learner->batch().rewards.size();
        const std::vector<float> observation(size, 0.5f);
        std::vector<float> q_values(static_cast<std::size_t>(network.num_actions));
        const TransferCounts before = learner->transfers();
        const std::int64_t updates = learner->updates();
        rate.step = Measure([&] { learner->UpdateAndQValues(observation, q_values); });
        const auto steps = static_cast<double>(learner->updates() - updates);
        rate.uploads = static_cast<double>(learner->transfers().uploads - before.uploads) / steps;
        rate.read_backs = static_cast<double>(learner->transfers().read_backs - before.read_backs) / steps;
      } catch (const Error& error) {
        rate.fault = error.what();
      }
      rates.push_back(std::move(rate));
    }
  }
  return rates;
}

void MeasureSteps(Trainer& trainer, Report& report) {
  const auto durations = std::make_unique<DurationHistogram>();
  for (const std::int64_t nanoseconds : {kWarmUpNanoseconds, kMeasureNanoseconds}) {
    durations->Clear();
    report.phases = {};
    report.steps = 0;
    const std::int64_t start = MonotonicNanoseconds();
    while (MonotonicNanoseconds() - start < nanoseconds) {
      const PhaseTimes times = trainer.Step().times;
      durations->Add(times.total);
      report.phases.game += times.game;
      report.phases.act += times.act;
      report.phases.replay += times.replay;
      report.phases.update += times.update;
      report.phases.total += times.total;
      ++report.steps;
    }
  }
  report.step = TimingOf(*durations);

  const AllocationScope scope;
  for (int i = 0; i < kCountedSteps; ++i) {
    trainer.Step();
  }
  const std::int64_t count = scope.count();
  const std::int64_t bytes = scope.bytes();
  if (AllocationScope::supported()) {
    report.allocations_per_step = static_cast<double>(count) / kCountedSteps;
    report.allocated_bytes_per_step = static_cast<double>(bytes) / kCountedSteps;
  }
}

Report MeasureAll(RunConfig config) {
  Report report;
  StateHasher hasher;
  for (const GameInfo& info : Games()) {
    report.games.push_back(MeasureGame(MakeGameConfig(info.name)));
    hasher.Add(report.games.back().hash);
  }
  report.hash = hasher.value();
  report.configured_game = MeasureGame(config.game);

  // As late in a run: the network chooses most actions.
  config.exploration.epsilon_start = config.exploration.epsilon_end;
  Trainer trainer(config);
  while (trainer.replay().size() < config.replay.warmup) {
    trainer.Step();
  }
  report.device = trainer.learner().description();
  MeasureSteps(trainer, report);

  Learner& learner = trainer.learner();
  Rng sampling(kSeed, "bench sampling");
  report.sample = Measure([&] { trainer.replay().Sample(sampling, learner.batch()); });
  const auto observation_size = static_cast<std::size_t>(trainer.game_spec().observation.size());
  const std::span<const float> observation = learner.batch().observations.first(observation_size);
  std::vector<float> q_values(static_cast<std::size_t>(trainer.game_spec().num_actions()));
  report.act = Measure([&] { learner.QValues(observation, q_values); });
  report.update = Measure([&learner] { learner.Update(); });
  const UpdateResult result = learner.Update();
  constexpr int kChecks = 1000;  // one alone is shorter than a look at the clock
  report.checks_us = Measure([&] {
                       for (int i = 0; i < kChecks; ++i) trainer.CheckNumbers(1.0f, result);
                     }).median_us /
                     kChecks;

  const NetworkSpec& network = trainer.network_spec();
  report.threads = learner.threads();
  report.flops_per_update = UpdateFlops(network, config.learner);
  report.peak_flops = MeasurePeakFlops(report.threads);
  report.static_update =
      MeasureUpdates(network, config.learner, config.device, Engine::kStatic, trainer.replay());
  report.autograd_update =
      MeasureUpdates(network, config.learner, config.device, Engine::kAutograd, trainer.replay());
  report.devices = MeasureDevices(network, config.learner, report.threads, trainer.replay());
  return report;
}

std::string Describe(const RunConfig& config) {
  std::string text = config.game.name;
  if (!config.network.conv.empty()) {
    text += ", conv [";
    for (std::size_t i = 0; i < config.network.conv.size(); ++i) {
      const auto& [filters, kernel, stride] = config.network.conv[i];
      text += (i == 0 ? "[" : ", [") + std::to_string(filters) + ", " + std::to_string(kernel) + ", " +
              std::to_string(stride) + "]";
    }
    text += "]";
  }
  text += ", hidden [";
  for (std::size_t i = 0; i < config.network.hidden.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(config.network.hidden[i]);
  }
  return text + "], batch " + std::to_string(config.learner.batch_size) + ", " +
         std::to_string(config.train.updates_per_period) + " updates every " +
         std::to_string(config.train.update_period) + " steps, engine " +
         (config.learner.engine == Engine::kStatic ? "static" : "autograd");
}

void PrintTiming(const std::string& name, const Timing& timing) {
  std::printf("  %-8s  median %8.2f us   p99 %8.2f us   %10.0f /s\n", name.c_str(), timing.median_us,
              timing.p99_us, timing.per_second);
}

double Share(std::int64_t part, const PhaseTimes& phases) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(phases.total);
}

void PrintText(const RunConfig& config, const Report& report) {
  std::printf("metronome %s, %s build\n", METRONOME_VERSION, METRONOME_BUILD_TYPE);
  std::printf("\ngames: random actions, observation written at each step\n");
  for (const GameRate& game : report.games) {
    std::printf("  %-16s %12.0f steps/s\n", game.name.c_str(), game.steps_per_second);
  }
  std::printf("\nlearning: %s; %s\n", Describe(config).c_str(), report.device.c_str());
  std::printf("  %-8s  %32s   %10.0f /s\n", "game", "", report.configured_game.steps_per_second);
  PrintTiming("act", report.act);
  PrintTiming("sample", report.sample);
  PrintTiming("update", report.update);
  PrintTiming("step", report.step);
  std::printf(
      "  arithmetic alone: %.1f us (%.1f MFLOP an update at %.1f GFLOP/s, a large matrix product with %d "
      "thread%s); the update takes %.2f times as long\n",
      report.arithmetic_us(), report.flops_per_update * 1e-6, report.peak_flops * 1e-9, report.threads,
      report.threads == 1 ? "" : "s", report.update.median_us / report.arithmetic_us());
  std::printf("  a step is %.1f%% game, %.1f%% act, %.1f%% replay, %.1f%% update\n",
              Share(report.phases.game, report.phases), Share(report.phases.act, report.phases),
              Share(report.phases.replay, report.phases), Share(report.phases.update, report.phases));
  // Of the mean step: where an update is due only every few steps, the median is that of a step without one.
  std::printf("  checks for numbers that are not finite: %.4f us a step, %.3f%% of it\n", report.checks_us,
              1e-4 * report.checks_us * report.step.per_second);
  std::printf("  allocations a step: %s\n",
              report.allocations_per_step ? (FormatFixed(*report.allocations_per_step, 3) + " (" +
                                             FormatFixed(*report.allocated_bytes_per_step, 0) + " bytes)")
                                                .c_str()
                                          : "unknown in this build");
  std::printf("  autograd engine: update median %.2f us, %.2f times the static engine's %.2f us\n",
              report.autograd_update.median_us,
              report.autograd_update.median_us / report.static_update.median_us,
              report.static_update.median_us);
  std::printf("\ndevices: an update and an act at once, by the static engine\n");
  for (const DeviceRate& rate : report.devices) {
    if (rate.fault.empty()) {
      std::printf("  %-24s  median %8.2f us   p99 %8.2f us   %10.0f /s   %.2f uploads, %.2f read-backs\n",
                  rate.name.c_str(), rate.step.median_us, rate.step.p99_us, rate.step.per_second,
                  rate.uploads, rate.read_backs);
    } else {
      std::printf("  %-24s  %s\n", rate.name.c_str(), rate.fault.c_str());
    }
  }
  std::printf("\nhash of everything simulated: %s\n", FormatHexadecimal(report.hash).c_str());
}

nlohmann::ordered_json ToJson(const Timing& timing) {
  return {{"median_us", timing.median_us}, {"p99_us", timing.p99_us}, {"per_second", timing.per_second}};
}

void PrintJson(const RunConfig& config, const Report& report) {
  nlohmann::ordered_json json;
  json["version"] = METRONOME_VERSION;
  json["build"] = METRONOME_BUILD_TYPE;
  for (const GameRate& game : report.games) {
    json["games"][game.name] = {{"steps_per_second", game.steps_per_second},
                                {"hash", FormatHexadecimal(game.hash)}};
  }
  json["hash"] = FormatHexadecimal(report.hash);
  nlohmann::ordered_json& learning = json["learning"];
  learning["game"] = config.game.name;
  learning["conv"] = config.network.conv;
  learning["hidden"] = config.network.hidden;
  learning["batch_size"] = config.learner.batch_size;
  learning["update_period"] = config.train.update_period;
  learning["updates_per_period"] = config.train.updates_per_period;
  learning["engine"] = config.learner.engine == Engine::kStatic ? "static" : "autograd";
  learning["device"] = report.device;
  learning["game_steps_per_second"] = report.configured_game.steps_per_second;
  learning["act"] = ToJson(report.act);
  learning["sample"] = ToJson(report.sample);
  learning["update"] = ToJson(report.update);
  learning["step"] = ToJson(report.step);
  learning["threads"] = report.threads;
  learning["flops_per_update"] = report.flops_per_update;
  learning["peak_flops"] = report.peak_flops;
  learning["arithmetic_us"] = report.arithmetic_us();
  learning["update_over_arithmetic"] = report.update.median_us / report.arithmetic_us();
  learning["step_percent"] = {{"game", Share(report.phases.game, report.phases)},
                              {"act", Share(report.phases.act, report.phases)},
                              {"replay", Share(report.phases.replay, report.phases)},
                              {"update", Share(report.phases.update, report.phases)}};
  learning["checks_us"] = report.checks_us;
  // Unknown is null, and not 0.
  learning["allocations_per_step"] = nullptr;
  learning["allocated_bytes_per_step"] = nullptr;
  if (report.allocations_per_step) {
    learning["allocations_per_step"] = *report.allocations_per_step;
    learning["allocated_bytes_per_step"] = *report.allocated_bytes_per_step;
  }
  learning["static_update"] = ToJson(report.static_update);
  learning["autograd_update"] = ToJson(report.autograd_update);
  learning["autograd_over_static"] = report.autograd_update.median_us / report.static_update.median_us;
  learning["devices"] = nlohmann::ordered_json::array();
  for (const DeviceRate& rate : report.devices) {
    nlohmann::ordered_json row = {{"device", rate.name}};
    if (rate.fault.empty()) {
      row["step"] = ToJson(rate.step);
      row["uploads_per_step"] = rate.uploads;
      row["read_backs_per_step"] = rate.read_backs;
    } else {
      row["fault"] = rate.fault;
    }
    learning["devices"].push_back(std::move(row));
  }
  std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace

int RunBench(const BenchOptions& options) {
  ConfigOptions config_options;
  config_options.config = options.config;
  config_options.set = options.set;
  const EffectiveConfig effective = LoadConfig(config_options, "[game]\nname = \"cartpole\"\n");
  RequireKeys(effective, {"game.name"}, "bench");
  const Report report = MeasureAll(effective.config);
  if (options.json) {
    PrintJson(effective.config, report);
  } else {
    PrintText(effective.config, report);
  }
  return 0;
}

}  // namespace metronome
