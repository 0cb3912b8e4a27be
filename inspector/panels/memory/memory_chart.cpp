#include "inspector/panels/memory/memory_chart.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <array>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

using protocol::MemoryHolder;

namespace {

/// A layer of the stack, from below: never told by its colour alone.
struct Layer {
  MemoryHolder holder;
  const std::vector<double>* values;
  Tint tint;
  Qt::BrushStyle pattern;
};

std::array<Layer, 3> layersOf(const protocol::MemoryCurve& curve, const Theme& theme) {
  return {{{MemoryHolder::variable, &curve.variables, theme.variable, Qt::SolidPattern},
           {MemoryHolder::tape, &curve.tapes, theme.backward, Qt::BDiagPattern},
           {MemoryHolder::program, &curve.program, theme.forward, Qt::Dense5Pattern}}};
}

double sumAt(const protocol::MemoryCurve& curve, std::size_t i) {
  return curve.variables[i] + curve.tapes[i] + curve.program[i];
}

/// Of the line that has a scale of its own.
QPen recorderPen(const Theme& theme) {
  return {theme.text, 1.5, Qt::DashLine};
}

/// 1, 2 or 5 times a power of ten.
double niceStep(double range, int parts) {
  const double rough = std::max(range / parts, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

}  // namespace

MemoryChart::MemoryChart(MemoryModel* model, QWidget* parent) : QWidget(parent), model_(model) {
  exposeParts();
  setObjectName(QStringLiteral("memoryChart"));
  setAccessibleName(QStringLiteral("Memory over the run"));
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(120);
  connect(model, &MemoryModel::curveChanged, this, [this] {
    describe();
    tellPartsChanged(this);
    update();
  });
  connect(model->session(), &Session::cursorChanged, this, [this] {
    tellCurrentPart(this);
    update();
  });
}

QString MemoryChart::recorderText(const protocol::MemoryCurve& curve) const {
  if (!recorderShown_ || curve.recorder.empty()) return {};
  return QStringLiteral(" The recorder took %1 at the end of what is shown.")
      .arg(memoryText(curve.recorder.back()));
}

void MemoryChart::describe() {
  const protocol::MemoryCurve* curve = model_->curve();
  setAccessibleDescription(curve && curve->peak_record
                               ? QStringLiteral("The program's peak is %1, at op %2 of %3.%4")
                                     .arg(memoryText(static_cast<double>(curve->peak_bytes)),
                                          countText(curve->peak_record), countText(curve->total),
                                          recorderText(*curve))
                               : QStringLiteral("No op has run yet."));
}

std::vector<MemoryChart::Part> MemoryChart::parts() const {
  const protocol::MemoryCurve* curve = model_->curve();
  if (!curve || curve->records.empty()) return {};
  std::vector<Part> parts{Part::variables, Part::tapes, Part::program};
  if (recorderShown_) parts.push_back(Part::recorder);
  const auto inside = [&](RecordNumber record) { return record >= curve->first && record <= curve->last; };
  if (curve->peak_record && inside(curve->peak_record)) parts.push_back(Part::peak);
  if (inside(model_->session()->cursor())) parts.push_back(Part::cursor);
  return parts;
}

int MemoryChart::currentAccessiblePart() const {
  const std::vector<Part> shown = parts();  // the cursor's is the last
  return !shown.empty() && shown.back() == Part::cursor ? static_cast<int>(shown.size()) - 1 : -1;
}

/// Which piece of the curve holds the record: all are as long.
std::size_t MemoryChart::pieceOf(RecordNumber record) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  const double share =
      static_cast<double>(record - curve.first) / static_cast<double>(curve.last - curve.first + 1);
  const auto count = curve.records.size();
  return std::min(static_cast<std::size_t>(share * static_cast<double>(count)), count - 1);
}

QString MemoryChart::pieceText(std::size_t piece) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  return QStringLiteral("variables %1, tapes %2, the program %3, the recorder %4")
      .arg(memoryText(curve.variables[piece]), memoryText(curve.tapes[piece]),
           memoryText(curve.program[piece]), memoryText(curve.recorder[piece]));
}

AccessiblePart MemoryChart::curvePart(Part part) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  const auto [holder, values] = [&]() -> std::pair<MemoryHolder, const std::vector<double>*> {
    switch (part) {
      case Part::variables:
        return {MemoryHolder::variable, &curve.variables};
      case Part::tapes:
        return {MemoryHolder::tape, &curve.tapes};
      case Part::program:
        return {MemoryHolder::program, &curve.program};
      default:
        return {MemoryHolder::recorder, &curve.recorder};
    }
  }();
  const auto [low, high] = std::ranges::minmax(*values);
  return {holderText(holder),
          QStringLiteral("ops %1 to %2, between %3 and %4, at the end %5")
              .arg(countText(curve.first), countText(curve.last), memoryText(low), memoryText(high),
                   memoryText(values->back())),
          plot(), QAccessible::ListItem};
}

