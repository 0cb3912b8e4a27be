#include "inspector/panels/what_if/change_rows.h"

#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

void FieldProblems::add(int field) {
  auto* problem = plainLabel(layout_->parentWidget());
  problem->setObjectName(name_ + QString::number(field));
  problem->setWordWrap(true);
  problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
  problem->hide();
  layout_->addRow(QString(), problem);
  labels_[field] = problem;
}

void FieldProblems::hide(int field) {
  labels_[field]->hide();
}

void FieldProblems::hideAll() {
  for (QLabel* label : std::as_const(labels_)) label->hide();
}

void FieldProblems::show(int field, const QString& sentence) {
  QLabel* label = labels_[field];
  QPalette colours = layout_->parentWidget()->palette();
  colours.setColor(QPalette::WindowText, Theme::fromPalette(colours).error.stroke);
  label->setPalette(colours);
  label->setText(QStringLiteral("✗ ") + sentence);
  label->show();
}

ChangeButtons addChangeButtons(QFormLayout* layout, const QString& name) {
  QWidget* form = layout->parentWidget();
  ChangeButtons buttons{new QPushButton(QStringLiteral("Add"), form),
                        new QPushButton(QStringLiteral("Close"), form)};
  buttons.add->setObjectName(name + QStringLiteral("Add"));
  buttons.add->setToolTip(QStringLiteral("Add this change to the list (Enter)"));
  buttons.close->setObjectName(name + QStringLiteral("Close"));
  buttons.close->setToolTip(QStringLiteral("Leave the list as it is (Esc)"));
  auto* row = new QHBoxLayout;
  row->addWidget(buttons.add);
  row->addWidget(buttons.close);
  row->addStretch(1);
  layout->addRow(QString(), row);
  return buttons;
}

}  // namespace tapedeck::inspector
