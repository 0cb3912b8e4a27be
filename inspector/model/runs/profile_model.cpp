#include "inspector/model/runs/profile_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "inspector/model/session/well_formed.h"

namespace tapedeck::inspector {

namespace {

constexpr int running_interval_ms = 500;  ///< between two looks while a cell runs
constexpr int lagging_interval_ms = 150;  ///< the session's index works a fraction of that, beside the cell
constexpr quint32 gaps_shown = 50, rows_a_page = 200, ops_shown = 300, step_points = 600;
constexpr std::size_t most_costs = 4096;

const QString overview_channel = QStringLiteral("time/overview");
const QString track_channel = QStringLiteral("time/track");
const QString steps_channel = QStringLiteral("time/steps");
const QString flame_channel = QStringLiteral("time/flame");
const QString ops_channel = QStringLiteral("time/ops");
const QString rows_channel = QStringLiteral("time/rows");
const QString cost_channel = QStringLiteral("time/cost");
const QString peaks_channel = QStringLiteral("time/peaks");

}  // namespace

ProfileModel::ProfileModel(Session* session, QObject* parent) : QObject(parent), session_(session) {
  totals_.count = rows_a_page;
  next_.setSingleShot(true);
  connect(&next_, &QTimer::timeout, this, &ProfileModel::refresh);
  connect(session, &Session::cleared, this, &ProfileModel::clear);
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live) refreshLater();
  });
  connect(session, &Session::statusChanged, this, [this] {
    const protocol::Status& status = session_->status();
    const bool cell_ended = std::exchange(cell_runs_, status.running_cell.has_value()) && !cell_runs_;
    if (active_ && cell_ended && peaks_ && !peaks_->known) askPeaks(false);
    const bool ended =
        overview_ && !overview_->runs.empty() && overview_->runs.back().running && !status.running_cell;
    const bool times_came = std::exchange(device_times_, status.device_times) != status.device_times;
    if (times_came) costs_.clear();
    if (status.records != total_ || ended || times_came) refreshLater();
  });
}

void ProfileModel::clear() {
  runs_.clear();
  run_ = -1;
  follows_runs_ = true;
  selection_.reset();
  view_ = {};
  view_is_users_ = false;
  overview_.reset();
  running_ = {};
  track_.reset();
  flame_.reset();
  steps_.reset();
  ops_.reset();
  rows_.clear();
  rows_total_ = 0;
  rows_time_ = 0;
  peaks_.reset();
  costs_.clear();
  cost_asked_ = 0;
  overview_fits_ = false;
  indexed_ = total_ = 0;
  problem_.clear();
  emit runsChanged();
  emit spanChanged();
  emit viewChanged();
  emit overviewChanged();
  emit trackChanged();
  emit flameChanged();
  emit stepsChanged();
  emit totalsChanged();
  emit peaksChanged();
}

void ProfileModel::setActive(bool active) {
  if (active_ == active) return;
  active_ = active;
  if (active) return refresh();
  next_.stop();
  track_outdated_ = false;
  cost_asked_ = 0;
  // Measuring the machine takes half a second, and every later view uses it: it is not cancelled.
  for (const QString& channel : {overview_channel, track_channel, steps_channel, flame_channel, ops_channel,
                                 rows_channel, cost_channel})
    session_->drop(channel);
}

TimeSpan ProfileModel::whole() const {
  if (run_ >= 0 && run_ < static_cast<int>(runs_.size())) {
    const protocol::ProfileRun& run = runs_[static_cast<std::size_t>(run_)];
    return {run.from_ns, std::max(run.to_ns, run.from_ns + 1)};
  }
  if (!overview_) return {0, 0};
  return {overview_->first_ns, std::max(overview_->last_ns, overview_->first_ns + 1)};
}

TimeSpan ProfileModel::span() const {
  return selection_ ? *selection_ : whole();
}

std::string ProfileModel::cell() const {
  return run_ >= 0 && run_ < static_cast<int>(runs_.size())
             ? runs_[static_cast<std::size_t>(run_)].cell.value_or("")
             : std::string();
}

