// Typing aids: brackets and quotes that close, and names that are offered.
#include <QListWidget>
#include <QSignalSpy>

#include "app/notebook/view/popups.h"
#include "app/notebook/view/python_place.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

class TestTypingAids : public QObject {
  Q_OBJECT

 private slots:
  void placesInPython_data() {
    QTest::addColumn<QString>("before");
    QTest::addColumn<int>("kind");
    using Kind = PythonPlace::Kind;
    const auto row = [](const char* before, Kind kind) {
      QTest::newRow(before) << before << static_cast<int>(kind);
    };
    row("x = ", Kind::code);
    row("x = 1  # why", Kind::comment);
    row("# why\n", Kind::code);
    row("s = 'a", Kind::string);
    row("s = 'a'", Kind::code);
    row("s = 'a\\'", Kind::string);
    row("s = '#", Kind::string);
    row("s = 'open\n", Kind::code);
    row("s = '''a\n'", Kind::string);
    row("s = '''a\n'''", Kind::code);
    row("s = \"it's\"", Kind::code);
  }
  void placesInPython() {
    QFETCH(QString, before);
    QFETCH(int, kind);
    QCOMPARE(static_cast<int>(pythonPlace(before).kind), kind);
  }

  // `|` is the text cursor.
  void typing_data() {
    QTest::addColumn<QString>("before");
    QTest::addColumn<QString>("keys");
    QTest::addColumn<QString>("after");
    const auto row = [](const char* name, const char* before, const char* keys, const char* after) {
      QTest::newRow(name) << before << keys << after;
    };
    row("a bracket closes", "f|", "(", "f(|)");
    row("nested", "f|", "([{", "f([{|}])");
    row("the closing one is typed over", "f|", "(x)", "f(x)|");
    row("not before a name", "|name", "(", "(|name");
    row("one that is missing is typed", "f(g(x)|", ")", "f(g(x))|");
    row("one that is missing before another", "f(g(x|)", ")", "f(g(x)|)");
    row("a quote closes", "s = |", "'a'", "s = 'a'|");
    row("a string's prefix", "s = f|", "\"", "s = f\"|\"");
    row("no word's end", "don|", "'", "don'|");
    row("three quotes", "|", "\"\"\"", "\"\"\"|\"\"\"");
    row("three quotes are typed over", "|", "\"\"\"a\"\"\"", "\"\"\"a\"\"\"|");
    row("not in a comment", "# it|", "'(", "# it'(|");
    row("not in a string", "s = 'a|'", "(", "s = 'a(|'");
    row("an escaped quote", "s = 'a|'", "\\'", "s = 'a\\'|'");
    row("backspace takes both", "f(|)", "\b", "f|");
    row("backspace takes both quotes", "s = '|'", "\b", "s = |");
    row("backspace leaves one that is needed", "f((|)", "\b", "f(|)");
    row("beyond Latin", "s = '🎞∂' + f|", "(x)", "s = '🎞∂' + f(x)|");
  }
  void typing() {
    QFETCH(QString, before);
    QFETCH(QString, keys);
    QFETCH(QString, after);
    Window window({codeCell("a", "")});
    window.key(Qt::Key_Return);
    CodeEditor* editor = window.editor(0);
    const qsizetype at = before.indexOf('|');
    editor->setText(QString(before).remove('|'));
    editor->SendScintilla(QsciScintillaBase::SCI_GOTOPOS,
                          static_cast<unsigned long>(before.left(at).toUtf8().size()));
    for (const QChar c : keys) {
      if (c == '\b')
        window.key(Qt::Key_Backspace);
      else
        QTest::keyClick(editor, c.toLatin1());
    }
    QString text = window.document.cell(0).source;
    text.insert(editor->selectedRange().first, '|');
    QCOMPARE(text, after);
  }

