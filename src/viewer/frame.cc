#include "viewer/frame.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <span>
#include <string_view>

#include "viewer/font.h"
#include "viewer/palette.h"

namespace metronome {
namespace {

using palette::kAccent;
using palette::kBackground;
using palette::kBlue;
using palette::kGreen;
using palette::kLine;
using palette::kPanel;
using palette::kQuiet;
using palette::kRaised;
using palette::kRed;
using palette::kText;
using palette::kVeil;

// A line of text, in pixels: of a window of 1280 by 800, 20.
constexpr float kLinesOfHeight = 40.0f;
constexpr float kLinesOfWidth = 64.0f;
constexpr float kLeastLine = 12.5f;
constexpr float kPanelLines = 18.5f;      // width of the panel, in lines' heights
constexpr float kLeastGameLines = 14.0f;  // a narrower game is shown without the panel
constexpr float kMapShare = 0.24f;        // of the picture's width
constexpr float kBold = 1.5f;

/// A short text without a heap block.
class Label {
 public:
  __attribute__((format(printf, 2, 3))) explicit Label(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text_.data(), text_.size(), format, arguments);
    va_end(arguments);
  }
  std::string_view view() const { return text_.data(); }

 private:
  std::array<char, 160> text_;
};

/// "1,234,567".
Label Thousands(std::int64_t value) {
  const Label plain("%" PRId64, value);
  std::array<char, 40> text{};
  std::size_t used = 0;
  const std::string_view digits = plain.view();
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t rest = digits.size() - i;
    if (i > 0 && rest % 3 == 0 && digits[i - 1] != '-') text[used++] = ',';
    text[used++] = digits[i];
  }
  return Label("%s", text.data());
}

Label SpeedText(const Session& session, double reached) {
  if (session.speed() == Session::kFastest) {
    return reached > 0.0 ? Label("fastest, %.0fx", reached) : Label("fastest");
  }
  constexpr double kNoticed = 0.9;
  if (reached > 0.0 && reached < kNoticed * session.speed()) {
    return Label("%.4gx, reaches %.3gx", session.speed(), reached);
  }
  return Label("%.4gx", session.speed());
}

PixelArea Inset(PixelArea area, int by) {
  return {area.left + by, area.top + by, std::max(0, area.width - 2 * by), std::max(0, area.height - 2 * by)};
}

/// The largest area of this shape within `area`, in its middle.
PixelArea Fit(PixelArea area, double width, double height) {
  const double scale = std::min(area.width / width, area.height / height);
  const int fitted_width = std::max(1, static_cast<int>(width * scale + 0.5));
  const int fitted_height = std::max(1, static_cast<int>(height * scale + 0.5));
  return {area.left + (area.width - fitted_width) / 2, area.top + (area.height - fitted_height) / 2,
          std::min(fitted_width, area.width), std::min(fitted_height, area.height)};
}

void TextRight(Canvas& canvas, float right, float top, float height, std::string_view text, Color color,
               float weight = 1.0f) {
  canvas.Text({right - TextWidth(text, height), top}, height, text, color, weight);
}

void TextMiddle(Canvas& canvas, float middle, float top, float height, std::string_view text, Color color,
                float weight = 1.0f) {
  canvas.Text({middle - TextWidth(text, height) / 2, top}, height, text, color, weight);
}

/// The height at which `text` is at most `width` wide, at most `height`.
float FitText(std::string_view text, float height, float width) {
  const float natural = TextWidth(text, height);
  return natural > width ? height * width / natural : height;
}

struct HelpLine {
  const char* key;
  const char* what;
};

constexpr std::array<HelpLine, 13> kHelp = {{{"Space", "pause and go on"},
                                             {".", "pause, and play one step"},
                                             {"+  -", "faster, slower"},
                                             {"R", "the same episode again"},
                                             {"N  Enter", "next episode"},
                                             {"T", "take over by hand, give back"},
                                             {"C", "close-up or the whole picture"},
                                             {"V", "what the player senses"},
                                             {"P", "panel"},
                                             {"S", "screenshot, a PNG file here"},
                                             {"F", "full screen"},
                                             {"H  ?", "this help"},
                                             {"Q  Esc", "quit"}}};

}  // namespace

