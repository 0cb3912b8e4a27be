#include "inspector/panels/why_actions.h"

#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

namespace {

struct Row {
  Question question;
  const char* id;
  QKeySequence key;
  const char* tip;
};

QList<Row> rows() {
  return {
      {Question::birth, "why.birth", Qt::Key_F7,
       "Goes back to the op, the line and the element that produced it, and shows the operands"},
      {Question::gradient, "why.gradient", Qt::SHIFT | Qt::Key_F7,
       "Finds where the path of gradients ends, or the op that swallowed them"},
      {Question::contributions, "why.contributions", Qt::CTRL | Qt::SHIFT | Qt::Key_F7,
       "Lists what the element was computed from, the largest first; of a gradient: each use and example"},
      {Question::size, "why.size", Qt::ALT | Qt::SHIFT | Qt::Key_F7,
       "Lists the ops on the way to it by how much each made it larger or smaller"},
      {Question::check, "why.check", Qt::SHIFT | Qt::Key_F8,
       "Compares every VJP on the gradient's path with finite differences; of a VJP or an op, that VJP "
       "alone"},
      {Question::exactness, "why.exactness", Qt::ALT | Qt::SHIFT | Qt::Key_F8,
       "Runs what led here again in float64, and shows where digits were lost"}};
}

}  // namespace

WhyActions::WhyActions(WhyModel* model, QObject* parent) : QObject(parent), model_(model) {
  for (const Row& row : rows()) {
    auto* action = new QAction(questionText(row.question), this);
    action->setObjectName(QLatin1String(row.id));
    setKey(action, {row.key}, QString::fromUtf8(row.tip));
    action->setData(static_cast<int>(row.question));
    connect(action, &QAction::triggered, model, [model, question = row.question] { model->ask(question); });
    actions_ << action;
    tips_ << action->toolTip();
  }
  connect(model, &WhyModel::subjectChanged, this, &WhyActions::update);
  update();
}

void WhyActions::addTo(QMenu* menu) const {
  menu->setToolTipsVisible(true);
  menu->addSeparator();
  menu->addActions(actions());
}

void WhyActions::update() {
  for (int i = 0; i < actions_.size(); ++i) {
    const auto question = static_cast<Question>(actions_[i]->data().toInt());
    actions_[i]->setText(model_->textOf(question, model_->subject()));
    const QString refusal = model_->refusal(question, model_->subject());
    allow(actions_[i], tips_[i], refusal);
  }
}

}  // namespace tapedeck::inspector
