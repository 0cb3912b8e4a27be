#include "app/notebook/output/output_hits.h"

#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/output/text/text_output.h"

namespace tapedeck::app {

QRect selectWords(StaticText& shown, const TextHit& hit, const QString& words) {
  const QString text = shown.document()->toPlainText();
  const auto is_there = [&](qsizetype at) { return at >= 0 && QStringView(text).mid(at).startsWith(words); };
  qsizetype at = is_there(hit.start) ? hit.start : -1;
  if (at < 0) {
    const qsizetype before = text.lastIndexOf(words, std::min(hit.start, text.size()));
    const qsizetype after = text.indexOf(words, std::min(hit.start, text.size()));
    const bool first = before >= 0 && (after < 0 || hit.start - before <= after - hit.start);
    at = first ? before : after;
  }
  if (at < 0) return {};
  QTextCursor cursor(shown.document());
  cursor.setPosition(static_cast<int>(at));
  const QRect place = shown.cursorRect(cursor);
  cursor.setPosition(static_cast<int>(at + words.size()), QTextCursor::KeepAnchor);
  shown.setTextCursor(cursor);
  return place.isValid() ? place : QRect(0, 0, 1, 1);
}

QRect showHitIn(Block& output, const TextHit& hit, const QString& words, std::size_t byte) {
  if (auto* rich = qobject_cast<RichOutput*>(&output)) return rich->showHit(hit, words);
  auto* text = qobject_cast<TextOutput*>(&output);
  if (text == nullptr) return {};
  if (LongText* scrolling = text->scrolling()) {
    scrolling->showHit(byte, words);
    return scrolling->cursorRect().translated(scrolling->mapTo(&output, QPoint()));
  }
  return selectWords(*text->view(), hit, words).translated(text->view()->pos());
}

void endHitIn(Block& output) {
  if (auto* rich = qobject_cast<RichOutput*>(&output)) return rich->endHit();
  auto* text = qobject_cast<TextOutput*>(&output);
  if (text == nullptr) return;
  if (text->scrolling() != nullptr) return text->scrolling()->clearSelection();
  text->view()->clearSelection();
}

}  // namespace tapedeck::app