void FramePainter::Paint(Session& session, const ViewOptions& view, Canvas& canvas) {
  canvas.ClearClip();
  canvas.Clear(kBackground);
  const auto width = static_cast<float>(canvas.width());
  const auto height = static_cast<float>(canvas.height());
  line_ = std::max(kLeastLine, std::min(height / kLinesOfHeight, width / kLinesOfWidth));
  const float panel_width = kPanelLines * line_;
  PixelArea game_area = {0, 0, canvas.width(), canvas.height()};
  if (view.panel && width - panel_width >= kLeastGameLines * line_) {
    const int left = static_cast<int>(width - panel_width);
    const PixelArea panel = {left, 0, canvas.width() - left, canvas.height()};
    game_area.width = left;
    PaintPanel(session, view, panel, canvas);
  }
  PaintGame(session, view, Inset(game_area, static_cast<int>(0.6f * line_)), canvas);
  if (view.help) PaintHelp(session, game_area, canvas);
}

void FramePainter::PaintGame(Session& session, const ViewOptions& view, PixelArea area, Canvas& canvas) {
  if (area.width < 2 || area.height < 2) return;
  const GameSpec& spec = session.spec();
  const std::optional<CloseUp> close_up = view.close_up ? session.close_up() : std::nullopt;
  PixelArea shown = Fit(area, spec.draw_width, spec.draw_height);
  auto scale = static_cast<float>(std::min(area.width / spec.draw_width, area.height / spec.draw_height));
  int left = 0;
  int top = 0;
  if (close_up) {
    // As large as the window allows, but never smaller than the whole picture, and nothing beyond its edges.
    scale = std::max(scale, static_cast<float>(area.width) / close_up->width);
    const auto whole_width = static_cast<int>(spec.draw_width * static_cast<double>(scale));
    const auto whole_height = static_cast<int>(spec.draw_height * static_cast<double>(scale));
    shown.width = std::min(area.width, whole_width);
    shown.height = std::min(area.height, whole_height);
    shown.left = area.left + (area.width - shown.width) / 2;
    shown.top = area.top + (area.height - shown.height) / 2;
    // Whole pixels, so that what is kept of the picture can be copied.
    left = std::clamp(static_cast<int>(close_up->center.x * scale + 0.5f) - shown.width / 2, 0,
                      whole_width - shown.width);
    top = std::clamp(static_cast<int>(close_up->center.y * scale + 0.5f) - shown.height / 2, 0,
                     whole_height - shown.height);
  }
  picture_.Paint(session.picture(), spec.draw_width, spec.draw_height, scale, left, top, shown, canvas);
  canvas.SetClip(shown);
  const Placement placement = {scale, static_cast<float>(shown.left - left),
                               static_cast<float>(shown.top - top)};
  if (view.senses) {
    const DrawList& senses = session.senses();
    PaintCommands(senses, 0, senses.commands().size(), placement, canvas);
  }
  if (close_up) PaintMap(session, *close_up, shown, canvas);
  const DrawList& overlay = session.overlay();
  const float overlay_scale =
      static_cast<float>(std::min(shown.width / spec.draw_width, shown.height / spec.draw_height));
  PaintCommands(overlay, 0, overlay.commands().size(),
                {overlay_scale, static_cast<float>(shown.left), static_cast<float>(shown.top)}, canvas);
  PaintResult(session, shown, canvas);
  if (session.waiting_for_key()) {
    PaintLabel("Hold a key of the game to start; H shows the keys", kAccent, shown, canvas);
  } else if (!view.notice.empty()) {
    PaintLabel(view.notice, kText, shown, canvas);
  } else if (session.paused()) {
    PaintLabel("paused: space goes on, . plays one step", kText, shown, canvas);
  }
  canvas.ClearClip();
}

