// The outputs of cells since the journal beside a recovery file was last written; of a long text, its new
// part.
#pragma once

#include <QHash>
#include <QString>
#include <map>
#include <optional>
#include <vector>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {

/// One output: all of it, or the end of a text that goes on.
struct JournalOutput {
  std::size_t at = 0;  ///< its place in the cell's outputs
  nlohmann::ordered_json output;
  bool whole = true;                   ///< `output` is all of it, but for a long text's
  std::size_t kept = 0;                ///< else: bytes of the text before that stay
  std::string text;                    ///< behind them, where `printed` has nothing
  std::size_t size = 0;                ///< bytes of the whole text in the window
  std::size_t lines = 0;               ///< read back: lines that are missing before `text`,
  std::size_t missing = 0;             ///< and their bytes
  std::optional<PrintedText> printed;  ///< of a long text, which is read by the thread that writes
};

struct JournalResults {
  QString id;
  int executionCount = 0;
  nlohmann::ordered_json times;  ///< Document::setExecutionTimes(); null: none
  bool anew = false;             ///< no output of the record before stays
  std::vector<JournalOutput> outputs;
};

/// Bytes of texts that a file has a part of, by cell and output: the part ends where the text does.
using TextSizes = QHash<QString, std::map<std::size_t, std::size_t>>;
TextSizes cutTexts(const Document& document, std::size_t limit);

/// Which outputs of which cells the journal does not have as they are.
class ResultChanges {
 public:
  void add(const QString& cell, const OutputChange& change);
  void add(const ResultChanges& others);
  void clear() { cells_.clear(); }
  bool empty() const { return cells_.isEmpty(); }
  /// Costs what the changed outputs cost, and of a long text the part in memory.
  std::vector<JournalResults> of(const Document& document) const;

 private:
  struct Cell {
    bool anew = false;
    std::map<std::size_t, std::size_t> kept;  ///< by output; 0: nothing of it stays
  };
  QHash<QString, Cell> cells_;
};

/// A record has at most recovery_output_limit bytes of each text: of more the end, and how much is missing.
nlohmann::ordered_json resultsJson(const std::vector<JournalResults>& results);
bool readResults(const nlohmann::ordered_json& from, std::vector<JournalResults>& results);
/// `sizes`: of this cell's texts, before and after. Makes nothing that a notebook's file may not hold.
void applyResults(CellData& cell, const JournalResults& results, std::map<std::size_t, std::size_t>& sizes);

}  // namespace tapedeck::app
