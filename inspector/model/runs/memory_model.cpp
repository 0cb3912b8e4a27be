#include "inspector/model/runs/memory_model.h"

#include <QMap>
#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/model/session/well_formed.h"

namespace tapedeck::inspector {

using protocol::MemoryHolder;

namespace {

const QString curveChannel = QStringLiteral("memory/curve");
const QString stateChannel = QStringLiteral("memory/state");
const QString namesChannel = QStringLiteral("memory/names");
const QString savingsChannel = QStringLiteral("memory/savings");
constexpr std::uint32_t rowsAtOnce = 200;
constexpr std::size_t mostNamed = 500;
// A session that needs long for a curve is asked less often: it takes a tenth of the time at most.
constexpr qint64 refreshMs = 250, longestMs = 5000;

}  // namespace

QString memoryText(double bytes) {
  static const char* const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 999.5 && unit < 4; ++unit) bytes /= 1000;
  const int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return QStringLiteral("%1 %2").arg(QString::number(bytes, 'f', digits), QLatin1String(units[unit]));
}

QString holderText(MemoryHolder holder) {
  switch (holder) {
    case MemoryHolder::variable:
      return QStringLiteral("variables");
    case MemoryHolder::tape:
      return QStringLiteral("tapes");
    case MemoryHolder::program:
      return QStringLiteral("the program");
    case MemoryHolder::recorder:
      return QStringLiteral("the recorder");
  }
  return {};
}

MemoryModel::MemoryModel(Session* session, QObject* parent) : QObject(parent), session_(session) {
  soon_.setSingleShot(true);
  soon_.setInterval(static_cast<int>(refreshMs));
  connect(&soon_, &QTimer::timeout, this, &MemoryModel::refresh);
  connect(session, &Session::statusChanged, this, [this] {
    const auto& status = session_->status();
    // Between two cells, or at a stop, names can be found.
    const bool still = status.gate == protocol::GateState::stopped || !status.running_cell;
    const bool isNew = !curve_ || curve_->total < status.finished || (still && !still_);
    still_ = still;
    if (isNew) curveStale_ = stateStale_ = true;
    if (isNew) refreshSoon();
  });
  connect(session, &Session::cursorChanged, this, [this] {
    stateStale_ = true;
    refreshSoon();
  });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live) askAll();  // what was under way was lost
    emit problemChanged();
  });
  connect(session, &Session::cleared, this, &MemoryModel::clear);
}

void MemoryModel::clear() {
  curve_.reset();
  state_.reset();
  savings_.reset();
  tensorNames_.clear();
  tapeNames_.clear();
  first_ = last_ = spanFirst_ = spanLast_ = 0;
  problem_.clear();
  emit curveChanged();
  emit stateChanged();
  emit savingsChanged();
  emit problemChanged();
  askAll();
}

void MemoryModel::askAll() {
  curveStale_ = stateStale_ = true;
  refreshSoon();
}

QString MemoryModel::waitingText() const {
  if (!problem_.isEmpty()) return problem_;
  if (session_->recordCount() == 0) return QStringLiteral("Memory is shown once an op has run.");
  return session_->live()
             ? QStringLiteral("Looking at the memory of the run …")
             : QStringLiteral("The session has ended: what was not fetched before can't be shown.");
}

void MemoryModel::setShown(bool shown) {
  if (shown_ == shown) return;
  shown_ = shown;
  if (shown) {
    if (savingsShown_) askForSavings();
    return refresh();
  }
  soon_.stop();
  for (const QString& channel : {curveChannel, stateChannel, namesChannel, savingsChannel})
    session_->drop(channel);
  curveStale_ = stateStale_ = true;
}

void MemoryModel::setGroup(protocol::MemoryGroup group) {
  if (group_ == group) return;
  group_ = group;
  stateStale_ = true;
  if (shown_) refresh();
}

void MemoryModel::setPoints(int points) {
  points = std::clamp(points, 10, 4000);
  if (points_ == points) return;
  points_ = points;
  curveStale_ = true;
  refreshSoon();
}

void MemoryModel::setRange(RecordNumber first, RecordNumber last) {
  if (first_ == first && last_ == last) return;
  first_ = first;
  last_ = last;
  curveStale_ = true;
  refreshSoon();
}

// While something runs, it waits for the newest answer: requested again each time, it would never arrive.
void MemoryModel::refreshSoon() {
  if (shown_ && !soon_.isActive()) soon_.start();
}

void MemoryModel::refresh() {
  if (!shown_ || session_->recordCount() == 0) return;
  if (curveStale_ && !session_->asking(curveChannel)) askForCurve();
  const bool asksTheSame = session_->asking(stateChannel) && stateAsked_ == std::pair(moment(), group_);
  if (stateStale_ && !asksTheSame) askForState();
}

