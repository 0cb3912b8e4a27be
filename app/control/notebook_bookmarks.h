// Bookmarks and the notebook they are in: saved with it, and through it in a trace file.
#pragma once

#include <QObject>

#include "app/notebook/document/document.h"
#include "inspector/model/ops/bookmarks.h"

namespace tapedeck::app {

/// What a file has of bookmarks.
struct KeptBookmarks {
  std::vector<inspector::Bookmark> bookmarks;
  /// Entries that are not bookmarks, or exceed the limit, unchanged: they are written back to the file.
  nlohmann::ordered_json others = nlohmann::ordered_json::array();
};

nlohmann::ordered_json toMetadata(const inspector::Bookmark& bookmark);
/// Of any JSON. Two bookmarks of one record: the first.
KeptBookmarks readBookmarks(const nlohmann::ordered_json& kept);

/// They are kept in the notebook's metadata ("tapedeck": {"bookmarks": […]}); one without bookmarks gets none
/// of it. A Python program's file has no place for them: they stay while it is the document's.
class NotebookBookmarks : public QObject {
  Q_OBJECT
 public:
  NotebookBookmarks(Document* document, inspector::Bookmarks* bookmarks, QObject* parent = nullptr);

 signals:
  /// A notebook was loaded. `sentence` says how many entries are not shown; empty: all are.
  void loaded(const QString& sentence);

 private:
  void load();
  void save();

  Document* document_;
  inspector::Bookmarks* bookmarks_;
  nlohmann::ordered_json others_ = nlohmann::ordered_json::array();
  QString path_;
};

}  // namespace tapedeck::app
