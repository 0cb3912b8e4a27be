// Shift and a click: all cells up to the clicked one.
#pragma once

#include <QObject>
#include <QPoint>
#include <functional>

namespace tapedeck::app {

class NotebookView;

class SelectByMouse : public QObject {
 public:
  /// `select` gets a point of the view's contents, and returns whether it took the click.
  SelectByMouse(NotebookView* view, std::function<bool(QPoint)> select);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  NotebookView* view_;
  std::function<bool(QPoint)> select_;
};

}  // namespace tapedeck::app
