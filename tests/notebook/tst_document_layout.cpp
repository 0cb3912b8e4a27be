// Files of other programs keep their layout: what is changed here is all that changes there.
#include <QProcess>
#include <QRegularExpression>
#include <QtTest>

#include "app/notebook/document/nbformat.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

/// A notebook as some program might write it. `dump`: arguments of Python's json.dumps.
QByteArray written(int minor, const QString& dump,
                   const QString& order = "cells metadata nbformat nbformat_minor",
                   const QString& cellKeys = "cell_type id metadata execution_count outputs source") {
  const QString script = QString(R"(
import json, sys
minor = %1
def cell(i, kind, source, **more):
    whole = dict(cell_type=kind, id='cell-%d' % i, metadata={'tags': ['b', 'a'], 'collapsed': True}, source=source, **more)
    if minor < 5: del whole['id']
    return {key: whole[key] for key in '%4'.split() if key in whole}
out = [{'output_type': 'stream', 'name': 'stdout', 'text': ['é 1\n', '2']},
       {'output_type': 'execute_result', 'execution_count': 2, 'metadata': {}, 'data': {'text/plain': ['[1.50]'], 'text/html': ['<b>\n', '</b>']}}]
cells = [cell(0, 'markdown', ['# Über\n', 'text']), cell(1, 'code', ['a = 1\n', 'a'], execution_count=2, outputs=out),
         cell(2, 'code', [], execution_count=None, outputs=[]), cell(3, 'raw', ['raw'])]
notebook = dict(cells=cells, nbformat=4, nbformat_minor=minor, metadata={
    'language_info': {'name': 'python', 'version': '3.6.1', 'codemirror_mode': {'name': 'ipython', 'version': 3}},
    'kernelspec': {'name': 'conda', 'display_name': 'Ünï', 'language': 'python'}, 'orig_nbformat': 2})
notebook = {key: notebook[key] for key in '%3'.split()}
sys.stdout.buffer.write(json.dumps(notebook, %2).encode())
)")
                             .arg(minor)
                             .arg(dump, order, cellKeys);
  QProcess python;
  python.start("/usr/bin/python3", {"-c", script});
  python.waitForFinished();
  const QByteArray error = python.readAllStandardError();
  if (!error.isEmpty()) qWarning("%s", error.constData());
  return python.readAllStandardOutput();
}

/// Lines that are only in one of both, at the first place where they differ.
struct Difference {
  int removed, added;
};
Difference difference(const QByteArray& a, const QByteArray& b) {
  const QList<QByteArray> x = a.split('\n'), y = b.split('\n');
  qsizetype first = 0, last = 0;
  while (first < x.size() && first < y.size() && x[first] == y[first]) ++first;
  while (last < x.size() - first && last < y.size() - first &&
         x[x.size() - 1 - last] == y[y.size() - 1 - last])
    ++last;
  return {static_cast<int>(x.size() - first - last), static_cast<int>(y.size() - first - last)};
}

/// As a session that runs tells it.
void sessionStarts(Document& document) {
  document.setLanguageInfo({{"language_info", {{"name", "python"}, {"version", "3.11.2"}}}});
}

}  // namespace

class TestDocumentLayout : public QObject {
  Q_OBJECT

