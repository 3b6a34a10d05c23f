#include "metronome/games/recording.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"
#include "metronome/core/hash.h"
#include "metronome/core/text.h"

namespace metronome {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormatName = "metronome-recording ";
constexpr std::size_t kHexDigits = 16;
constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 30;  // some 300 million steps
constexpr std::array<std::string_view, 9> kKeys = {"game",    "parameters", "max_episode_steps",
                                                   "seed",    "return",     "ending",
                                                   "actions", "hashes",     "metronome_version"};

std::string Hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kHexDigits, '0');
  for (std::size_t i = 0; i < kHexDigits; ++i) text[kHexDigits - 1 - i] = kDigits[(value >> (4 * i)) & 15];
  return text;
}

/// Exactly what Hex() writes: 16 digits, lower case.
std::optional<std::uint64_t> ParseHex(std::string_view text) {
  if (text.size() != kHexDigits) return std::nullopt;
  std::uint64_t value = 0;
  for (const char digit : text) {
    if (digit >= '0' && digit <= '9') {
      value = (value << 4) | static_cast<std::uint64_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value = (value << 4) | static_cast<std::uint64_t>(digit - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

/// Hashes that go with so many steps: one every kStepsPerHash, and one for the last, or for the start.
std::size_t HashesFor(std::size_t steps) {
  constexpr auto kPeriod = static_cast<std::size_t>(Recording::kStepsPerHash);
  return std::max<std::size_t>(1, (steps + kPeriod - 1) / kPeriod);
}

std::string_view EndingOf(const EpisodeStep& step) {
  if (step.terminated) return "terminated";
  return step.truncated ? "truncated" : "unfinished";
}

[[noreturn]] void Refuse(const std::string& name, const std::string& why) {
  throw Error(ExitCode::kBadCheckpoint, name + ": " + why);
}

/// A text from the file for a message: quoted, one line, whatever its bytes are.
std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const std::string shown(text.substr(0, kLongest));
  return Json(shown).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Splits off the first line and proves with its checksum that the rest is what was written.
std::string_view CheckedBody(std::string_view bytes, const std::string& name) {
  const std::size_t line_end = bytes.find('\n');
  if (!bytes.starts_with(kFormatName) || line_end == std::string_view::npos) {
    Refuse(name, "not a recording: it does not begin with a \"" + std::string(kFormatName) + "...\" line");
  }
  const std::string_view line = bytes.substr(kFormatName.size(), line_end - kFormatName.size());
  const std::size_t space = line.find(' ');
  const std::string_view version = line.substr(0, space);
  if (version != std::to_string(Recording::kFormatVersion)) {
    Refuse(name, "recording of format version " + Quoted(version) + "; this program reads version " +
                     std::to_string(Recording::kFormatVersion));
  }
  const auto checksum = space == std::string_view::npos ? std::nullopt : ParseHex(line.substr(space + 1));
  if (!checksum) Refuse(name, "damaged recording: its first line has no checksum of 16 hexadecimal digits");
  const std::string_view body = bytes.substr(line_end + 1);
  const std::uint64_t found = Checksum(body);
  if (found != *checksum) {
    Refuse(name, "damaged recording: the checksum of its contents is " + Hex(found) +
                     ", its first line says " + Hex(*checksum));
  }
  return body;
}

/// The JSON object, without a key given twice: the library would quietly keep the last.
Json ParseObject(std::string_view body, const std::string& name) {
  std::size_t keys = 0;
  const Json::parser_callback_t count_keys = [&](int, Json::parse_event_t event, Json&) {
    if (event == Json::parse_event_t::key) ++keys;
    return true;
  };
  const Json object = Json::parse(body.begin(), body.end(), count_keys, /*allow_exceptions=*/false);
  if (!object.is_object()) Refuse(name, "bad recording: its contents are not a JSON object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      Refuse(name, "bad recording: foreign key " + Quoted(key));
    }
  }
  for (const std::string_view key : kKeys) {
    if (!object.contains(key)) Refuse(name, "bad recording: key \"" + std::string(key) + "\" is missing");
  }
  const Json& parameters = object["parameters"];
  if (!parameters.is_object()) Refuse(name, "bad recording: \"parameters\" is not an object");
  if (keys != object.size() + parameters.size()) Refuse(name, "bad recording: a key is given twice");
  return object;
}

std::string ParseText(const Json& object, const char* key, const std::string& name) {
  if (!object[key].is_string()) Refuse(name, "bad recording: \"" + std::string(key) + "\" is not a text");
  return object[key].get<std::string>();
}

/// A whole number >= 0 that fits in an int64.
std::int64_t ParseCount(const Json& value, const char* key, const std::string& name) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    Refuse(name, "bad recording: \"" + std::string(key) + "\" is not a whole number from 0 up");
  }
  return value.get<std::int64_t>();
}

const GameInfo& ParseGame(const Json& object, const std::string& name) {
  const std::string game = ParseText(object, "game", name);
  std::vector<std::string> names;
  for (const GameInfo& info : Games()) {
    if (info.name == game) return info;
    names.push_back(info.name);
  }
  Refuse(name,
         "recording of the game " + Quoted(game) + ", which this program has not; it has: " + Join(names));
}

GameParameters ParseParameters(const Json& object, const GameInfo& info, const std::string& name) {
  GameParameters parameters(info.parameters);
  for (const auto& [key, value] : object.items()) {
    ParameterValue parsed;
    if (value.is_boolean()) {
      parsed = value.get<bool>();
    } else if (value.is_number_integer() &&
               !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})) {
      parsed = value.get<std::int64_t>();
    } else if (value.is_number()) {
      parsed = value.get<double>();
    } else {
      Refuse(name, "bad recording: game parameter " + Quoted(key) + " is neither a number nor true or false");
    }
    const bool declared =
        std::any_of(info.parameters.begin(), info.parameters.end(),
                    [&, &wanted = key](const ParameterSpec& spec) { return spec.name == wanted; });
    if (!declared) {
      Refuse(name, "recording with the game parameter " + Quoted(key) + ", which this program's " +
                       info.name + " has not");
    }
    try {
      parameters.Set(key, parsed);
    } catch (const Error& error) {
      Refuse(name, std::string("bad recording: ") + error.what());
    }
  }
  for (const ParameterSpec& spec : info.parameters) {
    if (!object.contains(spec.name)) {
      Refuse(name, "bad recording: game parameter \"" + spec.name + "\" is missing");
    }
  }
  return parameters;
}

}  // namespace

