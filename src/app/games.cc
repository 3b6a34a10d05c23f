#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "app/commands.h"
#include "metronome/core/text.h"
#include "metronome/games/registry.h"

namespace metronome {
namespace {

std::string Shape(const ObservationSpec& observation) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : observation.shape) {
    sizes.push_back(std::to_string(size));
  }
  std::string text = "(";
  text += Join(sizes);
  return text + ")";
}

std::string TypeName(const ObservationSpec& observation) {
  return observation.type == ElementType::kUint8 ? "uint8" : "float32";
}

/// Prints rows with the columns in line; the last column is not padded.
void PrintTable(const std::vector<std::vector<std::string>>& rows, const std::string& indent) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  for (const std::vector<std::string>& row : rows) {
    std::string line = indent;
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += row[column];
      if (column + 1 < row.size()) {
        line += std::string(widths[column] - row[column].size() + 2, ' ');
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << "\n";
  }
}

void PrintGames() {
  std::vector<std::vector<std::string>> rows = {
      {"game", "actions", "observation", "step limit", "scripted", "summary"}};
  for (const GameInfo& info : Games()) {
    const GameSpec spec = MakeGame(info.name)->spec();
    rows.push_back(
        {info.name, std::to_string(spec.num_actions()),
         Shape(spec.observation) + " " + TypeName(spec.observation),
         spec.default_max_episode_steps == 0 ? "none" : std::to_string(spec.default_max_episode_steps),
         info.make_scripted_policy != nullptr ? "yes" : "no", info.summary});
  }
  PrintTable(rows, "");
}

void PrintGame(const GameInfo& info) {
  const GameSpec spec = MakeGame(info.name)->spec();
  std::cout << info.name << ": " << info.summary << "\n";

  std::cout << "\nActions (" << spec.num_actions()
            << "), and the keys that `metronome play` reads for them:\n";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < spec.actions.size(); ++i) {
    const ActionSpec& action = spec.actions[i];
    rows.push_back(
        {std::to_string(i), action.name, action.keys.empty() ? "(no key)" : Join(action.keys, " + ")});
  }
  PrintTable(rows, "  ");

  std::cout << "\nObservation: shape " << Shape(spec.observation) << ", " << TypeName(spec.observation)
            << (spec.observation.is_grid() ? "; its channels:\n" : "; its elements:\n");
  rows.clear();
  for (std::size_t i = 0; i < spec.observation.features.size(); ++i) {
    const ObservationFeature& feature = spec.observation.features[i];
    rows.push_back({std::to_string(i), feature.name,
                    "from " + FormatDouble(feature.low) + " to " + FormatDouble(feature.high)});
  }
  PrintTable(rows, "  ");

  std::cout << "\nParameters, set in the config's [game] section or by --set game.NAME=VALUE:\n";
  rows.clear();
  for (const ConfigKey& key : GameParameterKeys(info)) {
    RunConfig defaults;
    defaults.game.parameters = GameParameters(info.parameters);
    rows.push_back(
        {key.name, "default " + FormatConfigValue(*key.value(defaults)), key.allowed, key.unit, key.meaning});
  }
  if (rows.empty()) {
    std::cout << "  none\n";
  }
  PrintTable(rows, "  ");

  std::cout << "\nEpisode limit: ";
  if (spec.default_max_episode_steps == 0) {
    std::cout << "none";
  } else {
    std::cout << spec.default_max_episode_steps << " steps";
  }
  std::cout << ", unless game.max_episode_steps says otherwise\n";
  std::cout << "Tick rate: " << FormatDouble(spec.tick_rate_hz) << " Hz, " << spec.ticks_per_step
            << (spec.ticks_per_step == 1 ? " tick" : " ticks") << " a step\n";
  std::cout << "Scripted policy: "
            << (info.make_scripted_policy != nullptr
                    ? "yes; metronome eval " + info.name + " --policy scripted"
                    : "no")
            << "\n";
}

}  // namespace

int RunGames(const std::optional<std::string>& name) {
  if (name) {
    PrintGame(FindGame(*name));
  } else {
    PrintGames();
  }
  return 0;
}

}  // namespace metronome
