// The first line of a recovery file: JSON with path, time and what the journal needs to know. The notebook
// follows it.
#pragma once

#include <optional>

#include "app/control/journal_results.h"
#include "app/control/recovery.h"

namespace tapedeck::app {

QStringList idsOf(const Document& document);
nlohmann::json placeOf(const Document& document);

/// `number`: of the last record of the journal that the notebook has, too.
QByteArray headerLine(const Document& document, const QDateTime& time, const QString& writer, quint64 number);

/// False where the file is damaged.
bool readHeader(const QString& file, RecoveryEntry& entry);

/// What the journal's records continue.
struct JournalBase {
  QString writer;
  quint64 number = 0;
  QStringList cells;  ///< their ids
  TextSizes sizes;
};
std::optional<JournalBase> journalBase(const QByteArray& line);

}  // namespace tapedeck::app