quint64 ProfileModel::execution() const {
  return run_ >= 0 && run_ < static_cast<int>(runs_.size()) ? runs_[static_cast<std::size_t>(run_)].execution
                                                            : 0;
}

/// The newest one with ops; where none has any, the newest.
int ProfileModel::newestRun() const {
  const auto found =
      std::find_if(runs_.rbegin(), runs_.rend(), [](const auto& run) { return run.records > 0; });
  return static_cast<int>((found == runs_.rend() ? runs_.end() : found.base()) - runs_.begin()) - 1;
}

QString ProfileModel::waitingText() const {
  if (!problem_.isEmpty()) return problem_;
  if (session_->recordCount() == 0)
    return QStringLiteral("No op has run yet. Run a cell, and see here where its time went.");
  return session_->live()
             ? QStringLiteral("Looking at the records …")
             : QStringLiteral("The session has ended: what was not fetched before can't be shown.");
}

double ProfileModel::indexed() const {
  return total_ == 0 ? 1 : static_cast<double>(indexed_) / static_cast<double>(total_);
}

// ---- what the user chooses

void ProfileModel::setPage(ProfilePage page) {
  if (page_ == page) return;
  page_ = page;
  emit pageChanged();
  if (active_) askPage();
}

void ProfileModel::setRun(int run) {
  if (!session_->live()) return emit spanChanged();
  run = std::clamp(run, -1, static_cast<int>(runs_.size()) - 1);
  follows_runs_ = run >= 0 && run == newestRun();
  run_ = run;
  selection_.reset();
  running_ = {};
  view_is_users_ = false;
  view_ = whole();
  overview_fits_ = false;
  emit spanChanged();
  emit viewChanged();
  if (active_) askOverview();  // an answer under way is of another span
}

void ProfileModel::setRunAt(qint64 time) {
  if (const TimeSpan shown = whole(); time >= shown.from && time <= shown.to) return;
  const auto run = std::ranges::find_if(
      runs_, [time](const protocol::ProfileRun& one) { return time >= one.from_ns && time <= one.to_ns; });
  setRun(run == runs_.end() ? -1 : static_cast<int>(run - runs_.begin()));
}

void ProfileModel::stepRun(int by) {
  if (runs_.empty()) return;
  setRun(run_ < 0 ? newestRun() : std::clamp(run_ + by, 0, static_cast<int>(runs_.size()) - 1));
}

void ProfileModel::setSelection(const std::optional<TimeSpan>& selection) {
  if (selection_ == selection || !session_->live()) return;
  selection_ = selection;
  overview_fits_ = false;
  emit spanChanged();
  if (active_) askOverview();
}

void ProfileModel::setView(TimeSpan view, int pixels) {
  view.to = std::max(view.to, view.from + 1);
  const bool moved = !(view == view_);
  if (!moved && pixels == pixels_) return;
  if (moved) view_is_users_ = !(view == whole());
  view_ = view;
  pixels_ = pixels;
  if (moved) emit viewChanged();
  if (active_ && page_ == ProfilePage::track) askTrack();
}

void ProfileModel::setGroup(protocol::ProfileGroup group) {
  if (totals_.group == group) return;
  totals_.group = group;
  if (active_) askRows(0);
}

void ProfileModel::setOrder(protocol::ProfileOrder order, bool ascending) {
  if (totals_.order == order && totals_.ascending == ascending) return;
  totals_.order = order;
  totals_.ascending = ascending;
  if (active_) askRows(0);
}

void ProfileModel::setFilter(const QString& filter, const std::vector<std::string>& labels) {
  const std::string text = filter.toStdString();
  if (totals_.filter == text && totals_.label_cells == labels) return;
  totals_.filter = text;
  totals_.label_cells = labels;
  if (active_ && page_ == ProfilePage::totals) askRows(0);
}

void ProfileModel::setFlameByLine(bool by_line) {
  if (flame_by_line_ == by_line) return;
  flame_by_line_ = by_line;
  if (active_) askFlame();
}

void ProfileModel::fetchMoreRows() {
  if (rows_.size() < rows_total_ && !session_->asking(rows_channel))
    askRows(static_cast<quint32>(rows_.size()));
}

