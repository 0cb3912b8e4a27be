// A widget that is drawn by Dear ImGui on OpenGL.
//
// ImGui draws; input comes by Qt's events. A canvas repaints only when something asks for it: an input event,
// requestFrame(), a resize, another palette. Nothing runs while it is idle.
#pragma once

#include <QWidget>
#include <memory>

#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

class CanvasPainter;

class CanvasWidget : public QWidget {
  Q_OBJECT
 public:
  explicit CanvasWidget(QWidget* parent = nullptr);
  ~CanvasWidget() override;

  /// Whether an OpenGL 3.2 core context can be made here. Asked once in a process. Where it can't, canvases
  /// show a sentence instead, and the rest of their window works on.
  static bool openGlWorks();
  /// The sentence shown instead of the canvas; empty where it can draw.
  QString problem() const;

  const Theme& theme() const;
  /// How many times larger the widget's letters are than the desktop's. Everything on the canvas grows
  /// with them: drawing and mouse events are in pixels of a canvas of canvasSize().
  double letters() const;
  QSizeF canvasSize() const { return QSizeF(size()) / letters(); }
  quint64 framesPainted() const;
  /// What is on the screen, in device pixels. Null where there is no OpenGL.
  QImage grabFramebuffer();

  QSize minimumSizeHint() const override { return {160, 120}; }
  QSize sizeHint() const override { return {480, 360}; }

 public slots:
  /// Paints once, soon; many calls before that are one.
  void requestFrame();

 signals:
  void framePainted();

 protected:
  /// Draws everything; called twice for one frame where the letters did not fit into their texture.
  virtual void paintCanvas(CanvasPainter& painter) = 0;
  /// The palette or the style changed; theme() is up to date already.
  virtual void themeChanged() {}

  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Private;
  bool scaledEvent(QEvent* event);
  void showProblem(const QString& sentence);
  void paintFrame();
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
