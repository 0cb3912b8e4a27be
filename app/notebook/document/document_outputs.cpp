// What a running cell sends, taken into its outputs.
#include <QLocale>

#include "app/notebook/document/document_private.h"
#include "app/notebook/document/stream_text.h"
#include "engine/protocol/limits.h"

namespace tapedeck::app {

using nlohmann::ordered_json;

namespace {

/// Of longer streams the output has the beginning, and Cell::printed all: outputs are copied with every
/// snapshot.
constexpr std::size_t most_in_output = std::size_t{1} << 20;
/// In a cell with more outputs each stream is gathered in one.
constexpr std::size_t most_separate = 1'000;
constexpr std::size_t most_outputs = protocol::max_cell_outputs + most_separate + 10;

constexpr const char* gathered_note =
    "[… this cell has more than 1,000 outputs: from here on, what each stream prints is gathered in one "
    "output, whatever comes between …]\n";

/// A text member. A file and a session may have anything there: `otherwise` for another type, and for none.
template <class Json>
std::string textMember(const Json& object, const char* name, const char* otherwise = "") {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return otherwise;
  return found->template get_ref<const std::string&>();
}

std::string leftOutNote(quint64 count) {
  const QLocale english(QLocale::English);
  return QString(
             "[… %1 more %2 left out: a cell keeps at most %3 outputs besides what it prints, and %4 MiB of "
             "them …]\n")
      .arg(english.toString(count), count == 1 ? "output was" : "outputs were",
           english.toString(qulonglong{protocol::max_cell_outputs}),
           QString::number(protocol::max_cell_output_bytes >> 20))
      .toStdString();
}

ordered_json streamOutput(const std::string& name, const std::string& text) {
  return {{"name", name}, {"output_type", "stream"}, {"text", text}};
}

/// Outputs of a file may lack members, or have others than strings.
bool isStream(const ordered_json& output, const std::string& name) {
  if (textMember(output, "output_type") != "stream" || textMember(output, "name") != name) return false;
  const auto text = output.find("text");
  return text != output.end() && text->is_string();
}

/// The output that what is printed under that name continues.
std::optional<std::size_t> continued(const CellData& data, const std::string& name) {
  const ordered_json& outputs = data.cell.outputs;
  if (data.gathered) {
    const auto found = data.gathered->find(name);
    if (found == data.gathered->end() || !isStream(outputs[found->second], name)) return {};
    return found->second;
  }
  if (outputs.empty() || (data.leftOutNote && *data.leftOutNote + 1 == outputs.size())) return {};
  if (!isStream(outputs.back(), name)) return {};
  return outputs.size() - 1;
}

/// The beginning that an output has of a longer text, up to a line's end where there is one.
std::string beginning(const PrintedText& text) {
  std::string head = text.bytes(0, most_in_output);
  const std::size_t line = head.rfind('\n');
  if (line != std::string::npos) {
    head.resize(line + 1);
  } else if (head.size() < text.size()) {
    while (!head.empty() && (static_cast<unsigned char>(head.back()) & 0xc0) == 0x80) head.pop_back();
    if (!head.empty() && (static_cast<unsigned char>(head.back()) & 0x80) != 0) head.pop_back();
  }
  return head;
}

/// Returns how many bytes of the stream `at` stayed as they were.
std::size_t print(Cell& cell, std::size_t at, const std::string& text) {
  const auto printed = cell.printed.find(at);
  if (printed != cell.printed.end()) return printed->second.append(text);
  std::string& own = cell.outputs[at]["text"].get_ref<std::string&>();
  if (own.size() + text.size() <= most_in_output) return appendStreamText(own, text);
  PrintedText& whole = cell.printed.emplace(at, PrintedText(own)).first->second;
  const std::size_t kept = whole.append(text);
  own = beginning(whole);
  return kept;
}

}  // namespace

void Document::appendOutput(const QString& cellId, const nlohmann::json& output) {
  const int index = indexOf(cellId);
  if (index < 0 || cell(index).type != CellType::code || !output.is_object()) return;
  CellData& data = d_->editResults(index);
  ordered_json& outputs = data.cell.outputs;
  OutputChange change{OutputChange::Kind::output, outputs.size(), 0};
  const bool error = textMember(output, "output_type") == "error";
  if (textMember(output, "output_type") == "stream" && output.contains("text")) {
    const std::string text = joinedText(ordered_json(output["text"]));
    const std::string name = textMember(output, "name", "stdout");
    if (const auto at = continued(data, name)) {
      change = {OutputChange::Kind::text, *at, print(data.cell, *at, text)};
    } else if (outputs.size() >= most_outputs) {
      return addLeftOut(cellId, 1);
    } else {
      if (outputs.size() >= most_separate && !data.gathered) {
        data.gathered.emplace();
        outputs.push_back(streamOutput("stderr", gathered_note));
        data.displayIds += QString();
        emit outputEdited(index, change);
        ++change.output;
      }
      if (data.gathered) data.gathered->emplace(name, outputs.size());
      outputs.push_back(streamOutput(name, {}));
      data.displayIds += QString();
      print(data.cell, outputs.size() - 1, text);
    }
  } else if (outputs.size() >= most_outputs + (error ? 2 : 0)) {  // how it failed, behind the note
    return addLeftOut(cellId, 1);
  } else {
    ordered_json own(output);
    QString displayId;
    if (own.contains("transient") && own["transient"].is_object()) {
      displayId = QString::fromStdString(textMember(own["transient"], "display_id"));
    }
    own.erase("transient");
    outputs.push_back(std::move(own));
    data.displayIds += displayId;
  }
  d_->announceOutput(this, index, change);
  d_->announceModified(this);
}

void Document::addLeftOut(const QString& cellId, quint64 count) {
  const int index = indexOf(cellId);
  if (index < 0 || cell(index).type != CellType::code || count == 0) return;
  CellData& data = d_->editResults(index);
  ordered_json& outputs = data.cell.outputs;
  data.leftOut += count;
  const ordered_json note = streamOutput("stderr", leftOutNote(data.leftOut));
  if (data.leftOutNote) {
    outputs[*data.leftOutNote] = note;
  } else {
    data.leftOutNote = outputs.size();
    outputs.push_back(note);
    data.displayIds += QString();
  }
  d_->announceOutput(this, index, {OutputChange::Kind::output, *data.leftOutNote, 0});
  d_->announceModified(this);
}

}  // namespace tapedeck::app
