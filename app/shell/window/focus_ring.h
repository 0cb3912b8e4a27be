// Shows which widget has the focus, whatever that draws of it by itself.
#pragma once

#include <QFocusFrame>
#include <QList>
#include <QPointer>

namespace tapedeck::app {

/// A frame around the part in sight of the window's widget that has the focus. The notebook and the editors
/// of its cells have none: their bars and text cursors say it. The mouse and screen readers do not notice it.
class FocusRing : public QFocusFrame {
  Q_OBJECT
 public:
  explicit FocusRing(QWidget* window);
  /// What it is around; nullptr: it is hidden.
  QWidget* around() const { return isHidden() ? nullptr : around_.data(); }

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void follow(QWidget* widget);
  void place();

  QPointer<QWidget> around_;
  QList<QPointer<QObject>> watched_;  ///< it, and what it lies in
};

}  // namespace tapedeck::app
