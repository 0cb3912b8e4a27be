#include "inspector/ui/follow_font.h"

#include <QEvent>
#include <QWidget>
#include <utility>

namespace tapedeck::inspector {
namespace {

class FontFollower : public QObject {
 public:
  FontFollower(QWidget* widget, std::function<void()> measure)
      : QObject(widget), measure_(std::move(measure)) {
    widget->installEventFilter(this);
  }

 protected:
  // A filter sees the event before the widget does, whose font is the new one already.
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::FontChange) measure_();
    return false;
  }

 private:
  std::function<void()> measure_;
};

}  // namespace

void followFont(QWidget* widget, std::function<void()> measure) {
  measure();
  new FontFollower(widget, std::move(measure));
}

}  // namespace tapedeck::inspector
