#include "app/notebook/output/html/html_writer.h"

#include <QLocale>
#include <QRegularExpression>
#include <QSet>
#include <algorithm>

namespace tapedeck::app {
namespace {

constexpr int deepest = 40;
/// Each level of tables multiplies the time of their layout.
constexpr std::size_t deepest_tables = 3;
/// A paragraph is shaped as one, at each painting too: longer ones become several.
constexpr qsizetype longest_block = 5'000;
/// How far up the open elements one is looked for that a tag ends.
constexpr std::size_t farthest = 512;
/// Tables with styles have more of attributes than of text.
constexpr qsizetype attributes_per_character = 50;

const QSet<QString>& blockElements() {
  static const QSet<QString> names = {"address", "blockquote", "center", "dd", "div", "dl", "dt", "h1",
                                      "h2",      "h3",         "h4",     "h5", "h6",  "li", "ol", "p",
                                      "pre",     "table",      "td",     "th", "tr",  "ul", "hr", "body"};
  return names;
}

bool isTablePart(const QString& name) {
  static const QSet<QString> names = {"thead", "tbody", "tfoot", "tr", "td", "th", "caption"};
  return names.contains(name);
}

bool isCell(const QString& name) {
  return name == "td" || name == "th" || name == "caption";
}

bool isStructure(const QString& name) {
  return name == "table" || isTablePart(name);
}

std::optional<int> startOf(const QString& attributes) {
  static const QRegularExpression start("\\sstart=\"(-?\\d{1,9})\"");
  const auto found = start.match(attributes);
  if (!found.hasMatch() || found.captured(1) == "1") return {};
  return found.captured(1).toInt();
}

}  // namespace

HtmlWriter::HtmlWriter(const TextBounds& bounds) : bounds_(bounds) {}

// ---- the stack ----

/// One address may be named by many links: together they are bounded as the text is.
bool HtmlWriter::roomForAttributes(const QString& attributes) {
  if (attributes.isEmpty()) return true;
  attributes_ += attributes.size();
  const bool fits = attributes_ <= bounds_.characters * attributes_per_character;
  if (!fits) bare_ = true;
  return fits;
}

void HtmlWriter::push(const QString& name, bool written, const QString& attributes) {
  if (isStructure(name)) structure_.push_back(stack_.size());
  // Qt 6.4 numbers every list from 1: where another number was written, the text has it.
  std::optional<int> first, number;
  if (name == "ol") first = startOf(attributes);
  if (name == "li" && !stack_.empty() && stack_.back().number) number = (*stack_.back().number)++;
  stack_.push_back({name, written, first});
  ++open_[name];
  if (!written) return;
  ++depth_;
  out_ += "<" + name;
  if (first)
    out_ += " style=\"list-style-type:none\"";
  else if (roomForAttributes(attributes))
    out_ += attributes;
  out_ += ">";
  if (number) out_ += QString("%1.\u00a0").arg(*number);
}

void HtmlWriter::pop() {
  const Element element = stack_.back();
  stack_.pop_back();
  --open_[element.name];
  if (!structure_.empty() && structure_.back() == stack_.size()) structure_.pop_back();
  const bool block = blockElements().contains(element.name);
  if (block && element.written) blockLength_ = 0;
  if (element.name == "table") {
    const Table table = tables_.back();
    tables_.pop_back();
    if (table.written && table.emitted) out_ += "</table>";
    if (!table.written) break_ = true;
    return;
  }
  if (element.written) {
    out_ += "</" + element.name + ">";
    --depth_;
  } else if (block) {
    (isCell(element.name) ? space_ : break_) = true;
  }
}

void HtmlWriter::popTo(std::size_t size) {
  while (stack_.size() > size) pop();
}

void HtmlWriter::closeUpTo(const QStringList& names, const QStringList& scopes) {
  const std::size_t last = stack_.size() > farthest ? stack_.size() - farthest : 0;
  for (std::size_t i = stack_.size(); i > last; --i) {
    const QString& name = stack_[i - 1].name;
    if (names.contains(name)) return popTo(i - 1);
    if (scopes.contains(name)) return;
  }
}

/// HTML's rules for ends that are left out.
void HtmlWriter::impliedEnds(const QString& name) {
  static const QStringList cells = {"td", "th", "caption"};
  if (name == "li") {
    closeUpTo({"li"}, {"ul", "ol", "table", "td", "th"});
  } else if (name == "dt" || name == "dd") {
    closeUpTo({"dt", "dd"}, {"dl", "table", "td", "th"});
  } else if (isCell(name)) {
    closeUpTo(cells, {"tr", "table"});
  } else if (name == "tr") {
    closeUpTo({"tr"}, {"table"});
    closeUpTo({"caption"}, {"table"});
  } else if (isTablePart(name)) {
    closeUpTo({"thead", "tbody", "tfoot", "caption"}, {"table"});
  } else if (blockElements().contains(name) && open_.value("p") > 0) {
    closeUpTo({"p"}, {"table", "td", "th", "li", "div", "blockquote"});
  }
}

void HtmlWriter::close(const QString& name) {
  if (open_.value(name) == 0) {
    // HTML's own rule for the end of a paragraph that is none; it keeps words apart.
    if (name == "p") break_ = true;
    return;
  }
  const std::size_t last = stack_.size() > farthest ? stack_.size() - farthest : 0;
  for (std::size_t i = stack_.size(); i > last; --i) {
    if (stack_[i - 1].name == name) return popTo(i - 1);
    // An end inside a cell never reaches what is around its table.
    if (!isStructure(name) && isCell(stack_[i - 1].name)) return;
    if (isTablePart(name) && stack_[i - 1].name == "table") return;
  }
}

// ---- elements ----

bool HtmlWriter::room(bool block) {
  if (block) ++allBlocks_;
  if (cut()) return false;
  if (block && ++blocks_ > bounds_.blocks) cut_ = Cut::blocks;
  return !cut();
}

void HtmlWriter::open(const QString& name, const QString& attributes, int span) {
  impliedEnds(name);
  if (name == "table") return openTable(attributes);
  if (isTablePart(name)) return openTablePart(name, attributes, span);
  const bool block = blockElements().contains(name);
  const bool deep = depth_ >= deepest;
  const bool fits = room(block && !deep);
  if (fits) ensureCell();
  if (deep && fits) deep_ = true;
  if (block && !deep) blockLength_ = 0;
  if (block && deep) break_ = true;
  if (block && !deep) break_ = false;
  if (fits && !deep) breakBefore();
  push(name, fits && !deep && !cut(), attributes);
}

void HtmlWriter::openTable(const QString& attributes) {
  const bool fits = room(true);
  if (fits) ensureCell();
  const bool deep = tables_.size() >= deepest_tables || depth_ + 3 > deepest;
  if (deep && fits) deepTables_ = true;
  push("table", false, {});
  tables_.push_back({fits && !deep, false, attributes});
  if (deep) break_ = true;
}

void HtmlWriter::emitTable() {
  Table& table = tables_.back();
  if (table.emitted) return;
  table.emitted = true;
  break_ = space_ = false;
  out_ += "<table" + table.attributes + ">";
}

void HtmlWriter::openTablePart(const QString& name, const QString& attributes, int span) {
  if (tables_.empty()) {
    // Out of place: its text stays.
    room(true);
    push(name, false, {});
    (isCell(name) ? space_ : break_) = true;
    return;
  }
  if (name == "caption") {
    // Before the table, as in the source.
    push(name, false, {});
    break_ = true;
    return;
  }
  // Rows stand in tables and their parts, cells in rows.
  const auto around = [this] { return stack_[structure_.back()].name; };
  while (isCell(around()) || (around() == "tr" && !isCell(name))) popTo(structure_.back());
  while (!isCell(name) && name != "tr" && around() != "table") popTo(structure_.back());
  if (isCell(name) && around() != "tr") openTablePart("tr", {}, 1);
  popTo(structure_.back() + 1);
  Table& table = tables_.back();
  if (name == "tr") {
    ++allRows_;
    const bool counts = table.written && !cut();
    if (counts && rows_ >= bounds_.rows) cut_ = Cut::rows;
    if (counts && cells_ + table.columns > bounds_.cells) cut_ = Cut::cells;
    if (counts && !cut()) {
      ++rows_;
      ++table.rows;
      table.column = 0;
      cells_ += table.columns;
    }
  } else if (isCell(name)) {
    table.column += span;
    if (table.column > table.columns) {
      // Every row of the table gets that many.
      cells_ += (table.column - table.columns) * table.rows;
      table.columns = table.column;
    }
    if (cells_ > bounds_.cells && !cut()) cut_ = Cut::cells;
  }
  const bool written = table.written && !cut();
  if (written) emitTable();
  if (!written) (isCell(name) ? space_ : break_) = true;
  if (written) blockLength_ = 0;
  push(name, written, attributes);
  if (written) break_ = space_ = false;
}

/// Text and elements in a table stand in a cell: before its first row, before the table.
void HtmlWriter::ensureCell() {
  if (structure_.empty() || tables_.empty()) return;
  if (isCell(stack_[structure_.back()].name)) return;
  if (!tables_.back().written || !tables_.back().emitted) return;
  openTablePart("td", {}, 1);
}

void HtmlWriter::single(const QString& name, const QString& attributes) {
  if (name == "hr") impliedEnds(name);
  const bool picture = name == "img";
  if (!room(!picture) || !roomForAttributes(attributes)) return;
  ensureCell();
  if (!picture) break_ = space_ = false;
  breakBefore();
  if (picture) visible_ = true;
  if (name == "hr") blockLength_ = 0;
  out_ += "<" + name + attributes + ">";
}

// ---- text ----

void HtmlWriter::breakBefore() {
  if (out_.isEmpty()) {
    // Nothing to keep it apart from.
  } else if (break_) {
    out_ += "<br>";
    room(true);
  } else if (space_) {
    out_ += ' ';
  }
  break_ = space_ = false;
}

void HtmlWriter::write(QStringView part) {
  qsizetype done = 0;
  for (qsizetype i = 0; i < part.size(); ++i) {
    if (part[i] != u'<' && part[i] != u'>') continue;
    out_ += part.mid(done, i - done);
    out_ += QLatin1String(part[i] == u'<' ? "&lt;" : "&gt;");
    done = i + 1;
  }
  out_ += part.mid(done);
}

/// The words that follow begin a paragraph of their own, in the same elements.
void HtmlWriter::splitBlock() {
  blockLength_ = 0;
  static const QSet<QString> repeated = {"p", "div", "center", "address", "h1", "h2", "h3", "h4", "h5", "h6"};
  std::size_t first = stack_.size();
  while (first > 0 && !blockElements().contains(stack_[first - 1].name)) --first;
  const bool again = first > 0 && repeated.contains(stack_[first - 1].name) && stack_[first - 1].written;
  if (again) --first;
  for (std::size_t i = stack_.size(); i > first; --i) {
    if (stack_[i - 1].written) out_ += "</" + stack_[i - 1].name + ">";
  }
  if (!again) out_ += "<div></div>";
  for (std::size_t i = first; i < stack_.size(); ++i) {
    if (stack_[i].written) out_ += "<" + stack_[i].name + ">";
  }
  room(true);
}

void HtmlWriter::text(QStringView html) {
  allCharacters_ += html.size();
  const bool pre = open_.value("pre") > 0;
  const bool blank = html.trimmed().isEmpty();
  if (blank && !pre && (break_ || space_)) return;
  if (pre) {
    const qint64 lines = html.count(u'\n');
    allBlocks_ += lines;
    blocks_ += cut() ? 0 : lines;
    if (blocks_ > bounds_.blocks && !cut()) cut_ = Cut::blocks;
  }
  if (cut()) {
    if (break_ && !blank) ++allBlocks_;
    break_ = break_ && blank;
    return;
  }
  if (!blank) {
    visible_ = true;
    ensureCell();
  } else if (!structure_.empty() && !isCell(stack_[structure_.back()].name)) {
    return;
  }
  if (cut()) return;
  breakBefore();
  if (characters_ + html.size() > bounds_.characters) {
    qsizetype end = bounds_.characters - characters_;
    while (end > 0 && !html[end - 1].isSpace() && bounds_.characters - characters_ - end < 100) --end;
    if (end > 0 && html[end - 1].isHighSurrogate()) --end;
    html = html.left(end);
    cut_ = Cut::characters;
  }
  characters_ += html.size();
  while (!html.isEmpty()) {
    qsizetype end = std::min(html.size(), std::max<qsizetype>(1, longest_block - blockLength_));
    const qsizetype line = pre ? html.left(end).indexOf(u'\n') : -1;
    if (line >= 0) {
      end = line + 1;
    } else if (end < html.size()) {
      // At a space where there is one, and never inside an entity or a pair of surrogates.
      qsizetype at = end;
      while (at > 0 && end - at < 200 && !html[at - 1].isSpace()) --at;
      if (at > 0 && html[at - 1].isSpace()) end = at;
      if (html[end - 1].isHighSurrogate()) ++end;
    }
    write(html.left(end));
    blockLength_ += end;
    html = html.mid(end);
    if (line >= 0) blockLength_ = 0;
    if (blockLength_ < longest_block || html.isEmpty()) continue;
    if (pre) {
      out_ += '\n';
      blockLength_ = 0;
    } else {
      splitBlock();
    }
  }
}

QString HtmlWriter::finish() {
  popTo(0);
  return std::move(out_);
}

QStringList HtmlWriter::notes() const {
  const QLocale locale(QLocale::English);
  const auto first = [&](qint64 shown, qint64 all, const char* what) {
    return QString("The first %1 of %2 %3 are shown.")
        .arg(locale.toString(std::min(shown, all)), locale.toString(all), QString(what));
  };
  QStringList list;
  if (cut_ == Cut::rows) list += first(bounds_.rows, allRows_, "table rows");
  if (cut_ == Cut::cells && allRows_ > rows_) list += first(rows_, allRows_, "table rows");
  if (cut_ == Cut::cells && allRows_ <= rows_) {
    list += QString("The first %1 cells of the tables are shown.").arg(locale.toString(bounds_.cells));
  }
  if (cut_ == Cut::characters) list += first(characters_, allCharacters_, "characters");
  if (cut_ == Cut::blocks) list += first(bounds_.blocks, allBlocks_, "paragraphs and lines");
  if (bare_)
    list += "Further links, pictures and styles are left out: together their addresses are too long.";
  if (deepTables_) list += "Tables within tables are shown as text from the fourth level on.";
  if (deep_) list += QString("Elements nested more than %1 deep are shown as plain text.").arg(deepest);
  return list;
}

}  // namespace tapedeck::app
