#include "app/notebook/view/output_updates.h"

#include <utility>

namespace tapedeck::app {
namespace {

constexpr int interval_ms = 40;

}  // namespace

OutputUpdates::OutputUpdates(QObject* parent) : QObject(parent) {
  timer_.setSingleShot(true);
  timer_.setInterval(interval_ms);
  connect(&timer_, &QTimer::timeout, this, [this] {
    const QHash<QString, OutputNews> cells = std::exchange(waiting_, {});
    for (auto cell = cells.begin(); cell != cells.end(); ++cell) emit due(cell.key(), cell.value());
  });
}

void OutputUpdates::add(const QString& cellId, const OutputChange& change) {
  waiting_[cellId].add(change);
  if (!timer_.isActive()) timer_.start();
}

void OutputUpdates::clear() {
  waiting_.clear();
}

}  // namespace tapedeck::app
