#include "inspector/panels/compare/curves_view.h"

#include <QComboBox>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QVBoxLayout>
#include <cmath>
#include <limits>

#include "inspector/model/format.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

constexpr double side_room = 56, low_room = 22, top_room = 22, near_enough = 12;  // pixels
constexpr std::size_t most_marks = 60;  // with more points a line says as much

}  // namespace

class CompareCurvesView::Chart : public QWidget {
 public:
  struct ChartRange {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void take(double value) {
      if (!std::isfinite(value)) return;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    bool empty() const { return !(low <= high); }
    double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
  };

  Chart(CompareModel* model, QWidget* parent) : QWidget(parent), model_(model) {
    setObjectName(QStringLiteral("compareChart"));
    setMinimumHeight(60);
  }

  void setCurve(int curve) {
    curve_ = curve;
    ChartRange steps, values;
    if (const auto* shown = this->curve())
      for (const auto* part : {&shown->left, &shown->right}) {
        for (const double step : part->steps) steps.take(step);
        for (const double value : part->values) values.take(value);
      }
    steps_ = steps;
    values_ = values;
    describe();
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = Theme::fromPalette(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const protocol::ComparedCurve* shown = curve();
    if (!shown || steps_.empty() || values_.empty()) {
      painter.setPen(theme.faintText);
      painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap,
                       CompareCurvesView::tr("Neither side drew a curve."));
      return;
    }
    drawAxes(painter, theme);
    draw(painter, shown->left, theme.backward.stroke, Qt::SolidLine, false);
    draw(painter, shown->right, theme.forward.stroke, Qt::DashLine, true);
    drawLegend(painter, theme);
  }

  void mousePressEvent(QMouseEvent* event) override {
    const protocol::ComparedCurve* shown = curve();
    if (!shown || event->button() != Qt::LeftButton) return;
    double best = near_enough * near_enough, record = 0;
    for (const auto* part : {&shown->left, &shown->right})
      for (std::size_t i = 0; i < part->steps.size() && i < part->values.size(); ++i) {
        const QPointF away = place(part->steps[i], part->values[i]) - event->position();
        const double distance = QPointF::dotProduct(away, away);
        if (distance > best) continue;
        best = distance;
        record = i < part->records.size() ? part->records[i] : 0;
      }
    if (record > 0) model_->session()->setCursor(static_cast<RecordNumber>(record));
  }

 private:
  const protocol::ComparedCurve* curve() const {
    return curve_ >= 0 && curve_ < static_cast<int>(model_->curves().size())
               ? &model_->curves()[static_cast<std::size_t>(curve_)]
               : nullptr;
  }
  QRectF area() const { return QRectF(rect()).adjusted(side_room, top_room, -12, -low_room); }
  QPointF place(double step, double value) const {
    const QRectF room = area();
    return {room.left() + steps_.share(step) * room.width(),
            room.bottom() - values_.share(value) * room.height()};
  }

  void drawAxes(QPainter& painter, const Theme& theme) {
    const QRectF room = area();
    painter.setPen(theme.grid);
    for (int i = 0; i <= 2; ++i) {
      const double y = room.top() + room.height() * i / 2;
      painter.drawLine(QPointF(room.left(), y), QPointF(room.right(), y));
    }
    painter.setPen(theme.axis);
    painter.drawLine(room.bottomLeft(), room.bottomRight());
    painter.setPen(theme.faintText);
    const auto value = [&](double y, double number) {
      painter.drawText(QRectF(0, y - 10, side_room - 6, 20), Qt::AlignRight | Qt::AlignVCenter,
                       QString::number(number, 'g', 3));
    };
    value(room.top(), values_.high);
    value(room.bottom(), values_.low);
    const QRectF below(room.left(), room.bottom() + 2, room.width(), low_room - 2);
    painter.drawText(below, Qt::AlignLeft | Qt::AlignTop, QString::number(steps_.low, 'g', 6));
    painter.drawText(below, Qt::AlignRight | Qt::AlignTop, QString::number(steps_.high, 'g', 6));
    painter.drawText(below, Qt::AlignHCenter | Qt::AlignTop, CompareCurvesView::tr("step"));
  }

