#include "app/notebook/output/text/static_text.h"

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QCoreApplication>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QStatusTipEvent>
#include <QTextBlock>
#include <QTextDocumentFragment>
#include <QTextLayout>
#include <QToolTip>
#include <QUrl>
#include <optional>
#include <vector>

#include "app/notebook/output/formula_text.h"
#include "inspector/model/plain_tip.h"

namespace tapedeck::app {
namespace {

/// As it is sent, a foreign alphabet in the host's name included: what looks like another address is not.
QString addressText(const QString& address) {
  constexpr qsizetype longest = 400;
  const QUrl url(address);
  if (url.scheme() != "http" && url.scheme() != "https") return {};
  const QString text = QString::fromLatin1(url.toEncoded());
  return text.size() <= longest ? text : text.left(longest) + "…";
}

/// The links of a paragraph, each whole whatever else its letters are.
std::vector<QTextCursor> linksOf(QTextDocument* document, const QTextBlock& block) {
  std::vector<QTextCursor> links;
  QString last;
  for (auto it = block.begin(); !it.atEnd(); ++it) {
    const QTextFragment part = it.fragment();
    const QString address = part.charFormat().anchorHref();
    if (!address.isEmpty() && address != last) {
      links.emplace_back(document);
      links.back().setPosition(part.position());
    }
    if (!address.isEmpty())
      links.back().setPosition(part.position() + part.length(), QTextCursor::KeepAnchor);
    last = address;
  }
  return links;
}

/// The next link after `from`, or the previous one; none: there is none.
std::optional<QTextCursor> linkFrom(QTextDocument* document, const QTextCursor& from, bool forward) {
  std::optional<QTextCursor> found;
  for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
    for (const QTextCursor& link : linksOf(document, block)) {
      if (forward && link.selectionStart() >= from.selectionEnd()) return link;
      if (!forward && link.selectionEnd() <= from.selectionStart()) found = link;
    }
  }
  return found;
}

}  // namespace

StaticText::StaticText(QWidget* parent) : SelectableText(parent), document_(new QTextDocument) {
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  QPalette colors = palette();
  colors.setColor(QPalette::Base, Qt::transparent);
  setPalette(colors);
  document_->setUndoRedoEnabled(false);
  document_->setDocumentMargin(4);
  QTextOption option = document_->defaultTextOption();
  option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  document_->setDefaultTextOption(option);
  watch();
}

StaticText::~StaticText() = default;

void StaticText::watch() {
  cursor_ = QTextCursor(document_.get());
  const QAbstractTextDocumentLayout* layout = document_->documentLayout();
  connect(layout, &QAbstractTextDocumentLayout::update, viewport(), qOverload<>(&QWidget::update));
  connect(layout, &QAbstractTextDocumentLayout::documentSizeChanged, this, &StaticText::updateScrollBar,
          Qt::QueuedConnection);
}

void StaticText::setDocument(std::unique_ptr<QTextDocument, DeleteLater> document) {
  document_->documentLayout()->disconnect(this);
  document_->documentLayout()->disconnect(viewport());
  document_ = std::move(document);
  pressedLink_.clear();
  stopSelecting();
  chosenLink_.clear();
  watch();
  // Links are reached by Tab; nothing else in a text is.
  const bool links = linkFrom(document_.get(), cursor_, true).has_value();
  setFocusPolicy(links ? Qt::StrongFocus : Qt::ClickFocus);
  tellLink({});
  updateScrollBar();
  viewport()->update();
}

void StaticText::setPlainText(const QString& text) {
  document_->setPlainText(text);
  cursor_ = QTextCursor(document_.get());
}

QString StaticText::toPlainText() const {
  QTextCursor all(document_.get());
  all.select(QTextCursor::Document);
  return plainTextOf(all);
}

// ---- layout ----

int StaticText::heightForText(int width) {
  if (document_->textWidth() != width) {
    fitPictures(*document_, width);
    document_->setTextWidth(width);
  }
  const QSizeF size = document_->documentLayout()->documentSize();
  const bool wide = sideways_ && size.width() > width + 1;
  return qCeil(size.height()) + (wide ? horizontalScrollBar()->sizeHint().height() : 0);
}

