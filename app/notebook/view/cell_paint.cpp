// How a cell is laid out and painted, and what the mouse does on it.
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include "app/notebook/output/output_area.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/input_line.h"
#include "app/notebook/view/cell_language.h"
#include "app/notebook/view/cell_metrics.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/source_excerpt.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/icons.h"

namespace tapedeck::app {

namespace metrics = cell_metrics;

namespace {

QFont smallFont(const NotebookTheme& theme) {
  QFont font = theme.textFont;
  font.setPointSize(std::max(5, font.pointSize() - 2));
  return font;
}

/// Prompt and state below each other always fit, so that a cell does not grow when it is run.
int leastSourceHeight(const NotebookTheme& theme) {
  return QFontMetrics(theme.codeFont).lineSpacing() + QFontMetrics(smallFont(theme)).lineSpacing() + 2 +
         2 * metrics::padding;
}

/// A guess at the height of rendered Markdown: its lines wrapped, its headings larger.
int estimateMarkdown(const QString& source, int room, const NotebookTheme& theme) {
  const QFontMetrics metrics(theme.textFont);
  const qsizetype columns = std::max(10, room / std::max(1, metrics.averageCharWidth()));
  qsizetype height = 8;
  for (const QStringView line : QStringView(source).tokenize(u'\n')) {
    const qsizetype rows = (line.size() + columns - 1) / columns;
    height += line.trimmed().isEmpty() ? metrics.lineSpacing() / 2 : rows * metrics.lineSpacing();
    if (line.startsWith('#')) height += metrics.lineSpacing();
  }
  return static_cast<int>(std::clamp<qsizetype>(height, 24, 1'000'000));
}

}  // namespace

int CellWidget::sourceHeight(int width) {
  const int room = std::max(60, width - gutterWidth(theme_) - metrics::right);
  const int edges = 2 * (metrics::padding + metrics::frame);
  const bool code = shownType_ == CellType::code;
  if (!realized_) {
    const int least = code ? leastSourceHeight(theme_) : 0;
    const QString& source = cell().source;
    if (!showsSource()) return estimateMarkdown(source, room, theme_);
    const auto excerpt = whole_ ? std::nullopt : excerptOf(source);
    return std::max(least, CodeEditor::estimateHeight(excerpt ? excerpt->text : source, room,
                                                      languageOf(shownType_), theme_) +
                               edges);
  }
  if (rendered_ != nullptr) return rendered_->heightFor(room);
  const int height = editor_->contentHeight() + edges +
                     (excerpt_ == nullptr ? 0 : excerpt_->heightFor(room - 2 * metrics::frame));
  return code ? std::max(height, leastSourceHeight(theme_)) : height;
}

int CellWidget::computeHeight(int width) {
  sourceHeight_ = sourceHeight(width);
  int height = metrics::above + sourceHeight_ + metrics::below;
  if (!realized_) {
    if (!cell().outputs.empty()) height += OutputArea::estimate(cell().outputs, theme_);
  } else if (outputs_ != nullptr && outputs_->count() > 0) {
    height += 4 + outputs_->heightFor(width - metrics::right);
  }
  if (input_ != nullptr) height += 4 + input_->heightFor(width - gutterWidth(theme_) - metrics::right);
  return height;
}

QRect CellWidget::sourceArea() const {
  const int left = gutterWidth(theme_);
  return {left, metrics::above, std::max(60, width() - left - metrics::right), sourceHeight_};
}

void CellWidget::place() {
  const QRect area = sourceArea();
  const int inset = metrics::frame + metrics::padding;
  const QRect inner = area.adjusted(metrics::frame, inset, -inset, -inset);
  const int bar = excerpt_ == nullptr ? 0 : excerpt_->heightFor(inner.width());
  if (editor_ != nullptr) editor_->setGeometry(inner.adjusted(0, 0, 0, -bar));
  if (excerpt_ != nullptr) excerpt_->setGeometry(inner.left(), inner.bottom() + 1 - bar, inner.width(), bar);
  if (rendered_ != nullptr) {
    rendered_->setGeometry(area);
    rendered_->arrange();
  }
  int y = area.bottom() + 1 + 4;
  if (outputs_ != nullptr) {
    const int height = outputs_->count() > 0 ? outputs_->heightFor(width() - metrics::right) : 0;
    outputs_->setVisible(height > 0);
    outputs_->setGeometry(0, y, width() - metrics::right, height);
    outputs_->arrange();
    y += height + (height > 0 ? 4 : 0);
  }
  if (input_ != nullptr) {
    const int room = width() - gutterWidth(theme_) - metrics::right;
    input_->setGeometry(gutterWidth(theme_), y, room, input_->heightFor(room));
    input_->arrange();
  }
  update();
}

// ---- painting ----

void CellWidget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (current_ || selected_) {
    const QColor color = editing_ ? theme_.editing : theme_.accent;
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawRoundedRect(QRectF(metrics::bar_left, metrics::above, metrics::bar_width,
                                   height() - metrics::above - metrics::below),
                            2, 2);
  }
  if (selected_) paintSelected(painter);
  const QRectF area = QRectF(sourceArea()).adjusted(0.5, 0.5, -0.5, -0.5);
  if (showsSource()) {
    QColor line = theme_.border;
    if (current_) line = editing_ ? theme_.editing : theme_.accent;
    painter.setBrush(theme_.editor);
    painter.setPen(QPen(line, current_ && editing_ ? 1.6 : 1.0));
    painter.drawRoundedRect(area, 4, 4);
  } else if (current_) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme_.accent, 1.0));
    painter.drawRoundedRect(area, 4, 4);
  }
  paintGutter(painter);
}

