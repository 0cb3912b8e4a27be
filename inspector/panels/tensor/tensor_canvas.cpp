#include "inspector/panels/tensor/tensor_canvas.h"

#include <QClipboard>
#include <QGuiApplication>
#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr double readout_height = 22;
constexpr std::int64_t most_copied = 262'144;

QString tabSeparated(const protocol::Tile& tile) {
  QString text;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    for (std::int64_t column = 0; column < tile.columns; ++column) {
      const auto index = static_cast<std::size_t>(row * tile.columns + column);
      if (column) text += QLatin1Char('\t');
      text += tile.exact.empty() ? exactText(tile.values[index], tile.dtype)
                                 : QString::fromStdString(tile.exact[index]);
    }
    text += QLatin1Char('\n');
  }
  return text;
}

}  // namespace

TensorCanvas::TensorCanvas(TensorModel* model, QWidget* parent)
    : CanvasWidget(parent),
      model_(model),
      numbers_(model,
               [this] {
                 requestFrame();
                 tellSelection();
               }),
      heat_(model, [this] { requestFrame(); }),
      histogram_(model, [this] { requestFrame(); }) {
  exposeParts();
  setAccessibleName(QStringLiteral("Tensor values"));
  connect(model, &TensorModel::layoutChanged, this, &TensorCanvas::layoutChanged);
  connect(model, &TensorModel::tileChanged, this, &TensorCanvas::valuesChanged);
  connect(model, &TensorModel::statisticsChanged, this, &TensorCanvas::valuesChanged);
}

TensorPane& TensorCanvas::pane() {
  switch (mode_) {
    case TensorMode::numbers:
      return numbers_;
    case TensorMode::heatMap:
      return heat_;
    case TensorMode::histogram:
      break;
  }
  return histogram_;
}

QSizeF TensorCanvas::paneArea() const {
  return canvasSize() - QSizeF(0, readout_height);
}

void TensorCanvas::setMode(TensorMode mode) {
  if (mode == mode_) return;
  mode_ = mode;
  model_->setPicturing(mode == TensorMode::heatMap);
  pane().askForValues(paneArea());
  requestFrame();
  emit modeChanged();
}

void TensorCanvas::layoutChanged() {
  // A step to the next tensor of the same shape keeps the place.
  const bool other_shape = model_->shape() != known_shape_;
  if (other_shape || model_->images() != known_images_) {
    if (other_shape || mode_ == TensorMode::numbers) numbers_.layoutChanged();
    heat_.layoutChanged();
    tellSelection();
  }
  known_shape_ = model_->shape();
  known_images_ = model_->images();
  heat_.valuesChanged();
  numbers_.valuesChanged();
  if (model_->tensor()) pane().askForValues(paneArea());
  requestFrame();
}

void TensorCanvas::valuesChanged() {
  heat_.valuesChanged();
  numbers_.valuesChanged();
  describe();
  requestFrame();
}

void TensorCanvas::describe() {
  if (!sentence().isEmpty()) return setAccessibleDescription(sentence());
  QStringList parts;
  for (const QString& part : {readout(), sourceText(), footer_})
    if (!part.isEmpty()) parts << part;
  setAccessibleDescription(parts.join(QStringLiteral(" · ")));
}

bool TensorCanvas::showsScalar() const {
  return mode_ != TensorMode::histogram && model_->tensor() && model_->shape().empty() && model_->tile();
}

QString TensorCanvas::scalarText() const {
  const protocol::Tile* tile = model_->tile();
  if (!tile || tile->values.empty()) return {};
  return tile->exact.empty() ? exactText(tile->values.front(), tile->dtype)
                             : QString::fromStdString(tile->exact.front());
}

QString TensorCanvas::sentence() const {
  if (!model_->problem().isEmpty() && !(mode_ == TensorMode::histogram && model_->statistics()))
    return model_->problem();
  if (!model_->tensor()) {
    if (model_->session()->recordCount() == 0) return QStringLiteral("No op has run yet.");
    return QStringLiteral("Nothing to show here: this record has no tensor.");
  }
  if (elementCount(model_->shape()) == 0)
    return QStringLiteral("This tensor is empty: its shape %1 has no elements.")
        .arg(shapeText(model_->shape()));
  if (mode_ == TensorMode::histogram && !model_->statistics() && !model_->statisticsProblem().isEmpty())
    return model_->statisticsProblem();
  const bool here = mode_ == TensorMode::histogram ? model_->statistics() != nullptr
                    : model_->images()             ? model_->imageTile() != nullptr
                                                   : model_->tile() != nullptr;
  if (here) return {};
  return model_->progress().isEmpty() ? QStringLiteral("Fetching the values …") : model_->progress();
}

QString TensorCanvas::sourceText() const {
  const protocol::Tile* tile = model_->tile();
  return tile && tile->source != "held" ? QString::fromStdString(tile->source) : QString();
}

void TensorCanvas::setFooter(const QString& text, bool first) {
  if (text == footer_ && first == footer_first_) return;
  footer_ = text;
  footer_first_ = first;
  describe();
  requestFrame();
}

QString TensorCanvas::noteText() const {
  QStringList parts;
  for (const QString& part : {showsScalar() ? QString() : pane().note(), sourceText()})
    if (!part.isEmpty()) parts << part;
  return parts.join(QStringLiteral(" · "));
}

int TensorCanvas::accessiblePartCount() const {
  if (!sentence().isEmpty()) return 0;
  return showsScalar() ? 1 : pane().partCount();
}

AccessiblePart TensorCanvas::accessiblePart(int index) const {
  if (showsScalar())
    return {QStringLiteral("scalar"), scalarText(), QRectF(QPointF(), QSizeF(size())), QAccessible::Cell};
  AccessiblePart part = pane().part(index);
  part.rect = QRectF(part.rect.topLeft() * letters(), part.rect.size() * letters());
  return part;
}

