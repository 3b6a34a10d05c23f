#ifndef METRONOME_TRAIN_CSV_ROW_H_
#define METRONOME_TRAIN_CSV_ROW_H_

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "metronome/core/check.h"

namespace metronome {

/// One row of a table, put together in fixed memory. A value that does not exist is an empty field.
class CsvRow {
 public:
  CsvRow& Add(std::int64_t value) {
    Separate();
    return Put(std::to_chars(at_, end_, value));
  }
  /// The shortest text that reads back to the same double.
  CsvRow& Add(double value) {
    Separate();
    return Put(std::to_chars(at_, end_, value));
  }
  CsvRow& Add(double value, int decimals) {
    Separate();
    return Put(std::to_chars(at_, end_, value, std::chars_format::fixed, decimals));
  }
  CsvRow& Add(std::optional<double> value) { return value ? Add(*value) : Add(std::string_view()); }
  CsvRow& Add(std::string_view text) {
    Separate();
    METRONOME_CHECK_LT(static_cast<std::ptrdiff_t>(text.size()), end_ - at_);
    at_ = std::copy(text.begin(), text.end(), at_);
    return *this;
  }
  /// The whole row with its line end; the row can't grow after.
  std::string_view Finish() {
    METRONOME_CHECK_LT(at_, end_);
    *at_++ = '\n';
    return {text_.data(), static_cast<std::size_t>(at_ - text_.data())};
  }

 private:
  void Separate() {
    if (!started_) {
      started_ = true;
      return;
    }
    METRONOME_CHECK_LT(at_, end_);
    *at_++ = ',';
  }
  CsvRow& Put(std::to_chars_result result) {
    METRONOME_CHECK(result.ec == std::errc());
    at_ = result.ptr;
    return *this;
  }

  std::array<char, 1024> text_;
  bool started_ = false;
  char* at_ = text_.data();
  char* const end_ = text_.data() + text_.size();
};

}  // namespace metronome

#endif  // METRONOME_TRAIN_CSV_ROW_H_
