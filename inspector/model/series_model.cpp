#include "inspector/model/series_model.h"

#include <algorithm>
#include <map>
#include <set>

namespace tapedeck::inspector {

struct SeriesModel::Private {
  Session* session;
  QStringList names;
  std::map<QString, SeriesData> series;
  quint64 next = 0;
  quint64 request = 0;  ///< 0: none on its way

  void ask() {
    if (request || session->status().series_points <= next) return;
    request = session->request(protocol::GetSeries{next}, QStringLiteral("series"));
  }
};

SeriesModel::SeriesModel(Session* session, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>(Private{session, {}, {}})) {
  connect(session, &Session::statusChanged, this, [this] { d_->ask(); });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    d_->request = 0;
    if (live) d_->ask();
  });
  connect(session, &Session::cleared, this, [this] {
    d_->series.clear();
    d_->names.clear();
    d_->next = 0;
    d_->request = 0;
    emit namesChanged();
  });
  connect(session, &Session::received, this, [this](quint64 request, const protocol::Reply& reply) {
    if (request == 0 || request != d_->request) return;
    d_->request = 0;
    const auto* answer = std::get_if<protocol::Series>(&reply);
    if (!answer) return;
    std::set<QString> changed;
    for (const std::string& name : answer->restarted) {
      const QString key = QString::fromStdString(name);
      const auto found = d_->series.find(key);
      if (found == d_->series.end()) continue;
      found->second = SeriesData{key, {}, {}, {}};
      changed.insert(key);
    }
    bool newNames = false;
    for (const protocol::SeriesPoint& point : answer->points) {
      const QString key = QString::fromStdString(point.series);
      SeriesData& data = d_->series[key];
      if (data.name.isEmpty() && !d_->names.contains(key)) {
        data.name = key;
        d_->names << key;
        newNames = true;
      }
      if (!data.steps.empty() && !(point.step >= data.steps.back())) data.ascending = false;
      data.steps.push_back(point.step);
      data.values.push_back(point.value);
      data.records.push_back(point.record);
      changed.insert(key);
    }
    const bool advanced = answer->next > d_->next;
    d_->next = std::max<quint64>(d_->next, answer->next);
    if (newNames) emit namesChanged();
    for (const QString& name : changed) emit seriesChanged(name);
    // An answer that brings nothing new is not asked for again until the session says that there is more.
    if (advanced) d_->ask();
  });
  d_->ask();
}

SeriesModel::~SeriesModel() = default;

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
