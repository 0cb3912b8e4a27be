// How a session process is started. The defaults start the app's own; a kernelspec's fields fit in too.
#pragma once

#include <QMap>
#include <QString>
#include <QStringList>

#include "engine/protocol/limits.h"

namespace tapedeck::app {

struct KernelLaunch {
  /// The Python interpreter. Empty: the one the program was built with, else the first of `python3` on PATH
  /// and /usr/bin/python3 that has ipykernel.
  QString interpreter;
  /// A whole command line instead, as a kernelspec's `argv`; "{connection_file}" is replaced by the path of
  /// that file.
  QStringList arguments;
  QMap<QString, QString> environment;         ///< on top of the app's
  QString transport = QStringLiteral("ipc");  ///< or "tcp", for Jupyter kernels that know nothing else
  bool interruptByMessage = false;            ///< a kernelspec's interrupt_mode "message"; else SIGINT
  int startLimitMs = 120000;                  ///< a process that has not answered by then is killed
  qint64 largestMessage = protocol::max_message_bytes;  ///< bytes; longer ones are neither read nor sent
  int silenceLimitMs = 8000;  ///< one that says nothing for so long is reported as silent
};

}  // namespace tapedeck::app
