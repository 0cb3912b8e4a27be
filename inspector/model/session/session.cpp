// Status, the cursor, and the intents.
#include "inspector/model/session/session.h"

#include <algorithm>

#include "inspector/model/session/session_private.h"

namespace tapedeck::inspector {

using protocol::GateState;

namespace {

/// While ops rush by, views that redraw more often than this only cost the session time.
constexpr int follow_interval_ms = 100;
/// A step that ends sooner shows its end alone: to draw that it runs would take the cores from the op.
constexpr int step_patience_ms = 80;

template <class T>
bool same(const T& a, const T& b);
template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return same(x, y); });
}
/// Whether two messages say the same, field by field.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (protocol::HasFields<T>)
    return T::fields([&](const auto&... field) { return (same(a.*field.member, b.*field.member) && ...); });
  else
    return a == b;
}

}  // namespace

Session::Private::Private(Session* session) : q(session), previews(session) {
  QObject::connect(&previews, &BranchPreviews::arrived, q, &Session::previewsChanged);
  flushTimer.setSingleShot(true);
  flushTimer.setInterval(0);
  QObject::connect(&flushTimer, &QTimer::timeout, q, [this] { flush(); });
  followTimer.setSingleShot(true);
  QObject::connect(&followTimer, &QTimer::timeout, q, [this] { followStatus(true); });
  betweenTimer.setSingleShot(true);
  betweenTimer.setInterval(step_patience_ms);
  QObject::connect(&betweenTimer, &QTimer::timeout, q, [this] {
    stepping = false;
    if (const auto late = std::exchange(between, std::nullopt)) takeStatusNow(*late);
  });
}

void Session::Private::clear() {
  cache.clear();
  wanted.clear();
  stale.clear();
  flights.clear();
  forgetRequests();
  setLook({});
  status = {};
  stepping = false;
  between.reset();
  candidate = 0;
  aiming = false;
  following = true;
  followTimer.stop();
  const bool moved = cursor != 0;
  cursor = 0;
  emit q->cleared();
  emit q->statusChanged();
  if (moved) emit q->cursorChanged(0);
}

void Session::Private::moveCursor(RecordNumber number) {
  if (number == cursor) return;
  cursor = number;
  q->record(number);  // every view wants it
  emit q->cursorChanged(number);
}

void Session::Private::followStatus(bool now) {
  if (!following) return;
  const RecordNumber target = status.stopped_before.value_or(status.finished);
  const bool idle = !protocol::stop_id(status) && !status.running_cell;
  if (target == 0 || (target == candidate && idle == aimedIdle)) return;
  const bool running = !protocol::stop_id(status) && live;
  if (running && !now && sinceFollowed.isValid() && sinceFollowed.elapsed() < follow_interval_ms) {
    if (!followTimer.isActive())
      followTimer.start(follow_interval_ms - static_cast<int>(sinceFollowed.elapsed()));
    return;
  }
  followTimer.stop();
  sinceFollowed.start();
  candidate = target;
  aimedIdle = idle;
  aim();
}

// The candidate, or, while a cell runs, what it runs inside of. Records that this needs and that are not here
// are asked for first.
void Session::Private::aim() {
  aiming = false;
  RecordNumber target = candidate;
  while (!aimedIdle && target != status.stopped_before && target <= status.records) {
    const protocol::Record* record = q->record(target);
    if (!record) {
      aiming = live;
      if (!aiming) break;
      return;
    }
    if (record->kind != protocol::RecordKind::op || record->parent == 0) break;
    const protocol::Record* parent = q->record(record->parent);
    if (!parent && live) {
      aiming = true;
      return;
    }
    if (!parent || parent->kind == protocol::RecordKind::playback ||
        parent->kind == protocol::RecordKind::call)
      break;
    target = record->parent;
  }
  moveCursor(target);
}

void Session::Private::takeStatus(const protocol::Status& next) {
  if (stepping && !protocol::stop_id(next)) {
    between = next;
    return;
  }
  stepping = false;
  between.reset();
  betweenTimer.stop();
  takeStatusNow(next);
}

void Session::Private::takeStatusNow(const protocol::Status& next) {
  const protocol::Status before = status;
  status = next;
  // A page may have told of newer records before the notice came.
  status.records = std::max(next.records, before.records);
  const std::optional<Run> news = takeStop();
  // The heartbeat tells the same once a second.
  if (!same(status, before)) emit q->statusChanged();
  if (news) emit q->recordsChanged(news->first, news->second);
  timesTold = timesTold || status.device_times != before.device_times;
  refreshOpen();
  const bool stops =
      protocol::stop_id(next) != protocol::stop_id(before) || next.stopped_after != before.stopped_after;
  // Wherever the user looked: who stops is to be seen.
  if (stops && protocol::stop_id(next)) {
    following = true;
    candidate = 0;
  }
  followStatus(false);
  if (stops) emit q->stopped(q->stop());
}

void Session::Private::setLive(bool on) {
  if (live == on) return;
  live = on;
  if (!on) {
    stepping = false;
    between.reset();
    flights.clear();
    wanted.clear();
    stale.clear();
    followTimer.stop();
    setLook({});
    const bool wasStopped = protocol::stop_id(status).has_value();
    status.gate = GateState::open;
    status.stopped_before.reset();
    status.stopped_at_line.reset();
    status.running_cell.reset();
    if (aiming) {
      aiming = false;
      moveCursor(candidate);
    }
    emit q->statusChanged();
    if (wasStopped) emit q->stopped(0);
    answerEnded();
  }
  emit q->liveChanged(on);
}

