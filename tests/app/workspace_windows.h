// Windows of the tests of workspaces: opened, and driven by their keys.
#pragma once

#include <QDockWidget>
#include <QInputDialog>
#include <QMessageBox>
#include <QTimer>

#include "app/shell/panels/workspaces.h"
#include "tests/app/window_fixture.h"

namespace tapedeck::app {

class WorkspaceWindows {
 protected:
  static constexpr char loop[] =
      "import tapedeck as tf\nfor i in range(3):\n    tf.summary.scalar('loss', tf.constant(1.) * i, i)";

  QTemporaryDir folder_;

  std::unique_ptr<MainWindow> start(QSize size = {1280, 800}) { return newWindow(size); }

  std::unique_ptr<MainWindow> open(const QStringList& cells, QSize size = {1280, 800}) {
    auto window = start(size);
    window->openNotebook(writeNotebook(folder_, "workspaces.ipynb", cells));
    if (!waitFor([&] { return window->notebook()->isVisible(); }, tapedeck::patience))
      qWarning("no notebook");
    return window;
  }

  static QDockWidget* dock(const MainWindow& window, const char* id) {
    return window.findChild<QDockWidget*>(QString("panel.%1").arg(id), Qt::FindDirectChildrenOnly);
  }

  static bool shown(const MainWindow& window, const QStringList& ids) {
    for (const char* id : {"tape", "ops", "tensor", "plots"})
      if (dock(window, id)->isVisible() != ids.contains(id)) return false;
    return true;
  }

  static QString current(const MainWindow& window) { return window.workspaces()->current().id; }

  /// Ctrl+Alt+1 … as a user presses it.
  static void choose(MainWindow& window, int position) {
    QTest::keyClick(&window, static_cast<Qt::Key>(Qt::Key_0 + position),
                    Qt::ControlModifier | Qt::AltModifier);
  }

  /// Answers the dialog that `act` opens.
  template <typename Dialog>
  static void answer(const std::function<void()>& act, const std::function<void(Dialog*)>& give) {
    QTRY_VERIFY(!QApplication::activeModalWidget());
    for (QWidget* widget : QApplication::topLevelWidgets())  // no window manager gives the keyboard back
      if (!QApplication::activeWindow() && qobject_cast<MainWindow*>(widget)) widget->activateWindow();
    QTRY_VERIFY(QApplication::activeWindow());
    bool given = false;
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget());
      if (!dialog || given) return;
      given = true;
      give(dialog);
    });
    timer.start(20);
    act();
    QTRY_VERIFY(given);
  }

  static void answerName(const std::function<void()>& act, const QString& name) {
    answer<QInputDialog>(act, [&](QInputDialog* dialog) {
      dialog->setTextValue(name);
      dialog->accept();
    });
  }

  /// The cells' outputs are not kept.
  static void closeUnsaved(MainWindow& window) {
    answer<QMessageBox>([&] { window.close(); },
                        [](QMessageBox* box) { box->button(QMessageBox::Discard)->click(); });
  }

  /// But for the pixels of splitters.
  static bool alike(const QRect& a, const QRect& b) {
    return (a.topLeft() - b.topLeft()).manhattanLength() <= 16 &&
           (a.bottomRight() - b.bottomRight()).manhattanLength() <= 16;
  }

  static QList<QRect> places(const MainWindow& window) {
    QList<QRect> list;
    for (const char* id : {"tape", "ops", "tensor", "plots"}) list << dock(window, id)->geometry();
    return list;
  }

  static void begin() {
    useOwnSettings();
    inspector::applyAppearance(inspector::Appearance::light);
  }
};

}  // namespace tapedeck::app
