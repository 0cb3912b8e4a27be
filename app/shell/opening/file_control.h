// The window's notebook as a file: opening, saving, closing.
#pragma once

#include <QObject>
#include <QTime>
#include <QTimer>
#include <functional>
#include <memory>

#include "app/control/autosave.h"
#include "app/control/notebook_file.h"
#include "app/control/open_mark.h"
#include "app/kernel/kernel.h"
#include "app/shell/window/message_bar.h"

namespace tapedeck::app {

class Recoveries;
struct RecoveryEntry;

/// The message bar shows errors. Nothing here waits for a disk: what takes longer than a moment shows its
/// progress, and can be cancelled.
class FileControl : public QObject {
  Q_OBJECT
 public:
  /// `window`: the parent of dialogs.
  FileControl(Document* document, Kernel* kernel, MessageBar* messages, QWidget* window);
  ~FileControl() override;

  /// In this window where it has nothing to lose, else elsewhere(); a window that has the notebook already
  /// comes to the front. A sample is opened as a copy: its file belongs to the program.
  void open(const QString& path);
  void create();
  /// Asks which one to open.
  void browse();
  void save();
  void saveAs();
  /// Asks for the seconds between two automatic saves.
  void askAutosaveInterval();
  /// Asks about changes that are not saved. False: the window stays, for good or until they are saved; then
  /// it closes by itself.
  bool mayClose();
  /// The other work that the window waited for before it closes is done; or (false) was cancelled.
  void goOnClosing(bool done);
  /// The path to save to; asks for one where the notebook has no file. Empty: the user cancelled.
  QString pathToSave();
  /// The window closes when it is saved there.
  void saveAndClose(const QString& path);
  /// Closes all windows, those that are hidden too; goes on when one that must save first has done so.
  static void quit();
  static bool isQuitting();
  static void stopQuitting();
  /// Brings the window to the front, also one that was closed while its session goes on.
  void raise();

  /// Something is read or written.
  bool busy() const { return file_.loading() || file_.saving(); }
  /// Reading or writing that takes less shows no progress (300 ms).
  void setPatience(int milliseconds) { patience_.setInterval(milliseconds); }
  /// No notebook yet.
  bool empty() const { return empty_; }
  /// The notebook's name in messages: its file's, or "Untitled2".
  QString name() const;
  Autosave* autosave() { return &autosave_; }
  /// In words: "saved 10:41", "not saved since 10:41"; empty before the first save.
  const QString& savedAt() const { return savedAt_; }
  Recoveries* recoveries() const { return recoveries_.get(); }
  /// The window shows a program or a trace called `name`, not a file to edit: there is nothing to save, and
  /// other files open elsewhere. `path`: of what it shows, if that is a file.
  void showGuest(const QString& name, const QString& path = {});
  /// Where work of an earlier run is put: an empty window, one with that notebook, else one of its own.
  void restore(const RecoveryEntry& entry);

 signals:
  /// The file is a trace: a window of its own shows it.
  void traceWanted(const QString& path);
  /// The first notebook came, or another one.
  void entered();
  void nameChanged();
  void savedAtChanged();
  /// A success message: for the status bar.
  void told(const QString& sentence);
  /// To be done with a window of its own.
  void elsewhere(const std::function<void(tapedeck::app::FileControl&)>& act);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  static FileControl* holderOf(const QString& path);
  bool hasNothingToLose() const;
  bool mayLoseChanges(const QString& question, const QString& deed);
  void load(const QString& path);
  void reload();
  void restoreHere(const RecoveryEntry& entry);
  void loaded();
  void enter();
  void markOpen();
  void write(const QString& path);
  bool saveOrAsk();
  void saved(const QString& path);
  void loadFailed(const QString& sentence);
  void saveFailed(const QString& sentence);
  void refuse(const QString& sentence);
  void autosaveFailed(const QString& sentence);
  void setSavedAt(const QString& sentence);
  void stopped();
  void showProgress();
  void endProgress();
  void changedOutside(NotebookFile::Outside what, bool saving);
  void makeCopy();

  // Topics of messages.
  static constexpr char about_file[] = "file";
  static constexpr char about_progress[] = "file.progress";
  static constexpr char about_others[] = "file.others";
  static constexpr char about_autosave[] = "file.autosave";

  static inline bool quitting_ = false;

  Document* document_;
  Kernel* kernel_;
  MessageBar* messages_;
  QWidget* window_;
  NotebookFile file_;
  Autosave autosave_;
  OpenMark mark_;
  std::unique_ptr<Recoveries> recoveries_;
  std::function<void()> afterLoad_;
  QString loading_;  ///< the path of what is being read
  QString guest_;    ///< the path of the program or trace that is shown
  QString again_;    ///< asked for while it was being cancelled
  QTimer patience_;  ///< what is done before it ends needs no progress
  double share_ = 0;
  QString savedAt_;
  QTime lastSave_;
  QString autosaveFailure_;  ///< that was told
  bool empty_ = true;
  bool fresh_ = false;  ///< made here, and nothing in it
  bool closing_ = false;
};

}  // namespace tapedeck::app
