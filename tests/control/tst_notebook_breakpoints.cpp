// Breakpoints in the notebook's file: written with little, read with doubt, and no others' bytes changed.
#include <QSignalSpy>
#include <QtTest>

#include "app/control/notebook_breakpoints.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using nlohmann::ordered_json;
using protocol::Breakpoint;
using protocol::BreakpointKind;

namespace {

const QByteArray file = R"({
 "cells": [
  {
   "cell_type": "code",
   "id": "one",
   "metadata": {"tags": ["a"]},
   "execution_count": null,
   "outputs": [],
   "source": "x = 1\n\n# why\ny = x"
  },
  {"cell_type": "markdown", "id": "two", "metadata": {}, "source": "text"}
 ],
 "metadata": {"kernelspec": {"name": "python3", "display_name": "P"}},
 "nbformat": 4, "nbformat_minor": 5
}
)";

struct World {
  Document document;
  inspector::Session session;
  inspector::BreakpointsModel model{&session};
  NotebookBreakpoints keeper{&document, &model};
};

}  // namespace

class TestNotebookBreakpoints : public QObject {
  Q_OBJECT
 private slots:
  void aFileWithoutBreakpointsStaysAsItIs() {
    World world;
    world.document.parse(file, "file");
    QVERIFY(!world.document.modified());
    world.model.toggleLine("one", 4);
    QVERIFY(world.document.modified());
    const QByteArray with = world.document.serialize();
    // The text around the changed cell keeps its bytes.
    QVERIFY(with.contains(R"({"cell_type": "markdown", "id": "two", "metadata": {}, "source": "text"})"));
    QVERIFY(with.contains(R"("metadata": {"kernelspec": {"name": "python3", "display_name": "P"}})"));
    world.model.toggleLine("one", 4);
    QVERIFY(!world.document.modified());
    QCOMPARE(world.document.serialize(), file);
  }

  void allOfABreakpointComesBack() {
    World world;
    world.document.parse(file, "file");
    Breakpoint breakpoint;
    breakpoint.kind = BreakpointKind::line;
    breakpoint.cell = "one";
    breakpoint.line = 4;
    breakpoint.condition = "max(out) > 3";
    breakpoint.from_hit = 7;
    breakpoint.enabled = false;
    breakpoint.action = protocol::BreakpointAction::log;
    breakpoint.text = "{op}";
    world.model.add(breakpoint);
    world.model.setStopAtExceptions(true);
    World other;
    other.document.parse(world.document.serialize(), "file");
    QVERIFY(!other.document.modified());
    QCOMPARE(other.model.all().size(), std::size_t{2});
    for (const auto& entry : other.model.all()) {
      if (entry.breakpoint.kind != BreakpointKind::line) continue;
      QCOMPARE(toMetadata(entry.breakpoint), toMetadata(breakpoint));
      QCOMPARE(entry.breakpoint.cell, std::string("one"));
    }
    QVERIFY(other.model.stopsAtExceptions());
  }

  void oneThatCameWithTheFileAndIsRemovedIsNotSavedAgain() {
    World world;
    world.document.parse(file, "file");
    world.model.toggleLine("one", 4);
    World other;
    other.document.parse(world.document.serialize(), "file");
    QVERIFY(!other.document.modified());
    other.model.toggleLine("one", 4);
    QVERIFY(other.model.all().empty());
    QVERIFY(other.document.modified());
    QVERIFY(!other.document.serialize().contains("breakpoints"));
    other.model.toggleLine("one", 4);
    QVERIFY(!other.document.modified());  // as it was read
  }

  void whatIsNoBreakpointIsLeftOut() {
    const auto count = [](const char* text, const char* cell) {
      return fromMetadata(ordered_json::parse(text), cell).size();
    };
    QCOMPARE(count(R"({"breakpoints": [{"kind": "line", "line": 3}]})", "a"), std::size_t{1});
    QCOMPARE(count(R"({"breakpoints": [{"kind": "line", "line": 3}]})", ""), std::size_t{0});
    for (const char* text :
         {"3", "null", "[]", R"({"breakpoints": 3})", R"({"breakpoints": [3, null, []]})",
          R"({"breakpoints": [{"kind": 3}, {"kind": "no"}, {"kind": "line"}, {"kind": "line", "line": -3}]})",
          R"({"breakpoints": [{"kind": "line", "line": "x"}, {"line": 3}]})"})
      QCOMPARE(count(text, "a"), std::size_t{0});
    const auto odd = fromMetadata(
        ordered_json::parse(
            R"({"breakpoints": [{"kind": "line", "line": 3, "condition": 7, "from_hit": "x"}]})"),
        "a");
    QVERIFY(odd.at(0).condition.empty() && odd.at(0).from_hit == 1);
  }