  void draw(QPainter& painter, const protocol::CurvePart& part, const QColor& color, Qt::PenStyle style,
            bool square) {
    QPainterPath path;
    bool down = false;
    const std::size_t count = std::min(part.steps.size(), part.values.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(part.values[i]) || !std::isfinite(part.steps[i])) {
        down = false;  // a gap says that there was no number
        continue;
      }
      const QPointF at = place(part.steps[i], part.values[i]);
      down ? path.lineTo(at) : path.moveTo(at);
      down = true;
    }
    painter.setPen(QPen(color, 2, style));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
    if (count > most_marks) return;
    painter.setPen(QPen(color, 1.5));
    painter.setBrush(palette().base());
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(part.values[i])) continue;
      const QRectF mark(place(part.steps[i], part.values[i]) - QPointF(3, 3), QSizeF(6, 6));
      square ? painter.drawRect(mark) : painter.drawEllipse(mark);
    }
  }

  void drawLegend(QPainter& painter, const Theme& theme) {
    double x = side_room;
    const auto entry = [&](const std::optional<CompareChoice>& choice, const QString& name,
                           const QColor& color, Qt::PenStyle style) {
      painter.setPen(QPen(color, 2, style));
      painter.drawLine(QPointF(x, top_room / 2), QPointF(x + 26, top_room / 2));
      painter.setPen(theme.text);
      const QString text = choice ? QStringLiteral("%1: %2").arg(name, choice->brief) : name;
      painter.drawText(QPointF(x + 32, top_room / 2 + fontMetrics().ascent() / 2.0 - 1), text);
      x += 32 + fontMetrics().horizontalAdvance(text) + 20;
    };
    entry(model_->left(), CompareCurvesView::tr("left"), theme.backward.stroke, Qt::SolidLine);
    entry(model_->right(), CompareCurvesView::tr("right"), theme.forward.stroke, Qt::DashLine);
  }

  void describe() {
    const protocol::ComparedCurve* shown = curve();
    const auto last = [](const protocol::CurvePart& part) {
      return part.values.empty() ? CompareCurvesView::tr("no points")
                                 : CompareCurvesView::tr("%1 points, the last %2")
                                       .arg(part.values.size())
                                       .arg(part.values.back(), 0, 'g', 4);
    };
    setAccessibleName(
        shown ? CompareCurvesView::tr("Curve %1: left %2; right %3")
                    .arg(QString::fromStdString(shown->name), last(shown->left), last(shown->right))
              : CompareCurvesView::tr("No curve"));
    setToolTip(shown
                   ? accessibleName() + CompareCurvesView::tr("\nA click on a point moves the cursor there.")
                   : QString());
  }

  CompareModel* model_;
  int curve_ = -1;
  ChartRange steps_, values_;
};

CompareCurvesView::CompareCurvesView(CompareModel* model, QWidget* parent)
    : QWidget(parent), model_(model), names_(new QComboBox(this)), chart_(new Chart(model, this)) {
  names_->setObjectName(QStringLiteral("compareCurve"));
  names_->setAccessibleName(tr("Curve"));
  names_->setToolTip(tr("Which curve of both sides is shown"));
  names_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 2, 4, 2);
  layout->setSpacing(2);
  layout->addWidget(names_, 0, Qt::AlignLeft);
  layout->addWidget(chart_, 1);
  connect(names_, &QComboBox::currentIndexChanged, this, [this](int at) { chart_->setCurve(at); });
  connect(model, &CompareModel::curvesChanged, this, &CompareCurvesView::showNames);
  showNames();
}

void CompareCurvesView::showNames() {
  const QString before = names_->currentText();
  {
    const QSignalBlocker quiet(names_);
    names_->clear();
    for (const protocol::ComparedCurve& curve : model_->curves())
      names_->addItem(QString::fromStdString(curve.name));
    names_->setCurrentIndex(std::max(0, names_->findText(before)));
  }
  names_->setVisible(names_->count() > 1);
  chart_->setCurve(names_->count() ? names_->currentIndex() : -1);
}

}  // namespace tapedeck::inspector
