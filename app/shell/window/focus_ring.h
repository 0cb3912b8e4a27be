// Shows which widget has the focus, whether or not the widget shows it itself.
#pragma once

#include <QFocusFrame>
#include <QList>
#include <QPointer>

namespace tapedeck::app {

/// A frame around the visible part of the window's widget that has the focus. The notebook and the editors
/// of its cells have none: their bars and text cursors say it. The mouse and screen readers do not notice it.
class FocusRing : public QFocusFrame {
  Q_OBJECT
 public:
  explicit FocusRing(QWidget* window);
  /// The widget that it surrounds; nullptr: it is hidden.
  QWidget* around() const { return isHidden() ? nullptr : around_.data(); }

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow(QWidget* widget);
  void place();

  QPointer<QWidget> around_;
  QList<QPointer<QObject>> watched_;  ///< it, and its ancestors
};

}  // namespace tapedeck::app