AccessiblePart MemoryChart::accessiblePart(int index) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  const Part part = parts()[static_cast<std::size_t>(index)];
  const QRectF area = plot();
  if (part == Part::peak)
    return {QStringLiteral("peak of the program"),
            QStringLiteral("%1, at op %2")
                .arg(memoryText(static_cast<double>(curve.peak_bytes)), countText(curve.peak_record)),
            QRectF(xOf(curve.peak_record) - 5, area.top() - 7, 10, 7), QAccessible::ListItem};
  if (part != Part::cursor) return curvePart(part);
  const RecordNumber cursor = model_->session()->cursor();
  const std::size_t piece = pieceOf(cursor);
  return {QStringLiteral("around op %1: at op %2")
              .arg(countText(cursor), countText(static_cast<quint64>(curve.records[piece]))),
          pieceText(piece), QRectF(xOf(cursor) - 2, area.top(), 4, area.height()), QAccessible::ListItem};
}

QRectF MemoryChart::plot() const {
  const int line = fontMetrics().height();
  const int scale = std::max(fontMetrics().horizontalAdvance(QStringLiteral("99.9 MB")),
                             fontMetrics().horizontalAdvance(memoryText(888))) +
                    10;
  return QRectF(rect()).adjusted(scale, 2 * line + 8, recorderShown_ ? -scale : -10, -line - 4);
}

void MemoryChart::setRecorderShown(bool shown) {
  if (recorderShown_ == shown) return;
  recorderShown_ = shown;
  model_->setPoints(static_cast<int>(plot().width() / 2));
  describe();
  update();
}

double MemoryChart::most() const {
  const protocol::MemoryCurve* curve = model_->curve();
  double most = 1;
  for (std::size_t i = 0; curve && i < curve->records.size(); ++i) most = std::max(most, sumAt(*curve, i));
  return most * 1.05;
}

double MemoryChart::mostOfRecorder() const {
  const protocol::MemoryCurve* curve = model_->curve();
  double most = 1;
  for (std::size_t i = 0; curve && i < curve->records.size(); ++i) most = std::max(most, curve->recorder[i]);
  return most * 1.05;
}

double MemoryChart::xOf(RecordNumber record) const {
  const QRectF area = plot();
  const protocol::MemoryCurve* curve = model_->curve();
  if (!curve || curve->last <= curve->first) return area.left();
  const double share = (static_cast<double>(record) - static_cast<double>(curve->first)) /
                       static_cast<double>(curve->last - curve->first);
  return area.left() + share * area.width();
}

RecordNumber MemoryChart::recordAt(double x) const {
  const QRectF area = plot();
  const protocol::MemoryCurve* curve = model_->curve();
  if (!curve || curve->first == 0) return 0;
  const double share = std::clamp((x - area.left()) / std::max(1.0, area.width()), 0.0, 1.0);
  return curve->first +
         static_cast<RecordNumber>(std::llround(share * static_cast<double>(curve->last - curve->first)));
}

void MemoryChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::fromPalette(palette());
  painter.fillRect(rect(), theme.background);
  const QRectF area = plot();
  if (!model_->curve() || model_->curve()->records.empty()) {
    painter.setPen(theme.faintText);
    painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap,
                     model_->waitingText());
    return;
  }
  painter.setRenderHint(QPainter::Antialiasing);
  paintAxis(painter, area);
  paintAreas(painter, area);
  if (recorderShown_) paintRecorder(painter, area);
  paintMarks(painter, area);
  paintLegend(painter, area);
  if (hasFocus()) {
    painter.setPen(QPen(theme.accent, 1, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(1, 1, -2, -2));
  }
}

