// Widgets whose height follows from their width, placed by hand. Two hundred cells with layouts of their own
// would be measured over and over; here each height is computed once per width.
#pragma once

#include <QWidget>

namespace tapedeck::app {

class Block : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;

  /// Cached until contentsChanged().
  int heightFor(int width);
  /// Places the children for the present size, where something changed since.
  void arrange();
  /// To be called when the height may differ now, or children must be placed anew: tells the blocks around
  /// it.
  void contentsChanged();

 signals:
  /// Of the outermost block: it must be arranged, at the next turn of the event loop at the latest.
  void arrangeNeeded();

 protected:
  virtual int computeHeight(int width) = 0;
  virtual void place() {}
  void resizeEvent(QResizeEvent* event) override;

 private:
  int cachedWidth_ = -1;
  int cachedHeight_ = 0;
  bool placed_ = false;
};

}  // namespace tapedeck::app
