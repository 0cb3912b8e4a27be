// Outputs arrive faster than they can be read: collects what changed in each cell, and reports it a few times
// a second.
#pragma once

#include <QHash>
#include <QObject>
#include <QTimer>

#include "app/notebook/output/output_news.h"

namespace tapedeck::app {

class OutputUpdates : public QObject {
  Q_OBJECT
 public:
  explicit OutputUpdates(QObject* parent);
  void add(const QString& cellId, const OutputChange& change);
  void clear();

 signals:
  void due(const QString& cellId, const tapedeck::app::OutputNews& news);

 private:
  QTimer timer_;
  QHash<QString, OutputNews> waiting_;
};

}  // namespace tapedeck::app
