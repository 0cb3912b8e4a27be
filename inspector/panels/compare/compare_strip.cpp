#include "inspector/panels/compare/compare_strip.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/theme.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::inspector {

namespace {

constexpr double strip_margin = 6;

}  // namespace

CompareStrip::CompareStrip(CompareModel* model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName(QStringLiteral("compareStrip"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  followFont(this, [this] { setFixedHeight(scaled(28)); });
  for (const auto signal :
       {&CompareModel::compareReset, &CompareModel::currentChanged, &CompareModel::changed})
    connect(model, signal, this, [this] { describe(); });
  describe();
}

void CompareStrip::describe() {
  const protocol::Compared* compared = model_->compared();
  setVisible(compared && compared->rows > 0);
  if (compared)
    setAccessibleName(
        QStringLiteral("Overview of %1 rows: %2 changed, %3 on the left only, %4 on the right only")
            .arg(countText(compared->rows), countText(compared->other_attributes + compared->other_shapes),
                 countText(compared->only_left), countText(compared->only_right)));
  update();
}

int CompareStrip::rowAt(double x) const {
  const double share = (x - strip_margin) / std::max(1.0, width() - 2 * strip_margin);
  return std::clamp(static_cast<int>(share * model_->rowCount()), 0, std::max(0, model_->rowCount() - 1));
}

double CompareStrip::placeOf(int row) const {
  return strip_margin + (width() - 2 * strip_margin) * (row + 0.5) / std::max(1, model_->rowCount());
}

void CompareStrip::choose(const QPointF& place) {
  if (model_->rowCount() > 0) emit rowChosen(rowAt(place.x()));
}

void CompareStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) choose(event->position());
}
void CompareStrip::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) choose(event->position());
}

bool CompareStrip::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !model_->compared() || model_->compared()->parts.empty())
    return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto& parts = model_->compared()->parts;
  const int row = rowAt(help->pos().x());
  const auto& part = parts[std::min(parts.size() - 1, static_cast<std::size_t>(row) * parts.size() /
                                                          static_cast<std::size_t>(model_->rowCount()))];
  QToolTip::showText(
      help->globalPos(),
      plainTip(
          QStringLiteral(
              "Around row %1: %2 the same, %3 changed, %4 on the left only (below), %5 on the right only "
              "(above).\nA click goes there.")
              .arg(countText(static_cast<quint64>(row) + 1), countText(part.same), countText(part.changed),
                   countText(part.left), countText(part.right))),
      this);
  return true;
}

void CompareStrip::paintEvent(QPaintEvent*) {
  const Theme theme = Theme::fromPalette(palette());
  QPainter painter(this);
  const QRectF bar = QRectF(rect()).adjusted(strip_margin, 5, -strip_margin, -5);
  painter.fillRect(bar, mix(theme.background, theme.axis, 0.15));
  if (!model_->compared()) return;
  const auto& parts = model_->compared()->parts;
  const double step = bar.width() / static_cast<double>(std::max<std::size_t>(parts.size(), 1));
  const double middle = bar.center().y(), third = bar.height() / 3;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& part = parts[i];
    const double x = bar.left() + static_cast<double>(i) * step, wide = std::max(step, 1.5);
    if (part.changed)
      painter.fillRect(QRectF(x, middle - third / 2, wide, third),
                       QBrush(theme.warning.stroke, step > 4 ? Qt::Dense4Pattern : Qt::SolidPattern));
    if (part.right) painter.fillRect(QRectF(x, bar.top(), wide, third), theme.forward.stroke);
    if (part.left) painter.fillRect(QRectF(x, bar.bottom() - third, wide, third), theme.backward.stroke);
  }
  if (const auto* first = model_->firstDifference(); first && first->row) {
    const double x = placeOf(static_cast<int>(*first->row));
    painter.setPen(QPen(theme.error.stroke, 2, Qt::DashLine));
    painter.drawLine(QPointF(x, 0), QPointF(x, height()));
  }
  if (model_->currentRow() < 0) return;
  const double x = placeOf(model_->currentRow());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.accent);
  painter.drawPolygon(QPolygonF({{x - 5, 0}, {x + 5, 0}, {x, 7}}));
  painter.fillRect(QRectF(x - 0.75, 0, 1.5, height()), theme.accent);
}

}  // namespace tapedeck::inspector
