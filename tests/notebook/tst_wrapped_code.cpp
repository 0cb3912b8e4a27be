// Code that is wider than its cell goes on below: no row of it is empty, and the cell is as high as its rows.
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

class TestWrappedCode : public QObject {
  Q_OBJECT

  using Editor = QsciScintillaBase;

  /// Where letters are drawn, in pixels; `column` is that of a line, from 0.
  static long yOf(const CodeEditor* editor, int line, int column) {
    const long start = editor->SendScintilla(Editor::SCI_POSITIONFROMLINE, static_cast<unsigned long>(line));
    return editor->SendScintilla(Editor::SCI_POINTYFROMPOSITION, 0UL, start + column);
  }
  static long rowsOf(const CodeEditor* editor, int line) {
    return editor->SendScintilla(Editor::SCI_WRAPCOUNT, static_cast<unsigned long>(line));
  }

 private slots:
  void aLongWordBeginsInItsFirstRow_data() {
    QTest::addColumn<QString>("line");
    const QString word = QString("abcdefghij").repeated(20);
    QTest::newRow("a call without spaces") << "    model.add(" + word + ")";
    QTest::newRow("deep inside of blocks") << QString(16, ' ') + word;
    QTest::newRow("a text") << "    \"" + word + "\"";
    QTest::newRow("a comment") << "        #" + word;
  }
  void aLongWordBeginsInItsFirstRow() {
    QFETCH(QString, line);
    Window window({codeCell("a", ("if True:\n" + line + "\nx = 1").toStdString())}, {500, 500});
    const CodeEditor* editor = window.editor(0);
    QVERIFY(editor);
    QTRY_VERIFY(rowsOf(editor, 1) > 2);
    int indent = 0;
    while (line[indent] == ' ') ++indent;
    // The word's first letters stand beside the indentation.
    QTRY_COMPARE(yOf(editor, 1, indent), yOf(editor, 1, 0));
    QCOMPARE(yOf(editor, 1, indent + 3), yOf(editor, 1, 0));
    QVERIFY(yOf(editor, 1, static_cast<int>(line.size()) - 1) > yOf(editor, 1, 0));
    // The cell is as high as that needs.
    const long rows = 2 + rowsOf(editor, 1);
    QTRY_COMPARE(editor->height() / editor->lineHeight(), static_cast<int>(rows));
  }

  void wordsThatFitAreNotBroken() {
    const QString line = "    value = " + QStringList(30, "identifier").join(" + ");
    Window window({codeCell("a", ("if True:\n" + line).toStdString())}, {500, 500});
    const CodeEditor* editor = window.editor(0);
    QTRY_VERIFY(rowsOf(editor, 1) > 2);
    for (qsizetype at = line.indexOf("identifier"); at >= 0; at = line.indexOf("identifier", at + 1))
      QCOMPARE(yOf(editor, 1, static_cast<int>(at)), yOf(editor, 1, static_cast<int>(at) + 9));
  }

  // Typing makes such a word, and taking it back breaks lines behind spaces again.
  void itFollowsWhatIsTyped() {
    const QString line = "    value = " + QStringList(30, "identifier").join(" + ");
    Window window({codeCell("a", ("if True:\n" + line + "\n    ").toStdString())}, {500, 500});
    CodeEditor* editor = window.editor(0);
    editor->setFocus();
    QTest::keyClick(editor, Qt::Key_End, Qt::ControlModifier);
    for (int i = 0; i < 150; ++i) QTest::keyClick(editor, Qt::Key_W);
    QTRY_VERIFY(rowsOf(editor, 2) > 1);
    QTRY_COMPARE(yOf(editor, 2, 6), yOf(editor, 2, 0));
    for (int i = 0; i < 140; ++i) QTest::keyClick(editor, Qt::Key_Backspace);
    QTRY_COMPARE(rowsOf(editor, 2), 1L);
    QTRY_COMPARE(editor->wrapMode(), QsciScintilla::WrapWhitespace);
  }
};

TAPEDECK_TEST(TestWrappedCode)
#include "tst_wrapped_code.moc"
