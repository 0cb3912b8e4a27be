#include "app/control/recovery_header.h"

#include <QFile>
#include <QFileInfo>
#include <algorithm>

#include "app/control/recovery_journal.h"
#include "engine/protocol/json_check.h"

namespace tapedeck::app {
namespace {

constexpr qint64 longest_header = 16 << 20;

/// Empty where there is no such text.
QString member(const nlohmann::json& header, const char* key) {
  const auto value = header.find(key);
  return value != header.end() && value->is_string() ? QString::fromStdString(value->get<std::string>())
                                                     : QString();
}

nlohmann::json parsedHeader(const QByteArray& line) {
  constexpr int nested = 3;  // one object, the lists of its cells and texts, and what one of these is
  if (!line.endsWith('\n') ||
      protocol::json_nesting({line.constData(), static_cast<std::size_t>(line.size())}) > nested)
    return nullptr;
  return nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
}

void readSizes(const nlohmann::json& header, TextSizes& sizes) {
  const auto cut = header.find("cut");
  if (cut == header.end() || !cut->is_array()) return;
  for (const auto& each : *cut) {
    if (!each.is_object()) continue;
    const auto at = each.find("at"), size = each.find("size");
    if (at != each.end() && at->is_number_unsigned() && size != each.end() && size->is_number_unsigned())
      sizes[member(each, "cell")][at->get<std::size_t>()] = size->get<std::size_t>();
  }
}

}  // namespace

QStringList idsOf(const Document& document) {
  QStringList ids;
  for (int i = 0; i < document.cellCount(); ++i) ids << document.cell(i).id;
  return ids;
}

nlohmann::json placeOf(const Document& document) {
  return {{"path", document.path().toStdString()},
          {"name", document.name().toStdString()},
          {"folder", document.folder().toStdString()}};
}

QByteArray headerLine(const Document& document, const QDateTime& time, const QString& writer,
                      quint64 number) {
  nlohmann::json header = placeOf(document);
  header["tapedeck_recovery"] = 1;
  header["time"] = time.toUTC().toString(Qt::ISODateWithMs).toStdString();
  header["writer"] = writer.toStdString();
  header["number"] = number;
  header["cells"] = nlohmann::json::array();
  for (const QString& id : idsOf(document)) header["cells"].push_back(id.toStdString());
  const TextSizes sizes = cutTexts(document, recovery_output_limit);
  for (auto cell = sizes.constBegin(); cell != sizes.constEnd(); ++cell)
    for (const auto& [at, size] : *cell)
      header["cut"].push_back({{"cell", cell.key().toStdString()}, {"at", at}, {"size", size}});
  return QByteArray::fromStdString(header.dump()) + '\n';
}

bool readHeader(const QString& file, RecoveryEntry& entry) {
  QFile input(file);
  if (!input.open(QIODevice::ReadOnly)) return false;
  const QByteArray line = input.readLine(longest_header);
  const nlohmann::json header = parsedHeader(line);
  if (!header.is_object()) return false;
  if (!header.contains("path") || !header["path"].is_string()) return false;
  entry.file = file;
  entry.path = member(header, "path");
  entry.name = member(header, "name");
  entry.folder = member(header, "folder");
  entry.time = QDateTime::fromString(member(header, "time"), Qt::ISODateWithMs);
  entry.size = input.size() - line.size();
  if (!entry.time.isValid() || entry.size <= 0) return false;
  const QFileInfo journal(journalOf(file));
  if (journal.size() > 0) entry.time = std::max(entry.time, journal.lastModified().toUTC());
  return true;
}

std::optional<JournalBase> journalBase(const QByteArray& line) {
  const nlohmann::json header = parsedHeader(line);
  if (!header.is_object()) return {};
  const auto number = header.find("number"), cells = header.find("cells");
  if (number == header.end() || !number->is_number_unsigned()) return {};
  if (cells == header.end() || !cells->is_array()) return {};
  JournalBase base{member(header, "writer"), number->get<quint64>(), {}, {}};
  for (const auto& id : *cells)
    base.cells << (id.is_string() ? QString::fromStdString(id.get_ref<const std::string&>()) : QString());
  readSizes(header, base.sizes);
  return base;
}

}  // namespace tapedeck::app
