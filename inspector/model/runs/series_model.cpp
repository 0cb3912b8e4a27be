#include "inspector/model/runs/series_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/protocol/record_filter.h"

namespace tapedeck::inspector {

namespace {

const QString series_channel = QStringLiteral("series");

}  // namespace

struct SeriesModel::Private {
  SeriesModel* q;
  Session* session;
  QStringList names;
  std::map<QString, SeriesData> series;
  QHash<QString, QString> keys = {};  ///< here, by what the session calls them
  QHash<QString, quint64> begunAnew =
      {};  ///< before any of its points was here, by what the session calls it
  quint64 next = 0;

  void ask() {
    if (session->asking(series_channel) || session->status().series_points <= next) return;
    session->request<protocol::Series>(
        protocol::GetSeries{next}, q, [this](const protocol::Series& answer) { take(answer); },
        [this](const protocol::Failure& failure) { emit q->failed(QString::fromStdString(failure.reason)); },
        series_channel);
  }

  void take(const protocol::Series& answer);
  bool label();
};

/// Two cells that write "loss" draw two curves.
bool SeriesModel::Private::label() {
  bool changed = false;
  std::map<QString, int> drawn;
  for (const auto& [key, data] : series)
    if (data.size() > 0) ++drawn[data.name];
  for (auto& [key, data] : series) {
    const QString before = std::exchange(data.label, data.name);
    const bool alone = drawn[data.name] < 2 || data.cell.isEmpty();
    const QString cell = data.execution ? QString::fromStdString(protocol::execution_label(data.execution))
                                        : data.cell.section(QLatin1Char('/'), -1);
    if (!alone) data.label = QStringLiteral("%1, %2").arg(data.name, cell);
    changed = changed || data.label != before;
  }
  return changed;
}

void SeriesModel::Private::take(const protocol::Series& answer) {
  std::set<QString> changed;
  const auto keyOf = [this](const std::string& named) {
    const QString there = QString::fromStdString(named);
    return keys.value(there, there);
  };
  for (const std::string& name : answer.restarted) {
    const QString key = keyOf(name);
    const auto found = series.find(key);
    if (found == series.end()) {
      ++begunAnew[QString::fromStdString(name)];
      continue;
    }
    SeriesData& data = found->second;
    if (data.size() > 0) ++data.anew;
    data.replaced += data.size();
    data.steps.clear();
    data.values.clear();
    data.records.clear();
    data.ascending = true;
    changed.insert(key);
  }
  // The first curve of a name goes by that.
  for (const protocol::CurveInfo& curve : answer.curves) {
    const QString there = QString::fromStdString(curve.series), name = QString::fromStdString(curve.name);
    if (!keys.contains(there))
      keys[there] = names.contains(name) || keys.values().contains(name) ? there : name;
  }
  bool newNames = false;
  for (const protocol::SeriesPoint& point : answer.points) {
    const QString key = keyOf(point.series);
    const auto [found, isNew] = series.try_emplace(key);
    SeriesData& data = found->second;
    if (isNew) {
      data.name = key;
      data.anew = begunAnew.value(QString::fromStdString(point.series));
      names << key;
      newNames = true;
    }
    if (!data.steps.empty() && !(point.step >= data.steps.back())) data.ascending = false;
    data.steps.push_back(point.step);
    data.values.push_back(point.value);
    data.records.push_back(point.record);
    changed.insert(key);
  }
  for (const protocol::CurveInfo& curve : answer.curves) {
    const auto found = series.find(keyOf(curve.series));
    if (found == series.end()) continue;
    SeriesData& data = found->second;
    const QString x = QString::fromStdString(curve.x);
    newNames = newNames || data.x != x;
    data.name = QString::fromStdString(curve.name);
    data.cell = QString::fromStdString(curve.cell);
    data.execution = curve.execution;
    data.x = x;
  }
  newNames = label() || newNames;
  const bool advanced = answer.next > next;
  next = std::max<quint64>(next, answer.next);
  if (newNames) emit q->namesChanged();
  for (const QString& name : changed) emit q->seriesChanged(name);
  // An answer that brings nothing new is not asked for again until the session says that there is more.
  if (advanced) ask();
  emit q->answered();
}

SeriesModel::SeriesModel(Session* session, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>(Private{this, session, {}, {}})) {
  connect(session, &Session::statusChanged, this, [this] { d_->ask(); });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live) d_->ask();
  });
  connect(session, &Session::cleared, this, [this] {
    d_->series.clear();
    d_->names.clear();
    d_->keys.clear();
    d_->begunAnew.clear();
    d_->next = 0;
    emit namesChanged();
  });
  d_->ask();
}

SeriesModel::~SeriesModel() = default;

void SeriesModel::refresh() {
  d_->ask();
}
bool SeriesModel::loading() const {
  return d_->session->asking(series_channel);
}
quint64 SeriesModel::position() const {
  return d_->next;
}
QStringList SeriesModel::names() const {
  return d_->names;
}

const SeriesData* SeriesModel::series(const QString& name) const {
  const auto found = d_->series.find(name);
  return found == d_->series.end() ? nullptr : &found->second;
}

QStringList SeriesModel::axes() const {
  QStringList axes;
  for (const QString& key : d_->names)
    if (const SeriesData& data = d_->series.at(key); data.size() > 0 && !axes.contains(data.x))
      axes << data.x;
  return axes;
}

int SeriesModel::pointAt(const SeriesData& series, RecordNumber record) {
  const auto after = std::upper_bound(series.records.begin(), series.records.end(), record);
  return static_cast<int>(after - series.records.begin()) - 1;
}

}  // namespace tapedeck::inspector
