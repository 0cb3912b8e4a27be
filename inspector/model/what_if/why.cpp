#include "inspector/model/what_if/why.h"

#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/tensor/tensor_chips.h"
#include "inspector/model/torch_words.h"

namespace tapedeck::inspector {

namespace {

constexpr std::size_t most_answers = 100;
const QString channel = QStringLiteral("why");

bool isReal(const protocol::TensorInfo& tensor) {
  return tensor.dtype.find("float") != std::string::npos;
}

QString elementText(const std::vector<std::int64_t>& element) {
  QStringList parts;
  for (const std::int64_t at : element) parts << QString::number(at);
  return QStringLiteral("[%1]").arg(parts.join(QStringLiteral(", ")));
}

}  // namespace

QString questionText(Question question) {
  switch (question) {
    case Question::birth:
      return QStringLiteral("Where was this NaN or infinity born?");
    case Question::size:
      return QStringLiteral("Where did it get so large, or so small?");
    case Question::gradient:
      return QStringLiteral("Why is this gradient None, or zero?");
    case Question::contributions:
      return QStringLiteral("What made this?");
    case Question::check:
      return QStringLiteral("Is this gradient right?");
    case Question::exactness:
      break;
  }
  return QStringLiteral("How exact is this?");
}

WhySubject whySubjectOf(const protocol::Record& record) {
  WhySubject subject;
  subject.record = record.number;
  // Where a gradient arrives in a PyTorch program: of what went in, the gradient is meant.
  if (isArrivalOfGradient(record)) {
    subject.tensor = record.inputs[1];
    return subject;
  }
  for (const protocol::TensorInfo& output : record.outputs) {
    const bool none = output.id == 0;
    if (none && record.kind != protocol::RecordKind::op) return subject;  // a gradient that is None
    if (none) continue;
    subject.tensor = output;
    break;
  }
  return subject;
}

WhyModel::WhyModel(Session* session, QObject* parent) : QObject(parent), session_(session) {
  connect(session, &Session::cleared, this, [this] {
    answers_.clear();
    path_.clear();
    subject_ = {};
    at_ = -1;
    asking_ = false;
    progress_.clear();
    emit subjectChanged();
    emit changed();
  });
  connect(session, &Session::liveChanged, this, &WhyModel::subjectChanged);
  connect(session, &Session::lookChanged, this, &WhyModel::subjectChanged);
}

bool WhyModel::isPlayback(RecordNumber number) const {
  const protocol::Record* record = session_->cachedRecord(number);
  return record &&
         (record->kind == protocol::RecordKind::playback || record->kind == protocol::RecordKind::vjp);
}

QString WhyModel::textOf(Question question, const WhySubject& subject) const {
  const protocol::Record* record =
      isPlayback(subject.record) ? session_->cachedRecord(subject.record) : nullptr;
  if (question == Question::gradient && record && record->state == protocol::RecordState::failed)
    return QStringLiteral("Why did this backward pass fail?");
  return questionText(question);
}

QString WhyModel::refusal(Question question, const WhySubject& subject) const {
  if (!session_->live()) return QStringLiteral("There is no session whose records could be examined.");
  if (session_->look().elsewhere())
    return QStringLiteral("Answers are about the original: switch to it first (F12).");
  if (question == Question::gradient && isPlayback(subject.record)) return {};
  if (subject.tensor.id == 0)
    return QStringLiteral(
        "Nothing is selected that this could be asked about: select an op, or a tensor that is there.");
  if (!isReal(subject.tensor)) {
    if (question == Question::birth)
      return QStringLiteral("A tensor of %1 holds no NaN or infinity.")
          .arg(QString::fromStdString(subject.tensor.dtype));
    if (question == Question::gradient)
      return QStringLiteral("A tensor of %1 has no gradient.")
          .arg(QString::fromStdString(subject.tensor.dtype));
    if (question == Question::check)
      return QStringLiteral("Only gradients can be checked, and a tensor of %1 is not one.")
          .arg(QString::fromStdString(subject.tensor.dtype));
    if (question == Question::size)
      return QStringLiteral("Sizes are followed through floating-point tensors, and this is one of %1.")
          .arg(QString::fromStdString(subject.tensor.dtype));
    if (question == Question::exactness)
      return QStringLiteral("A tensor of %1 holds whole numbers or truth values, which are exact.")
          .arg(QString::fromStdString(subject.tensor.dtype));
  }
  if (question == Question::check) return refusalOfCheck(subject);
  return {};
}

QString WhyModel::refusalOfCheck(const WhySubject& subject) const {
  bool torch = false;
  const RecordNumber number = subject.tensor.producer ? subject.tensor.producer : subject.record;
  for (const RecordNumber at : {number, subject.record}) {
    const protocol::Record* record = session_->cachedRecord(at);
    // What is not here, and which VJP an op on a tape has, is the session's to judge.
    if (!record || record->backward || record->tape) return {};
    torch = torch || isOfTorch(*record);
  }
  if (torch)
    return QStringLiteral(
        "Autograd's graph does not have this op, so it has no gradient: select a backward pass, a VJP, a "
        "gradient, or an op that ran with gradients on and read what requires one.");
  return QStringLiteral(
      "No tape recorded this op, so it has no gradient: select a playback, a VJP, a gradient, or an op that "
      "a "
      "tape recorded.");
}

const WhyAnswer* WhyModel::answer() const {
  return at_ < 0 ? nullptr : &answers_[static_cast<std::size_t>(at_)];
}

void WhyModel::setSubject(const WhySubject& subject) {
  if (subject == subject_) return;
  subject_ = subject;
  emit subjectChanged();
}

QString WhyModel::about(const WhySubject& subject) const {
  QString text = QString::fromStdString(subject.tensor.name);
  // A gradient is called by the VJP that gave it where that was chosen, not by the op inside of it.
  const protocol::Record* chosen = session_->cachedRecord(subject.record);
  const bool given = chosen && std::any_of(chosen->outputs.begin(), chosen->outputs.end(),
                                           [&](const protocol::TensorInfo& output) {
                                             return output.id == subject.tensor.id;
                                           });
  const RecordNumber number = subject.tensor.producer && !given ? subject.tensor.producer : subject.record;
  if (text.isEmpty() && number) {
    const protocol::Record* record = session_->cachedRecord(number);
    text = record ? QStringLiteral("%1, op %2").arg(QString::fromStdString(record->op), countText(number))
                  : QStringLiteral("op %1").arg(countText(number));
  }
  if (!subject.element.empty()) text += QLatin1Char(' ') + elementText(subject.element);
  return text;
}

void WhyModel::ask(Question question) {
  WhySubject subject = subject_;
  if (!refusal(question, subject).isEmpty()) return;
  // Of a playback its gradients are meant, not the loss that it began with.
  const protocol::Record* record = session_->cachedRecord(subject.record);
  if (question == Question::gradient && record && isPlayback(subject.record) &&
      std::any_of(record->inputs.begin(), record->inputs.end(),
                  [&](const protocol::TensorInfo& input) { return input.id == subject.tensor.id; })) {
    subject.tensor = {};
    subject.element.clear();
  }
  const protocol::Why request{question, protocol::if_there(subject.tensor.id),
                              protocol::if_there(subject.element), protocol::if_there(subject.record)};
  WhyAnswer answer;
  answer.question = question;
  answer.subject = subject;
  answer.about = about(subject);
  answer.asked = textOf(question, subject);
  asking_ = session_->request<protocol::Because>(
      request, this,
      [this, answer](const protocol::Because& because) mutable {
        answer.because = because;
        add(std::move(answer));
      },
      [this, answer](const protocol::Failure& failure) mutable {
        if (failure.code == "cancelled") return add({});
        answer.failed = true;
        answer.because.sentence = failure.reason;
        add(std::move(answer));
      },
      channel,
      [this, question](const protocol::Progress& progress) {
        const QString what = question == Question::check ? QStringLiteral("VJPs") : QStringLiteral("ops");
        progress_ =
            progress.total
                ? QStringLiteral("%1 of %2 %3").arg(countText(progress.done), countText(progress.total), what)
                : QStringLiteral("%1 %2").arg(countText(progress.done), what);
        emit changed();
      });
  if (!asking_) return;
  progress_ = QStringLiteral("looking …");
  emit changed();
  emit asked();
}

void WhyModel::cancel() {
  if (!asking_) return;
  session_->drop(channel);
  asking_ = false;
  progress_.clear();
  emit changed();
}

void WhyModel::add(WhyAnswer answer) {
  asking_ = false;
  progress_.clear();
  if (answer.because.sentence.empty()) return emit changed();
  // What lay ahead of the answer that was gone back to is left, as in a browser.
  answers_.resize(static_cast<std::size_t>(at_) + 1);
  answers_.push_back(std::move(answer));
  if (answers_.size() > most_answers) answers_.erase(answers_.begin());
  go(static_cast<int>(answers_.size()) - 1);
}

void WhyModel::go(int at) {
  at_ = at;
  path_.clear();
  for (const protocol::Reason& reason : answers_[static_cast<std::size_t>(at)].because.reasons)
    if (reason.record) path_.push_back(*reason.record);
  emit changed();
}

void WhyModel::back() {
  if (canGoBack()) go(at_ - 1);
}

void WhyModel::forward() {
  if (canGoForward()) go(at_ + 1);
}

void WhyModel::show(int reason) {
  const WhyAnswer* shown = answer();
  if (!shown || reason < 0 || reason >= static_cast<int>(shown->because.reasons.size())) return;
  const protocol::Reason chosen = shown->because.reasons[static_cast<std::size_t>(reason)];
  if (chosen.record) session_->setCursor(*chosen.record);
  if (chosen.tensor)
    session_->pickElement(*chosen.tensor, chosen.element.value_or(std::vector<std::int64_t>()));
}

}  // namespace tapedeck::inspector
