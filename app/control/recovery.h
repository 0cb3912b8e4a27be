// Recovery files: unsaved work of a program that ended unexpectedly.
#pragma once

#include <QDateTime>
#include <QList>
#include <QObject>
#include <memory>

#include "app/notebook/document/document.h"
#include "app/notebook/document/file_io.h"

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

/// Keeps a recovery file of one document while it is modified, below the user's application data, for the
/// user alone (0600). What is typed and what cells put out goes into a journal beside it, in the first short
/// pause and at the latest after two seconds; where the disk is slow, outputs wait so that they take no more
/// than a tenth of the time. The whole notebook is written in a pause after outputs or a change of the order
/// of cells, at the latest after ten seconds, and never for more than a twentieth of the time. All of it is
/// written on threads of their own, and removed when the document is saved and when this is destroyed, so
/// only what a crash left behind stays.
class RecoveryWriter : public QObject {
  Q_OBJECT
 public:
  // Milliseconds.
  static constexpr int default_pause = 700;
  static constexpr int default_latest = 2'000;
  static constexpr int default_whole_pause = 2'000;
  static constexpr int default_whole_latest = 10'000;

  explicit RecoveryWriter(Document* document, QObject* parent = nullptr);
  ~RecoveryWriter() override;

  void setDelays(int pause, int latest);       ///< of the journal
  void setWholeDelays(int pause, int latest);  ///< of the notebook
  /// Writes the whole notebook at once where something changed since it was written; written() or failed()
  /// follows.
  void writeNow();
  /// Makes the file of an earlier process this document's own, so that it is there until the document is
  /// saved, or written here again. False where another process is already restoring it.
  bool adopt(const RecoveryEntry& entry);
  QString file() const;  ///< empty while there is none

 signals:
  void written(const QString& file);  ///< or its journal
  void failed(const QString& sentence);

 private:
  struct Private;
  void textChanged();
  void wholeChanged();
  void writeText();
  void writeWhole();
  void appended(qint64 bytes, qint64 took, const QString& failure);
  void wroteWhole(const QString& failure);

  std::unique_ptr<Private> d_;
};

/// Those of dead processes, the newest first. Files that are damaged are not listed.
QList<RecoveryEntry> pendingRecoveries();
/// The notebook in the bytes of a recovery file, as it was before what its journal has.
QByteArray withoutHeader(const QByteArray& file);
/// The notebook in the bytes of that recovery file, with what its journal has. Errors name `name`.
/// Throws NotebookError and Stopped.
NotebookData recoveredNotebook(const QString& file, const QByteArray& bytes, const QString& name,
                               const Progress& progress = {});
/// The notebook's bytes, for Document::recover(). Throws NotebookError.
QByteArray readRecovery(const RecoveryEntry& entry);
void discardRecovery(const RecoveryEntry& entry);

}  // namespace tapedeck::app