void FramePainter::PaintMap(Session& session, const CloseUp& close_up, PixelArea area, Canvas& canvas) {
  const GameSpec& spec = session.spec();
  const float width = kMapShare * static_cast<float>(area.width);
  const float scale = width / static_cast<float>(spec.draw_width);
  const auto map_width = static_cast<int>(width);
  const auto map_height = static_cast<int>(spec.draw_height * static_cast<double>(scale));
  const int margin = static_cast<int>(0.6f * line_);
  if (map_width < 40 || map_height + 2 * margin > area.height) return;
  const PixelArea map = {area.right() - map_width - margin, area.bottom() - map_height - margin, map_width,
                         map_height};
  const float border = std::max(1.5f, 0.12f * line_);
  canvas.FillRoundedRectangle(static_cast<float>(map.left) - border, static_cast<float>(map.top) - border,
                              static_cast<float>(map.width) + 2 * border,
                              static_cast<float>(map.height) + 2 * border, 2 * border, kBackground);
  map_.Paint(session.picture(), spec.draw_width, spec.draw_height, scale, 0, 0, map, canvas);
  canvas.SetClip(map);
  const DrawPoint at = {static_cast<float>(map.left) + close_up.subject.x * scale,
                        static_cast<float>(map.top) + close_up.subject.y * scale};
  canvas.FillCircle(at, 0.36f * line_, kBackground);
  canvas.FillCircle(at, 0.26f * line_, kAccent);
  canvas.SetClip(area);
}

void FramePainter::PaintLabel(const std::string& text, Color color, PixelArea area, Canvas& canvas) {
  const float room = static_cast<float>(area.width) - 2 * line_;
  const float height = FitText(text, line_, room);
  const float width = TextWidth(text, height) + 1.2f * line_;
  const float left = static_cast<float>(area.left) + (static_cast<float>(area.width) - width) / 2;
  const float top = static_cast<float>(area.bottom()) - 2.4f * line_;
  canvas.FillRoundedRectangle(left, top, width, 1.7f * line_, 0.5f * line_, kVeil);
  canvas.Text({left + 0.6f * line_, top + 0.85f * line_ - 0.5f * height}, height, text, color);
}

void FramePainter::PaintResult(Session& session, PixelArea area, Canvas& canvas) {
  if (!session.episode_ended()) return;
  const std::vector<std::string>& lines = session.result_lines();
  const Label value("%.2f", session.episode_return());
  const std::string_view title = session.ending() == "terminated"  ? "The episode is over"
                                 : session.ending() == "truncated" ? "Time is up"
                                                                   : "The recording ends here";
  float width = std::max(TextWidth(title, 1.2f * line_), TextWidth(value.view(), 2.6f * line_));
  for (const std::string& line : lines) width = std::max(width, TextWidth(line, line_));
  const float pad = 1.2f * line_;
  width = std::min(width + 2 * pad, static_cast<float>(area.width));
  const float height = 6.4f * line_ + 1.4f * line_ * static_cast<float>(lines.size());
  const float left = static_cast<float>(area.left) + (static_cast<float>(area.width) - width) / 2;
  // Above the middle, where most games have less to see.
  float y = static_cast<float>(area.top) + std::max(0.0f, 0.3f * (static_cast<float>(area.height) - height));
  canvas.FillRoundedRectangle(left, y, width, height, 0.8f * line_, kVeil);
  const float middle = left + width / 2;
  y += pad;
  TextMiddle(canvas, middle, y, FitText(title, 1.2f * line_, width - pad), title, kQuiet);
  y += 1.7f * line_;
  TextMiddle(canvas, middle, y, FitText(value.view(), 2.6f * line_, width - pad), value.view(), kAccent,
             kBold);
  y += 3.0f * line_;
  for (const std::string& line : lines) {
    TextMiddle(canvas, middle, y, FitText(line, line_, width - pad), line, kText);
    y += 1.4f * line_;
  }
}

