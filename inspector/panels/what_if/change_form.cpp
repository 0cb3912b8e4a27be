#include "inspector/panels/what_if/change_form.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/eliding_label.h"

namespace tapedeck::inspector {

ChangeForm::ChangeForm(QWidget* parent)
    : QWidget(parent),
      layout_(new QFormLayout(this)),
      problems_(layout_, QStringLiteral("changeProblem")),
      about_(new ElidingLabel(Qt::ElideMiddle, this)),
      kind_(new QComboBox(this)),
      result_(new QComboBox(this)),
      attribute_(new QComboBox(this)) {
  layout_->setContentsMargins(8, 4, 8, 4);
  layout_->setVerticalSpacing(4);
  layout_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  layout_->addRow(QStringLiteral("At:"), about_);
  kind_->setObjectName(QStringLiteral("changeKind"));
  kind_->setToolTip(QStringLiteral("What is different in the branch"));
  kind_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  kind_->setMinimumContentsLength(12);
  layout_->addRow(QStringLiteral("Change:"), kind_);
  result_->setObjectName(QStringLiteral("changeResult"));
  result_->setToolTip(QStringLiteral("All of the op's results, or one alone: the others stay as they are"));
  layout_->addRow(QStringLiteral("Which:"), result_);
  problems_.add(static_cast<int>(ChangeField::result));
  element_ = addLine(
      ChangeField::element, "changeElement", QStringLiteral("Element:"),
      QStringLiteral("A place for each axis, counted from 0: 0, 2. Negative ones count from the end"));
  attribute_->setObjectName(QStringLiteral("changeAttribute"));
  attribute_->setToolTip(QStringLiteral("Which of the op's attributes: its arguments that are not tensors"));
  layout_->addRow(QStringLiteral("Attribute:"), attribute_);
  problems_.add(static_cast<int>(ChangeField::attribute));
  setting_ = addLine(ChangeField::setting, "changeSetting", QStringLiteral("Becomes:"),
                     QStringLiteral("As Python writes it: 3, 0.5, True, None, [2, 3], 'SAME', float32"));
  numbers_ = addLine(ChangeField::numbers, "changeNumbers", QStringLiteral("Becomes:"), {});
  const ChangeButtons buttons = addChangeButtons(layout_, QStringLiteral("change"));
  add_ = buttons.add;
  connect(buttons.add, &QPushButton::clicked, this, &ChangeForm::commit);
  connect(buttons.close, &QPushButton::clicked, this, &ChangeForm::closed);
  connect(kind_, &QComboBox::currentIndexChanged, this, [this] {
    if (filling_) return;
    showFields();
  });
  for (QComboBox* box : {kind_, result_})
    connect(box, &QComboBox::activated, this, [this] { touched_ = true; });
  connect(attribute_, &QComboBox::currentIndexChanged, this, [this] {
    if (!filling_) showSetting();
  });
}

QLineEdit* ChangeForm::addLine(ChangeField field, const char* name, const QString& label,
                               const QString& tip) {
  auto* line = new QLineEdit(this);
  line->setObjectName(QLatin1String(name));
  line->setToolTip(plainTip(tip));
  layout_->addRow(label, line);
  problems_.add(static_cast<int>(field));
  connect(line, &QLineEdit::textEdited, this, [this, field] {
    touched_ = true;
    problems_.hide(static_cast<int>(field));
  });
  connect(line, &QLineEdit::returnPressed, this, &ChangeForm::commit);
  return line;
}

void ChangeForm::start(const ChangeSubject& subject) {
  subject_ = subject;
  touched_ = false;
  filling_ = true;
  QStringList places;
  for (const std::int64_t at : subject.element) places << QString::number(at);
  element_->setText(places.join(QStringLiteral(", ")));
  numbers_->clear();
  add_->setText(QStringLiteral("Add"));
  const QList<ChangeKind> kinds = changesFor(subject);
  // Of a whole tensor its value is meant, not one of its elements.
  const bool whole = subject.element.empty() && kinds.contains(ChangeKind::value);
  fillResults();
  fillKinds(whole ? ChangeKind::value : ChangeKind::element);
}

void ChangeForm::edit(const BranchChange& change) {
  subject_ = change.subject;
  touched_ = true;
  filling_ = true;
  element_->setText(change.draft.element);
  numbers_->setText(change.draft.numbers);
  add_->setText(QStringLiteral("Change"));
  fillResults();
  fillKinds(change.draft.kind);
  result_->setCurrentIndex(std::max(0, result_->findData(change.draft.result)));
  if (change.draft.kind != ChangeKind::attribute) return;
  attribute_->setCurrentIndex(attribute_->findData(change.draft.attribute));
  setting_->setText(change.draft.setting);
}

/// Those that a change of all can also name alone; what the user points at is no choice between them.
void ChangeForm::fillResults() {
  result_->clear();
  result_->addItem(QStringLiteral("all results"), -1);
  for (const int result : resultsFor(subject_, ChangeKind::zero))
    result_->addItem(resultWords(subject_, result), result);
}

void ChangeForm::fillKinds(ChangeKind chosen) {
  filling_ = true;
  const QString tensor = tensorWords(subject_), op = opWords(subject_.op);
  about_->setText(!subject_.tensor.id                          ? op
                  : !subject_.op.number || tensor.contains(op) ? tensor
                                                               : QStringLiteral("%1 · %2").arg(tensor, op));
  kind_->clear();
  for (const ChangeKind kind : changesFor(subject_))
    kind_->addItem(kindWords(kind, subject_), static_cast<int>(kind));
  kind_->setCurrentIndex(std::max(0, kind_->findData(static_cast<int>(chosen))));
  attribute_->clear();
  for (const auto& attribute : subject_.op.attributes) {
    const QString name = QString::fromStdString(attribute.name);
    attribute_->addItem(QStringLiteral("%1 (%2)").arg(name, QString::fromStdString(attribute.value)), name);
  }
  if (const int seed = attribute_->findData(QStringLiteral("seed")); seed >= 0)
    attribute_->setCurrentIndex(seed);  // what is asked for most where there is one
  filling_ = false;
  showSetting();
  showFields();
}

void ChangeForm::showSetting() {
  const int at = attribute_->currentIndex();
  const bool known = at >= 0 && at < static_cast<int>(subject_.op.attributes.size());
  setting_->setText(known ? QString::fromStdString(subject_.op.attributes[static_cast<std::size_t>(at)].value)
                          : QString());
}

void ChangeForm::showFields() {
  const ChangeKind chosen = kind();
  const auto show = [this](QWidget* field, bool on) {
    field->setVisible(on);
    layout_->labelForField(field)->setVisible(on);
  };
  show(element_, chosen == ChangeKind::element);
  show(result_, !resultsFor(subject_, chosen).isEmpty());
  show(attribute_, chosen == ChangeKind::attribute);
  show(setting_, chosen == ChangeKind::attribute);
  show(numbers_, chosen != ChangeKind::attribute && chosen != ChangeKind::skip && chosen != ChangeKind::zero);
  auto* label = qobject_cast<QLabel*>(layout_->labelForField(numbers_));
  label->setText(chosen == ChangeKind::scale  ? QStringLiteral("Times:")
                 : chosen == ChangeKind::clip ? QStringLiteral("Largest:")
                                              : QStringLiteral("Becomes:"));
  numbers_->setToolTip(
      chosen == ChangeKind::value
          ? QStringLiteral("One number for all elements, or one per element: 0  or  [[1, 2], [3, 4]]")
      : chosen == ChangeKind::scale ? QStringLiteral("The result is multiplied by this number")
      : chosen == ChangeKind::clip
          ? QStringLiteral("What is larger than this, or smaller than minus this, is clipped there")
          : QStringLiteral("A number; nan, inf and -inf are allowed, too"));
  numbers_->setPlaceholderText(chosen == ChangeKind::value ? QStringLiteral("one number, or one per element")
                                                           : QString());
  problems_.hideAll();
}

ChangeKind ChangeForm::kind() const {
  return static_cast<ChangeKind>(kind_->currentData().toInt());
}

QString ChangeForm::kindText() const {
  return kind_->currentText();
}

ChangeDraft ChangeForm::draft() const {
  const int result = resultsFor(subject_, kind()).isEmpty() ? -1 : result_->currentData().toInt();
  return {kind(), element_->text(), numbers_->text(), attribute_->currentData().toString(), setting_->text(),
          result};
}

void ChangeForm::focusFirst() {
  QWidget* first = kind_;
  if (!element_->isHidden() && element_->text().isEmpty())
    first = element_;
  else if (!numbers_->isHidden())
    first = numbers_;
  else if (!setting_->isHidden())
    first = attribute_;
  first->setFocus(Qt::OtherFocusReason);
}

void ChangeForm::commit() {
  problems_.hideAll();
  if (kind_->count() == 0) return;
  ChangeProblem wrong;
  if (const auto change = changeOf(draft(), subject_, &wrong)) {
    emit done(*change);
    return;
  }
  problems_.show(static_cast<int>(wrong.field), wrong.sentence);
  QWidget* const fields[] = {element_, numbers_, attribute_, setting_, result_};
  fields[static_cast<int>(wrong.field)]->setFocus(Qt::OtherFocusReason);
}

}  // namespace tapedeck::inspector
