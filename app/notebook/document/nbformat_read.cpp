#include <QCoreApplication>
#include <QFileInfo>
#include <QRandomGenerator>
#include <QSet>

#include "app/notebook/document/json_text.h"
#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

constexpr int format_major = 4;

[[noreturn]] void refuse(const QString& sentence) {
  throw NotebookError(sentence.toStdString());
}

QString kindOf(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::null:
      return "null";
    case ordered_json::value_t::object:
      return "an object";
    case ordered_json::value_t::array:
      return "a list";
    case ordered_json::value_t::string:
      return "a string";
    case ordered_json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    default:
      return "a number";
  }
}

/// QString::fromUtf8, with the three-byte form of lone surrogates decoded.
QString fromText(const std::string& text) {
  QString out;
  std::size_t done = 0;
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) != 0xed || static_cast<unsigned char>(text[i + 1]) < 0xa0)
      continue;
    out += QString::fromUtf8(text.data() + done, static_cast<qsizetype>(i - done));
    out += QChar(static_cast<char16_t>(0xd000 | ((static_cast<unsigned char>(text[i + 1]) & 0x3f) << 6) |
                                       (static_cast<unsigned char>(text[i + 2]) & 0x3f)));
    i += 2;
    done = i + 1;
  }
  return out + QString::fromUtf8(text.data() + done, static_cast<qsizetype>(text.size() - done));
}

bool isText(const ordered_json& value) {
  if (value.is_string()) return true;
  if (!value.is_array()) return false;
  return std::all_of(value.begin(), value.end(), [](const ordered_json& line) { return line.is_string(); });
}

class NotebookReader {
 public:
  NotebookReader(QString name, const Progress& progress) : name_(std::move(name)) {
    watch_.member = "cells";
    if (progress)
      watch_.progress = [this, progress](std::size_t done) {
        return progress(static_cast<double>(done) / static_cast<double>(std::max(size_, std::size_t(1))));
      };
  }

  NotebookData read(const QByteArray& bytes) {
    size_ = static_cast<std::size_t>(bytes.size());
    ordered_json top = parse(bytes);
    if (!top.is_object()) {
      refuse(QString("%1 is not a notebook: it holds %2, not an object.").arg(name_, kindOf(top)));
    }
    checkVersion(top);
    if (!top.contains("cells")) refuse(QString("%1 is not a notebook: it has no “cells”.").arg(name_));
    expect(top["cells"].is_array(), "cells", top["cells"], "a list");
    const std::string_view text(bytes.data(), size_);
    NotebookData notebook;
    notebook.style = styleOf(text, top, watch_);
    auto around = std::make_shared<HeaderText>();
    for (const auto& [key, value] : top.items()) around->keys.push_back(key);
    ordered_json cells = std::move(top["cells"]);
    top.erase("cells");
    if (!top.contains("metadata")) top["metadata"] = ordered_json::object();
    expect(top["metadata"].is_object(), "metadata", top["metadata"], "an object");

    for (std::size_t i = 0; i < cells.size(); ++i) {
      auto place = std::make_shared<CellText>();
      place->file = bytes;
      place->span = watch_.elements[i];
      notebook.cells.push_back(readCell(cells[i], QString("cells[%1]").arg(i), *place));
      notebook.cells.back()->text = std::move(place);
    }
    giveIds(notebook);
    around->before = text.substr(0, watch_.list.begin);
    around->after = text.substr(watch_.list.end);
    around->header = top;
    notebook.header = std::move(top);
    notebook.text = std::move(around);
    return notebook;
  }