Recorder::Recorder(const GameConfig& game, std::int64_t reserved_steps) {
  METRONOME_CHECK_GE(reserved_steps, 0);
  recording_.game = game;
  if (!recording_.game.max_episode_steps) {
    recording_.game.max_episode_steps =
        MakeGame(game.name, game.parameters)->spec().default_max_episode_steps;
  }
  const auto steps = static_cast<std::size_t>(reserved_steps);
  recording_.actions.reserve(steps);
  recording_.hashes.reserve(HashesFor(steps));
  recording_.ending = "unfinished";
}

void Recorder::Begin(std::uint64_t seed) {
  recording_.seed = seed;
  recording_.actions.clear();
  recording_.hashes.clear();
  recording_.episode_return = 0.0;
  recording_.ending = "unfinished";
  last_hash_is_early_ = false;
}

void Recorder::Add(int action, const EpisodeStep& step, const Game& game) {
  if (last_hash_is_early_) {
    recording_.hashes.pop_back();
    last_hash_is_early_ = false;
  }
  recording_.actions.push_back(action);
  recording_.episode_return += static_cast<double>(step.reward);
  recording_.ending = EndingOf(step);
  if (static_cast<std::int64_t>(recording_.actions.size()) % Recording::kStepsPerHash == 0) {
    recording_.hashes.push_back(game.StateHash());
  }
}

const Recording& Recorder::recording(const Game& game) {
  if (recording_.hashes.size() < HashesFor(recording_.actions.size())) {
    recording_.hashes.push_back(game.StateHash());
    last_hash_is_early_ = true;
  }
  return recording_;
}

std::string SerializeRecording(const Recording& recording) {
  METRONOME_CHECK(recording.game.max_episode_steps.has_value());
  METRONOME_CHECK_EQ(recording.hashes.size(), HashesFor(recording.actions.size()));
  if (!std::isfinite(recording.episode_return)) {
    throw Error(ExitCode::kNonFinite, "recording of " + recording.game.name + ": its return is not finite");
  }
  Json parameters = Json::object();
  const GameParameters& values = recording.game.parameters;
  for (std::size_t i = 0; i < values.specs().size(); ++i) {
    std::visit([&](const auto& value) { parameters[values.specs()[i].name] = value; }, values.values()[i]);
  }
  Json hashes = Json::array();
  for (const std::uint64_t hash : recording.hashes) hashes.push_back(Hex(hash));
  Json object;
  object["game"] = recording.game.name;
  object["parameters"] = std::move(parameters);
  object["max_episode_steps"] = *recording.game.max_episode_steps;
  object["seed"] = recording.seed;
  object["return"] = recording.episode_return;
  object["ending"] = recording.ending;
  object["actions"] = recording.actions;
  object["hashes"] = std::move(hashes);
  object["metronome_version"] = METRONOME_VERSION;
  const std::string body = object.dump() + "\n";
  return std::string(kFormatName) + std::to_string(Recording::kFormatVersion) + " " + Hex(Checksum(body)) +
         "\n" + body;
}

