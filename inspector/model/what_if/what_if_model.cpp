#include "inspector/model/what_if/what_if_model.h"

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

const QString replay_channel = QStringLiteral("what if/replay");
const QString take_over_channel = QStringLiteral("what if/take over");

/// "make_branch: there is no op 9" as a sentence of the panel.
QString sentenceOf(const std::string& reason) {
  QString text = QString::fromStdString(reason);
  if (const QString prefix = QStringLiteral("make_branch: "); text.startsWith(prefix)) {
    text = text.mid(prefix.size());
    text = text.left(1).toUpper() + text.mid(1);
  }
  return text.endsWith(QLatin1Char('.')) ? text : text + QLatin1Char('.');
}

}  // namespace

WhatIfModel::WhatIfModel(Session* session, QObject* parent) : QObject(parent), session_(session) {
  connect(session, &Session::cleared, this, &WhatIfModel::dropAll);
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (!live) dropAll();
    emit subjectChanged();
  });
  connect(session, &Session::lookChanged, this, &WhatIfModel::changed);
  connect(session, &Session::recordsChanged, this, [this] { setSubject(pointed_); });
}

void WhatIfModel::dropAll() {
  changes_.clear();
  answer_.reset();
  problem_.clear();
  progress_.clear();
  replaying_ = outdated_ = false;
  pointed_ = {};
  subject_ = {};
  emit subjectChanged();
  emit changesChanged();
  emit changed();
}

void WhatIfModel::setSubject(const WhySubject& pointed) {
  pointed_ = pointed;
  ChangeSubject next = changeSubjectOf(*session_, pointed);
  if (next == subject_) return;
  subject_ = std::move(next);
  emit subjectChanged();
}

QString WhatIfModel::refusal() const {
  if (!session_->live()) return QStringLiteral("There is no session whose past could be changed.");
  if (changes_.empty()) return QStringLiteral("Nothing is changed yet: add a change first.");
  return {};
}

void WhatIfModel::edited() {
  outdated_ = answer_.has_value() || replaying_;  // the answer under way is of the changes before, too
  problem_.clear();
  emit changesChanged();
  emit changed();
}

void WhatIfModel::add(const BranchChange& change) {
  changes_.push_back(change);
  edited();
}

void WhatIfModel::replace(int at, const BranchChange& change) {
  if (at < 0 || at >= static_cast<int>(changes_.size())) return;
  changes_[static_cast<std::size_t>(at)] = change;
  edited();
}

void WhatIfModel::remove(int at) {
  if (at < 0 || at >= static_cast<int>(changes_.size())) return;
  changes_.erase(changes_.begin() + at);
  edited();
}

void WhatIfModel::clear() {
  if (changes_.empty()) return;
  changes_.clear();
  edited();
}

QString WhatIfModel::changesText() const {
  QStringList texts;
  for (const BranchChange& change : changes_) texts << change.text;
  return texts.join(QStringLiteral("; "));
}

void WhatIfModel::replay() {
  if (!refusal().isEmpty()) return;
  protocol::MakeBranch make;
  for (const BranchChange& change : changes_)
    change.set ? make.sets.push_back(*change.set) : make.changes.push_back(change.change);
  const QString text = changesText();
  replaying_ = session_->request<protocol::Branched>(
      make, this,
      [this, text](const protocol::Branched& answer) {
        const BranchLook before = session_->look();
        take(answer);
        BranchLook look{answer.branch, before.branch ? before.shown : Beside::original, text,
                        answer.curve_points};
        for (const std::string& note : answer.notes) look.notes << QString::fromStdString(note);
        session_->setLook(look);
        if (before.branch) session_->send(protocol::DropBranch{before.branch});
        emit replayed();
      },
      [this](const protocol::Failure& failure) { fail(failure); }, replay_channel,
      [this](const protocol::Progress& told) {
        progress_ = told.total
                        ? QStringLiteral("%1 of %2 results").arg(countText(told.done), countText(told.total))
                        : QStringLiteral("%1 results").arg(countText(told.done));
        emit changed();
      });
  if (!replaying_) return;
  outdated_ = false;
  problem_.clear();
  progress_ = QStringLiteral("looking for what depends on the change …");
  emit changed();
}

void WhatIfModel::take(const protocol::Branched& answer) {
  replaying_ = false;
  progress_.clear();
  answer_ = answer;
  emit changed();
}

void WhatIfModel::fail(const protocol::Failure& failure) {
  replaying_ = false;
  progress_.clear();
  outdated_ = answer_.has_value();
  problem_ = failure.code == "cancelled" ? QString() : sentenceOf(failure.reason);
  emit changed();
}

void WhatIfModel::cancel() {
  if (!replaying_) return;
  session_->drop(replay_channel);
  fail({"", "cancelled"});
}

void WhatIfModel::setShown(Beside shown) {
  BranchLook look = session_->look();
  if (!look.branch) return;
  look.shown = shown;
  session_->setLook(look);
}

void WhatIfModel::show(int moved) {
  if (!answer_ || moved < 0 || moved >= static_cast<int>(answer_->moved.size())) return;
  const protocol::Moved chosen = answer_->moved[static_cast<std::size_t>(moved)];
  session_->setCursor(chosen.record);
  session_->pickTensor(chosen.tensor);
}

void WhatIfModel::showRead(int use) {
  if (!answer_ || use < 0 || use >= static_cast<int>(answer_->reads.size())) return;
  session_->setCursor(answer_->reads[static_cast<std::size_t>(use)].record);
}

void WhatIfModel::forget() {
  const quint64 branch = session_->look().branch;
  if (!branch) return;
  answer_.reset();
  outdated_ = false;
  problem_.clear();
  session_->setLook({});
  session_->send(protocol::DropBranch{branch});
  emit changed();
}

QString WhatIfModel::takeOverRefusal() const {
  if (!answer_) return QStringLiteral("There is no branch: replay a change first.");
  if (subject_.tensor.id == 0 || subject_.tensor.name.empty())
    return QStringLiteral(
        "Show a variable's value in Tensor first: a variable can take what it is in the branch.");
  const protocol::Status& status = session_->status();
  if (status.running_cell && !protocol::stop_id(status))
    return QStringLiteral("A cell is running: pause it, or wait until it ends.");
  return {};
}

void WhatIfModel::takeOver() {
  if (!takeOverRefusal().isEmpty()) return;
  session_->request<protocol::TakenOver>(
      protocol::TakeOver{answer_->branch, subject_.tensor.id}, this,
      [this](const protocol::TakenOver& taken) {
        problem_.clear();
        emit told(QStringLiteral("%1 took over the branch's value; the session goes on with it.")
                      .arg(QString::fromStdString(taken.variable)));
        emit takenOver();
        emit changed();
      },
      [this](const protocol::Failure& failure) {
        problem_ = QStringLiteral("Not taken over: %1").arg(sentenceOf(failure.reason));
        emit told(problem_);
        emit changed();
      },
      take_over_channel);
}

}  // namespace tapedeck::inspector
