// Programs with one mistake each: opened from a file and run, and the mistake is found by the listed actions,
// at most eight of them, with keys and mouse alone.
#include <QAbstractItemView>
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTreeWidget>

#include "inspector/model/ops/records_model.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/compare/compare_bar.h"
#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/health/health_view.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "inspector/panels/why/why_view.h"
#include "tests/app/sample_window.h"
#include "tests/app/seeded_faults.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestSeededFaults : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;
  QComboBox* opened_ = nullptr;  ///< whose list a click opened

  inspector::HealthView* health() const { return window_->findChild<inspector::HealthView*>(); }
  inspector::CompareView* compare() const { return window_->findChild<inspector::CompareView*>(); }

  void pressKeys(const QString& keys) {
    QWidget* focus = QApplication::focusWidget();
    const QKeySequence sequence(keys);
    QVERIFY2(!sequence.isEmpty(), qPrintable(keys));
    // A question can be asked once the panels know what the cursor is at.
    for (const QAction* action : window_->findChildren<QAction*>())
      if (action->objectName().startsWith("why.") && action->shortcut() == sequence)
        QTRY_VERIFY2_WITH_TIMEOUT(action->isEnabled(), qPrintable(action->toolTip()), patience);
    const QKeyCombination key = sequence[0];
    QTest::keyClick(focus ? focus : window_.get(), key.key(), key.keyboardModifiers());
  }
  /// What has to be over before the next action: cells that run, ops that the window does not know, a filter.
  void settle() {
    QTRY_VERIFY_WITH_TIMEOUT(allDone(), 10 * patience);
    QVERIFY(knowsAllRecords(*window_));
    QTRY_VERIFY_WITH_TIMEOUT(session().cursor() != 0, patience);
    QTRY_VERIFY_WITH_TIMEOUT(!timeline(*window_)->model()->scanning(), patience);
    if (health() && health()->isVisible())
      QTRY_VERIFY_WITH_TIMEOUT(!health()->model()->recomputing() && !health()->model()->runs().empty(),
                               patience);
    const auto* bar = compare() && compare()->isVisible() ? compare()->bar() : nullptr;
    if (bar && !bar->left()->currentText().isEmpty() && !bar->right()->currentText().isEmpty())
      QTRY_VERIFY2_WITH_TIMEOUT(compare()->sentence()->text().contains("irst difference") ||
                                    compare()->sentence()->text().contains("F finds"),
                                qPrintable(compare()->sentence()->text()), patience);
  }
  void clickOn(const QString& place) {
    if (place == "filter") {
      QTRY_VERIFY(timeline(*window_)->filterEdit()->isVisible());
      QTest::mouseClick(timeline(*window_)->filterEdit(), Qt::LeftButton);
      return;
    }
    opened_ = place == "left side" ? compare()->bar()->left() : compare()->bar()->right();
    QTRY_VERIFY(opened_->isVisible() && opened_->isEnabled());
    QTest::mouseClick(opened_, Qt::LeftButton);
    QTRY_VERIFY(opened_->view()->isVisible());
  }
  void choose(const QString& entry) {
    const auto place = [&] {
      for (int row = 0; row < opened_->count(); ++row)
        if (opened_->itemText(row).startsWith(entry)) return row;
      return -1;
    };
    QTRY_VERIFY2_WITH_TIMEOUT(place() >= 0, qPrintable(entry), patience);
    const auto isChosen = [&] { return opened_->currentText().startsWith(entry); };
    // A list that has just opened takes no click before the mouse has moved and the time of a double click is
    // over, which a busy machine makes longer.
    for (int i = 0; i < 5 && !isChosen(); ++i) {
      QAbstractItemView* list = opened_->view();
      if (!list->isVisible()) QTest::mouseClick(opened_, Qt::LeftButton);
      QTRY_VERIFY(list->isVisible());
      const QModelIndex row =
          opened_->model()->index(place(), opened_->modelColumn(), opened_->rootModelIndex());
      list->scrollTo(row);
      QTest::mouseMove(list->viewport(), list->viewport()->rect().bottomRight() - QPoint(2, 2));
      QTest::mouseMove(list->viewport(), list->visualRect(row).center());
      QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualRect(row).center());
      (void)waitFor(isChosen, 1000);
    }
    QVERIFY2(isChosen(), qPrintable(opened_->currentText()));
  }
  void act(const QString& action) {
    const QString what = action.section(' ', 0, 0), rest = action.section(' ', 1);
    if (what == "key") return pressKeys(rest);
    if (what == "click") return clickOn(rest);
    if (what == "choose") return choose(rest);
    QCOMPARE(what, QString("type"));
    auto* edit = timeline(*window_)->filterEdit();
    QTest::keyClicks(edit, rest);
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(timeline(*window_)->model()->filterText(), rest, patience);
  }
  QTreeWidgetItem* firstFinding() const {
    return health() && health()->isVisible() ? health()->findings()->topLevelItem(0) : nullptr;
  }
  QString said(const QString& panel) const {
    if (panel == "health") return firstFinding() ? firstFinding()->text(1) : QString();
    if (panel == "why") return window_->findChild<inspector::WhyView*>()->sentence()->text();
    return compare()->sentence()->text();
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void isFoundWithinEightActions_data() {
    QTest::addColumn<int>("number");
    const QList<SeededFault> all = seededFaults();
    for (int i = 0; i < all.size(); ++i) QTest::newRow(all[i].name) << i;
  }
  void isFoundWithinEightActions() {
    QFETCH(int, number);
    const SeededFault fault = seededFaults()[number];
    QVERIFY2(fault.actions.size() <= 8, fault.name);
    openCells(folder_, fault.cells);
    for (const QString& action : fault.actions) {
      act(action);
      if (QTest::currentTestFailed()) return;
      settle();
      // The cursor goes along with a run: questions are about its last op.
      if (&action == &fault.actions.front()) {
        const auto runs = [&] {
          for (int cell = 0; cell < fault.cells.size(); ++cell)
            if (stateOf(cell) == CellState::queued || stateOf(cell) == CellState::busy) return true;
          return false;
        };
        QTRY_VERIFY_WITH_TIMEOUT(!runs(), patience);
        QTRY_VERIFY_WITH_TIMEOUT(session().cursor() == session().recordCount(), patience);
        // And about the tensor that is shown, which comes later than the cursor.
        const auto follows = [&] {
          const inspector::TensorChip* chip = tensor(*window_)->model()->chip();
          return !chip || chip->record == session().cursor();
        };
        QTRY_VERIFY_WITH_TIMEOUT(follows(), patience);
      }
      if (QTest::currentTestFailed()) return;
    }
    for (const QString& pattern : fault.said)
      QTRY_VERIFY2_WITH_TIMEOUT(QRegularExpression(pattern).match(said(fault.panel)).hasMatch(),
                                qPrintable(said(fault.panel)), patience);
    if (fault.pictured) shots(window_.get(), "seeded-fault-" + fault.panel);
    if (fault.line == 0) return;
    // The finding is a link: Enter goes to its op, in that line.
    health()->findings()->setFocus();
    press(Qt::Key_Home);
    press(Qt::Key_Return);
    const auto line = [&] {
      const protocol::Record* record = session().record(session().cursor());
      return record ? record->line : 0;
    };
    QTRY_COMPARE_WITH_TIMEOUT(line(), fault.line, patience);
  }

  // A key of the panel that comes before it has something to do: it is no search in the list.
  void lettersInASideChooseNothing() {
    openCells(folder_, {"import tapedeck as tf\ntf.square(2.)"});
    for (const char* action : {"key Ctrl+Shift+Return", "key Alt+8"}) {
      act(action);
      settle();
    }
    auto* left = compare()->bar()->left();
    QTRY_VERIFY_WITH_TIMEOUT(left->isEnabled() && left->count() > 1, patience);
    left->setFocus(Qt::TabFocusReason);
    const QString before = left->currentText();
    QVERIFY(left->findText("From the cursor", Qt::MatchStartsWith) >= 0);
    press(Qt::Key_F);
    QCOMPARE(left->currentText(), before);
    press(Qt::Key_Down);  // arrows choose
    QTRY_VERIFY_WITH_TIMEOUT(left->currentText() != before, patience);
  }
};

TAPEDECK_TEST(TestSeededFaults)
#include "tst_seeded_faults.moc"
