// Recovery files: what was not saved when the program ended without being asked to.
#pragma once

#include <QDateTime>
#include <QList>
#include <QObject>
#include <memory>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// The recovery file of a process that ended.
struct RecoveryEntry {
  QString file;
  QString path;  ///< of the notebook; empty where it was never saved
  QString name;  ///< what people call a notebook without a file, and where its session ran
  QString folder;
  QDateTime time;
  qint64 size = 0;
};

/// Keeps a recovery file of one document while it is modified: written on a thread of its own in the first
/// pause of its changes, and while they go on at the latest every 30 s; below the user's application data,
/// for the user alone (0600). Removed when the document is saved and when this is destroyed, so only what a
/// crash left behind stays.
class RecoveryWriter : public QObject {
  Q_OBJECT
 public:
  static constexpr int default_pause = 2'000;  // milliseconds
  static constexpr int default_latest = 30'000;

  explicit RecoveryWriter(Document* document, QObject* parent = nullptr);
  ~RecoveryWriter() override;

  void setDelays(int pause, int latest);
  /// Starts a write at once where something changed since the last; written() or failed() follows.
  void writeNow();
  /// Makes the file of an earlier process this document's own, so that it is there until the document is
  /// saved, or written here again. False where it can't be had: another process restores it.
  bool adopt(const RecoveryEntry& entry);
  QString file() const;  ///< empty while there is none

 signals:
  void written(const QString& file);
  void failed(const QString& sentence);

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

/// Those of dead processes, the newest first. Files that are damaged are not listed.
QList<RecoveryEntry> pendingRecoveries();
/// The notebook in the bytes of a recovery file.
QByteArray withoutHeader(const QByteArray& file);
/// The notebook's bytes, for Document::recover(). Throws NotebookError.
QByteArray readRecovery(const RecoveryEntry& entry);
void discardRecovery(const RecoveryEntry& entry);

}  // namespace tapedeck::app
