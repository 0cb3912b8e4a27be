// What the session sends, as the notebook in memory keeps it: displays that change, progress bars.
#include <QSignalSpy>
#include <QtTest>

#include "app/control/recovery.h"
#include "app/control/trace_document.h"
#include "app/kernel/jupyter/jupyter_message.h"
#include "app/notebook/document/document.h"
#include "app/notebook/document/nbformat.h"
#include "engine/protocol/json_check.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

/// What a display message with a value of that many lists inside of each other becomes; 2 levels are around
/// it.
nlohmann::json arrived(int lists, const char* type = "display_data") {
  const JupyterPacker packer;
  JupyterMessage message = JupyterPacker().make(type, nlohmann::json::object());
  Frames frames = packer.pack(message);
  frames[5] = R"({"data": {"text/plain": "shown", "application/json": )" + std::string(lists, '[') + "1.50" +
              std::string(lists, ']') + R"(}, "metadata": {}, "execution_count": 3})";
  return outputOf(packer.unpack(frames));
}

}  // namespace

class TestDocumentOutputs : public QObject {
  Q_OBJECT
 private slots:
  void displaysAreUpdatedByTheirId() {
    Document document;
    const QString id = document.cell(0).id;
    nlohmann::json shown = display({{"text/plain", "0 %"}});
    shown["transient"] = {{"display_id", "bar"}};
    document.appendOutput(id, shown);
    QSignalSpy changed(&document, &Document::outputsChanged);
    document.updateDisplay("bar", {{"text/plain", "100 %"}}, nlohmann::json::object());
    document.updateDisplay("other", {{"text/plain", "no"}}, nlohmann::json::object());
    QCOMPARE(changed.count(), 1);
    QCOMPARE(document.cell(0).outputs[0]["data"]["text/plain"].get<std::string>(), std::string("100 %"));
    QVERIFY(!document.serialize().contains("transient"));
  }

  void whatIsPrintedFollowsStreamsOfAnyForm() {
    for (const nlohmann::json& odd : {nlohmann::json{{"output_type", "stream"}, {"name", "stdout"}},
                                      nlohmann::json{{"output_type", "stream"}, {"name", 3}, {"text", "t"}},
                                      nlohmann::json{{"output_type", "stream"}, {"text", "t"}}}) {
      Document document;
      document.parse(notebookOf({codeCell("c", "x", nlohmann::json::array({odd}), 1)}), "x.ipynb");
      document.appendOutput("c", stream("more\n"));
      QCOMPARE(document.cell(0).outputs.size(), std::size_t{2});
      QVERIFY(document.cell(0).outputs[0] == nlohmann::ordered_json(odd));
      Document again;
      again.parse(document.serialize(), "x.ipynb");
      QCOMPARE(again.cell(0).outputs[1]["text"].get<std::string>(), std::string("more\n"));
    }
  }

  void progressBarsStayOneLine() {
    Document document;
    const QString id = document.cell(0).id;
    for (int i = 0; i <= 1000; ++i) document.appendOutput(id, stream("\r" + std::to_string(i) + " of 1000"));
    document.appendOutput(id, stream("\nend\n"));
    QCOMPARE(document.cell(0).outputs[0]["text"].get<std::string>(), std::string("1000 of 1000\nend\n"));
  }

  void carriageReturnsOverwrite_data() {
    QTest::addColumn<QStringList>("parts");
    QTest::addColumn<QString>("text");
    QTest::newRow("shorter") << QStringList{"abcdef\rxy"} << "xycdef";
    QTest::newRow("windows") << QStringList{"a\r\nb\r\n"} << "a\nb\n";
    QTest::newRow("split windows") << QStringList{"a\r", "\nb"} << "a\nb";
    QTest::newRow("waits") << QStringList{"50 %\r"} << "50 %\r";
    QTest::newRow("then") << QStringList{"50 %\r", "60 %\r"} << "60 %\r";
    QTest::newRow("other lines") << QStringList{"first\nab\rc"} << "first\ncb";
    QTest::newRow("unicode") << QStringList{"äöü\rx"} << "xöü";
  }
  void carriageReturnsOverwrite() {
    QFETCH(QStringList, parts);
    QFETCH(QString, text);
    Document document;
    const QString id = document.cell(0).id;
    for (const QString& part : parts) document.appendOutput(id, stream(part.toStdString()));
    QCOMPARE(QString::fromStdString(document.cell(0).outputs[0]["text"].get<std::string>()), text);
  }

