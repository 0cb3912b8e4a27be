#include "inspector/panels/what_if/set_form.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "inspector/model/plain_tip.h"
#include "inspector/panels/condition_edit.h"

namespace tapedeck::inspector {

SetForm::SetForm(Session& session, QWidget* parent)
    : QWidget(parent),
      layout_(new QFormLayout(this)),
      problems_(layout_, QStringLiteral("setProblem")),
      filter_(new ConditionEdit(session, this)),
      subject_(new QComboBox(this)),
      action_(new QComboBox(this)),
      value_(new QLineEdit(this)) {
  layout_->setContentsMargins(8, 2, 8, 2);
  layout_->setVerticalSpacing(3);
  layout_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  filter_->setPlaceholderText(QStringLiteral("op:gradient_descent and step >= 60"));
  addField(SetField::filter, "setFilter", QStringLiteral("All ops:"), filter_,
           QStringLiteral(
               "As the filter of Ops has them: op:adam, line:7-12, scope:dense, max(abs(out)) > 3, joined "
               "by and, or, not. step is the number of the training step, from 1"));
  subject_->setEditable(true);
  subject_->lineEdit()->setPlaceholderText(QStringLiteral("learning_rate"));
  subject_->setInsertPolicy(QComboBox::NoInsert);
  subject_->completer()->setCompletionMode(QCompleter::InlineCompletion);
  addField(SetField::subject, "setSubject", QStringLiteral("Change:"), subject_,
           QStringLiteral(
               "An attribute or an input by its name, as learning_rate of gradient_descent and momentum, "
               "step_size of adam; in0, in1 …; out: the results; out0, out1 …: one of them"));
  for (const SetAction action : {SetAction::scale, SetAction::add, SetAction::set, SetAction::clip})
    action_->addItem(actionWords(action), static_cast<int>(action));
  auto* row = new QWidget(this);
  auto* both = new QHBoxLayout(row);
  both->setContentsMargins(0, 0, 0, 0);
  both->addWidget(action_);
  both->addWidget(value_, 1);
  action_->setObjectName(QStringLiteral("setAction"));
  action_->setAccessibleName(QStringLiteral("What is done with it"));
  action_->setToolTip(QStringLiteral("What is done with it in the branch"));
  value_->setPlaceholderText(QStringLiteral("0.1"));
  value_->setObjectName(QStringLiteral("setValue"));
  value_->setAccessibleName(QStringLiteral("Number"));
  value_->setToolTip(plainTip(QStringLiteral("A number; an attribute becomes what Python would write")));
  layout_->addRow(QStringLiteral("Change:"), row);
  qobject_cast<QLabel*>(layout_->labelForField(row))->setBuddy(action_);
  problems_.add(static_cast<int>(SetField::value));
  const ChangeButtons buttons = addChangeButtons(layout_, QStringLiteral("set"));
  add_ = buttons.add;
  connect(buttons.add, &QPushButton::clicked, this, &SetForm::commit);
  connect(buttons.close, &QPushButton::clicked, this, &SetForm::closed);
  const auto hidden = [this](SetField field) {
    return [this, field] { problems_.hide(static_cast<int>(field)); };
  };
  connect(filter_, &QLineEdit::textEdited, this, hidden(SetField::filter));
  connect(subject_, &QComboBox::editTextChanged, this, hidden(SetField::subject));
  connect(value_, &QLineEdit::textEdited, this, hidden(SetField::value));
  for (QLineEdit* line : {static_cast<QLineEdit*>(filter_), subject_->lineEdit(), value_})
    connect(line, &QLineEdit::returnPressed, this, &SetForm::commit);
}

void SetForm::addField(SetField field, const char* name, const QString& label, QWidget* widget,
                       const QString& tip) {
  widget->setObjectName(QLatin1String(name));
  widget->setToolTip(plainTip(tip));
  layout_->addRow(label, widget);
  problems_.add(static_cast<int>(field));
}

void SetForm::fill(const protocol::SetChange& set) {
  filter_->setText(QString::fromStdString(set.filter));
  subject_->setEditText(QString::fromStdString(set.subject));
  action_->setCurrentIndex(action_->findData(static_cast<int>(set.action)));
  value_->setText(QString::fromStdString(set.value));
  problems_.hideAll();
}

void SetForm::start(const protocol::Record& op) {
  subject_->clear();
  subject_->addItems(setSubjects(op));
  protocol::SetChange set;
  if (!op.op.empty()) set.filter = "op:" + op.op;
  fill(set);
  add_->setText(QStringLiteral("Add"));
}

void SetForm::edit(const BranchChange& change) {
  if (!change.set) return;
  subject_->clear();
  subject_->addItems(setSubjects({}));
  fill(*change.set);
  add_->setText(QStringLiteral("Change"));
}

protocol::SetChange SetForm::draft() const {
  return {filter_->text().toStdString(), subject_->currentText().toStdString(),
          static_cast<SetAction>(action_->currentData().toInt()), value_->text().toStdString()};
}

void SetForm::focusFirst() {
  filter_->setFocus(Qt::OtherFocusReason);
  filter_->end(false);
}

void SetForm::commit() {
  problems_.hideAll();
  SetProblem wrong;
  if (const auto change = setChangeOf(draft(), &wrong)) {
    emit done(*change);
    return;
  }
  problems_.show(static_cast<int>(wrong.field), wrong.sentence);
  QWidget* const fields[] = {filter_, subject_, value_};
  fields[static_cast<int>(wrong.field)]->setFocus(Qt::OtherFocusReason);
  if (wrong.field == SetField::filter && wrong.position >= 0) filter_->setCursorPosition(wrong.position);
}

}  // namespace tapedeck::inspector
