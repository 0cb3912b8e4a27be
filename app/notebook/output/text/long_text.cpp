#include "app/notebook/output/text/long_text.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QTimer>
#include <climits>
#include <cmath>

#include "app/notebook/output/text/ansi.h"
#include "app/notebook/output/text/terminal_text.h"

namespace tapedeck::app {
namespace {

constexpr qsizetype most_layouts = 1'000;
constexpr std::size_t piece_rows = 4'096;  ///< looked through at once: a few milliseconds
constexpr int auto_scroll_ms = 40;

}  // namespace

LongText::LongText(const NotebookTheme& theme, QWidget* parent) : SelectableText(parent), theme_(theme) {
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  verticalScrollBar()->setSingleStep(1);
}

void LongText::setText(const PrintedText& text, std::size_t kept) {
  const bool follows = text_.size() > 0 && atEnd() && !selecting() && !hasSelection();
  const std::size_t first = text.rowAt(kept);
  text_ = text;
  layouts_.removeIf([first](auto row) { return row.key() >= first; });
  if (anchor_.row >= first || cursor_.row >= first) {
    if (kept == 0) anchor_ = cursor_ = {};
    for (Place* place : {&anchor_, &cursor_})
      if (place->row >= text_.rows()) *place = {text_.rows() > 0 ? text_.rows() - 1 : 0, 0};
  }
  updateScrollBar();
  if (follows) scrollToEnd();
  viewport()->update();
  emit scrolled();
}

// ---- layout ----

QString LongText::plain(const PrintedText::Row& row) {
  AnsiParser parser;
  QString text;
  for (const AnsiRun& run : parser.parse(terminalString(row.text))) text += run.text;
  return text;
}

const QTextLayout& LongText::layoutOf(std::size_t row) const {
  auto& kept = layouts_[row];
  if (kept) return *kept;
  if (layouts_.size() > most_layouts) {
    layouts_.clear();
    return layoutOf(row);
  }
  const auto rows = text_.read(row, 1);
  AnsiParser parser;
  QString text;
  QList<QTextLayout::FormatRange> formats;
  if (!rows.empty()) {
    parser.parse(terminalString(rows[0].style));
    for (const AnsiRun& run : parser.parse(terminalString(rows[0].text))) {
      if (run.style != AnsiStyle())
        formats +=
            {static_cast<int>(text.size()), static_cast<int>(run.text.size()), run.style.format(theme_)};
      text += run.text;
    }
  }
  auto layout = std::make_shared<QTextLayout>(text, theme_.codeFont);
  QTextOption option;
  option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  option.setTabStopDistance(8 * QFontMetricsF(theme_.codeFont).horizontalAdvance(' '));
  layout->setTextOption(option);
  layout->setFormats(formats);
  layout->setCacheEnabled(true);
  layout->beginLayout();
  double y = 0;
  for (QTextLine line = layout->createLine(); line.isValid(); line = layout->createLine()) {
    line.setLineWidth(std::max(20, viewport()->width() - 2 * margin));
    line.setPosition({0, y});
    y += line.height();
  }
  layout->endLayout();
  kept = std::move(layout);
  return *kept;
}

double LongText::heightOf(std::size_t row) const {
  return std::max(layoutOf(row).boundingRect().height(), QFontMetricsF(theme_.codeFont).height());
}

/// Where the first visible row begins: above the edge where the last one would otherwise be cut.
double LongText::origin() const {
  if (!atEnd() || topRow() == 0) return margin;
  double height = margin;
  for (std::size_t row = topRow(); row < text_.rows(); ++row) height += heightOf(row);
  return std::min<double>(margin, viewport()->height() - height);
}

void LongText::updateScrollBar() {
  // The last row at the lower edge.
  const double room = viewport()->height() - 2 * margin;
  std::size_t top = text_.rows();
  int shown = 0;
  for (double height = 0; top > 0; --top, ++shown) {
    height += heightOf(top - 1);
    if (height > room && shown > 0) break;
  }
  verticalScrollBar()->setPageStep(std::max(1, shown - 1));
  verticalScrollBar()->setRange(0, static_cast<int>(std::min<std::size_t>(top, INT_MAX)));
}

void LongText::scrollToEnd() {
  verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

QString LongText::textInSight() const {
  QStringList lines;
  double y = origin();
  for (std::size_t row = topRow(); row < text_.rows() && y < viewport()->height(); ++row) {
    lines += layoutOf(row).text();
    y += heightOf(row);
  }
  return lines.join('\n');
}

void LongText::resizeEvent(QResizeEvent* event) {
  SelectableText::resizeEvent(event);
  const bool end = atEnd() && topRow() > 0;
  if (event->size().width() != event->oldSize().width()) layouts_.clear();
  updateScrollBar();
  if (end) scrollToEnd();
  emit scrolled();
}

void LongText::changeEvent(QEvent* event) {
  SelectableText::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) viewport()->update();
}

void LongText::scrollContentsBy(int dx, int dy) {
  SelectableText::scrollContentsBy(dx, dy);
  emit scrolled();
}

void LongText::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  painter.setPen(theme_.text);
  const auto [first, last] = std::minmax(anchor_, cursor_);
  double y = origin();
  for (std::size_t row = topRow(); row < text_.rows() && y < event->rect().bottom() + 1; ++row) {
    const QTextLayout& layout = layoutOf(row);
    QList<QTextLayout::FormatRange> selections;
    if (row >= first.row && row <= last.row && first != last) {
      const int begin = row == first.row ? first.column : 0;
      const int end = row == last.row ? last.column : static_cast<int>(layout.text().size());
      QTextCharFormat format;
      format.setBackground(palette().highlight());
      format.setForeground(palette().highlightedText());
      selections += {begin, end - begin, format};
    }
    layout.draw(&painter, {margin, y}, selections);
    if (hasFocus() && row == cursor_.row) layout.drawCursor(&painter, {margin, y}, cursor_.column);
    y += heightOf(row);
  }
  if (hasFocus()) {
    painter.setPen(palette().color(QPalette::Highlight));
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

// ---- selection ----

LongText::Place LongText::placeAt(QPoint point) const {
  if (text_.rows() == 0) return {};
  double y = origin();
  std::size_t row = topRow();
  while (row + 1 < text_.rows() && y + heightOf(row) <= point.y()) y += heightOf(row++);
  const QTextLayout& layout = layoutOf(row);
  for (int i = 0; i < layout.lineCount(); ++i) {
    const QTextLine line = layout.lineAt(i);
    const bool lastLine = i + 1 == layout.lineCount();
    if (lastLine || y + line.y() + line.height() > point.y())
      return {row, line.xToCursor(point.x() - margin)};
  }
  return {row, 0};
}

void LongText::selectAll() {
  if (text_.rows() == 0) return;
  const std::size_t last = text_.rows() - 1;
  anchor_ = {};
  cursor_ = {last, static_cast<int>(layoutOf(last).text().size())};
  viewport()->update();
}

void LongText::clearSelection() {
  anchor_ = cursor_;
  viewport()->update();
}

void LongText::placeCursor(QPoint point, bool extend) {
  cursor_ = placeAt(point);
  if (!extend) anchor_ = cursor_;
}

void LongText::dragged(QPoint point) {
  mouse_ = point;
  const bool outside = mouse_.y() < 0 || mouse_.y() > viewport()->height();
  if (outside && !autoScroll_.isActive()) autoScroll_.start(auto_scroll_ms, this);
  if (!outside) autoScroll_.stop();
}

void LongText::timerEvent(QTimerEvent* event) {
  if (event->timerId() != autoScroll_.timerId()) return SelectableText::timerEvent(event);
  const int beyond = mouse_.y() < 0 ? mouse_.y() : mouse_.y() - viewport()->height();
  const int rows = beyond / std::max(1, QFontMetrics(theme_.codeFont).height());
  verticalScrollBar()->setValue(verticalScrollBar()->value() + rows + (beyond < 0 ? -1 : 1));
  placeCursor(mouse_, true);
  viewport()->update();
}

void LongText::released(QPoint) {
  autoScroll_.stop();
  if (!hasSelection() && text_.rows() > 0) emit clicked(layoutOf(cursor_.row).text());
}

void LongText::selectWord(QPoint point) {
  const Place place = placeAt(point);
  if (text_.rows() == 0) return;
  const QTextLayout& layout = layoutOf(place.row);
  const int end = layout.nextCursorPosition(place.column, QTextLayout::SkipWords);
  const int begin = layout.previousCursorPosition(end, QTextLayout::SkipWords);
  anchor_ = {place.row, begin};
  cursor_ = {place.row, begin + static_cast<int>(layout.text().mid(begin, end - begin).trimmed().size())};
}

void LongText::addToMenu(QMenu* menu, QPoint) {
  menu->addAction("&Find…", this, &LongText::searchWanted);
}

void LongText::keyPressEvent(QKeyEvent* event) {
  QScrollBar* bar = verticalScrollBar();
  if (selectionKey(event)) return;
  const auto modifiers = event->modifiers() & ~Qt::KeypadModifier;
  if (event->text() == "/" && !modifiers.testFlag(Qt::ControlModifier) &&
      !modifiers.testFlag(Qt::AltModifier)) {
    emit searchWanted();
    return;
  }
  const bool ends = event->key() == Qt::Key_Home || event->key() == Qt::Key_End;
  if (modifiers != Qt::NoModifier && !(ends && modifiers == Qt::ControlModifier)) return event->ignore();
  switch (event->key()) {
    case Qt::Key_Up:
      return bar->triggerAction(QScrollBar::SliderSingleStepSub);
    case Qt::Key_Down:
      return bar->triggerAction(QScrollBar::SliderSingleStepAdd);
    case Qt::Key_PageUp:
      return bar->triggerAction(QScrollBar::SliderPageStepSub);
    case Qt::Key_PageDown:
      return bar->triggerAction(QScrollBar::SliderPageStepAdd);
    case Qt::Key_Home:
      return scrollToStart();
    case Qt::Key_End:
      return scrollToEnd();
    default:
      event->ignore();  // everything else is the notebook's
  }
}

// ---- piece by piece ----

void LongText::copy() {
  if (!hasSelection()) return;
  const auto [first, last] = std::minmax(anchor_, cursor_);
  const bool running = copying_.has_value();
  copying_ = Copying{{}, first, last};
  if (!running) copyOn();
}

void LongText::copyOn() {
  if (!copying_) return;
  Copying& job = *copying_;
  const std::size_t wanted = std::min(piece_rows, job.end.row - job.next.row + 1);
  for (const PrintedText::Row& row : text_.read(job.next.row, wanted)) {
    QString text = plain(row);
    const bool last = job.next.row == job.end.row;
    if (last) text.truncate(job.end.column);
    job.text += QStringView(text).mid(std::min<qsizetype>(job.next.column, text.size()));
    if (!last && !row.continued) job.text += '\n';
    job.next = {job.next.row + 1, 0};
  }
  if (job.next.row <= job.end.row && job.next.row < text_.rows()) {
    QTimer::singleShot(0, this, &LongText::copyOn);
    return;
  }
  const QString text = std::move(job.text);
  copying_.reset();
  QGuiApplication::clipboard()->setText(text);
  emit copied(text.size());
}

void LongText::find(const QString& words, bool forward) {
  const bool running = search_.has_value();
  const auto [first, last] = std::minmax(anchor_, cursor_);
  Place from = forward ? last : first;
  if (!hasSelection()) from = {topRow(), 0};
  search_ = Search{words, forward, from, from.row, text_.rows() + 1};
  if (!running) searchOn();
}

void LongText::searchOn() {
  if (!search_) return;
  Search& job = *search_;
  if (job.words.isEmpty() || text_.rows() == 0) return finishSearch(false);
  // From the place once around, and the place's own row at both ends.
  const std::size_t rows = text_.rows();
  job.row = std::min(job.row, rows - 1);
  std::size_t begin = job.row, end = 0;
  if (job.forward) {
    end = std::min({rows, job.row + piece_rows, job.row + job.left});
  } else {
    end = job.row + 1;
    begin = end - std::min({end, piece_rows, job.left});
  }
  const auto lines = text_.read(begin, end - begin);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t at = job.forward ? i : lines.size() - 1 - i;
    const std::size_t row = begin + at;
    const QString text = plain(lines[at]);
    const bool own = row == job.from.row && job.left == rows + 1 - i && i == 0;
    qsizetype column = -1;
    if (job.forward) {
      column = text.indexOf(job.words, own ? job.from.column : 0, Qt::CaseInsensitive);
    } else if (!own) {
      column = text.lastIndexOf(job.words, -1, Qt::CaseInsensitive);
    } else if (job.from.column > 0) {
      column = text.left(job.from.column).lastIndexOf(job.words, -1, Qt::CaseInsensitive);
    }
    if (column < 0) continue;
    anchor_ = {row, static_cast<int>(column)};
    cursor_ = {row, static_cast<int>(column + job.words.size())};
    bringIntoSight(anchor_);
    return finishSearch(true);
  }
  job.left -= std::min(job.left, end - begin);
  if (job.left == 0) return finishSearch(false);
  if (job.forward) job.row = end >= rows ? 0 : end;
  if (!job.forward) job.row = begin == 0 ? rows - 1 : begin - 1;
  QTimer::singleShot(0, this, &LongText::searchOn);
}

void LongText::finishSearch(bool any) {
  search_.reset();
  viewport()->update();
  emit found(any);
}

void LongText::showHit(std::size_t byte, const QString& words) {
  if (text_.rows() == 0) return;
  const std::size_t row = text_.rowAt(byte);
  // Where the row begins: the first byte of it.
  std::size_t begin = byte > PrintedText::row_bytes ? byte - PrintedText::row_bytes : 0;
  for (std::size_t end = byte; begin < end;) {
    const std::size_t middle = begin + (end - begin) / 2;
    text_.rowAt(middle) < row ? begin = middle + 1 : end = middle;
  }
  const auto size = layoutOf(row).text().size();
  const auto column = std::min(size, plain({text_.bytes(begin, byte), {}, false}).size());
  anchor_ = {row, static_cast<int>(column)};
  cursor_ = {row, static_cast<int>(std::min(size, column + words.size()))};
  bringIntoSight(anchor_);
  viewport()->update();
}

}  // namespace tapedeck::app
