#include "inspector/panels/variables/section.h"

#include <QVBoxLayout>

namespace tapedeck::inspector {

Section::Section(const QString& title, QWidget* content, QWidget* parent)
    : QWidget(parent), heading_(new QToolButton(this)), content_(content) {
  heading_->setText(title);
  heading_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  heading_->setAutoRaise(true);
  heading_->setCheckable(true);
  heading_->setChecked(true);
  heading_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  heading_->setToolTip(tr("Fold or unfold %1 (Space)").arg(title));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(heading_);
  layout->addWidget(content, 1);
  connect(heading_, &QToolButton::toggled, this, &Section::fold);
  fold(true);
}

void Section::fold(bool open) {
  heading_->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
  content_->setVisible(open);
  setMaximumHeight(open ? QWIDGETSIZE_MAX : heading_->sizeHint().height());
}

}  // namespace tapedeck::inspector
