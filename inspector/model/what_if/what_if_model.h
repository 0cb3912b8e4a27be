// What if: the changes of a branch in the making, their branch, and which of it and the original is
// shown.
#pragma once

#include <QObject>
#include <optional>
#include <vector>

#include "inspector/model/session/session.h"
#include "inspector/model/what_if/branch_change.h"

namespace tapedeck::inspector {

/// All of it is dropped when its session ends.
class WhatIfModel : public QObject {
  Q_OBJECT
 public:
  explicit WhatIfModel(Session* session, QObject* parent = nullptr);
  Session* session() const { return session_; }

  /// The selection.
  const ChangeSubject& subject() const { return subject_; }
  const std::vector<BranchChange>& changes() const { return changes_; }
  /// Why nothing can be replayed, a sentence; empty: it can.
  QString refusal() const;

  bool replaying() const { return replaying_; }
  /// The session's progress; empty where nothing is replayed.
  QString progress() const { return progress_; }
  /// The result of the last successful replay; nullptr: there is no branch.
  const protocol::Branched* answer() const { return answer_ ? &*answer_ : nullptr; }
  /// Why the last replay, or taking over, gave nothing; else empty.
  QString problem() const { return problem_; }
  /// The changes are no longer those of the branch.
  bool outdated() const { return outdated_; }

  Beside shown() const { return session_->look().shown; }
  /// Why the subject's variable cannot take the branch's value, a sentence; empty: it can.
  QString takeOverRefusal() const;

 public slots:
  void setSubject(const tapedeck::inspector::WhySubject& pointed);
  void add(const tapedeck::inspector::BranchChange& change);
  void replace(int at, const tapedeck::inspector::BranchChange& change);
  void remove(int at);
  void clear();
  /// Makes a branch of the changes; the previous one is dropped. The choice between the two stays.
  void replay();
  void cancel();
  /// Does nothing while there is no branch.
  void setShown(tapedeck::inspector::Beside shown);
  /// Moves the cursor to the record of a result that moved, and shows the tensor.
  void show(int moved);
  /// Moves the cursor to the first op of what stays as recorded because of what Python read.
  void showRead(int use);
  /// Drops the branch; the changes stay.
  void forget();
  /// The variable that the subject is a value of gets that value as it is in the branch.
  void takeOver();

 signals:
  void subjectChanged();
  void changesChanged();
  /// replaying(), progress(), answer(), problem() or outdated().
  void changed();
  void replayed();                     ///< a branch was made
  void takenOver();                    ///< a variable has another value
  void told(const QString& sentence);  ///< for the status bar

 private:
  void edited();
  void take(const protocol::Branched& answer);
  void fail(const protocol::Failure& failure);
  void dropAll();
  QString changesText() const;

  Session* session_;
  WhySubject pointed_;
  ChangeSubject subject_;
  std::vector<BranchChange> changes_;
  std::optional<protocol::Branched> answer_;
  QString problem_, progress_;
  bool replaying_ = false, outdated_ = false;
};

}  // namespace tapedeck::inspector
