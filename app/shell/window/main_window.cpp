#include "app/shell/window/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QKeyEvent>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QVBoxLayout>

#include "app/control/watch_keeper.h"
#include "app/notebook/document/script.h"
#include "app/notebook/find/find_bar.h"
#include "app/notebook/view/notebook_view.h"
#include "app/shell/guide/guide_window.h"
#include "app/shell/opening/attach_control.h"
#include "app/shell/opening/closing_question.h"
#include "app/shell/opening/environment_control.h"
#include "app/shell/opening/file_control.h"
#include "app/shell/opening/guest.h"
#include "app/shell/opening/kept_windows.h"
#include "app/shell/opening/recoveries.h"
#include "app/shell/opening/trace_control.h"
#include "app/shell/panels/panel_docks.h"
#include "app/shell/panels/workspace_menu.h"
#include "app/shell/panels/workspaces.h"
#include "app/shell/window/focus_ring.h"
#include "app/shell/window/playback_bar.h"
#include "app/shell/window/return_presses.h"
#include "app/shell/window/run_control.h"
#include "app/shell/window/start_page.h"
#include "app/shell/window/tab_order.h"
#include "app/shell/window/typing_watch.h"
#include "app/shell/window/window_placement.h"
#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr int sentence_stands = 8000;  // milliseconds

}  // namespace

MainWindow::MainWindow(QWidget* parent) : MainWindow(new KernelSession, parent) {}

MainWindow::MainWindow(Kernel* kernel, QWidget* parent)
    : QMainWindow(parent),
      document_(new Document(this)),
      kernel_(kernel),
      runner_(new CellRunner(document_, kernel_, this)),
      session_(new inspector::Session(this)),
      series_(new inspector::SeriesModel(session_, this)),
      pictures_(new inspector::PictureModel(session_, this)),
      cellNames_(new inspector::CellNames(this)),
      frames_(new inspector::FramesModel(session_, cellNames_, this)),
      watches_(new inspector::WatchModel(session_, frames_, this)),
      breakpoints_(new inspector::BreakpointsModel(session_, this)),
      bookmarks_(new inspector::Bookmarks(session_, this)),
      stepper_(new Stepper(session_, runner_, kernel_, this)),
      notices_(new SessionNotices(kernel_, session_, this)),
      options_(new SessionOptions(session_, this)),
      actions_(new Actions(this)) {
  kernel_->setParent(this);
  setAttribute(Qt::WA_DeleteOnClose);
  letReturnPressButtons();
  setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
  session_->setSource(kernel_->debugSource());
  cellNames_->follow(session_);
  new WatchKeeper(document_, watches_, this);
  buildCentre();
  buildPanels();
  buildWorkspaces();
  buildMenus();
  buildStatusBar();
  focusRing_ = new FocusRing(this);
  connectFiles();
  connectActions();
  connectCellActions();
  connectEditing();
  connectSession();
  connectBreakpoints();
  connectBookmarks();

  new WindowPlacement(this, QSize(1280, 800), QSettings().value("window/geometry").toByteArray());
  showNotebook();
  updateTitle();
  updateState();
  showWorkspace();
  connectGuest();
  if (onStartPage_) files_->recoveries()->offer();
}

// The session's last words (its process ends now) must not reach a window that is half gone.
MainWindow::~MainWindow() {
  delete files_;
  delete guide_.data();
  for (QObject* sender :
       {static_cast<QObject*>(kernel_), static_cast<QObject*>(session_), static_cast<QObject*>(document_)})
    sender->disconnect(this);
  kernel_->disconnect();
  session_->setSource(nullptr);
  // A view that goes hands the focus on: nowhere, for the docks are half gone then.
  delete focusRing_;
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
  connect(messages_, &MessageBar::emptied, this, [this](bool hadFocus) {
    if (hadFocus && !onStartPage_) notebook_->setFocus();
  });
  column->addWidget(messages_);
  pages_ = new QStackedWidget;
  column->addWidget(pages_, 1);
  auto* start = new StartPage;
  files_ = new FileControl(document_, kernel_, messages_, this);
  connect(start, &StartPage::openRequested, files_, &FileControl::open);
  connect(start, &StartPage::newRequested, files_, &FileControl::create);
  connect(start, &StartPage::browseRequested, files_, &FileControl::browse);
  attaching_ = new AttachControl(kernel_, messages_, *actions_, this);
  connect(start, &StartPage::attachRequested, attaching_, &AttachControl::choose);
  connectEnvironment(start);
  traces_ = new TraceControl({kernel_, document_, session_, frames_, cellNames_, messages_, actions_}, this);
  pages_->addWidget(start);
  notebook_ = new NotebookView(document_);
  find_ = new FindBar(document_, notebook_);
  notebookPage_ = new QWidget;
  auto* page = new QVBoxLayout(notebookPage_);
  page->setContentsMargins(0, 0, 0, 0);
  page->setSpacing(0);
  page->addWidget(find_);
  page->addWidget(notebook_, 1);
  pages_->addWidget(notebookPage_);
  centre->setMinimumWidth(320);
  setCentralWidget(centre);
}

