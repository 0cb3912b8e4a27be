// Bookmarks in the notebook's file, which may hold anything: read with doubt, and nothing of it lost.
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "app/control/notebook_bookmarks.h"
#include "app/control/recovery.h"
#include "app/notebook/document/nbformat.h"
#include "tests/patience.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::Bookmark;
using inspector::Bookmarks;
using nlohmann::ordered_json;

namespace {

const QByteArray notebook_file = R"({
 "cells": [
  {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": null, "outputs": [], "source": "x"}
 ],
 "metadata": {"kernelspec": {"name": "python3", "display_name": "P"}},
 "nbformat": 4, "nbformat_minor": 5
}
)";

struct BookmarkWorld {
  Document document;
  inspector::Session session;
  Bookmarks bookmarks{&session};
  NotebookBookmarks keeper{&document, &bookmarks};
  QString told;

  BookmarkWorld() {
    QObject::connect(&keeper, &NotebookBookmarks::loaded, [this](const QString& text) { told = text; });
  }
  void open(const ordered_json& kept) {
    ordered_json notebook = ordered_json::parse(notebook_file.toStdString());
    notebook["metadata"]["tapedeck"]["bookmarks"] = kept;
    document.parse(QByteArray::fromStdString(notebook.dump()), "file");
  }
};

Bookmark bookmarkOf(quint64 record, const QString& note = {}) {
  return {1'790'000'000'123, record, "matmul", "one", 3, "", 7, note};
}

}  // namespace

class TestNotebookBookmarks : public QObject {
  Q_OBJECT

  QTemporaryDir data_;

 private slots:
  void initTestCase() { qputenv("XDG_DATA_HOME", data_.path().toUtf8()); }

  void aFileWithoutBookmarksStaysAsItIs() {
    BookmarkWorld world;
    world.document.parse(notebook_file, "file");
    QVERIFY(!world.document.modified() && world.told.isEmpty());
    QVERIFY(world.bookmarks.set(bookmarkOf(12, "a “note”\u00e9")));
    QVERIFY(world.document.modified());
    QVERIFY(world.document.serialize().contains("kernelspec"));
    world.bookmarks.remove(bookmarkOf(12));
    QVERIFY(!world.document.modified());
    QCOMPARE(world.document.serialize(), notebook_file);
  }

  void allOfThemComeBack() {
    BookmarkWorld world;
    world.document.parse(notebook_file, "file");
    Bookmark outside = bookmarkOf(2);
    outside.cell.clear();
    outside.execution = 0;
    outside.file = "/home/x/train.py";
    for (const Bookmark& bookmark : {bookmarkOf(40, "it grows"), outside, bookmarkOf(3)})
      QVERIFY(world.bookmarks.set(bookmark));
    BookmarkWorld other;
    other.document.parse(world.document.serialize(), "file");
    QVERIFY(!other.document.modified() && other.told.isEmpty());
    QCOMPARE(other.bookmarks.all().size(), std::size_t{3});
    QVERIFY(other.bookmarks.all() == world.bookmarks.all());
  }

