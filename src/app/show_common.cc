#include "app/show_common.h"

#include <iostream>

#include "app/commands.h"
#include "metronome/core/error.h"
#include "metronome/viewer/window.h"

namespace metronome {
namespace {

constexpr std::int64_t kLeastSide = 240;
constexpr std::int64_t kMostSide = 8192;

}  // namespace

PictureSize ParseSize(const std::optional<std::string>& text) {
  if (!text) return {};
  const std::size_t times = text->find('x');
  if (times == std::string::npos) {
    throw Error(ExitCode::kUsage, "--size: found \"" + *text + "\", must be WIDTHxHEIGHT, such as 1280x800");
  }
  const std::int64_t width = ParseIntegerFlag("--size", text->substr(0, times), kLeastSide, kMostSide);
  const std::int64_t height = ParseIntegerFlag("--size", text->substr(times + 1), kLeastSide, kMostSide);
  if (width % 2 != 0 || height % 2 != 0) {
    throw Error(ExitCode::kUsage, "--size: found \"" + *text + "\", must be two even numbers");
  }
  return {static_cast<int>(width), static_cast<int>(height)};
}

GameConfig GameFromCommandLine(const std::string& command, const std::string& game,
                               const std::vector<std::string>& set) {
  FindGame(game);
  ConfigOptions config;
  for (const std::string& text : set) {
    if (ParseSetOption(text).section != "game") {
      throw Error(ExitCode::kUsage, "--set " + text + ": " + command +
                                        " takes settings of the game alone, --set game.KEY=VALUE");
    }
    config.set.push_back(text);
  }
  config.set.push_back("game.name=" + game);
  return LoadConfig(config).config.game;
}

int ShowInWindow(Session& session, const std::string& title, PictureSize size, bool whole, bool senses) {
  Window::Options options;
  options.title = title;
  options.width = size.width;
  options.height = size.height;
  options.close_up = !whole;
  options.senses = senses;
  options.on_message = [](const std::string& message) { std::cerr << "metronome: " << message << std::endl; };
  return Window(session, options).Run();
}

}  // namespace metronome