void FramePainter::PaintHelp(Session& session, PixelArea area, Canvas& canvas) {
  const std::vector<ActionSpec>& actions = session.spec().actions;
  const float lines = static_cast<float>(kHelp.size()) + 3.4f + static_cast<float>(actions.size());
  const float step =
      std::min(1.45f * line_, (static_cast<float>(area.height) - 2 * line_) / std::max(lines, 1.0f));
  const float text = std::min(line_, step / 1.2f);
  const float width = std::min(static_cast<float>(area.width) - line_, 24.0f * text);
  const float height = lines * step;
  const float left = static_cast<float>(area.left) + (static_cast<float>(area.width) - width) / 2;
  float y = static_cast<float>(area.top) + (static_cast<float>(area.height) - height) / 2;
  Color veil = kVeil;
  veil.alpha = 240;
  canvas.FillRoundedRectangle(left, y, width, height, 0.8f * line_, veil);
  y += 0.7f * step;
  const float column = left + 7.0f * text;
  const auto line = [&](std::string_view key, std::string_view what) {
    TextRight(canvas, column, y, text, key, kAccent);
    canvas.Text({column + text, y}, FitText(what, text, left + width - column - 1.5f * text), what, kText);
    y += step;
  };
  for (const HelpLine& help : kHelp) line(help.key, help.what);
  y += 0.5f * step;
  canvas.Text({left + text, y}, text, "By hand, held down:", kQuiet);
  y += step;
  for (const ActionSpec& action : actions) {
    std::array<char, 64> keys{};
    std::size_t used = 0;
    for (const std::string& key : action.keys) {
      const int written =
          std::snprintf(keys.data() + used, keys.size() - used, "%s%s", used > 0 ? " " : "", key.c_str());
      used = std::min(keys.size() - 1, used + static_cast<std::size_t>(std::max(written, 0)));
    }
    line(used > 0 ? keys.data() : "no key", action.name);
  }
}

void FramePainter::PaintPanel(Session& session, const ViewOptions& view, PixelArea area, Canvas& canvas) {
  canvas.FillRectangle(static_cast<float>(area.left), static_cast<float>(area.top),
                       static_cast<float>(area.width), static_cast<float>(area.height), kPanel);
  const float pad = line_;
  const float left = static_cast<float>(area.left) + pad;
  const float right = static_cast<float>(area.right()) - pad;
  const float width = right - left;
  float y = 0.8f * line_;
  const GameSpec& spec = session.spec();

  canvas.Text({left, y}, FitText(spec.name, 1.7f * line_, width), spec.name, kText, kBold);
  y += 2.0f * line_;
  const Player* const player = session.player();
  if (player == nullptr) {
    canvas.Text({left, y}, line_, "you play", kQuiet);
  } else if (const std::optional<std::int64_t> step = player->checkpoint_step()) {
    const Label text("%s, checkpoint of step %s", player->name().c_str(), Thousands(*step).view().data());
    canvas.Text({left, y}, FitText(text.view(), line_, width), text.view(), kQuiet);
  } else {
    canvas.Text({left, y}, line_, player->name(), kQuiet);
  }
  if (session.by_hand() && player != nullptr)
    TextRight(canvas, right, y - 1.7f * line_, line_, "by hand", kGreen);
  y += 1.8f * line_;

  canvas.FillRectangle(left, y, width, std::max(1.0f, 0.06f * line_), kLine);
  y += 0.6f * line_;
  canvas.Text({left, y + 0.75f * line_}, line_, "return", kQuiet);
  const Label value("%.2f", session.episode_return());
  TextRight(canvas, right, y, FitText(value.view(), 2.1f * line_, width - 4 * line_), value.view(), kAccent,
            kBold);
  y += 2.5f * line_;
  const auto row = [&](std::string_view name, std::string_view what) {
    canvas.Text({left, y}, line_, name, kQuiet);
    const float height = FitText(what, line_, width - TextWidth(name, line_) - 0.5f * line_);
    TextRight(canvas, right, y + (line_ - height) / 2, height, what, kText);
    y += 1.3f * line_;
  };
  row("step", Thousands(session.steps()).view());
  if (session.episodes() > 0) {
    row("episode", Label("%" PRId64 " of %" PRId64, session.episode(), session.episodes()).view());
  } else {
    row("episode", Label("%" PRId64, session.episode()).view());
  }
  row("seed", Label("%" PRIu64, session.seed()).view());
  if (player != nullptr) {
    if (const std::optional<double> epsilon = player->epsilon())
      row("epsilon", Label("%.4g", *epsilon).view());
  }
  row("speed", SpeedText(session, view.reached_speed).view());
  y += 0.3f * line_;

  const float bottom = static_cast<float>(area.bottom()) - 2.0f * line_;
  const auto count = static_cast<float>(spec.num_actions());
  const float curve_least = 5.5f * line_;
  const float actions_height = std::min(count * 1.55f * line_ + 1.6f * line_, bottom - y - curve_least);
  if (actions_height > 3.0f * line_) {
    PaintActions(session,
                 {static_cast<int>(left), static_cast<int>(y), static_cast<int>(width),
                  static_cast<int>(actions_height)},
                 canvas);
    y += actions_height + 0.4f * line_;
  }
  const float curve_height = std::min(bottom - y, 11.0f * line_);
  if (curve_height > 3.5f * line_) {
    PaintCurve(session,
               {static_cast<int>(left), static_cast<int>(y), static_cast<int>(width),
                static_cast<int>(curve_height)},
               canvas);
  }
  canvas.Text({left, static_cast<float>(area.bottom()) - 1.6f * line_}, 0.9f * line_, "H  help", kQuiet);
  if (session.paused()) {
    TextRight(canvas, right, static_cast<float>(area.bottom()) - 1.6f * line_, 0.9f * line_, "paused",
              kAccent);
  }
}

