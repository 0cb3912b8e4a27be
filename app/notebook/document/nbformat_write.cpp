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

ordered_json cellJson(const CellData& data) {
  ordered_json cell = data.members;
  cell["id"] = data.cell.id.toStdString();
  cell["source"] = splitLines(sourceText(data.cell.source));
  if (cell.contains("metadata")) cell["metadata"].erase("trusted");
  if (cell.contains("attachments")) {
    for (auto& attachment : cell["attachments"]) splitBundle(attachment);
  }
  if (data.cell.type == CellType::code) {
    cell["outputs"] = data.cell.outputs;
    for (auto& output : cell["outputs"]) splitOutput(output);
  }
  return cell;
}

}  // namespace

QByteArray writeNotebook(const NotebookData& notebook) {
  // Cell by cell, so that no second copy of all outputs is ever made.
  std::string out = "{\n \"cells\": [";
  bool first = true;
  for (const CellPointer& cell : notebook.cells) {
    out += first ? "\n  " : ",\n  ";
    first = false;
    writeJson(cellJson(*cell), 2, out);
  }
  out += first ? "]" : "\n ]";
  ordered_json header = notebook.header;
  for (const char* transient : {"orig_nbformat", "orig_nbformat_minor", "signature"}) {
    header["metadata"].erase(transient);
  }
  // "cells" comes first among the members that every notebook has; an unknown one may come before it.
  ordered_json before = ordered_json::object();
  ordered_json after = ordered_json::object();
  for (auto& [key, value] : header.items()) (key < "cells" ? before : after)[key] = std::move(value);
  std::string text;
  if (before.empty()) {
    text = std::move(out);
  } else {
    writeJson(before, 0, text);
    text.resize(text.size() - 2);
    text += "," + out.substr(1);
  }
  std::string rest;
  writeJson(after, 0, rest);
  text += ",";
  text += std::string_view(rest).substr(1);
  text += '\n';
  return QByteArray(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace tapedeck::app