void StaticText::setScrollsSideways(bool on) {
  sideways_ = on;
  setHorizontalScrollBarPolicy(on ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
}

void StaticText::updateScrollBar() {
  if (!sideways_) return;
  const int needed = qCeil(document_->documentLayout()->documentSize().width());
  horizontalScrollBar()->setPageStep(viewport()->width());
  horizontalScrollBar()->setSingleStep(20);
  // A pixel more or less comes from rounding.
  horizontalScrollBar()->setRange(0, needed > viewport()->width() + 1 ? needed - viewport()->width() : 0);
}

void StaticText::resizeEvent(QResizeEvent* event) {
  SelectableText::resizeEvent(event);
  updateScrollBar();
}

int StaticText::scrolled() const {
  return sideways_ ? horizontalScrollBar()->value() : 0;
}

QPointF StaticText::inDocument(QPoint point) const {
  return {point.x() + scrolled() + 0.0, point.y() + 0.0};
}

int StaticText::positionAt(QPoint point) const {
  return std::max(0, document_->documentLayout()->hitTest(inDocument(point), Qt::FuzzyHit));
}

QString StaticText::anchorAt(QPoint point) const {
  return document_->documentLayout()->anchorAt(inDocument(point));
}

QRect StaticText::cursorRect(const QTextCursor& cursor) const {
  const QTextBlock block = cursor.block();
  const int at = cursor.position() - block.position();
  const QTextLine line = block.layout()->lineForTextPosition(at);
  if (!line.isValid()) return {};
  // Tables and lists move their blocks: the layout knows by how much.
  const QPointF origin = document_->documentLayout()->blockBoundingRect(block).topLeft();
  return QRectF(origin.x() + line.cursorToX(at) - scrolled(), origin.y() + line.y(), 1, line.height())
      .toRect();
}

void StaticText::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  painter.setRenderHint(QPainter::SmoothPixmapTransform);  // of pictures that are wider than their room
  painter.translate(-scrolled(), 0);
  QAbstractTextDocumentLayout::PaintContext context;
  context.palette = palette();
  context.clip = event->rect().translated(scrolled(), 0);
  if (cursor_.hasSelection()) {
    QAbstractTextDocumentLayout::Selection selection;
    selection.cursor = cursor_;
    selection.format.setBackground(palette().highlight());
    selection.format.setForeground(palette().highlightedText());
    context.selections = {selection};
  }
  if (hasFocus() && hasCaret()) context.cursorPosition = cursor_.position();
  painter.setClipRect(context.clip);
  document_->documentLayout()->draw(&painter, context);
}

// ---- keys and mouse ----

void StaticText::setTextCursor(const QTextCursor& cursor) {
  cursor_ = cursor;
  viewport()->update();
}

void StaticText::selectAll() {
  cursor_.select(QTextCursor::Document);
  viewport()->update();
}

void StaticText::clearSelection() {
  cursor_.clearSelection();
  viewport()->update();
}

QRect StaticText::cursorRect() const {
  return cursorRect(cursor_).translated(viewport()->pos());
}

QString StaticText::textForReaders() const {
  constexpr qsizetype longest = 20'000;
  QTextCursor all(document_.get());
  all.select(QTextCursor::Document);
  return plainTextOf(all, true).left(longest);
}

void StaticText::copy() {
  if (!cursor_.hasSelection()) return;
  QGuiApplication::clipboard()->setText(plainTextOf(cursor_));
}

void StaticText::keyPressEvent(QKeyEvent* event) {
  // Everything else is the notebook's: command keys work here too.
  if (selectionKey(event)) {
    if (!event->matches(QKeySequence::Copy)) chosenLink_.clear();  // another text is selected
  } else if (!chosenLink_.isEmpty() && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) &&
             event->modifiers() == Qt::NoModifier) {
    openLink(chosenLink_);
  } else if (!chosenLink_.isEmpty() && addressText(chosenLink_).isEmpty() && event->key() == Qt::Key_Space) {
    openLink(chosenLink_);  // what can be folded is a button rather than a link
  } else {
    event->ignore();
  }
}

void StaticText::enter() {
  entered_ = true;
  if (!cursor_.hasSelection()) {
    const int hidden = viewport()->visibleRegion().boundingRect().top();
    cursor_.setPosition(positionAt({0, std::max(0, hidden)}));
  }
  setFocus(Qt::ShortcutFocusReason);
}

void StaticText::pressed(QPoint point) {
  chosenLink_.clear();
  pressedLink_ = anchorAt(point);
}

void StaticText::placeCursor(QPoint point, bool extend) {
  cursor_.setPosition(positionAt(point), extend ? QTextCursor::KeepAnchor : QTextCursor::MoveAnchor);
}

void StaticText::moveCursor(CaretMove move) {
  static constexpr QTextCursor::MoveOperation operations[] = {
      QTextCursor::Left,        QTextCursor::Right,     QTextCursor::WordLeft, QTextCursor::WordRight,
      QTextCursor::Up,          QTextCursor::Down,      QTextCursor::Up,       QTextCursor::Down,
      QTextCursor::StartOfLine, QTextCursor::EndOfLine, QTextCursor::Start,    QTextCursor::End};
  const bool page = move == CaretMove::pageUp || move == CaretMove::pageDown;
  const int lines = page ? window()->height() / 2 / std::max(1, fontMetrics().lineSpacing()) : 1;
  cursor_.movePosition(operations[static_cast<int>(move)], QTextCursor::KeepAnchor, lines);
}

