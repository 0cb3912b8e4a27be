#include "app/shell/opening/kept_windows.h"

#include <QApplication>
#include <QMenu>
#include <QPointer>

#include "app/control/session_text.h"
#include "app/shell/opening/file_control.h"
#include "app/shell/window/main_window.h"
#include "inspector/model/plain_tip.h"

namespace tapedeck::app {
namespace {

constexpr char about_kept[] = "kept";
constexpr char tells[] = "tellsOfItsEnd";

QList<QPointer<MainWindow>>& kept() {
  static QList<QPointer<MainWindow>> windows;
  return windows;
}

void tellOfEnd(MainWindow* window) {
  MainWindow* other = otherWindow(window);
  if (!other || !kept().contains(window)) return;
  other->messages()->show(
      MessageBar::Kind::information,
      QString("%1 has run all its cells. It was closed while they ran.").arg(window->document()->name()),
      {{"Show it",
        [window = QPointer<MainWindow>(window)] {
          if (window) window->files()->raise();
        }}},
      about_kept);
}

}  // namespace

void keepRunning(MainWindow* window) {
  if (!otherWindow(window)) {
    auto* start = new MainWindow;
    start->move(window->pos());
    start->show();
    start->activateWindow();
  }
  kept().removeAll(window);
  kept() << window;
  window->hide();
  if (window->property(tells).toBool()) return;
  window->setProperty(tells, true);
  QObject::connect(window->runner(), &CellRunner::finished, window, [window] { tellOfEnd(window); });
}

QList<MainWindow*> keptWindows() {
  QList<MainWindow*> windows;
  for (const QPointer<MainWindow>& window : kept())
    if (window) windows << window;
  return windows;
}

void removeKept(MainWindow* window) {
  kept().removeAll(window);
}

void showKeptWindows() {
  for (MainWindow* window : keptWindows()) window->show();
}

MainWindow* otherWindow(const MainWindow* window) {
  if (auto* active = qobject_cast<MainWindow*>(QApplication::activeWindow());
      active && active != window && active->isVisible())
    return active;
  for (QWidget* widget : QApplication::topLevelWidgets()) {
    auto* other = qobject_cast<MainWindow*>(widget);
    if (other && other != window && other->isVisible()) return other;
  }
  return nullptr;
}

void listKeptWindows(QMenu* menu) {
  menu->setToolTipsVisible(true);
  const auto fill = [menu] {
    menu->clear();
    for (MainWindow* window : keptWindows()) {
      const QString state = window->runner()->busy() ? "running" : "its cells have ended";
      QAction* entry =
          menu->addAction(QString("%1: %2").arg(window->document()->name().replace('&', "&&"), state), menu,
                          [window = QPointer<MainWindow>(window)] {
                            if (window) window->files()->raise();
                          });
      const QString path = window->document()->path();
      entry->setToolTip(inspector::plainTip(path.isEmpty() ? window->document()->name() : path));
    }
    if (menu->isEmpty()) menu->addAction("No closed notebook is kept running")->setEnabled(false);
  };
  QObject::connect(menu, &QMenu::aboutToShow, menu, fill);
  fill();
}

}  // namespace tapedeck::app