/// A ground around the whole cell, outputs and all, within a broken line: told from the current cell by form.
void CellWidget::paintSelected(QPainter& painter) const {
  painter.setBrush(inspector::mix(theme_.background, theme_.accent, 0.1));
  painter.setPen(QPen(theme_.accent, 1.0, Qt::DashLine));
  painter.drawRect(QRectF(rect()).adjusted(metrics::bar_left + metrics::bar_width + 1.5, 0.5, -0.5, -0.5));
}

void CellWidget::paintGutter(QPainter& painter) const {
  const int right = gutterWidth(theme_) - 8;
  const int left = metrics::bar_left + metrics::bar_width + 2;
  int y = metrics::above + metrics::frame + metrics::padding;
  const QFontMetrics code(theme_.codeFont);
  QString prompt;
  if (shownType_ == CellType::code) {
    const int count = cell().executionCount;
    // Once it runs it has the number that a message on a pause in it names.
    const bool waiting = state_ == CellState::queued || (state_ == CellState::busy && count == 0);
    prompt = waiting ? "[*]" : count > 0 ? QString("[%1]").arg(count) : "[ ]";
  } else if (shownType_ == CellType::raw) {
    prompt = "raw";
  } else if (showsSource()) {
    prompt = "md";
  }
  painter.setFont(theme_.codeFont);
  painter.setPen(theme_.faintText);
  painter.drawText(QRect(left, y, right - left, code.lineSpacing()), Qt::AlignRight | Qt::AlignVCenter,
                   prompt);
  y += code.lineSpacing() + 1;

  const QString word = gutterWord();
  QColor color = theme_.faintText;
  if (state_ == CellState::busy) color = theme_.busy;
  if (state_ == CellState::done && !showsMark()) color = theme_.success;
  if ((state_ == CellState::failed || state_ == CellState::killed) && !showsMark()) color = theme_.failure;
  if (word.isEmpty()) return;
  const QFont small = smallFont(theme_);
  const QFontMetrics metrics(small);
  const int text = metrics.horizontalAdvance(word);
  const int size = std::max(10, metrics.ascent());
  painter.setFont(small);
  painter.setPen(color);
  painter.drawText(QRect(right - text, y, text + 1, metrics.lineSpacing()), Qt::AlignVCenter, word);
  const QRect mark(right - text - size - 4, y + (metrics.lineSpacing() - size) / 2, size, size);
  if (state_ == CellState::busy) {
    painter.setPen(QPen(color, 1.8, Qt::SolidLine, Qt::RoundCap));
    painter.setBrush(Qt::NoBrush);
    painter.drawArc(QRectF(mark).adjusted(1, 1, -1, -1), -spinner_ * 16, 270 * 16);
    return;
  }
  painter.drawPixmap(mark.topLeft(), inspector::iconPixmap(stateIcon(), color, size, devicePixelRatioF()));
}

// ---- mouse ----

void CellWidget::mousePressEvent(QMouseEvent* event) {
  // In the frame around the text means the text.
  if (event->button() == Qt::LeftButton && showsSource() && sourceArea().contains(event->pos())) {
    emit editRequested();
  } else {
    emit pressed();
  }
}

void CellWidget::mouseReleaseEvent(QMouseEvent* event) {
  event->accept();
}

void CellWidget::enterEvent(QEnterEvent* event) {
  Block::enterEvent(event);
  emit hovered(true);
}

void CellWidget::leaveEvent(QEvent* event) {
  Block::leaveEvent(event);
  emit hovered(false);
}

bool CellWidget::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return Block::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const bool told = help->pos().x() < gutterWidth(theme_) && shownType_ == CellType::code;
  QToolTip::showText(help->globalPos(), inspector::plainTip(told ? stateTip() : QString()), this);
  return true;
}

}  // namespace tapedeck::app
