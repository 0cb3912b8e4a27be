#include <algorithm>
#include <string_view>

#include "app/notebook/document/json_text.h"
#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

/// Length of the line end at `i`, as Python's str.splitlines sees it; 0: none. `\r\n` is one.
std::size_t lineEnd(std::string_view text, std::size_t i) {
  switch (static_cast<unsigned char>(text[i])) {
    case '\r':
      return i + 1 < text.size() && text[i + 1] == '\n' ? 2 : 1;
    case '\n':
    case 0x0b:
    case 0x0c:
    case 0x1c:
    case 0x1d:
    case 0x1e:
      return 1;
    case 0xc2:
      return text.substr(i, 2) == "\xc2\x85" ? 2 : 0;
    case 0xe2:
      return text.substr(i, 3) == "\xe2\x80\xa8" || text.substr(i, 3) == "\xe2\x80\xa9" ? 3 : 0;
    default:
      return 0;
  }
}

ordered_json splitLines(std::string_view text) {
  ordered_json lines = ordered_json::array();
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = lineEnd(text, i);
    i += length == 0 ? 1 : length;
    if (length == 0) continue;
    lines.push_back(std::string(text.substr(start, i - start)));
    start = i;
  }
  if (start < text.size()) lines.push_back(std::string(text.substr(start)));
  return lines;
}

void splitBundle(ordered_json& bundle) {
  if (!bundle.is_object()) return;
  for (auto& [mime, value] : bundle.items()) {
    const bool text =
        mime.starts_with("text/") || mime == "application/javascript" || mime == "image/svg+xml";
    if (text && value.is_string()) value = splitLines(value.get_ref<const std::string&>());
  }
}

void splitOutput(ordered_json& output) {
  const std::string type = output.value("output_type", "");
  if ((type == "execute_result" || type == "display_data") && output.contains("data")) {
    splitBundle(output["data"]);
  } else if (type == "stream" && output.contains("text") && output["text"].is_string()) {
    output["text"] = splitLines(output["text"].get_ref<const std::string&>());
  }
}

/// UTF-8, with lone surrogates in the three-byte form that writeJson escapes.
std::string sourceText(const QString& source) {
  if (source.isValidUtf16()) return source.toStdString();
  std::string text;
  for (qsizetype i = 0; i < source.size(); ++i) {
    const char16_t unit = source[i].unicode();
    const bool pair = source[i].isHighSurrogate() && i + 1 < source.size() && source[i + 1].isLowSurrogate();
    if (source[i].isSurrogate() && !pair) {
      text += {static_cast<char>(0xe0 | (unit >> 12)), static_cast<char>(0x80 | ((unit >> 6) & 0x3f)),
               static_cast<char>(0x80 | (unit & 0x3f))};
    } else {
      text += source.mid(i, pair ? 2 : 1).toStdString();
      i += pair ? 1 : 0;
    }
  }
  return text;
}

/// The members of `json` in the order of `keys`, and after them those that have none.
ordered_json inOrder(ordered_json json, const std::vector<std::string>& keys) {
  ordered_json ordered = ordered_json::object();
  for (const std::string& key : keys)
    if (json.contains(key)) ordered[key] = std::move(json[key]);
  for (auto& [key, value] : json.items())
    if (!ordered.contains(key)) ordered[key] = std::move(value);
  return ordered;
}

/// Still what the file says.
bool saysTheSame(const CellData& data) {
  const CellText& text = *data.text;
  return data.revision == 0 && data.cell.type == text.type && (!text.hasId || data.cell.id == text.id) &&
         data.cell.source == text.source;
}

/// Compared as what would be written: NaN, which a file may hold, is no other number than itself there.
bool saysTheSame(const ordered_json& a, const ordered_json& b) {
  if (a == b) return true;
  std::string written_a, written_b;
  writeJson(a, 0, {}, written_a);
  writeJson(b, 0, {}, written_b);
  return written_a == written_b;
}

