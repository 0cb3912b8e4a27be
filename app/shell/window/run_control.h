// Commands that run several cells, restarts, and the window's messages when cells stop.
#pragma once

#include <QObject>

#include "app/control/cell_freshness.h"
#include "app/control/interrupt_watch.h"
#include "inspector/model/session/session.h"

class QWidget;

namespace tapedeck::app {

class Actions;
class MessageBar;
class NotebookView;

class RunControl : public QObject {
  Q_OBJECT
 public:
  struct Parts {
    Kernel* kernel;
    CellRunner* runner;
    Document* document;
    NotebookView* notebook;
    MessageBar* messages;
    Actions* actions;
    inspector::Session* session;
  };
  RunControl(const Parts& parts, QWidget* window);

  const CellFreshness& freshness() const { return freshness_; }
  /// Asks first if something is running.
  void restart();
  void restartAndRunAll();
  /// All cells that are marked as edited, of an earlier session, or maybe out of date.
  void runMarked();
  const InterruptWatch& interrupts() const { return interrupts_; }

 signals:
  /// For the status bar.
  void told(const QString& sentence);

 private:
  void showStop(const RunStop& stop);
  /// An interrupt waits for an op: it says so, and offers the restart.
  void showWaits(const QString& cellId);
  void showIgnored(const QString& cellId);
  void offerRestart(const QString& cellId, const QString& why);
  void goTo(const QString& cellId);

  Parts parts_;
  QWidget* window_;
  CellFreshness freshness_;
  InterruptWatch interrupts_;
  QMetaObject::Connection afterRestart_;
};

}  // namespace tapedeck::app