RecordNumber MemoryModel::moment() const {
  const RecordNumber cursor = session_->cursor();
  // While it follows a run the cursor is a little behind.
  return session_->following() || cursor >= session_->status().finished ? 0 : cursor;
}

void MemoryModel::setProblem(const protocol::Failure& failure) {
  const bool told = failure.code == "cancelled" || failure.code == "ended";  // elsewhere
  problem_ = told ? QString() : QString::fromStdString(failure.reason);
  emit problemChanged();
}

void MemoryModel::askForCurve() {
  curveStale_ = false;
  asked_.start();
  const protocol::GetMemoryCurve request{std::max<RecordNumber>(first_, 1), protocol::if_there(last_),
                                         static_cast<std::uint32_t>(points_)};
  session_->request<protocol::MemoryCurve>(
      request, this,
      [this](const protocol::MemoryCurve& curve) {
        if (!wellFormed(curve)) return setProblem(ill_formed);
        problem_.clear();
        const bool peakMoved = curve_ && curve_->peak_record != curve.peak_record;
        soon_.setInterval(static_cast<int>(std::clamp(10 * asked_.elapsed(), refreshMs, longestMs)));
        curve_ = curve;
        emit curveChanged();
        askForNames();
        if (peakMoved && savingsShown_ && still_) askForSavings();
        if (curveStale_) refreshSoon();
      },
      [this](const protocol::Failure& failure) { setProblem(failure); }, curveChannel);
}

void MemoryModel::askForState() {
  stateStale_ = false;
  stateAsked_ = {moment(), group_};
  session_->request<protocol::MemoryState>(
      protocol::GetMemoryState{protocol::if_there(moment()), group_, 0, rowsAtOnce}, this,
      [this, group = group_](const protocol::MemoryState& state) {
        problem_.clear();
        state_ = state;
        stateGroup_ = group;
        emit stateChanged();
        askForNames();
        if (stateStale_) refreshSoon();
      },
      [this](const protocol::Failure& failure) { setProblem(failure); }, stateChannel);
}

void MemoryModel::fetchMore() {
  if (!state_ || state_->rows.size() >= state_->total || session_->asking(stateChannel)) return;
  stateAsked_.reset();
  session_->request<protocol::MemoryState>(
      protocol::GetMemoryState{state_->record, stateGroup_, state_->rows.size(), rowsAtOnce}, this,
      [this](const protocol::MemoryState& more) {
        if (!state_ || more.record != state_->record || more.first != state_->rows.size()) return;
        state_->rows.insert(state_->rows.end(), more.rows.begin(), more.rows.end());
        emit rowsAdded();
        askForNames(true);
      },
      [this](const protocol::Failure& failure) { setProblem(failure); }, stateChannel);
}

void MemoryModel::askForNames(bool ofMoreRows) {
  const auto& status = session_->status();
  const bool stopped = status.gate == protocol::GateState::stopped;
  if (!stopped && status.running_cell) return;
  protocol::FindNames find;
  if (stopped) find.stop = protocol::stop_id(status);
  const auto want = [](std::vector<std::uint64_t>& list, std::uint64_t id) {
    if (id != 0 && list.size() < mostNamed && std::find(list.begin(), list.end(), id) == list.end())
      list.push_back(id);
  };
  if (curve_)
    for (const auto& growth : curve_->growth) {
      for (const std::uint64_t id : growth.tensors) want(find.tensors, id);
      for (const std::uint64_t id : growth.tapes) want(find.tapes, id);
    }
  if (state_)
    for (const auto& row : state_->rows) {
      want(find.tensors, row.tensor.id);
      want(find.tapes, row.tape.value_or(0));
    }
  if (find.tensors.empty() && find.tapes.empty()) return;
  if (ofMoreRows && find.tensors == namesAsked_.tensors && find.tapes == namesAsked_.tapes) return;
  namesAsked_ = find;
  session_->request<protocol::FoundNames>(
      find, this, [this](const protocol::FoundNames& found) { take(found); },
      [](const protocol::Failure&) {},  // a session without Python, or one that runs on: no names
      namesChannel);
}

void MemoryModel::take(const protocol::FoundNames& found) {
  tensorNames_.clear();
  tapeNames_.clear();
  for (const protocol::NamePath& path : found.names) {
    const Name name{QString::fromStdString(path.path), QString::fromStdString(path.root),
                    path.items.value_or(0)};
    if (path.tape) tapeNames_[*path.tape].push_back(name);
    if (path.tensor) tensorNames_[*path.tensor].push_back(name);
  }
  emit namesChanged();
}

