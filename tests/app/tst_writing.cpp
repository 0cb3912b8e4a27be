// Writing cells as a user does, with a real session process behind the window: completion, help, and the
// questions of a running cell.
#include <QInputMethodEvent>
#include <QLineEdit>
#include <QListWidget>

#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/popups.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

class TestWriting : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

  void open(const QStringList& cells) {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "writing.ipynb", cells));
    QTRY_COMPARE(window_->document()->cellCount(), static_cast<int>(cells.size()));
    window_->notebook()->setFocus();
  }

  static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QVERIFY(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }

  /// As an input method types it: what lies outside the keyboard comes no other way.
  static void type(const QString& text) {
    QVERIFY(QApplication::focusWidget());
    QInputMethodEvent event;
    event.setCommitString(text);
    QApplication::sendEvent(QApplication::focusWidget(), &event);
  }

  QString source(int cell) { return window_->document()->cell(cell).source; }

  bool waitDone(int cell) {
    return waitFor([&] { return cellStateOf(*window_, cell) == CellState::done; }, patience);
  }

 private slots:
  void initTestCase() {
    useOwnSettings();
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
  }
  void cleanup() { window_.reset(); }

  void completionReplacesTheNameAlone() {
    open({"completable_one = 1\ncompletable_two = 2", ""});
    press(Qt::Key_Return, Qt::ShiftModifier);
    QVERIFY(waitDone(0));
    auto* popup = window_->notebook()->findChild<CompletionPopup*>();
    const struct {
      QString before, name, behind;
    } rows[] = {
        {"s = '🎞'; ", "completab", ""},
        {"s = '🎞🦉👩‍👩‍👧🇩🇪'; ", "completable_", ""},
        {"s = 'e\u0301a\u0308\u20dd'; ", "completab", ""},  // combining marks: code points of their own
        {"𝛼𝛽 = 1; ", "completab", ""},                      // letters outside the first 65,536
        {"a = '🎞'; print(", "completab", ", '🦉', 1)"},
        {"first = '🎞'\nsecond = '🦉'\nthird = ", "completab", "\nlast = '🎞'"},
    };
    for (const auto& row : rows) {
      window_->document()->setSource(1, "");
      window_->notebook()->setCurrentCell(1, true);
      type(row.before + row.name + row.behind);
      QCOMPARE(source(1), row.before + row.name + row.behind);
      for (qsizetype i = row.behind.toUcs4().size(); i > 0; --i) press(Qt::Key_Left);
      press(Qt::Key_Tab);
      QTRY_VERIFY_WITH_TIMEOUT(popup->isVisible(), patience);
      QCOMPARE(popup->shown(), (QStringList{"completable_one", "completable_two"}));
      press(Qt::Key_Down);
      press(Qt::Key_Return);
      QVERIFY(!popup->isVisible());
      QCOMPARE(source(1), row.before + "completable_two" + row.behind);
      type("!");  // the text cursor is behind the name
      QCOMPARE(source(1), row.before + "completable_two!" + row.behind);
    }
  }

  void helpIsOnTheNameBehindAnEmoji() {
    open({"def helpful(x):\n    'Says what helpful does.'", ""});
    press(Qt::Key_Return, Qt::ShiftModifier);
    QVERIFY(waitDone(0));
    press(Qt::Key_Return);
    type("s = '🎞🦉'; helpful;another");
    for (int i = 0; i < 8; ++i) press(Qt::Key_Left);
    press(Qt::Key_Backtab, Qt::ShiftModifier);
    auto* popup = window_->notebook()->findChild<HelpPopup*>();
    QTRY_VERIFY_WITH_TIMEOUT(popup->shown().contains("Says what helpful does."), patience);
  }

  void aLineBehindAnEmojiIsIndented() {
    open({""});
    press(Qt::Key_Return);
    type("if '🎞🦉':");
    press(Qt::Key_Return);
    type("x = 1");
    QCOMPARE(source(0), QString("if '🎞🦉':\n    x = 1"));
  }

  /// The program's question is answered on the way: afterwards the selection is where Shift+Enter went.
  void anInputCellIsRunOnceByShiftEnter() {
    open({"name = input('Name: ')\nprint('asked', name)", "print('second')"});
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(qobject_cast<QLineEdit*>(QApplication::focusWidget()), patience);
    QCOMPARE(window_->notebook()->currentCell(), 1);
    type("Ada");
    // In the line, Shift+Enter answers as Enter does, though it is the menu's key for running a cell.
    press(Qt::Key_Return, Qt::ShiftModifier);
    QVERIFY(waitDone(0));
    QCOMPARE(outputText(*window_, 0), QString("Name: Ada\nasked Ada\n"));
    QCOMPARE(window_->notebook()->currentCell(), 1);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(window_->notebook()));
    QCOMPARE(outputText(*window_, 1), QString());
    press(Qt::Key_Return, Qt::ShiftModifier);
    QVERIFY(waitDone(1));
    QCOMPARE(outputText(*window_, 1), QString("second\n"));
    QCOMPARE(window_->document()->cell(0).executionCount, 1);
  }

  /// Behind the last cell Shift+Enter opens a new one: its text cursor comes back after the answer.
  void theNextCellIsWrittenAfterTheAnswer() {
    open({"print(len(input()))"});
    press(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(window_->document()->cellCount(), 2);
    QTRY_VERIFY_WITH_TIMEOUT(qobject_cast<QLineEdit*>(QApplication::focusWidget()), patience);
    type("🎞🦉");
    press(Qt::Key_Return);
    QVERIFY(waitDone(0));
    QCOMPARE(outputText(*window_, 0), QString("🎞🦉\n2\n"));
    QCOMPARE(window_->notebook()->currentCell(), 1);
    type("after = 1");
    QCOMPARE(source(1), QString("after = 1"));
  }
};

TAPEDECK_TEST(TestWriting)
#include "tst_writing.moc"
