// A port beside its original: the name map, and the layers.
#include <QFile>
#include <QFileInfo>

#include "inspector/model/compare/compare_model.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

namespace {

const QString layers_channel = QStringLiteral("compare/layers");
constexpr qint64 most_name_map_bytes = 4 << 20;
// What two libraries that sum in different orders agree to.
constexpr double port_relative = 1e-4, port_absolute = 1e-5;

}  // namespace

void CompareModel::setNames(const QString& path) {
  names_.reset();
  namesFile_ = QFileInfo(path).fileName();
  if (path.isEmpty()) return compare();
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly) || file.size() > most_name_map_bytes) {
    problem_ = file.isOpen()
                   ? QStringLiteral("The name map %1 has %2 bytes; at most 4 MiB are read.")
                         .arg(namesFile_)
                         .arg(file.size())
                   : QStringLiteral("The name map %1 can't be read: %2.").arg(namesFile_, file.errorString());
    namesFile_.clear();
    emit changed();
    return;
  }
  names_ = file.readAll().toStdString();
  compare();
}

/// The map's errors name its line alone.
QString CompareModel::withNamesFile(const QString& sentence) const {
  return names_ && sentence.startsWith(QStringLiteral("Line "))
             ? QStringLiteral("The name map %1, %2").arg(namesFile_, QLatin1Char('l') + sentence.mid(1))
             : sentence;
}

bool CompareModel::askingForLayers() const {
  return where_->asking(layers_channel);
}

void CompareModel::dropLayers() {
  where_->drop(layers_channel);
  layers_.reset();
  emit layersChanged();
}

void CompareModel::fetchLayers() {
  if (!compared_ || !compared_->port) return;
  if (relative_ == 0 && absolute_ == 0) {  // to the last bit no two frameworks agree
    relative_ = port_relative;
    absolute_ = port_absolute;
  }
  where_->request<protocol::ComparedLayers>(
      protocol::CompareLayers{compared_->comparison, relative_, absolute_, cellLabels(cells_->all())}, this,
      [this](const protocol::ComparedLayers& answer) {
        if (!compared_ || answer.comparison != compared_->comparison) return;
        layers_ = answer;
        asked_.clear();
        emit layersChanged();
        emit rowsChanged(0, rowCount() - 1);
        emit changed();
      },
      [this, comparison = compared_->comparison](const protocol::Failure& failure) {
        failOf(comparison, failure);
        emit layersChanged();
      },
      layers_channel);
  emit layersChanged();
}

}  // namespace tapedeck::inspector
