#ifndef METRONOME_VIEWER_FRAME_H_
#define METRONOME_VIEWER_FRAME_H_

#include <string>

#include "metronome/viewer/session.h"
#include "viewer/canvas.h"
#include "viewer/picture.h"

namespace metronome {

/// What a person chose to see.
struct ViewOptions {
  bool panel = true;
  bool help = false;
  bool senses = false;
  bool close_up = true;
  std::string notice;          ///< A line at the bottom of the picture; empty for none.
  double reached_speed = 0.0;  ///< Shown where it is below the session's; 0 while not measured.
};

/// Paints a whole frame: the game as large as fits, letterboxed, and beside it the panel. All sizes follow
/// from those of the canvas. Allocates nothing once it has painted a few frames of one size.
class FramePainter {
 public:
  void Paint(Session& session, const ViewOptions& view, Canvas& canvas);

 private:
  void PaintGame(Session& session, const ViewOptions& view, PixelArea area, Canvas& canvas);
  void PaintMap(Session& session, const CloseUp& close_up, PixelArea area, Canvas& canvas);
  void PaintPanel(Session& session, const ViewOptions& view, PixelArea area, Canvas& canvas);
  void PaintActions(Session& session, PixelArea area, Canvas& canvas);
  void PaintCurve(Session& session, PixelArea area, Canvas& canvas);
  void PaintResult(Session& session, PixelArea area, Canvas& canvas);
  void PaintHelp(Session& session, PixelArea area, Canvas& canvas);
  void PaintLabel(const std::string& text, Color color, PixelArea area, Canvas& canvas);

  float line_ = 16.0f;  // height of a line of text, pixels
  PicturePainter picture_;
  PicturePainter map_;
  std::vector<DrawPoint> curve_;
};

}  // namespace metronome

#endif  // METRONOME_VIEWER_FRAME_H_
