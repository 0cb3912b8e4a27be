// Python programs as documents: byte for byte what they were, and cells where the program says so.
#include <QFile>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "app/notebook/document/script.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

QStringList sources(const NotebookData& notebook) {
  QStringList all;
  for (const CellPointer& cell : notebook.cells) all << cell->cell.source;
  return all;
}

QByteArray rewritten(const QByteArray& bytes) {
  return writeScript(readScript(bytes, "program.py"));
}

}  // namespace

class TestScript : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  QString write(const QByteArray& bytes, const QString& name = "program.py") {
    return tapedeck::test::write(folder_.filePath(name), bytes);
  }

 private slots:
  void aProgramWithoutMarkersIsOneCell() {
    const NotebookData notebook = readScript("import tensorflow as tf\n\n\nprint(tf)\n\n", "program.py");
    QCOMPARE(sources(notebook), QStringList{"import tensorflow as tf\n\n\nprint(tf)"});
    QCOMPARE(notebook.cells[0]->cell.type, CellType::code);
    QCOMPARE(sources(readScript("", "empty.py")), QStringList{""});
  }

  void cellsBeginAtTheirMarkers() {
    const NotebookData notebook = readScript(
        "'''Doc.'''\nx = 1\n# %% the second\ny = 2\n\n#%% [markdown]\n# # Title\n#\n# text\nplain\n# %% "
        "[raw]\n# raw\n"
        "# %%% no marker\n",
        "program.py");
    QCOMPARE(sources(notebook),
             (QStringList{"'''Doc.'''\nx = 1", "y = 2", "# Title\n\ntext\nplain", "raw\n%%% no marker"}));
    QList<CellType> types;
    for (const CellPointer& cell : notebook.cells) types << cell->cell.type;
    QCOMPARE(types, (QList<CellType>{CellType::code, CellType::code, CellType::markdown, CellType::raw}));
  }

  void whatIsNotChangedStaysByteForByte() {
    const QList<QByteArray> programs = {"",
                                        "\n",
                                        "\n\n# %%\n",
                                        "# %%",
                                        "x = 1",
                                        "x = 1\n",
                                        "x = 1\n# %%",
                                        "x = 1\n# %%\n",
                                        "x = 1\n\n\n# %% a\n\n\n# %% [markdown]\n# b\n#\n#c\n\n",
                                        "\xEF\xBB\xBFx = 1\n# %%\n",
                                        "x = 1\r\n# %%\r\ny = 'é'\r\n",
                                        "a\r\nb\n# %%\rc\n",
                                        "# %% [markdown]\nno comment\n#  two\n"};
    for (const QByteArray& program : programs) QCOMPARE(rewritten(program), program);
  }

  void randomProgramsStayByteForByteToo() {
    QRandomGenerator random(20261122);
    const QList<QByteArray> parts = {
        "\n", "# %%", "# %% [markdown]", "x = 1", "# ", "#", "é", " ", "#%%", "\n\n", "\r\n", "'''"};
    for (int round = 0; round < 3000; ++round) {
      QByteArray program;
      for (quint32 i = 0, count = random.bounded(14u); i < count; ++i)
        program += parts[random.bounded(parts.size())];
      QVERIFY2(rewritten(program) == program, program.toPercentEncoding().constData());
    }
  }

  void aChangeChangesItsCellAlone() {
    Document document;
    document.load(write("a = 1\n\n# %% second\nb = 2\n\n\n# %% [markdown]\n#  text\n"));
    document.setSource(1, "b = 3\nc = 4");
    QCOMPARE(document.serialize(), "a = 1\n\n# %% second\nb = 3\nc = 4\n\n\n# %% [markdown]\n#  text\n");
    document.insertCell(1, CellType::markdown, "new\n\ncell");
    document.insertCell(document.cellCount(), CellType::code, "end");
    QCOMPARE(document.serialize(),
             "a = 1\n\n# %% [markdown]\n# new\n#\n# cell\n\n# %% second\nb = 3\nc = 4\n\n\n# %% "
             "[markdown]\n#  text\n# %%\nend\n");
    document.removeCell(0);
    QVERIFY(document.serialize().startsWith("# %% [markdown]\n# new"));
  }

  void runningChangesNothingInTheFile() {
    Document document;
    const QByteArray program = "x = 1\n# %%\nx\n";
    const QString path = write(program);
    document.load(path);
    QSignalSpy modified(&document, &Document::modifiedChanged);
    document.setExecutionCount(document.cell(1).id, 1);
    document.appendOutput(document.cell(1).id,
                          {{"output_type", "stream"}, {"name", "stdout"}, {"text", "1\n"}});
    document.keep("watches", {"x"});
    document.setOwnMetadata(0, {{"breakpoints", {1}}});
    QVERIFY(!document.modified());
    QCOMPARE(modified.size(), 0);
    document.setSource(0, "x = 2");
    QVERIFY(document.modified());
    document.save(path);
    QVERIFY(!document.modified());
    QCOMPARE(contents(path), "x = 2\n# %%\nx\n");
  }

  void aProgramSavedAsANotebookHasItsOutputsAndTheOtherWayRoundNone() {
    Document document;
    document.load(write("x = 1\n"));
    document.appendOutput(document.cell(0).id,
                          {{"output_type", "stream"}, {"name", "stdout"}, {"text", "shown\n"}});
    document.save(folder_.filePath("program.ipynb"));
    QVERIFY(contents(folder_.filePath("program.ipynb")).contains("shown"));
    document.appendOutput(document.cell(0).id,
                          {{"output_type", "stream"}, {"name", "stdout"}, {"text", "more\n"}});
    QVERIFY(document.modified());
    Document again;
    again.load(folder_.filePath("program.ipynb"));
    again.save(folder_.filePath("again.py"));
    QCOMPARE(contents(folder_.filePath("again.py")), "x = 1\n");
  }

  void workToBeRecoveredIsANotebook() {
    Document document;
    document.load(write("x = 1\n"));
    document.setSource(0, "x = 2");
    const QByteArray kept = document.snapshot({}).bytes();
    QVERIFY(kept.contains("nbformat"));
    Document again;
    again.recover(kept, folder_.filePath("program.py"));
    QVERIFY(again.modified());
    QCOMPARE(again.serialize(), "x = 2\n");
  }

  void whatIsNoProgramIsRefusedWithItsLine() {
    const auto refusal = [](const QByteArray& bytes) {
      try {
        readScript(bytes, "program.py");
      } catch (const NotebookError& error) {
        return QString::fromUtf8(error.what());
      }
      return QString("none");
    };
    QCOMPARE(refusal("x = 1\ny = '\xff'\n"),
             "program.py is not a Python program in UTF-8: line 2 has invalid bytes.");
    QCOMPARE(refusal(QByteArray("x\n\n\0y\n", 6)),
             "program.py is not a Python program: line 3 has a zero byte.");
  }
};

TAPEDECK_TEST(TestScript)
#include "tst_script.moc"