void StaticText::selectWord(QPoint point) {
  cursor_.setPosition(positionAt(point));
  cursor_.select(QTextCursor::WordUnderCursor);
}

void StaticText::hovered(QPoint point) {
  const QString link = anchorAt(point);
  viewport()->setCursor(link.isEmpty() ? Qt::IBeamCursor : Qt::PointingHandCursor);
  tellLink(link.isEmpty() ? chosenLink_ : link);
}

void StaticText::released(QPoint point) {
  const QString link = std::exchange(pressedLink_, QString());
  if (!link.isEmpty() && !cursor_.hasSelection() && anchorAt(point) == link) openLink(link);
}

// ---- where links lead ----

void StaticText::tellLink(const QString& address) {
  if (address == toldLink_) return;
  toldLink_ = address;
  QStatusTipEvent tip(addressText(address));
  QCoreApplication::sendEvent(this, &tip);
}

bool StaticText::focusNextPrevChild(bool next) {
  const auto link = hasFocus() ? linkFrom(document_.get(), cursor_, next) : std::nullopt;
  if (!link) return SelectableText::focusNextPrevChild(next);
  chooseLink(*link);
  return true;
}

void StaticText::chooseLink(const QString& address) {
  QTextCursor from(document_.get());
  for (auto link = linkFrom(document_.get(), from, true); link; link = linkFrom(document_.get(), *link, true))
    if (link->charFormat().anchorHref() == address) return chooseLink(*link);
}

void StaticText::chooseLink(const QTextCursor& link) {
  setTextCursor(link);
  chosenLink_ = QTextCursor(link).charFormat().anchorHref();
  QTextCursor begin(document_.get());
  begin.setPosition(link.selectionStart());
  tellLink(chosenLink_);
  const QPoint below = viewport()->mapToGlobal(cursorRect(begin).bottomLeft());
  const QString address = addressText(chosenLink_);
  const QString tip = address.isEmpty() ? QTextCursor(link).charFormat().toolTip() : address;
  QToolTip::showText(below, inspector::plainTip(tip), viewport());
  setAccessibleDescription(tip);
}

/// Tab begins with the first link, Shift+Tab with the last one, each time that it comes here.
void StaticText::focusInEvent(QFocusEvent* event) {
  SelectableText::focusInEvent(event);
  if (event->reason() == Qt::TabFocusReason) cursor_.movePosition(QTextCursor::Start);
  if (event->reason() == Qt::BacktabFocusReason) cursor_.movePosition(QTextCursor::End);
}

void StaticText::hideEvent(QHideEvent* event) {
  SelectableText::hideEvent(event);
  tellLink({});  // the mouse may have been on it
}

void StaticText::focusOutEvent(QFocusEvent* event) {
  SelectableText::focusOutEvent(event);
  entered_ = entered_ && event->reason() == Qt::ActiveWindowFocusReason;
  if (chosenLink_.isEmpty()) return;
  chosenLink_.clear();
  cursor_.clearSelection();
  tellLink({});
  setAccessibleDescription({});
  viewport()->update();
}

void StaticText::openLink(const QString& address) {
  const QUrl url(address);
  if (url.scheme() == "http" || url.scheme() == "https") {
    QDesktopServices::openUrl(url);
  } else {
    emit internalLink(url);
  }
}

void StaticText::doubleClickedAt(QPoint point) {
  if (!anchorAt(point).isEmpty()) {
    pressed(point);
    placeCursor(point, false);
  } else if (receivers(SIGNAL(doubleClicked())) > 0) {
    emit doubleClicked();
  } else {
    selectWord(point);
  }
}

void StaticText::addToMenu(QMenu* menu, QPoint point) {
  const QString link = anchorAt(point);
  if (link.startsWith("http"))
    menu->addAction("Copy &link address", this, [link] { QGuiApplication::clipboard()->setText(link); });
}

bool StaticText::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) tellLink(chosenLink_);
  if (event->type() != QEvent::ToolTip) return SelectableText::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int position = document_->documentLayout()->hitTest(inDocument(help->pos()), Qt::ExactHit);
  QString tip;
  if (position >= 0) {
    QTextCursor at(document_.get());
    at.setPosition(position + 1 < document_->characterCount() ? position + 1 : position);
    tip = at.charFormat().toolTip();
  }
  const QString address = addressText(anchorAt(help->pos()));
  if (!address.isEmpty()) tip = tip.isEmpty() ? address : tip + "\n" + address;
  QToolTip::showText(help->globalPos(), inspector::plainTip(tip), viewport());
  return true;
}

}  // namespace tapedeck::app