// The start page has the window for itself; with a notebook come the panels.
void MainWindow::showNotebook() {
  pages_->setCurrentIndex(onStartPage_ ? 0 : 1);
  docks_->setEnabled(!onStartPage_);
  workspaceMenu_->setEnabled(!onStartPage_);
  playback_->parentWidget()->setVisible(!onStartPage_);
  for (const QString& id : actions_->ids())
    if (id.startsWith("cell.") || id.startsWith("edit.") ||
        (id.startsWith("session.") && id != "session.attach" && id != "session.kept" &&
         id != "session.environment") ||
        id.startsWith("step.") || id.startsWith("view.zoom") || id.startsWith("view.reset") ||
        id.startsWith("file.save"))
      (*actions_)[id]->setEnabled(!onStartPage_);
}

void MainWindow::openNotebook(const QString& path) {
  files_->open(path);
}

void MainWindow::newNotebook() {
  files_->create();
}

MainWindow* MainWindow::openWindow() const {
  auto* window = new MainWindow;
  if (environment_ && window->environment_) environment_->handOn(*window->environment_);
  window->move(pos() + QPoint(32, 32));
  window->show();
  return window;
}

void MainWindow::attachTo(qint64 process) {
  attaching_->attach(process);
}

void MainWindow::runIn(const QString& environment) {
  if (environment_) environment_->useForThisStart(environment);
}

void MainWindow::connectEnvironment(StartPage* start) {
  KernelSession* session = kernel();
  if (!session) return;
  environment_ = new EnvironmentControl(session, document_, messages_, this);
  connect((*actions_)["session.environment"], &QAction::triggered, environment_, &EnvironmentControl::choose);
  connect(start, &StartPage::environmentRequested, environment_, &EnvironmentControl::choose);
  connect(session, &KernelSession::environmentChanged, start,
          [start, session] { start->setEnvironment(session->pythonEnvironment()); });
  connect(session, &KernelSession::environmentChanged, this, &MainWindow::updateState);
  connect(environment_, &EnvironmentControl::told, this, &MainWindow::tell);
  connect(environment_, &EnvironmentControl::restartWanted, this, [this] { runs_->restart(); });
}

/// A start page has done its work then.
MainWindow* MainWindow::openGuest(Kernel* kernel) {
  auto* window = new MainWindow(kernel);
  window->move(pos() + (onStartPage_ ? QPoint() : QPoint(32, 32)));
  window->show();
  window->activateWindow();
  if (onStartPage_) close();
  return window;
}

void MainWindow::connectGuest() {
  connect(attaching_, &AttachControl::opened, this, &MainWindow::openGuest);
  connect(traces_, &TraceControl::opened, this, &MainWindow::openGuest);
  connect(files_, &FileControl::traceWanted, traces_, &TraceControl::open);
  connect(attaching_, &AttachControl::told, this, &MainWindow::tell);
  connect(traces_, &TraceControl::told, this, &MainWindow::tell);
  connect(traces_, &TraceControl::closingResumed, files_, &FileControl::goOnClosing);
  if (kernel_->runs() == Runs::cells) {
    (*actions_)["session.detach"]->setEnabled(false);
    return;
  }
  (*actions_)["session.environment"]->setEnabled(false);
  auto* guest = new Guest({kernel_, document_, session_, frames_, cellNames_, messages_, actions_}, this);
  const auto* trace = qobject_cast<TraceSession*>(kernel_);
  files_->showGuest(kernel_->title(), trace ? trace->path() : QString());
  // There is nothing to wait for in what ran long ago.
  if (trace && workspaces_->current().id == inspector::workspace_write)
    workspaces_->enter(inspector::workspace_debug);
  guest->disableActions();
  connect(kernel_, &Kernel::stateChanged, this, &MainWindow::updateTitle);
  updateTitle();
}

void MainWindow::connectFiles() {
  connect(files_, &FileControl::entered, this, &MainWindow::enterNotebook);
  connect(files_, &FileControl::nameChanged, this, &MainWindow::updateTitle);
  if (auto* session = kernel())
    connect(files_, &FileControl::nameChanged, session, [this, session] {
      session->setProgram(isScript(document_->path()) ? document_->path() : QString());
    });
  connect(files_, &FileControl::told, this, &MainWindow::tell);
  connect(files_, &FileControl::elsewhere, this, [this](const auto& act) { act(*openWindow()->files_); });
  const auto on = [this](const char* id, void (FileControl::*act)()) {
    connect((*actions_)[id], &QAction::triggered, files_, act);
  };
  on("file.new", &FileControl::create);
  on("file.open", &FileControl::browse);
  on("file.save", &FileControl::save);
  on("file.save_as", &FileControl::saveAs);
  on("file.autosave_interval", &FileControl::askAutosaveInterval);
  connectAutosave();
  connect((*actions_)["file.recovered"], &QAction::triggered, files_->recoveries(), &Recoveries::showAll);
  connect((*actions_)["file.quit"], &QAction::triggered, qApp, &FileControl::quit);
}