void ProfileModel::measureAgain() {
  askPeaks(true);
}

// ---- asking

void ProfileModel::refreshLater() {
  if (active_ && !next_.isActive()) next_.start(running_interval_ms);
}

void ProfileModel::refresh() {
  next_.stop();
  if (!active_ || !session_->live()) return;
  if (!session_->asking(overview_channel)) askOverview();
  if (!peaks_) askPeaks(false);
}

template <class Expected, class Take>
void ProfileModel::ask(const protocol::Request& message, const QString& channel, Take take) {
  const auto fail = [this](const protocol::Failure& failure) {
    if (failure.code == "cancelled" || failure.code == "ended") return;
    problem_ = QString::fromStdString(failure.reason);
    emit overviewChanged();
  };
  session_->request<Expected>(
      message, this,
      [this, take, fail](const Expected& answer) {
        if (!wellFormed(answer)) return fail(ill_formed);
        problem_.clear();
        take(answer);
      },
      fail, channel);
}

void ProfileModel::askOverview() {
  const TimeSpan of = runs_.empty() && !selection_ ? TimeSpan{} : span();
  // What runs grows: its end is asked for as "now".
  const bool grows = !selection_ && (run_ < 0 || runs_[static_cast<std::size_t>(run_)].running);
  ask<protocol::Profile>(
      protocol::GetProfile{of.from, grows ? std::nullopt : protocol::if_there(of.to), gaps_shown},
      overview_channel, [this](const protocol::Profile& overview) { takeOverview(overview); });
}

void ProfileModel::takeOverview(const protocol::Profile& overview) {
  const bool first = !overview_.has_value();
  overview_ = overview;
  const bool runs_changed =
      runs_.size() != overview.runs.size() ||
      !std::equal(runs_.begin(), runs_.end(), overview.runs.begin(), [](const auto& a, const auto& b) {
        return a.number == b.number && a.to_ns == b.to_ns && a.running == b.running &&
               a.paused_ns == b.paused_ns && (a.records > 0) == (b.records > 0);
      });
  const quint64 shown = run_ >= 0 ? runs_[static_cast<std::size_t>(run_)].number.value_or(0) : 0;
  const TimeSpan before = whole();
  runs_ = overview.runs;
  int run = -1;
  if (follows_runs_ && !selection_) {
    // The newest one in which there is something to see.
    run = newestRun();
  } else if (run_ >= 0) {
    const auto same = std::find_if(runs_.begin(), runs_.end(),
                                   [&](const auto& one) { return one.number.value_or(0) == shown; });
    run = same == runs_.end() ? -1 : static_cast<int>(same - runs_.begin());
  }
  const bool another = run != run_;
  run_ = run;
  if (another) view_is_users_ = false;
  overview_fits_ = !another;
  // A selection's pauses are some of its run's.
  if (!another && !selection_) running_ = RunningTime(overview.pauses);
  noteIndex(overview.indexed, overview.total);
  if (runs_changed || first) emit runsChanged();
  if (!view_is_users_ && !(view_ == whole())) {
    view_ = whole();
    emit viewChanged();
  }
  if (another || first || !(before == whole())) emit spanChanged();
  emit overviewChanged();
  if (!active_) return;
  // The answer was of another span than the one that is shown now.
  if (another || first) return askOverview();
  askPage();
}

void ProfileModel::noteIndex(quint64 indexed, quint64 total) {
  indexed_ = indexed;
  total_ = total;
  if (!active_) return;
  const bool running = session_->status().running_cell.has_value();
  if (indexed < total)
    next_.start(running ? lagging_interval_ms : 0);
  else if (running)
    refreshLater();
}

void ProfileModel::askPage() {
  switch (page_) {
    case ProfilePage::track:
      askTrack();
      askSteps();
      break;
    case ProfilePage::flame:
      askFlame();
      break;
    case ProfilePage::totals:
      askRows(0);
      break;
    case ProfilePage::roofline:
      askOps();
      break;
  }
}