void MemoryChart::paintAreas(QPainter& painter, const QRectF& area) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  const Theme theme = Theme::fromPalette(palette());
  const double scale = area.height() / most();
  const std::size_t count = curve.records.size();
  std::vector<double> below(count, 0.0);
  // Between records nothing changes: each piece is a step up to the next.
  const auto left = [&](std::size_t i) {
    return i == 0 ? area.left()
                  : area.left() + area.width() * static_cast<double>(i) / static_cast<double>(count);
  };
  for (const Layer& layer : layersOf(curve, theme)) {
    QPolygonF outline, floor;
    for (std::size_t i = 0; i < count; ++i) {
      const double top = below[i] + (*layer.values)[i];
      for (const double x : {left(i), left(i + 1)}) {
        outline << QPointF(x, area.bottom() - top * scale);
        floor << QPointF(x, area.bottom() - below[i] * scale);
      }
      below[i] = top;
    }
    QPolygonF shape = outline;
    for (auto point = floor.rbegin(); point != floor.rend(); ++point) shape << *point;
    painter.setPen(Qt::NoPen);
    painter.setBrush(mix(theme.background, layer.tint.fill, 0.55));
    painter.drawPolygon(shape);
    if (layer.pattern != Qt::SolidPattern) {
      painter.setBrush(QBrush(mix(theme.background, layer.tint.stroke, 0.75), layer.pattern));
      painter.drawPolygon(shape);
    }
    painter.setPen(QPen(layer.tint.stroke, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(outline);
  }
}

void MemoryChart::paintRecorder(QPainter& painter, const QRectF& area) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  const double scale = area.height() / mostOfRecorder();
  const std::size_t count = curve.records.size();
  QPolygonF line;
  for (std::size_t i = 0; i < count; ++i)
    for (const std::size_t end : {i, i + 1})
      line << QPointF(area.left() + area.width() * static_cast<double>(end) / static_cast<double>(count),
                      area.bottom() - curve.recorder[i] * scale);
  painter.setPen(recorderPen(Theme::fromPalette(palette())));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
}

void MemoryChart::paintAxis(QPainter& painter, const QRectF& area) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  const Theme theme = Theme::fromPalette(palette());
  const int parts = std::max(3, static_cast<int>(area.height() / 40));
  const double top = most();
  const double step = niceStep(top, parts);
  for (double value = 0; value <= top; value += step) {
    const double y = area.bottom() - value / top * area.height();
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme.faintText);
    painter.drawText(QRectF(0, y - 10, area.left() - 5, 20), Qt::AlignRight | Qt::AlignVCenter,
                     memoryText(value));
  }
  const double topOfRecorder = mostOfRecorder();
  const double stepOfRecorder = niceStep(topOfRecorder, parts);
  for (double value = 0; recorderShown_ && value <= topOfRecorder; value += stepOfRecorder) {
    const double y = area.bottom() - value / topOfRecorder * area.height();
    painter.setPen(theme.text);
    painter.drawText(QRectF(area.right() + 5, y - 10, width() - area.right() - 5, 20),
                     Qt::AlignLeft | Qt::AlignVCenter, memoryText(value));
  }
  const QRectF line(area.left(), area.bottom() + 2, area.width(), fontMetrics().height());
  painter.setPen(theme.faintText);
  painter.drawText(line, Qt::AlignLeft, QStringLiteral("op %1").arg(countText(curve.first)));
  painter.drawText(line, Qt::AlignRight, QStringLiteral("op %1").arg(countText(curve.last)));
}

void MemoryChart::paintMarks(QPainter& painter, const QRectF& area) const {
  const protocol::MemoryCurve& curve = *model_->curve();
  const Theme theme = Theme::fromPalette(palette());
  const auto inside = [&](RecordNumber record) { return record >= curve.first && record <= curve.last; };
  if (curve.peak_record && inside(curve.peak_record)) {
    const double x = xOf(curve.peak_record);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text);
    painter.drawPolygon(QPolygonF{{x - 5, area.top() - 7}, {x + 5, area.top() - 7}, {x, area.top()}});
    const QString text =
        QStringLiteral("peak of the program %1").arg(memoryText(static_cast<double>(curve.peak_bytes)));
    const double width = fontMetrics().horizontalAdvance(text);
    const bool toTheLeft = x + 10 + width > area.right();
    painter.setPen(theme.text);
    painter.drawText(QPointF(toTheLeft ? x - 10 - width : x + 10, area.top() - 1), text);
  }
  const RecordNumber cursor = model_->session()->cursor();
  if (cursor && inside(cursor)) {
    painter.setPen(QPen(theme.accent, 2));
    painter.drawLine(QPointF(xOf(cursor), area.top()), QPointF(xOf(cursor), area.bottom()));
  }
  for (const RecordNumber end : {model_->spanFirst(), model_->spanLast()})
    if (end && inside(end)) {
      painter.setPen(QPen(theme.text, 1, Qt::DashLine));
      painter.drawLine(QPointF(xOf(end), area.top()), QPointF(xOf(end), area.bottom()));
    }
}