int TensorCanvas::currentAccessiblePart() const {
  return sentence().isEmpty() && !showsScalar() ? pane().currentPart() : -1;
}

QString TensorCanvas::readout() const {
  if (!sentence().isEmpty() || showsScalar()) return {};
  return pane().readout();
}

void TensorCanvas::drawScalar(CanvasPainter& painter) {
  constexpr double number_height = 54, kind_height = 24;
  const QString text = scalarText();
  const QSizeF room = painter.size();
  const bool both = room.height() >= number_height + kind_height;
  double size = std::min(44.0, room.height() * 0.75);
  while (size > 14 && painter.textWidth(text, size, FontRole::bold) > room.width() - 32) size -= 2;
  QRectF number(0, (room.height() - number_height) / 2, room.width(), number_height);
  if (both) number.translate(0, -kind_height / 2);
  painter.textIn(number, text, size, painter.theme().text, Qt::AlignHCenter, FontRole::bold);
  if (both)
    painter.textIn(QRectF(0, number.bottom(), room.width(), kind_height),
                   QStringLiteral("scalar · %1").arg(QString::fromStdString(model_->tile()->dtype)), 12,
                   painter.theme().faintText);
}

void TensorCanvas::paintCanvas(CanvasPainter& painter) {
  const QString text = sentence();
  if (!text.isEmpty())
    return painter.paragraph(QRectF(QPointF(20, 0), painter.size() - QSizeF(40, 0)), text, 13,
                             painter.theme().faintText);
  if (showsScalar()) {
    drawScalar(painter);
    if (sourceText().isEmpty() && footer_.isEmpty()) return;
  } else {
    pane().paint(painter, paneArea());
  }
  const Theme& theme = painter.theme();
  const QRectF line(0, painter.size().height() - readout_height, painter.size().width(), readout_height);
  painter.fill(line, theme.panel);
  painter.line(line.topLeft(), line.topRight(), theme.border);
  const QRectF inner = line.adjusted(10, 0, -10, 0);
  const QString said = readout(),
                left = !footer_.isEmpty() && (footer_first_ || said.isEmpty()) ? footer_ : said;
  painter.textIn(inner, left, 12, theme.text, Qt::AlignLeft);
  const double taken = left.isEmpty() ? 0 : painter.textWidth(left, 12) + 12;
  painter.textIn(inner.adjusted(std::min(taken, inner.width()), 0, 0, 0),
                 model_->loading() ? QStringLiteral("loading …") : noteText(), 11, theme.faintText,
                 Qt::AlignRight);
}

void TensorCanvas::copy() {
  const std::optional<CellRange> range = numbers_.selection();
  if (mode_ != TensorMode::numbers || !model_->tensor()) return;
  if (showsScalar()) {
    QGuiApplication::clipboard()->setText(scalarText());
    emit copied(QStringLiteral("Copied %1.").arg(scalarText()));
    return;
  }
  if (!range) return;
  if (range->rows() > most_copied / range->columns()) {
    emit copied(QStringLiteral("%1×%2 values are too many to copy: at most %3.")
                    .arg(range->rows())
                    .arg(range->columns())
                    .arg(countText(most_copied)));
    return;
  }
  protocol::GetTile get;
  get.tensor = model_->tensor()->id;
  if (model_->shape() != model_->tensor()->shape) get.reshape = protocol::if_there(model_->shape());
  get.slice = protocol::if_there(model_->slice());
  get.row = range->top;
  get.column = range->left;
  get.rows = range->rows();
  get.columns = range->columns();
  const bool asked = model_->session()->request<protocol::Tile>(
      get, this, [this](const protocol::Tile& tile) { takeCopy(tile); },
      [this](const protocol::Failure& failure) { emit copied(QString::fromStdString(failure.reason)); },
      QStringLiteral("tensor/copy"));
  if (!asked) emit copied(QStringLiteral("The session has ended: these values can no longer be fetched."));
}

void TensorCanvas::selectNumber(std::int64_t row, std::int64_t column) {
  numbers_.selectCell(row, column);
}

void TensorCanvas::tellSelection() {
  const std::optional<CellRange> selection = numbers_.selection();
  if (selection == known_selection_) return;
  known_selection_ = selection;
  emit selectionChanged();
}

void TensorCanvas::takeCopy(const protocol::Tile& tile) {
  if (static_cast<std::int64_t>(tile.values.size()) != tile.rows * tile.columns) return;
  QGuiApplication::clipboard()->setText(tabSeparated(tile));
  emit copied(QStringLiteral("Copied %1×%2 values.").arg(tile.rows).arg(tile.columns));
}

void TensorCanvas::mousePressEvent(QMouseEvent* event) {
  if (!sentence().isEmpty() || !pane().mousePress(event)) CanvasWidget::mousePressEvent(event);
}

void TensorCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!sentence().isEmpty() || !pane().mouseMove(event)) CanvasWidget::mouseMoveEvent(event);
}

void TensorCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (!pane().mouseRelease(event)) CanvasWidget::mouseReleaseEvent(event);
}

void TensorCanvas::wheelEvent(QWheelEvent* event) {
  if (sentence().isEmpty() && pane().wheel(event)) return event->accept();
  CanvasWidget::wheelEvent(event);
}

void TensorCanvas::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copy();
  if (!sentence().isEmpty() || !pane().key(event)) return CanvasWidget::keyPressEvent(event);
  setAccessibleDescription(readout());
  tellCurrentPart(this);
}

void TensorCanvas::leaveEvent(QEvent* event) {
  pane().leave();
  CanvasWidget::leaveEvent(event);
}

}  // namespace tapedeck::inspector
