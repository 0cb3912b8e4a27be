// One notebook with its session and all panels around it.
#pragma once

#include <QDeadlineTimer>
#include <QMainWindow>
#include <QPointer>
#include <QSet>
#include <QTimer>

#include "app/control/session_notices.h"
#include "app/control/session_options.h"
#include "app/control/session_text.h"
#include "app/kernel/jupyter/kernel_session.h"
#include "app/notebook/view/notebook_view.h"
#include "app/shell/window/actions.h"
#include "app/shell/window/message_bar.h"
#include "inspector/model/breakpoints/breakpoints_model.h"
#include "inspector/model/runs/picture_model.h"
#include "inspector/model/runs/series_model.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/model/session/session.h"
#include "inspector/model/variables/frames_model.h"
#include "inspector/model/variables/watch_model.h"

class QLabel;
class QStackedWidget;

namespace tapedeck::inspector {
class Bookmarks;
class WhatIfActions;
class WhyActions;
}  // namespace tapedeck::inspector

namespace tapedeck::app {

class AttachControl;
class CommandPalette;
class EnvironmentControl;
class FileControl;
class FindBar;
class GuideWindow;
class NotebookView;
class PanelDocks;
class PastDialog;
class RunControl;
class SessionMemory;
class StartPage;
class TraceControl;
class TypingWatch;
class WorkspaceMenu;
class Workspaces;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);
  /// A window on an attached program or a trace; takes ownership of `kernel`.
  explicit MainWindow(Kernel* kernel, QWidget* parent = nullptr);
  ~MainWindow() override;

  /// In this window where it shows the start page or an untouched new notebook, else in a window of its own.
  /// The message bar shows errors.
  void openNotebook(const QString& path);
  void newNotebook();
  /// In a window of its own. This one's message bar shows errors.
  void attachTo(qint64 process);
  /// The sessions of this window, and of those that it opens, run in that Python environment: a folder, or an
  /// interpreter.
  void runIn(const QString& environment);

  // For tests and the program's parts.
  Document* document() const { return document_; }
  NotebookView* notebook() const { return notebook_; }
  /// The session's process, of a notebook; nullptr: the window shows something else.
  KernelSession* kernel() const { return qobject_cast<KernelSession*>(kernel_); }
  Kernel* source() const { return kernel_; }
  inspector::Session* session() const { return session_; }
  inspector::SeriesModel* series() const { return series_; }
  inspector::BreakpointsModel* breakpoints() const { return breakpoints_; }
  inspector::Bookmarks* bookmarks() const { return bookmarks_; }
  MessageBar* messages() const { return messages_; }
  Stepper* stepper() const { return stepper_; }
  CellRunner* runner() const { return runner_; }
  FileControl* files() const { return files_; }
  TraceControl* traces() const { return traces_; }
  PanelDocks* panels() const { return docks_; }
  GuideWindow* guide() const;  ///< nullptr: it is not open
  Workspaces* workspaces() const { return workspaces_; }

 protected:
  bool event(QEvent* event) override;
  bool focusNextPrevChild(bool next) override;
  void keyPressEvent(QKeyEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void buildCentre();
  void buildPanels();
  void buildWhatIf();
  void buildWorkspaces();
  void buildMenus();
  void buildStatusBar();
  void connectActions();
  void connectCellActions();
  void connectEditing();
  void connectSession();
  void connectBreakpoints();
  void connectBookmarks();
  void showWorkspace();
  void setLetters();
  void showNotebook();
  void enterNotebook();
  void backToNotebook();
  void connectFiles();
  void connectAutosave();
  void connectGuest();
  void connectEnvironment(StartPage* start);
  MainWindow* openGuest(Kernel* kernel);
  MainWindow* openWindow() const;
  void askBudget();
  void showGuide(const QString& panel);
  void showShortcuts();
  void showAbout();
  void updateTitle();
  void updateState();
  void updatePausedLine();
  void updateCellLabels();
  void labelLater(int cell);
  bool mayEndSession();
  QString codeOf(const QString& cell) const;
  void showNotice(SessionNotices::Kind kind, const QString& sentence, bool restart);
  /// In the status bar, for a while in which the tips of what is under the mouse do not take its place.
  void tell(const QString& sentence);
  /// Puts the text cursor into that line. `enter`: the keyboard goes there, too.
  void showLine(const QString& cell, int line, bool enter);

  Document* document_;
  Kernel* kernel_;
  CellRunner* runner_;
  inspector::Session* session_;
  inspector::SeriesModel* series_;
  inspector::PictureModel* pictures_;
  inspector::CellNames* cellNames_;
  inspector::WhyActions* why_ = nullptr;
  inspector::WhatIfActions* whatIf_ = nullptr;
  inspector::FramesModel* frames_;
  inspector::WatchModel* watches_;
  inspector::BreakpointsModel* breakpoints_;
  inspector::Bookmarks* bookmarks_;
  Stepper* stepper_;
  SessionNotices* notices_;
  SessionOptions* options_;
  MarkedLine marked_;
  Actions* actions_;
  FileControl* files_ = nullptr;
  AttachControl* attaching_ = nullptr;
  TraceControl* traces_ = nullptr;
  RunControl* runs_ = nullptr;
  SessionMemory* memory_ = nullptr;
  PastDialog* past_ = nullptr;    ///< from when it was asked for
  QTimer labelling_, stateSoon_;  ///< what is shown anew once for many cells
  QSet<QString> unlabelled_;      ///< cells that may have another name by now
  bool allUnlabelled_ = true;

  QStackedWidget* pages_ = nullptr;
  NotebookView* notebook_ = nullptr;
  QWidget* notebookPage_ = nullptr;  ///< the notebook, and the bar that searches it
  FindBar* find_ = nullptr;
  CommandPalette* palette_ = nullptr;
  MessageBar* messages_ = nullptr;
  QWidget* playback_ = nullptr;
  QToolBar* toolBar_ = nullptr;
  QLabel* state_ = nullptr;
  PanelDocks* docks_ = nullptr;
  QWidget* focusRing_ = nullptr;
  QPointer<GuideWindow> guide_;
  TypingWatch* typing_ = nullptr;
  Workspaces* workspaces_ = nullptr;
  WorkspaceMenu* workspaceMenu_ = nullptr;
  bool onStartPage_ = true;
  QDeadlineTimer told_;
  EnvironmentControl* environment_ = nullptr;  ///< nullptr: the window shows something else than a notebook
};

}  // namespace tapedeck::app
