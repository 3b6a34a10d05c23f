#ifndef METRONOME_VIEWER_PNG_FILE_H_
#define METRONOME_VIEWER_PNG_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "viewer/canvas.h"

namespace metronome {

/// How hard to squeeze: a film of many pictures wants them soon, a screenshot small.
enum class PngEffort { kFast, kSmall };

/// The bytes of a PNG file, 8 bits for red, green and blue. Throws Error (kInputOutput).
std::string EncodePng(const Canvas& canvas, PngEffort effort);

/// Reads any PNG file. Throws Error (kInputOutput), one line that begins with `name`.
Canvas DecodePng(std::string_view bytes, const std::string& name);

/// Whole or absent.
void WritePng(const Canvas& canvas, const std::filesystem::path& path);

}  // namespace metronome

#endif  // METRONOME_VIEWER_PNG_FILE_H_
