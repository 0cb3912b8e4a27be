// FileControl: saving, by the user and by itself, and what another program does to the file.
#include <QInputDialog>

#include "app/shell/opening/file_control.h"
#include "app/shell/opening/file_paths.h"
#include "app/shell/opening/recoveries.h"
#include "app/shell/window/samples.h"
#include "inspector/ui/file_dialogs.h"

namespace tapedeck::app {
namespace {

constexpr char notebooks[] = "Notebooks (*.ipynb)";
constexpr char programs[] = "Python programs (*.py)";

}  // namespace

void FileControl::save() {
  saveOrAsk();
}

void FileControl::saveAs() {
  const QString suffix = document_->path().isEmpty() ? ".ipynb" : "";
  const QStringList kinds =
      isScript(document_->path()) ? QStringList{programs, notebooks} : QStringList{notebooks, programs};
  const QString path = inspector::askForPath(window_, "Save notebook as", name() + suffix, kinds.join(";;"));
  if (!path.isEmpty()) write(path);
}

/// False: the user does not want to.
bool FileControl::saveOrAsk() {
  const QString path = pathToSave();
  if (!path.isEmpty()) write(path);
  return !path.isEmpty();
}

QString FileControl::pathToSave() {
  const QString path = document_->path();
  return path.isEmpty() ? inspector::askForPath(window_, "Save notebook", name() + ".ipynb", notebooks)
                        : path;
}

void FileControl::saveAndClose(const QString& path) {
  closing_ = true;
  write(path);
}

void FileControl::write(const QString& path) {
  if (isSample(path)) {
    refuse(QString("%1 is a sample that comes with the program: it can't be overwritten.").arg(path));
    return;
  }
  if (const FileControl* holder = holderOf(path); holder && holder != this) {
    refuse(QString("%1 is open in another window: it would lose its file.").arg(path));
    return;
  }
  patience_.start();
  file_.save(path);
}

void FileControl::saved(const QString& path) {
  endProgress();
  fresh_ = false;
  messages_->dismiss(about_file);
  messages_->dismiss(about_autosave);
  autosaveFailure_.clear();
  lastSave_ = QTime::currentTime();
  setSavedAt("saved " + lastSave_.toString("HH:mm"));
  if (!file_.automatic()) {
    addRecentNotebook(path);
    markOpen();
    emit told(QString("Saved %1").arg(path));
  }
  emit nameChanged();
  if (std::exchange(closing_, false)) goOnClosing(true);
}

void FileControl::setSavedAt(const QString& sentence) {
  savedAt_ = sentence;
  emit savedAtChanged();
}

/// Said once, however often it is tried.
void FileControl::autosaveFailed(const QString& sentence) {
  setSavedAt(lastSave_.isValid() ? "not saved since " + lastSave_.toString("HH:mm") : QString("not saved"));
  if (std::exchange(autosaveFailure_, sentence) == sentence) return;
  messages_->show(MessageBar::Kind::warning, QString("Autosave failed and will try again. %1").arg(sentence),
                  {{"Save as…", [this] { saveAs(); }}}, about_autosave);
}

void FileControl::askAutosaveInterval() {
  bool given = false;
  const int seconds = QInputDialog::getInt(
      window_, "Autosave interval", "Seconds between two automatic saves of a notebook that has changes.",
      Autosave::seconds(), Autosave::least_seconds, Autosave::most_seconds, 1, &given);
  if (given) Autosave::setSeconds(seconds);
}

void FileControl::saveFailed(const QString& sentence) {
  endProgress();
  if (file_.automatic() && !closing_) return autosaveFailed(sentence);
  refuse(sentence);
}

void FileControl::refuse(const QString& sentence) {
  closing_ = quitting_ = false;
  messages_->show(MessageBar::Kind::error, sentence, {{"Save as…", [this] { saveAs(); }}});
}

void FileControl::changedOutside(NotebookFile::Outside what, bool saving) {
  endProgress();
  if (saving) closing_ = quitting_ = false;
  const QString file = document_->name();
  const MessageBar::Choice another{"Save as…", [this] { saveAs(); }};
  if (what == NotebookFile::Outside::removed) {
    document_->markUnsaved();
    messages_->show(
        MessageBar::Kind::warning,
        QString("%1 was deleted or moved by another program: what you see is no longer saved anywhere.")
            .arg(file),
        {{"Save it again", [this] { write(document_->path()); }}, another}, about_file);
    return;
  }
  const QString happened = saving
                               ? QString("%1 was changed by another program, so it was not saved.").arg(file)
                               : QString("%1 was changed by another program.").arg(file);
  messages_->show(MessageBar::Kind::warning, happened,
                  {{"Reload", [this] { reload(); }},
                   {saving ? "Replace it with mine" : "Keep mine",
                    [this, saving] {
                      file_.keepMine();
                      document_->markUnsaved();
                      if (saving) write(document_->path());
                    }},
                   another},
                  about_file);
}

}  // namespace tapedeck::app
