// The notebook in memory: reading, writing, changing, undoing.
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "app/notebook/document/document.h"
#include "app/notebook/document/json_text.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

/// Written by Jupyter's own nbformat.
QByteArray writtenByJupyter() {
  static QByteArray bytes;
  if (!bytes.isEmpty()) return bytes;
  QProcess python;
  python.start("/usr/bin/python3", {QString(TAPEDECK_SOURCE_DIR) + "/tests/notebook/write_notebook.py"});
  python.waitForFinished();
  bytes = python.readAllStandardOutput();
  return bytes;
}

/// What Jupyter's nbformat.write makes of a notebook's bytes.
QByteArray rewrittenByJupyter(const QByteArray& notebook) {
  QProcess python;
  python.start("/usr/bin/python3", {"-c",
                                    "import sys, io, nbformat\n"
                                    "text = sys.stdin.buffer.read().decode()\n"
                                    "out = io.StringIO()\n"
                                    "nbformat.write(nbformat.reads(text, as_version=4), out)\n"
                                    "sys.stdout.buffer.write(out.getvalue().encode())\n"});
  python.write(notebook);
  python.closeWriteChannel();
  python.waitForFinished();
  return python.readAllStandardOutput();
}

QString errorOf(const QByteArray& bytes) {
  Document document;
  try {
    document.parse(bytes, "x.ipynb");
  } catch (const NotebookError& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

/// Lines that differ, as the first and the number of them.
QPair<int, int> differingLines(const QByteArray& a, const QByteArray& b) {
  const QList<QByteArray> x = a.split('\n');
  const QList<QByteArray> y = b.split('\n');
  int first = 0;
  while (first < x.size() && first < y.size() && x[first] == y[first]) ++first;
  int last = 0;
  while (last < x.size() - first && last < y.size() - first &&
         x[x.size() - 1 - last] == y[y.size() - 1 - last])
    ++last;
  return {first, static_cast<int>(std::max(x.size(), y.size())) - last - first};
}

}  // namespace

class TestDocument : public QObject {
  Q_OBJECT

 private slots:
  void aNewDocumentHasOneEmptyCodeCell() {
    Document document;
    QCOMPARE(document.cellCount(), 1);
    QCOMPARE(document.cell(0).type, CellType::code);
    QVERIFY(document.cell(0).source.isEmpty());
    QVERIFY(!document.modified());
    QVERIFY(document.path().isEmpty());
    QCOMPARE(document.serialize(), rewrittenByJupyter(document.serialize()));
  }

  void whatJupyterWroteIsSavedAsTheSameBytes() {
    const QByteArray bytes = writtenByJupyter();
    QVERIFY(bytes.size() > 2000);
    Document document;
    document.parse(bytes, "a.ipynb");
    QVERIFY(!document.modified());
    QCOMPARE(document.serialize(), bytes);
  }

  void aChangedCellChangesOnlyItsOwnText() {
    const QByteArray bytes = writtenByJupyter();
    Document document;
    document.parse(bytes, "a.ipynb");
    for (int i = 0; i < document.cellCount(); ++i) {
      const QString before = document.cell(i).source;
      document.setSource(i, before + "!");
      QVERIFY(document.modified());
      const QPair<int, int> lines = differingLines(bytes, document.serialize());
      // An empty source goes from [] to a list of one line.
      QVERIFY2(lines.second <= (before.isEmpty() ? 3 : 2),
               qPrintable(QString("cell %1: %2 lines").arg(i).arg(lines.second)));
      QCOMPARE(document.serialize(), rewrittenByJupyter(document.serialize()));
      document.setSource(i, before);
      QVERIFY(!document.modified());
    }
    QCOMPARE(document.serialize(), bytes);
  }

  void structureChangesAreWrittenAsJupyterWritesThem() {
    Document document;
    document.parse(writtenByJupyter(), "a.ipynb");
    document.insertCell(1, CellType::code,
                        "a = 'é\\u2028x'\nb\r\nc\x0b"
                        "d");
    document.insertCell(2, CellType::markdown, "");
    document.moveCell(0, 3);
    document.setCellType(1, CellType::raw);
    document.removeCell(4);
    const QByteArray bytes = document.serialize();
    QCOMPARE(bytes, rewrittenByJupyter(bytes));
  }

  void outputsOfTheSessionAreWrittenAsJupyterWritesThem() {
    Document document;
    document.parse(writtenByJupyter(), "a.ipynb");
    const QString id = document.insertCell(0, CellType::code, "print(1)");
    document.appendOutput(id, stream("one\n"));
    document.appendOutput(id, stream("two\nthree"));
    document.appendOutput(id, stream("bad\n", "stderr"));
    document.appendOutput(
        id, result(7, {{"text/plain", "a\nb"}, {"image/svg+xml", "<svg>\n</svg>"}, {"image/png", "aGk=\n"}}));
    document.setExecutionCount(id, 7);
    QCOMPARE(document.cell(0).outputs.size(), std::size_t(3));
    QCOMPARE(document.cell(0).outputs[0]["text"].get<std::string>(), std::string("one\ntwo\nthree"));
    const QByteArray bytes = document.serialize();
    QCOMPARE(bytes, rewrittenByJupyter(bytes));
    QVERIFY(bytes.contains("\"execution_count\": 7"));
  }

  void objectsOfManyMembersAreRead() {
    constexpr int count = 300'000;
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += "\"a" + std::to_string(i) + "\": " + std::to_string(i) + ", ";
    const auto object = readJson(text + "\"a7\": \"again\", \"a299999\": \"at last\"}");
    QCOMPARE(object.size(), std::size_t(count));
    // Of two with one key the last value counts, in the place of the first.
    const auto& members = object.get_ref<const nlohmann::ordered_json::object_t&>();
    QCOMPARE(members.begin()[7].second, nlohmann::ordered_json("again"));
    QCOMPARE(members.begin()[8].first, std::string("a8"));
    QCOMPARE(members.back().second, nlohmann::ordered_json("at last"));
    const auto few = readJson(R"({"a": 1, "b": 2, "a": 3})");
    QCOMPARE(few.dump(), std::string(R"({"a":3,"b":2})"));
  }

  void numbersKeepTheirText() {
    QByteArray bytes = notebookOf(nlohmann::json::array({codeCell("c", "x")}));
    bytes.replace("\"metadata\":{},\"nbformat\"",
                  "\"metadata\":{\"a\":1.50,\"b\":1e5,\"c\":123456789012345678901234567890,\"d\":0.1,\"e\":-"
                  "0,\"f\":NaN,"
                  "\"g\":-Infinity,\"h\":5e-324,\"i\":1.7976931348623157e+308,\"j\":1e400},\"nbformat\"");
    Document document;
    document.parse(bytes, "x.ipynb");
    document.setSource(0, "y");
    const QByteArray text = document.serialize();
    for (const char* line : {"\"a\":1.50,", "\"b\":1e5,", "\"c\":123456789012345678901234567890,",
                             "\"d\":0.1,", "\"e\":-0,", "\"f\":NaN,", "\"g\":-Infinity,", "\"h\":5e-324,",
                             "\"i\":1.7976931348623157e+308,", "\"j\":1e400"}) {
      QVERIFY2(text.contains(line), line);
    }
  }

  void unknownMembersAndOutputsSurvive() {
    nlohmann::json cell = codeCell("c", "x", {{{"output_type", "hologram"}, {"beam", {1, 2}}}});
    cell["vendor"] = {{"deep", {{"er", true}}}};
    nlohmann::json odd = {
        {"cell_type", "sql"}, {"id", "s"}, {"metadata", {{"k", nullptr}}}, {"source", "select 1"}};
    QByteArray bytes = notebookOf({cell, odd});
    bytes.replace("\"nbformat\"", "\"application\":{\"x\":[]},\"nbformat\"");
    Document document;
    document.parse(bytes, "x.ipynb");
    QCOMPARE(document.cell(1).type, CellType::raw);
    document.setSource(0, "changed");
    const auto saved = nlohmann::json::parse(document.serialize().toStdString());
    QCOMPARE(saved["cells"][0]["vendor"]["deep"]["er"].get<bool>(), true);
    QCOMPARE(saved["cells"][0]["outputs"][0]["beam"][1].get<int>(), 2);
    QCOMPARE(saved["cells"][1]["cell_type"].get<std::string>(), std::string("sql"));
    QVERIFY(saved["application"]["x"].is_array());
  }

  void loneSurrogatesSurvive() {
    QByteArray bytes = notebookOf(nlohmann::json::array({codeCell("c", "MARK"), codeCell("d", "x")}));
    bytes.replace("MARK", "a\\ud800b");
    Document document;
    document.parse(bytes, "x.ipynb");
    QCOMPARE(document.cell(0).source.size(), 3);
    document.setSource(1, "y");
    QVERIFY(document.serialize().contains("\"a\\ud800b\""));
    QCOMPARE(nlohmann::json::accept(document.serialize().toStdString()), false);  // as strict parsers see it
    Document again;
    again.parse(document.serialize(), "again");
    QCOMPARE(again.cell(0).source, document.cell(0).source);
  }

  void olderMinorsGetIdsHereAndNotInTheFile() {
    for (int minor = 0; minor < 5; ++minor) {
      QByteArray bytes =
          R"({"cells": [{"cell_type": "code", "metadata": {"trusted": true}, "source": ["a\n", "b"],
        "outputs": [], "execution_count": null}, {"cell_type": "markdown", "metadata": {}, "source": "# t"}],
        "metadata": {"orig_nbformat": 2, "kernelspec": {"name": "x"}}, "nbformat": 4, "nbformat_minor": MINOR})";
      bytes.replace("MINOR", QByteArray::number(minor));
      Document document;
      document.parse(bytes, "old.ipynb");
      QVERIFY(!document.modified());
      QCOMPARE(document.serialize(), bytes);
      QCOMPARE(document.cell(0).source, "a\nb");
      QCOMPARE(document.cell(0).id.size(), 8);
      QVERIFY(document.cell(0).id != document.cell(1).id);
      document.setSource(1, "# u");
      const QByteArray saved = document.serialize();
      const auto json = nlohmann::json::parse(saved.toStdString());
      QCOMPARE(json["nbformat_minor"].get<int>(), minor);
      for (const auto& cell : json["cells"]) QVERIFY(!cell.contains("id"));
      QCOMPARE(json["metadata"]["orig_nbformat"].get<int>(), 2);
      QCOMPARE(json["metadata"]["kernelspec"]["name"].get<std::string>(), std::string("x"));
    }
  }

  void duplicateIdsAreRepaired() {
    Document document;
    document.parse(notebookOf({codeCell("same", "a"), codeCell("same", "b"), codeCell("", "c")}), "x.ipynb");
    QCOMPARE(document.cell(0).id, "same");
    QVERIFY(document.cell(1).id != "same");
    QVERIFY(!document.cell(2).id.isEmpty());
    QCOMPARE(document.indexOf(document.cell(1).id), 1);
  }

  void whatIsNoNotebookIsRefusedByName_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("sentence");
    const auto row = [](const char* name, const QByteArray& bytes, const char* sentence) {
      QTest::newRow(name) << bytes << QString::fromUtf8(sentence);
    };
    const QByteArray start = R"({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [)";
    row("empty", " \n", "x.ipynb is empty: there is no notebook in it.");
    row("text", "hello",
        "x.ipynb is not a notebook: it is not valid JSON, expected a value but found 'h' (line 1, column "
        "1).");
    row("list", "[1]", "x.ipynb is not a notebook: it holds a list, not an object.");
    row("object", "{}", "x.ipynb is not a notebook: it has no “nbformat”, the version of its format.");
    row("no cells", R"({"nbformat": 4})", "x.ipynb is not a notebook: it has no “cells”.");
    row("format 3", R"({"nbformat": 3, "nbformat_minor": 0, "worksheets": []})",
        "x.ipynb is a notebook of format 3 (IPython 3 or older). Convert it with `jupyter nbconvert --to "
        "notebook "
        "x.ipynb` and open the result.");
    row("format 2", R"({"nbformat": 2})",
        "x.ipynb is a notebook of format 2 (IPython 0.13 or older). Convert it with `jupyter nbconvert --to "
        "notebook "
        "x.ipynb` and open the result.");
    row("format 5", R"({"nbformat": 5, "cells": []})",
        "x.ipynb is a notebook of format 5; this program reads format 4.");
    row("format huge", R"({"nbformat": 99999999999999999999, "cells": []})",
        "x.ipynb: nbformat is a number; expected an integer.");
    row("format text", R"({"nbformat": "4"})", "x.ipynb: nbformat is a string; expected an integer.");
    row("cut in string", start + "{\"cell_type\": \"co",
        "x.ipynb is cut off: it ends in the middle of a string (line 1, column 81).");
    row("cut in list", start + "\n",
        "x.ipynb is cut off: it ends in the middle of a list (line 2, column 1).");
    row("cut in UTF-8", start + "{\"source\": \"\xe2\x82",
        "x.ipynb is cut off: it ends in the middle of a string (line 1, column 77).");
    row("not UTF-8", "{\n \"a\": \"x\xff\"}",
        "x.ipynb is not a notebook: it is not valid JSON, the text is not UTF-8: byte 0xff (line 2, column "
        "9).");
    row("UTF-16", QByteArray("\xff\xfe{\0", 4), "x.ipynb is text in UTF-16; a notebook is JSON in UTF-8.");
    row("comma", start + "1 2]}",
        "x.ipynb is not a notebook: it is not valid JSON, expected ',' or ']' but found '2' (line 1, column "
        "66).");
    row("deep", start + QByteArray(100000, '['),
        "x.ipynb is not a notebook: it is not valid JSON, lists and objects are nested more than 500 deep "
        "(line 1, column 562).");
    row("cells", R"({"nbformat": 4, "cells": {}})", "x.ipynb: cells is an object; expected a list.");
    row("metadata", R"({"nbformat": 4, "cells": [], "metadata": []})",
        "x.ipynb: metadata is a list; expected an object.");
    row("cell", start + "7]}", "x.ipynb: cells[0] is a number; expected an object.");
    row("type", start + R"({"cell_type": null}]})",
        "x.ipynb: cells[0].cell_type is null; expected a string.");
    row("no type", start + R"({"source": ""}]})", "x.ipynb: cells[0] has no “cell_type”.");
    row("source", start + R"({"cell_type": "raw"}, {"cell_type": "code", "source": [1]}]})",
        "x.ipynb: cells[1].source is a list; expected a string or a list of strings.");
    row("id", start + R"({"cell_type": "raw", "id": 3}]})",
        "x.ipynb: cells[0].id is a number; expected a string.");
    row("count", start + R"({"cell_type": "code", "execution_count": true}]})",
        "x.ipynb: cells[0].execution_count is true; expected an integer or null.");
    row("outputs", start + R"({"cell_type": "code", "outputs": [{"output_type": "stream", "text": {}}]}]})",
        "x.ipynb: cells[0].outputs[0].text is an object; expected a string or a list of strings.");
    row("traceback",
        start + R"({"cell_type": "code", "outputs": [{"output_type": "error", "traceback": "x"}]}]})",
        "x.ipynb: cells[0].outputs[0].traceback is a string; expected a list of strings.");
    row("attachment", start + R"({"cell_type": "markdown", "attachments": {"a.png": 1}}]})",
        "x.ipynb: cells[0].attachments.a.png is a number; expected an object.");
  }
  void whatIsNoNotebookIsRefusedByName() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, sentence);
    QCOMPARE(errorOf(bytes), sentence);
  }

  void aFailedParseChangesNothing() {
    Document document;
    document.parse(notebookOf(nlohmann::json::array({codeCell("keep", "x = 1")})), "x.ipynb");
    QSignalSpy reset(&document, &Document::reset);
    QVERIFY_EXCEPTION_THROWN(document.parse("{", "y.ipynb"), NotebookError);
    QCOMPARE(document.cell(0).source, "x = 1");
    QCOMPARE(reset.count(), 0);
  }

  void undoAndRedoOfStructure() {
    Document document;
    document.parse(notebookOf({codeCell("a", "1"), markdownCell("b", "2"), codeCell("c", "3")}), "x.ipynb");
    const auto order = [&] {
      QString text;
      for (int i = 0; i < document.cellCount(); ++i) text += document.cell(i).source;
      return text;
    };
    QVERIFY(!document.canUndoStructure());
    document.removeCell(1);
    document.moveCell(1, 0);
    document.insertCell(1, CellType::markdown, "n");
    document.setSource(1, "new");
    QCOMPARE(order(), "3new1");
    document.undoStructure();
    QCOMPARE(order(), "31");
    document.undoStructure();
    QCOMPARE(order(), "13");
    QVERIFY(document.modified());
    document.undoStructure();
    QCOMPARE(order(), "123");
    QVERIFY(!document.modified());
    QCOMPARE(document.cell(1).id, "b");
    QVERIFY(!document.canUndoStructure());
    document.redoStructure();
    document.redoStructure();
    document.redoStructure();
    QCOMPARE(order(), "3new1");
    QVERIFY(!document.canRedoStructure());
    document.undoStructure();
    document.insertCell(0, CellType::code, "x");
    QVERIFY(!document.canRedoStructure());
  }

  void undoOfTypeBringsOutputsBackAndKeepsWhatWasTyped() {
    Document document;
    document.parse(
        notebookOf(nlohmann::json::array({codeCell("a", "1", nlohmann::json::array({stream("out")}), 4)})),
        "x.ipynb");
    document.setCellType(0, CellType::markdown);
    QCOMPARE(document.cell(0).outputs.size(), std::size_t(0));
    QVERIFY(!document.serialize().contains("execution_count"));
    document.setSource(0, "typed");
    document.undoStructure();
    QCOMPARE(document.cell(0).type, CellType::code);
    QCOMPARE(document.cell(0).executionCount, 4);
    QCOMPARE(document.cell(0).outputs.size(), std::size_t(1));
    QCOMPARE(document.cell(0).source, "typed");
  }

  void attachmentsComeBackWithTheMarkdownType() {
    nlohmann::json cell = markdownCell("m", "![a](attachment:a.png)");
    cell["attachments"] = {{"a.png", {{"image/png", "aGk="}}}};
    Document document;
    document.parse(notebookOf(nlohmann::json::array({cell})), "x.ipynb");
    document.setCellType(0, CellType::code);
    QVERIFY(!document.serialize().contains("attachments"));
    document.setCellType(0, CellType::markdown);
    QVERIFY(document.serialize().contains("aGk="));
  }

  void languageInfoAloneIsNoChange() {
    Document document;
    document.parse(writtenByJupyter(), "a.ipynb");
    document.setLanguageInfo({{"language_info", {{"name", "python"}, {"version", "3.11.2"}}}});
    QVERIFY(!document.modified());
    QCOMPARE(document.serialize(), writtenByJupyter());
    document.setSource(0, "x");
    QVERIFY(document.serialize().contains("3.11.2"));
  }

  void modifiedIsAnnouncedOnce() {
    Document document;
    QSignalSpy modified(&document, &Document::modifiedChanged);
    document.setSource(0, "a");
    document.setSource(0, "ab");
    QCOMPARE(modified.count(), 1);
    document.setSource(0, "");
    QCOMPARE(modified.count(), 2);
    QCOMPARE(modified.last()[0].toBool(), false);
  }

  void aLargeNotebookIsReadAndWritten() {
    nlohmann::json cells = nlohmann::json::array();
    const std::string image(1'000'000, 'A');
    for (int i = 0; i < 40; ++i) {
      cells.push_back(
          codeCell("c" + std::to_string(i), "x", nlohmann::json::array({display({{"image/png", image}})})));
    }
    Document document;
    document.parse(notebookOf(cells), "large.ipynb");
    document.setSource(0, "y");
    const QByteArray bytes = document.serialize();
    QVERIFY(bytes.size() > 40'000'000);
    Document again;
    again.parse(bytes, "again.ipynb");
    QCOMPARE(again.cellCount(), 40);
    QCOMPARE(again.cell(39).outputs[0]["data"]["image/png"].get<std::string>().size(), image.size());
  }
};

TAPEDECK_TEST(TestDocument)
#include "tst_document.moc"
