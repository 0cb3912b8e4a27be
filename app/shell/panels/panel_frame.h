// The frame between a dock and its panel.
#pragma once

#include <QWidget>

namespace tapedeck::app {

/// Has one minimum size for good. A dock whose content asks for more room while it is used would push all the
/// others aside, under the user's pointer.
class PanelFrame : public QWidget {
 public:
  PanelFrame(QWidget* panel, QSize minimum);
  QSize minimumSizeHint() const override { return minimum_; }
  QSize sizeHint() const override { return minimum_; }
  /// False while its dock is behind the tab of another one: Qt puts it outside of the window then. Screen
  /// readers find nothing in it.
  bool inSight() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* panel_;
  QSize minimum_;
};

}  // namespace tapedeck::app
