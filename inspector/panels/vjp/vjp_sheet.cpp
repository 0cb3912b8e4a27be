#include "inspector/panels/vjp/vjp_sheet.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/heat_picture.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

VjpSheet::VjpSheet(VjpModel* model, const CellNames* cells, QWidget* parent)
    : QWidget(parent), model_(model), cells_(cells) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(QStringLiteral("Values of the VJP"));
  connect(model, &VjpModel::partsChanged, this, &VjpSheet::layOut);
  connect(model, &VjpModel::valueChanged, this, &VjpSheet::layOut);
  connect(model, &VjpModel::termsChanged, this, &VjpSheet::layOut);
  layOut();
}

VjpSheet::~VjpSheet() {
  FormulaSetter::cancel(job_);
}

void VjpSheet::layOut() {
  const QString chosen = chosen_ < 0 ? QString() : layout_.formulas[static_cast<std::size_t>(chosen_)].tex;
  layout_ = layOutVjp(*model_, cells_, font(), width(), set_);
  // The same formula stays chosen, wherever it is now.
  const auto& formulas = layout_.formulas;
  const auto same = std::find_if(formulas.begin(), formulas.end(),
                                 [&](const SheetFormula& one) { return one.tex == chosen; });
  chosen_ = chosen.isEmpty() || same == formulas.end() ? -1 : static_cast<int>(same - formulas.begin());
  setUnset();
  if (current_ >= static_cast<int>(layout_.rows.size())) current_ = -1;
  setMinimumHeight(static_cast<int>(layout_.height) + 1);
  updateGeometry();
  update();
  emit laidOut();
}

void VjpSheet::setUnset() {
  FormulaSetter::cancel(std::exchange(job_, 0));
  if (layout_.unset.empty()) return;
  const auto number = std::make_shared<quint64>(0);
  job_ = *number = FormulaSetter::set(layout_.unset, this, [this, number](SetFormulas set) {
    if (job_ != *number) return;
    // Those that a long panel shows; the setter remembers the others for a while.
    constexpr qsizetype most_kept = 1000;
    if (set_.size() > most_kept) set_.clear();
    set_.insert(set);
    layOut();
  });
}

QSize VjpSheet::sizeHint() const {
  return {320, static_cast<int>(layout_.height) + 1};
}

void VjpSheet::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) layOut();
}

void VjpSheet::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) layOut();
}

void VjpSheet::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const Theme theme = Theme::fromPalette(palette());
  for (std::size_t i = 0; i < layout_.rows.size(); ++i) {
    const SheetRow& row = layout_.rows[i];
    if (static_cast<int>(i) == current_) {
      painter.setPen(hasFocus() ? QPen(theme.accent, 1.2) : QPen(Qt::NoPen));
      painter.setBrush(theme.selection);
      painter.drawRoundedRect(row.rect.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    }
    if (row.grid) paintGrid(painter, row);
  }
  if (chosen_ >= 0) {
    const QRectF rect = layout_.formulas[static_cast<std::size_t>(chosen_)].rect;
    painter.setPen(hasFocus() ? QPen(theme.accent, 1.2) : QPen(Qt::NoPen));
    painter.setBrush(theme.selection);
    painter.drawRoundedRect(rect.adjusted(-2.5, 0.5, 2.5, -0.5), 3, 3);
  }
  for (const SheetText& one : layout_.texts) {
    QFont letters = font();
    letters.setBold(one.tone == SheetTone::heading);
    if (one.tone == SheetTone::code)
      letters.setFamily(QFontDatabase::systemFont(QFontDatabase::FixedFont).family());
    painter.setFont(letters);
    painter.setPen(one.tone == SheetTone::faint   ? theme.faintText
                   : one.tone == SheetTone::error ? theme.error.stroke
                   : one.tone == SheetTone::link  ? theme.accent
                                                  : theme.text);
    const bool single = one.rect.height() < 2 * fontMetrics().height();
    painter.drawText(
        one.rect, single ? Qt::AlignLeft | Qt::AlignVCenter : Qt::TextWordWrap | Qt::AlignLeft,
        single ? QFontMetricsF(letters).elidedText(one.text, Qt::ElideRight, one.rect.width()) : one.text);
  }
  for (const SheetFormula& one : layout_.formulas) paintFormula(painter, one, theme.text);
  for (const SheetBar& bar : layout_.bars) {
    painter.setPen(theme.border);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(bar.rect);
    const double height = bar.rect.height() * bar.share;
    painter.fillRect(bar.rect.adjusted(0, bar.rect.height() - height, 0, 0),
                     bar.negative ? theme.forward.stroke : theme.backward.stroke);
  }
}

