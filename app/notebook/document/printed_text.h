// What a program printed on one stream, however long it is.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapedeck::app {

/// The end of the text is in memory, what is before it in a temporary file that only its owner can read and
/// that has no name: it goes with the last copy of the text. A copy costs what its part in memory costs.
///
/// The text is read by rows: a line, or a piece of at most row_bytes of a longer one. All but bytes() and
/// stored() belong to one thread; these two may be called for a copy on any.
class PrintedText {
 public:
  static constexpr std::size_t row_bytes = 1'000;
  /// A text that reached it drops what is appended.
  static constexpr std::size_t most_bytes = std::size_t{2} << 30;
  /// What stays in memory where the file can't be written; more is left out.
  static constexpr std::size_t most_without_file = std::size_t{8} << 20;

  struct Row {
    std::string text;        ///< without the line break
    std::string style;       ///< the colour sequences in force where it begins
    bool continued = false;  ///< its line goes on in the next row
  };

  PrintedText() = default;
  /// All of it in memory, until something is appended.
  explicit PrintedText(std::string text);

  /// As a terminal would show it: see appendStreamText(). What a carriage return takes back is limited to the
  /// last line, and to the end of a very long one. Returns how many bytes stayed as they were.
  std::size_t append(const std::string& text);
  /// The first `keep` bytes stay, `rest` comes behind them as it is.
  void replaceFrom(std::size_t keep, std::string_view rest);

  std::size_t size() const { return inFile_ + tail_.size(); }
  std::size_t lines() const;  ///< an unfinished one counts
  std::size_t rows() const { return indexedRows_ + openRows_.size(); }
  std::vector<Row> read(std::size_t first, std::size_t count) const;
  std::size_t rowAt(std::size_t byte) const;  ///< the row that it belongs to

  std::string bytes(std::size_t begin, std::size_t end) const;
  std::string all() const { return bytes(0, size()); }

  /// What a file keeps of it where `limit` bytes are too few for all: as many whole lines of its beginning
  /// and of its end as fit, and a line in between that says how many are missing. A limit of 0 is none.
  std::string stored(std::size_t limit) const;
  /// Lines that stored() leaves out; 0: none.
  std::size_t linesNotStored(std::size_t limit) const;

  /// Why a part of it is not kept, and how much; empty: all of it is kept.
  std::string trouble() const;

 private:
  struct Checkpoint {
    std::size_t offset = 0, line = 0;
    std::string style;
  };
  /// Shared by copies, each of which knows how much of it is its own.
  struct Store {
    ~Store();
    int file = -1;
    std::size_t end = 0;
    std::vector<Checkpoint> checkpoints;
  };
  struct Parts {
    std::size_t headEnd = 0, tailBegin = 0;
    std::size_t left = 0;  ///< lines between them
  };

  void fork();
  void index();
  void addRows(std::string_view line);
  void findOpenRows();
  void spill();
  bool writeOut(std::string_view text);
  std::string gapNote() const;
  Parts parts(std::size_t limit) const;
  std::size_t lineBreaks(std::size_t begin, std::size_t end) const;

  std::shared_ptr<Store> store_;
  std::size_t inFile_ = 0;
  std::size_t checkpoints_ = 0;
  std::string tail_;
  std::size_t indexed_ = 0;  ///< bytes of finished rows
  std::size_t indexedRows_ = 0;
  std::size_t breaks_ = 0;             ///< line breaks in them
  std::string style_;                  ///< in force behind them
  std::vector<std::size_t> openRows_;  ///< where the rows of the unfinished line begin
  std::string failure_;                ///< of the file
  /// All in all, and since something was kept last.
  std::size_t leftOutBytes_ = 0, leftOutLines_ = 0, gapBytes_ = 0, gapLines_ = 0;
};

/// Where the row that begins at `begin` ends in `line`: row_bytes further on, between two characters.
std::size_t rowEnd(std::string_view line, std::size_t begin);

/// "1,234 lines", "1 line"; "66.8 MB": as in all sentences on printed text.
std::string linesText(std::size_t lines);
std::string sizeText(std::size_t bytes);

}  // namespace tapedeck::app
