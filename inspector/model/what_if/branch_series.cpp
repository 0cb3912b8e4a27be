#include "inspector/model/what_if/branch_series.h"

#include <utility>

namespace tapedeck::inspector {

namespace {

const QString branch_series_channel = QStringLiteral("what if/series");

}  // namespace

BranchSeries::BranchSeries(Session* session, QObject* parent) : QObject(parent), session_(session) {
  connect(session, &Session::lookChanged, this, &BranchSeries::look);
  look();
}

void BranchSeries::look() {
  const BranchLook& look = session_->look();
  if (std::exchange(branch_, look.branch) == look.branch) return;
  session_->drop(branch_series_channel);
  next_ = 0;
  // Views drop their pointers to the curves before the points are deleted.
  const auto gone = std::exchange(series_, {});
  if (!std::exchange(names_, {}).isEmpty()) emit changed();
  if (look.branch != 0 && look.points > 0) ask();
}

void BranchSeries::ask() {
  session_->request<protocol::Series>(
      protocol::GetBranchSeries{branch_, next_}, this,
      [this](const protocol::Series& answer) { take(answer); },
      [this](const protocol::Failure& failure) { emit failed(QString::fromStdString(failure.reason)); },
      branch_series_channel);
}

void BranchSeries::take(const protocol::Series& answer) {
  for (const protocol::SeriesPoint& point : answer.points) {
    const QString name = QStringLiteral("branch/") + QString::fromStdString(point.series);
    const auto [found, isNew] = series_.try_emplace(name);
    SeriesData& data = found->second;
    if (isNew) names_ << name;
    if (!data.steps.empty() && !(point.step >= data.steps.back())) data.ascending = false;
    data.steps.push_back(point.step);
    data.values.push_back(point.value);
    data.records.push_back(point.record);
  }
  for (const protocol::CurveInfo& curve : answer.curves) {
    const auto found = series_.find(QStringLiteral("branch/") + QString::fromStdString(curve.series));
    if (found == series_.end()) continue;
    SeriesData& data = found->second;
    data.name = QString::fromStdString(curve.name);
    data.cell = QString::fromStdString(curve.cell);
    data.execution = curve.execution;
    data.x = QString::fromStdString(curve.x);
    data.label = QStringLiteral("%1, what if %2").arg(data.name, session_->look().changes);
  }
  emit changed();
  if (std::exchange(next_, answer.next) < answer.next && next_ < session_->look().points) ask();
}

const SeriesData* BranchSeries::series(const QString& name) const {
  const auto found = series_.find(name);
  return found == series_.end() ? nullptr : &found->second;
}

BranchSeries::Original BranchSeries::original(const QString& name) const {
  const SeriesData* data = series(name);
  return data ? Original{data->name, data->cell} : Original{};
}

QString BranchSeries::sentence() const {
  return names_.isEmpty() ? QString() : QStringLiteral("Dashed: what if %1").arg(session_->look().changes);
}

QString BranchSeries::notes() const {
  const QStringList& notes = session_->look().notes;
  return names_.isEmpty() || notes.isEmpty() ? QString()
                                             : QStringLiteral("⚠ ") + notes.join(QLatin1Char(' '));
}

}  // namespace tapedeck::inspector
