#include "app/control/notebook_breakpoints.h"

#include <QLocale>
#include <algorithm>
#include <iterator>
#include <utility>

namespace tapedeck::app {

using nlohmann::ordered_json;
using protocol::Breakpoint;
using protocol::BreakpointAction;
using protocol::BreakpointKind;

namespace {

bool inCell(const Breakpoint& breakpoint) {
  return breakpoint.kind == BreakpointKind::line || breakpoint.kind == BreakpointKind::cell;
}

template <class Enumeration>
std::string nameOf(Enumeration value) {
  return std::string(names(value).at(static_cast<std::size_t>(value)));
}

template <class Enumeration>
bool fromName(const std::string& name, Enumeration& value) {
  const auto all = names(value);
  const auto found = std::find(all.begin(), all.end(), name);
  if (found == all.end()) return false;
  value = static_cast<Enumeration>(found - all.begin());
  return true;
}

std::string textOf(const ordered_json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t numberOf(const ordered_json& entry, const char* key, std::uint64_t otherwise) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_number_integer()) return otherwise;
  if (!found->is_number_unsigned() && found->get<std::int64_t>() < 0) return otherwise;
  return found->get<std::uint64_t>();
}

}  // namespace

ordered_json toMetadata(const Breakpoint& breakpoint) {
  ordered_json entry = {{"kind", nameOf(breakpoint.kind)}};
  if (breakpoint.kind == BreakpointKind::line) entry["line"] = breakpoint.line;
  if (!breakpoint.target.empty()) entry["target"] = breakpoint.target;
  if (!breakpoint.condition.empty()) entry["condition"] = breakpoint.condition;
  if (breakpoint.from_hit > 1) entry["from_hit"] = breakpoint.from_hit;
  if (!breakpoint.enabled) entry["enabled"] = false;
  if (breakpoint.once) entry["once"] = true;
  if (breakpoint.action != BreakpointAction::stop) {
    entry["action"] = nameOf(breakpoint.action);
    entry["text"] = breakpoint.text;
  }
  return entry;
}

std::vector<Breakpoint> fromMetadata(const ordered_json& own, const std::string& cell) {
  std::vector<Breakpoint> breakpoints;
  const auto list = own.is_object() ? own.find("breakpoints") : own.end();
  if (!own.is_object() || list == own.end() || !list->is_array()) return breakpoints;
  for (const ordered_json& entry : *list) {
    Breakpoint breakpoint;
    if (!entry.is_object() || !fromName(textOf(entry, "kind"), breakpoint.kind)) continue;
    if (inCell(breakpoint) == cell.empty()) continue;
    breakpoint.cell = cell;
    breakpoint.line =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(numberOf(entry, "line", 0), 1u << 30));
    if (breakpoint.kind == BreakpointKind::line && breakpoint.line == 0) continue;
    breakpoint.target = textOf(entry, "target");
    breakpoint.condition = textOf(entry, "condition");
    breakpoint.from_hit = std::max<std::uint64_t>(1, numberOf(entry, "from_hit", 1));
    const auto on = [&](const char* key, bool otherwise) {
      const auto found = entry.find(key);
      return found != entry.end() && found->is_boolean() ? found->get<bool>() : otherwise;
    };
    breakpoint.enabled = on("enabled", true);
    breakpoint.once = on("once", false);
    if (fromName(textOf(entry, "action"), breakpoint.action)) breakpoint.text = textOf(entry, "text");
    breakpoints.push_back(std::move(breakpoint));
  }
  return breakpoints;
}

QString lineProblem(const QStringList& lines, int line) {
  if (line < 1 || line > lines.size())
    return QString("The cell has no line %1: it has %2.").arg(line).arg(lines.size());
  const QString text = lines[line - 1].trimmed();
  if (text.isEmpty()) return QString("Line %1 is empty.").arg(line);
  if (text.startsWith('#')) return QString("Line %1 is a comment.").arg(line);
  return {};
}

NotebookBreakpoints::NotebookBreakpoints(Document* document, inspector::BreakpointsModel* breakpoints,
                                         QObject* parent)
    : QObject(parent), document_(document), breakpoints_(breakpoints) {
  connect(document_, &Document::reset, this, &NotebookBreakpoints::load);
  connect(document_, &Document::cellRemoved, this, &NotebookBreakpoints::removeLost);
  connect(document_, &Document::cellInserted, this, &NotebookBreakpoints::addCell);
  connect(document_, &Document::cellChanged, this, &NotebookBreakpoints::checkLines);
  connect(breakpoints_, &inspector::BreakpointsModel::edited, this, [this] {
    checkLines();
    save();
  });
}

