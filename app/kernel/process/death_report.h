// What happened to a session process, in plain words.
#pragma once

#include <QString>
#include <QtGlobal>

namespace tapedeck::app {

/// What is known of a process that ended without being asked to.
struct ProcessEnd {
  bool signalled = false;    ///< ended by a signal
  int code = 0;              ///< the signal, or the exit code
  bool wasReady = false;     ///< it had answered before
  bool calledExit = false;   ///< a cell called exit() or quit()
  bool outOfMemory = false;  ///< the system's OOM killer acted in its last moments
  qint64 residentBytes = 0;  ///< memory it held when last seen; 0: unknown
  QString errors;            ///< the end of what it wrote to its standard error
};

/// "The session process crashed: segmentation fault (signal 11), in line 3 of a cell. …", for the user.
QString deathSentence(const ProcessEnd& end);

/// Watches memory so that a kill can be told from one by the OOM killer. Reads a few small files of /proc.
class MemoryWatch {
 public:
  void begin(qint64 processId);
  /// Call about once a second while it works: notes the process's memory and the number of OOM kills so far.
  void sample();
  /// True where the OOM killer acted since the sample before the last one.
  bool killedByOutOfMemory() const;
  qint64 residentBytes() const { return residentBytes_; }

 private:
  qint64 processId_ = 0;
  qint64 residentBytes_ = 0;
  qint64 killsBefore_ = 0;  ///< at the sample before the last
  qint64 kills_ = 0;        ///< at the last sample
};

}  // namespace tapedeck::app