void VjpSheet::paintGrid(QPainter& painter, const SheetRow& row) const {
  const SheetGrid& grid = *row.grid;
  const VjpValue* value = model_->value(grid.tensor);
  if (!value || !value->tile) return;
  const Theme theme = Theme::fromPalette(palette());
  if (grid.numbers) {
    paintNumbers(painter, grid, *value->tile);
  } else {
    const ColorMap map(value->minimum.value_or(0), value->maximum.value_or(1), ColorScale::automatic,
                       theme.dark);
    painter.drawImage(grid.rect, heatPicture(*value->tile, map).image);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(theme.border);
  painter.drawRect(grid.rect);
  const auto element = model_->element();
  if (row.contribution < 0 || !element || element->contribution != row.contribution) return;
  QRectF cell = grid.cell(element->element);
  if (cell.width() < 6) cell.adjust(cell.width() / 2 - 3, 0, 3 - cell.width() / 2, 0);
  if (cell.height() < 6) cell.adjust(0, cell.height() / 2 - 3, 0, 3 - cell.height() / 2);
  painter.setPen(QPen(theme.accent, 2));
  painter.drawRect(cell);
}

void VjpSheet::paintNumbers(QPainter& painter, const SheetGrid& grid, const protocol::Tile& tile) const {
  const Theme theme = Theme::fromPalette(palette());
  painter.setFont(font());
  for (std::size_t i = 0; i < tile.values.size(); ++i) {
    const QRectF cell = grid.cell(static_cast<qint64>(i));
    const double number = tile.values[i];
    painter.setPen(std::isfinite(number) ? theme.text : theme.error.stroke);
    painter.drawText(cell.adjusted(0, 0, -3, 0), Qt::AlignRight | Qt::AlignVCenter,
                     grid.format.text(number).replace(QLatin1Char('-'), QChar(0x2212)));
  }
  painter.setPen(theme.grid);
  for (std::int64_t column = 1; column < grid.columns; ++column) {
    const double x = grid.cell(column).left();
    painter.drawLine(QPointF(x, grid.rect.top()), QPointF(x, grid.rect.bottom()));
  }
  for (std::int64_t row = 1; row < grid.rows; ++row) {
    const double y = grid.cell(row * grid.columns).top();
    painter.drawLine(QPointF(grid.rect.left(), y), QPointF(grid.rect.right(), y));
  }
}

int VjpSheet::rowAt(QPointF point) const {
  for (std::size_t i = 0; i < layout_.rows.size(); ++i)
    if (layout_.rows[i].rect.contains(point)) return static_cast<int>(i);
  return -1;
}

int VjpSheet::formulaAt(QPointF point) const {
  for (std::size_t i = 0; i < layout_.formulas.size(); ++i)
    if (layout_.formulas[i].rect.contains(point)) return static_cast<int>(i);
  return -1;
}

void VjpSheet::chooseFormula(int index) {
  if (layout_.formulas.empty()) return;
  current_ = -1;
  chosen_ = std::clamp(index, 0, static_cast<int>(layout_.formulas.size()) - 1);
  const SheetFormula& chosen = layout_.formulas[static_cast<std::size_t>(chosen_)];
  setAccessibleDescription(chosen.text);
  emit rowShown(chosen.rect);
  update();
}

void VjpSheet::copyFormula() const {
  QStringList copied;
  for (std::size_t i = 0; i < layout_.formulas.size(); ++i) {
    const SheetFormula& one = layout_.formulas[i];
    // The VJP's own one comes first, in as many parts as it has statements.
    if (chosen_ < 0 ? one.text == layout_.formulas[0].text : static_cast<int>(i) == chosen_)
      copied << one.tex;
  }
  if (!copied.isEmpty()) QGuiApplication::clipboard()->setText(copied.join('\n'));
}

void VjpSheet::contextMenuEvent(QContextMenuEvent* event) {
  const bool mouse = event->reason() == QContextMenuEvent::Mouse;
  if (const int formula = mouse ? formulaAt(event->pos()) : chosen_; formula >= 0) chooseFormula(formula);
  if (layout_.formulas.empty()) return event->ignore();
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(QStringLiteral("Copy formula as TeX"), this, &VjpSheet::copyFormula)
      ->setShortcut(QKeySequence::Copy);
  menu->popup(event->globalPos());
}

void VjpSheet::setCurrentRow(int row) {
  if (layout_.rows.empty()) return;
  chosen_ = -1;
  current_ = std::clamp(row, 0, static_cast<int>(layout_.rows.size()) - 1);
  const SheetRow& chosen = layout_.rows[static_cast<std::size_t>(current_)];
  setAccessibleDescription(chosen.spoken);
  emit rowShown(chosen.rect);
  update();
}

void VjpSheet::openCurrent() {
  if (current_ < 0) return;
  const SheetRow& row = layout_.rows[static_cast<std::size_t>(current_)];
  if (row.reveals)
    model_->showResults();
  else if (row.record)
    model_->session()->setCursor(row.record);
  else
    model_->session()->pickTensor(row.info);
}

void VjpSheet::mousePressEvent(QMouseEvent* event) {
  const int row = rowAt(event->position());
  if (const int formula = formulaAt(event->position()); event->button() == Qt::LeftButton && row < 0) {
    setFocus(Qt::MouseFocusReason);
    if (formula >= 0) return chooseFormula(formula);
    chosen_ = -1;
    update();
  }
  if (event->button() != Qt::LeftButton || row < 0) return QWidget::mousePressEvent(event);
  setFocus(Qt::MouseFocusReason);
  setCurrentRow(row);
  const SheetRow& hit = layout_.rows[static_cast<std::size_t>(row)];
  const qint64 element = hit.grid ? hit.grid->elementAt(event->position()) : -1;
  if (hit.contribution >= 0 && element >= 0)
    model_->explain(hit.contribution, element);
  else
    openCurrent();
}

void VjpSheet::mouseMoveEvent(QMouseEvent* event) {
  setCursor(rowAt(event->position()) >= 0       ? Qt::PointingHandCursor
            : formulaAt(event->position()) >= 0 ? Qt::IBeamCursor
                                                : Qt::ArrowCursor);
  QWidget::mouseMoveEvent(event);
}

void VjpSheet::moveElement(int key) {
  const SheetRow& row = layout_.rows[static_cast<std::size_t>(current_)];
  if (row.contribution < 0 || !row.grid) return;
  const qint64 count = row.grid->rows * row.grid->columns;
  const auto known = model_->element();
  if (count <= 0) return;
  qint64 element = known && known->contribution == row.contribution ? known->element : -1;
  if (element < 0)
    element = 0;
  else
    element += key == Qt::Key_Left ? -1 : 1;
  model_->explain(row.contribution, std::clamp<qint64>(element, 0, count - 1));
}

void VjpSheet::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
  if (step != 0 && event->modifiers() == Qt::ShiftModifier)
    return chooseFormula(chosen_ < 0 && step < 0 ? static_cast<int>(layout_.formulas.size()) - 1
                                                 : chosen_ + step);
  switch (event->key()) {
    case Qt::Key_Down:
      return setCurrentRow(current_ + 1);
    case Qt::Key_Up:
      return setCurrentRow(current_ < 0 ? 0 : current_ - 1);
    case Qt::Key_Left:
    case Qt::Key_Right:
      if (current_ >= 0) moveElement(event->key());
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return openCurrent();
    case Qt::Key_Escape:
      if (model_->element()) return model_->explainNothing();
      break;
    default:
      break;
  }
  QWidget::keyPressEvent(event);
}

void VjpSheet::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  if (current_ < 0 && chosen_ < 0 && event->reason() != Qt::MouseFocusReason) setCurrentRow(0);
  update();
}

bool VjpSheet::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int at = rowAt(help->pos());
  if (at < 0) {
    if (const int formula = formulaAt(help->pos()); formula < 0)
      QToolTip::hideText();
    else
      QToolTip::showText(help->globalPos(), plainTip(layout_.formulas[static_cast<std::size_t>(formula)].tex),
                         this);
    return true;
  }
  const SheetRow& row = layout_.rows[static_cast<std::size_t>(at)];
  QString words = row.spoken;
  const qint64 element = row.grid ? row.grid->elementAt(help->pos()) : -1;
  if (row.contribution >= 0 && element >= 0)
    words += QStringLiteral("\nElement [%1]: click for the numbers behind it")
                 .arg(indexText(row.info.shape, element));
  else
    words += row.reveals  ? QStringLiteral("\nUntil then you can work it out yourself")
             : row.record ? QStringLiteral("\nClick to go there")
                          : QStringLiteral("\nClick to see it in Tensor");
  QToolTip::showText(help->globalPos(), plainTip(words), this);
  return true;
}

}  // namespace tapedeck::inspector