std::vector<Breakpoint> NotebookBreakpoints::read(int index, std::size_t room) {
  const QString id = index < 0 ? QString() : document_->cell(index).id;
  std::vector<Breakpoint> all = fromMetadata(document_->ownMetadata(index), id.toStdString());
  beyond_.remove(id);
  if (all.size() <= room) return all;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(room);
  beyond_.insert(id,
                 std::vector<Breakpoint>(std::make_move_iterator(first), std::make_move_iterator(all.end())));
  all.erase(first, all.end());
  return all;
}

void NotebookBreakpoints::load() {
  beyond_.clear();
  std::vector<Breakpoint> all = read(-1, most_breakpoints);
  for (int i = 0; i < document_->cellCount(); ++i) {
    auto more = read(i, most_breakpoints - all.size());
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  std::size_t rest = 0;
  for (const std::vector<Breakpoint>& some : std::as_const(beyond_)) rest += some.size();
  const QLocale english(QLocale::English);
  const QString sentence =
      rest == 0
          ? QString()
          : QString("The notebook has %1 breakpoints. The first %2 are set; the others stay in the file.")
                .arg(english.toString(qulonglong{all.size() + rest}),
                     english.toString(qulonglong{all.size()}));
  breakpoints_->restore(std::move(all));
  checkLines();
  emit loaded(sentence);
}

// Brought back by an undo, or pasted: with what it had.
void NotebookBreakpoints::addCell(int index) {
  const std::size_t there = breakpoints_->all().size();
  breakpoints_->addAll(read(index, most_breakpoints - std::min(there, most_breakpoints)));
}

void NotebookBreakpoints::save() {
  QHash<QString, ordered_json> lists;
  const auto put = [&lists](const Breakpoint& breakpoint) {
    ordered_json& list = lists[inCell(breakpoint) ? QString::fromStdString(breakpoint.cell) : QString()];
    if (list.is_null()) list = ordered_json::array();
    list.push_back(toMetadata(breakpoint));
  };
  for (const inspector::BreakpointEntry& entry : breakpoints_->all())
    if (!entry.passing) put(entry.breakpoint);
  for (const std::vector<Breakpoint>& some : std::as_const(beyond_))
    for (const Breakpoint& breakpoint : some) put(breakpoint);
  for (int index = -1; index < document_->cellCount(); ++index) {
    const ordered_json list = lists.value(index < 0 ? QString() : document_->cell(index).id);
    // Other members may be a later version's.
    ordered_json own = document_->ownMetadata(index);
    if (own.is_null() && list.is_null()) continue;
    if (!own.is_object()) own = ordered_json::object();
    own.erase("breakpoints");
    if (!list.is_null()) own["breakpoints"] = list;
    document_->setOwnMetadata(index, own.empty() ? ordered_json(nullptr) : own);
  }
}

void NotebookBreakpoints::removeLost() {
  std::vector<quint64> lost;
  for (const inspector::BreakpointEntry& entry : breakpoints_->all())
    if (inCell(entry.breakpoint) && document_->indexOf(QString::fromStdString(entry.breakpoint.cell)) < 0)
      lost.push_back(entry.breakpoint.id);
  breakpoints_->removeThese(lost);
}

void NotebookBreakpoints::checkLines() {
  struct Text {
    bool code = false;
    QStringList lines;
  };
  QHash<QString, Text> cells;
  for (const inspector::BreakpointEntry& entry : breakpoints_->all())
    if (entry.breakpoint.kind == BreakpointKind::line)
      cells.insert(QString::fromStdString(entry.breakpoint.cell), {});
  for (int i = 0; i < document_->cellCount(); ++i) {
    const Cell& cell = document_->cell(i);
    const auto found = cells.find(cell.id);
    if (found != cells.end()) *found = {cell.type == CellType::code, cell.source.split('\n')};
  }
  QHash<quint64, QString> notes;
  for (const inspector::BreakpointEntry& entry : breakpoints_->all()) {
    if (entry.breakpoint.kind != BreakpointKind::line) continue;
    const Text text = cells.value(QString::fromStdString(entry.breakpoint.cell));
    if (text.lines.isEmpty()) continue;  // its cell is gone
    notes.insert(entry.breakpoint.id, text.code
                                          ? lineProblem(text.lines, static_cast<int>(entry.breakpoint.line))
                                          : QString("This is not a code cell."));
  }
  breakpoints_->setPlaceNotes(notes);
}

}  // namespace tapedeck::app
