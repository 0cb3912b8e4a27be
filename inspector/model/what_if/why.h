// Why: the selection, the questions that make sense about it, and the answers so far.
#pragma once

#include <QObject>
#include <QString>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

using protocol::Question;

/// What a question is about.
struct WhySubject {
  RecordNumber record = 0;  ///< 0: none
  protocol::TensorInfo tensor;
  std::vector<std::int64_t> element;  ///< one index per axis; empty: the whole tensor
  bool operator==(const WhySubject& other) const {
    return record == other.record && tensor.id == other.tensor.id && element == other.element;
  }
};

/// A record by its first output; by none where that is a gradient that is None.
WhySubject whySubjectOf(const protocol::Record& record);

/// "Where was this NaN or infinity born?"
QString questionText(Question question);

/// A question with its answer.
struct WhyAnswer {
  Question question = Question::birth;
  WhySubject subject;
  QString asked;  ///< the question's text
  QString about;  ///< "W:0 [2, 5]", "the output of log, op 12"
  protocol::Because because;
  bool failed = false;  ///< because.sentence says why there is no answer
};

class WhyModel : public QObject {
  Q_OBJECT
 public:
  explicit WhyModel(Session* session, QObject* parent = nullptr);
  Session* session() const { return session_; }

  const WhySubject& subject() const { return subject_; }
  /// The question, as it is put about the subject: of a backward pass that failed it is why.
  QString textOf(Question question, const WhySubject& subject) const;
  /// Why the question makes no sense there, a sentence; empty: it does.
  QString refusal(Question question, const WhySubject& subject) const;

  /// The one that is shown; nullptr: none was given yet.
  const WhyAnswer* answer() const;
  bool asking() const { return asking_; }
  /// The current question, and the session's progress; empty where there is none.
  QString progress() const { return progress_; }
  int count() const { return static_cast<int>(answers_.size()); }
  bool canGoBack() const { return at_ > 0; }
  bool canGoForward() const { return at_ + 1 < count(); }
  /// Records of the answer that is shown.
  const std::vector<RecordNumber>& path() const { return path_; }

 public slots:
  /// The current selection.
  void setSubject(const tapedeck::inspector::WhySubject& subject);
  /// Asks about the subject; does nothing where the question is refused.
  void ask(tapedeck::protocol::Question question);
  void cancel();
  void back();
  void forward();
  /// Moves the cursor to the reason's record, and shows its tensor and element.
  void show(int reason);

 signals:
  void subjectChanged();
  /// Which answer is shown, asking() or progress().
  void changed();
  /// A question was asked: its answer wants to be seen.
  void asked();

 private:
  QString about(const WhySubject& subject) const;
  QString refusalOfCheck(const WhySubject& subject) const;
  bool isPlayback(RecordNumber number) const;
  void add(WhyAnswer answer);
  void go(int at);

  Session* session_;
  WhySubject subject_;
  std::vector<WhyAnswer> answers_;
  int at_ = -1;
  bool asking_ = false;
  QString progress_;
  std::vector<RecordNumber> path_;
};

}  // namespace tapedeck::inspector
