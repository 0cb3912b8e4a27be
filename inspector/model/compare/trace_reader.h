// A process that reads trace files, as the program starts it: the models know only this.
#pragma once

#include <QObject>
#include <functional>
#include <memory>

#include "inspector/model/session/source.h"

namespace tapedeck::inspector {

/// Reads one trace file, and those that a comparison in it names, apart from any session: a damaged or
/// hostile file reaches no session's variables. Deleting it ends the process.
class TraceReader : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  /// To be called once. ready() or failed() follows, later.
  virtual void open(const QString& path) = 0;
  /// Connected from ready() on: it answers as a session does.
  virtual Source* source() = 0;

 signals:
  void ready();
  /// It can't be read, or the process has ended, also after ready(): a sentence.
  void failed(const QString& sentence);
};

using MakeTraceReader = std::function<std::unique_ptr<TraceReader>()>;

}  // namespace tapedeck::inspector
