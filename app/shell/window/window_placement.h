// Where a window may be: the whole of it, frame and all, within the screen.
#pragma once

#include <QMargins>
#include <QObject>
#include <QRect>
#include <QTimer>

class QWidget;

namespace tapedeck::app {

/// `wanted`, the window without its frame, moved and where it must be made smaller so that it lies within
/// `available` with a frame of `frame` around it.
QRect fitted(const QRect& wanted, const QMargins& frame, const QRect& available);

/// Keeps a new window within its screen: at once with a frame as they usually are, and again when the window
/// manager has made the real one. What the user does later is left alone.
class WindowPlacement : public QObject {
 public:
  /// `saved`: saveGeometry() of an earlier window, or empty.
  WindowPlacement(QWidget* window, QSize size, const QByteArray& saved);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void fit();

  QWidget* window_;
  QTimer framed_;  ///< while it runs the frame may still come
};

}  // namespace tapedeck::app
