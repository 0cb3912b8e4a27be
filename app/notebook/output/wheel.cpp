#include "app/notebook/output/wheel.h"

#include <QAbstractScrollArea>
#include <QScrollBar>
#include <QWheelEvent>

namespace tapedeck::app {
namespace {

class WheelFilter : public QObject {
 public:
  explicit WheelFilter(QAbstractScrollArea* area) : QObject(area), area_(area) {}

  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() != QEvent::Wheel) return false;
    auto* wheel = static_cast<QWheelEvent*>(event);
    if (!scrollSideways(*wheel)) {
      if (wheel->modifiers() != Qt::ControlModifier && area_->hasFocus() && scrollsByItself()) return false;
      wheel->ignore();
    }
    return true;
  }

 private:
  bool scrollsByItself() const {
    return area_->verticalScrollBarPolicy() != Qt::ScrollBarAlwaysOff &&
           area_->verticalScrollBar()->maximum() > 0;
  }

  bool scrollSideways(const QWheelEvent& wheel) {
    QScrollBar* bar = area_->horizontalScrollBar();
    const QPoint angle = wheel.angleDelta();
    const bool shifted = wheel.modifiers().testFlag(Qt::ShiftModifier);
    if (bar->maximum() <= bar->minimum() || (!shifted && std::abs(angle.x()) <= std::abs(angle.y())))
      return false;
    // A turn of 120 is one notch, which everywhere else scrolls three lines; here, as many steps of 20
    // pixels.
    constexpr int notch = 120;
    constexpr int pixels = 60;
    const QPoint fine = wheel.pixelDelta();
    const int turned = angle.x() != 0 ? angle.x() : angle.y();
    const int moved = fine.isNull() ? turned * pixels / notch : (fine.x() != 0 ? fine.x() : fine.y());
    bar->setValue(bar->value() - moved);
    return true;
  }

  QAbstractScrollArea* area_;
};

}  // namespace

void passWheelOn(QAbstractScrollArea* area) {
  auto* filter = new WheelFilter(area);
  area->viewport()->installEventFilter(filter);
  area->horizontalScrollBar()->installEventFilter(filter);
  area->verticalScrollBar()->installEventFilter(filter);
}

}  // namespace tapedeck::app