void FramePainter::PaintActions(Session& session, PixelArea area, Canvas& canvas) {
  const auto left = static_cast<float>(area.left);
  const auto width = static_cast<float>(area.width);
  auto y = static_cast<float>(area.top);
  const std::vector<ActionSpec>& actions = session.spec().actions;
  const Decision& decision = session.decision();
  const bool has_values = decision.has_q_values && decision.action != Decision::kNone;
  canvas.Text({left, y}, line_, has_values ? "actions and their values" : "actions", kQuiet);
  if (decision.action != Decision::kNone && decision.random) {
    TextRight(canvas, left + width, y, line_, "random", kRed);
  }
  y += 1.5f * line_;
  const float step =
      std::min(1.55f * line_, (static_cast<float>(area.bottom()) - y) / static_cast<float>(actions.size()));
  const float text = std::min(0.95f * line_, 0.85f * step);
  // The bars show how far an action is behind the best one, against the widest spread of late: the values
  // themselves go up and down together, which is what the curve below is for.
  float best = 0.0f;
  float spread = 1e-6f;
  if (has_values) {
    best = *std::max_element(session.q_values().begin(), session.q_values().end());
    for (std::size_t i = 0; i < session.history_size(); ++i) {
      spread = std::max(spread, session.history(i).high - session.history(i).low);
    }
  }
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const bool chosen = static_cast<int>(i) == decision.action;
    const Color color = !chosen                     ? kBlue
                        : decision.random           ? kRed
                        : session.decided_by_hand() ? kGreen
                                                    : kAccent;
    if (chosen) {
      canvas.FillRoundedRectangle(left - 0.4f * line_, y, width + 0.8f * line_, step, 0.3f * line_, kRaised);
      const float middle = y + step / 2;
      const float size = 0.22f * line_;
      const float tip = left + 0.05f * line_;
      const std::array<DrawPoint, 3> arrow = {
          {{tip - size, middle - size}, {tip + size, middle}, {tip - size, middle + size}}};
      canvas.FillPolygon(arrow, color);
    }
    const float text_top = y + (step - text) / 2;
    const float name_left = left + 0.55f * line_;
    const float name_width = has_values ? 0.4f * width : width - line_;
    canvas.Text({name_left, text_top}, FitText(actions[i].name, text, name_width - 0.3f * line_),
                actions[i].name, chosen ? kText : kQuiet);
    if (has_values) {
      const float bar_left = left + 0.42f * width;
      const float bar_right = left + 0.78f * width;
      constexpr float kLeastShare = 0.08f;
      const float share =
          1.0f - (1.0f - kLeastShare) * std::clamp((best - session.q_values()[i]) / spread, 0.0f, 1.0f);
      const float bar_height = std::max(2.0f, 0.42f * step);
      const float bar_top = y + (step - bar_height) / 2;
      canvas.FillRoundedRectangle(bar_left, bar_top, bar_right - bar_left, bar_height, bar_height / 2, kLine);
      Color fill = color;
      if (!chosen) fill.alpha = 170;
      canvas.FillRoundedRectangle(bar_left, bar_top, std::max(bar_height, share * (bar_right - bar_left)),
                                  bar_height, bar_height / 2, fill);
      const Label value("%.2f", static_cast<double>(session.q_values()[i]));
      const float height = FitText(value.view(), text, 0.2f * width);
      TextRight(canvas, left + width, y + (step - height) / 2, height, value.view(), chosen ? kText : kQuiet);
    }
    y += step;
  }
}