  void aSelectionIsWrapped() {
    Window window({codeCell("a", "a + b")});
    window.key(Qt::Key_Return);
    window.editor(0)->selectAll();
    window.type("(");
    QCOMPARE(window.document.cell(0).source, "(a + b)");
    QCOMPARE(window.editor(0)->selectedText(), "a + b");
    window.type("\"");
    QCOMPARE(window.document.cell(0).source, "(\"a + b\")");
    window.key(Qt::Key_Z, Qt::ControlModifier);
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "a + b");
  }

  void neitherInProseNorSwitchedOff() {
    Window window({codeCell("a", ""), markdownCell("m", "")});
    window.view.setCurrentCell(1, true);
    window.type("(it's");
    QCOMPARE(window.document.cell(1).source, "(it's");
    window.view.setClosesBrackets(false);
    window.view.setCurrentCell(0, true);
    window.type("f(");
    QCOMPARE(window.document.cell(0).source, "f(");
  }

  void wordsOfTheNotebookAreOfferedWhileOneTypes() {
    Window window({codeCell("a", "learning_rate = 1\nlearned = 2"), codeCell("b", "")});
    QSignalSpy asked(&window.view, &NotebookView::completionWhileTyping);
    QSignalSpy asked_by_tab(&window.view, &NotebookView::completionRequested);
    auto* popup = window.view.findChild<CompletionPopup*>();
    window.view.setCurrentCell(1, true);
    window.type("lea");
    QTRY_VERIFY(popup->isVisible());
    QCOMPARE(popup->shown(), (QStringList{"learning_rate", "learned"}));
    QCOMPARE(asked.count(), 1);
    QCOMPARE(asked_by_tab.count(), 0);
    window.type("rning");
    QTRY_COMPARE(popup->shown(), QStringList{"learning_rate"});
    // Enter takes the first one, as in VS Code and JupyterLab; behind it, it is a new line.
    window.key(Qt::Key_Return);
    QVERIFY(!popup->isVisible());
    QCOMPARE(window.document.cell(1).source, "learning_rate");
    window.key(Qt::Key_Return);
    window.type("lea");
    QTRY_VERIFY(popup->isVisible());
    window.key(Qt::Key_Down);
    window.key(Qt::Key_Return);
    QCOMPARE(window.document.cell(1).source, "learning_rate\nlearned");
    window.key(Qt::Key_Return);
    window.type("learn");
    QTRY_VERIFY(popup->isVisible());
    window.key(Qt::Key_Tab);
    QCOMPARE(window.document.cell(1).source, "learning_rate\nlearned\nlearning_rate");
  }

  void behindAWholeNameEnterIsANewLine() {
    Window window({codeCell("a", "lr = 1\nlr_decay = 2\nelse_branch = 3"), codeCell("b", "")});
    auto* popup = window.view.findChild<CompletionPopup*>();
    window.view.setCurrentCell(1, true);
    window.type("lr");
    QTRY_VERIFY(popup->isVisible());
    QCOMPARE(popup->shown(), QStringList{"lr_decay"});
    window.key(Qt::Key_Return);
    QVERIFY(!popup->isVisible());
    QCOMPARE(window.document.cell(1).source, "lr\n");
    // Nor is a keyword half a name.
    window.type("else");
    QTRY_VERIFY(popup->isVisible());
    window.key(Qt::Key_Return);
    QCOMPARE(window.document.cell(1).source, "lr\nelse\n");
    // One that was chosen is meant.
    window.type("lr");
    QTRY_VERIFY(popup->isVisible());
    window.key(Qt::Key_Down);
    window.key(Qt::Key_Return);
    QCOMPARE(window.document.cell(1).source, "lr\nelse\nlr_decay");
    // Half a name is completed as the user types on.
    window.key(Qt::Key_Return);
    window.type("lr");
    QTRY_VERIFY(popup->isVisible());
    window.type("_");
    QCoreApplication::processEvents();  // the list is cut down behind the key
    QTRY_COMPARE(popup->shown(), QStringList{"lr_decay"});
    window.key(Qt::Key_Return);
    QCOMPARE(window.document.cell(1).source, "lr\nelse\nlr_decay\nlr_decay");
  }

  void theSessionsAnswerIsOfferedUnlessItComesTooLate() {
    Window window({codeCell("a", "")});
    QSignalSpy asked(&window.view, &NotebookView::completionWhileTyping);
    auto* popup = window.view.findChild<CompletionPopup*>();
    window.key(Qt::Key_Return);
    window.type("np.");
    QTRY_COMPARE(asked.count(), 1);
    QVERIFY(!popup->isVisible());
    window.view.showCompletions(asked[0][0].toULongLong(), {"np.arange", "np.array"}, 0, 3);
    QVERIFY(popup->isVisible());
    QCOMPARE(window.document.cell(0).source, "np.");
    window.type("arr");
    QTRY_COMPARE(popup->shown(), QStringList{"np.array"});
    window.key(Qt::Key_Escape);
    QVERIFY(!popup->isVisible());
    QVERIFY(window.editor(0)->hasFocus());
    window.key(Qt::Key_Return);
    window.type("np.");
    QTRY_COMPARE(asked.count(), 2);
    window.key(Qt::Key_Escape);
    window.view.showCompletions(asked[1][0].toULongLong(), {"np.arange"}, 8, 11);
    QVERIFY(!popup->isVisible());
  }

  void nothingIsOfferedInTextsNumbersOrWhenSwitchedOff() {
    Window window({codeCell("a", "learning_rate = 1"), codeCell("b", "")});
    QSignalSpy asked(&window.view, &NotebookView::completionWhileTyping);
    window.view.setCurrentCell(1, true);
    for (const char* text : {"'lea", "# lea", "3.", "l"}) {
      window.editor(1)->setText("");
      window.type(text);
      tapedeck::nothingMayHappenFor(300);
      QCOMPARE(asked.count(), 0);
    }
    window.view.setCompletesWhileTyping(false);
    window.editor(1)->setText("");
    window.type("lea");
    tapedeck::nothingMayHappenFor(300);
    QCOMPARE(asked.count(), 0);
  }
};

TAPEDECK_TEST(TestTypingAids)
#include "tst_typing_aids.moc"
