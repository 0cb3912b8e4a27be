// The panel of breakpoints without a session: what becomes of what is typed into its form.
#include <QComboBox>
#include <QLineEdit>
#include <QTreeWidget>
#include <QWheelEvent>

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/breakpoints/breakpoints_view.h"
#include "tests/test_program.h"
#include "tests/views/view_test.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::BreakpointKind;

namespace {

struct BreakpointsWindow {
  Session session;
  BreakpointsModel model{&session};
  CellNames cells;
  BreakpointsView view{model, session, cells};

  BreakpointsWindow() {
    view.resize(500, 400);
    static_cast<QWidget&>(view).show();
    view.activateWindow();
    if (!QTest::qWaitForWindowActive(&view, tapedeck::patience)) qFatal("the window is not active");
    view.setFocus();
  }
  static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }
  static void add(Qt::Key kind) { press(kind, Qt::AltModifier | Qt::ShiftModifier); }
  QLineEdit* field(const char* name) const { return view.findChild<QLineEdit*>(name); }
  QLineEdit* target() const { return field("breakpointTarget"); }
  const protocol::Breakpoint& breakpoint(std::size_t index = 0) const {
    return model.all().at(index).breakpoint;
  }
};

}  // namespace

class BreakpointsViewTest : public QObject {
  Q_OBJECT
 private slots:
  void oneThatIsToBeNamedIsOffUntilThen_data() {
    QTest::addColumn<Qt::Key>("key");
    QTest::addColumn<BreakpointKind>("kind");
    QTest::newRow("op") << Qt::Key_O << BreakpointKind::op;
    QTest::newRow("VJP") << Qt::Key_V << BreakpointKind::vjp;
    QTest::newRow("read") << Qt::Key_R << BreakpointKind::read;
    QTest::newRow("write") << Qt::Key_W << BreakpointKind::write;
  }
  void oneThatIsToBeNamedIsOffUntilThen() {
    QFETCH(Qt::Key, key);
    QFETCH(BreakpointKind, kind);
    BreakpointsWindow window;
    window.add(key);
    QCOMPARE(window.model.all().size(), std::size_t{1});
    QVERIFY(window.breakpoint().kind == kind);
    QVERIFY(!window.breakpoint().enabled);
    QVERIFY(window.target()->hasFocus());
    QTest::keyClicks(window.target(), "name");
    QVERIFY(!window.breakpoint().enabled);
    window.press(Qt::Key_Return);
    QCOMPARE(window.breakpoint().target, std::string("name"));
    QVERIFY(window.breakpoint().enabled);
    // Off by the user: another name leaves it so.
    window.model.setEnabled(window.breakpoint().id, false);
    QTest::keyClicks(window.target(), "s");
    window.press(Qt::Key_Return);
    QCOMPARE(window.breakpoint().target, std::string("names"));
    QVERIFY(!window.breakpoint().enabled);
  }

  void aConditionSaysEnoughAsWell() {
    BreakpointsWindow window;
    window.add(Qt::Key_V);
    QLineEdit* condition = window.field("breakpointCondition");
    condition->setFocus();
    QVERIFY(!window.breakpoint().enabled);
    condition->setText("norm(grad) > 1");
    window.press(Qt::Key_Return);
    QCOMPARE(window.breakpoint().condition, std::string("norm(grad) > 1"));
    QVERIFY(window.breakpoint().enabled);
  }

  void whatIsBeingTypedStaysWithItsBreakpoint() {
    BreakpointsWindow window;
    window.add(Qt::Key_O);
    QTest::keyClicks(window.target(), "mat");
    window.add(Qt::Key_V);
    QCOMPARE(window.model.all().size(), std::size_t{2});
    QCOMPARE(window.breakpoint(0).target, std::string("mat"));
    QCOMPARE(window.target()->text(), QString());
    QTest::keyClicks(window.target(), "exp");
    window.view.list()->setCurrentItem(window.view.list()->topLevelItem(0));
    QCOMPARE(window.breakpoint(1).target, std::string("exp"));
    QCOMPARE(window.breakpoint(0).target, std::string("mat"));
    QCOMPARE(window.target()->text(), QString("mat"));
    // One that is removed takes along what is typed for it.
    QTest::keyClicks(window.target(), "mul");
    window.model.remove(window.breakpoint(0).id);
    QCOMPARE(window.breakpoint().target, std::string("exp"));
    QCOMPARE(window.target()->text(), QString("exp"));
  }

  // A panel is as low as the window makes it, whatever its layout would need.
  void theTextOfALogIsSeenInALowAndNarrowPanel() {
    QWidget frame;
    BreakpointsWindow window;
    window.view.setParent(&frame);
    static_cast<QWidget&>(window.view).show();
    frame.resize(220, 140);
    window.view.setGeometry(frame.rect());
    frame.show();
    frame.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&frame, tapedeck::patience));
    window.view.list()->setFocus();
    window.add(Qt::Key_P);
    auto* action = window.view.findChild<QComboBox*>("breakpointAction");
    action->setFocus();
    window.press(Qt::Key_Down);
    QLineEdit* text = window.field("breakpointText");
    QVERIFY(window.breakpoint().action == protocol::BreakpointAction::log);
    const auto in_sight = [&](const QWidget* field) {
      return field->isVisible() && field->visibleRegion().boundingRect().height() == field->height() &&
             field->height() >= field->fontMetrics().height();
    };
    QTRY_VERIFY(in_sight(text));
    // By keys to the other fields and back.
    text->setFocus();
    for (int i = 0; i < 3; ++i) window.press(Qt::Key_Tab, Qt::ShiftModifier);
    QTRY_VERIFY(in_sight(QApplication::focusWidget()));
    QCOMPARE(QApplication::focusWidget()->objectName(), QString("breakpointCondition"));
    for (int i = 0; i < 3; ++i) window.press(Qt::Key_Tab);
    QTRY_VERIFY(text->hasFocus() && in_sight(text));
    QVERIFY(!window.view.list()->visibleRegion().isEmpty());
  }

  // Over a field it would make a log a stop, whose text is not shown.
  void theWheelChangesNoFieldOfTheForm() {
    BreakpointsWindow window;
    window.add(Qt::Key_P);
    auto* action = window.view.findChild<QComboBox*>("breakpointAction");
    action->setFocus();
    window.press(Qt::Key_Down);
    QVERIFY(window.breakpoint().action == protocol::BreakpointAction::log);
    for (const char* name : {"breakpointAction", "breakpointFromHit"}) {
      auto* field = window.view.findChild<QWidget*>(name);
      const QPointF middle = QRectF(field->rect()).center();
      for (const int turn : {120, -120, -120}) {
        QWheelEvent wheel(middle, field->mapToGlobal(middle), {}, QPoint(0, turn), Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(field, &wheel);
      }
    }
    QVERIFY(window.breakpoint().action == protocol::BreakpointAction::log);
    QCOMPARE(window.breakpoint().from_hit, std::uint64_t{1});
    QVERIFY(window.field("breakpointText")->isVisible());
  }

  void whatNeedsNoNameIsOnAtOnce() {
    BreakpointsWindow window;
    window.add(Qt::Key_P);
    QVERIFY(window.breakpoint().kind == BreakpointKind::playback);
    QVERIFY(window.breakpoint().enabled);
  }
};

TAPEDECK_TEST(BreakpointsViewTest)
#include "tst_breakpoints_view.moc"
