// The journal beside a recovery file: input and output since that was written, so that a large notebook
// is not written again for each sentence typed and each line that a cell prints.
#pragma once

#include <QList>
#include <QString>
#include <QStringList>
#include <vector>

#include "app/control/journal_results.h"
#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {

struct JournalCell {
  QString id;
  CellType type = CellType::code;
  QString source;
};

/// What changed since the record before. Sources are whole: a record may be applied to a notebook that has it
/// already, and one that is missing costs nothing but its own text.
struct JournalRecord {
  QString writer;  ///< that of the recovery file which it belongs to
  quint64 number = 0;
  bool ordered = false;  ///< `order` has all cells of the notebook
  QStringList order;
  QList<JournalCell> cells;
  std::vector<JournalResults> results;
};

/// The journal's path.
QString journalOf(const QString& recoveryFile);

/// Returns how many bytes it took. Throws NotebookError; the records before are whole then, too.
qint64 appendToJournal(const QString& journal, const JournalRecord& record);

/// Removes the first `bytes`, whose records are in the notebook, too; if that fails, the journal is
/// unchanged.
void dropFromJournal(const QString& journal, qint64 bytes);

/// Those of this writer behind number `after`, as far as they can be read; empty where there is no journal.
std::vector<JournalRecord> readJournal(const QString& journal, const QString& writer, quint64 after);

/// `ids`: those that the journal has for the notebook's cells, which a file may not hold. `sizes`: of its
/// texts.
void applyJournal(NotebookData& notebook, const QStringList& ids, TextSizes sizes,
                  const std::vector<JournalRecord>& records);

}  // namespace tapedeck::app
