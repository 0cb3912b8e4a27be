#include "app/shell/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QSettings>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/control/recovery.h"
#include "app/notebook/view/notebook_view.h"
#include "app/shell/dock_shares.h"
#include "app/shell/panel_docks.h"
#include "app/shell/playback_bar.h"
#include "app/shell/samples.h"
#include "app/shell/start_page.h"

namespace tapedeck::app {

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      document_(new Document(this)),
      kernel_(new KernelSession(this)),
      runner_(new CellRunner(document_, kernel_, this)),
      session_(new inspector::Session(this)),
      series_(new inspector::SeriesModel(session_, this)),
      cellNames_(new inspector::CellNames(this)),
      stepper_(new Stepper(session_, runner_, kernel_, this)),
      actions_(new Actions(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
  session_->setSource(kernel_->debugSource());
  buildCentre();
  buildPanels();
  buildMenus();
  buildToolBar();
  buildStatusBar();
  connectActions();
  connectCellActions();
  connectSession();

  resize(1280, 800);
  shares_ = new DockShares(this, docks_->docks());
  resetLayout();
  QSettings settings;
  restoreGeometry(settings.value("window/geometry").toByteArray());
  restoreState(settings.value("window/state").toByteArray());
  showNotebook();
  updateTitle();
  updateState();
  offerRecoveries();
}

// The session's last words (its process ends now) must not reach a window that is half gone.
MainWindow::~MainWindow() {
  for (QObject* sender :
       {static_cast<QObject*>(kernel_), static_cast<QObject*>(session_), static_cast<QObject*>(document_)})
    sender->disconnect(this);
  kernel_->disconnect();
  session_->setSource(nullptr);
  // Views before the models that they read.
  delete std::exchange(docks_, nullptr);
  delete takeCentralWidget();
  delete kernel_;
}

void MainWindow::buildCentre() {
  auto* centre = new QWidget;
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  messages_ = new MessageBar;
  column->addWidget(messages_);
  pages_ = new QStackedWidget;
  column->addWidget(pages_, 1);
  auto* start = new StartPage;
  connect(start, &StartPage::openRequested, this, &MainWindow::openNotebook);
  connect(start, &StartPage::newRequested, this, &MainWindow::newNotebook);
  connect(start, &StartPage::browseRequested, this, &MainWindow::browse);
  pages_->addWidget(start);
  notebook_ = new NotebookView(document_);
  pages_->addWidget(notebook_);
  centre->setMinimumWidth(320);
  setCentralWidget(centre);
}

// The start page has the window for itself; with a notebook come the panels.
void MainWindow::showNotebook() {
  pages_->setCurrentIndex(onStartPage_ ? 0 : 1);
  if (onStartPage_) docks_->hideAll();
  docks_->setEnabled(!onStartPage_);
  playback_->parentWidget()->setVisible(!onStartPage_);
  toolBar_->setVisible(!onStartPage_);
  for (const QString& id : actions_->ids())
    if (id.startsWith("cell.") || id.startsWith("edit.") || id.startsWith("session.") ||
        id.startsWith("step.") || id.startsWith("view.") || id.startsWith("file.save"))
      (*actions_)[id]->setEnabled(!onStartPage_);
}

void MainWindow::openNotebook(const QString& path) {
  const bool untouched =
      document_->path().isEmpty() && !document_->modified() && kernel_->state() == KernelState::stopped;
  if (onStartPage_ || untouched) {
    load(path);
    return;
  }
  auto* window = new MainWindow;
  window->move(pos() + QPoint(32, 32));
  window->show();
  window->openNotebook(path);
}

void MainWindow::newNotebook() {
  if (!onStartPage_) {
    auto* window = new MainWindow;
    window->move(pos() + QPoint(32, 32));
    window->show();
    window->newNotebook();
    return;
  }
  static int count = 0;
  untitled_ = ++count;
  enterNotebook();
  notebook_->setCurrentCell(0, true);
}

void MainWindow::load(const QString& path) {
  try {
    document_->load(path);
  } catch (const NotebookError& error) {
    messages_->show(MessageBar::Kind::error, error.what());
    return;
  }
  messages_->dismiss();
  addRecentNotebook(path);
  enterNotebook();
  if (document_->readOnly())
    messages_->show(
        MessageBar::Kind::information,
        QString("%1 can be read but not written. Save as… keeps your changes in another file.").arg(path));
}

// From the start page to the panels. Starting the process runs no code of the notebook.
void MainWindow::enterNotebook() {
  if (std::exchange(onStartPage_, false)) {
    showNotebook();
    const QSettings settings;
    if (restoreState(settings.value("window/state").toByteArray())) {
      shares_->restore(settings.value("window/panels").toByteArray());
      shares_->apply();
    } else {
      resetLayout();
    }
  }
  updateTitle();
  kernel_->start(runner_->folder());
  notebook_->setCurrentCell(0, false);
  notebook_->setFocus();
}

void MainWindow::offerRecoveries() {
  const QList<RecoveryEntry> entries = pendingRecoveries();
  if (entries.isEmpty()) return;
  const RecoveryEntry entry = entries.first();
  const QString name =
      entry.path.isEmpty() ? QString("a notebook that was never saved") : QFileInfo(entry.path).fileName();
  messages_->show(MessageBar::Kind::warning,
                  QString("Tapedeck ended unexpectedly. Unsaved work on %1 from %2 was kept.")
                      .arg(name, QLocale().toString(entry.time, QLocale::ShortFormat)),
                  {{"Restore it", [this, entry] { restore(entry); }}, {"Throw it away", [this, entry] {
                                                                         discardRecovery(entry);
                                                                         offerRecoveries();
                                                                       }}});
}

void MainWindow::restore(const RecoveryEntry& entry) {
  try {
    document_->recover(readRecovery(entry), entry.path);
  } catch (const NotebookError& error) {
    messages_->show(MessageBar::Kind::error, error.what());
    return;
  }
  discardRecovery(entry);
  enterNotebook();
  messages_->show(MessageBar::Kind::information,
                  entry.path.isEmpty() ? QString("Restored. Save it to keep it.")
                                       : QString("Restored. Save it to replace %1.").arg(entry.path));
}

bool MainWindow::save(const QString& path) {
  try {
    document_->save(path);
  } catch (const NotebookError& error) {
    messages_->show(MessageBar::Kind::error, error.what(),
                    {{"Save as…", [this] { (*actions_)["file.save_as"]->trigger(); }}});
    return false;
  }
  addRecentNotebook(path);
  updateTitle();
  statusBar()->showMessage(QString("Saved %1").arg(path), 4000);
  return true;
}

bool MainWindow::saveOrAsk() {
  if (!document_->path().isEmpty()) return save(document_->path());
  QString path = QFileDialog::getSaveFileName(
      this, "Save notebook", QString("Untitled%1.ipynb").arg(untitled_), "Notebooks (*.ipynb)");
  if (path.isEmpty()) return false;
  if (QFileInfo(path).suffix().isEmpty()) path += ".ipynb";
  return save(path);
}

bool MainWindow::mayClose() {
  if (onStartPage_ || !document_->modified()) return true;
  QMessageBox box(
      QMessageBox::Question, "Unsaved changes",
      QString("%1 has changes that are not saved.")
          .arg(document_->path().isEmpty() ? "This notebook" : QFileInfo(document_->path()).fileName()),
      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
  box.setDefaultButton(QMessageBox::Save);
  const int answer = box.exec();
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && saveOrAsk());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!mayClose()) {
    event->ignore();
    return;
  }
  QSettings settings;
  settings.setValue("window/geometry", saveGeometry());
  if (!onStartPage_) {
    settings.setValue("window/state", saveState());
    settings.setValue("window/panels", shares_->save());
  }
  kernel_->shutdown();
  event->accept();
}

void MainWindow::browse() {
  const QString folder = document_->path().isEmpty() ? QDir::homePath() : QFileInfo(document_->path()).path();
  const QString path =
      QFileDialog::getOpenFileName(this, "Open notebook", folder, "Notebooks (*.ipynb);;All files (*)");
  if (!path.isEmpty()) openNotebook(path);
}

void MainWindow::updateTitle() {
  const QString name = onStartPage_                  ? QString()
                       : document_->path().isEmpty() ? QString("Untitled%1").arg(untitled_)
                                                     : QFileInfo(document_->path()).fileName();
  setWindowTitle(name.isEmpty() ? "Tapedeck" : name + "[*] — Tapedeck");
  setWindowFilePath(document_->path());
  setWindowModified(!onStartPage_ && document_->modified());
}

}  // namespace tapedeck::app
