#include "plots/histogram_ridges.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/tensor/notation.h"

namespace tapedeck::plots {

using inspector::Theme;

HistogramRidges::HistogramRidges(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(120, 40);
  inspector::exposeParts();
  setAccessibleName(QStringLiteral("Histograms over steps"));
}

void HistogramRidges::setHistograms(const inspector::Pictures<inspector::StepHistogram>& histograms,
                                    const QString& name) {
  if (name != name_) placed_.reset();
  name_ = name;
  drawing_.setHistograms(histograms);
  changed();
}

void HistogramRidges::setForm(HistogramForm form) {
  drawing_.setForm(form);
  changed();
}

void HistogramRidges::setCursorRecord(inspector::RecordNumber record) {
  cursor_ = record;
  update();
}

/// Steps stand elsewhere now: the mouse is where it was, and what the keys chose is chosen still.
void HistogramRidges::changed() {
  picture_ = {};
  HistogramPlace place;
  const auto& shown = drawing_.shown();
  if (mouse_) {
    place = drawing_.placeAt(*mouse_);
  } else if (placed_) {
    const auto found = std::ranges::find(
        shown, placed_, [](const HistogramDrawing::Shape& shape) { return shape.histogram; });
    if (found != shown.end())
      place = {static_cast<int>(found - shown.begin()),
               std::min(place_.bin, static_cast<int>(found->bins.size()) - 1)};
  }
  choose(place);
  inspector::tellPartsChanged(this);
  update();
}

inspector::AccessiblePart HistogramRidges::accessiblePart(int index) const {
  const HistogramDrawing::Shape& shape = drawing_.shown()[static_cast<std::size_t>(index)];
  inspector::AccessiblePart part;
  part.name = QStringLiteral("%1, step %2").arg(name_, inspector::stepText(shape.histogram->step));
  part.rect = drawing_.rectOf(index);
  if (shape.bins.empty()) {
    part.value = QStringLiteral("no value is finite");
    return part;
  }
  const auto most = std::ranges::max_element(shape.bins, {}, &HistogramDrawing::Bin::height);
  const HistogramPlace place{index, static_cast<int>(most - shape.bins.begin())};
  const auto number = [](double value) { return QString::number(value, 'g', 4); };
  // The read-out of the fullest bin, without the step.
  part.value =
      QStringLiteral("%1 values from %2 to %3, most in %4")
          .arg(inspector::countText(static_cast<quint64>(shape.values)), number(shape.bins.front().from),
               number(shape.bins.back().to), drawing_.readOut(place).section(QStringLiteral(" · "), 1));
  return part;
}

int HistogramRidges::currentAccessiblePart() const {
  return place_.step < 0 ? cursorPlace().step : place_.step;
}

bool HistogramRidges::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  // Over the ridges it would hide what it is about.
  auto* help = static_cast<QHelpEvent*>(event);
  if (help->pos().y() < drawing_.area().top())
    QToolTip::showText(
        help->globalPos(),
        inspector::plainTip(
            QStringLiteral("%1.\nPlots keeps 64 MiB of histograms and images. When that is full, those that "
                           "take the most memory are thinned out evenly; the first and the newest stay.")
                .arg(drawing_.summary())),
        this);
  else
    QToolTip::hideText();
  return true;
}

void HistogramRidges::choose(HistogramPlace place) {
  place_ = place;
  placed_ = place.step < 0 ? nullptr : drawing_.shown()[static_cast<std::size_t>(place.step)].histogram;
  setAccessibleDescription(place.step < 0 ? drawing_.summary() : readOut());
  update();
}

HistogramPlace HistogramRidges::cursorPlace() const {
  HistogramPlace place;
  for (std::size_t i = 0; i < drawing_.shown().size() && cursor_; ++i) {
    const auto record = drawing_.shown()[i].histogram->record;
    if (record && record <= cursor_) place.step = static_cast<int>(i);
  }
  return place;
}

void HistogramRidges::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::fromPalette(palette());
  if (picture_.isNull()) {
    picture_ = QPixmap(size() * devicePixelRatioF());
    picture_.setDevicePixelRatio(devicePixelRatioF());
    QPainter once(&picture_);
    drawing_.draw(once, theme);
  }
  painter.drawPixmap(0, 0, picture_);
  painter.setRenderHint(QPainter::Antialiasing);
  const QString text = readOut();
  drawing_.drawHeader(painter, theme, {}, text.isEmpty() ? drawing_.summary() : text, text.isEmpty());
  drawing_.drawMark(painter, theme, place_.step < 0 ? cursorPlace() : place_);
  if (!hasFocus()) return;
  painter.setPen(QPen(theme.accent, 1));
  painter.setBrush(Qt::NoBrush);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void HistogramRidges::mouseMoveEvent(QMouseEvent* event) {
  mouse_ = event->position();
  choose(drawing_.placeAt(*mouse_));
}

void HistogramRidges::mousePressEvent(QMouseEvent* event) {
  mouse_ = event->position();
  choose(drawing_.placeAt(*mouse_));
  if (placed_ && placed_->record) emit stepChosen(placed_->record);
}

void HistogramRidges::leaveEvent(QEvent*) {
  if (!mouse_) return;  // what the keys chose stays
  mouse_.reset();
  choose({});
}

void HistogramRidges::resizeEvent(QResizeEvent*) {
  drawing_.layOut(size(), font());
  changed();
}

void HistogramRidges::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) {
    drawing_.layOut(size(), font());
    changed();
  }
  if (event->type() == QEvent::PaletteChange) picture_ = {};
  QWidget::changeEvent(event);
}

void HistogramRidges::keyPressEvent(QKeyEvent* event) {
  const int steps = event->key() == Qt::Key_Up ? -1 : event->key() == Qt::Key_Down ? 1 : 0;
  const int bins = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
  const auto& shown = drawing_.shown();
  if (shown.empty() || (!steps && !bins)) return QWidget::keyPressEvent(event);
  mouse_.reset();
  const int last = static_cast<int>(shown.size()) - 1;
  const HistogramPlace from = place_.step < 0 ? cursorPlace() : place_;
  HistogramPlace next;
  next.step = from.step < 0 ? last : std::clamp(from.step + steps, 0, last);
  const int lastBin = static_cast<int>(shown[static_cast<std::size_t>(next.step)].bins.size()) - 1;
  next.bin = std::min(from.bin < 0 ? lastBin / 2 : std::max(0, from.bin + bins), lastBin);
  choose(next);
  inspector::tellCurrentPart(this);
  if (steps && placed_->record) emit stepChosen(placed_->record);
}

}  // namespace tapedeck::plots
