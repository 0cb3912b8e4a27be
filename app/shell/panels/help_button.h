// The "?" in a panel's title, beside the buttons that Qt puts there.
#pragma once

#include <QToolButton>

class QDockWidget;

namespace tapedeck::app {

class HelpButton : public QToolButton {
 public:
  explicit HelpButton(QDockWidget* dock);
  /// The sign alone: a title has no room for a button's margins.
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void place();

  QDockWidget* dock_;
};

}  // namespace tapedeck::app
