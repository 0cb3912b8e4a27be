// The names of cells. Records know their ids and lines; the notebook knows a cell's current number, the
// session which execution made a record.
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <map>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

/// Made where they are sent: names change with each run, and are seldom asked for.
std::vector<protocol::CellLabel> cellLabels(const QHash<QString, QString>& names);

class CellNames : public QObject {
  Q_OBJECT
 public:
  explicit CellNames(QObject* parent = nullptr);
  /// Makes it ask the session which runs its cells had, whenever one begins or ends.
  void follow(Session* session);
  /// Cell ids to their current names: "cell [3]".
  void set(const QHash<QString, QString>& names);
  /// Of these alone; the others keep theirs.
  void rename(const QHash<QString, QString>& names);
  const QHash<QString, QString>& all() const { return names_; }
  /// A program's file, whose id is its path, goes by its file name.
  QString name(const QString& id) const {
    return names_.value(id, id.startsWith('/') ? id.section('/', -1) : id);
  }
  /// Of the execution that made the record, or defined the function that did: it stays "cell [3]" when the
  /// cell runs again. Where that is not known, the name that the cell has now.
  QString name(const QString& id, RecordNumber record) const;
  QString name(const protocol::Record& record) const;
  /// The name of an execution; of 0, whose number is not known, the name that the cell has now.
  QString nameOf(const QString& id, quint64 execution) const;

  /// How to find the whole code of a cell as it is now.
  using Code = std::function<QString(const QString& id)>;
  void setCode(Code code) { code_ = std::move(code); }
  /// The cell began to run as `code`. Executions of a session count up: a lower number is another session's,
  /// whose codes take the place of all others.
  void noteCode(const QString& id, quint64 execution, const QString& code);
  /// Of a session that is over, where only the code of the cell's newest run is known.
  void noteNewestCode(const QString& id, const QString& code);
  /// Of the cell's newest run; empty where it is not known.
  QString newestCode(const QString& id) const;
  /// The line, from 1, of the execution that made the record, without the spaces around it. Empty where there
  /// is no such line, or where only what later executions ran is known.
  QString code(const QString& id, int line, RecordNumber record) const;
  /// All of that execution's code.
  QString wholeCode(const QString& id, RecordNumber record) const;
  /// Every code that cells are known to have run, the newest of each cell last.
  QStringList codes() const;

 signals:
  /// At once; while cells run one after another, at most ten times a second: every panel looks then.
  void changed();

 private:
  void ask();
  void take(const protocol::CellRuns& answer);
  void tellNow();
  void tell();

  Session* session_ = nullptr;
  quint64 endedSeen_ = 0;
  std::string runningSeen_;
  bool asked_ = false;
  /// Of each cell: the execution by the first record that it could make.
  QHash<QString, std::map<RecordNumber, quint64>> executions_;
  QHash<QString, QString> names_;
  Code code_;
  /// Of each cell, by execution; 0: the newest. An execution that is not there ran what the one before did.
  QHash<QString, std::map<quint64, QString>> ran_;
  quint64 newestExecution_ = 0;  ///< of those whose code is known
  QTimer rest_;                  ///< since changed() came last
  bool pendingChange_ = false;
};

}  // namespace tapedeck::inspector
