#include "app/config_table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "metronome/core/error.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

// Bounds that keep every product of sizes within 64 bits, and a typo from becoming a run of centuries.
constexpr std::int64_t kMostSteps = 1'000'000'000'000;
constexpr std::int64_t kMostTransitions = 10'000'000'000;
constexpr std::int64_t kMostLayers = 64;
constexpr std::int64_t kWidestLayer = 65'536;
constexpr std::int64_t kLargestBatch = 1'048'576;
constexpr std::int64_t kLargestKernel = 1'024;

// What float32, in which the learner calculates, still tells from zero, one and infinity.
constexpr double kLeastPositive = 1e-30;
constexpr double kGreatestFloat = 1e30;
constexpr double kHighestBeta = 0.999999;

std::string FormatText(const std::string& text) {
  std::string out = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      out += '\\';
      out += character;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += character;
    }
  }
  return out + "\"";
}

std::optional<std::int64_t> AsInteger(const ConfigValue& value) {
  const auto* const integer = std::get_if<std::int64_t>(&value.data);
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::optional<double> AsFloat(const ConfigValue& value) {
  if (const auto* const number = std::get_if<double>(&value.data)) {
    return *number;
  }
  if (const auto* const integer = std::get_if<std::int64_t>(&value.data)) {
    // Beyond 2^53 not every integer has a double of its own, and no key reaches that far.
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (*integer >= -kExact && *integer <= kExact) {
      return static_cast<double>(*integer);
    }
  }
  return std::nullopt;
}

std::string IntegerRange(std::int64_t low, std::int64_t high) {
  return "an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

std::string FloatRange(double low, double high) {
  return "a number from " + FormatDouble(low) + " to " + FormatDouble(high);
}

std::string OneOf(const std::vector<std::string>& choices) {
  std::vector<std::string> quoted;
  for (const std::string& choice : choices) {
    quoted.push_back(FormatText(choice));
  }
  return choices.empty() ? "a text" : "one of " + Join(quoted);
}

/// An entry without its field: section and key as "section.name".
ConfigKey Describe(const std::string& full_name, std::string unit, std::string meaning) {
  ConfigKey key;
  const std::size_t dot = full_name.find('.');
  key.section = full_name.substr(0, dot);
  key.name = full_name.substr(dot + 1);
  key.unit = std::move(unit);
  key.meaning = std::move(meaning);
  return key;
}

/// `section` and `member` name the field; `base` describes it.
template <typename Section>
ConfigKey BoolKey(ConfigKey base, Section RunConfig::*section, bool Section::*member) {
  base.allowed = "true or false";
  base.assign = [=](RunConfig& config, const ConfigValue& value) {
    const auto* const flag = std::get_if<bool>(&value.data);
    if (flag == nullptr) {
      return false;
    }
    config.*section.*member = *flag;
    return true;
  };
  base.value = [=](const RunConfig& config) { return ConfigValue{config.*section.*member}; };
  return base;
}

/// `Integer` is int, std::int64_t or std::optional of one.
template <typename Section, typename Integer>
ConfigKey IntegerKey(ConfigKey base, Section RunConfig::*section, Integer Section::*member, std::int64_t low,
                     std::int64_t high) {
  base.allowed = IntegerRange(low, high);
  base.assign = [=](RunConfig& config, const ConfigValue& value) {
    const std::optional<std::int64_t> integer = AsInteger(value);
    if (!integer || *integer < low || *integer > high) {
      return false;
    }
    if constexpr (std::is_same_v<Integer, int>) {
      config.*section.*member = static_cast<int>(*integer);
    } else {
      config.*section.*member = *integer;
    }
    return true;
  };
  base.value = [=](const RunConfig& config) -> std::optional<ConfigValue> {
    if constexpr (std::is_same_v<Integer, std::optional<std::int64_t>>) {
      if (!(config.*section.*member)) {
        return std::nullopt;
      }
      return ConfigValue{*(config.*section.*member)};
    } else {
      return ConfigValue{static_cast<std::int64_t>(config.*section.*member)};
    }
  };
  return base;
}

/// `Float` is double or std::optional<double>.
template <typename Section, typename Float>
ConfigKey FloatKey(ConfigKey base, Section RunConfig::*section, Float Section::*member, double low,
                   double high) {
  base.allowed = FloatRange(low, high);
  base.assign = [=](RunConfig& config, const ConfigValue& value) {
    const std::optional<double> number = AsFloat(value);
    if (!number || !(*number >= low && *number <= high)) {  // so that NaN is refused
      return false;
    }
    config.*section.*member = *number;
    return true;
  };
  base.value = [=](const RunConfig& config) -> std::optional<ConfigValue> {
    if constexpr (std::is_same_v<Float, std::optional<double>>) {
      if (!(config.*section.*member)) {
        return std::nullopt;
      }
      return ConfigValue{*(config.*section.*member)};
    } else {
      return ConfigValue{config.*section.*member};
    }
  };
  return base;
}

template <typename Section>
ConfigKey TextKey(ConfigKey base, Section RunConfig::*section, std::string Section::*member,
                  std::vector<std::string> choices) {
  base.allowed = OneOf(choices);
  base.choices = choices;
  base.is_text = true;
  base.assign = [=](RunConfig& config, const ConfigValue& value) {
    const auto* const text = std::get_if<std::string>(&value.data);
    if (text == nullptr || std::find(choices.begin(), choices.end(), *text) == choices.end()) {
      return false;
    }
    config.*section.*member = *text;
    return true;
  };
  base.value = [=](const RunConfig& config) -> std::optional<ConfigValue> {
    const std::string& text = config.*section.*member;
    return text.empty() ? std::nullopt : std::optional(ConfigValue{text});
  };
  return base;
}

/// `choices` are the names of the enumeration's values, in its order.
template <typename Section, typename Enum>
ConfigKey EnumKey(ConfigKey base, Section RunConfig::*section, Enum Section::*member,
                  std::vector<std::string> choices) {
  base.allowed = OneOf(choices);
  base.choices = choices;
  base.is_text = true;
  base.assign = [=](RunConfig& config, const ConfigValue& value) {
    const auto* const text = std::get_if<std::string>(&value.data);
    if (text == nullptr) {
      return false;
    }
    const auto found = std::find(choices.begin(), choices.end(), *text);
    if (found == choices.end()) {
      return false;
    }
    config.*section.*member = static_cast<Enum>(found - choices.begin());
    return true;
  };
  base.value = [=](const RunConfig& config) {
    return ConfigValue{choices[static_cast<std::size_t>(config.*section.*member)]};
  };
  return base;
}

/// Integers within the bounds, at most `most` of them; empty for anything else.
std::optional<std::vector<std::int64_t>> AsIntegers(const ConfigValue& value, std::int64_t most,
                                                    std::int64_t low, std::int64_t high) {
  const auto* const list = std::get_if<std::vector<ConfigValue>>(&value.data);
  if (list == nullptr || static_cast<std::int64_t>(list->size()) > most) {
    return std::nullopt;
  }
  std::vector<std::int64_t> integers;
  for (const ConfigValue& element : *list) {
    const std::optional<std::int64_t> integer = AsInteger(element);
    if (!integer || *integer < low || *integer > high) {
      return std::nullopt;
    }
    integers.push_back(*integer);
  }
  return integers;
}

ConfigKey HiddenKey(ConfigKey base) {
  base.allowed = "a list of at most " + std::to_string(kMostLayers) + " integers from 1 to " +
                 std::to_string(kWidestLayer);
  base.assign = [](RunConfig& config, const ConfigValue& value) {
    std::optional<std::vector<std::int64_t>> widths = AsIntegers(value, kMostLayers, 1, kWidestLayer);
    if (!widths) {
      return false;
    }
    config.network.hidden = *std::move(widths);
    return true;
  };
  base.value = [](const RunConfig& config) {
    std::vector<ConfigValue> list;
    for (const std::int64_t width : config.network.hidden) {
      list.push_back({width});
    }
    return ConfigValue{std::move(list)};
  };
  return base;
}

ConfigKey ConvKey(ConfigKey base) {
  base.allowed = "a list of at most " + std::to_string(kMostLayers) +
                 " lists [filters, kernel, stride], filters from 1 to " + std::to_string(kWidestLayer) +
                 ", kernel and stride from 1 to " + std::to_string(kLargestKernel);
  base.assign = [](RunConfig& config, const ConfigValue& value) {
    const auto* const list = std::get_if<std::vector<ConfigValue>>(&value.data);
    if (list == nullptr || static_cast<std::int64_t>(list->size()) > kMostLayers) {
      return false;
    }
    std::vector<std::array<std::int64_t, 3>> layers;
    for (const ConfigValue& element : *list) {
      const std::optional<std::vector<std::int64_t>> layer = AsIntegers(element, 3, 1, kWidestLayer);
      if (!layer || layer->size() != 3 || (*layer)[1] > kLargestKernel || (*layer)[2] > kLargestKernel) {
        return false;
      }
      layers.push_back({(*layer)[0], (*layer)[1], (*layer)[2]});
    }
    config.network.conv = std::move(layers);
    return true;
  };
  base.value = [](const RunConfig& config) {
    std::vector<ConfigValue> list;
    for (const std::array<std::int64_t, 3>& layer : config.network.conv) {
      std::vector<ConfigValue> numbers;
      for (const std::int64_t number : layer) {
        numbers.push_back({number});
      }
      list.push_back({std::move(numbers)});
    }
    return ConfigValue{std::move(list)};
  };
  return base;
}

/// The value as a game takes it; empty for a text or a list.
std::optional<ParameterValue> AsParameter(const ConfigValue& value) {
  if (const auto* const flag = std::get_if<bool>(&value.data)) {
    return *flag;
  }
  if (const auto* const integer = std::get_if<std::int64_t>(&value.data)) {
    return *integer;
  }
  if (const auto* const number = std::get_if<double>(&value.data)) {
    return *number;
  }
  return std::nullopt;
}

std::vector<std::string> GameNames() {
  std::vector<std::string> names;
  for (const GameInfo& game : Games()) {
    names.push_back(game.name);
  }
  return names;
}

std::vector<ConfigKey> MakeKeys() {
  const std::string steps = "environment steps";
  std::vector<ConfigKey> keys;
  const auto add = [&keys](ConfigKey key) { keys.push_back(std::move(key)); };

  add(TextKey(Describe("game.name", "",
                       "The game, as listed by `metronome games`; its own parameters stand beside this key."),
              &RunConfig::game, &GameConfig::name, GameNames()));
  keys.back().required = true;
  add(IntegerKey(Describe("game.max_episode_steps", steps,
                          "Steps after which an episode is cut off (truncated); 0 means never."),
                 &RunConfig::game, &GameConfig::max_episode_steps, 0, kMostSteps));
  keys.back().when_unset = "the game's own limit holds";

  add(HiddenKey(Describe("network.hidden", "", "Widths of the hidden layers, each followed by ReLU.")));
  add(ConvKey(Describe("network.conv", "",
                       "[filters, kernel, stride] of each convolution before the hidden layers, for "
                       "observations with a grid.")));

  add(EnumKey(Describe("learner.engine", "",
                       "How an update is computed: the static plan, or autograd, the slow oracle that it is "
                       "tested against."),
              &RunConfig::learner, &LearnerConfig::engine, {"static", "autograd"}));
  add(EnumKey(
      Describe("learner.ops", "",
               "Ops of the static engine: fused ones for the cpu, generic ones for every device; auto is "
               "fused on the cpu and generic elsewhere."),
      &RunConfig::learner, &LearnerConfig::ops, {"auto", "fused", "generic"}));
  add(IntegerKey(Describe("learner.batch_size", "transitions", "Transitions of one update."),
                 &RunConfig::learner, &LearnerConfig::batch_size, 1, kLargestBatch));
  add(FloatKey(Describe("learner.discount", "", "Gamma: what a reward one step later is worth now."),
               &RunConfig::learner, &LearnerConfig::discount, 0.0, 1.0));
  add(FloatKey(Describe("learner.learning_rate", "", "Step size of Adam."), &RunConfig::learner,
               &LearnerConfig::learning_rate, kLeastPositive, kGreatestFloat));
  add(FloatKey(Describe("learner.adam_epsilon", "", "Added to the denominator of Adam."), &RunConfig::learner,
               &LearnerConfig::adam_epsilon, kLeastPositive, 1.0));
  add(FloatKey(Describe("learner.adam_beta1", "", "Decay of Adam's mean of the gradient."),
               &RunConfig::learner, &LearnerConfig::adam_beta1, 0.0, kHighestBeta));
  add(FloatKey(Describe("learner.adam_beta2", "", "Decay of Adam's mean of the squared gradient."),
               &RunConfig::learner, &LearnerConfig::adam_beta2, 0.0, kHighestBeta));
  add(EnumKey(Describe("learner.loss", "", "Loss of the TD error; huber bends to a line at 1."),
              &RunConfig::learner, &LearnerConfig::loss, {"huber", "mse"}));
  add(FloatKey(Describe("learner.max_gradient_norm", "",
                        "Global norm to which a longer gradient is clipped; 0 means no clipping."),
               &RunConfig::learner, &LearnerConfig::max_gradient_norm, 0.0, kGreatestFloat));
  add(BoolKey(Describe("learner.double", "",
                       "Double DQN targets: the online network chooses the next action, the target network "
                       "values it."),
              &RunConfig::learner, &LearnerConfig::double_dqn));
  add(IntegerKey(Describe("learner.target_update_period", "updates", "Updates between target syncs."),
                 &RunConfig::learner, &LearnerConfig::target_update_period, 1, kMostSteps));
  add(FloatKey(Describe("learner.target_update_rate", "",
                        "Share of the online weights that the target takes at each sync; 1 copies them."),
               &RunConfig::learner, &LearnerConfig::target_update_rate, kLeastPositive, 1.0));

  add(IntegerKey(Describe("replay.capacity", "transitions", "Transitions held, exactly."), &RunConfig::replay,
                 &ReplayConfig::capacity, 1, kMostTransitions));
  add(IntegerKey(Describe("replay.warmup", "transitions", "Transitions held before the first update."),
                 &RunConfig::replay, &ReplayConfig::warmup, 1, kMostTransitions));

  add(FloatKey(Describe("exploration.epsilon_start", "", "Share of random actions at the first step."),
               &RunConfig::exploration, &ExplorationConfig::epsilon_start, 0.0, 1.0));
  add(FloatKey(Describe("exploration.epsilon_end", "", "Share of random actions after the decay."),
               &RunConfig::exploration, &ExplorationConfig::epsilon_end, 0.0, 1.0));
  add(IntegerKey(Describe("exploration.epsilon_decay_steps", steps,
                          "Steps over which epsilon falls, in a line, from start to end."),
                 &RunConfig::exploration, &ExplorationConfig::epsilon_decay_steps, 0, kMostSteps));

  add(IntegerKey(Describe("train.steps", steps, "Length of the whole run."), &RunConfig::train,
                 &TrainConfig::steps, 1, kMostSteps));
  keys.back().required = true;
  // No run has 0 steps: that is how the field says that nobody set it.
  keys.back().value = [](const RunConfig& config) {
    return config.train.steps == 0 ? std::nullopt : std::optional(ConfigValue{config.train.steps});
  };
  add(IntegerKey(Describe("train.update_period", steps, "Steps from one learning moment to the next."),
                 &RunConfig::train, &TrainConfig::update_period, 1, kMostSteps));
  add(IntegerKey(Describe("train.updates_per_period", "updates", "Updates at each learning moment."),
                 &RunConfig::train, &TrainConfig::updates_per_period, 1, 1'000'000));
  add(IntegerKey(Describe("train.seed", "", "The run's one seed, from which every random stream is derived."),
                 &RunConfig::train, &TrainConfig::seed, 0, std::numeric_limits<std::int64_t>::max()));

  add(IntegerKey(Describe("eval.period", steps, "Steps between evaluations; 0 means never."),
                 &RunConfig::eval, &EvalConfig::period, 0, kMostSteps));
  add(IntegerKey(Describe("eval.episodes", "episodes", "Greedy episodes of one evaluation."),
                 &RunConfig::eval, &EvalConfig::episodes, 1, 1'000'000));
  add(FloatKey(Describe("eval.stop_at_return", "points", "Mean return of an evaluation that ends the run."),
               &RunConfig::eval, &EvalConfig::stop_at_return, -kGreatestFloat, kGreatestFloat));
  keys.back().when_unset = "the run goes on to its last step";

  add(IntegerKey(Describe("checkpoint.period", steps,
                          "Steps between checkpoints; 0 means only at the end and when stopped."),
                 &RunConfig::checkpoint, &CheckpointConfig::period, 0, kMostSteps));
  add(IntegerKey(Describe("checkpoint.keep", "checkpoints", "Newest ones kept, beside the best."),
                 &RunConfig::checkpoint, &CheckpointConfig::keep, 1, 1'000));

  add(TextKey(Describe("device.name", "",
                       "Where the network computes. A named device is a demand; only auto chooses, and says "
                       "why."),
              &RunConfig::device, &DeviceConfig::name, {"auto", "cpu", "mps", "cuda"}));
  add(IntegerKey(Describe("device.threads", "threads",
                          "Threads of the processor; 0 means a choice by measurement, printed."),
                 &RunConfig::device, &DeviceConfig::threads, 0, 1'024));

  add(BoolKey(Describe("log.tensorboard", "", "Writes TensorBoard event files into the run folder."),
              &RunConfig::log, &LogConfig::tensorboard));
  add(EnumKey(
      Describe("log.on_error", "",
               "What a log, table or event file that can't be written does to the run: it is told and "
               "the run goes on, or the run stops."),
      &RunConfig::log, &LogConfig::on_error, {"continue", "stop"}));
  return keys;
}

}  // namespace

std::string FormatConfigValue(const ConfigValue& value) {
  struct Formatter {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
    std::string operator()(double number) const { return FormatParameterValue(number); }
    std::string operator()(const std::string& text) const { return FormatText(text); }
    std::string operator()(const std::vector<ConfigValue>& list) const {
      std::vector<std::string> parts;
      for (const ConfigValue& element : list) {
        parts.push_back(FormatConfigValue(element));
      }
      return "[" + Join(parts) + "]";
    }
    std::string operator()(const ConfigValue::Other& other) const { return other.type; }
  };
  return std::visit(Formatter{}, value.data);
}

const std::vector<std::string>& ConfigSections() {
  static const std::vector<std::string> sections = [] {
    std::vector<std::string> names;
    for (const ConfigKey& key : ConfigKeys()) {
      if (names.empty() || names.back() != key.section) {
        names.push_back(key.section);
      }
    }
    return names;
  }();
  return sections;
}

const std::vector<ConfigKey>& ConfigKeys() {
  static const std::vector<ConfigKey> keys = MakeKeys();
  return keys;
}

std::vector<ConfigKey> GameParameterKeys(const GameInfo& game) {
  std::vector<ConfigKey> keys;
  for (std::size_t i = 0; i < game.parameters.size(); ++i) {
    const ParameterSpec& spec = game.parameters[i];
    ConfigKey key = Describe("game." + spec.name, spec.unit, spec.meaning);
    if (std::holds_alternative<bool>(spec.default_value)) {
      key.allowed = "true or false";
    } else if (std::holds_alternative<std::int64_t>(spec.default_value)) {
      key.allowed = IntegerRange(static_cast<std::int64_t>(spec.low), static_cast<std::int64_t>(spec.high));
    } else {
      key.allowed = FloatRange(spec.low, spec.high);
    }
    key.assign = [name = spec.name](RunConfig& config, const ConfigValue& value) {
      const std::optional<ParameterValue> parameter = AsParameter(value);
      if (!parameter) {
        return false;
      }
      try {
        config.game.parameters.Set(name, *parameter);
      } catch (const Error&) {
        return false;  // another type, or out of range
      }
      return true;
    };
    key.value = [i](const RunConfig& config) {
      return std::visit([](const auto& parameter) { return ConfigValue{parameter}; },
                        config.game.parameters.values()[i]);
    };
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<ConfigKey> AllConfigKeys(const GameInfo* game) {
  std::vector<ConfigKey> keys;
  bool in_game_section = false;
  for (const ConfigKey& key : ConfigKeys()) {
    if (in_game_section && key.section != "game" && game != nullptr) {
      for (ConfigKey& parameter : GameParameterKeys(*game)) {
        keys.push_back(std::move(parameter));
      }
    }
    in_game_section = key.section == "game";
    keys.push_back(key);
  }
  return keys;
}

}  // namespace metronome