  void whatIsWrittenCanBeReadHoweverDeepItsOutputs_data() {
    constexpr int deepest = tapedeck::protocol::max_output_nesting - 2;
    QTest::addColumn<int>("lists");
    QTest::addColumn<bool>("kept");
    QTest::newRow("flat") << 1 << true;
    QTest::newRow("as deep as may be") << deepest << true;
    QTest::newRow("one deeper") << deepest + 1 << false;
    QTest::newRow("600") << 600 << false;
    QTest::newRow("200,000") << 200'000 << false;
  }
  void whatIsWrittenCanBeReadHoweverDeepItsOutputs() {
    QFETCH(int, lists);
    QFETCH(bool, kept);
    Document document;
    const QString id = document.cell(0).id;
    document.setSource(0, "x");
    nlohmann::json bar = display({{"text/plain", "0 %"}});
    bar["transient"] = {{"display_id", "bar"}};
    document.appendOutput(id, bar);
    document.appendOutput(id, arrived(lists));
    document.appendOutput(id, arrived(lists, "execute_result"));
    document.updateDisplay("bar", arrived(lists)["data"], arrived(lists)["metadata"]);
    const nlohmann::ordered_json& outputs = document.cell(0).outputs;
    QCOMPARE(outputs.size(), std::size_t{3});
    for (const nlohmann::ordered_json& output : outputs) {
      QCOMPARE(output["data"].contains("application/json"), kept);
      const std::string text = output["data"]["text/plain"];
      QCOMPARE(text == "shown", kept);
      if (!kept)
        QVERIFY2(
            text.find("nested " + std::to_string(lists + 2) + " deep. Up to 496 levels") != std::string::npos,
            text.c_str());
    }
    QTemporaryDir folder;
    const QByteArray recovery = "{\"tapedeck_recovery\": 1}\n" + document.snapshot({}).bytes();
    const QByteArray trace = QByteArray::fromStdString(withCellIds(document.serialize(), {id}));
    document.save(folder.filePath("deep.ipynb"));
    Document read;
    read.load(folder.filePath("deep.ipynb"));
    QVERIFY(read.cell(0).outputs == outputs);
    read.recover(withoutHeader(recovery), {});
    QVERIFY(read.cell(0).outputs == outputs);
    QVERIFY(readNotebook(trace, "trace").cells[0]->cell.outputs == outputs);
  }

  /// A trace gets the notebook's own text: numbers of any length, NaN, halves of characters.
  void theNotebookOfATraceIsTheFilesOwn() {
    const QByteArray file =
        R"({"cells": [{"cell_type": "code", "execution_count": null, "metadata": {"a": NaN, "b": 1.50, "c": "\ud800",)"
        R"( "d": 123456789012345678901234567890}, "outputs": [], "source": "x"}], "metadata": {}, "nbformat": 4,)"
        R"( "nbformat_minor": 4})";
    Document document;
    document.parse(file, "x.ipynb");
    const QByteArray trace = QByteArray::fromStdString(withCellIds(document.serialize(), {"mine"}));
    const auto cell = readNotebook(trace, "trace").cells[0];
    QCOMPARE(cell->cell.id, QString("mine"));
    for (const char* kept : {"NaN", "1.50", "\\ud800", "123456789012345678901234567890"})
      QVERIFY2(trace.contains(kept), trace.constData());
  }

  void oneNoteCountsTheOutputsThatAreLeftOut() {
    Document document;
    const QString id = document.cell(0).id;
    document.appendOutput(id, display({{"text/plain", "kept"}}));
    document.addLeftOut(id, 1);
    const auto text = [&](std::size_t i) {
      return QString::fromStdString(document.cell(0).outputs[i]["text"].get<std::string>());
    };
    QCOMPARE(text(1), QString("[… 1 more output was left out: a cell keeps at most 10,000 outputs besides "
                              "what it prints, and 256 MiB of them …]\n"));
    // What is printed to the same stream is no part of the note, which stays at its place.
    document.appendOutput(id, stream("printed\n", "stderr"));
    std::vector<std::size_t> edited;
    QObject::connect(&document, &Document::outputEdited, &document,
                     [&](int, const OutputChange& change) { edited.push_back(change.output); });
    document.addLeftOut(id, 1233);
    QCOMPARE(edited, std::vector<std::size_t>{1});
    QVERIFY2(text(1).startsWith("[… 1,234 more outputs were left out: "), qPrintable(text(1)));
    QCOMPARE(text(2), QString("printed\n"));
    QCOMPARE(document.cell(0).outputs.size(), std::size_t{3});
    document.clearOutputs(id);
    document.addLeftOut(id, 2);
    QVERIFY2(text(0).startsWith("[… 2 more outputs were left out: "), qPrintable(text(0)));
    Document read;
    read.parse(document.serialize(), "file");
    QVERIFY(read.cell(0).outputs == document.cell(0).outputs);
    document.addLeftOut("gone", 2);
    QCOMPARE(document.cell(0).outputs.size(), std::size_t{1});
  }