void MemoryChart::paintLegend(QPainter& painter, const QRectF& area) const {
  const Theme theme = Theme::fromPalette(palette());
  double x = 6;
  const double y = 2;
  for (const Layer& layer : layersOf(*model_->curve(), theme)) {
    const QString text = holderText(layer.holder);
    const double width = 18 + fontMetrics().horizontalAdvance(text) + 10;
    if (x + width > area.right()) return;
    const QRectF box(x, y + 3, 12, fontMetrics().height() - 6);
    painter.setPen(layer.tint.stroke);
    painter.setBrush(mix(theme.background, layer.tint.fill, 0.55));
    painter.drawRect(box);
    if (layer.pattern != Qt::SolidPattern) {
      painter.setBrush(QBrush(mix(theme.background, layer.tint.stroke, 0.75), layer.pattern));
      painter.drawRect(box);
    }
    painter.setPen(theme.faintText);
    painter.drawText(QRectF(x + 17, y, width, fontMetrics().height()), Qt::AlignLeft | Qt::AlignVCenter,
                     text);
    x += width;
  }
  if (!recorderShown_) return;
  const QString text = holderText(MemoryHolder::recorder) + QStringLiteral(" (scale on the right)");
  if (x + 28 + fontMetrics().horizontalAdvance(text) > width()) return;
  const double middle = y + fontMetrics().height() / 2.0;
  painter.setPen(recorderPen(theme));
  painter.drawLine(QPointF(x, middle), QPointF(x + 18, middle));
  painter.setPen(theme.faintText);
  painter.drawText(QRectF(x + 23, y, width() - x - 23, fontMetrics().height()),
                   Qt::AlignLeft | Qt::AlignVCenter, text);
}

void MemoryChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  if (const RecordNumber record = recordAt(event->position().x())) model_->session()->setCursor(record);
}

void MemoryChart::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & Qt::LeftButton)) return;
  if (const RecordNumber record = recordAt(event->position().x())) model_->session()->setCursor(record);
}

void MemoryChart::wheelEvent(QWheelEvent* event) {
  if (event->angleDelta().y() == 0) return;
  zoom(std::pow(0.8, event->angleDelta().y() / 120.0), recordAt(event->position().x()));
  event->accept();
}

void MemoryChart::zoom(double factor, RecordNumber around) {
  const protocol::MemoryCurve* curve = model_->curve();
  if (!curve || curve->first == 0) return;
  const auto center = static_cast<double>(std::clamp<RecordNumber>(around, curve->first, curve->last));
  const double first = std::max(1.0, center - (center - static_cast<double>(curve->first)) * factor);
  const double last = std::min(static_cast<double>(curve->total),
                               center + (static_cast<double>(curve->last) - center) * factor);
  if (factor < 1 && last - first < 4) return;
  const bool whole = first <= 1.5 && last >= static_cast<double>(curve->total) - 0.5;
  if (whole) return showAll();
  model_->setRange(static_cast<RecordNumber>(first), static_cast<RecordNumber>(std::ceil(last)));
}

void MemoryChart::showAll() {
  model_->setRange(0, 0);
}

void MemoryChart::keyPressEvent(QKeyEvent* event) {
  const protocol::MemoryCurve* curve = model_->curve();
  const RecordNumber cursor = model_->session()->cursor();
  const RecordNumber piece =
      curve && !curve->records.empty()
          ? std::max<RecordNumber>(1, (curve->last - curve->first + 1) / curve->records.size())
          : 1;
  switch (event->key()) {
    case Qt::Key_Left:
      return model_->session()->setCursor(cursor > piece ? cursor - piece : 1);
    case Qt::Key_Right:
      return model_->session()->setCursor(cursor + piece);
    case Qt::Key_Plus:
      return zoom(0.5, cursor);
    case Qt::Key_Minus:
      return zoom(2, cursor);
    case Qt::Key_0:
      return showAll();
    default:
      QWidget::keyPressEvent(event);
  }
}

void MemoryChart::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  model_->setPoints(static_cast<int>(plot().width() / 2));
}

bool MemoryChart::event(QEvent* event) {
  const protocol::MemoryCurve* curve = model_->curve();
  if (event->type() != QEvent::ToolTip || !curve || curve->records.empty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const double share = (help->pos().x() - plot().left()) / std::max(1.0, plot().width());
  const auto count = static_cast<double>(curve->records.size());
  const auto i = static_cast<std::size_t>(std::clamp(share * count, 0.0, count - 1));
  QToolTip::showText(
      help->globalPos(),
      plainTip(
          QStringLiteral("op %1: %2").arg(countText(static_cast<quint64>(curve->records[i])), pieceText(i))),
      this);
  return true;
}

}  // namespace tapedeck::inspector
