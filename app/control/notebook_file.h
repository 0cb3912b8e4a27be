// A document and its file: read and written on a thread of their own, and watched for other programs'
// writing.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QThreadPool>
#include <QTimer>
#include <atomic>
#include <functional>
#include <memory>

#include "app/control/recovery.h"
#include "app/notebook/document/document.h"
#include "app/notebook/document/file_io.h"

namespace tapedeck::app {

class NotebookFile : public QObject {
  Q_OBJECT
 public:
  explicit NotebookFile(Document* document, QObject* parent = nullptr);
  /// Waits until what is being written is written; what is being read is left.
  ~NotebookFile() override;

  enum class Outside { changed, removed };

  /// Replaces the document's contents: loaded(), loadFailed() or stopped() follows. Small files are
  /// read at once: that takes less than a frame.
  void load(const QString& path);
  /// The same, as a copy that is saved nowhere yet and whose session runs beside the file.
  void loadCopy(const QString& path, const QString& name);
  /// The same from the recovery file of an earlier process: modified until it is saved where it belongs.
  void recover(const RecoveryEntry& entry);
  /// Writes what the document has now, whatever is changed meanwhile: saved() or failed() follows, or
  /// changedOutside() where the document's own file is not the one that was read or written here last. A
  /// second save waits for the first.
  void save(const QString& path);
  /// Autosave to the document's own file; does nothing while another job runs. A file that is gone is not
  /// created again; changedOutside() reports it.
  void saveAutomatically();
  /// The save that is running, or has just ended, is an autosave.
  bool automatic() const { return automatic_; }
  /// Autosave may write the file: no other program changed it, and this document was not restored after a
  /// crash (its user decides whether it replaces the file).
  bool mayReplaceUnasked() const { return !reported_ && !restored_; }
  /// Cancels the running job; a file on disk is unchanged.
  void stop();
  bool stopping() const { return (work_ == Work::load || work_ == Work::save) && *stop_; }
  bool loading() const { return work_ == Work::load; }
  bool saving() const { return work_ == Work::save || !waitingSave_.isEmpty(); }

  /// What is on disk now may be replaced by the next save.
  void keepMine();
  /// Detaches the document from its file: it becomes an unsaved copy called `name`.
  void leave(const QString& name);
  /// Checks whether another program changed the file; changedOutside() follows if so.
  void check();

 signals:
  void loaded();
  void saved(const QString& path);
  void loadFailed(const QString& sentence);
  void saveFailed(const QString& sentence);
  void stopped();
  /// From 0 to 1, of what runs now.
  void progress(double share);
  /// Another program wrote or removed the document's file. `saving`: found when it was to be replaced, so
  /// that nothing was written.
  void changedOutside(tapedeck::app::NotebookFile::Outside what, bool saving);
  /// What changedOutside() reported no longer holds.
  void asBefore();

 private:
  enum class Work { none, load, save, check };
  struct Loaded;
  struct Written;

  void read(const std::shared_ptr<Loaded>& loaded);
  void finishLoad(Loaded& loaded);
  void finishSave(const QString& path, const Written& written);
  void startSave(const QString& path, bool automatic);
  void finishCheck(bool same, const FileState& found);
  void setKnown(const FileState& state);
  void belongsTo(const QDateTime& time);
  void watch();
  void next();
  Progress progressTeller(Work work);

  Document* document_;
  QThreadPool pool_;
  QFileSystemWatcher watcher_;
  QTimer settle_;  ///< one write causes several notifications
  Work work_ = Work::none;
  std::shared_ptr<std::atomic<bool>> stop_;
  Document::Snapshot snapshot_;  ///< of the save that runs; here, so that it is destroyed on this thread
  QString waitingSave_;
  bool waitingCheck_ = false;
  bool automatic_ = false;
  bool restored_ = false;
  quint64 edits_ = 0;        ///< of the user, in the document
  FileState known_;          ///< the document's file when it was read or written here
  bool knownBytes_ = false;  ///< and it holds the document's fileBytes()
  FileState told_;           ///< what changedOutside() last reported
  bool reported_ = false;
};

}  // namespace tapedeck::app
