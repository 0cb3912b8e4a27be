#include "inspector/model/runs/series_model.h"

#include <algorithm>
#include <map>
#include <set>

namespace tapedeck::inspector {

namespace {

const QString series_channel = QStringLiteral("series");

}  // namespace

struct SeriesModel::Private {
  SeriesModel* q;
  Session* session;
  QStringList names;
  std::map<QString, SeriesData> series;
  quint64 next = 0;

  void ask() {
    if (session->asking(series_channel) || session->status().series_points <= next) return;
    session->request<protocol::Series>(
        protocol::GetSeries{next}, q, [this](const protocol::Series& answer) { take(answer); },
        [this](const protocol::Failure& failure) { emit q->failed(QString::fromStdString(failure.reason)); },
        series_channel);
  }

  void take(const protocol::Series& answer);
};

void SeriesModel::Private::take(const protocol::Series& answer) {
  std::set<QString> changed;
  for (const std::string& name : answer.restarted) {
    const QString key = QString::fromStdString(name);
    const auto found = series.find(key);
    if (found == series.end()) continue;
    found->second = SeriesData{key, {}, {}, {}};
    changed.insert(key);
  }
  bool newNames = false;
  for (const protocol::SeriesPoint& point : answer.points) {
    const QString key = QString::fromStdString(point.series);
    SeriesData& data = series[key];
    if (data.name.isEmpty() && !names.contains(key)) {
      data.name = key;
      names << key;
      newNames = true;
    }
    if (!data.steps.empty() && !(point.step >= data.steps.back())) data.ascending = false;
    data.steps.push_back(point.step);
    data.values.push_back(point.value);
    data.records.push_back(point.record);
    changed.insert(key);
  }
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

int SeriesModel::pointAt(const SeriesData& series, RecordNumber record) {
  const auto after = std::upper_bound(series.records.begin(), series.records.end(), record);
  return static_cast<int>(after - series.records.begin()) - 1;
}

}  // namespace tapedeck::inspector
