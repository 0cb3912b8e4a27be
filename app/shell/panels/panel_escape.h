// The way out of the panels: Esc, where nothing in the panel has a use for it.
#pragma once

#include <QList>
#include <QObject>

class QDockWidget;

namespace tapedeck::app {

class PanelEscape : public QObject {
  Q_OBJECT
 public:
  PanelEscape(const QList<QDockWidget*>& docks, QObject* parent);

 signals:
  void escaped();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  QList<QDockWidget*> docks_;
};

}  // namespace tapedeck::app
