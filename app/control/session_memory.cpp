#include "app/control/session_memory.h"

#include <unistd.h>

#include <QFile>

#include "engine/protocol/memory.h"

namespace tapedeck::app {
namespace {

constexpr int between_requests = 2000, between_samples = 1000;  // milliseconds
const QString memory_channel = QStringLiteral("status bar: memory");

bool isOfTorch(const protocol::Record* record) {
  return record && (record->op.starts_with("aten.") || record->op.starts_with("autograd."));
}

}  // namespace

SessionMemory::SessionMemory(inspector::Session* session, QObject* parent)
    : QObject(parent), session_(session) {
  soon_.setSingleShot(true);
  sampling_.setSingleShot(true);
  sampling_.setInterval(between_samples);
  connect(&soon_, &QTimer::timeout, this, &SessionMemory::ask);
  connect(&sampling_, &QTimer::timeout, this, &SessionMemory::sample);
  connect(session, &inspector::Session::statusChanged, this, &SessionMemory::look);
  connect(session, &inspector::Session::recordsChanged, this, &SessionMemory::look);
}

void SessionMemory::setProcess(qint64 id) {
  if (process_ == id) return;
  process_ = id;
  resident_ = 0;
  sawTorch_ = false;
  tensors_.reset();
  ended_ = cells_ = 0;
  if (id != 0) sample();
}

void SessionMemory::look() {
  if (process_ != 0 && !sampling_.isActive()) sampling_.start();
  const protocol::Status& status = session_->status();
  sawTorch_ = sawTorch_ || isOfTorch(session_->cachedRecord(session_->cursor())) ||
              isOfTorch(session_->cachedRecord(status.records));
  const bool same = status.ended == ended_ && status.cells_ended == cells_;
  if (!sawTorch_ || !session_->live() || same || session_->asking(memory_channel)) return;
  // At once where the program rests: that figure is looked at.
  const bool rests = !status.running_cell || status.gate == protocol::GateState::stopped;
  if (!soon_.isActive() || rests) soon_.start(rests ? 0 : between_requests);
}

void SessionMemory::ask() {
  const protocol::Status& status = session_->status();
  ended_ = status.ended;
  cells_ = status.cells_ended;
  session_->request<protocol::MemoryState>(
      protocol::GetMemoryState{std::nullopt, protocol::MemoryGroup::holder, 0, 1}, this,
      [this](const protocol::MemoryState& state) {
        tensors_ = state.variables + state.tapes + state.program;
        emit changed();
        look();
      },
      [](const protocol::Failure&) {}, memory_channel);  // the figure that was known stays
}

void SessionMemory::sample() {
  QFile file(QStringLiteral("/proc/%1/statm").arg(process_));
  const QList<QByteArray> fields =
      file.open(QIODevice::ReadOnly) ? file.readAll().split(' ') : QList<QByteArray>();
  const quint64 pages = fields.size() > 1 ? fields[1].toULongLong() : 0;
  const quint64 now = pages * static_cast<quint64>(::sysconf(_SC_PAGESIZE));
  if (now == resident_) return;
  resident_ = now;
  emit changed();
}

}  // namespace tapedeck::app
