// Workspaces: what each has around the notebook, and that it is kept. What comes by itself:
// tst_workspace_changes.
#include <QLabel>
#include <QPushButton>
#include <QToolBar>
#include <QTreeWidget>

#include "app/notebook/view/outline.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "tests/app/workspace_windows.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestWorkspaces : public QObject, WorkspaceWindows {
  Q_OBJECT

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { QSettings().clear(); }

  void aFreshNotebookHasNearlyTheWholeWindow() {
    const auto window = start();
    QTest::mouseClick(window->findChild<QPushButton*>("newNotebook"), Qt::LeftButton);
    QTRY_VERIFY(window->notebook()->isVisible());
    QCOMPARE(current(*window), QString("write"));
    screenshot(window.get(), "workspace-fresh");
    QVERIFY2(window->notebook()->width() > 1240, qPrintable(QString::number(window->notebook()->width())));
    QVERIFY2(window->notebook()->height() > 640, qPrintable(QString::number(window->notebook()->height())));
  }

  void panelsOfOtherWorkspacesLeaveTheNotebookItsRoom() {
    const auto window = start();
    QTest::mouseClick(window->findChild<QAbstractButton*>("open:first_gradient.ipynb"), Qt::LeftButton);
    QTRY_VERIFY(window->notebook()->isVisible());
    QTRY_VERIFY(dock(*window, "outline")->isVisible());
    QTest::keyClick(window.get(), Qt::Key_5, Qt::AltModifier);
    QTRY_VERIFY(dock(*window, "time")->isVisible());
    QTRY_VERIFY2(window->notebook()->width() > 0.36 * window->width(),
                 qPrintable(QString::number(window->notebook()->width())));
    QTRY_VERIFY(dock(*window, "time")->width() > 0.36 * window->width());
    screenshot(window.get(), "workspace-write-time");
  }

  void aMessageHasItsButtonsBelowWhereThereIsLittleRoom() {
    MessageBar bar;
    const QString sentence =
        "Unsaved work on this notebook was kept when Tapedeck ended unexpectedly. What you see is the file.";
    bar.show(MessageBar::Kind::warning, sentence, {{"Restore it", [] {}}, {"Discard", [] {}}});
    const auto* text = bar.findChild<QLabel*>("messageText");
    const QList<QPushButton*> buttons = bar.findChildren<QPushButton*>();
    for (const int width : {320, 1280}) {
      bar.resize(width, 400);
      const auto topOf = [&](const QWidget* widget) { return widget->mapTo(&bar, QPoint(0, 0)).y(); };
      QTRY_COMPARE(topOf(buttons.at(0)) >= topOf(text) + text->height(), width == 320);
      QTRY_VERIFY(text->width() >= 200);
      QTRY_VERIFY(text->height() >= text->heightForWidth(text->width()));
      for (const QPushButton* button : buttons) {
        QVERIFY(button->width() >= button->sizeHint().width());
        QVERIFY(button->mapTo(&bar, QPoint(button->width(), 0)).x() <= width);
      }
    }
  }

  void writeShowsTheOutlineOfANotebookThatHasHeadings() {
    const auto window = start();
    QTest::mouseClick(window->findChild<QAbstractButton*>("open:first_gradient.ipynb"), Qt::LeftButton);
    QTRY_VERIFY(window->notebook()->isVisible());
    QCOMPARE(current(*window), QString("write"));
    QTRY_VERIFY(dock(*window, "outline")->isVisible());
    auto* list = window->findChild<OutlineView*>()->list();
    QCOMPARE(list->topLevelItem(0)->text(0), QString("A first gradient"));
    const QList<QTreeWidgetItem*> found =
        list->findItems("Through an if", Qt::MatchExactly | Qt::MatchRecursive);
    QCOMPARE(found.size(), 1);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(found[0]).center());
    QTRY_VERIFY(
        window->document()->cell(window->notebook()->currentCell()).source.contains("Through an `if`"));
    screenshot(window.get(), "workspace-outline");
    // Its key takes it away and brings it back; other workspaces have none.
    QTest::keyClick(window.get(), Qt::Key_5, Qt::ControlModifier);
    QTRY_VERIFY(!dock(*window, "outline")->isVisible());
    QTest::keyClick(window.get(), Qt::Key_5, Qt::ControlModifier);
    QTRY_VERIFY(dock(*window, "outline")->isVisible());
    choose(*window, 2);
    QTRY_VERIFY(!dock(*window, "outline")->isVisible());
    choose(*window, 1);
    QTRY_VERIFY(dock(*window, "outline")->isVisible());
  }

  void anEmptyPanelIsShownWhereTheUserAsksForIt() {
    const auto window = open({"1"});
    choose(*window, 2);
    QCOMPARE(current(*window), QString("debug"));
    QVERIFY(shown(*window, {}));
    QTest::keyClick(window.get(), Qt::Key_4, Qt::ControlModifier);
    QTRY_VERIFY(shown(*window, {"plots"}));
    QTest::keyClick(window.get(), Qt::Key_4, Qt::ControlModifier);
    QTRY_VERIFY(shown(*window, {}));
  }

  void eachWorkspaceKeepsItsLayoutToTheNextStart() {
    QRect debug, plots;
    {
      const auto window = open({loop}, {1600, 1000});
      choose(*window, 2);
      QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
      QTRY_VERIFY_WITH_TIMEOUT(shown(*window, {"tape", "ops", "tensor", "plots"}), patience);
      QTRY_COMPARE_WITH_TIMEOUT(window->kernel()->state(), KernelState::idle, patience);
      QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier);  // into Ops
      QTRY_VERIFY(dock(*window, "ops")->isAncestorOf(QApplication::focusWidget()));
      QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier);  // without it
      QTRY_VERIFY(shown(*window, {"tape", "tensor", "plots"}));
      // The others have its room then.
      debug = settled([&] { return dock(*window, "tape")->geometry(); });
      choose(*window, 3);
      QTRY_VERIFY(shown(*window, {"plots"}));
      plots = settled([&] { return dock(*window, "plots")->geometry(); });
      QVERIFY(plots.height() > 700);
      choose(*window, 2);
      QTRY_VERIFY(shown(*window, {"tape", "tensor", "plots"}));
      QTRY_COMPARE(dock(*window, "tape")->geometry(), debug);
      closeUnsaved(*window);
    }
    const auto window = open({loop}, {1600, 1000});
    QCOMPARE(current(*window), QString("debug"));  // where the user was
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(shown(*window, {"tape", "tensor", "plots"}), patience);
    QTRY_VERIFY(alike(dock(*window, "tape")->geometry(), debug));
    choose(*window, 3);
    QTRY_VERIFY2(alike(dock(*window, "plots")->geometry(), plots),
                 qPrintable(QDebug::toString(dock(*window, "plots")->geometry()) + QDebug::toString(plots)));
  }

  void ownWorkspacesAreSavedRenamedAndDeleted() {
    const auto window = open({"1"});
    QTest::keyClick(window.get(), Qt::Key_1, Qt::ControlModifier);  // Tape, in Write
    QTRY_VERIFY(shown(*window, {"tape"}));
    answerName([&] { QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier | Qt::AltModifier); },
               "Tapes & more");
    QVERIFY(window->workspaces()->current().own());
    QCOMPARE(window->workspaces()->current().title, QString("Tapes & more"));
    choose(*window, 1);
    choose(*window, 6);
    QCOMPARE(window->workspaces()->current().title, QString("Tapes & more"));
    answerName([&] { QTest::keyClick(window.get(), Qt::Key_N, Qt::ControlModifier | Qt::AltModifier); },
               "Tapes");
    QCOMPARE(window->workspaces()->current().title, QString("Tapes"));
    {
      const auto next = start();
      QTest::mouseClick(next->findChild<QPushButton*>("newNotebook"), Qt::LeftButton);
      QTRY_VERIFY(next->notebook()->isVisible());
      QCOMPARE(next->workspaces()->current().title, QString("Tapes"));
    }
    window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window.get(), tapedeck::patience));
    answer<QMessageBox>(
        [&] { QTest::keyClick(window.get(), Qt::Key_K, Qt::ControlModifier | Qt::AltModifier); },
        [](QMessageBox* box) { box->button(QMessageBox::Yes)->click(); });
    QCOMPARE(window->workspaces()->all().size(), 5);
    QCOMPARE(current(*window), QString("write"));
  }

  void presentHasLargerLettersAndNoToolBar() {
    const auto window = open({"import tapedeck as tf\ntf.constant(2.) * 3. + 1."});
    auto* tools = window->findChild<QToolBar*>("toolbar.main");
    QVERIFY(tools->isVisible());
    const qreal letters = window->notebook()->font().pointSizeF();
    choose(*window, 4);
    QVERIFY(!tools->isVisible());
    QVERIFY(window->notebook()->font().pointSizeF() > letters * 1.2);
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(shown(*window, {"tape", "tensor"}), patience);
    QCOMPARE(current(*window), QString("present"));
    screenshot(window.get(), "workspace-present");
    // The canvases' letters too; and the mouse finds what they show.
    auto* canvas = tape(*window)->canvas();
    QVERIFY(canvas->letters() > 1.2);
    QVERIFY(tensor(*window)->canvas()->letters() > 1.2);
    QTest::mouseMove(window.get(), QPoint(1, 1));
    const auto cursor = window->session()->cursor();
    int other = -1;
    quint64 record = 0;
    // An op whose record is still on its way has none.
    const auto found = [&] {
      const auto* laid = canvas->laidOut();
      for (std::size_t i = 0; laid && i < laid->graph.nodes.size(); ++i) {
        const auto& node = laid->graph.nodes[i];
        if (node.kind != inspector::NodeKind::op || node.record == 0 || node.record == cursor) continue;
        other = static_cast<int>(i);
        record = node.record;
        return true;
      }
      return false;
    };
    QTRY_VERIFY(found());
    QTest::mouseClick(canvas, Qt::LeftButton, {},
                      (canvas->nodeRect(other).center() * canvas->letters()).toPoint());
    QTRY_COMPARE(window->session()->cursor(), record);
    choose(*window, 1);
    QVERIFY(tools->isVisible());
    QCOMPARE(window->notebook()->font().pointSizeF(), letters);
    QTest::keyClick(window.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(window->kernel()->state() == KernelState::idle, patience);
  }

  void allWorkspacesAreLookedAt_data() {
    QTest::addColumn<QSize>("size");
    QTest::addColumn<bool>("dark");
    for (const QSize size : {QSize(1280, 800), QSize(2560, 1440)})
      for (const bool dark : {false, true})
        QTest::addRow("%dx%d %s", size.width(), size.height(), dark ? "dark" : "light") << size << dark;
  }
  void allWorkspacesAreLookedAt() {
    QFETCH(QSize, size);
    QFETCH(bool, dark);
    // Switched while the window lives: everything in it follows.
    inspector::applyAppearance(dark ? inspector::Appearance::light : inspector::Appearance::dark);
    const auto window = open({loop, "tf.reshape(tf.range(12.), [3, 4]) * 2."}, size);
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!window->series()->names().isEmpty(), patience);
    QTRY_COMPARE_WITH_TIMEOUT(window->kernel()->state(), KernelState::idle, patience);
    window->messages()->show(MessageBar::Kind::error, "Something went wrong: this is how it looks.");
    window->messages()->show(MessageBar::Kind::warning, "An offer, with what can be done about it.",
                             {{"Do it", [] {}}, {"Leave it", [] {}}});
    window->messages()->show(MessageBar::Kind::information, "Something to know.");
    inspector::applyAppearance(dark ? inspector::Appearance::dark : inspector::Appearance::light);
    for (int position = 1; position <= 4; ++position) {
      choose(*window, position);
      waitForFrames(window.get());
      screenshot(
          window.get(),
          QString("workspace-%1-%2-%3").arg(size.width()).arg(dark ? "dark" : "light", current(*window)));
      QCOMPARE(window->size(), size);
      if (position == 1) window->messages()->dismiss();
    }
    inspector::applyAppearance(inspector::Appearance::light);
  }
};

TAPEDECK_TEST(TestWorkspaces)
#include "tst_workspaces.moc"
