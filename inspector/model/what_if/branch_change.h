// One change of the past as the user types it, checked and put into words.
#pragma once

#include <QList>
#include <QString>
#include <optional>

#include "engine/protocol/messages.h"
#include "inspector/model/what_if/why.h"

namespace tapedeck::inspector {

using protocol::ChangeKind;

/// What a change is typed into.
enum class ChangeField { element, numbers, attribute, setting, result };

/// As it is typed.
struct ChangeDraft {
  ChangeKind kind = ChangeKind::element;
  QString element;    ///< "0, 2"
  QString numbers;    ///< "5", "[[1, 2], [3, 4]]"
  QString attribute;  ///< its name
  QString setting;    ///< as Python writes it: "None", "[2, 3]", "'SAME'"
  int result = -1;    ///< zero, scale, clip: which of the op's results; -1: all
};

struct ChangeProblem {
  ChangeField field = ChangeField::numbers;
  QString sentence;
};

/// The tensor and the op that a change can be about.
struct ChangeSubject {
  protocol::TensorInfo tensor;        ///< id 0: none
  std::vector<std::int64_t> element;  ///< where one is selected
  protocol::Record op;                ///< number 0: none
  bool operator==(const ChangeSubject& other) const {
    return tensor.id == other.tensor.id && element == other.element && op.number == other.op.number;
  }
};

/// A change of a branch in the making.
struct BranchChange {
  protocol::PastChange change;
  QString text;  ///< "W:0[0, 2] = 5"
  ChangeSubject subject;
  ChangeDraft draft;
  std::optional<protocol::SetChange> set = {};  ///< of many ops; then the others but `text` mean nothing
};

/// The selection; the op is the record, or the one that made the tensor.
ChangeSubject changeSubjectOf(const Session& session, const WhySubject& pointed);
/// "W:0, 2×3 float32", "the result of matmul, op 12"
QString tensorWords(const ChangeSubject& subject);
QString opWords(const protocol::Record& op);  ///< "matmul, op 12"

/// What can be changed there.
QList<ChangeKind> changesFor(const ChangeSubject& subject);
/// Which of the op's results a change can name alone: those of an op with several that are there.
QList<int> resultsFor(const ChangeSubject& subject, ChangeKind kind);
/// "result 1 (float32 3×2)"
QString resultWords(const ChangeSubject& subject, int result);
/// "Set W:0", "Skip matmul, op 12"
QString kindWords(ChangeKind kind, const ChangeSubject& subject);

/// Nothing, and what is wrong, where the draft makes no sense.
std::optional<BranchChange> changeOf(const ChangeDraft& draft, const ChangeSubject& subject,
                                     ChangeProblem* problem);

}  // namespace tapedeck::inspector