void Session::Private::connectionChanged(bool connected) {
  if (!connected) {
    setLive(false);
    return;
  }
  // Where a Welcome follows, that decides whether it is still the same session.
  if (wasConnected && process == std::pair<quint64, qint64>{0, 0}) clear();
  wasConnected = true;
  setLive(true);
  q->send(protocol::GetStatus{});
}

void Session::Private::isOf(const std::pair<quint64, qint64>& identity) {
  if (process != std::pair<quint64, qint64>{0, 0} && process != identity) clear();
  process = identity;
}

void Session::Private::take(quint64 request, const protocol::Reply& reply) {
  if (const auto* welcome = protocol::get_if<protocol::Welcome>(&reply)) {
    isOf({welcome->pid, welcome->started_unix_ms});
    return;
  }
  if (const auto* news = protocol::get_if<protocol::Status>(&reply)) {
    takeStatus(*news);
  } else if (const auto* failure = protocol::get_if<protocol::Failure>(&reply); failure && request == 0) {
    emit q->failed(QString::fromStdString(failure->reason));
  }
  answer(request, reply);
}

Session::Session(QObject* parent) : QObject(parent), d_(std::make_unique<Private>(this)) {
  qRegisterMetaType<RecordNumber>("tapedeck::inspector::RecordNumber");
}

Session::~Session() {
  if (d_->source) d_->source->disconnect(this);
}

void Session::setSource(Source* source) {
  if (source == d_->source && source) return;
  if (d_->source) d_->source->disconnect(this);
  d_->source = source;
  if (source) d_->forgetRequests();
  d_->setLive(false);
  if (!source) return;
  if (d_->lastSource && d_->lastSource != source) {
    d_->clear();
    d_->wasConnected = false;
    d_->process = {0, 0};
  }
  d_->lastSource = source;
  connect(source, &Source::connectedChanged, this,
          [this](bool connected) { d_->connectionChanged(connected); });
  connect(source, &Source::received, this,
          [this](quint64 request, const protocol::Reply& reply) { d_->take(request, reply); });
  connect(source, &Source::refused, this, &Session::failed);
  connect(source, &QObject::destroyed, this, [this] { d_->setLive(false); });
  if (!source->connected()) return;
  // Its Welcome came before; a source keeps in these properties what that said.
  const auto process = source->property("process").toULongLong();
  if (process != 0) d_->isOf({process, source->property("started_unix_ms").toLongLong()});
  d_->connectionChanged(true);
}

Source* Session::source() const {
  return d_->source;
}
bool Session::live() const {
  return d_->live;
}
const protocol::Status& Session::status() const {
  return d_->status;
}
qint64 Session::started() const {
  return d_->process.second;
}
RecordNumber Session::cursor() const {
  return d_->cursor;
}
bool Session::following() const {
  return d_->following;
}
RecordNumber Session::moment() const {
  return d_->following || d_->cursor == stoppedBefore() ? 0 : d_->cursor;
}
RecordNumber Session::stoppedBefore() const {
  return d_->status.stopped_before.value_or(0);
}

quint64 Session::stop() const {
  return protocol::stop_id(d_->status).value_or(0);
}

RecordNumber Session::recordCount() const {
  return d_->status.records;
}

void Session::setCursor(RecordNumber number) {
  if (recordCount() == 0) return;
  number = std::clamp<RecordNumber>(number, 1, recordCount());
  d_->following = number == recordCount();
  d_->aiming = false;
  // Where the user put it is where it stays until the session moves on.
  d_->candidate = d_->status.stopped_before.value_or(d_->status.finished);
  d_->moveCursor(number);
  emit cursorChosen();
}

void Session::follow() {
  d_->following = true;
  d_->candidate = 0;
  d_->followStatus(true);
}

void Session::pickTensor(const protocol::TensorInfo& tensor) {
  if (tensor.id) emit tensorPicked(tensor);
}

void Session::pickNamed(const protocol::TensorInfo& tensor, bool variable) {
  if (tensor.id) emit namedPicked(tensor, variable);
}

void Session::pickElement(const protocol::TensorInfo& tensor, const std::vector<std::int64_t>& element) {
  pickTensor(tensor);
  if (tensor.id && element.size() == tensor.shape.size()) emit elementPicked(tensor, element);
}

void Session::stepCursor(int delta) {
  const RecordNumber back = delta < 0 ? static_cast<RecordNumber>(-static_cast<qint64>(delta)) : 0;
  if (delta < 0) {
    setCursor(d_->cursor > back ? d_->cursor - back : 1);
  } else {
    setCursor(d_->cursor + static_cast<RecordNumber>(delta));
  }
}

void Session::sendGate(protocol::GateCommand command) {
  if (!d_->live) return;
  send(protocol::SetGate{command});
  // Not follow(): the answer says where to go; going to the newest record first would load it for nothing.
  d_->following = true;
  d_->candidate = 0;
  const bool steps = command != protocol::GateCommand::run && command != protocol::GateCommand::pause;
  d_->stepping = steps && protocol::stop_id(d_->status);
  if (d_->stepping) d_->betweenTimer.start();
}

}  // namespace tapedeck::inspector