void MainWindow::connectAutosave() {
  QAction* autosave = (*actions_)["file.autosave"];
  autosave->setChecked(Autosave::on());
  connect(autosave, &QAction::triggered, files_, &Autosave::setOn);
  connect(files_->autosave(), &Autosave::switched, autosave, &QAction::setChecked);  // from any window
  auto* when = inspector::plainLabel();
  when->setObjectName("savedAt");
  when->setAccessibleName("When the notebook was saved");
  statusBar()->addPermanentWidget(when);
  connect(files_, &FileControl::savedAtChanged, when, [this, when] {
    when->setText(files_->savedAt());
    when->setToolTip(inspector::plainTip(document_->path()));
  });
}

// From the start page to the panels. The session starts with the first run: opening a file runs nothing.
void MainWindow::enterNotebook() {
  if (std::exchange(onStartPage_, false)) {
    showNotebook();
    workspaces_->begin();
  }
  if (environment_) environment_->documentEntered();
  updateState();
  const bool fresh = document_->cellCount() == 1 && document_->cell(0).source.isEmpty();
  notebook_->setCurrentCell(0, fresh);
  if (!fresh) notebook_->setFocus();
}

/// To the cell or the text that had the focus last.
void MainWindow::backToNotebook() {
  if (onStartPage_) return;
  if (!isActiveWindow()) activateWindow();  // from a panel that floats
  QWidget* last = notebook_->focusWidget();
  (last && last->isVisible() ? last : notebook_)->setFocus(Qt::OtherFocusReason);
}

bool MainWindow::focusNextPrevChild(bool next) {
  if (!docks_) return false;
  const auto inSight = [this](const QWidget* widget) {
    // Bars of tabs that no panels have just now are kept outside of the window.
    const bool outside = widget->parentWidget() == this && !rect().contains(widget->geometry().center());
    return !outside && docks_->inSight(widget);
  };
  QWidget* to = nextByTab(this, next, inSight);
  if (to) to->setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
  return to;
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && event->modifiers() == Qt::NoModifier) return backToNotebook();
  // Panels that have a key of their own for it take it first.
  if (event->matches(QKeySequence::Find) && !onStartPage_) return find_->open(false);
  QMainWindow::keyPressEvent(event);
}

void MainWindow::tell(const QString& sentence) {
  statusBar()->showMessage(sentence, sentence_stands);
  told_.setRemainingTime(sentence_stands);
}

bool MainWindow::event(QEvent* event) {
  if (event->type() == QEvent::StatusTip && !told_.hasExpired()) return true;
  if (event->type() == QEvent::ApplicationFontChange) setLetters();
  return QMainWindow::event(event);
}

/// False: the window stays, or closes by itself later.
bool MainWindow::mayEndSession() {
  const QString running = onStartPage_ ? QString() : runningSentence(*runner_, *kernel_);
  if (running.isEmpty()) return files_->mayClose();
  switch (askClosing(this, {files_->name(), running, document_->modified(), FileControl::isQuitting()})) {
    case ClosingAnswer::stay:
      FileControl::stopQuitting();
      return false;
    case ClosingAnswer::keepRunning:
      keepRunning(this);
      return false;
    case ClosingAnswer::end:
      return true;
    case ClosingAnswer::save:
      break;
  }
  const QString path = files_->pathToSave();
  if (path.isEmpty()) {
    FileControl::stopQuitting();
    return false;
  }
  // What the session's end leaves in the cells is saved, too.
  if (!runner_->busy()) {
    files_->saveAndClose(path);
    return false;
  }
  auto* once = new QObject(this);
  connect(runner_, &CellRunner::finished, once, [this, once, path] {
    once->deleteLater();
    files_->saveAndClose(path);
  });
  kernel_->shutdown();
  return false;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  // The program ends with the last visible window, and so do the sessions of hidden ones.
  if (!FileControl::isQuitting() && !otherWindow(this) && !keptWindows().isEmpty()) {
    event->ignore();
    QMetaObject::invokeMethod(qApp, &FileControl::quit, Qt::QueuedConnection);
    return;
  }
  if (!traces_->mayClose() || !mayEndSession()) {
    event->ignore();
    return;
  }
  QSettings settings;
  settings.setValue("window/geometry", saveGeometry());
  if (!onStartPage_) workspaces_->keep();
  kernel_->shutdown();
  event->accept();
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  removeKept(this);
}

void MainWindow::updateTitle() {
  QString name = files_->name();
  if (kernel_->runs() == Runs::program && kernel_->state() != KernelState::busy)
    name += kernel_->state() == KernelState::dead ? ", ended" : ", detached";
  setWindowTitle(name.isEmpty() ? "Tapedeck" : name + "[*] — Tapedeck");
  setWindowFilePath(document_->path());
  setWindowModified(!files_->empty() && document_->modified());
}

}  // namespace tapedeck::app
