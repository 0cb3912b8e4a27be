// The process in which a comparison with trace files is made.
#pragma once

#include <QTemporaryDir>

#include "inspector/model/compare/compare_model.h"

namespace tapedeck::inspector {

struct CompareModel::Files {
  std::unique_ptr<QTemporaryDir> folder;  ///< of the session's trace
  std::unique_ptr<TraceReader> reader;
  Session session;                      ///< the reader's
  std::optional<std::uint64_t> newest;  ///< record of the session's trace

  QString tracePath() const {
    return folder ? folder->filePath(QStringLiteral("session.tapetrace")) : QString();
  }
  /// It may be the reader itself that tells of its end. The session goes first, and answers nobody any more.
  ~Files() {
    if (reader) reader->disconnect();
    if (reader) reader.release()->deleteLater();
  }
};

}  // namespace tapedeck::inspector
