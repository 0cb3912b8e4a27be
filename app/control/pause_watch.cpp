#include "app/control/pause_watch.h"

#include <utility>

namespace tapedeck::app {
namespace {

constexpr int patienceMs = 2000;

}  // namespace

PauseWatch::PauseWatch(inspector::Session* session, const QString& title, QObject* parent)
    : QObject(parent), session_(session), title_(title) {
  patience_.setSingleShot(true);
  patience_.setInterval(patienceMs);
  connect(&patience_, &QTimer::timeout, this, &PauseWatch::tell);
  connect(session_, &inspector::Session::statusChanged, this, &PauseWatch::look);
  connect(session_, &inspector::Session::liveChanged, this, &PauseWatch::look);
}

void PauseWatch::look() {
  const bool waits = session_->live() && session_->status().gate == protocol::GateState::will_stop;
  if (waits) {
    if (!patience_.isActive() && !told_) patience_.start();
    session_->record(session_->status().records);  // so that it is here when it is reported
    return;
  }
  patience_.stop();
  if (std::exchange(told_, false)) emit over();
}

void PauseWatch::tell() {
  told_ = true;
  const protocol::Status& status = session_->status();
  const protocol::Record* running = session_->record(status.records);
  const bool inside = running && running->state == protocol::RecordState::running;
  emit waits(inside
                 ? QStringLiteral("%1 can't pause yet: it is inside %2 (op %3), and stops when that is done.")
                       .arg(title_, QString::fromStdString(running->op))
                       .arg(status.records)
                 : QStringLiteral("%1 can't pause yet: it has reached no op since. It runs other code or "
                                  "waits for something, and stops before its next op.")
                       .arg(title_));
}

}  // namespace tapedeck::app