  void linesThatHaveNoCodeAreTold() {
    const QStringList source = {"x = 1", "", "# why", "y = x"};
    QCOMPARE(lineProblem(source, 1), QString());
    QCOMPARE(lineProblem(source, 2), QString("Line 2 is empty."));
    QCOMPARE(lineProblem(source, 3), QString("Line 3 is a comment."));
    QCOMPARE(lineProblem(source, 9), QString("The cell has no line 9: it has 4."));
  }

  /// In a hostile file: each of them would be sent, listed and compared with the others.
  void ofVeryManyTheFirstAreTakenAndAllAreKept() {
    ordered_json notebook = ordered_json::parse(file.toStdString());
    ordered_json ofCell = ordered_json::array(), others = ordered_json::array();
    for (int i = 0; i < 20'000; ++i)
      ofCell.push_back({{"kind", "line"}, {"line", 3}, {"condition", "step == " + std::to_string(i)}});
    for (int i = 0; i < 10; ++i) others.push_back({{"kind", "op"}, {"target", "op" + std::to_string(i)}});
    notebook["cells"][0]["metadata"]["tapedeck"]["breakpoints"] = ofCell;
    notebook["metadata"]["tapedeck"]["breakpoints"] = others;
    World world;
    QSignalSpy changed(&world.model, &inspector::BreakpointsModel::changed);
    QSignalSpy loaded(&world.keeper, &NotebookBreakpoints::loaded);
    world.document.parse(QByteArray::fromStdString(notebook.dump()), "file");
    QCOMPARE(world.model.all().size(), NotebookBreakpoints::most_breakpoints);
    QCOMPARE(changed.count(), 2);  // the breakpoints, and all their notes
    QCOMPARE(world.model.all()[10].note, QString("Line 3 is a comment."));
    QCOMPARE(loaded.count(), 1);
    QCOMPARE(
        loaded[0][0].toString(),
        QString(
            "The notebook has 20,010 breakpoints. The first 1,000 are set; the others stay in the file."));
    QVERIFY(!world.document.modified());
    // A change is saved with all others, those that are not set too.
    world.model.remove(world.model.all()[10].breakpoint.id);
    const auto saved = [&] { return world.document.ownMetadata(0)["breakpoints"]; };
    ofCell.erase(std::size_t{0});
    QCOMPARE(saved().size(), ofCell.size());
    QVERIFY(saved() == ofCell);
    QVERIFY(world.document.ownMetadata(-1)["breakpoints"] == others);
    // The cell takes its breakpoints along, all at once, and brings back as many as there is room for.
    changed.clear();
    world.document.removeCell(0);
    QCOMPARE(world.model.all().size(), std::size_t{10});
    QVERIFY2(changed.count() <= 2, qPrintable(QString::number(changed.count())));
    changed.clear();
    world.document.undoStructure();
    QCOMPARE(world.model.all().size(), NotebookBreakpoints::most_breakpoints);
    QVERIFY2(changed.count() <= 2, qPrintable(QString::number(changed.count())));
    QVERIFY(saved() == ofCell);
    world.document.parse(file, "file");
    QCOMPARE(loaded.last()[0].toString(), QString());
  }

  void aCellsBreakpointsGoAndComeWithIt() {
    World world;
    world.document.parse(file, "file");
    world.model.toggleLine("one", 4);
    world.document.removeCell(0);
    QVERIFY(world.model.all().empty());
    world.document.undoStructure();
    QCOMPARE(world.model.all().size(), std::size_t{1});
    QCOMPARE(world.model.all()[0].breakpoint.line, 4u);
  }

  void aConversionThatIsUndoneKeepsWhatWasSetSince() {
    World world;
    world.document.parse(file, "file");
    const auto saved = [&] { return fromMetadata(world.document.ownMetadata(0), "one").size(); };
    world.document.setCellType(0, CellType::markdown);
    world.document.undoStructure();
    QVERIFY(!world.document.modified());
    world.model.toggleLine("one", 4);
    world.document.redoStructure();
    QCOMPARE(saved(), std::size_t{1});
    world.document.undoStructure();
    QCOMPARE(saved(), std::size_t{1});
    QVERIFY(world.document.modified());
    World other;
    other.document.parse(world.document.serialize(), "file");
    QCOMPARE(other.model.all().size(), std::size_t{1});
    // Set before the conversion and removed after it: gone.
    world.document.setCellType(0, CellType::markdown);
    world.model.removeAll();
    world.document.undoStructure();
    QCOMPARE(saved(), std::size_t{0});
  }
};

TAPEDECK_TEST(TestNotebookBreakpoints)
#include "tst_notebook_breakpoints.moc"
