#include "app/control/notebook_bookmarks.h"

#include <QSet>
#include <limits>
#include <optional>

#include "app/notebook/document/script.h"

namespace tapedeck::app {

using inspector::Bookmark;
using inspector::Bookmarks;
using nlohmann::ordered_json;

namespace {

constexpr const char* bookmarks_key = "bookmarks";
/// Of names of ops, ids of cells and paths of files: real ones are shorter.
constexpr std::size_t longest_bookmark_text = 4096;
constexpr quint64 most_bookmark_number = std::numeric_limits<qint32>::max();
/// The year 9999: what is shown of a time is one.
constexpr quint64 latest_session = 253'402'300'799'999;

/// nullopt: it is there, and no such text.
std::optional<QString> bookmarkText(const ordered_json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end()) return QString();
  if (!found->is_string()) return std::nullopt;
  const auto& text = found->get_ref<const std::string&>();
  if (text.size() > longest_bookmark_text) return std::nullopt;
  return QString::fromStdString(text);
}

std::optional<quint64> bookmarkNumber(const ordered_json& entry, const char* name, quint64 most) {
  const auto found = entry.find(name);
  if (found == entry.end()) return 0;
  if (!found->is_number_integer()) return std::nullopt;
  if (!found->is_number_unsigned() && found->get<std::int64_t>() < 0) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  return number <= most ? std::optional<quint64>(number) : std::nullopt;
}

std::optional<Bookmark> readBookmark(const ordered_json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto session = bookmarkNumber(entry, "session", latest_session);
  const auto record = bookmarkNumber(entry, "record", most_bookmark_number);
  const auto execution = bookmarkNumber(entry, "execution", most_bookmark_number);
  const auto line = bookmarkNumber(entry, "line", most_bookmark_number);
  const auto op = bookmarkText(entry, "op"), cell = bookmarkText(entry, "cell"),
             file = bookmarkText(entry, "file"), note = bookmarkText(entry, "note");
  if (!session || !record || !execution || !line || !op || !cell || !file || !note) return std::nullopt;
  if (*session == 0 || *record == 0 || op->isEmpty()) return std::nullopt;
  // A longer note would come back shorter.
  if (note->size() > Bookmarks::longest_note) return std::nullopt;
  Bookmark bookmark;
  bookmark.session = static_cast<qint64>(*session);
  bookmark.record = *record;
  bookmark.op = *op;
  bookmark.cell = *cell;
  bookmark.execution = *execution;
  bookmark.file = *file;
  bookmark.line = static_cast<int>(*line);
  bookmark.note = *note;
  return bookmark;
}

}  // namespace

ordered_json toMetadata(const Bookmark& bookmark) {
  ordered_json entry = {
      {"session", bookmark.session}, {"record", bookmark.record}, {"op", bookmark.op.toStdString()}};
  const auto put = [&entry](const char* name, const QString& text) {
    if (!text.isEmpty()) entry[name] = text.toStdString();
  };
  put("cell", bookmark.cell);
  if (bookmark.execution) entry["execution"] = bookmark.execution;
  put("file", bookmark.file);
  if (bookmark.line) entry["line"] = bookmark.line;
  put("note", bookmark.note);
  return entry;
}

KeptBookmarks readBookmarks(const ordered_json& kept) {
  KeptBookmarks read;
  if (kept.is_null()) return read;
  if (!kept.is_array()) {
    read.others.push_back(kept);
    return read;
  }
  QSet<std::pair<qint64, quint64>> seen;
  for (const ordered_json& entry : kept) {
    const std::optional<Bookmark> bookmark =
        read.bookmarks.size() < Bookmarks::most ? readBookmark(entry) : std::nullopt;
    const bool fresh = bookmark && !seen.contains({bookmark->session, bookmark->record});
    if (!fresh) {
      read.others.push_back(entry);
      continue;
    }
    seen.insert({bookmark->session, bookmark->record});
    read.bookmarks.push_back(*bookmark);
  }
  return read;
}

NotebookBookmarks::NotebookBookmarks(Document* document, Bookmarks* bookmarks, QObject* parent)
    : QObject(parent), document_(document), bookmarks_(bookmarks) {
  connect(document, &Document::reset, this, &NotebookBookmarks::load);
  connect(bookmarks, &Bookmarks::edited, this, &NotebookBookmarks::save);
}

void NotebookBookmarks::load() {
  const QString path = document_->path();
  if (isScript(path) && path == path_) return save();  // its text was read anew
  path_ = path;
  KeptBookmarks read = readBookmarks(document_->kept(bookmarks_key));
  others_ = std::move(read.others);
  bookmarks_->restore(std::move(read.bookmarks));
  if (others_.empty()) return emit loaded({});
  const bool one = others_.size() == 1;
  emit loaded(QString("%1 of the notebook's bookmarks %2 not shown: %3 no bookmark that this version can "
                      "read, or more than the %4 that a notebook may have. %5 in the file.")
                  .arg(others_.size())
                  .arg(one ? "is" : "are", one ? "it is" : "they are")
                  .arg(Bookmarks::most)
                  .arg(one ? "It stays" : "They stay"));
}

void NotebookBookmarks::save() {
  auto kept = ordered_json::array();
  for (const Bookmark& bookmark : bookmarks_->all()) kept.push_back(toMetadata(bookmark));
  for (const ordered_json& other : others_) kept.push_back(other);
  document_->keep(bookmarks_key, kept.empty() ? ordered_json() : kept);
}

}  // namespace tapedeck::app
