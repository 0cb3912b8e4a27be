#include "inspector/model/runs/health_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "inspector/model/format.h"
#include "inspector/model/session/well_formed.h"

namespace tapedeck::inspector {

namespace {

constexpr int refresh_ms = 400, renewal_ms = 4000, judging_ms = 2000, live_ms = 10000, slice_ms = 300;
constexpr std::uint32_t first_steps = 40, strip_columns = 64, most_curve_points = 2000;
constexpr std::uint32_t least_rows = 60, most_rows = 400;

const QString table_channel = QStringLiteral("health/table");
const QString findings_channel = QStringLiteral("health/findings");
const QString sample_channel = QStringLiteral("health/sample");
const QString curve_channel = QStringLiteral("health/curve/%1");

}  // namespace

HealthModel::HealthModel(Session* session, QObject* parent)
    : QObject(parent), session_(session), wanted_(first_steps) {
  soon_.setSingleShot(true);
  soon_.setInterval(refresh_ms);
  renewal_.setInterval(renewal_ms);
  connect(&soon_, &QTimer::timeout, this, &HealthModel::refresh);
  connect(&renewal_, &QTimer::timeout, this, &HealthModel::refresh);
  connect(session, &Session::statusChanged, this, &HealthModel::schedule);
  connect(session, &Session::liveChanged, this, [this](bool live) {
    recomputing_ = false;
    if (live) schedule();
    emit changed();
  });
  connect(session, &Session::cleared, this, &HealthModel::clear);
}

void HealthModel::clear() {
  state_ = {};
  rows_.clear();
  ranges_.clear();
  shownQuantity_.clear();
  findings_.clear();
  notSeen_.clear();
  run_.reset();
  wantedRun_.reset();
  stale_ = false;
  curves_.clear();
  findingsVersion_ = curvesVersion_ = completeAt_ = never;
  explained_ = recomputing_ = cancelled_ = false;
  selected_ = 0;
  wanted_ = first_steps;
  problem_.clear();
  failure_.clear();
  emit changed();
  emit findingsChanged();
  emit selectionChanged();
  emit curvesChanged();
}

void HealthModel::setShown(bool shown) {
  if (shown == shown_) return;
  shown_ = shown;
  if (shown) {
    renewal_.start();
    return refresh();
  }
  renewal_.stop();
  soon_.stop();
  recomputing_ = false;
  for (const QString& channel : {table_channel, findings_channel, sample_channel}) session_->drop(channel);
  dropCurves();
  curvesVersion_ = never;
  if (session_->live()) session_->send(protocol::GetHealth{0, 0, 0, 1});
}

void HealthModel::setVisibleRows(int first, int count) {
  const int last = std::min(first + count, rowCount());
  const int before = std::exchange(firstVisible_, std::max(0, first));
  visibleCount_ = std::max(1, count);
  if (before != firstVisible_) return schedule();  // what comes into sight is as it was when it was seen last
  for (int row = firstVisible_; row < last; ++row)
    if (!rows_[static_cast<std::size_t>(row)]) return schedule();
}

void HealthModel::schedule() {
  if (shown_ && !soon_.isActive()) soon_.start();
}

bool HealthModel::idle() const {
  const protocol::Status& status = session_->status();
  return !status.running_cell || status.gate == protocol::GateState::stopped;
}

void HealthModel::refresh() {
  if (!shown_ || !session_->live() || session_->asking(table_channel)) return;
  protocol::GetHealth request;
  request.live_ms = live_ms;
  request.first = static_cast<std::uint32_t>(firstVisible_);
  request.count = std::clamp(static_cast<std::uint32_t>(visibleCount_), least_rows, most_rows);
  request.columns = strip_columns;
  request.run = wantedRun_;
  session_->request<protocol::Health>(
      request, this, [this](const protocol::Health& table) { take(table); },
      [this](const protocol::Failure& failure) { fail(failure); }, table_channel);
}

// The end of the session is reported elsewhere.
void HealthModel::fail(const protocol::Failure& failure) {
  if (failure.code != "cancelled" && failure.code != "ended")
    failure_ = QString::fromStdString(failure.reason);
  emit changed();
}

void HealthModel::take(const protocol::Health& table) {
  if (!shown_) return;
  failure_.clear();
  const bool moved = table.version != state_.version || table.steps != state_.steps;
  // A run that has begun is shown next.
  const bool begun =
      !table.runs.empty() && !state_.runs.empty() && table.runs.back().number != state_.runs.back().number;
  if (begun && !run_) wantedRun_.reset();
  if (table.run != state_.run) {
    rows_.clear();
    curves_.clear();
    curvesVersion_ = never;
  }
  state_ = table;
  state_.rows.clear();
  rows_.resize(table.total);
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (table.first + i < rows_.size()) rows_[table.first + i] = table.rows[i];
  takeRanges();
  if (selected_ == 0 || (rows_.size() == table.rows.size() && !rowOf(selected_)))
    for (const auto& row : rows_)
      if (row && row->kind != protocol::HealthKind::loss && row->kind != protocol::HealthKind::published) {
        select(row->subject);
        break;
      }
  emit changed();
  if (moved || stale_ || !explained_ || findingsVersion_ != state_.version) askFindings();
  const protocol::HealthRow* chosen = rowOf(selected_);
  const bool moreCurves = chosen && static_cast<int>(chosen->strips.size()) != curveChannels_;
  if (curvesVersion_ != state_.version || moreCurves) askCurves();
  sample();
}

const protocol::HealthRow* HealthModel::row(int row) const {
  if (row < 0 || row >= rowCount()) return nullptr;
  const auto& found = rows_[static_cast<std::size_t>(row)];
  return found ? &*found : nullptr;
}

const protocol::HealthRow* HealthModel::rowOf(HealthSubjectId subject) const {
  for (const auto& row : rows_)
    if (row && row->subject == subject) return &*row;
  return nullptr;
}

// Once for an answer, not once for each cell that is drawn.
void HealthModel::takeRanges() {
  ranges_.clear();
  for (const auto& row : rows_) {
    if (!row) continue;
    for (const protocol::HealthStrip& strip : row->strips)
      for (const double value : strip.values) {
        if (!(value > 0) || !std::isfinite(value)) continue;
        auto& [low, high] = ranges_.try_emplace(strip.quantity, value, value).first->second;
        low = std::min(low, value);
        high = std::max(high, value);
      }
  }
}

std::pair<double, double> HealthModel::range(const std::string& quantity) const {
  const auto found = ranges_.find(quantity);
  return found == ranges_.end() ? std::pair{1.0, 1.0} : found->second;
}

std::vector<const protocol::HealthRow*> HealthModel::published() const {
  std::vector<const protocol::HealthRow*> found;
  for (const auto& row : rows_)
    if (row && row->kind == protocol::HealthKind::published) found.push_back(&*row);
  return found;
}

QString HealthModel::howSampled() const {
  if (recomputing_)
    return QStringLiteral("Recomputing: %1 of %2 steps").arg(countText(done_), countText(toDo_));
  const protocol::HealthRun* run = shownRun();
  if (!run || run->steps == 0) {
    if (!published().empty())
      return QStringLiteral("No training step yet; the optimiser's own figures are shown.");
    return QStringLiteral(
        "No training step was recorded yet: one ends with an optimiser's update after a gradient.");
  }
  const quint64 live = run->sampled - std::min(run->recomputed, run->sampled);
  QString text;
  if (live == 0)
    text =
        QStringLiteral("%1 of %2 steps, recomputed").arg(countText(run->recomputed), countText(run->steps));
  else if (run->recomputed == 0)
    text = QStringLiteral("%1 of %2 steps, sampled live").arg(countText(live), countText(run->steps));
  else
    text =
        QStringLiteral("%1 of %2 steps: %3 sampled live, %4 recomputed")
            .arg(countText(run->sampled), countText(run->steps), countText(live), countText(run->recomputed));
  if (run->gone > 0) text += QStringLiteral("; %1 could not be recomputed").arg(countText(run->gone));
  if (run->cut) text += QStringLiteral("; earlier steps were forgotten");
  if (state_.every == 1)
    text += QStringLiteral("; from now on every step");
  else if (state_.every)
    text += QStringLiteral("; from now on one of every %1 steps").arg(countText(*state_.every));
  return text;
}

// ---- runs

const protocol::HealthRun* HealthModel::runOf(quint64 number) const {
  for (const protocol::HealthRun& run : state_.runs)
    if (run.number == number) return &run;
  return nullptr;
}

int HealthModel::run() const {
  if (run_)
    for (std::size_t i = 0; i < state_.runs.size(); ++i)
      if (state_.runs[i].number == *run_) return static_cast<int>(i);
  return -1;
}

void HealthModel::setRun(int run) {
  if (!session_->live()) return emit changed();
  const int last = static_cast<int>(state_.runs.size()) - 1;
  run = std::clamp(run, -1, last);
  if (run == this->run()) return;
  run_.reset();
  if (run >= 0) run_ = state_.runs[static_cast<std::size_t>(run)].number;
  stale_ = true;
  completeAt_ = never;
  cancelled_ = recomputing_ = false;
  for (const QString& channel : {findings_channel, sample_channel}) session_->drop(channel);
  showRun(run_);
  emit changed();
}

void HealthModel::stepRun(int by) {
  const int last = static_cast<int>(state_.runs.size()) - 1;
  if (last < 0) return;
  setRun(run() < 0 ? last : std::clamp(run() + by, 0, last));
}

void HealthModel::showRun(std::optional<quint64> number) {
  wantedRun_ = number;
  session_->drop(table_channel);
  firstVisible_ = 0;
  refresh();
}

QString HealthModel::notSeen(quint64 run) const {
  QStringList sentences;
  for (const protocol::HealthNotSeen& each : notSeen_)
    if (each.run == run) sentences << QString::fromStdString(each.sentence);
  return sentences.join(QLatin1Char(' '));
}

// ---- findings

void HealthModel::askFindings() {
  if (session_->asking(findings_channel)) return;  // asked anew with the next table
  // Why takes long: when all that is wanted is here.
  const bool explain = idle() && (completeAt_ == state_.steps || cancelled_);
  if (!stale_ && findingsVersion_ == state_.version && explained_ == explain) return;
  // The program has the machine while it runs; the next table asks.
  if (!stale_ && !idle() && judged_.isValid() && judged_.elapsed() < judging_ms) return;
  judged_.start();
  session_->request<protocol::HealthFindings>(
      protocol::GetHealthFindings{explain, run_}, this,
      [this, explain, of = run_](const protocol::HealthFindings& answer) {
        if (of != run_) return;  // of the run that was chosen before
        findingsVersion_ = answer.version;
        explained_ = explain;
        stale_ = false;
        findings_ = answer.findings;
        notSeen_ = answer.not_seen;
        emit findingsChanged();
      },
      [this](const protocol::Failure& failure) { fail(failure); }, findings_channel);
}

void HealthModel::judgeAgain() {
  if (shown_) refresh();
}

void HealthModel::show(int finding) {
  if (finding < 0 || finding >= static_cast<int>(findings_.size())) return;
  const protocol::HealthFinding chosen = findings_[static_cast<std::size_t>(finding)];
  shownQuantity_ = chosen.quantity;
  if (chosen.run != state_.run) showRun(chosen.run);
  if (chosen.subject) select(chosen.subject);
  if (chosen.record) session_->setCursor(chosen.record);
  if (chosen.tensor) session_->pickTensor(*chosen.tensor);
}

void HealthModel::showRecord(RecordNumber record) {
  if (record) session_->setCursor(record);
}

// ---- steps that ran while the panel was hidden

void HealthModel::sample() {
  if (!shown_ || cancelled_ || !idle() || state_.steps == 0 || completeAt_ == state_.steps ||
      session_->asking(sample_channel))
    return;
  const quint64 steps = state_.steps;
  recomputing_ = session_->request<protocol::HealthSampled>(
      protocol::SampleHealth{wanted_, slice_ms, run_}, this,
      [this, steps](const protocol::HealthSampled& answer) {
        done_ = answer.done;
        toDo_ = answer.wanted;
        problem_ = QString::fromStdString(answer.problem.value_or(""));
        if (answer.complete) {
          completeAt_ = steps;
          recomputing_ = false;
        }
        emit changed();
        refresh();
      },
      [this](const protocol::Failure& failure) {
        recomputing_ = false;
        cancelled_ = failure.code != "ended";
        fail(failure);
      },
      sample_channel);
  emit changed();
}

void HealthModel::sampleMore() {
  wanted_ = static_cast<std::uint32_t>(
      std::min<quint64>(std::max<quint64>(2 * quint64{wanted_}, 2), std::max<quint64>(state_.steps, 1)));
  cancelled_ = false;
  completeAt_ = never;
  toDo_ = wanted_;
  refresh();
}

void HealthModel::cancel() {
  if (!recomputing_) return;
  session_->drop(sample_channel);
  recomputing_ = false;
  cancelled_ = true;
  emit changed();
}

// ---- curves

/// The run whose curves are asked for: the one that the rows are about, or are to be.
std::optional<quint64> HealthModel::curveRun() const {
  if (wantedRun_) return wantedRun_;
  return state_.runs.empty() ? std::nullopt : std::optional<quint64>(state_.run);
}

void HealthModel::select(HealthSubjectId subject) {
  if (subject == selected_) return;
  selected_ = subject;
  curves_.clear();
  emit selectionChanged();
  emit curvesChanged();
  askCurves();
}

void HealthModel::dropCurves() {
  while (curveChannels_ > 0) session_->drop(curve_channel.arg(--curveChannels_));
}

void HealthModel::askCurves() {
  dropCurves();
  if (selected_ == 0 || !session_->live()) return;
  std::vector<std::string> quantities;
  if (const protocol::HealthRow* row = rowOf(selected_))
    for (const protocol::HealthStrip& strip : row->strips) quantities.push_back(strip.quantity);
  else if (!shownQuantity_.empty())
    quantities = {shownQuantity_};
  curvesVersion_ = state_.version;
  for (const std::string& quantity : quantities)
    session_->request<protocol::HealthCurve>(
        protocol::GetHealthCurve{selected_, quantity, most_curve_points, curveRun()}, this,
        [this](const protocol::HealthCurve& curve) {
          if (curve.subject != selected_ || !wellFormed(curve)) return;
          if (curveRun() && curve.run != *curveRun()) return;  // of the run that was shown before
          curves_[curve.quantity] = curve;
          emit curvesChanged();
        },
        [](const protocol::Failure&) {}, curve_channel.arg(curveChannels_++));
}

std::vector<const protocol::HealthCurve*> HealthModel::curves() const {
  std::vector<const protocol::HealthCurve*> found;
  const protocol::HealthRow* row = rowOf(selected_);
  if (!row)
    for (const auto& [quantity, curve] : curves_) found.push_back(&curve);
  else
    for (const protocol::HealthStrip& strip : row->strips)
      if (const auto curve = curves_.find(strip.quantity); curve != curves_.end())
        found.push_back(&curve->second);
  return found;
}

}  // namespace tapedeck::inspector