QString MemoryModel::holderOf(const protocol::MemoryRow& row) const {
  QString held = QString::fromStdString(row.held_by.value_or(""));
  if (!row.held_by)  // a group: of holders it has the holder's name, of lines and scopes their own
    held = stateGroup_ == protocol::MemoryGroup::holder ? QString::fromStdString(row.name)
                                                        : holderText(row.holder);
  QStringList names;
  const auto add = [&](const std::vector<Name>& paths) {
    for (const Name& name : paths)
      if (!names.contains(name.path)) names << name.path;
  };
  if (row.tape) add(tapeNames_.value(*row.tape));
  if (row.count == 1) add(tensorNames_.value(row.tensor.id));
  if (names.isEmpty()) return held;
  if (row.holder == MemoryHolder::program) return names.join(QStringLiteral(", "));
  return QStringLiteral("%1 (%2)").arg(held, names.join(QStringLiteral(", ")));
}

QString MemoryModel::growthText(const protocol::MemoryGrowth& growth) const {
  // The name that keeps most of them: a loop's own variables have the newest alone.
  struct Root {
    int count = 0;
    quint64 items = 0;
  };
  QMap<QString, Root> roots;
  int most = 0;
  const auto count = [&](const std::vector<std::uint64_t>& ids, const auto& names) {
    for (const std::uint64_t id : ids) {
      QStringList seen;
      for (const Name& name : names.value(id)) {
        if (seen.contains(name.root)) continue;
        seen << name.root;
        Root& root = roots[name.root];
        most = std::max(most, ++root.count);
        root.items = name.items;
      }
    }
  };
  count(growth.tensors, tensorNames_);
  count(growth.tapes, tapeNames_);
  QString text = QString::fromStdString(growth.sentence);
  QStringList names;
  for (auto root = roots.begin(); root != roots.end(); ++root)
    if (root->count == most)
      names << (root->items ? QStringLiteral("%1 (%2 items)").arg(root.key(), countText(root->items))
                            : root.key());
  if (!names.isEmpty())
    text += QStringLiteral(" Kept alive by the name %1.").arg(names.join(QStringLiteral(" and ")));
  return text;
}

QString MemoryModel::summary() const {
  if (!state_) return {};
  const auto& s = *state_;
  const auto sum = static_cast<double>(s.variables + s.tapes + s.program);
  const bool isFile = session_->status().trace_file.has_value();
  QString text =
      (s.record ? QStringLiteral("At op %1: ").arg(countText(*s.record))
       : isFile ? QStringLiteral("When it was saved: ")
                : QStringLiteral("Now: ")) +
      QStringLiteral("%1 in %2 storages: variables %3, tapes %4, the program %5")
          .arg(memoryText(sum), countText(s.storages), memoryText(static_cast<double>(s.variables)),
               memoryText(static_cast<double>(s.tapes)), memoryText(static_cast<double>(s.program)));
  if (s.borrowed)
    text += QStringLiteral(", NumPy's arrays %1").arg(memoryText(static_cast<double>(s.borrowed)));
  if (s.elsewhere)
    text += QStringLiteral(", not recorded %1").arg(memoryText(static_cast<double>(s.elsewhere)));
  text += QStringLiteral(". The recorder %1 %2")
              .arg(s.record || isFile ? QStringLiteral("took") : QStringLiteral("takes"),
                   memoryText(static_cast<double>(s.recorder)));
  if (!s.record && !isFile)
    text +=
        QStringLiteral(" of its %1").arg(memoryText(static_cast<double>(session_->status().budget_bytes)));
  if (s.recomputed)
    text += QStringLiteral(", besides %1 of values that were recomputed for views")
                .arg(memoryText(static_cast<double>(s.recomputed)));
  text += QLatin1Char('.');
  if (s.change) text += QLatin1Char(' ') + QString::fromStdString(*s.change);
  return text;
}

void MemoryModel::goToPeak() {
  if (curve_ && curve_->peak_record) session_->setCursor(curve_->peak_record);
}

void MemoryModel::goToGrowth() {
  if (curve_ && !curve_->growth.empty() && curve_->growth.front().record)
    session_->setCursor(curve_->growth.front().record);
}

void MemoryModel::setSpan(RecordNumber first, RecordNumber last) {
  spanFirst_ = first;
  spanLast_ = last;
  if (shown_ && savingsShown_) askForSavings();
}

void MemoryModel::setSavingsShown(bool shown) {
  savingsShown_ = shown;
  if (shown && shown_)
    askForSavings();
  else
    session_->drop(savingsChannel);
}

void MemoryModel::askForSavings() {
  if (!session_->live()) return;
  savings_.reset();
  emit savingsChanged();
  session_->request<protocol::RecomputeSavings>(
      protocol::GetRecomputeSavings{protocol::if_there(spanFirst_), protocol::if_there(spanLast_)}, this,
      [this](const protocol::RecomputeSavings& savings) {
        problem_.clear();
        savings_ = savings;
        emit savingsChanged();
      },
      [this](const protocol::Failure& failure) { setProblem(failure); }, savingsChannel);
}

}  // namespace tapedeck::inspector
