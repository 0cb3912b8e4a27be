// What the view tests share: palettes, and screenshots to look at.
#pragma once

#include <QApplication>
#include <QDir>
#include <QPalette>
#include <QTest>
#include <QWidget>

#include "inspector/ui/canvas/canvas_widget.h"

namespace tapedeck::test {

/// Test rows: each palette with a large and a small view.
inline void addPictureSizes() {
  QTest::addColumn<bool>("dark");
  QTest::addColumn<QSize>("size");
  QTest::newRow("light-large") << false << QSize(1200, 900);
  QTest::newRow("dark-large") << true << QSize(1200, 900);
  QTest::newRow("light-small") << false << QSize(500, 350);
  QTest::newRow("dark-small") << true << QSize(500, 350);
}

inline QPalette darkPalette() {
  QPalette palette;
  palette.setColor(QPalette::Window, QColor("#25282d"));
  palette.setColor(QPalette::WindowText, QColor("#e6e9ed"));
  palette.setColor(QPalette::Base, QColor("#1c1f24"));
  palette.setColor(QPalette::AlternateBase, QColor("#22262b"));
  palette.setColor(QPalette::Text, QColor("#e6e9ed"));
  palette.setColor(QPalette::Button, QColor("#30343a"));
  palette.setColor(QPalette::ButtonText, QColor("#e6e9ed"));
  palette.setColor(QPalette::ToolTipBase, QColor("#30343a"));
  palette.setColor(QPalette::ToolTipText, QColor("#e6e9ed"));
  palette.setColor(QPalette::PlaceholderText, QColor("#9aa3ad"));
  palette.setColor(QPalette::Highlight, QColor("#4c9bff"));
  palette.setColor(QPalette::HighlightedText, QColor("#10151b"));
  return palette;
}

inline QPalette lightPalette() {
  QPalette palette;
  palette.setColor(QPalette::Window, QColor("#f2f3f5"));
  palette.setColor(QPalette::WindowText, QColor("#1b1f24"));
  palette.setColor(QPalette::Base, Qt::white);
  palette.setColor(QPalette::AlternateBase, QColor("#f6f7f9"));
  palette.setColor(QPalette::Text, QColor("#1b1f24"));
  palette.setColor(QPalette::Button, QColor("#e9ebee"));
  palette.setColor(QPalette::ButtonText, QColor("#1b1f24"));
  palette.setColor(QPalette::Highlight, QColor("#0b62d6"));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  return palette;
}

/// Into the build's folder screenshots/, for people to look at.
inline void screenshot(QWidget& widget, const QString& name) {
  const QString folder = QStringLiteral(TAPEDECK_BUILD_DIR "/screenshots");
  QDir().mkpath(folder);
  widget.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
}

}  // namespace tapedeck::test
