// A real window with a real session process, for the tests of this folder.
#pragma once

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QSettings>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>
#include <memory>

#include "app/notebook/view/notebook_view.h"
#include "app/shell/window/main_window.h"
#include "inspector/panels/ops/timeline_view.h"
#include "inspector/panels/tape/tape_view.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "inspector/ui/appearance.h"
#include "plots/plots_view.h"
#include "tests/patience.h"

namespace tapedeck::app {

using tapedeck::nothingMayHappenFor;
using tapedeck::patience;
using tapedeck::settled;
using tapedeck::waitFor;

/// Settings and recovery files of a test stay away from the user's.
inline void useOwnSettings() {
  static QTemporaryDir home;
  qputenv("XDG_CONFIG_HOME", home.path().toUtf8());
  qputenv("XDG_DATA_HOME", home.path().toUtf8());
  QCoreApplication::setOrganizationName("tapedeck-test");
  QCoreApplication::setApplicationName("Tapedeck");
}

inline void useOwnSettingsInLight() {
  useOwnSettings();
  inspector::applyAppearance(inspector::Appearance::light);
}

/// The same, with a cache of its own.
inline void useOwnSettingsAndCache() {
  useOwnSettingsInLight();
  static QTemporaryDir cache;
  qputenv("XDG_CACHE_HOME", cache.path().toUtf8());
}

inline QString sample(const QString& name) {
  return QString(TAPEDECK_SOURCE_DIR) + "/samples/" + name;
}

struct Code {
  QString source;
  QString type = "code";
};

/// Writes a notebook with these code cells and returns its path.
QString writeNotebook(const QTemporaryDir& folder, const QString& name, const QStringList& cells);

/// Shows the window and gives it the focus: there is no window manager to do it.
inline bool showActive(QWidget* window) {
  window->show();
  window->activateWindow();
  return QTest::qWaitForWindowActive(window, tapedeck::patience);
}

/// A new window with the keyboard; without a notebook it shows the start page. The test's own to delete.
std::unique_ptr<MainWindow> newWindow(const QSize& size = {1280, 800});

inline CellState cellStateOf(const MainWindow& window, int cell) {
  return window.notebook()->cellState(window.document()->cell(cell).id);
}

/// Waits until the canvases are idle: what became visible was fetched and painted.
void waitForFrames(QWidget* window);

/// Saves a screenshot of the window for people to look at.
inline void screenshot(QWidget* window, const QString& name) {
  QDir().mkpath(TAPEDECK_BUILD_DIR "/screenshots");
  window->grab().save(QString(TAPEDECK_BUILD_DIR "/screenshots/%1.png").arg(name), "PNG", 80);  // a fast zlib
}

/// The same in this theme and size; fails where the window does not get there.
void screenshotIn(inspector::Appearance look, QWidget* window, const QString& name);

/// The same at both sizes, light and dark: "NAME-1280-light". Leaves it small and light.
void shots(QWidget* window, const QString& name);

// The panels of a window, which itself knows none of them.
inline inspector::TapeView* tape(const MainWindow& window) {
  return window.findChild<inspector::TapeView*>();
}
inline inspector::TensorView* tensor(const MainWindow& window) {
  return window.findChild<inspector::TensorView*>();
}
inline inspector::TimelineView* timeline(const MainWindow& window) {
  return window.findChild<inspector::TimelineView*>();
}
inline plots::PlotsView* plots(const MainWindow& window) {
  return window.findChild<plots::PlotsView*>();
}

inline bool isReady(const MainWindow& window) {
  return window.session()->live() && window.kernel()->state() == KernelState::idle;
}

inline bool isStopped(const MainWindow& window) {
  return window.session()->live() && window.session()->status().gate == protocol::GateState::stopped;
}

/// Whether the window knows all ops that the session has recorded; waits for them. The kernel says that a
/// cell is done before the last status tells of its ops.
bool knowsAllRecords(const MainWindow& window);

/// By the mouse alone: opens the menus on the way to the entry, and clicks it. `entry`: the name of its
/// action, or the end of its path ("Breakpoints/Edit"). Returns what was in the way; empty: it was clicked.
QString chooseInMenus(MainWindow* window, const QString& entry);

/// Chooses the entry of the context menu that opens next. Such a menu waits for a choice, so this comes
/// first.
void chooseInNextMenu(QAction* entry);

/// All text of a cell's outputs, tracebacks included.
QString outputText(const MainWindow& window, int cell);

}  // namespace tapedeck::app
