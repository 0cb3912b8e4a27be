// Reverse continue: back over recorded ops to where a breakpoint last held, by key, menu and tool bar.
#pragma once

#include <QObject>
#include <QTimer>

#include "app/shell/window/message_bar.h"
#include "inspector/model/breakpoints/breakpoints_model.h"
#include "inspector/model/ops/past_search.h"
#include "inspector/model/session/cell_names.h"

class QWidget;

namespace tapedeck::app {

class Actions;

/// Runs nothing: only the cursor moves. What takes longer than a moment shows its progress; Esc stops it.
class ReverseControl : public QObject {
  Q_OBJECT
 public:
  struct Parts {
    inspector::Session* session;
    inspector::BreakpointsModel* breakpoints;
    inspector::CellNames* cells;
    MessageBar* messages;
    Actions* actions;
  };
  ReverseControl(const Parts& parts, QWidget* window);

  bool searching() const { return search_.running(); }
  void start();
  void cancel();
  /// A search that takes less shows no progress (300 ms).
  void setPatience(int milliseconds) { patience_.setInterval(milliseconds); }

 signals:
  /// For the status bar: where it went and why, or why not.
  void told(const QString& sentence);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  inspector::RecordNumber from() const;
  void found(const protocol::FoundHit& hit);
  void notFound();
  void failed(const QString& reason);
  QString withoutOpsText() const;
  void showProgress();
  void ended();

  Parts parts_;
  QWidget* window_;
  inspector::PastSearch search_;
  QTimer patience_;
  inspector::RecordNumber arrived_ = 0;  ///< where it went last
};

}  // namespace tapedeck::app
