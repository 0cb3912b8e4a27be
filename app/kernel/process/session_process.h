// The operating system's process of one session: starts it in a group of its own, signals it, ends it, and
// reports its end.
#pragma once

#include <QEventLoopLocker>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>
#include <memory>

#include "app/kernel/process/death_report.h"

namespace tapedeck::app {

/// One process, once. Lives on the UI thread. What still runs is given to the Reaper before this object goes.
class SessionProcess : public QObject {
  Q_OBJECT
 public:
  explicit SessionProcess(QObject* parent = nullptr);
  /// Kills what still runs, and waits a moment for its end: for the program's own.
  ~SessionProcess() override;

  void start(const QString& program, const QStringList& arguments, const QProcessEnvironment& environment,
             const QString& folder);
  QString program() const { return process_->program(); }
  qint64 processId() const { return id_; }  ///< 0: does not run
  /// SIGINT to the process and what it started.
  void interrupt();
  bool running() const { return process_->state() != QProcess::NotRunning; }
  /// While it is busy its memory is sampled every second, else every ten. It starts busy.
  void setWorking(bool working);
  /// After it was asked to end: SIGTERM after one grace, SIGKILL after two. Until then the program does not
  /// quit by itself, also where its last window was closed.
  void endWithin(int graceMs);
  void kill();

 signals:
  /// Once: it is gone, or never ran (then `sentence` says why, and `end` is of no use).
  void ended(const tapedeck::app::ProcessEnd& end, const QString& sentence);

 private:
  void readErrors();
  void signalGroup(int number);

  QProcess* process_;  ///< a child object; released where it does not end in time
  QTimer sampling_;
  QTimer grace_;
  MemoryWatch memory_;
  QByteArray errors_;
  qint64 id_ = 0;
  bool terminated_ = false;
  std::unique_ptr<QEventLoopLocker> ending_;
};

}  // namespace tapedeck::app
