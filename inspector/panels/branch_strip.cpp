#include "inspector/panels/branch_strip.h"

#include <QHBoxLayout>
#include <QPainter>

#include "inspector/model/session/session.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/theme.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::inspector {

namespace {

constexpr int icon_size = 14, side = 8;  // pixels

const char* iconOf(Beside shown) {
  return shown == Beside::original ? "original" : shown == Beside::branch ? "branch" : "difference";
}

QString sentenceOf(const BranchLook& look) {
  switch (look.shown) {
    case Beside::original:
      return QStringLiteral("Original (in the branch: %1)").arg(look.changes);
    case Beside::branch:
      return QStringLiteral("Branch: %1").arg(look.changes);
    case Beside::difference:
      break;
  }
  return QStringLiteral("Difference, branch − original: %1").arg(look.changes);
}

Tint tintOf(const Theme& theme, Beside shown) {
  return shown == Beside::original ? Tint{theme.background, theme.faintText}
         : shown == Beside::branch ? theme.custom
                                   : theme.warning;
}

}  // namespace

BranchStrip::BranchStrip(Session& session, QWidget* parent)
    : QWidget(parent), session_(session), text_(new ElidingLabel(Qt::ElideRight, this)) {
  auto* layout = new QHBoxLayout(this);
  followFont(this, [this, layout] {
    layout->setContentsMargins(side + scaled(icon_size) + side, 2, side, 2);
    update();
  });
  layout->addWidget(text_);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setObjectName(QStringLiteral("branchStrip"));
  connect(&session, &Session::lookChanged, this, &BranchStrip::showLook);
  showLook();
}

QString BranchStrip::text() const {
  return isHidden() ? QString() : text_->text();
}

void BranchStrip::showLook() {
  const BranchLook& look = session_.look();
  setVisible(look.branch != 0);
  if (!look.branch) return;
  text_->setText(sentenceOf(look));
  setAccessibleName(text_->text());
  update();
}

// From the palette of the moment, so that it follows a theme that is switched live.
void BranchStrip::paintEvent(QPaintEvent*) {
  const Beside shown = session_.look().shown;
  const Tint tint = tintOf(Theme::fromPalette(palette()), shown);
  QPainter painter(this);
  painter.fillRect(rect(), tint.fill);
  const int icon = scaled(icon_size);
  const QPixmap pixmap =
      iconPixmap(QString::fromLatin1(iconOf(shown)), tint.stroke, icon, devicePixelRatioF());
  painter.drawPixmap(side, (height() - icon) / 2, pixmap);
}

}  // namespace tapedeck::inspector
