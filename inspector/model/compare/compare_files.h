// The process in which a comparison with trace files is made.
#pragma once

#include <QLockFile>
#include <QTemporaryDir>

#include "inspector/model/compare/compare_model.h"

namespace tapedeck::inspector {

struct CompareModel::Files {
  std::unique_ptr<QTemporaryDir> folder;  ///< of the session's trace
  std::unique_ptr<QLockFile> lock;        ///< in it: held while it is in use
  std::unique_ptr<TraceReader> reader;
  Session session;                      ///< the reader's
  std::optional<std::uint64_t> newest;  ///< record of the session's trace
  QString opened;                       ///< the file that the reader was opened with
  RecordNumber records = 0;             ///< that the session had when its trace was saved

  QString tracePath() const {
    return folder ? folder->filePath(QStringLiteral("session.tapetrace")) : QString();
  }
  /// A reason that names the session's trace by its path.
  QString named(QString reason) const {
    if (const QString trace = tracePath(); !trace.isEmpty())
      reason.replace(trace, QStringLiteral("the session's trace"));
    return reason;
  }
  /// The reader itself may be reporting its end. The session is destroyed first, and answers no more
  /// requests.
  ~Files() {
    if (reader) reader->disconnect();
    if (reader) reader.release()->deleteLater();
  }
};

}  // namespace tapedeck::inspector
