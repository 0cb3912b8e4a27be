#include "app/shell/file_control.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLocale>
#include <QMessageBox>

#include "app/control/recovery.h"
#include "app/shell/samples.h"
#include "inspector/ui/file_dialogs.h"

namespace tapedeck::app {

namespace {
constexpr char notebooks[] = "Notebooks (*.ipynb)";
constexpr char recovery_topic[] = "recovery";
}  // namespace

FileControl::FileControl(Document* document, KernelSession* kernel, MessageBar* messages, QWidget* window)
    : QObject(window),
      document_(document),
      kernel_(kernel),
      messages_(messages),
      window_(window),
      recovery_(std::make_unique<RecoveryWriter>(document)) {
  connect(document_, &Document::modifiedChanged, this, &FileControl::nameChanged);
}

FileControl::~FileControl() = default;

QString FileControl::name() const {
  if (empty_) return {};
  return document_->path().isEmpty() ? QString("Untitled%1").arg(untitled_)
                                     : QFileInfo(document_->path()).fileName();
}

void FileControl::open(const QString& path) {
  const bool untouched =
      document_->path().isEmpty() && !document_->modified() && kernel_->state() == KernelState::stopped;
  if (empty_ || untouched)
    load(path);
  else
    emit elsewhere([path](FileControl& files) { files.open(path); });
}

void FileControl::create() {
  if (!empty_) {
    emit elsewhere([](FileControl& files) { files.create(); });
    return;
  }
  static int count = 0;
  untitled_ = ++count;
  enter();
}

void FileControl::browse() {
  const QString path = QFileDialog::getOpenFileName(window_, "Open notebook", suggestedPath(window_, {}),
                                                    QString(notebooks) + ";;All files (*)");
  if (path.isEmpty()) return;
  rememberFolder(path);
  open(path);
}

void FileControl::load(const QString& path) {
  try {
    document_->load(path);
  } catch (const NotebookError& error) {
    messages_->show(MessageBar::Kind::error, error.what());
    return;
  }
  messages_->dismiss();
  addRecentNotebook(path);
  enter();
  if (document_->readOnly())
    messages_->show(
        MessageBar::Kind::information,
        QString("%1 can be read but not written. Save as… keeps your changes in another file.").arg(path));
}

void FileControl::enter() {
  empty_ = false;
  emit nameChanged();
  emit entered();
}

void FileControl::save() {
  saveOrAsk();
}

void FileControl::saveAs() {
  const QString path = askForPath(window_, "Save notebook as", name(), notebooks);
  if (!path.isEmpty()) write(path);
}

bool FileControl::saveOrAsk() {
  if (!document_->path().isEmpty()) return write(document_->path());
  const QString path = askForPath(window_, "Save notebook", name() + ".ipynb", notebooks);
  return !path.isEmpty() && write(path);
}

bool FileControl::write(const QString& path) {
  try {
    document_->save(path);
  } catch (const NotebookError& error) {
    messages_->show(MessageBar::Kind::error, error.what(), {{"Save as…", [this] { saveAs(); }}});
    return false;
  }
  addRecentNotebook(path);
  emit nameChanged();
  emit told(QString("Saved %1").arg(path));
  return true;
}

bool FileControl::mayClose() {
  if (empty_ || !document_->modified()) return true;
  QMessageBox box(QMessageBox::Question, "Unsaved changes",
                  QString("%1 has changes that are not saved.")
                      .arg(document_->path().isEmpty() ? "This notebook" : name()),
                  QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, window_);
  box.setDefaultButton(QMessageBox::Save);
  const int answer = box.exec();
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && saveOrAsk());
}

void FileControl::offerRecoveries() {
  const QList<RecoveryEntry> entries = pendingRecoveries();
  if (entries.isEmpty()) return;
  const RecoveryEntry entry = entries.first();
  const QString name =
      entry.path.isEmpty() ? QString("a notebook that was never saved") : QFileInfo(entry.path).fileName();
  messages_->show(MessageBar::Kind::warning,
                  QString("Tapedeck ended unexpectedly. Unsaved work on %1 from %2 was kept.")
                      .arg(name, QLocale().toString(entry.time, QLocale::ShortFormat)),
                  {{"Restore it", [this, entry] { restore(entry); }},
                   {"Throw it away",
                    [this, entry] {
                      discardRecovery(entry);
                      offerRecoveries();
                    }}},
                  recovery_topic);
}

void FileControl::restore(const RecoveryEntry& entry) {
  try {
    document_->recover(readRecovery(entry), entry.path);
  } catch (const NotebookError& error) {
    messages_->show(MessageBar::Kind::error, error.what());
    return;
  }
  discardRecovery(entry);
  enter();
  messages_->show(MessageBar::Kind::information,
                  entry.path.isEmpty() ? QString("Restored. Save it to keep it.")
                                       : QString("Restored. Save it to replace %1.").arg(entry.path));
}

}  // namespace tapedeck::app
