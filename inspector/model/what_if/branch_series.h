// The curves of a session as they are in its branch, fetched when one comes.
#pragma once

#include <QObject>
#include <QStringList>
#include <map>

#include "inspector/model/runs/series_model.h"

namespace tapedeck::inspector {

class BranchSeries : public QObject {
  Q_OBJECT
 public:
  explicit BranchSeries(Session* session, QObject* parent = nullptr);

  /// The curves' keys, none of which is a key of SeriesModel.
  QStringList names() const { return names_; }
  /// Its label says what was changed.
  const SeriesData* series(const QString& name) const;
  /// The name and the cell of the curve that the session draws.
  struct Original {
    QString name, cell;
  };
  Original original(const QString& name) const;
  /// What was changed; empty while there are none.
  QString sentence() const;
  /// What they leave out, and what of the branch stays as recorded; empty: nothing.
  QString notes() const;

 signals:
  void changed();  ///< curves came, or went with their data
  void failed(const QString& reason);

 private:
  void look();
  void ask();
  void take(const protocol::Series& answer);

  Session* session_;
  quint64 branch_ = 0, next_ = 0;
  QStringList names_;
  std::map<QString, SeriesData> series_;
};

}  // namespace tapedeck::inspector