 private:
  ordered_json parse(const QByteArray& bytes) {
    std::string_view text(bytes.data(), static_cast<std::size_t>(bytes.size()));
    const std::size_t mark = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
    text.remove_prefix(mark);
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      refuse(QString("%1 is empty: there is no notebook in it.").arg(name_));
    }
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
      refuse(QString("%1 is text in UTF-16; a notebook is JSON in UTF-8.").arg(name_));
    }
    try {
      ordered_json top = readJson(text, &watch_);
      for (TextSpan* span : spans()) *span = {span->begin + mark, span->end + mark};
      return top;
    } catch (const JsonStopped&) {
      throw Stopped();
    } catch (const JsonTextError& error) {
      const QString where = QString("line %1, column %2").arg(error.line).arg(error.column);
      const QString what = QString::fromUtf8(error.what());
      if (error.cutOff) refuse(QString("%1 is cut off: %2 (%3).").arg(name_, what, where));
      refuse(QString("%1 is not a notebook: it is not valid JSON, %2 (%3).").arg(name_, what, where));
    }
  }

  std::vector<TextSpan*> spans() {
    std::vector<TextSpan*> all{&watch_.list};
    for (TextSpan& span : watch_.elements) all.push_back(&span);
    return all;
  }

  void checkVersion(ordered_json& top) const {
    if (!top.contains("nbformat")) {
      refuse(QString("%1 is not a notebook: it has no “nbformat”, the version of its format.").arg(name_));
    }
    expect(top["nbformat"].is_number_integer(), "nbformat", top["nbformat"], "an integer");
    if (!top.contains("nbformat_minor")) top["nbformat_minor"] = 0;
    expect(top["nbformat_minor"].is_number_integer(), "nbformat_minor", top["nbformat_minor"], "an integer");
    const auto major = top["nbformat"].get<std::int64_t>();
    const auto minor = top["nbformat_minor"].get<std::int64_t>();
    if (major >= 1 && major < format_major) {
      refuse(
          QString(
              "%1 is a notebook of format %2 (IPython %3 or older). Convert it with `jupyter nbconvert --to "
              "notebook %1` and open the result.")
              .arg(name_)
              .arg(major)
              .arg(major == 3 ? "3" : "0.13"));
    }
    if (major != format_major) {
      refuse(QString("%1 is a notebook of format %2; this program reads format 4.").arg(name_).arg(major));
    }
    if (minor < 0 || minor > 1000) {
      refuse(QString("%1: nbformat_minor is %2; expected a number from 0 on.").arg(name_).arg(minor));
    }
  }

  void expect(bool condition, const QString& path, const ordered_json& value, const QString& wanted) const {
    if (!condition) {
      refuse(QString("%1: %2 is %3; expected %4.").arg(name_, path, kindOf(value), wanted));
    }
  }

  CellPointer readCell(ordered_json& json, const QString& path, CellText& text) const {
    expect(json.is_object(), path, json, "an object");
    for (const auto& [key, value] : json.items()) text.keys.push_back(key);
    auto data = std::make_shared<CellData>();
    readType(json, path, *data);
    if (json.contains("id")) {
      expect(json["id"].is_string(), path + ".id", json["id"], "a string");
      data->cell.id = fromText(json["id"].get_ref<const std::string&>());
    }
    if (json.contains("source")) {
      expect(isText(json["source"]), path + ".source", json["source"], "a string or a list of strings");
      data->cell.source = fromText(joinedText(json["source"]));
    }
    if (!json.contains("metadata")) json["metadata"] = ordered_json::object();
    expect(json["metadata"].is_object(), path + ".metadata", json["metadata"], "an object");
    if (json.contains("attachments")) readAttachments(json["attachments"], path + ".attachments");
    if (data->cell.type == CellType::code) {
      readExecutionCount(json, path, *data);
      if (json.contains("outputs")) {
        data->cell.outputs = std::move(json["outputs"]);
        json.erase("outputs");
      }
      readOutputs(data->cell.outputs, path + ".outputs");
      for (std::size_t i = 0; i < data->cell.outputs.size(); ++i) data->displayIds += QString();
    }
    text.hasId = json.contains("id");
    json.erase("id");
    json.erase("source");
    data->members = std::move(json);
    text.id = data->cell.id;
    text.type = data->cell.type;
    text.source = data->cell.source;
    return data;
  }

  /// A type that only other programs know is shown as raw text and keeps its name.
  void readType(const ordered_json& json, const QString& path, CellData& data) const {
    if (!json.contains("cell_type")) refuse(QString("%1: %2 has no “cell_type”.").arg(name_, path));
    const ordered_json& type = json["cell_type"];
    expect(type.is_string(), path + ".cell_type", type, "a string");
    if (type == "code") {
      data.cell.type = CellType::code;
    } else {
      data.cell.type = type == "markdown" ? CellType::markdown : CellType::raw;
    }
  }

  void readExecutionCount(ordered_json& json, const QString& path, CellData& data) const {
    if (!json.contains("execution_count")) json["execution_count"] = nullptr;
    const ordered_json& count = json["execution_count"];
    expect(count.is_null() || count.is_number_integer(), path + ".execution_count", count,
           "an integer or null");
    if (count.is_null()) return;
    const auto value =
        count.is_number_unsigned()
            ? static_cast<std::int64_t>(std::min<std::uint64_t>(count.get<std::uint64_t>(), INT_MAX))
            : count.get<std::int64_t>();
    data.cell.executionCount = static_cast<int>(std::clamp<std::int64_t>(value, 0, INT_MAX));
  }

  void joinBundle(ordered_json& bundle, const QString& path) const {
    expect(bundle.is_object(), path, bundle, "an object");
    for (auto& [mime, value] : bundle.items()) {
      const bool json =
          mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"));
      if (!json && value.is_array() && isText(value)) value = joinedText(value);
    }
  }

  void readAttachments(ordered_json& attachments, const QString& path) const {
    expect(attachments.is_object(), path, attachments, "an object");
    for (auto& [name, bundle] : attachments.items()) {
      joinBundle(bundle, path + "." + QString::fromStdString(name));
    }
  }

  void readOutputs(ordered_json& outputs, const QString& path) const {
    expect(outputs.is_array(), path, outputs, "a list");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const QString at = QString("%1[%2]").arg(path).arg(i);
      ordered_json& output = outputs[i];
      expect(output.is_object(), at, output, "an object");
      if (!output.contains("output_type")) refuse(QString("%1: %2 has no “output_type”.").arg(name_, at));
      expect(output["output_type"].is_string(), at + ".output_type", output["output_type"], "a string");
      const std::string type = output["output_type"].get<std::string>();
      if (type == "stream" && output.contains("text")) {
        expect(isText(output["text"]), at + ".text", output["text"], "a string or a list of strings");
        output["text"] = joinedText(output["text"]);
      } else if ((type == "execute_result" || type == "display_data") && output.contains("data")) {
        joinBundle(output["data"], at + ".data");
      } else if (type == "error" && output.contains("traceback")) {
        const ordered_json& lines = output["traceback"];
        expect(lines.is_array() && isText(lines), at + ".traceback", lines, "a list of strings");
      }
    }
  }

  static void giveIds(NotebookData& notebook) {
    QSet<QString> seen;
    for (const CellPointer& data : notebook.cells) {
      QString& id = data->cell.id;
      while (id.isEmpty() || seen.contains(id)) id = randomCellId();
      seen.insert(id);
    }
  }

  QString name_;
  JsonWatch watch_;
  std::size_t size_ = 0;
};

}  // namespace