  void streamsThatTakeTurnsEndInOneOutputEach() {
    Document document;
    const QString id = document.cell(0).id;
    for (int i = 0; i < 5'000; ++i) {
      document.appendOutput(id, stream("out " + std::to_string(i) + "\n"));
      document.appendOutput(id, stream("err " + std::to_string(i) + "\n", "stderr"));
    }
    const nlohmann::ordered_json& outputs = document.cell(0).outputs;
    QCOMPARE(outputs.size(), std::size_t{1'003});
    QCOMPARE(
        QString::fromStdString(outputs[1'000]["text"].get<std::string>()),
        QString("[… this cell has more than 1,000 outputs: from here on, what each stream prints is gathered "
                "in one output, whatever comes between …]\n"));
    // Nothing of them is lost.
    std::string out, err, expected_out, expected_err;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (i != 1'000) (outputs[i]["name"] == "stdout" ? out : err) += outputs[i]["text"].get<std::string>();
    for (int i = 0; i < 5'000; ++i) {
      expected_out += "out " + std::to_string(i) + "\n";
      expected_err += "err " + std::to_string(i) + "\n";
    }
    QVERIFY(out == expected_out);
    QVERIFY(err == expected_err);
    document.clearOutputs(id);
    document.appendOutput(id, stream("again\n"));
    document.appendOutput(id, stream("again\n", "stderr"));
    QCOMPARE(document.cell(0).outputs.size(), std::size_t{2});
  }

  void whateverASessionSendsTheOutputsOfACellEnd() {
    Document document;
    const QString id = document.cell(0).id;
    for (int i = 0; i < 12'000; ++i) {
      nlohmann::json shown = display({{"text/plain", std::to_string(i)}});
      shown["transient"] = {{"display_id", "d" + std::to_string(i)}};
      document.appendOutput(id, shown);
    }
    document.appendOutput(id,
                          {{"output_type", "error"}, {"ename", "E"}, {"evalue", "v"}, {"traceback", {"E"}}});
    const nlohmann::ordered_json& outputs = document.cell(0).outputs;
    QVERIFY(outputs.size() < 11'100);
    const QString note = QString::fromStdString(outputs[outputs.size() - 2]["text"].get<std::string>());
    QVERIFY2(note.contains("more outputs were left out"), qPrintable(note));
    QCOMPARE(outputs.back()["output_type"].get<std::string>(), std::string("error"));
  }

  void ofALongStreamTheFileStoresUpToTheLimit() {
    Document document;
    const QString id = document.cell(0).id;
    for (int i = 0; i < 100'000; ++i)
      document.appendOutput(id, stream("line " + std::to_string(i) + " of a log\n"));
    const Cell& cell = document.cell(0);
    QCOMPARE(cell.printed.size(), std::size_t{1});
    QVERIFY(cell.outputs[0]["text"].get_ref<const std::string&>().size() <= (std::size_t{1} << 20));
    // A snapshot has what there was, whatever is printed while it is written.
    const Document::Snapshot snapshot = document.snapshot({});
    const std::size_t before = cell.printed.at(0).size();
    for (int i = 0; i < 20'000; ++i) document.appendOutput(id, stream("later\n"));
    Document read;
    read.parse(snapshot.bytes(), "file");
    QCOMPARE(read.cell(0).outputs[0]["text"].get_ref<const std::string&>().size(), before);
    QVERIFY(document.cell(0).printed.at(0).all().ends_with("later\n"));
    read.parse(document.snapshot({}, 100'000).bytes(), "file");
    QVERIFY(read.cell(0).outputs[0]["text"].get_ref<const std::string&>().size() < 100'400);
  }

  /// A file may have anything where nbformat has text, and so may a session.
  void membersOfOtherTypesDoNotDisturb() {
    const nlohmann::json odd = {{"output_type", "stream"}, {"name", 7}, {"text", "odd"}};
    Document document;
    document.parse(notebookOf(codeCell("a", "x", nlohmann::json::array({odd}))), "file");
    document.appendOutput("a", stream("more"));
    document.appendOutput("a", {{"output_type", 3}, {"transient", {{"display_id", 4}}}});
    document.appendOutput("a", {{"output_type", "stream"}, {"name", nullptr}, {"text", "end"}});
    const nlohmann::ordered_json& outputs = document.cell(0).outputs;
    QCOMPARE(outputs.size(), std::size_t{4});
    QCOMPARE(outputs[1]["text"].get<std::string>(), std::string("more"));
    QCOMPARE(outputs[3]["text"].get<std::string>(), std::string("end"));
  }

  void resultsForCellsThatAreGoneAreIgnored() {
    Document document;
    document.appendOutput("gone", stream("x"));
    document.setExecutionCount("gone", 3);
    document.clearOutputs("gone");
    QVERIFY(!document.modified());
  }
};

TAPEDECK_TEST(TestDocumentOutputs)
#include "tst_document_outputs.moc"