  void whatIsNoBookmarkIsToldAndStaysInTheFile() {
    const ordered_json good = toMetadata(bookmarkOf(5, "good"));
    const auto without = [&](const char* name) {
      ordered_json entry = good;
      entry.erase(name);
      return entry;
    };
    const auto with = [&](const char* name, const ordered_json& value) {
      ordered_json entry = good;
      entry[name] = value;
      return entry;
    };
    const std::vector<ordered_json> wrong = {3,
                                             nullptr,
                                             "text",
                                             ordered_json::array(),
                                             ordered_json::object(),
                                             without("session"),
                                             without("record"),
                                             without("op"),
                                             with("session", 0),
                                             with("session", -4),
                                             with("session", "x"),
                                             with("session", 1e300),
                                             with("session", UINT64_MAX),
                                             with("record", 0),
                                             with("record", 1.5),
                                             with("record", UINT64_MAX),
                                             with("line", -1),
                                             with("execution", nullptr),
                                             with("op", ""),
                                             with("op", 7),
                                             with("op", std::string(100'000, 'x')),
                                             with("note", ordered_json::array()),
                                             with("note", std::string(1001, 'x')),
                                             good};  // once more
    ordered_json kept = ordered_json::array();
    kept.push_back(good);
    for (const ordered_json& one : wrong) kept.push_back(one);
    BookmarkWorld world;
    world.open(kept);
    QCOMPARE(world.bookmarks.all().size(), std::size_t{1});
    QVERIFY2(world.told.startsWith(QString("%1 of the notebook's bookmarks are not shown").arg(wrong.size())),
             qPrintable(world.told));
    QVERIFY(!world.document.modified());
    QVERIFY(world.bookmarks.set(bookmarkOf(5, "another")));
    const ordered_json now = world.document.kept("bookmarks");
    QCOMPARE(now.size(), kept.size());
    for (std::size_t i = 0; i < wrong.size(); ++i) QVERIFY(now[i + 1] == wrong[i]);
  }

  void whatIsNoListStaysToo() {
    for (const ordered_json& kept : {ordered_json(7), ordered_json("x"), ordered_json::object({{"a", 1}})}) {
      BookmarkWorld world;
      world.open(kept);
      QVERIFY(world.bookmarks.all().empty());
      QVERIFY2(world.told.startsWith("1 of the notebook's bookmarks is not shown"), qPrintable(world.told));
      QVERIFY(world.bookmarks.set(bookmarkOf(1)));
      QVERIFY(world.document.kept("bookmarks")[1] == kept);
    }
  }

  void ofVeryManyTheFirstAreShownAndAllAreKept() {
    ordered_json kept = ordered_json::array();
    for (quint64 i = 1; i <= Bookmarks::most + 7; ++i) kept.push_back(toMetadata(bookmarkOf(i)));
    BookmarkWorld world;
    world.open(kept);
    QCOMPARE(world.bookmarks.all().size(), Bookmarks::most);
    QVERIFY2(world.told.startsWith("7 of the notebook's bookmarks are not shown"), qPrintable(world.told));
    world.bookmarks.remove(bookmarkOf(1));
    QCOMPARE(world.document.kept("bookmarks").size(), Bookmarks::most + 6);
  }

  // Each byte of a list is changed or taken away in turn: it is refused as no JSON, or read with what there
  // is.
  void mutatedMetadataIsReadOrRefused() {
    const std::string whole =
        ordered_json::array({toMetadata(bookmarkOf(5, "note")), toMetadata(bookmarkOf(6))}).dump();
    QRandomGenerator random(11);
    int read = 0;
    const auto look = [&](const std::string& text) {
      const ordered_json kept = ordered_json::parse(text, nullptr, false);
      if (kept.is_discarded()) return;
      ++read;
      const KeptBookmarks found = readBookmarks(kept);
      const std::size_t entries = kept.is_array() ? kept.size() : kept.is_null() ? 0 : 1;
      QCOMPARE(found.bookmarks.size() + found.others.size(), entries);
      for (const Bookmark& bookmark : found.bookmarks) {
        QVERIFY(bookmark.session > 0 && bookmark.record > 0 && bookmark.line >= 0 && !bookmark.op.isEmpty());
        QVERIFY(readBookmarks(ordered_json::array({toMetadata(bookmark)})).bookmarks ==
                std::vector<Bookmark>{bookmark});
      }
    };
    for (std::size_t at = 0; at < whole.size(); ++at) {
      look(whole.substr(0, at));
      std::string without = whole;
      look(without.erase(at, 1));
      for (int turn = 0; turn < 8; ++turn) {
        std::string changed = whole;
        changed[at] = static_cast<char>(random.bounded(1, 127));
        look(changed);
      }
    }
    QVERIFY(read > 100);
  }

  void undoOfCellsLeavesThemAlone() {
    BookmarkWorld world;
    world.document.parse(notebook_file, "file");
    world.document.append("two", "y");
    QVERIFY(world.bookmarks.set(bookmarkOf(4, "stays")));
    world.document.undoStructure();
    world.document.redoStructure();
    QCOMPARE(world.bookmarks.all().size(), std::size_t{1});
    QCOMPARE(world.document.kept("bookmarks").size(), std::size_t{1});
  }

  // The text of a cell was written before; the bookmark is the only news.
  void aRecoveryFileHasThem() {
    BookmarkWorld world;
    world.document.parse(notebook_file, "file");
    RecoveryWriter writer(&world.document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    writer.setDelays(1, 20);
    writer.setWholeDelays(1, 20);
    world.document.setSource(0, "x = 1");
    QVERIFY(written.wait(tapedeck::patience));
    const auto kept = [&] {
      RecoveryEntry entry;
      entry.file = writer.file();
      return readRecovery(entry);
    };
    QTRY_VERIFY_WITH_TIMEOUT(kept().contains("x = 1"), tapedeck::patience);
    QVERIFY(world.bookmarks.set(bookmarkOf(9, "not to be lost")));
    QTRY_VERIFY_WITH_TIMEOUT(kept().contains("not to be lost"), tapedeck::patience);
    BookmarkWorld restored;
    restored.document.recover(kept(), {});
    QCOMPARE(restored.bookmarks.all().size(), std::size_t{1});
    QCOMPARE(restored.bookmarks.all()[0].note, QString("not to be lost"));
  }
};

TAPEDECK_TEST(TestNotebookBookmarks)
#include "tst_notebook_bookmarks.moc"
