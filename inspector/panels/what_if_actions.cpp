#include "inspector/panels/what_if_actions.h"

#include <QActionGroup>

#include "inspector/ui/icons.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

WhatIfActions::WhatIfActions(WhatIfModel* model, WhyModel* why, QObject* parent)
    : QObject(parent), model_(model) {
  addSeparator();
  ask_ = add("what_if.ask", QStringLiteral("What &if…"), Qt::Key_F4,
             QStringLiteral("Change this value or op in the past, to see what would have followed"));
  askSet_ =
      add("what_if.ask_set", QStringLiteral("What if, for a &set of ops…"),
          Qt::CTRL | Qt::ALT | Qt::SHIFT | Qt::Key_I,
          QStringLiteral("Change many ops in the past, such as the learning rate from a step on, and see the "
                         "curves beside the original"));
  replay_ = add("what_if.replay", QStringLiteral("&Replay the changes"), Qt::SHIFT | Qt::Key_F4,
                QStringLiteral("Run what depends on the changes again, in a branch beside the original"));
  addSeparator();
  addLooks();
  curves_ = add("what_if.curves", QStringLiteral("Show the branch's &curves"),
                Qt::CTRL | Qt::ALT | Qt::SHIFT | Qt::Key_U,
                QStringLiteral("Plots with the curves of the branch, dashed beside the original's"));
  addSeparator();
  takeOver_ = add("what_if.take_over", QStringLiteral("&Take over into the session"),
                  Qt::CTRL | Qt::SHIFT | Qt::Key_F12,
                  QStringLiteral("The variable that Tensor shows gets this value as it is in the branch"));
  forget_ = add("what_if.forget", QStringLiteral("&Drop the branch"), Qt::CTRL | Qt::SHIFT | Qt::Key_K,
                QStringLiteral("Back to the original alone; the list of changes stays"));
  connect(ask_, &QAction::triggered, this, &WhatIfActions::asked);
  connect(askSet_, &QAction::triggered, this, &WhatIfActions::askedForSet);
  connect(curves_, &QAction::triggered, this, &WhatIfActions::curvesWanted);
  connect(replay_, &QAction::triggered, model, &WhatIfModel::replay);
  connect(takeOver_, &QAction::triggered, model, &WhatIfModel::takeOver);
  connect(forget_, &QAction::triggered, model, &WhatIfModel::forget);
  const auto follow = [model, why] { model->setSubject(why->subject()); };
  connect(why, &WhyModel::subjectChanged, this, follow);
  connect(model, &WhatIfModel::subjectChanged, this, &WhatIfActions::update);
  connect(model, &WhatIfModel::changesChanged, this, &WhatIfActions::update);
  connect(model, &WhatIfModel::changed, this, &WhatIfActions::update);
  connect(model->session(), &Session::statusChanged, this, &WhatIfActions::update);
  follow();
  update();
}

QAction* WhatIfActions::add(const char* id, const QString& text, const QKeySequence& key,
                            const QString& tip) {
  auto* action = new QAction(text, this);
  action->setObjectName(QLatin1String(id));
  setKey(action, {key}, tip);
  tips_[action] = action->toolTip();
  actions_ << action;
  return action;
}

void WhatIfActions::addSeparator() {
  auto* line = new QAction(this);
  line->setSeparator(true);
  actions_ << line;
}

void WhatIfActions::addLooks() {
  const struct {
    Beside shown;
    const char *id, *icon;
    QString text;
    QKeySequence key;
    QString tip;
  } rows[] = {
      {Beside::original, "what_if.original", "original", QStringLiteral("Show the &original"), Qt::Key_F12,
       QStringLiteral("Ops, Tape, Tensor and VJP show what was")},
      {Beside::branch, "what_if.branch", "branch", QStringLiteral("Show the &branch"),
       Qt::SHIFT | Qt::Key_F12, QStringLiteral("Ops, Tape, Tensor and VJP show the values of the branch")},
      {Beside::difference, "what_if.difference", "difference", QStringLiteral("Show the di&fference"),
       Qt::CTRL | Qt::SHIFT | Qt::Key_F11,
       QStringLiteral("Ops, Tape, Tensor and VJP show the branch less the original")}};
  auto* group = new QActionGroup(this);
  for (const auto& row : rows) {
    QAction* action = add(row.id, row.text, row.key, row.tip);
    action->setCheckable(true);
    action->setIcon(icon(QLatin1String(row.icon)));
    action->setActionGroup(group);
    connect(action, &QAction::triggered, model_, [this, shown = row.shown] { model_->setShown(shown); });
    looks_ << action;
  }
}

void WhatIfActions::update() {
  const bool live = model_->session()->live();
  const QString noSession = QStringLiteral("There is no session whose past could be changed.");
  const QString noBranch = QStringLiteral("There is no branch: replay a change first.");
  const auto allow = [this](QAction* action, const QString& refusal) {
    inspector::allow(action, tips_.value(action), refusal);
  };
  allow(ask_, !live ? noSession
              : changesFor(model_->subject()).isEmpty()
                  ? QStringLiteral("Nothing is selected that could be changed: select an "
                                   "op, or a tensor that is there.")
                  : QString());
  allow(askSet_, !live                                   ? noSession
                 : model_->session()->recordCount() == 0 ? QStringLiteral("No op has run yet.")
                                                         : QString());
  allow(replay_, model_->refusal());
  const bool branch = model_->session()->look().branch != 0;
  for (int i = 0; i < looks_.size(); ++i) {
    looks_[i]->setChecked(i == static_cast<int>(model_->shown()));
    allow(looks_[i], branch ? QString() : noBranch);
  }
  allow(curves_, !branch                                 ? noBranch
                 : model_->session()->look().points == 0 ? QStringLiteral("No curve differs in the branch.")
                                                         : QString());
  allow(takeOver_, model_->takeOverRefusal());
  allow(forget_, branch ? QString() : noBranch);
}

}  // namespace tapedeck::inspector