 private slots:
  void layouts_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<int>("cellLines");  ///< of an added code cell with one line
    const QString jupyter = "indent=1, sort_keys=True, ensure_ascii=False";
    for (const int minor : {0, 2, 4, 5})
      QTest::addRow("Jupyter 4.%d", minor) << written(minor, jupyter) + "\n" << (minor < 5 ? 9 : 10);
    const QString colab = "nbformat nbformat_minor metadata cells";
    for (const int minor : {0, 2, 4, 5}) {
      const int lines = (minor < 5 ? 9 : 10);
      QTest::addRow("indent 2, own order 4.%d", minor)
          << written(minor, "indent=2, ensure_ascii=False", colab,
                     "cell_type metadata id source execution_count outputs")
          << lines;
      QTest::addRow("indent 4, escapes 4.%d", minor)
          << written(minor, "indent=4", "metadata nbformat cells nbformat_minor") << lines;
      QTest::addRow("tabs 4.%d", minor) << written(minor, "indent='\\t', sort_keys=True") + "\n" << lines;
    }
    QTest::addRow("one line") << written(4, "") << 1;
    QTest::addRow("one line, dense") << written(5, "separators=(',', ':')") << 1;
    QTest::addRow("CRLF") << written(4, jupyter).replace("\n", "\r\n") << 9;
  }

  void anAddedCellChangesNoOtherLine_data() { layouts_data(); }
  void anAddedCellChangesNoOtherLine() {
    QFETCH(QByteArray, file);
    QFETCH(int, cellLines);
    for (const int place : {0, 1, 2, 4}) {
      Document document;
      document.take(read(file), file, "/other/program.ipynb");
      sessionStarts(document);
      document.insertCell(place, CellType::code, "new()");
      const QByteArray saved = document.serialize();
      const Difference lines = difference(file, saved);
      const bool oneLine = !file.contains('\n');
      // Behind the last cell, that one's line gets a comma.
      const int touched = oneLine || place == 4 ? 1 : 0;
      QVERIFY2(lines.removed <= touched, qPrintable(QString::number(lines.removed) + "\n" + saved));
      QVERIFY2(lines.added <= (oneLine ? 1 : cellLines + touched),
               qPrintable(QString::number(lines.added) + "\n" + saved));
      const auto json = nlohmann::json::parse(saved.toStdString());
      const auto before = nlohmann::json::parse(file.toStdString());
      QCOMPARE(json["nbformat_minor"], before["nbformat_minor"]);
      QCOMPARE(json["metadata"], before["metadata"]);
      QCOMPARE(json["cells"].size(), std::size_t(5));
      QCOMPARE(json["cells"][static_cast<std::size_t>(place)].contains("id"),
               before["nbformat_minor"].get<int>() >= 5);
      // Taken away again it is the file that it was.
      document.undoStructure();
      QCOMPARE(document.serialize(), file);
    }
  }

  void aChangedSourceChangesOnlyItsLines_data() { layouts_data(); }
  void aChangedSourceChangesOnlyItsLines() {
    QFETCH(QByteArray, file);
    Document document;
    document.take(read(file), file, "/other/program.ipynb");
    sessionStarts(document);
    document.setSource(1, "a = 2\na");
    const QByteArray saved = document.serialize();
    const Difference lines = difference(file, saved);
    QVERIFY2(lines.removed == 1 && lines.added == 1,
             qPrintable(QString("-%1 +%2\n").arg(lines.removed).arg(lines.added) + saved));
    // Saved and changed back it is the first file again.
    document.wasSaved(document.snapshot({}), saved, "/other/program.ipynb");
    document.setSource(1, "a = 1\na");
    QVERIFY(document.modified());
    QCOMPARE(document.serialize(), file);
  }

  void movedCellsKeepTheirText() {
    const QByteArray file = written(4, "indent=2, ensure_ascii=False");
    Document document;
    document.take(read(file), file, "/other/program.ipynb");
    document.moveCell(0, 2);
    QByteArray lines = document.serialize();
    QList<QByteArray> a = file.split('\n'), b = lines.split('\n');
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    QCOMPARE(a, b);
  }

  void anotherLanguageIsWritten() {
    QByteArray file = written(4, "indent=1, sort_keys=True, ensure_ascii=False") + "\n";
    file.replace("\"name\": \"python\"", "\"name\": \"julia\"");
    Document document;
    document.take(read(file), file, "/other/program.ipynb");
    sessionStarts(document);
    QCOMPARE(document.serialize(), file);
    document.setSource(0, "changed");
    const auto json = nlohmann::json::parse(document.serialize().toStdString());
    QCOMPARE(json["metadata"]["language_info"]["name"].get<std::string>(), std::string("python"));
    QCOMPARE(json["metadata"]["kernelspec"]["name"].get<std::string>(), std::string("conda"));
  }

  void aFileThatSaysNoLanguageIsNotGivenOne() {
    const QByteArray file = notebookOf(nlohmann::json::array({codeCell("c", "x")}));
    Document document;
    document.take(read(file), file, "/other/program.ipynb");
    sessionStarts(document);
    document.setSource(0, "y");
    QVERIFY(!document.serialize().contains("language_info"));
    // A notebook that was made here says it.
    Document own;
    sessionStarts(own);
    own.setSource(0, "y");
    QVERIFY(own.serialize().contains("3.11.2"));
  }

  void aHeaderWithNaNKeepsItsBytes() {
    const QByteArray bytes =
        "{\"metadata\": {\"a\": NaN,   \"b\": [-Infinity]}, \"nbformat\": 4, \"nbformat_minor\": 2,"
        "  \"cells\": []}";
    NotebookData notebook = readNotebook(bytes, "x.ipynb");
    QCOMPARE(writeNotebook(notebook), bytes);
    notebook.header["metadata"]["a"] = 1;
    QVERIFY(writeNotebook(notebook).contains("\"a\": 1"));
  }

  void ofMembersThatComeTwiceTheLastValueCounts_data() {
    QTest::addColumn<int>("members");
    for (const int members : {2, 31, 32, 33, 1000}) QTest::addRow("%d", members) << members;
  }
  void ofMembersThatComeTwiceTheLastValueCounts() {
    QFETCH(int, members);
    std::string text = "{";
    for (int i = 0; i < 2 * members; ++i)
      text += (i ? ", \"" : "\"") + std::to_string(i % members) + "\": " + std::to_string(i);
    const nlohmann::ordered_json object = readJson(text + "}");
    QCOMPARE(object.size(), static_cast<std::size_t>(members));
    int place = 0;
    for (const auto& [key, value] : object.items()) {
      QCOMPARE(key, std::to_string(place));
      QCOMPARE(value.get<int>(), members + place++);
    }
  }

  void readingCanBeStopped() {
    const QByteArray file = notebookOf(nlohmann::json::array({codeCell("c", std::string(8 << 20, 'x'))})) +
                            QByteArray(8 << 20, ' ');
    double last = 0;
    readNotebook(file, "x", [&](double share) {
      last = share;
      return share <= 1;
    });
    QVERIFY(last > 0 && last <= 1);
    QVERIFY_EXCEPTION_THROWN(readNotebook(file, "x", [](double) { return false; }), Stopped);
  }

 private:
  static NotebookData read(const QByteArray& file) { return readNotebook(file, "program.ipynb"); }
};

TAPEDECK_TEST(TestDocumentLayout)
#include "tst_document_layout.moc"
