#include "app/control/notebook_breakpoints.h"

#include <algorithm>

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

QString lineProblem(const QString& source, int line) {
  const QStringList lines = source.split('\n');
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
  connect(document_, &Document::cellInserted, this, [this](int index) {
    // Brought back by an undo, or pasted: with what it had.
    const std::string id = document_->cell(index).id.toStdString();
    for (Breakpoint& breakpoint : fromMetadata(document_->ownMetadata(index), id))
      breakpoints_->add(std::move(breakpoint));
  });
  connect(document_, &Document::cellChanged, this, &NotebookBreakpoints::checkLines);
  connect(breakpoints_, &inspector::BreakpointsModel::edited, this, [this] {
    checkLines();
    save();
  });
}

void NotebookBreakpoints::load() {
  std::vector<Breakpoint> all = fromMetadata(document_->ownMetadata(-1), {});
  for (int i = 0; i < document_->cellCount(); ++i) {
    auto more = fromMetadata(document_->ownMetadata(i), document_->cell(i).id.toStdString());
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  breakpoints_->restore(std::move(all));
  checkLines();
}

void NotebookBreakpoints::save() {
  const auto write = [this](int index) {
    const std::string id = index < 0 ? std::string() : document_->cell(index).id.toStdString();
    ordered_json list = ordered_json::array();
    for (const inspector::BreakpointEntry& entry : breakpoints_->all()) {
      const Breakpoint& breakpoint = entry.breakpoint;
      if (!entry.passing && inCell(breakpoint) == (index >= 0) && (index < 0 || breakpoint.cell == id))
        list.push_back(toMetadata(breakpoint));
    }
    // Other members may be a later version's.
    ordered_json own = document_->ownMetadata(index);
    if (!own.is_object()) own = ordered_json::object();
    own.erase("breakpoints");
    if (!list.empty()) own["breakpoints"] = std::move(list);
    const bool none = own.empty();
    if (none && document_->ownMetadata(index).is_null()) return;
    document_->setOwnMetadata(index, none ? ordered_json(nullptr) : own);
  };
  write(-1);
  for (int i = 0; i < document_->cellCount(); ++i) write(i);
}

void NotebookBreakpoints::removeLost() {
  std::vector<quint64> lost;
  for (const inspector::BreakpointEntry& entry : breakpoints_->all())
    if (inCell(entry.breakpoint) && document_->indexOf(QString::fromStdString(entry.breakpoint.cell)) < 0)
      lost.push_back(entry.breakpoint.id);
  for (const quint64 id : lost) breakpoints_->remove(id);
}

void NotebookBreakpoints::checkLines() {
  const std::vector<inspector::BreakpointEntry> entries = breakpoints_->all();
  for (const inspector::BreakpointEntry& entry : entries) {
    if (entry.breakpoint.kind != BreakpointKind::line) continue;
    const int cell = document_->indexOf(QString::fromStdString(entry.breakpoint.cell));
    if (cell < 0) continue;
    const bool code = document_->cell(cell).type == CellType::code;
    breakpoints_->setPlaceNote(
        entry.breakpoint.id,
        code ? lineProblem(document_->cell(cell).source, static_cast<int>(entry.breakpoint.line))
             : QString("This cell is no code."));
  }
}

}  // namespace tapedeck::app
