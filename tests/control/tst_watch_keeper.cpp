// Watch expressions in the notebook's file, which may hold anything.
#include <QtTest>

#include "app/control/watch_keeper.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/model/variables/frames_model.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestWatchKeeper : public QObject {
  Q_OBJECT
 private slots:
  void ofVeryManyExpressionsTheFirstAreWatchedAndAllAreKept() {
    nlohmann::ordered_json written = nlohmann::ordered_json::array();
    for (int i = 0; i < 1005; ++i) written.push_back("x + " + std::to_string(i));
    nlohmann::ordered_json notebook = nlohmann::ordered_json::parse(
        R"({"cells": [{"cell_type": "raw", "id": "r", "metadata": {}, "source": ""}], "metadata": {"tapedeck": {}}, "nbformat": 4, "nbformat_minor": 5})");
    notebook["metadata"]["tapedeck"]["watches"] = written;
    inspector::Session session;
    inspector::CellNames names;
    inspector::FramesModel frames(&session, &names);
    inspector::WatchModel watches(&session, &frames);
    Document document;
    WatchKeeper keeper(&document, &watches);
    document.parse(QByteArray::fromStdString(notebook.dump()), "file");
    QCOMPARE(watches.expressions().size(), qsizetype{1000});
    QVERIFY(!document.modified());
    watches.remove(0);
    written.erase(std::size_t{0});
    QVERIFY(document.kept("watches") == written);
  }
};

TAPEDECK_TEST(TestWatchKeeper)
#include "tst_watch_keeper.moc"
