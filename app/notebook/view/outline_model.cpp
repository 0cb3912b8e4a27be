#include "app/notebook/view/outline_model.h"

#include <QRegularExpression>

#include "app/notebook/output/html/maths.h"

namespace tapedeck::app {
namespace {

/// A heading is read at a glance; what is longer is no heading, whatever it begins with.
constexpr qsizetype longest_text = 200;

QString withoutMarks(QString text) {
  static const QRegularExpression link(R"(!?\[([^\[\]]*)\]\([^()]*\))");
  static const QRegularExpression tag("</?[A-Za-z][^<>]*>");
  static const QRegularExpression marks(R"((?<![\\\w])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`+)");
  std::vector<Formula> formulas;
  text = extractFormulas(text.left(longest_text), formulas);
  text.replace(link, "\\1").remove(tag).remove(marks).remove('\\');
  for (std::size_t i = 0; i < formulas.size(); ++i) text.replace(formulaMark(i), plainMath(formulas[i].tex));
  return text.simplified();
}

int indentOf(QStringView line) {
  int spaces = 0;
  while (spaces < line.size() && line[spaces] == ' ') ++spaces;
  return spaces;
}

/// The level of "## Text", and its text; 0: no heading.
int hashes(QStringView line, QString* text) {
  int level = 0;
  while (level < line.size() && line[level] == '#') ++level;
  if (level == 0 || level > 6) return 0;
  if (level < line.size() && line[level] != ' ' && line[level] != '\t') return 0;
  QStringView rest = line.mid(level).left(2 * longest_text).trimmed();
  QStringView open = rest;
  while (open.endsWith('#')) open.chop(1);
  if (open.isEmpty() || open.endsWith(' ')) rest = open.trimmed();
  *text = withoutMarks(rest.toString());
  return level;
}

/// 1 under "====", 2 under "----".
int underlines(QStringView line) {
  if (line.isEmpty() || (line[0] != '=' && line[0] != '-')) return 0;
  for (const QChar c : line) {
    if (c != line[0]) return 0;
  }
  return line[0] == '=' ? 1 : 2;
}

}  // namespace

QList<Heading> headingsOf(const QString& markdown) {
  QList<Heading> headings;
  QStringView fence;
  QStringView above;  // the line before, where it can be an underlined heading
  for (const QStringView whole : QStringView(markdown).tokenize(u'\n')) {
    const QStringView line = whole.trimmed();
    const bool code = indentOf(whole) > 3;
    if (!fence.isEmpty()) {
      if (!code && line.startsWith(fence)) fence = {};
      continue;
    }
    if (!code && (line.startsWith(u"```") || line.startsWith(u"~~~"))) {
      fence = line.left(3);
      above = {};
      continue;
    }
    QString text;
    if (const int level = code ? 0 : hashes(line, &text); level > 0) {
      if (!text.isEmpty()) headings += {QString(), level, text};
      above = {};
    } else if (const int under = above.isEmpty() || code ? 0 : underlines(line); under > 0) {
      text = withoutMarks(above.left(2 * longest_text).toString());
      if (!text.isEmpty()) headings += {QString(), under, text};
      above = {};
    } else {
      const bool block =
          line.startsWith(u"> ") || line.startsWith(u"- ") || line.startsWith(u"* ") || line.startsWith(u"|");
      above = code || block ? QStringView() : line;
    }
  }
  return headings;
}

OutlineModel::OutlineModel(Document* document, QObject* parent) : QObject(parent), document_(document) {
  timer_.setSingleShot(true);
  timer_.setInterval(0);  // once, however much changed in one turn of the event loop
  connect(&timer_, &QTimer::timeout, this, &OutlineModel::refresh);
  connect(document, &Document::reset, this, [this] {
    known_.clear();
    timer_.start();
  });
  connect(document, &Document::cellChanged, this, &OutlineModel::forget);
  for (const auto signal : {&Document::cellInserted, &Document::cellRemoved})
    connect(document, signal, &timer_, qOverload<>(&QTimer::start));
  connect(document, &Document::cellMoved, &timer_, qOverload<>(&QTimer::start));
  refresh();
}

void OutlineModel::forget(int cell) {
  known_.remove(document_->cell(cell).id);
  timer_.start();
}

void OutlineModel::refresh() {
  QList<Heading> all;
  QHash<QString, QList<Heading>> known;
  for (int i = 0; i < document_->cellCount(); ++i) {
    const Cell& cell = document_->cell(i);
    if (cell.type != CellType::markdown) continue;
    const auto found = known_.constFind(cell.id);
    QList<Heading> headings = found != known_.constEnd() ? *found : headingsOf(cell.source);
    for (Heading& heading : headings) heading.cellId = cell.id;
    known[cell.id] = headings;
    all += headings;
  }
  known_ = known;
  if (all == headings_) return;
  headings_ = all;
  emit changed();
}

int OutlineModel::headingOver(int cell) const {
  if (cell < 0 || cell >= document_->cellCount()) return -1;
  for (int i = 0; i < headings_.size(); ++i) {
    if (headings_[i].cellId == document_->cell(cell).id) return i;
  }
  int over = -1;
  for (int i = 0; i < headings_.size() && document_->indexOf(headings_[i].cellId) < cell; ++i) over = i;
  return over;
}

}  // namespace tapedeck::app