NotebookData readNotebook(const QByteArray& bytes, const QString& name, const Progress& progress) {
  return NotebookReader(name, progress).read(bytes);
}

std::string joinedText(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string text;
  if (!value.is_array()) return text;
  for (const ordered_json& line : value) {
    if (line.is_string()) text += line.get_ref<const std::string&>();
  }
  return text;
}

QString randomCellId() {
  return QString("%1").arg(QRandomGenerator::global()->generate(), 8, 16, QChar('0'));
}

void convertCell(CellData& data, CellType type) {
  ordered_json& members = data.members;
  data.cell.type = type;
  members["cell_type"] = type == CellType::code ? "code" : type == CellType::markdown ? "markdown" : "raw";
  if (!members.contains("metadata")) members["metadata"] = ordered_json::object();
  if (type == CellType::code) {
    members["execution_count"] = nullptr;
    if (members.contains("attachments")) {
      data.stashedAttachments = std::move(members["attachments"]);
      members.erase("attachments");
    }
    return;
  }
  members.erase("execution_count");
  data.cell.executionCount = 0;
  dropOutputs(data);
  if (!data.stashedAttachments.is_null()) {
    members["attachments"] = std::move(data.stashedAttachments);
    data.stashedAttachments = nullptr;
  }
}

void dropOutputs(CellData& data) {
  data.cell.outputs = ordered_json::array();
  data.cell.printed.clear();
  data.displayIds.clear();
  data.leftOut = 0;
  data.leftOutNote.reset();
  data.gathered.reset();
}

NotebookData emptyNotebook() {
  NotebookData notebook;
  notebook.header["metadata"] = ordered_json::object();
  notebook.header["nbformat"] = 4;
  notebook.header["nbformat_minor"] = 5;
  return notebook;
}

CellPointer makeCell(CellType type, const QString& source) {
  auto data = std::make_shared<CellData>();
  data->cell.id = randomCellId();
  data->cell.source = source;
  convertCell(*data, type);
  return data;
}

}  // namespace tapedeck::app
