#include "app/control/recovery_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QFile>
#include <QHash>
#include <QSet>
#include <algorithm>
#include <cerrno>

#include "app/notebook/document/file_io.h"
#include "engine/protocol/json_check.h"

namespace tapedeck::app {
namespace {

constexpr const char* cell_types[] = {"code", "markdown", "raw"};  // in the order of CellType
// A record, its results, a cell, its outputs, what the journal says of one: then what a notebook may have
// there.
constexpr int nested = protocol::max_json_nesting + 5;

QByteArray lineOf(const JournalRecord& record) {
  nlohmann::ordered_json line = {{"writer", record.writer.toStdString()}, {"number", record.number}};
  if (record.ordered) {
    line["order"] = nlohmann::ordered_json::array();
    for (const QString& id : record.order) line["order"].push_back(id.toStdString());
  }
  if (!record.results.empty()) line["results"] = resultsJson(record.results);
  line["cells"] = nlohmann::ordered_json::array();
  for (const JournalCell& cell : record.cells)
    line["cells"].push_back({{"id", cell.id.toStdString()},
                             {"type", cell_types[static_cast<int>(cell.type)]},
                             {"source", cell.source.toStdString()}});
  return QByteArray::fromStdString(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) +
         '\n';
}

bool readText(const nlohmann::ordered_json& object, const char* name, QString& text) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_string()) return false;
  text = QString::fromStdString(member->get_ref<const std::string&>());
  return true;
}

bool readCell(const nlohmann::ordered_json& from, JournalCell& cell) {
  QString type;
  if (!from.is_object() || !readText(from, "id", cell.id) || !readText(from, "source", cell.source) ||
      !readText(from, "type", type) || cell.id.isEmpty())
    return false;
  const auto* const known = std::find(std::begin(cell_types), std::end(cell_types), type);
  if (known == std::end(cell_types)) return false;
  cell.type = static_cast<CellType>(known - std::begin(cell_types));
  return true;
}

bool readRecord(std::string_view line, JournalRecord& record) {
  if (protocol::json_nesting(line) > nested) return false;
  const nlohmann::ordered_json from = nlohmann::ordered_json::parse(line.begin(), line.end(), nullptr, false);
  if (!from.is_object() || !readText(from, "writer", record.writer)) return false;
  const auto number = from.find("number"), order = from.find("order"), cells = from.find("cells"),
             results = from.find("results");
  if (number == from.end() || !number->is_number_unsigned()) return false;
  record.number = number->get<quint64>();
  record.ordered = order != from.end();
  if (record.ordered) {
    if (!order->is_array()) return false;
    for (const auto& id : *order) {
      if (!id.is_string()) return false;
      record.order << QString::fromStdString(id.get_ref<const std::string&>());
    }
  }
  if (cells == from.end() || !cells->is_array()) return false;
  for (const auto& each : *cells) {
    JournalCell cell;
    if (!readCell(each, cell)) return false;
    record.cells << cell;
  }
  return results == from.end() || readResults(*results, record.results);
}

}  // namespace

QString journalOf(const QString& recoveryFile) {
  return recoveryFile.section('.', 0, -2) + ".journal";
}

qint64 appendToJournal(const QString& journal, const JournalRecord& record) {
  const QByteArray line = lineOf(record);
  const QByteArray name = QFile::encodeName(journal);
  const int descriptor = ::open(name.constData(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int error = descriptor < 0 ? errno : 0;
  struct stat before = {};
  if (error == 0 && ::fstat(descriptor, &before) != 0) error = errno;
  for (qsizetype done = 0; error == 0 && done < line.size();) {
    const ssize_t written =
        ::write(descriptor, line.constData() + done, static_cast<std::size_t>(line.size() - done));
    if (written >= 0)
      done += written;
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && ::fdatasync(descriptor) != 0) error = errno;
  // Half a record would take the next one with it.
  if (error != 0 && descriptor >= 0) (void)!::ftruncate(descriptor, before.st_size);
  if (descriptor >= 0 && ::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0)
    throw NotebookError(QString("%1 can't be written: %2.").arg(journal, reasonOf(error)).toStdString());
  return line.size();
}

void dropFromJournal(const QString& journal, qint64 bytes) {
  try {
    writeFileAtomically(journal, readWholeFile(journal).mid(bytes), {0600, {}, {}});
  } catch (const NotebookError&) {
    // It is longer than it need be, no more.
  }
}

std::vector<JournalRecord> readJournal(const QString& journal, const QString& writer, quint64 after) {
  std::vector<JournalRecord> records;
  QFile file(journal);
  if (writer.isEmpty() || file.size() > maximum_notebook_bytes || !file.open(QIODevice::ReadOnly))
    return records;
  const QByteArray bytes = file.readAll();
  for (qsizetype at = 0; at < bytes.size();) {
    const qsizetype end = bytes.indexOf('\n', at);
    if (end < 0) break;  // the last one was being written
    JournalRecord record;
    if (readRecord({bytes.constData() + at, static_cast<std::size_t>(end - at)}, record) &&
        record.writer == writer && record.number > after)
      records.push_back(std::move(record));
    at = end + 1;
  }
  return records;
}

void applyJournal(NotebookData& notebook, const QStringList& ids, TextSizes sizes,
                  const std::vector<JournalRecord>& records) {
  if (ids.size() != static_cast<qsizetype>(notebook.cells.size())) return;
  QHash<QString, CellPointer> known;
  QStringList order = ids;
  for (qsizetype i = 0; i < ids.size(); ++i) known[ids[i]] = notebook.cells[static_cast<std::size_t>(i)];
  for (const JournalRecord& record : records) {
    for (const JournalCell& cell : record.cells) {
      CellPointer& place = known[cell.id];
      if (!place) {
        place = makeCell(cell.type, {});
        place->cell.id = cell.id;
        order << cell.id;
      }
      if (place->cell.type != cell.type) convertCell(*place, cell.type);
      place->cell.source = cell.source;
    }
    for (const JournalResults& results : record.results)
      if (const CellPointer& cell = known.value(results.id)) applyResults(*cell, results, sizes[results.id]);
    if (record.ordered) order = record.order;
  }
  notebook.cells.clear();
  QSet<QString> placed;
  for (const QString& id : order) {
    const CellPointer cell = known.value(id);
    if (!cell || placed.contains(id)) continue;
    placed.insert(id);
    notebook.cells.push_back(cell);
  }
}

}  // namespace tapedeck::app
