#include "app/control/session_text.h"

#include <QFileInfo>
#include <QLocale>

#include "app/control/cell_names.h"
#include "engine/protocol/record_filter.h"
#include "inspector/model/format.h"
#include "inspector/model/runs/memory_model.h"

namespace tapedeck::app {
namespace {

using protocol::GateState;

/// Of a graph function that the last step went over: " · f ran, 12 ops".
QString steppedCall(const inspector::Session& session) {
  const auto& ran = session.status().stepped_call;
  return ran ? " · " + QString::fromStdString(*ran) : QString();
}

QString pausedText(const inspector::Session& session, const Document& document) {
  const auto& status = session.status();
  const auto* record = session.cachedRecord(session.stoppedBefore());
  QString text = status.stopped_after ? "paused after " : "paused before ";
  if (status.complete_gradient)
    text = "paused: the gradient of " + inspector::sourceText(*status.complete_gradient) + " is complete";
  else if (!record)
    text += status.stopped_at_line ? "" : "an op";
  else if (record->kind == protocol::RecordKind::vjp)
    text += "the VJP of " + QString::fromStdString(record->op);
  else if (record->sums_gradients)
    text += "a sum of gradients";
  else
    text += inspector::opText(*record);
  // The notebook has the number of the run that goes on only when it has ended.
  QString place = record && record->execution
                      ? QString::fromStdString(protocol::execution_label(record->execution))
                      : cellName(document, QString::fromStdString(status.cell));
  if (place.isEmpty() && record) place = QFileInfo(QString::fromStdString(record->file)).fileName();
  if (!place.isEmpty()) text += (status.stopped_at_line ? "" : ", ") + place;
  if (status.line > 0) text += QString("%1 line %2").arg(place.isEmpty() ? "," : "").arg(status.line);
  if (!status.stop_breakpoints.empty())
    text += " · " + QString::fromStdString(status.stop_reason.value_or(""));
  return text + steppedCall(session);
}

QString runningText(const CellRunner& runner) {
  const QString cell = cellName(*runner.document(), runner.runningCell());
  return cell.isEmpty() ? QString("running") : "running " + cell;
}

/// Of a session that runs, or ran, elsewhere.
QString guestText(const Stepper& stepper, const Kernel& kernel, const inspector::Session& session,
                  const Document& document) {
  const bool program = kernel.runs() == Runs::program;
  switch (stepper.state()) {
    case StepperState::noSession:
      return kernel.state() == KernelState::dead ? "ended; what it showed is still here"
             : program ? "detached and still running; what was fetched is still here"
                       : "closed; what it showed is still here";
    case StepperState::connecting:
      return "waiting for its answer …";
    case StepperState::withoutEngine:
    case StepperState::idle:
    case StepperState::arming:
      return QString("%1 records").arg(QLocale(QLocale::English).toString(session.recordCount()));
    case StepperState::running:
      return session.status().gate == GateState::will_stop ? "pausing before its next op"
                                                           : "attached, running";
    case StepperState::stopped:
      return pausedText(session, document);
  }
  return {};
}

}  // namespace

QString sessionText(const Stepper& stepper, const Kernel& kernel, const inspector::Session& session,
                    const CellRunner& runner) {
  if (kernel.runs() != Runs::cells)
    return kernel.title() + ": " + guestText(stepper, kernel, session, *runner.document());
  const QString name = kernel.title() + ": ";  // "session in env-torch: "
  switch (stepper.state()) {
    case StepperState::noSession:
      return kernel.state() == KernelState::dead
                 ? name + "ended; what it showed is still here"
                 : QString("no %1: it starts with the first run").arg(kernel.title());
    case StepperState::connecting:
      if (kernel.state() == KernelState::starting) return name + "starting …";
      return runner.busy() ? name + runningText(runner) + "; its engine does not answer"
                           : name + "waiting for its engine …";
    case StepperState::withoutEngine:
      return name + (runner.busy() ? runningText(runner) : QString("ready")) + ", without the engine";
    case StepperState::idle:
      return name + "ready" + steppedCall(session);
    case StepperState::arming:
      return name + "starting the cell, to stop before its first op";
    case StepperState::running:
      return name + runningText(runner) +
             (session.status().gate == GateState::will_stop ? " to the next stop" : "");
    case StepperState::stopped:
      return name + pausedText(session, *runner.document());
  }
  return {};
}

QString runningOp(const inspector::Session& session) {
  const auto& status = session.status();
  if (!session.live() || status.records == 0 || status.finished >= status.records) return {};
  const auto* record = session.cachedRecord(status.records);
  if (!record) return QString("op %1").arg(QLocale(QLocale::English).toString(status.records));
  const bool ended =
      record->state == protocol::RecordState::done || record->state == protocol::RecordState::failed;
  if (record->kind == protocol::RecordKind::playback || (ended && !record->error.empty())) return {};
  return record->kind == protocol::RecordKind::vjp ? "the VJP of " + QString::fromStdString(record->op)
                                                   : inspector::opText(*record);
}

QString interruptText(const Kernel& kernel, const inspector::Session& session, const CellRunner& runner,
                      int seconds) {
  const QString cell = cellName(*runner.document(), runner.runningCell()), op = runningOp(session);
  QString text = kernel.title() + ": interrupting" + (cell.isEmpty() ? QString() : " " + cell);
  text += op.isEmpty() ? QString() : QString(": waits for %1 to end").arg(op);
  return text + QString(", %1 s").arg(seconds);
}

MemoryWords memoryWords(const protocol::Status& status, const SessionMemory& memory) {
  // As the Memory panel formats them, so that both show the same number.
  const auto size = [](auto bytes) { return inspector::memoryText(static_cast<double>(bytes)); };
  const QString own = QString("%1 in use, %2 pooled").arg(size(status.pool_bytes), size(status.pooled_bytes));
  const auto tensors = memory.tensors();
  QStringList tip;
  MemoryWords words;
  words.shown = "memory " + (tensors ? size(*tensors) + " in tensors" : own);
  if (const auto resident = memory.resident(); resident > 0) {
    words.shown += QString(", process %1").arg(size(resident));
    tip << QString(
               "Process: %1 of memory, as the system counts it: Python, libraries, and all that follows "
               "here.")
               .arg(size(resident));
  }
  if (tensors)
    tip << QString(
               "Tensors: %1 in storages on the CPU that are alive and that recorded ops read or made, as "
               "Memory lists them. Views share a storage.")
               .arg(size(*tensors));
  tip << QString(
             "Tapedeck's allocator: %1 (free, kept for the next tensors). Copies of values that the "
             "recorder holds are among them.")
             .arg(own);
  words.tip = tip.join(QLatin1Char('\n'));
  return words;
}

QString noEngineText(const Stepper& stepper) {
  return stepper.state() == StepperState::withoutEngine
             ? "This Jupyter kernel has no Tapedeck engine: its variables and frames can't be shown."
             : QString();
}

MarkedLine markedLine(const inspector::Session& session, const inspector::FramesModel* frames, bool atRest) {
  const auto& status = session.status();
  // A caller that the user chose in the call stack, until the program goes on.
  if (const auto* frame = frames ? frames->currentFrame() : nullptr;
      frame && frames->current() > 0 && session.live())
    return {QString::fromStdString(frame->cell), static_cast<int>(frame->line), false, session.cursor()};
  const bool stopped = session.live() && status.gate == GateState::stopped;
  const auto cursor = session.cursor();
  if (stopped && (cursor == status.stopped_before || (status.stopped_at_line && session.following())))
    return {QString::fromStdString(status.cell), static_cast<int>(status.line), true, cursor};
  const auto* record = session.cachedRecord(cursor);
  // A trace has the files of a program beside the cells of a notebook.
  const std::string place = !record ? std::string() : record->cell.empty() ? record->file : record->cell;
  if (!place.empty() && (stopped || atRest || !session.following()))
    return {QString::fromStdString(place), static_cast<int>(record->line), false, cursor};
  return {};
}

}  // namespace tapedeck::app
