#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/agent.h"
#include "app/commands.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/text.h"
#include "metronome/games/registry.h"
#include "metronome/train/checkpoint.h"

namespace metronome {
namespace {

constexpr std::int64_t kMostFileBytes = 64 << 20;
constexpr double kGreatest = std::numeric_limits<float>::max();

/// What --observation takes, for a mistake: "4 numbers: cart position, m; ...".
std::string Allowed(const ObservationSpec& observation) {
  std::vector<std::string> names;
  for (const ObservationFeature& feature : observation.features) names.push_back(feature.name);
  std::string allowed = std::to_string(observation.size()) + " numbers";
  if (observation.is_grid()) {
    allowed += ", " + std::to_string(observation.shape[1]) + " rows of " +
               std::to_string(observation.shape[2]) + " for each channel";
  }
  return allowed + ": " + Join(names, "; ");
}

/// The numbers of "0.1, 0, -0.02, 0", or with "@FILE" of a file; commas, spaces and line ends part them.
std::vector<float> ParseObservation(const std::string& text, const ObservationSpec& observation) {
  const auto refuse = [&](const std::string& found) {
    return Error(ExitCode::kUsage, "--observation " + text.substr(0, 80) + ": found " + found + ", must be " +
                                       Allowed(observation));
  };
  std::string_view rest = text;
  std::string content;
  if (text.starts_with('@')) {
    content = ReadFile(text.substr(1), kMostFileBytes);
    rest = content;
  }
  std::vector<float> values;
  constexpr std::string_view kBetween = ", \t\r\n";
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) break;
    const std::string number(rest.substr(0, rest.find_first_of(kBetween)));
    rest.remove_prefix(number.size());
    values.push_back(static_cast<float>(ParseNumberFlag("--observation", number, -kGreatest, kGreatest)));
  }
  if (static_cast<std::int64_t>(values.size()) != observation.size()) {
    throw refuse(FormatCount(static_cast<std::int64_t>(values.size()), "number"));
  }
  return values;
}

std::string Shortest(float value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

}  // namespace

int RunQ(const QOptions& options) {
  const std::filesystem::path path = FindCheckpoint(options.target);
  const Agent agent = LoadAgent(path);
  const GameSpec game = MakeGame(agent.config.game.name, agent.config.game.parameters)->spec();
  nlohmann::ordered_json json;
  json["game"] = game.name;
  json["checkpoint"] = path.string();
  json["step"] = agent.step;
  for (const ActionSpec& action : game.actions) json["actions"].push_back(action.name);
  for (const std::string& text : options.observations) {
    const std::vector<float> observation = ParseObservation(text, game.observation);
    std::vector<float> q_values(game.actions.size());
    agent.learner->QValues(observation, q_values);
    const auto best =
        static_cast<std::size_t>(std::max_element(q_values.begin(), q_values.end()) - q_values.begin());
    json["q_values"].push_back(q_values);
    json["greedy_actions"].push_back(best);
    if (options.json) continue;
    for (std::size_t i = 0; i < q_values.size(); ++i) {
      std::cout << (i == best ? "* " : "  ") << game.actions[i].name << " " << Shortest(q_values[i]) << "\n";
    }
  }
  if (options.json) {
    // A path need not be UTF-8.
    std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  }
  return 0;
}

}  // namespace metronome
