// Recovery files: what was not saved when the program ended without being asked to.
#pragma once

#include <QDateTime>
#include <QList>
#include <QObject>
#include <memory>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// Keeps a recovery file of one document while it is modified: written every 30 s on a thread of its own,
/// below the user's application data, for the user alone (0600). Removed when the document is saved and when
/// this is destroyed, so only what a crash left behind stays.
class RecoveryWriter : public QObject {
  Q_OBJECT
 public:
  explicit RecoveryWriter(Document* document, QObject* parent = nullptr);
  ~RecoveryWriter() override;

  void setInterval(int milliseconds);
  /// Starts a write at once where something changed since the last; written() or failed() follows.
  void writeNow();
  QString file() const;  ///< empty while there is none

 signals:
  void written(const QString& file);
  void failed(const QString& sentence);

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

/// The recovery file of a process that ended.
struct RecoveryEntry {
  QString file;
  QString path;  ///< of the notebook; empty where it was never saved
  QDateTime time;
  qint64 size = 0;
};

/// Those of dead processes, the newest first. Files that are damaged are not listed.
QList<RecoveryEntry> pendingRecoveries();
/// The notebook's bytes, for Document::recover(). Throws NotebookError.
QByteArray readRecovery(const RecoveryEntry& entry);
void discardRecovery(const RecoveryEntry& entry);

}  // namespace tapedeck::app
