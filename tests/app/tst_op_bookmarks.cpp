// Bookmarks by keys: set with a note, changed, gone through, listed; saved with the notebook and in a trace;
// never on another run's op.
#include <QAbstractItemView>
#include <QCompleter>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QStatusBar>
#include <QTableView>
#include <QTreeWidget>

#include "app/notebook/view/code_editor.h"
#include "app/shell/opening/file_control.h"
#include "app/shell/opening/trace_control.h"
#include "app/shell/window/bookmark_note.h"
#include "app/shell/window/bookmarks_dialog.h"
#include "inspector/model/ops/bookmarks.h"
#include "inspector/panels/condition_edit.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tape/tape_view.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

namespace {

// Five ops, whatever comes before: a runs again with other records.
const QStringList marked_cells = {
    "import tapedeck as tf\n"
    "x = tf.constant([1., 2.])\n"
    "for step in range(3):\n"
    "    y = x * 2.\n"
    "    z = y - 1.\n"};

}  // namespace

class TestOpBookmarks : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void open(const QString& path) {
    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->document()->path().isEmpty(), patience);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
  }
  void run() {
    window_->notebook()->setFocus();
    QTest::keyClick(window_.get(), Qt::Key_End, Qt::AltModifier);  // so that the cursor follows
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, 0) == CellState::done, patience);
    QVERIFY(knowsAllRecords(*window_));
    QTRY_COMPARE_WITH_TIMEOUT(cursor(), window_->session()->recordCount(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(window_->session()->record(cursor()), patience);
  }
  quint64 cursor() const { return window_->session()->cursor(); }
  QString status() const { return window_->statusBar()->currentMessage(); }
  void press(QWidget* widget, int key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(widget, static_cast<Qt::Key>(key), modifiers);
  }
  void go(quint64 record) {
    if (cursor() < record) press(window_.get(), Qt::Key_End, Qt::AltModifier);
    while (cursor() > record) press(window_.get(), Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(cursor(), record);
    QTRY_VERIFY_WITH_TIMEOUT(window_->session()->record(record), patience);
  }
  QLineEdit* noteField() {
    auto* dialog = window_->findChild<BookmarkNote*>();
    return dialog && dialog->isVisible() ? dialog->findChild<QLineEdit*>("bookmarkNoteText") : nullptr;
  }
  /// By Ctrl+B, from wherever the focus is.
  void set(const char* note) {
    press(QApplication::focusWidget() ? QApplication::focusWidget() : window_.get(), Qt::Key_B,
          Qt::ControlModifier);
    QTRY_VERIFY2(noteField(), qPrintable(status()));
    QTRY_VERIFY(noteField()->hasFocus());
    QTest::keyClicks(noteField(), note);
    press(noteField(), Qt::Key_Return);
    QTRY_VERIFY(!noteField());
    QVERIFY(showActive(window_.get()));
  }
  static QVariant at(const MainWindow& window, quint64 record, int column, int role = Qt::DisplayRole) {
    const RecordsModel* model = timeline(window)->model();
    return model->index(model->rowOf(record), column).data(role);
  }
  bool isMarked(quint64 record) const {
    return at(*window_, record, RecordsModel::Number, RecordsModel::BookmarkRole).toBool();
  }
  BookmarksDialog* list() {
    press(window_.get(), Qt::Key_F2, Qt::ControlModifier | Qt::ShiftModifier);
    auto* dialog = window_->findChild<BookmarksDialog*>();
    return dialog && waitFor([&] { return dialog->isVisible() && dialog->isActiveWindow(); }) ? dialog
                                                                                              : nullptr;
  }
  static QTreeWidget* rowsOf(const BookmarksDialog* dialog) {
    return dialog->findChild<QTreeWidget*>("bookmarksList");
  }

 private slots:
  void initTestCase() {
    useOwnSettings();
    inspector::applyAppearance(inspector::Appearance::light);
  }
  void cleanup() {
    QList<QPointer<MainWindow>> others;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* other = qobject_cast<MainWindow*>(widget); other && other != window_.get()) others << other;
    for (const auto& other : others) delete other.data();
    window_.reset();
  }

  void ctrlBSetsOneWithANoteAndTakesItAway() {
    open(writeNotebook(folder_, "marks.ipynb", marked_cells));
    press(window_.get(), Qt::Key_B, Qt::ControlModifier);
    QTRY_VERIFY2(status().contains("none has run yet"), qPrintable(status()));
    run();
    window_->files()->save();
    QTRY_VERIFY(!window_->document()->modified());
    go(3);
    auto* view = timeline(*window_);
    QTRY_VERIFY(view && view->isVisible());
    view->table()->setFocus();
    set("here it doubles");
    QVERIFY(window_->document()->modified());
    QVERIFY2(status().contains("Bookmark on op 3: here it doubles. It is saved with the notebook"),
             qPrintable(status()));
    QVERIFY(isMarked(3));
    QVERIFY(at(*window_, 3, RecordsModel::Op).toString().endsWith("multiply  “here it doubles”"));
    QVERIFY(at(*window_, 3, RecordsModel::Op, Qt::ToolTipRole).toString().contains("bookmark: here it"));
    shots(window_.get(), "bookmark");

    // Another note; Esc leaves the one there is.
    press(window_.get(), Qt::Key_B, Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(noteField() && noteField()->hasFocus());
    QCOMPARE(noteField()->text(), QString("here it doubles"));
    QVERIFY(noteField()->accessibleName().contains("op 3"));
    screenshot(noteField()->window(), "bookmark-note");
    QTest::keyClicks(noteField(), "dropped");
    press(noteField(), Qt::Key_Escape);
    QTRY_VERIFY(!noteField());
    QCOMPARE(window_->bookmarks()->find(3)->note, QString("here it doubles"));
    QVERIFY(showActive(window_.get()));
    press(window_.get(), Qt::Key_B, Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(noteField() && noteField()->hasFocus());
    QTest::keyClicks(noteField(), "changed");
    press(noteField(), Qt::Key_Return);
    QTRY_COMPARE(window_->bookmarks()->find(3)->note, QString("changed"));

    // Off; on again with its note offered; Esc sets none.
    QTRY_VERIFY(!noteField());
    QVERIFY(showActive(window_.get()));
    press(window_.get(), Qt::Key_B, Qt::ControlModifier);
    QTRY_VERIFY(!isMarked(3));
    QVERIFY2(status().contains("Ctrl+B sets it again, with its note"), qPrintable(status()));
    QVERIFY(!window_->document()->modified());
    press(window_.get(), Qt::Key_B, Qt::ControlModifier);
    QTRY_VERIFY(noteField() && noteField()->hasFocus());
    QCOMPARE(noteField()->text(), QString("changed"));
    press(noteField(), Qt::Key_Escape);
    QTRY_VERIFY(!noteField());
    QVERIFY(!isMarked(3));
    QVERIFY(showActive(window_.get()));
    press(window_.get(), Qt::Key_B, Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY2(status().contains("Op 3 has no bookmark"), qPrintable(status()));

    // By the mouse: the row's menu.
    const QModelIndex fifth = view->model()->index(view->model()->rowOf(5), RecordsModel::Op);
    view->table()->scrollTo(fifth);
    const QPoint at_fifth = view->table()->visualRect(fifth).center();
    QTest::mouseClick(view->table()->viewport(), Qt::LeftButton, {}, at_fifth);
    QTRY_COMPARE(cursor(), quint64{5});
    chooseInNextMenu(window_->findChild<QAction*>("step.bookmark"));
    emit view->table()->customContextMenuRequested(at_fifth);
    QTRY_VERIFY(noteField() && noteField()->hasFocus());
    press(noteField(), Qt::Key_Return);
    QTRY_VERIFY(isMarked(5));
  }

  void fromTheTapeAndFromTheTextOfACell() {
    open(writeNotebook(folder_, "marks2.ipynb", marked_cells));
    run();
    go(2);
    auto* graph = tape(*window_);
    QTRY_VERIFY(graph && graph->isVisible());
    graph->setFocus();
    QTRY_VERIFY(QApplication::focusWidget() &&
                (QApplication::focusWidget() == graph || graph->isAncestorOf(QApplication::focusWidget())));
    set("from the tape");
    QVERIFY(isMarked(2));
    const inspector::TapeCanvas* canvas = graph->canvas();
    QTRY_VERIFY(canvas->laidOut() && canvas->laidOut()->graph.nodeOf(2) >= 0);
    QTRY_COMPARE(canvas->bookmarkText(canvas->laidOut()->graph.nodeOf(2)),
                 QString("bookmark: from the tape"));
    shots(window_.get(), "bookmark-on-the-tape");
    go(1);
    auto* editor = window_->notebook()->findChildren<CodeEditor*>().first();
    const QString before = editor->text();
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, QPoint(150, editor->yOfLine(2) + 4));
    QTRY_VERIFY(editor->hasFocus());
    set("from the text");
    QVERIFY(isMarked(1));
    QCOMPARE(editor->text(), before);
  }

  void theFilterOfOpsFindsThem() {
    open(writeNotebook(folder_, "marks6.ipynb", marked_cells));
    run();
    go(5);
    set("fifth");
    go(2);
    set("second");
    auto* view = timeline(*window_);
    view->table()->setFocus();
    press(view->table(), Qt::Key_F, Qt::ControlModifier);
    auto* filter = view->filterEdit();
    QTRY_VERIFY(filter->hasFocus());
    // The list that opens while one types has the word.
    QTest::keyClicks(filter, "bookm");
    auto* words = static_cast<inspector::ConditionEdit*>(filter)->words();
    QTRY_VERIFY(words->popup()->isVisible());
    QCOMPARE(words->currentCompletion(), QString("bookmarked"));
    press(words->popup(), Qt::Key_Down);
    press(words->popup(), Qt::Key_Return);
    QTRY_COMPARE(filter->text(), QString("bookmarked"));
    const auto found = [&] {
      QList<quint64> records;
      for (int i = 0; i < view->model()->listedCount(); ++i) records << view->model()->listedRecord(i);
      return records;
    };
    QTRY_COMPARE(found(), (QList<quint64>{2, 5}));
    QTest::keyClicks(filter, " op:multiply");
    QTRY_VERIFY(!found().contains(2) || !found().contains(5));
    const auto multiplies = [&] {
      QList<quint64> records;
      for (const quint64 record : {2, 5})
        if (window_->session()->record(record)->op == "multiply") records << record;
      return records;
    };
    QTRY_COMPARE(found(), multiplies());
    filter->setText("bookmarked");
    QTRY_COMPARE(found(), (QList<quint64>{2, 5}));
    // One that goes leaves the list at once.
    go(5);
    press(window_.get(), Qt::Key_B, Qt::ControlModifier);
    QTRY_COMPARE(found(), QList<quint64>{2});
  }

  void keysAndTheListGoThroughThem() {
    open(writeNotebook(folder_, "marks3.ipynb", marked_cells));
    run();
    go(4);
    set("fourth");
    go(2);
    set("second");
    const auto next = Qt::Key_PageDown, previous = Qt::Key_PageUp;
    const auto both = Qt::ControlModifier | Qt::ShiftModifier;
    press(window_.get(), next, both);
    QTRY_COMPARE(cursor(), quint64{4});
    QVERIFY2(status().contains("Bookmark on op 4: fourth"), qPrintable(status()));
    press(window_.get(), next, both);
    QTRY_VERIFY2(status().contains("No bookmark comes after"), qPrintable(status()));
    QCOMPARE(cursor(), quint64{4});
    press(window_.get(), previous, both);
    QTRY_COMPARE(cursor(), quint64{2});
    press(window_.get(), previous, both);
    QTRY_VERIFY2(status().contains("No bookmark comes before"), qPrintable(status()));

    BookmarksDialog* dialog = list();
    QVERIFY(dialog);
    QTreeWidget* rows = rowsOf(dialog);
    QTRY_COMPARE(rows->topLevelItemCount(), 2);
    QCOMPARE(rows->topLevelItem(1)->text(3), QString("fourth"));
    QVERIFY2(rows->topLevelItem(1)->text(2).contains("line 5"), qPrintable(rows->topLevelItem(1)->text(2)));
    QCOMPARE(rows->topLevelItem(1)->text(4), QString("here"));
    QVERIFY(rows->topLevelItem(1)->data(0, Qt::AccessibleTextRole).toString().contains("fourth; here"));
    QTRY_VERIFY(rows->hasFocus());
    screenshot(dialog, "bookmarks");
    press(rows, Qt::Key_Down);
    press(rows, Qt::Key_Return);
    QTRY_COMPARE(cursor(), quint64{4});
    press(rows, Qt::Key_F2);
    auto* note = dialog->findChild<BookmarkNote*>();
    QVERIFY(note);
    auto* field = note->findChild<QLineEdit*>("bookmarkNoteText");
    QTRY_VERIFY(field->hasFocus());
    QTest::keyClicks(field, "changed in the list");
    press(field, Qt::Key_Return);
    QTRY_COMPARE(rows->topLevelItem(1)->text(3), QString("changed in the list"));
    QVERIFY(showActive(dialog));
    rows->setFocus();
    press(rows, Qt::Key_Delete);
    QTRY_COMPARE(rows->topLevelItemCount(), 1);
    QVERIFY(!isMarked(4) && isMarked(2));
    press(dialog, Qt::Key_Escape);
    QTRY_VERIFY(!dialog->isVisible());
  }

  void aRestartedSessionHasThemNotAndItsTraceDoes() {
    const QString path = writeNotebook(folder_, "marks4.ipynb", marked_cells);
    open(path);
    run();
    go(3);
    set("of the first run");
    // Run again, in the same session: other records, and the old one stays what it was.
    run();
    QVERIFY(window_->session()->recordCount() == 12);
    QVERIFY(isMarked(3) && !isMarked(9));
    const QString trace = folder_.filePath("marks.tapetrace");
    window_->traces()->saveTo(trace);
    QTRY_VERIFY2_WITH_TIMEOUT(status().startsWith("Saved"), qPrintable(status()), patience);
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->document()->modified());
    press(window_.get(), Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && window_->session()->recordCount() == 0, patience);
    run();
    QCOMPARE(window_->session()->recordCount(), quint64{6});
    QVERIFY(!isMarked(3));
    press(window_.get(), Qt::Key_PageUp, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY2(status().contains("No op of this session has a bookmark"), qPrintable(status()));
    QVERIFY2(status().contains("runs that are gone"), qPrintable(status()));
    BookmarksDialog* dialog = list();
    QVERIFY(dialog);
    QTRY_COMPARE(rowsOf(dialog)->topLevelItemCount(), 1);
    QVERIFY2(rowsOf(dialog)->topLevelItem(0)->text(4).startsWith("its run is gone"),
             qPrintable(rowsOf(dialog)->topLevelItem(0)->text(4)));
    QVERIFY(!dialog->findChild<QPushButton*>("bookmarksGo")->isEnabled());
    const quint64 before = cursor();
    press(rowsOf(dialog), Qt::Key_Return);
    QCOMPARE(cursor(), before);
    screenshot(dialog, "bookmarks-gone");
    window_.reset();

    // The notebook, where nothing has run yet.
    open(path);
    QCOMPARE(window_->bookmarks()->all().size(), std::size_t{1});
    QVERIFY(!window_->document()->modified());
    QVERIFY(window_->bookmarks()->state(window_->bookmarks()->all()[0]) == inspector::BookmarkState::gone);

    // The trace of that session.
    window_->openNotebook(trace);
    MainWindow* shown = nullptr;
    const auto find = [&] {
      for (QWidget* widget : QApplication::topLevelWidgets())
        if (auto* other = qobject_cast<MainWindow*>(widget); other && other != window_.get() &&
                                                             other->session()->live() &&
                                                             other->session()->recordCount() == 12)
          shown = other;
      return shown != nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(find(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(shown->bookmarks()->find(3), patience);
    QCOMPARE(shown->bookmarks()->find(3)->note, QString("of the first run"));
    QVERIFY(showActive(shown));
    press(shown, Qt::Key_PageUp, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(shown->session()->cursor(), quint64{3});
    QTRY_VERIFY(at(*shown, 3, RecordsModel::Op).toString().contains("of the first run"));
    QVERIFY(!shown->document()->modified());
    // The trace's process looks for them, too.
    auto* view = timeline(*shown);
    view->filterEdit()->setText("bookmarked and not failed");
    QTRY_COMPARE(view->model()->listedCount(), 1);
    QCOMPARE(view->model()->listedRecord(0), quint64{3});
  }

  void aProgramsFileHasNoPlaceForThemAndSaysSo() {
    const QString path = folder_.filePath("marks.py");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(marked_cells[0].toUtf8());
    file.close();
    open(path);
    run();
    go(2);
    set("for now");
    QVERIFY2(status().contains("a program's file has no place for it"), qPrintable(status()));
    QVERIFY(isMarked(2));
    QVERIFY(!window_->document()->modified());
  }

  void whatAFileHasThatIsNoBookmarkIsTold() {
    const QString path = writeNotebook(folder_, "marks5.ipynb", marked_cells);
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QByteArray bytes = file.readAll();
    file.close();
    bytes.replace("\"metadata\": {},\n \"nbformat\"",
                  "\"metadata\": {\"tapedeck\": {\"bookmarks\": [5, {\"record\": -1}]}},\n \"nbformat\"");
    QVERIFY(bytes.contains("bookmarks"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
    file.close();
    open(path);
    QTRY_VERIFY2(window_->messages()->text().contains("2 of the notebook's bookmarks are not shown"),
                 qPrintable(window_->messages()->text()));
    QVERIFY(!window_->document()->modified());
  }
};

TAPEDECK_TEST(TestOpBookmarks)
#include "tst_op_bookmarks.moc"
