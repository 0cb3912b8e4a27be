// What cells are called. Records know their ids and lines; the notebook knows what stands beside a cell now,
// the session which execution made a record.
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <functional>
#include <map>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class CellNames : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  /// From now on asks the session which runs its cells had, whenever one begins or ends.
  void follow(Session* session);
  /// Cell ids to what people call them now: "cell [3]".
  void set(const QHash<QString, QString>& names);
  const QHash<QString, QString>& all() const { return names_; }
  /// A program's file, whose id is its path, has its own name.
  QString name(const QString& id) const {
    return names_.value(id, id.startsWith('/') ? id.section('/', -1) : id);
  }
  /// Of the execution that made the record, or defined the function that did: it stays "cell [3]" when the
  /// cell runs again. Where that is not known, the name that the cell has now.
  QString name(const QString& id, RecordNumber record) const;
  QString name(const protocol::Record& record) const;
  /// The name of an execution; of 0, whose number is not known, the name that the cell has now.
  QString nameOf(const QString& id, quint64 execution) const;
  /// How to find the code of a line, from 1, as the cell has it now.
  using Code = std::function<QString(const QString& id, int line)>;
  void setCode(Code code) { code_ = std::move(code); }
  /// Without the spaces around it; empty where there is no such line.
  QString code(const QString& id, int line) const { return code_ ? code_(id, line).trimmed() : QString(); }

 signals:
  void changed();

 private:
  void ask();
  void take(const protocol::CellRuns& answer);

  Session* session_ = nullptr;
  quint64 endedSeen_ = 0;
  std::string runningSeen_;
  bool asked_ = false;
  /// Of each cell: the execution by the first record that it could make.
  QHash<QString, std::map<RecordNumber, quint64>> executions_;
  QHash<QString, QString> names_;
  Code code_;
};

}  // namespace tapedeck::inspector
