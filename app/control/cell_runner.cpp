#include "app/control/cell_runner.h"

#include <utility>

namespace tapedeck::app {

CellRunner::CellRunner(Document* document, Kernel* kernel, QObject* parent)
    : QObject(parent), document_(document), kernel_(kernel) {
  connect(kernel_, &Kernel::executionStarted, this, [this](const QString& cellId, int count) {
    running_ = cellId;
    error_.clear();
    document_->setExecutionCount(cellId, count);
    if (const auto sent = sent_.constFind(cellId); sent != sent_.constEnd()) {
      const QString code = sent.value();
      sent_.erase(sent);
      emit began(cellId, count, code);
    }
    emit cellStateChanged(cellId, CellState::busy);
  });
  connect(kernel_, &Kernel::outputReceived, this, &CellRunner::receive);
  connect(kernel_, &Kernel::outputsLeftOut, this, [this](const QString& cellId, quint64 count) {
    if (clearOnNext_.remove(cellId)) document_->clearOutputs(cellId);
    document_->addLeftOut(cellId, count);
  });
  connect(kernel_, &Kernel::outputCleared, this, [this](const QString& cellId, bool wait) {
    if (wait)
      clearOnNext_.insert(cellId);
    else
      document_->clearOutputs(cellId);
  });
  connect(kernel_, &Kernel::displayUpdated, document_, &Document::updateDisplay);
  connect(kernel_, &Kernel::executionTimed, document_, &Document::setExecutionTimes);
  connect(kernel_, &Kernel::executionFinished, this, &CellRunner::finish);
  connect(kernel_, &Kernel::ready, this, [this](const nlohmann::json& info) {
    document_->setLanguageInfo(info);
    sendWaiting();
  });
  connect(kernel_, &Kernel::stateChanged, this, [this](KernelState state, const QString& sentence) {
    if (state == KernelState::dead) death_ = sentence;
    if (state == KernelState::starting) death_.clear();
    if (state != KernelState::dead && state != KernelState::stopped) return;
    // What had not been sent yet will not run; what was sent is reported as aborted by the session itself.
    const QStringList lost = std::exchange(waiting_, {});
    for (const QString& cellId : lost) finish(cellId, "aborted", 0);
  });
}

QString CellRunner::folder() const {
  return document_->folder();
}

void CellRunner::run(const QStringList& cellIds) {
  const qsizetype before = waiting_.size();
  for (const QString& cellId : cellIds) {
    const int index = document_->indexOf(cellId);
    if (index < 0 || document_->cell(index).type != CellType::code || unfinished_.contains(cellId)) continue;
    unfinished_.insert(cellId);
    waiting_ << cellId;
    emit cellStateChanged(cellId, CellState::queued);
  }
  if (waiting_.size() - before > 1)
    for (qsizetype i = before; i < waiting_.size(); ++i) together_.insert(waiting_[i]);
  const KernelState state = kernel_->state();
  if (state == KernelState::stopped || state == KernelState::dead) {
    if (!waiting_.isEmpty()) kernel_->start(folder());
  } else if (state != KernelState::starting) {
    sendWaiting();
  }
}

void CellRunner::begin() {
  if (kernel_->state() == KernelState::stopped) kernel_->start(folder());
}

void CellRunner::releaseHold() {
  // A session that is being ended drops what it was asked first, and only then is no longer ready: its cells
  // wait for the next one.
  QMetaObject::invokeMethod(
      this,
      [this] {
        if (kernel_->state() == KernelState::idle || kernel_->state() == KernelState::busy) sendWaiting();
      },
      Qt::QueuedConnection);
}

void CellRunner::sendWaiting() {
  if (holds_ && holds_()) return;
  const QStringList cells = std::exchange(waiting_, {});
  for (const QString& cellId : cells) start(cellId);
}

void CellRunner::start(const QString& cellId) {
  const int index = document_->indexOf(cellId);
  if (index < 0) {  // deleted while it waited
    finish(cellId, "aborted", 0);
    return;
  }
  document_->clearOutputs(cellId);
  document_->setExecutionCount(cellId, 0);
  clearOnNext_.remove(cellId);
  const QString code = document_->cell(index).source;
  emit sent(cellId, code);
  sent_[cellId] = code;
  kernel_->execute(cellId, code);
}

void CellRunner::receive(const QString& cellId, const nlohmann::json& output) {
  if (clearOnNext_.remove(cellId)) document_->clearOutputs(cellId);
  document_->appendOutput(cellId, output);
  const bool error = output.value("output_type", "") == "error";
  if (error && cellId == running_) error_ = QString::fromStdString(output.value("ename", ""));
  if (error) emit cellFailed(cellId, output);
}

void CellRunner::finish(const QString& cellId, const QString& status, int executionCount) {
  if (!unfinished_.remove(cellId)) return;
  sent_.remove(cellId);
  if (running_ == cellId) running_.clear();
  noteStop(cellId, status);
  together_.remove(cellId);
  if (executionCount > 0) document_->setExecutionCount(cellId, executionCount);
  const bool killed = status == "ended";
  if (killed) {
    const QString why = death_.isEmpty() ? QString() : " " + death_;
    document_->appendOutput(
        cellId, {{"output_type", "stream"},
                 {"name", "stderr"},
                 {"text", ("The session ended while this cell ran." + why + "\n").toStdString()}});
  }
  emit cellStateChanged(cellId, killed              ? CellState::killed
                                : status == "ok"    ? CellState::done
                                : status == "error" ? CellState::failed
                                                    : CellState::idle);
  if (unfinished_.isEmpty()) emit finished();
}

void CellRunner::noteStop(const QString& cellId, const QString& status) {
  if (status == "aborted") {
    stop_.skipped << cellId;
  } else if (status == "error" || status == "ended") {
    stop_.cell = cellId;
    stop_.error = error_;
    stop_.together = together_.contains(cellId);
    stop_.why = status == "ended"               ? RunStop::Why::ended
                : error_ == "KeyboardInterrupt" ? RunStop::Why::interrupted
                                                : RunStop::Why::failed;
  } else if (!unfinished_.isEmpty() || stop_ == RunStop()) {
    return;
  }
  // Those that it takes along come one by one.
  if (!std::exchange(stopping_, true))
    QMetaObject::invokeMethod(
        this, [this] { tellStop(); }, Qt::QueuedConnection);
}

void CellRunner::tellStop() {
  stopping_ = false;
  // An interrupt drops those that wait before it reaches the one that runs.
  if (stop_.cell.isEmpty() && !running_.isEmpty()) return;
  RunStop stop = std::exchange(stop_, {});
  const KernelState state = kernel_->state();
  // Asked for by the user, who knows.
  if (state == KernelState::starting || state == KernelState::stopped) return;
  if (stop.cell.isEmpty())
    stop.why = state == KernelState::dead ? RunStop::Why::ended : RunStop::Why::interrupted;
  emit stopped(stop);
}

}  // namespace tapedeck::app
