#ifndef METRONOME_TESTS_GAMES_TRACE_RECORDS_H_
#define METRONOME_TESTS_GAMES_TRACE_RECORDS_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace metronome {

/// The records of a trace of an original game: text, one record a line, fields separated by single spaces,
/// the first field names the record; lines that start with '#' are comments. Every mistake throws
/// std::runtime_error that names the line.
class TraceRecords {
 public:
  /// Borrows `text`.
  explicit TraceRecords(std::string_view text) : text_(text) {}

  /// Goes on to the next line that is a record, and splits it.
  void Next();
  /// No line is left.
  bool at_end() const { return position_ == text_.size(); }

  int line() const { return line_; }  ///< Of the record, from 1.
  std::size_t size() const { return fields_.size(); }
  std::string_view operator[](std::size_t field) const { return fields_[field]; }

  /// Numbers of a field, which must exist.
  std::size_t Count(std::size_t field) const;
  bool Flag(std::size_t field) const;
  double Number(std::size_t field) const;

  /// Throws unless the condition holds.
  void Expect(bool condition, std::string_view what) const;

 private:
  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 0;
  std::vector<std::string_view> fields_;
};

/// Where the traces are: the folder named by METRONOME_TRACES, or that of the source tree.
std::filesystem::path TraceFolder();

}  // namespace metronome

#endif  // METRONOME_TESTS_GAMES_TRACE_RECORDS_H_
