// What the session sends, as the notebook in memory keeps it: displays that change, progress bars.
#include <QSignalSpy>
#include <QtTest>

#include "app/notebook/document/document.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

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
