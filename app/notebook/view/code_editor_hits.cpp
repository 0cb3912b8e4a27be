// What a search found in the editor's text, and what a replacement changes in it.
#include <vector>

#include "app/notebook/view/code_editor.h"

namespace tapedeck::app {
namespace {

constexpr unsigned long hit_indicator = 20;
constexpr unsigned long current_indicator = 21;
/// More than these are not marked: each costs when the text is painted.
constexpr qsizetype most_marked = 5'000;

/// Bytes of an editor's text up to places of the source that come in order.
class ByteCounter {
 public:
  ByteCounter(const QString& text, const LongLines& lines) : text_(text), places_(lines, text) {}
  bool has(const TextHit& hit) const { return places_.end(hit.start + hit.length) <= text_.size(); }
  long begin(const TextHit& hit) { return bytes(places_.begin(hit.start)); }
  long end(const TextHit& hit) { return bytes(places_.end(hit.start + hit.length)); }

 private:
  long bytes(qsizetype unit) {
    unit = std::min(unit, text_.size());
    if (unit < unit_) unit_ = 0, bytes_ = 0;
    bytes_ += QStringView(text_).mid(unit_, unit - unit_).toUtf8().size();
    unit_ = unit;
    return static_cast<long>(bytes_);
  }

  QString text_;
  LongLines::Places places_;
  qsizetype unit_ = 0;
  qsizetype bytes_ = 0;
};

/// Scintilla's colours: blue, green, red from the top.
long colorOf(const QColor& color) {
  return color.red() | color.green() << 8 | color.blue() << 16;
}

}  // namespace

void CodeEditor::setUpHits() {
  const long color = colorOf(theme_.warning.stroke);
  SendScintilla(SCI_INDICSETSTYLE, hit_indicator, static_cast<long>(INDIC_STRAIGHTBOX));
  SendScintilla(SCI_INDICSETFORE, hit_indicator, color);
  SendScintilla(SCI_INDICSETALPHA, hit_indicator, 50L);
  SendScintilla(SCI_INDICSETOUTLINEALPHA, hit_indicator, 60L);
  // Told from the others by its frame as well.
  SendScintilla(SCI_INDICSETSTYLE, current_indicator, static_cast<long>(INDIC_FULLBOX));
  SendScintilla(SCI_INDICSETFORE, current_indicator, color);
  SendScintilla(SCI_INDICSETALPHA, current_indicator, 110L);
  SendScintilla(SCI_INDICSETOUTLINEALPHA, current_indicator, 255L);
  for (const unsigned long indicator : {hit_indicator, current_indicator})
    SendScintilla(SCI_INDICSETUNDER, indicator, 1L);
}

void CodeEditor::setHits(const SourceHits& hits) {
  const long length = SendScintilla(SCI_GETLENGTH);
  for (const unsigned long indicator : {hit_indicator, current_indicator}) {
    SendScintilla(SCI_SETINDICATORCURRENT, indicator);
    SendScintilla(SCI_INDICATORCLEARRANGE, 0UL, length);
  }
  if (hits.hits.isEmpty()) return;
  ByteCounter bytes(text(), longLines_);
  // The current hit is among those that are marked.
  const qsizetype first = std::max<qsizetype>(0, hits.current - most_marked / 2);
  const qsizetype last = std::min(hits.hits.size(), first + most_marked);
  for (qsizetype i = first; i < last; ++i) {
    const TextHit& hit = hits.hits[i];
    if (!bytes.has(hit)) break;  // of a text that is shown in part
    SendScintilla(SCI_SETINDICATORCURRENT, i == hits.current ? current_indicator : hit_indicator);
    const long start = bytes.begin(hit);
    SendScintilla(SCI_INDICATORFILLRANGE, static_cast<unsigned long>(start), bytes.end(hit) - start);
  }
}

int CodeEditor::showHit(const TextHit& hit) {
  ByteCounter bytes(text(), longLines_);
  const long start = bytes.begin(hit);
  const long end = bytes.end(hit);
  SendScintilla(SCI_SCROLLRANGE, static_cast<unsigned long>(end), start);
  return static_cast<int>(SendScintilla(SCI_POINTYFROMPOSITION, 0UL, start));
}

void CodeEditor::selectHit(const TextHit& hit) {
  ByteCounter bytes(text(), longLines_);
  const long start = bytes.begin(hit);
  SendScintilla(SCI_SETSEL, static_cast<unsigned long>(start), bytes.end(hit));
}

void CodeEditor::replaceLine(int line, const QString& text) {
  const long start = SendScintilla(SCI_POSITIONFROMLINE, static_cast<unsigned long>(line));
  const long end = SendScintilla(SCI_GETLINEENDPOSITION, static_cast<unsigned long>(line));
  const QByteArray bytes = longLines_.fold(text).toUtf8();
  SendScintilla(SCI_SETTARGETRANGE, static_cast<unsigned long>(start), end);
  SendScintilla(SCI_REPLACETARGET, static_cast<uintptr_t>(bytes.size()), bytes.constData());
}

namespace {

struct LineChange {
  qsizetype first = 0, count = 0;  ///< lines before
  qsizetype from = 0, lines = 0;   ///< and after
};

/// Where two texts differ, by lines, in their order. Where they differ over many lines these are one change.
std::vector<LineChange> lineChanges(const QStringList& before, const QStringList& after) {
  constexpr qsizetype reach = 60;
  std::vector<LineChange> changes;
  qsizetype endBefore = before.size(), endAfter = after.size();
  while (endBefore > 0 && endAfter > 0 && before[endBefore - 1] == after[endAfter - 1]) {
    --endBefore;
    --endAfter;
  }
  const bool as_many = before.size() == after.size();
  qsizetype i = 0, j = 0;
  while (i < endBefore || j < endAfter) {
    if (i < endBefore && j < endAfter && before[i] == after[j]) {
      ++i;
      ++j;
      continue;
    }
    LineChange change{i, endBefore - i, j, endAfter - j};
    if (as_many) change.count = change.lines = 1;
    bool found = as_many;
    for (qsizetype away = 1; away <= reach && !found; ++away) {
      for (qsizetype a = 0; a <= away && !found; ++a) {
        const qsizetype b = away - a;
        if (i + a >= endBefore || j + b >= endAfter || before[i + a] != after[j + b]) continue;
        change.count = a;
        change.lines = b;
        found = true;
      }
    }
    changes.push_back(change);
    i += change.count;
    j += change.lines;
  }
  return changes;
}

}  // namespace

/// Leaves the text as it was where neither undo nor redo gives `source`.
bool CodeEditor::undoGives(const QString& source) {
  bool gives = false;
  if (SendScintilla(SCI_CANUNDO) != 0) {
    const QSignalBlocker quiet(this);
    undo();
    gives = this->source() == source;
    if (!gives) redo();
    // Lines that came and went took their marks along.
    if (!gives) markBreakpoints();
  }
  if (!gives && SendScintilla(SCI_CANREDO) != 0) {
    const QSignalBlocker quiet(this);
    redo();
    gives = this->source() == source;
    if (!gives) undo();
    if (!gives) markBreakpoints();
  }
  if (gives) followBreakpoints();
  return gives;
}

/// One undo takes all of it back, and what was typed before stays to be undone.
void CodeEditor::changeSource(const QString& source) {
  if (this->source() == source) return;
  scrollsSideways_ = !wrapsWell(source);
  applyWrapping();
  if (undoGives(source)) return checkHeight();
  if (source.contains(QChar(0))) return showSource(source);
  const QStringList before = this->source().split(u'\n');
  const QStringList after = source.split(u'\n');
  // Lines that stay keep what is marked in them.
  const std::vector<LineChange> changes = lineChanges(before, after);
  beginUndoAction();
  for (auto change = changes.rbegin(); change != changes.rend(); ++change)
    replaceLines(change->first, change->count, after.mid(change->from, change->lines));
  endUndoAction();
  if (this->source() != source) return showSource(source);
  checkHeight();
}

/// Lines that are there keep their marks; others come behind them, or go from there.
void CodeEditor::replaceLines(qsizetype first, qsizetype count, const QStringList& lines) {
  const auto begin_of = [this](qsizetype line) {
    return SendScintilla(SCI_POSITIONFROMLINE, static_cast<unsigned long>(line));
  };
  const auto end_of = [this](qsizetype line) {
    return SendScintilla(SCI_GETLINEENDPOSITION, static_cast<unsigned long>(line));
  };
  const auto replace = [this](long from, long to, const QString& text) {
    const QByteArray bytes = longLines_.fold(text).toUtf8();
    SendScintilla(SCI_SETTARGETRANGE, static_cast<unsigned long>(from), to);
    SendScintilla(SCI_REPLACETARGET, static_cast<uintptr_t>(bytes.size()), bytes.constData());
  };
  const qsizetype common = std::min(count, lines.size());
  const qsizetype next = first + common;
  if (count > common) {
    if (next > 0)
      replace(end_of(next - 1), end_of(first + count - 1), {});
    else
      replace(0, begin_of(count), {});
  } else if (lines.size() > common) {
    const QString more = lines.mid(common).join(u'\n');
    if (next > 0)
      replace(end_of(next - 1), end_of(next - 1), u'\n' + more);
    else
      replace(0, 0, more + u'\n');
  }
  for (qsizetype line = 0; line < common; ++line) replaceLine(static_cast<int>(first + line), lines[line]);
}

}  // namespace tapedeck::app
