// What the view tests share: palettes, and screenshots to look at.
#pragma once

#include <QApplication>
#include <QDir>
#include <QTest>
#include <QWidget>

#include "inspector/ui/appearance.h"
#include "inspector/ui/canvas/canvas_widget.h"
#include "tests/patience.h"

namespace tapedeck::test {

using inspector::darkPalette;
using inspector::lightPalette;

/// Test rows: each palette with a large and a small view.
inline void addPictureSizes() {
  QTest::addColumn<bool>("dark");
  QTest::addColumn<QSize>("size");
  QTest::newRow("light-large") << false << QSize(1200, 900);
  QTest::newRow("dark-large") << true << QSize(1200, 900);
  QTest::newRow("light-small") << false << QSize(500, 350);
  QTest::newRow("dark-small") << true << QSize(500, 350);
}

/// Into the build's folder screenshots/, for people to look at.
inline void screenshot(QWidget& widget, const QString& name) {
  const QString folder = QStringLiteral(TAPEDECK_BUILD_DIR "/screenshots");
  QDir().mkpath(folder);
  widget.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
}

}  // namespace tapedeck::test
