#include "app/shell/opening/file_control.h"

#include <QApplication>
#include <QDropEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QWidget>

#include "app/shell/opening/file_paths.h"
#include "app/shell/opening/kept_windows.h"
#include "app/shell/opening/recoveries.h"
#include "app/shell/window/samples.h"
#include "inspector/ui/confirm.h"
#include "inspector/ui/file_dialogs.h"

namespace tapedeck::app {
namespace {

constexpr char all_kinds[] = "Notebooks, Python programs and traces (*.ipynb *.py *.tapetrace)";
constexpr int patience = 300;  // milliseconds

QList<FileControl*> all;

}  // namespace

FileControl::FileControl(Document* document, Kernel* kernel, MessageBar* messages, QWidget* window)
    : QObject(window),
      document_(document),
      kernel_(kernel),
      messages_(messages),
      window_(window),
      file_(document),
      autosave_(document, &file_),
      recoveries_(std::make_unique<Recoveries>(document, messages, this)) {
  all << this;
  window_->installEventFilter(this);
  window_->setAcceptDrops(true);
  patience_.setSingleShot(true);
  patience_.setInterval(patience);
  connect(&patience_, &QTimer::timeout, this, &FileControl::showProgress);
  connect(document_, &Document::modifiedChanged, this, &FileControl::nameChanged);
  connect(&file_, &NotebookFile::loaded, this, &FileControl::loaded);
  connect(&file_, &NotebookFile::saved, this, &FileControl::saved);
  connect(&file_, &NotebookFile::loadFailed, this, &FileControl::loadFailed);
  connect(&file_, &NotebookFile::saveFailed, this, &FileControl::saveFailed);
  connect(&file_, &NotebookFile::stopped, this, &FileControl::stopped);
  connect(&file_, &NotebookFile::changedOutside, this, &FileControl::changedOutside);
  connect(&file_, &NotebookFile::asBefore, this, [this] { messages_->dismiss(about_file); });
  connect(&file_, &NotebookFile::progress, this, [this](double share) {
    share_ = share;
    if (messages_->shows(about_progress)) showProgress();
  });
}

FileControl::~FileControl() {
  all.removeAll(this);
}

// Not every file system reports what other machines write: at the latest, the file is checked when the window
// becomes active again.
bool FileControl::eventFilter(QObject* watched, QEvent* event) {
  if (watched != window_) return QObject::eventFilter(watched, event);
  if (event->type() == QEvent::WindowActivate) file_.check();
  if (event->type() == QEvent::DragEnter || event->type() == QEvent::DragMove ||
      event->type() == QEvent::Drop) {
    auto* drop = static_cast<QDropEvent*>(event);
    const QStringList paths = filesIn(drop->mimeData());
    if (paths.isEmpty()) return false;
    drop->acceptProposedAction();
    if (event->type() == QEvent::Drop)
      for (const QString& path : paths) open(path);
    return true;
  }
  return QObject::eventFilter(watched, event);
}

QString FileControl::name() const {
  return empty_ ? QString() : document_->name();
}

FileControl* FileControl::holderOf(const QString& path) {
  for (FileControl* files : all)
    if (isSameFile(files->document_->path(), path) || isSameFile(files->loading_, path) ||
        isSameFile(files->guest_, path))
      return files;
  return nullptr;
}

void FileControl::raise() {
  window_->setWindowState(window_->windowState() & ~Qt::WindowMinimized);
  window_->show();
  window_->raise();
  window_->activateWindow();
}

bool FileControl::hasNothingToLose() const {
  if (!loading_.isEmpty()) return false;
  return empty_ || (fresh_ && !document_->modified() && kernel_->state() == KernelState::stopped);
}

// ---- opening ----

void FileControl::open(const QString& path) {
  if (FileControl* holder = holderOf(path)) {
    holder->raise();
    if (holder == this && file_.stopping()) again_ = path;
  } else if (isTraceFile(path)) {
    emit traceWanted(path);
  } else if (hasNothingToLose()) {
    load(path);
  } else {
    emit elsewhere([path](FileControl& files) { files.open(path); });
  }
}

void FileControl::create() {
  if (!empty_ || !loading_.isEmpty()) {
    emit elsewhere([](FileControl& files) { files.create(); });
    return;
  }
  static int count = 0;
  document_->setOrigin(QString("Untitled%1").arg(++count), {});
  fresh_ = true;
  recoveries_->offerFor({});
  enter();
}

void FileControl::showGuest(const QString& name, const QString& path) {
  document_->setOrigin(name, {});
  guest_ = path;
  enter();
}

void FileControl::browse() {
  const QString path =
      QFileDialog::getOpenFileName(window_, "Open notebook", inspector::suggestedPath(window_, {}),
                                   QString(all_kinds) + ";;All files (*)");
  if (path.isEmpty()) return;
  if (!isSample(path)) inspector::rememberFolder(path);
  open(path);
}

void FileControl::load(const QString& path) {
  loading_ = path;
  afterLoad_ = [this, path] {
    if (!isSample(path)) addRecentNotebook(path);
    enter();
    if (document_->readOnly())
      messages_->show(
          MessageBar::Kind::information,
          QString("%1 can be read but not written. Save as… keeps your changes in another file.").arg(path));
    recoveries_->offerFor(document_->path());
  };
  patience_.start();
  if (isSample(path))
    file_.loadCopy(path, copyName(path));
  else
    file_.load(path);
}

void FileControl::reload() {
  if (!mayLoseChanges("Reload it anyway? Your changes here will be lost.", "&Reload it")) {
    file_.check();
    return;
  }
  loading_ = document_->path();
  afterLoad_ = [this] { emit told("Reloaded " + document_->path()); };
  patience_.start();
  file_.load(document_->path());
}

bool FileControl::mayLoseChanges(const QString& question, const QString& deed) {
  if (!document_->modified()) return true;
  return inspector::confirm(window_, "Unsaved changes",
                            QString("%1 has unsaved changes. %2").arg(name(), question), deed);
}

void FileControl::loaded() {
  endProgress();
  fresh_ = false;
  messages_->dismiss();
  messages_->dismiss(about_file);
  messages_->dismiss(about_autosave);
  autosaveFailure_.clear();
  lastSave_ = {};
  setSavedAt({});
  markOpen();
  std::exchange(afterLoad_, nullptr)();
  emit nameChanged();
}

void FileControl::enter() {
  empty_ = false;
  emit nameChanged();
  emit entered();
}

void FileControl::markOpen() {
  messages_->dismiss(about_others);
  if (mark_.set(document_->path())) return;
  messages_->show(
      MessageBar::Kind::warning,
      QString("%1 is also open in another Tapedeck process. When both save it, the second one asks first.")
          .arg(name().isEmpty() ? document_->name() : name()),
      {{"Make this one a copy", [this] { makeCopy(); }}}, about_others);
}

// The contents stay, the file is left to the other program.
void FileControl::makeCopy() {
  const QString name = QFileInfo(document_->path()).completeBaseName() + " (copy)";
  file_.leave(name);
  mark_.set({});
  emit nameChanged();
}

void FileControl::loadFailed(const QString& sentence) {
  endProgress();
  afterLoad_ = nullptr;
  messages_->show(MessageBar::Kind::error, sentence);
}

void FileControl::stopped() {
  endProgress();
  afterLoad_ = nullptr;
  closing_ = quitting_ = false;
  emit told("Cancelled");
  if (const QString path = std::exchange(again_, {}); !path.isEmpty()) open(path);
}

// ---- recovery ----

void FileControl::restore(const RecoveryEntry& entry) {
  if (!QFileInfo::exists(entry.file)) {
    messages_->show(MessageBar::Kind::information,
                    "Meanwhile, this work was restored or thrown away elsewhere.");
  } else if (FileControl* holder = holderOf(entry.path)) {
    if (holder != this) holder->raise();
    holder->restoreHere(entry);
  } else if (hasNothingToLose()) {
    restoreHere(entry);
  } else {
    emit elsewhere([entry](FileControl& files) { files.restoreHere(entry); });
  }
}

void FileControl::restoreHere(const RecoveryEntry& entry) {
  if (!mayLoseChanges("Replace them with what was kept?", "&Replace them")) {
    recoveries_->offerFor(document_->path());
    return;
  }
  loading_ = entry.path.isEmpty() ? entry.file : entry.path;
  afterLoad_ = [this, entry] {
    recoveries_->adopt(entry);
    recoveries_->offerFor(document_->path());
    enter();
    const bool newer = QFileInfo(entry.path).lastModified() > entry.time;
    messages_->show(
        MessageBar::Kind::information,
        entry.path.isEmpty() ? QString("Restored. Save it to keep it.")
        : newer
            ? QString("Restored. %1 was changed since then: check it before you replace it.").arg(entry.path)
            : QString("Restored. Save it to replace %1.").arg(entry.path));
  };
  patience_.start();
  file_.recover(entry);
}

// ---- progress ----

void FileControl::showProgress() {
  if (!file_.loading() && !file_.saving()) return;
  const QString sentence = QString("%1 %2: %3 %")
                               .arg(file_.loading() ? "Opening" : "Saving")
                               .arg(QFileInfo(file_.loading() ? loading_ : document_->name()).fileName())
                               .arg(static_cast<int>(share_ * 100));
  if (messages_->shows(about_progress))
    messages_->reword(about_progress, sentence);
  else
    messages_->show(MessageBar::Kind::information, sentence, {{"Cancel", [this] { file_.stop(); }}},
                    about_progress);
}

void FileControl::endProgress() {
  loading_.clear();
  share_ = 0;
  patience_.stop();
  messages_->dismiss(about_progress);
}

// ---- closing ----

bool FileControl::mayClose() {
  if (file_.saving()) {
    closing_ = true;  // it closes when everything is written
    return false;
  }
  if (empty_ || !document_->modified()) return true;
  const auto answer = inspector::askToSave(window_, QString("%1 has unsaved changes.").arg(name()),
                                           "Once it is closed, unsaved changes can't be restored.");
  if (answer == QMessageBox::Discard) return true;
  if (answer == QMessageBox::Save && saveOrAsk())
    closing_ = file_.saving();
  else
    quitting_ = false;
  return false;
}

void FileControl::goOnClosing(bool done) {
  if (!done) {
    quitting_ = false;
    return;
  }
  window_->close();
  if (quitting_) quit();
}

bool FileControl::isQuitting() {
  return quitting_;
}

void FileControl::stopQuitting() {
  quitting_ = false;
}

void FileControl::quit() {
  quitting_ = true;
  // Those that are kept running are asked about where they can be seen.
  showKeptWindows();
  qApp->closeAllWindows();
  if (all.isEmpty()) quitting_ = false;
}

}  // namespace tapedeck::app
