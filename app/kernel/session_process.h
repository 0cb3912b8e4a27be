// The operating system's process of one session: started in a group of its own, signalled, ended, its end
// told.
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>

#include "app/kernel/death_report.h"

namespace tapedeck::app {

/// One process, once. Lives on the UI thread and never waits, except in the destructor.
class SessionProcess : public QObject {
  Q_OBJECT
 public:
  explicit SessionProcess(QObject* parent = nullptr);
  /// Kills what still runs. To let it end by itself, wait() before.
  ~SessionProcess() override;

  void start(const QString& program, const QStringList& arguments, const QProcessEnvironment& environment,
             const QString& folder);
  QString program() const { return process_->program(); }
  qint64 processId() const { return id_; }  ///< 0: does not run
  /// SIGINT to the process and what it started.
  void interrupt();
  /// After it was asked to end: SIGTERM after one grace, SIGKILL after two. kill() does not wait.
  void endWithin(int graceMs);
  void kill();
  /// Waits for its end for at most `limitMs`; for the program's end, where no event loop runs any more.
  void wait(int limitMs);

 signals:
  /// Once: it is gone, or never ran (then `sentence` says why, and `end` is of no use).
  void ended(const tapedeck::app::ProcessEnd& end, const QString& sentence);

 private:
  void readErrors();
  void signalGroup(int number);

  QProcess* process_;  ///< a child object; let go of where it does not end in time
  QTimer sampling_;
  QTimer grace_;
  MemoryWatch memory_;
  QByteArray errors_;
  qint64 id_ = 0;
  bool terminated_ = false;
};

}  // namespace tapedeck::app