class NotebookWriter {
 public:
  NotebookWriter(const NotebookData& notebook, std::size_t limit)
      : notebook_(notebook), style_(notebook.style), limit_(limit) {
    const auto minor = notebook.header.find("nbformat_minor");
    idsNeeded_ = minor == notebook.header.end() || !minor->is_number_integer() || minor->get<int>() >= 5;
  }

  std::string write() {
    const HeaderText* text = notebook_.text.get();
    if (text && saysTheSame(text->header, notebook_.header)) {
      out_ = text->before;
      writeCells();
      out_ += text->after;
      return std::move(out_);
    }
    writeHeader(text ? text->keys : std::vector<std::string>());
    // The end of the file is the file's own too: with a line end or without one.
    out_ += text ? text->after.substr(text->after.rfind('}') + 1) : std::string("\n");
    return std::move(out_);
  }

 private:
  void writeHeader(const std::vector<std::string>& order) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : notebook_.header.items()) keys.push_back(key);
    keys.push_back("cells");
    if (style_.json.sorted)
      std::sort(keys.begin(), keys.end());
    else
      std::stable_sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
        return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
      });
    out_ += '{';
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0) out_ += style_.json.comma;
      writeNewLine(1, style_.json, out_);
      writeJsonString(keys[i], style_.json, out_);
      out_ += style_.json.colon;
      if (keys[i] == "cells") {
        out_ += '[';
        writeCells();
        out_ += ']';
      } else {
        writeJson(notebook_.header[keys[i]], 1, style_.json, out_);
      }
    }
    writeNewLine(0, style_.json, out_);
    out_ += '}';
  }

  // Cell by cell, so that no second copy of all outputs is ever made.
  void writeCells() {
    bool first = true;
    for (const CellPointer& cell : notebook_.cells) {
      out_ += first ? style_.beforeFirst : style_.between;
      first = false;
      if (cell->text && saysTheSame(*cell)) {
        const TextSpan span = cell->text->span;
        out_.append(cell->text->file.constData() + span.begin, span.end - span.begin);
      } else {
        writeJson(cellJson(*cell), 2, style_.json, out_);
      }
    }
    if (!first) out_ += style_.afterLast;
  }

  ordered_json cellJson(const CellData& data) const {
    ordered_json cell = data.members;
    if (idsNeeded_ || (data.text && data.text->hasId)) cell["id"] = data.cell.id.toStdString();
    const std::string source = sourceText(data.cell.source);
    cell["source"] = style_.textAsLines ? splitLines(source) : ordered_json(source);
    if (cell.contains("metadata")) cell["metadata"].erase("trusted");
    if (data.cell.type == CellType::code) cell["outputs"] = storedOutputs(data.cell, limit_);
    if (style_.textAsLines) {
      if (cell.contains("attachments"))
        for (auto& attachment : cell["attachments"]) splitBundle(attachment);
      if (cell.contains("outputs"))
        for (auto& output : cell["outputs"]) splitOutput(output);
    }
    return style_.json.sorted ? cell : inOrder(std::move(cell), keysFor(data));
  }

  /// Of the cell itself, else of one like it.
  std::vector<std::string> keysFor(const CellData& data) const {
    if (data.text && data.text->type == data.cell.type) return data.text->keys;
    const CellText* other = nullptr;
    for (const CellPointer& cell : notebook_.cells) {
      if (!cell->text) continue;
      if (cell->text->type == data.cell.type) return cell->text->keys;
      other = cell->text.get();
    }
    return other ? other->keys : std::vector<std::string>();
  }

  const NotebookData& notebook_;
  const NotebookStyle& style_;
  std::size_t limit_;
  std::string out_;
  bool idsNeeded_ = true;
};

}  // namespace

ordered_json storedOutputs(const Cell& cell, std::size_t limit) {
  ordered_json outputs = cell.outputs;
  for (const auto& [at, text] : cell.printed) outputs[at]["text"] = text.stored(limit);
  return outputs;
}

QByteArray writeNotebook(const NotebookData& notebook, std::size_t limit) {
  const std::string text = NotebookWriter(notebook, limit).write();
  return QByteArray(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace tapedeck::app
