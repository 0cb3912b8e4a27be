// How the notebook calls its cells: records know only their ids.
#pragma once

#include <QHash>
#include <QObject>
#include <QString>

namespace tapedeck::inspector {

class CellNames : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  /// Cell ids to what people call them: "cell 3".
  void set(const QHash<QString, QString>& names);
  const QHash<QString, QString>& all() const { return names_; }
  QString name(const QString& id) const { return names_.value(id, id); }

 signals:
  void changed();

 private:
  QHash<QString, QString> names_;
};

}  // namespace tapedeck::inspector
