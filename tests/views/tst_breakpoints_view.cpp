// The panel of breakpoints without a session: what becomes of what is typed into its form.
#include <QLineEdit>
#include <QTreeWidget>

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

  void whatNeedsNoNameIsOnAtOnce() {
    BreakpointsWindow window;
    window.add(Qt::Key_P);
    QVERIFY(window.breakpoint().kind == BreakpointKind::playback);
    QVERIFY(window.breakpoint().enabled);
  }
};

TAPEDECK_TEST(BreakpointsViewTest)
#include "tst_breakpoints_view.moc"
