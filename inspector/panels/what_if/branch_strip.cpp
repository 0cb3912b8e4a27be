#include "inspector/panels/what_if/branch_strip.h"

#include <QEvent>
#include <QHBoxLayout>

#include "inspector/model/session.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

constexpr int icon_size = 14;

const char* iconOf(Beside shown) {
  return shown == Beside::original ? "original" : shown == Beside::branch ? "branch" : "difference";
}

QString sentenceOf(const BranchLook& look) {
  switch (look.shown) {
    case Beside::original:
      return BranchStrip::tr("Original (in the branch: %1)").arg(look.changes);
    case Beside::branch:
      return BranchStrip::tr("Branch: %1").arg(look.changes);
    case Beside::difference:
      break;
  }
  return BranchStrip::tr("Difference, branch − original: %1").arg(look.changes);
}

Tint tintOf(const Theme& theme, Beside shown) {
  return shown == Beside::original ? Tint{theme.background, theme.faintText}
         : shown == Beside::branch ? theme.custom
                                   : theme.warning;
}

}  // namespace

BranchStrip::BranchStrip(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      icon_(new QLabel(this)),
      text_(new ElidingLabel(Qt::ElideRight, this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 2, 8, 2);
  layout->setSpacing(6);
  layout->addWidget(icon_);
  layout->addWidget(text_, 1);
  setAutoFillBackground(true);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setObjectName(QStringLiteral("branchStrip"));
  connect(session, &Session::lookChanged, this, &BranchStrip::show);
  show();
}

QString BranchStrip::text() const {
  return isHidden() ? QString() : text_->text();
}

void BranchStrip::show() {
  const BranchLook& look = session_->look();
  setVisible(look.branch != 0);
  if (!look.branch) return;
  const Theme theme = Theme::fromPalette(palette());
  const Tint tint = tintOf(theme, look.shown);
  text_->setText(sentenceOf(look));
  setAccessibleName(text_->text());
  icon_->setPixmap(
      iconPixmap(QString::fromLatin1(iconOf(look.shown)), tint.stroke, icon_size, devicePixelRatioF()));
  QPalette colours = parentWidget() ? parentWidget()->palette() : palette();
  colours.setColor(QPalette::Window, tint.fill);
  colours.setColor(QPalette::WindowText, theme.text);
  setPalette(colours);
}

void BranchStrip::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  // Its own palette is set below, which is no change of theme.
  if (event->type() == QEvent::ThemeChange || event->type() == QEvent::ApplicationPaletteChange) show();
}

}  // namespace tapedeck::inspector
