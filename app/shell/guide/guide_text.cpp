#include "app/shell/guide/guide_text.h"

#include <QEvent>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextDocument>

#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/output/text/static_text.h"
#include "app/shell/guide/guide_pages.h"

namespace tapedeck::app {
namespace {

/// Of a line, in letters: longer ones are hard to read.
constexpr int widest_line = 110;
constexpr int margin = 16;

}  // namespace

GuideText::GuideText(QWidget* parent)
    : QScrollArea(parent), text_(new RichOutput(NotebookTheme::of(palette(), 0), nullptr)) {
  setObjectName("guideText");
  setAccessibleName("Page of the guide");
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setWidget(text_);
  text_->view()->setObjectName("guidePage");
  connect(text_, &Block::arrangeNeeded, this, &GuideText::arrange, Qt::QueuedConnection);
  connect(text_, &RichOutput::ownLinkOpened, this, &GuideText::linkOpened);
}

void GuideText::setPage(const QString& markdown, const QString& anchor, const QString& words) {
  RichText page;
  page.source = markdown;
  page.ownLinks = true;
  page.pictures.setFolder(":/guide");
  text_->setText(page);
  verticalScrollBar()->setValue(0);
  goTo(anchor, words);
}

void GuideText::goTo(const QString& anchor, const QString& words) {
  anchor_ = anchor;
  words_ = words;
  awaited_ = true;
  arrange();
}

void GuideText::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  arrange();
}

void GuideText::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
    text_->setTheme(NotebookTheme::of(palette(), 0));
}

void GuideText::arrange() {
  if (std::exchange(arranging_, true)) return;
  const int room = viewport()->width() - 2 * margin;
  const int width = std::max(1, std::min(room, widest_line * fontMetrics().averageCharWidth()));
  text_->resize(width, std::max(1, text_->heightFor(width)));
  text_->arrange();
  arranging_ = false;
  if (text_->ready() && (awaited_ || verticalScrollBar()->value() == placed_)) goThere();
}

void GuideText::goThere() {
  awaited_ = false;
  placed_ = -1;
  StaticText* view = text_->view();
  QTextDocument* page = view->document();
  QTextCursor at(page);
  for (QTextBlock block = page->begin(); block.isValid() && !anchor_.isEmpty(); block = block.next()) {
    if (block.blockFormat().headingLevel() == 0 || anchorOf(block.text()) != anchor_) continue;
    at = QTextCursor(block);
    break;
  }
  int top = anchor_.isEmpty() ? 0 : view->cursorRect(at).top();
  for (const QString& word : words_.split(' ', Qt::SkipEmptyParts)) {
    const QTextCursor found = page->find(word, at);
    if (found.isNull()) continue;
    view->setTextCursor(found);
    QTextCursor begin(page);
    begin.setPosition(found.selectionStart());
    const int line = view->cursorRect(begin).top();
    if (line - top > viewport()->height() * 3 / 4) top = line - viewport()->height() / 3;
    break;
  }
  verticalScrollBar()->setValue(top);
  placed_ = verticalScrollBar()->value();
}

}  // namespace tapedeck::app
