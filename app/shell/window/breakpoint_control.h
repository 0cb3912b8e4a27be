// Breakpoints by keys, menu and margin, and how the notebook shows them.
#pragma once

#include <QObject>

#include "app/control/stepper.h"
#include "app/notebook/view/notebook_view.h"
#include "inspector/model/breakpoints/breakpoints_model.h"

namespace tapedeck::app {

class Actions;

class BreakpointControl : public QObject {
  Q_OBJECT
 public:
  BreakpointControl(inspector::BreakpointsModel* breakpoints, inspector::Session* session, Document* document,
                    NotebookView* notebook, Stepper* stepper, Actions& actions, QObject* parent);

 signals:
  /// A sentence why a key did nothing.
  void told(const QString& sentence);

 private:
  void toggle();
  void toggleEnabled();
  void toggleCell();
  void runToCursor();
  void runToRecord();
  void toggleLine(const QString& cell, int line);
  void show();

  inspector::BreakpointsModel* breakpoints_;
  inspector::Session* session_;
  Document* document_;
  NotebookView* notebook_;
  Stepper* stepper_;
  Actions& actions_;
  QStringList marked_;  ///< the cells that have marks
};

}  // namespace tapedeck::app
