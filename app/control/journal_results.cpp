#include "app/control/journal_results.h"

#include <algorithm>
#include <climits>

#include "app/notebook/document/output_limit.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

constexpr const char* times_member = "execution";
/// No revision of a document: the cell differs from what its file has.
constexpr quint64 another_revision = ~quint64{0};

bool insideCharacter(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

const std::string* streamTextOf(const ordered_json& output) {
  if (!output.is_object()) return nullptr;
  const auto text = output.find("text");
  return text != output.end() && text->is_string() ? &text->get_ref<const std::string&>() : nullptr;
}

JournalOutput changeOf(const Cell& cell, std::size_t at, std::size_t kept) {
  JournalOutput change;
  change.at = at;
  const ordered_json& output = cell.outputs[at];
  const auto printed = cell.printed.find(at);
  const std::string* text = streamTextOf(output);
  change.whole = kept == 0 || text == nullptr;
  if (printed != cell.printed.end()) {
    change.printed = printed->second;
    change.size = printed->second.size();
    if (change.whole)
      for (const auto& [name, value] : output.items())
        if (name != "text") change.output[name] = value;
  } else if (change.whole) {
    change.output = output;
    change.size = text != nullptr ? text->size() : 0;
  } else {
    change.size = text->size();
    while (insideCharacter(*text, kept)) --kept;
    change.text = text->substr(std::min(kept, text->size()));
  }
  change.kept = kept;
  return change;
}

/// The end of a text, of which a record has as much as it may.
void addText(ordered_json& json, const JournalOutput& output) {
  std::size_t kept = output.kept;
  std::size_t begin = kept;
  std::string text = output.text;
  if (output.printed) {
    const PrintedText& printed = *output.printed;
    if (printed.size() > kept + recovery_output_limit) begin = printed.size() - recovery_output_limit;
    text = printed.bytes(begin, printed.size());
    if (begin > kept) {
      const std::size_t line = text.find('\n');
      std::size_t skip = line == std::string::npos ? 0 : line + 1;
      while (insideCharacter(text, skip)) ++skip;
      text.erase(0, skip);
      begin += skip;
    }
    for (; begin == kept && kept > 0 && insideCharacter(text, 0); begin = --kept)
      text.insert(0, printed.bytes(kept - 1, kept));
  }
  json["kept"] = kept;
  json["text"] = text;
  if (begin > kept) json["missing"] = begin - kept;
}

ordered_json outputJson(const JournalOutput& output) {
  ordered_json json = {{"at", output.at}, {"size", output.size}};
  if (!output.whole) {
    addText(json, output);
    return json;
  }
  json["output"] = output.output;
  if (output.printed) json["output"]["text"] = output.printed->stored(recovery_output_limit);
  return json;
}

bool readNumber(const ordered_json& from, const char* name, std::size_t& number) {
  const auto member = from.find(name);
  if (member == from.end() || !member->is_number_unsigned()) return false;
  number = member->get<std::size_t>();
  return true;
}

bool readOutput(const ordered_json& from, JournalOutput& output) {
  if (!from.is_object() || !readNumber(from, "at", output.at) || !readNumber(from, "size", output.size))
    return false;
  const auto whole = from.find("output"), text = from.find("text");
  output.whole = whole != from.end();
  if (output.whole) {
    output.output = *whole;
    return whole->is_object();
  }
  if (text == from.end() || !text->is_string() || !readNumber(from, "kept", output.kept)) return false;
  output.text = text->get<std::string>();
  return !from.contains("missing") || readNumber(from, "missing", output.missing);
}

/// The text `before`, of which the window had `sizeBefore` bytes.
std::string continued(std::string before, std::size_t sizeBefore, const JournalOutput& change) {
  // A text that is cut has its gap before its end.
  const bool cut = sizeBefore > before.size();
  const std::size_t shift = cut ? sizeBefore - before.size() : before.size() - sizeBefore;
  std::size_t kept = cut ? change.kept - std::min(shift, change.kept) : change.kept + shift;
  std::size_t missing = change.missing;
  if (kept > before.size()) {
    missing += kept - before.size();
    kept = before.size();
  }
  before.resize(kept);
  if (missing > 0) {
    if (!before.empty() && !before.ends_with('\n')) before += '\n';
    before += "[… " + sizeText(missing) +
              " of this output are missing here: Tapedeck ended before it had written them …]\n";
  }
  return before + change.text;
}

/// Whether a notebook's file may hold it.
bool isWritable(const CellData& cell) {
  NotebookData notebook = emptyNotebook();
  notebook.cells.push_back(std::make_shared<CellData>(cell));
  notebook.cells.back()->text.reset();
  try {
    readNotebook(writeNotebook(notebook), "The journal");
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

TextSizes cutTexts(const Document& document, std::size_t limit) {
  TextSizes sizes;
  for (int i = 0; i < document.cellCount(); ++i)
    for (const auto& [at, text] : document.cell(i).printed)
      if (text.size() > limit) sizes[document.cell(i).id][at] = text.size();
  return sizes;
}

// ---- what changed ----

void ResultChanges::add(const QString& id, const OutputChange& change) {
  Cell& cell = cells_[id];
  switch (change.kind) {
    case OutputChange::Kind::all:
      cell.anew = true;
      cell.kept.clear();
      break;
    case OutputChange::Kind::output:
      cell.kept[change.output] = 0;
      break;
    case OutputChange::Kind::text:
      if (!cell.anew) {
        const auto [known, fresh] = cell.kept.emplace(change.output, change.kept);
        if (!fresh) known->second = std::min(known->second, change.kept);
      }
      break;
    case OutputChange::Kind::execution:
      break;
  }
}

void ResultChanges::add(const ResultChanges& others) {
  for (auto other = others.cells_.constBegin(); other != others.cells_.constEnd(); ++other) {
    Cell& cell = cells_[other.key()];
    cell.anew = cell.anew || other->anew;
    for (const auto& [at, kept] : other->kept) {
      const auto [known, fresh] = cell.kept.emplace(at, kept);
      if (!fresh) known->second = std::min(known->second, kept);
    }
  }
}

std::vector<JournalResults> ResultChanges::of(const Document& document) const {
  std::vector<JournalResults> results;
  for (auto changed = cells_.constBegin(); changed != cells_.constEnd(); ++changed) {
    const int index = document.indexOf(changed.key());
    if (index < 0 || document.cell(index).type != CellType::code) continue;
    const app::Cell& cell = document.cell(index);
    JournalResults result{cell.id, cell.executionCount, nullptr, changed->anew, {}};
    const ordered_json& members = document.cellMembers(index);
    if (const auto metadata = members.find("metadata"); metadata != members.end() && metadata->is_object())
      if (const auto times = metadata->find(times_member); times != metadata->end()) result.times = *times;
    for (std::size_t at = 0; changed->anew && at < cell.outputs.size(); ++at)
      result.outputs.push_back(changeOf(cell, at, 0));
    for (const auto& [at, kept] : changed->kept)
      if (!changed->anew && at < cell.outputs.size()) result.outputs.push_back(changeOf(cell, at, kept));
    results.push_back(std::move(result));
  }
  return results;
}

// ---- in the journal ----

ordered_json resultsJson(const std::vector<JournalResults>& results) {
  ordered_json list = ordered_json::array();
  for (const JournalResults& result : results) {
    ordered_json cell = {{"id", result.id.toStdString()}, {"count", result.executionCount}};
    if (!result.times.is_null()) cell["times"] = result.times;
    if (result.anew) cell["anew"] = true;
    cell["outputs"] = ordered_json::array();
    for (const JournalOutput& output : result.outputs) cell["outputs"].push_back(outputJson(output));
    list.push_back(std::move(cell));
  }
  return list;
}

bool readResults(const ordered_json& from, std::vector<JournalResults>& results) {
  if (!from.is_array()) return false;
  for (const ordered_json& each : from) {
    if (!each.is_object()) return false;
    const auto id = each.find("id"), count = each.find("count"), outputs = each.find("outputs");
    if (id == each.end() || !id->is_string() || count == each.end() || !count->is_number_integer() ||
        outputs == each.end() || !outputs->is_array())
      return false;
    JournalResults result{
        QString::fromStdString(id->get<std::string>()), 0, nullptr, each.contains("anew"), {}};
    result.executionCount = static_cast<int>(std::clamp<qint64>(count->get<qint64>(), 0, INT_MAX));
    if (const auto times = each.find("times"); times != each.end() && times->is_object())
      result.times = *times;
    for (const ordered_json& output : *outputs)
      if (!readOutput(output, result.outputs.emplace_back())) return false;
    results.push_back(std::move(result));
  }
  return true;
}

void applyResults(CellData& cell, const JournalResults& results, std::map<std::size_t, std::size_t>& sizes) {
  if (cell.cell.type != CellType::code) return;
  CellData changed = cell;
  std::map<std::size_t, std::size_t> now = sizes;
  changed.revision = another_revision;
  changed.cell.executionCount = results.executionCount;
  changed.members["execution_count"] =
      results.executionCount > 0 ? ordered_json(results.executionCount) : ordered_json(nullptr);
  ordered_json& metadata = changed.members["metadata"];
  if (!metadata.is_object()) metadata = ordered_json::object();
  metadata.erase(times_member);
  if (!results.times.is_null()) metadata[times_member] = results.times;
  if (results.anew) {
    dropOutputs(changed);
    now.clear();
  }
  ordered_json& outputs = changed.cell.outputs;
  for (const JournalOutput& output : results.outputs) {
    // One that a record had which can't be read leaves no gap.
    const std::size_t at = std::min(output.at, outputs.size());
    const bool there = at < outputs.size();
    if (output.whole) {
      if (there)
        outputs[at] = output.output;
      else
        outputs.push_back(output.output);
    } else if (const std::string* text = there ? streamTextOf(outputs[at]) : nullptr; text != nullptr) {
      const auto before = now.find(at);
      outputs[at]["text"] = continued(*text, before == now.end() ? text->size() : before->second, output);
    } else {
      continue;
    }
    now[at] = output.size;
  }
  if (!isWritable(changed)) return;
  cell = std::move(changed);
  sizes = std::move(now);
}

}  // namespace tapedeck::app