// More than is shown: a view that moves a little has its boxes at once.
void ProfileModel::askTrack() {
  if (pixels_ <= 0 || view_.length() <= 0) return;
  if (session_->asking(track_channel)) {
    track_outdated_ = true;
    return;
  }
  track_outdated_ = false;
  const qint64 margin = view_.length() / 2;
  const qint64 from = std::max<qint64>(0, view_.from - margin), to = view_.to + margin;
  const double pixel = static_cast<double>(view_.length()) / pixels_;
  const auto pixels = std::clamp<quint32>(
      static_cast<quint32>(std::lround(static_cast<double>(to - from) / pixel)), 1, 10'000);
  ask<protocol::ProfileTrack>(protocol::GetProfileTrack{from, to, pixels}, track_channel,
                              [this](const protocol::ProfileTrack& track) {
                                track_ = track;
                                emit trackChanged();
                                if (track_outdated_ && active_) askTrack();
                              });
}

void ProfileModel::askSteps() {
  const TimeSpan of = whole();
  ask<protocol::ProfileSteps>(protocol::GetProfileSteps{of.from, protocol::if_there(of.to), step_points},
                              steps_channel, [this, of](const protocol::ProfileSteps& steps) {
                                steps_ = steps;
                                steps_from_ = of.from;
                                emit stepsChanged();
                              });
}

void ProfileModel::askFlame() {
  const TimeSpan of = span();
  ask<protocol::ProfileFlame>(protocol::GetProfileFlame{of.from, protocol::if_there(of.to), flame_by_line_},
                              flame_channel, [this](const protocol::ProfileFlame& flame) {
                                flame_ = flame;
                                emit flameChanged();
                              });
}

void ProfileModel::askOps() {
  const TimeSpan of = span();
  protocol::GetProfileTotals get;
  get.from_ns = of.from;
  get.to_ns = protocol::if_there(of.to);
  get.count = ops_shown;
  ask<protocol::ProfileTotals>(get, ops_channel, [this](const protocol::ProfileTotals& totals) {
    ops_ = totals;
    emit totalsChanged();
  });
}

void ProfileModel::askRows(quint32 first) {
  const TimeSpan of = span();
  totals_.from_ns = of.from;
  totals_.to_ns = protocol::if_there(of.to);
  totals_.first = first;
  // As many as are there already: a user who has scrolled down stays there.
  totals_.count =
      first == 0 ? std::clamp<quint32>(static_cast<quint32>(rows_.size()), rows_a_page, 1000) : rows_a_page;
  ask<protocol::ProfileTotals>(totals_, rows_channel, [this](const protocol::ProfileTotals& totals) {
    rows_.resize(std::min<std::size_t>(totals.first, rows_.size()));
    rows_.insert(rows_.end(), totals.rows.begin(), totals.rows.end());
    rows_total_ = totals.rows_total;
    rows_group_ = totals.group;
    rows_time_ = totals.self_ns;
    emit totalsChanged();
  });
}

void ProfileModel::askPeaks(bool again) {
  if (session_->asking(peaks_channel)) return;
  ask<protocol::Peaks>(protocol::GetPeaks{again}, peaks_channel, [this](const protocol::Peaks& peaks) {
    const bool fresh = peaks.known;
    peaks_ = peaks;
    costs_.clear();
    cost_asked_ = 0;
    emit peaksChanged();
    emit costsChanged();
    if (fresh && active_) askPage();
  });
}

const protocol::ProfileCost* ProfileModel::cost(RecordNumber record) {
  if (const auto found = costs_.find(record); found != costs_.end()) return &found->second;
  // Every frame asks; a record whose work is not known is asked for once.
  if (record == 0 || !active_ || record == cost_asked_) return nullptr;
  cost_asked_ = record;
  session_->request<protocol::ProfileCost>(
      protocol::GetProfileCost{record}, this,
      [this](const protocol::ProfileCost& cost) {
        if (costs_.size() >= most_costs) costs_.clear();
        costs_[cost.record] = cost;
        emit costsChanged();
      },
      [](const protocol::Failure&) {}, cost_channel);
  return nullptr;
}

}  // namespace tapedeck::inspector
