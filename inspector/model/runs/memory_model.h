// Memory as a panel shows it: its curve over the run, who holds what at the cursor, what grows, and what
// computing again would save.
#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <optional>
#include <utility>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

/// "34.1 MB": decimal, three figures.
QString memoryText(double bytes);
/// "variables", "tapes", "the program", "the recorder".
QString holderText(protocol::MemoryHolder holder);

/// Asks the session only while it is shown.
class MemoryModel : public QObject {
  Q_OBJECT
 public:
  explicit MemoryModel(Session* session, QObject* parent = nullptr);
  Session* session() const { return session_; }

  /// The curve of the span that is looked at; nullptr: none came yet.
  const protocol::MemoryCurve* curve() const { return curve_ ? &*curve_ : nullptr; }
  /// What is alive at the cursor, or, where that is the newest record, now; its rows are those that were
  /// asked for so far. nullptr: none came yet.
  const protocol::MemoryState* state() const { return state_ ? &*state_ : nullptr; }
  /// Of the tape at the peak; nullptr: not asked for yet.
  const protocol::RecomputeSavings* savings() const { return savings_ ? &*savings_ : nullptr; }
  /// Why the last request gave nothing; empty: it did.
  QString problem() const { return problem_; }
  /// The sentence shown instead of an answer that is not here.
  QString waitingText() const;

  protocol::MemoryGroup group() const { return group_; }
  protocol::MemoryGroup stateGroup() const { return stateGroup_; }  ///< what state()'s rows are
  /// Records of the curve; both 0: the whole run.
  RecordNumber first() const { return first_; }
  RecordNumber last() const { return last_; }
  /// Of recompute's span; both 0: scopes.
  RecordNumber spanFirst() const { return spanFirst_; }
  RecordNumber spanLast() const { return spanLast_; }

  /// Who holds a row's memory, with the names that lead there: "history[12], tape 7".
  QString holderOf(const protocol::MemoryRow& row) const;
  /// A growth's sentence, with the names that keep it alive: "… Kept alive by the name tapes (24 items)."
  QString growthText(const protocol::MemoryGrowth& growth) const;
  /// "At op 217: 34 MB, of that 12 MB …": the sums in words.
  QString summary() const;

 public slots:
  void setShown(bool shown);
  void setGroup(tapedeck::protocol::MemoryGroup group);
  /// How many pieces the curve has: as many as the view has room for.
  void setPoints(int points);
  void setRange(tapedeck::inspector::RecordNumber first, tapedeck::inspector::RecordNumber last);
  /// The next rows, where there are more.
  void fetchMore();
  void goToPeak();
  /// To the newest op of what grows most.
  void goToGrowth();
  /// Whether savings() is visible: it is fetched then, and again where the peak moves.
  void setSavingsShown(bool shown);
  /// Recompute around this span instead of around scopes; 0, 0: around scopes.
  void setSpan(tapedeck::inspector::RecordNumber first, tapedeck::inspector::RecordNumber last);

 signals:
  void curveChanged();
  void stateChanged();
  /// state() has further rows behind those that it had.
  void rowsAdded();
  void namesChanged();
  void savingsChanged();
  void problemChanged();

 private:
  void refreshSoon();
  void refresh();
  void askForCurve();
  void askForState();
  /// `ofMoreRows`: their names are not requested again where there is nothing new to name.
  void askForNames(bool ofMoreRows = false);
  void askForSavings();
  void askAll();
  void take(const protocol::FoundNames& found);
  void clear();
  void setProblem(const protocol::Failure& failure);
  RecordNumber moment() const;

  Session* session_;
  QTimer soon_;
  QElapsedTimer asked_;  ///< when the curve was
  bool shown_ = false, savingsShown_ = false;
  bool still_ = false;  ///< no cell runs, or the gate is stopped
  bool curveStale_ = true, stateStale_ = true;
  int points_ = 400;
  RecordNumber first_ = 0, last_ = 0, spanFirst_ = 0, spanLast_ = 0;
  protocol::MemoryGroup group_ = protocol::MemoryGroup::holder;
  protocol::MemoryGroup stateGroup_ = protocol::MemoryGroup::holder;
  std::optional<protocol::MemoryCurve> curve_;
  std::optional<protocol::MemoryState> state_;
  /// Of which moment and in which groups the state was asked for last; nothing: for more rows.
  std::optional<std::pair<RecordNumber, protocol::MemoryGroup>> stateAsked_;
  std::optional<protocol::RecomputeSavings> savings_;
  protocol::FindNames namesAsked_;  ///< the newest of those requests
  struct Name {
    QString path, root;
    quint64 items = 0;
  };
  QHash<quint64, std::vector<Name>> tensorNames_, tapeNames_;
  QString problem_;
};

}  // namespace tapedeck::inspector
