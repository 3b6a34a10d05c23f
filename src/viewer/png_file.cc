#include "viewer/png_file.h"

#include <png.h>

#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <vector>

#include "metronome/core/check.h"
#include "metronome/core/error.h"
#include "metronome/core/file.h"

namespace metronome {
namespace {

constexpr int kFastLevel = 1;  // of zlib, 1 .. 9
constexpr int kSmallLevel = 9;

void AppendBytes(png_structp png, png_bytep bytes, png_size_t count) {
  auto* const out = static_cast<std::string*>(png_get_io_ptr(png));
  out->append(reinterpret_cast<const char*>(bytes), count);
}

void NothingToFlush(png_structp) {}

// libpng leaves by longjmp(), so nothing here may have a destructor.
bool Encode(png_structp png, png_infop info, const Canvas& canvas, PngEffort effort, std::uint8_t* row,
            std::string* out) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(png, out, AppendBytes, NothingToFlush);
  png_set_IHDR(png, info, static_cast<png_uint_32>(canvas.width()), static_cast<png_uint_32>(canvas.height()),
               8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, effort == PngEffort::kFast ? kFastLevel : kSmallLevel);
  png_set_filter(png, 0, effort == PngEffort::kFast ? PNG_FILTER_SUB : PNG_ALL_FILTERS);
  png_write_info(png, info);
  for (int y = 0; y < canvas.height(); ++y) {
    const std::uint32_t* const line =
        canvas.pixels().data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(canvas.width());
    for (int x = 0; x < canvas.width(); ++x) {
      row[3 * x] = static_cast<std::uint8_t>(line[x] >> 16);
      row[3 * x + 1] = static_cast<std::uint8_t>(line[x] >> 8);
      row[3 * x + 2] = static_cast<std::uint8_t>(line[x]);
    }
    png_write_row(png, row);
  }
  png_write_end(png, info);
  return true;
}

}  // namespace

std::string EncodePng(const Canvas& canvas, PngEffort effort) {
  METRONOME_CHECK(canvas.width() > 0 && canvas.height() > 0);
  std::string bytes;
  std::vector<std::uint8_t> row(3 * static_cast<std::size_t>(canvas.width()));
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool good = info != nullptr && Encode(png, info, canvas, effort, row.data(), &bytes);
  png_destroy_write_struct(&png, &info);
  if (!good) throw Error(ExitCode::kInputOutput, "libpng could not encode a picture");
  return bytes;
}

Canvas DecodePng(std::string_view bytes, const std::string& name) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  constexpr png_uint_32 kLongestSide = 16384;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0 ||
      image.width > kLongestSide || image.height > kLongestSide) {
    png_image_free(&image);
    throw Error(ExitCode::kInputOutput, name + ": not a PNG file: " + image.message);
  }
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) == 0) {
    throw Error(ExitCode::kInputOutput, name + ": damaged PNG file: " + image.message);
  }
  Canvas canvas(static_cast<int>(image.width), static_cast<int>(image.height));
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      const std::uint8_t* const pixel =
          pixels.data() + 3 * (static_cast<std::size_t>(y) * image.width + static_cast<std::size_t>(x));
      canvas.Set(x, y, {pixel[0], pixel[1], pixel[2]});
    }
  }
  return canvas;
}

void WritePng(const Canvas& canvas, const std::filesystem::path& path) {
  WriteFileWhole(path, EncodePng(canvas, PngEffort::kSmall));
}

}  // namespace metronome