void FramePainter::PaintCurve(Session& session, PixelArea area, Canvas& canvas) {
  const auto left = static_cast<float>(area.left);
  const auto width = static_cast<float>(area.width);
  const auto top = static_cast<float>(area.top);
  const bool has_values = session.decision().has_q_values;
  const std::size_t size = session.history_size();
  const std::size_t capacity = session.history_capacity();
  const double seconds =
      static_cast<double>(capacity) * session.spec().ticks_per_step / session.spec().tick_rate_hz;
  const Label title("%s, last %.3g s", has_values ? "state value" : "return", seconds);
  canvas.Text({left, top}, line_, title.view(), kQuiet);
  const float box_top = top + 1.5f * line_;
  const float box_height = static_cast<float>(area.bottom()) - box_top;
  canvas.FillRoundedRectangle(left, box_top, width, box_height, 0.3f * line_, kRaised);
  if (size == 0) return;
  float low = session.history(0).value;
  float high = low;
  for (std::size_t i = 1; i < size; ++i) {
    low = std::min(low, session.history(i).value);
    high = std::max(high, session.history(i).value);
  }
  const Label last("%.2f", static_cast<double>(session.history(size - 1).value));
  TextRight(canvas, left + width, top, line_, last.view(), kText);
  const float text = 0.8f * line_;
  const Label high_text("%.3g", static_cast<double>(high));
  const Label low_text("%.3g", static_cast<double>(low));
  const float inner_top = box_top + line_;
  const float inner_height = box_height - 2.0f * line_;
  if (size >= 2) {
    const float range = std::max(high - low, 1e-6f);
    curve_.clear();
    const float step = width / static_cast<float>(capacity - 1);
    for (std::size_t i = 0; i < size; ++i) {
      const float share = high > low ? (session.history(i).value - low) / range : 0.5f;
      curve_.push_back({left + width - static_cast<float>(size - 1 - i) * step,
                        inner_top + (1.0f - share) * inner_height});
    }
    canvas.StrokePolyline(curve_, std::max(1.5f, 0.11f * line_), has_values ? kAccent : kBlue);
    canvas.FillCircle({curve_.back().x - 0.1f * line_, curve_.back().y}, 0.22f * line_, kText);
  }
  if (high > low && box_height > 3.5f * line_) {
    canvas.Text({left + 0.3f * line_, box_top + 0.1f * line_}, text, high_text.view(), kQuiet);
    canvas.Text({left + 0.3f * line_, box_top + box_height - text - 0.05f * line_}, text, low_text.view(),
                kQuiet);
  }
}

}  // namespace metronome
