// What the notebook says of its cells: records know only their ids and lines.
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <functional>

namespace tapedeck::inspector {

class CellNames : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  /// Cell ids to what people call them: "cell 3".
  void set(const QHash<QString, QString>& names);
  const QHash<QString, QString>& all() const { return names_; }
  /// A program's file, whose id is its path, has its own name.
  QString name(const QString& id) const {
    return names_.value(id, id.startsWith('/') ? id.section('/', -1) : id);
  }
  /// How to find the code of a line, from 1, as the cell has it now.
  using Code = std::function<QString(const QString& id, int line)>;
  void setCode(Code code) { code_ = std::move(code); }
  /// Without the spaces around it; empty where there is no such line.
  QString code(const QString& id, int line) const { return code_ ? code_(id, line).trimmed() : QString(); }

 signals:
  void changed();

 private:
  QHash<QString, QString> names_;
  Code code_;
};

}  // namespace tapedeck::inspector
