#include "inspector/panels/tensor/numbers_pane.h"

#include <algorithm>
#include <cmath>

namespace tapedeck::inspector {

namespace {

constexpr double number_size = 12, header_size = 11;
constexpr double bar_width = 10;
constexpr std::int64_t margin_cells =
    24;  ///< fetched around what is visible, so that scrolling does not flicker

}  // namespace

QRectF NumbersPane::cellsArea() const {
  QSizeF size(area_.width() - metrics_.header_width, area_.height() - metrics_.header_height);
  const double across = static_cast<double>(model_->totalColumns()) * metrics_.cell_width;
  const double down = static_cast<double>(model_->totalRows()) * metrics_.cell_height;
  bool vertical = down > size.height();
  const bool horizontal = across > size.width() - (vertical ? bar_width : 0);
  vertical |= horizontal && down > size.height() - bar_width;
  if (vertical) size.rwidth() -= bar_width;
  if (horizontal) size.rheight() -= bar_width;
  return {QPointF(metrics_.header_width, metrics_.header_height), size.expandedTo({0, 0})};
}

double NumbersPane::visibleRows() const {
  return std::max(1.0, cellsArea().height() / metrics_.cell_height);
}

double NumbersPane::visibleColumns() const {
  return std::max(1.0, cellsArea().width() / metrics_.cell_width);
}

void NumbersPane::layoutChanged() {
  top_ = left_ = 0;
  widest_ = 0;
  has_selection_ = keys_moved_ = false;
  hovered_row_ = hovered_column_ = -1;
  drag_ = Drag::none;
}

void NumbersPane::scrollTo(double row, double column) {
  const auto last = [](std::int64_t total, double visible) {
    return std::max(0.0, static_cast<double>(total) - visible);
  };
  top_ = std::clamp(row, 0.0, last(model_->totalRows(), visibleRows()));
  left_ = std::clamp(column, 0.0, last(model_->totalColumns(), visibleColumns()));
  askForValues(area_);
  changed_();
}

void NumbersPane::askForValues(QSizeF area) {
  area_ = area;
  TileWindow window;
  window.row = std::max<std::int64_t>(0, static_cast<std::int64_t>(top_) - margin_cells);
  window.column = std::max<std::int64_t>(0, static_cast<std::int64_t>(left_) - margin_cells / 2);
  window.rows = static_cast<std::int64_t>(top_ + visibleRows()) + 1 + margin_cells - window.row;
  window.columns = static_cast<std::int64_t>(left_ + visibleColumns()) + 1 + margin_cells / 2 - window.column;
  model_->setWindow(window);
}

const double* NumbersPane::value(std::int64_t row, std::int64_t column) const {
  const protocol::Tile* tile = model_->tile();
  if (!tile || tile->row_step != 1 || tile->column_step != 1) return nullptr;
  const std::int64_t r = row - tile->row, c = column - tile->column;
  if (r < 0 || c < 0 || r >= tile->rows || c >= tile->columns) return nullptr;
  return &tile->values[static_cast<std::size_t>(r * tile->columns + c)];
}

QString NumbersPane::textOf(std::int64_t row, std::int64_t column) const {
  const double* found = value(row, column);
  if (!found) return {};
  const protocol::Tile& tile = *model_->tile();
  const auto index = static_cast<std::size_t>(found - tile.values.data());
  if (!tile.exact.empty()) return QString::fromStdString(tile.exact[index]);
  return format_.text(*found);
}

/// While the user scrolls over one tensor its notation only ever gets wider: numbers that change their looks
/// read as if they had changed.
void NumbersPane::chooseFormat(const protocol::Tile& tile) {
  NumberFormat next = NumberFormat::choose(tile.values, tile.dtype);
  if (tile.tensor == format_tensor_ && next.style == format_.style) {
    if (format_.notation.exponent)
      next = format_;
    else if (!next.notation.exponent)
      next.notation.decimals = std::max(next.notation.decimals, format_.notation.decimals);
  }
  if (next != format_ || tile.tensor != format_tensor_) widest_ = 0;
  format_ = next;
  format_tensor_ = tile.tensor;
  widest_ = std::max(widest_, format_.widest(tile.values));
  for (const std::string& exact : tile.exact) widest_ = std::max(widest_, static_cast<int>(exact.size()));
  formatted_ = true;
}

void NumbersPane::measure(const CanvasPainter& painter) {
  metrics_.character = painter.textWidth(QStringLiteral("0"), number_size, FontRole::mono);
  const protocol::Tile* tile = model_->tile();
  if (tile && !formatted_ && tile->row_step == 1 && tile->column_step == 1) chooseFormat(*tile);
  const auto digits = QString::number(std::max<std::int64_t>(model_->totalColumns() - 1, 0)).size();
  metrics_.cell_width = metrics_.character * std::max<double>({static_cast<double>(widest_), 4.0,
                                                               static_cast<double>(digits)}) +
                        18;
  const auto row_digits = QString::number(std::max<std::int64_t>(model_->totalRows() - 1, 0)).size();
  metrics_.header_width = metrics_.character * static_cast<double>(row_digits) + 18;
}

void NumbersPane::paint(CanvasPainter& painter, QSizeF area) {
  const double width_before = metrics_.cell_width;
  measure(painter);
  if (area != area_ || metrics_.cell_width != width_before) {
    askForValues(area);
    if (keys_moved_ && has_selection_) reveal(row_, column_);
  }
  drawCells(painter);
  drawHeaders(painter);
  drawScrollBars(painter);
}

void NumbersPane::drawCells(CanvasPainter& painter) {
  cells_.clear();
  const auto first_row = static_cast<std::int64_t>(top_), first_column = static_cast<std::int64_t>(left_);
  const std::int64_t end_row =
      std::min(model_->totalRows(), static_cast<std::int64_t>(top_ + visibleRows()) + 1);
  const std::int64_t end_column =
      std::min(model_->totalColumns(), static_cast<std::int64_t>(left_ + visibleColumns()) + 1);
  painter.clip(cellsArea());
  for (std::int64_t row = first_row; row < end_row; ++row) {
    const double y = metrics_.header_height + (static_cast<double>(row) - top_) * metrics_.cell_height;
    for (std::int64_t column = first_column; column < end_column; ++column) {
      const double x = metrics_.header_width + (static_cast<double>(column) - left_) * metrics_.cell_width;
      drawCell(painter, row, column, QRectF(x, y, metrics_.cell_width, metrics_.cell_height));
    }
  }
  painter.unclip();
}

void NumbersPane::drawCell(CanvasPainter& painter, std::int64_t row, std::int64_t column,
                           const QRectF& rect) {
  const Theme& theme = painter.theme();
  const double* number = value(row, column);
  const std::optional<CellRange> chosen = selection();
  NumberCell cell{row,
                  column,
                  textOf(row, column),
                  rect,
                  chosen && chosen->contains(row, column),
                  number && !std::isfinite(*number)};
  const Tint& tint = number && std::isnan(*number) ? theme.error : theme.warning;
  if (cell.selected)
    painter.fill(rect, theme.selection);
  else if (cell.unusual)
    painter.fill(rect.adjusted(1, 1, 0, 0), tint.fill);
  else if (row % 2)
    painter.fill(rect, mix(theme.background, theme.text, 0.025));
  painter.line(rect.topRight(), rect.bottomRight(), theme.grid);
  const QRectF inner = rect.adjusted(8, 0, -9, 0);
  if (cell.text.isEmpty())
    painter.textIn(inner, QStringLiteral("…"), number_size, theme.faintText, Qt::AlignRight, FontRole::mono);
  else
    painter.textIn(inner, cell.text, number_size,
                   cell.unusual && !cell.selected ? tint.stroke
                   : number && *number == 0       ? theme.faintText
                                                  : theme.text,
                   Qt::AlignRight, FontRole::mono);
  if (has_selection_ && row == row_ && column == column_) painter.outline(rect, theme.accent, 2);
  cells_.push_back(std::move(cell));
}

void NumbersPane::drawHeaders(CanvasPainter& painter) {
  const Theme& theme = painter.theme();
  const QRectF cells = cellsArea(), top(0, 0, area_.width(), metrics_.header_height),
               side(0, 0, metrics_.header_width, area_.height());
  painter.fill(top, theme.panel);
  painter.fill(side, theme.panel);
  const std::optional<CellRange> chosen = selection();
  const auto color = [&](bool marked) { return marked ? theme.accent : theme.faintText; };
  painter.clip(QRectF(metrics_.header_width, 0, cells.width(), metrics_.header_height));
  for (std::size_t i = 0; i < cells_.size() && cells_[i].row == cells_.front().row; ++i) {
    const NumberCell& cell = cells_[i];
    const bool marked = chosen && cell.column >= chosen->left && cell.column <= chosen->right;
    painter.textIn(QRectF(cell.rect.left(), 0, cell.rect.width() - 9, metrics_.header_height),
                   QString::number(cell.column), header_size, color(marked), Qt::AlignRight);
  }
  painter.unclip();
  painter.clip(QRectF(0, metrics_.header_height, metrics_.header_width, cells.height()));
  for (const NumberCell& cell : cells_) {
    if (cell.column != cells_.front().column) continue;
    const bool marked = chosen && cell.row >= chosen->top && cell.row <= chosen->bottom;
    painter.textIn(QRectF(0, cell.rect.top(), metrics_.header_width - 9, cell.rect.height()),
                   QString::number(cell.row), header_size, color(marked), Qt::AlignRight);
  }
  painter.unclip();
  painter.line(top.bottomLeft(), top.bottomRight(), theme.border);
  painter.line(side.topRight(), side.bottomRight(), theme.border);
}

QRectF NumbersPane::thumb(bool vertical) const {
  const double total = static_cast<double>(vertical ? model_->totalRows() : model_->totalColumns());
  const double visible = vertical ? visibleRows() : visibleColumns();
  if (total <= visible || total <= 0) return {};
  const QRectF cells = cellsArea();
  const double start = vertical ? cells.top() : cells.left();
  const double length = vertical ? cells.height() : cells.width();
  const double size = std::max(24.0, length * visible / total);
  const double room = std::max(1.0, total - visible);
  const double at = start + (length - size) * std::min(1.0, (vertical ? top_ : left_) / room);
  return vertical ? QRectF(area_.width() - bar_width + 2, at, bar_width - 4, size)
                  : QRectF(at, area_.height() - bar_width + 2, size, bar_width - 4);
}

void NumbersPane::drawScrollBars(CanvasPainter& painter) {
  for (const bool vertical : {true, false}) {
    const QRectF bar = thumb(vertical);
    const bool held = drag_ == (vertical ? Drag::vertical : Drag::horizontal);
    if (!bar.isNull())
      painter.fill(bar, mix(painter.theme().background, painter.theme().text, held ? 0.55 : 0.35),
                   bar_width / 2 - 2);
  }
}

AccessiblePart NumbersPane::part(int index) const {
  const NumberCell& cell = cells_[static_cast<std::size_t>(index)];
  return {indexText(*model_, cell.row, cell.column),
          cell.text.isEmpty() ? QStringLiteral("loading") : cell.text, cell.rect, QAccessible::Cell};
}

int NumbersPane::currentPart() const {
  const auto current = std::find_if(cells_.begin(), cells_.end(), [this](const NumberCell& cell) {
    return has_selection_ && cell.row == row_ && cell.column == column_;
  });
  return current == cells_.end() ? -1 : static_cast<int>(current - cells_.begin());
}

QString NumbersPane::readout() const {
  std::int64_t row = hovered_row_, column = hovered_column_;
  if (row < 0 && has_selection_) row = row_, column = column_;
  if (row < 0) return {};
  const double* number = value(row, column);
  if (!number) return indexText(*model_, row, column);
  const protocol::Tile& tile = *model_->tile();
  const auto index = static_cast<std::size_t>(number - tile.values.data());
  const QString exact =
      tile.exact.empty() ? exactText(*number, tile.dtype) : QString::fromStdString(tile.exact[index]);
  return indexText(*model_, row, column) + QStringLiteral(" = ") + exact;
}

}  // namespace tapedeck::inspector