Recording ParseRecording(std::string_view bytes, const std::string& name) {
  const Json object = ParseObject(CheckedBody(bytes, name), name);
  const GameInfo& info = ParseGame(object, name);
  Recording recording;
  recording.game.name = info.name;
  recording.game.parameters = ParseParameters(object["parameters"], info, name);
  recording.game.max_episode_steps = ParseCount(object["max_episode_steps"], "max_episode_steps", name);
  if (!object["seed"].is_number_unsigned()) {
    Refuse(name, "bad recording: \"seed\" is not a whole number from 0 up");
  }
  recording.seed = object["seed"].get<std::uint64_t>();
  if (!object["return"].is_number()) Refuse(name, "bad recording: \"return\" is not a number");
  recording.episode_return = object["return"].get<double>();
  recording.ending = ParseText(object, "ending", name);
  if (recording.ending != "terminated" && recording.ending != "truncated" &&
      recording.ending != "unfinished") {
    Refuse(name, "bad recording: \"ending\" is " + Quoted(recording.ending) +
                     "; must be terminated, truncated or unfinished");
  }
  ParseText(object, "metronome_version", name);

  const int num_actions = MakeGame(info.name, recording.game.parameters)->spec().num_actions();
  if (!object["actions"].is_array()) Refuse(name, "bad recording: \"actions\" is not an array");
  for (const Json& action : object["actions"]) {
    if (!action.is_number_unsigned() ||
        action.get<std::uint64_t>() >= static_cast<std::uint64_t>(num_actions)) {
      Refuse(name, "bad recording: action " + std::to_string(recording.actions.size()) +
                       " is not a whole number from 0 to " + std::to_string(num_actions - 1));
    }
    recording.actions.push_back(action.get<std::int32_t>());
  }
  if (!object["hashes"].is_array()) Refuse(name, "bad recording: \"hashes\" is not an array");
  for (const Json& text : object["hashes"]) {
    const auto hash = text.is_string() ? ParseHex(text.get_ref<const std::string&>()) : std::nullopt;
    if (!hash) Refuse(name, "bad recording: a hash is not a text of 16 hexadecimal digits");
    recording.hashes.push_back(*hash);
  }
  if (recording.hashes.size() != HashesFor(recording.actions.size())) {
    Refuse(name, "bad recording: " + std::to_string(recording.hashes.size()) + " hashes for " +
                     std::to_string(recording.actions.size()) + " actions; must be " +
                     std::to_string(HashesFor(recording.actions.size())));
  }
  return recording;
}

void WriteRecording(const Recording& recording, const std::filesystem::path& path) {
  WriteFileWhole(path, SerializeRecording(recording));
}

Recording ReadRecording(const std::filesystem::path& path) {
  return ParseRecording(ReadFile(path, kMaxFileBytes), path.string());
}

TimeLimit Replay(const Recording& recording, const std::string& name) {
  METRONOME_CHECK(recording.game.max_episode_steps.has_value());
  METRONOME_CHECK_EQ(recording.hashes.size(), HashesFor(recording.actions.size()));
  TimeLimit game(recording.game);
  game.Reset(recording.seed);
  EpisodeStep step;
  double episode_return = 0.0;
  std::size_t next_hash = 0;
  const auto check_hash = [&] {
    const std::uint64_t found = game.game().StateHash();
    const std::uint64_t wanted = recording.hashes[next_hash++];
    if (found != wanted) {
      Refuse(name, "the state after step " + std::to_string(game.steps()) + " has the hash " + Hex(found) +
                       ", the recording says " + Hex(wanted) + ": made by other rules or arithmetic");
    }
  };
  for (std::size_t i = 0; i < recording.actions.size(); ++i) {
    if (step.ended()) {
      Refuse(name, "the episode is over (" + std::string(EndingOf(step)) + ") after step " +
                       std::to_string(game.steps()) + ", the recording has " +
                       std::to_string(recording.actions.size()) + " steps");
    }
    step = game.Step(recording.actions[i]);
    episode_return += static_cast<double>(step.reward);
    if (game.steps() % Recording::kStepsPerHash == 0) check_hash();
  }
  if (next_hash < recording.hashes.size()) check_hash();
  const std::string after = " after step " + std::to_string(game.steps());
  if (EndingOf(step) != recording.ending) {
    Refuse(name, "the episode is " + std::string(EndingOf(step)) + after + ", the recording says " +
                     recording.ending);
  }
  if (std::bit_cast<std::uint64_t>(episode_return) !=
      std::bit_cast<std::uint64_t>(recording.episode_return)) {
    Refuse(name, "the return is " + FormatDouble(episode_return) + after + ", the recording says " +
                     FormatDouble(recording.episode_return));
  }
  return game;
}

}  // namespace metronome
