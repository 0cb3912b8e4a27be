// Traces as files: saving the session's, opening one in a window of its own.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <QTimer>

#include "app/kernel/kernel.h"
#include "app/notebook/document/document.h"
#include "app/shell/window/window_parts.h"

class QWidget;

namespace tapedeck::app {

/// What takes longer than a moment shows its progress, and can be cancelled; the message bar shows errors.
class TraceControl : public QObject {
  Q_OBJECT
 public:
  TraceControl(const WindowParts& parts, QWidget* window);
  ~TraceControl() override;

  void open(const QString& path);
  /// Asks where to.
  void save();
  void saveTo(const QString& path);
  void cancel();
  /// False: a trace is being written, and the window stays until closingResumed().
  bool mayClose();
  bool saving() const { return !target_.isEmpty() || preparing_; }
  /// What takes less shows no progress (300 ms).
  void setPatience(int milliseconds) { patience_.setInterval(milliseconds); }

 signals:
  /// Asks for a window for this kernel, and passes ownership of it.
  void opened(tapedeck::app::Kernel* kernel);
  void told(const QString& sentence);
  /// The work that the window waited for is done; or (false) was cancelled or failed: the window stays.
  void closingResumed(bool done);

 private:
  void choosePath();
  void send(const std::string& notebook);
  void showProgress();
  void ended(bool saved);

  WindowParts parts_;
  QWidget* window_;
  QThreadPool pool_;
  Document::Snapshot snapshot_;  ///< here, so that it is destroyed on this thread
  bool preparing_ = false;       ///< the notebook's text is being made
  QString target_;               ///< of what is being saved; empty while it is prepared: it was cancelled
  QTimer patience_;
  double share_ = 0;
  bool closing_ = false;  ///< the window is to close when all is written
};

}  // namespace tapedeck::app
