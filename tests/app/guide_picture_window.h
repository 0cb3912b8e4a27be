// A window in which a user does what a page of the guide tells, and of which its pictures are taken.
#pragma once

#include <QDockWidget>
#include <QPainter>

#include "tests/app/indexed_picture.h"
#include "tests/app/panels/what_if_window.h"

namespace tapedeck::app {

/// For test classes to inherit from. What fails in it counts as the test's failure. With
/// TAPEDECK_GUIDE_PICTURES=1 the pictures are written into resources/guide.
class GuidePictureWindow : protected WhatIfWindow {
 protected:
  static constexpr QSize window_size{1280, 800};
  /// That the guide's window shows as it is.
  static constexpr int widest_panel = 640;

  static QString folderOfTheGuide() { return TAPEDECK_SOURCE_DIR "/resources/guide/"; }

  QStringList saved_;

  template <class View>
  View* view() const {
    return window_->findChild<View*>();
  }
  static QDockWidget* dockOf(QWidget* widget) {
    while (widget && !qobject_cast<QDockWidget*>(widget)) widget = widget->parentWidget();
    return qobject_cast<QDockWidget*>(widget);
  }
  QString state(const MainWindow& window) const { return window.findChild<QLabel*>("sessionState")->text(); }

  // ---- the picture ----

  /// Of that part of the window.
  void save(const QString& file, QWidget* window, const QRect& part) {
    QCOMPARE(window->size(), window_size);
    QVERIFY2(window->rect().contains(part) && part.width() > 200 && part.height() > 60,
             qPrintable(QString("%1: %2×%3 at %4, %5")
                            .arg(file)
                            .arg(part.width())
                            .arg(part.height())
                            .arg(part.x())
                            .arg(part.y())));
    waitForFrames(window);
    QImage picture = window->grab(part).toImage().convertToFormat(QImage::Format_RGB32);
    {
      QPainter painter(&picture);  // its edge can be told from the page's ground, light or dark
      painter.setPen(QColor(0xb0, 0xb4, 0xbc));
      painter.drawRect(picture.rect().adjusted(0, 0, -1, -1));
    }
    saved_ << file;
    screenshot(window, "guide-picture-" + file.section('.', 0, 0));
    if (!qEnvironmentVariableIsSet("TAPEDECK_GUIDE_PICTURES")) return;
    QVERIFY(test::indexedPicture(picture).save(folderOfTheGuide() + file, "PNG", 0));
  }
  void save(const QString& file) { save(file, window_.get(), window_->rect()); }
  /// Of the panel that a widget is in, with its title, as large as somebody drags its edges; 0: as it is.
  void savePanel(const QString& file, QWidget* inside, const QSize& wanted = {}) {
    QDockWidget* dock = dockOf(inside);
    QVERIFY2(dock && dock->isVisible(), qPrintable(file));
    if (wanted.width() > 0) window_->resizeDocks({dock}, {wanted.width()}, Qt::Horizontal);
    if (wanted.height() > 0) window_->resizeDocks({dock}, {wanted.height()}, Qt::Vertical);
    waitForFrames(window_.get());
    save(file, window_.get(), QRect(dock->mapTo(window_.get(), QPoint()), dock->size()));
  }

  // ---- what a user does ----

  void step() {
    const auto before = session().stop();
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, patience);
    QTRY_VERIFY_WITH_TIMEOUT(session().cachedRecord(session().stoppedBefore()), patience);
  }
  template <class Wanted>
  void stepTo(const Wanted& wanted) {
    for (int i = 0; i < 60; ++i) {
      step();
      if (QTest::currentTestFailed() || wanted(*session().cachedRecord(session().stoppedBefore()))) return;
    }
    QFAIL("no step leads there");
  }
  void goOn(int cell) {
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(cell), CellState::done, patience);
  }
  void workspace(Qt::Key key) { press(key, Qt::ControlModifier | Qt::AltModifier); }
  void runAllOf(const QStringList& begins) {
    for (const QString& begin : begins) {
      const int cell = cellThatBegins(begin);
      click(cell);
      runByKey(cell);
    }
  }
  template <class View>
  View* openPanel(Qt::Key key) {
    workspace(Qt::Key_5);
    press(key, Qt::AltModifier);
    return waitFor([&] { return view<View>() && view<View>()->isVisible(); }, patience) ? view<View>()
                                                                                        : nullptr;
  }
};

}  // namespace tapedeck::app
