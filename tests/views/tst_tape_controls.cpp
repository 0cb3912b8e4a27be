// The tape view under mouse and keys: the cursor, what is under the pointer, and what part of the graph is
// seen.
#include <QAction>
#include <QWheelEvent>
#include <cmath>

#include "tape_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

class TapeControlsTest : public QObject {
  Q_OBJECT
 private slots:
  void init() { qApp->setPalette(lightPalette()); }

  void aClickMovesTheCursor() {
    TapeWindow window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(11);
    QVERIFY(window.shows(11));
    QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier, window.centre(3));
    QCOMPARE(window.session.cursor(), RecordNumber(3));
    QVERIFY(window.shows(3));
    QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier, QPoint(8, 8));
    QCOMPARE(window.session.cursor(), RecordNumber(3));
  }

  void aClickOnALeafAsksForItsTensorAndLeavesTheGraph() {
    TapeWindow window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(11);
    QVERIFY(window.shows(11));
    QString picked;
    connect(&window.session, &Session::tensorPicked, this, [&](const protocol::TensorInfo& tensor) {
      picked = QString::fromStdString(tensor.name) + QStringLiteral(" #%1").arg(tensor.id);
    });
    const std::size_t nodes = window.canvas()->laidOut()->graph.nodes.size();
    const int bias = window.leaf(QStringLiteral("b:0"));
    QVERIFY(bias >= 0);
    QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier,
                      window.canvas()->nodeRect(bias).center().toPoint());
    QCOMPARE(picked, QStringLiteral("b:0 #3"));
    QCOMPARE(window.session.cursor(), RecordNumber(11));
    QVERIFY(window.painted());
    QCOMPARE(window.canvas()->laidOut()->graph.nodes.size(), nodes);
    // The same by keys: up from the VJP to the row of leaves, and to W.
    picked.clear();
    window.canvas()->setFocus();
    QTest::keyClick(window.canvas(), Qt::Key_Up);
    while (window.canvas()->walkedNode() != window.leaf(QStringLiteral("W:0"))) {
      const int before = window.canvas()->walkedNode();
      QTest::keyClick(window.canvas(), Qt::Key_Left);
      QVERIFY(window.canvas()->walkedNode() != before);
    }
    QTest::keyClick(window.canvas(), Qt::Key_Return);
    QCOMPARE(picked, QStringLiteral("W:0 #2"));
  }

  void draggingPansAndDoesNotClick_data() {
    QTest::addColumn<Qt::MouseButton>("button");
    QTest::addColumn<bool>("space");
    QTest::newRow("left") << Qt::LeftButton << false;
    QTest::newRow("middle") << Qt::MiddleButton << false;
    QTest::newRow("space and left") << Qt::LeftButton << true;
  }
  void draggingPansAndDoesNotClick() {
    QFETCH(Qt::MouseButton, button);
    QFETCH(bool, space);
    TapeWindow window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(11);
    QVERIFY(window.shows(11));
    const QPoint start = window.centre(4);
    const Camera before = window.canvas()->camera();
    if (space) QTest::keyPress(window.canvas(), Qt::Key_Space);
    QTest::mousePress(window.canvas(), button, Qt::NoModifier, start);
    QTest::mouseMove(window.canvas(), start + QPoint(20, 10));
    QTest::mouseMove(window.canvas(), start + QPoint(60, -30));
    QTest::mouseRelease(window.canvas(), button, Qt::NoModifier, start + QPoint(60, -30));
    if (space) QTest::keyRelease(window.canvas(), Qt::Key_Space);
    QCOMPARE(window.canvas()->camera().offset - before.offset, QPointF(60, -30));
    QCOMPARE(window.canvas()->camera().zoom, before.zoom);
    QCOMPARE(window.session.cursor(), RecordNumber(11));
    QTest::mouseMove(window.canvas(), start);
    QCOMPARE(window.canvas()->camera().offset - before.offset, QPointF(60, -30));
  }

  void theWheelZoomsAtThePointer() {
    TapeWindow window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    QVERIFY(window.shows(window.session.cursor()));
    const QPointF pointer(300, 200);
    const QPointF under = window.canvas()->camera().toWorld(pointer);
    const double zoom = window.canvas()->camera().zoom;
    const auto turn = [&](int delta) {
      QWheelEvent event(pointer, window.canvas()->mapToGlobal(pointer), {}, QPoint(0, delta), Qt::NoButton,
                        Qt::NoModifier, Qt::NoScrollPhase, false);
      QApplication::sendEvent(window.canvas(), &event);
      const QPointF now = window.canvas()->camera().toWorld(pointer);
      return std::hypot(now.x() - under.x(), now.y() - under.y());
    };
    QVERIFY(turn(120) < 1e-6);
    QVERIFY(window.canvas()->camera().zoom > zoom * 1.1);
    QVERIFY(turn(15) < 1e-6);  // a fine wheel
    for (int i = 0; i < 60; ++i) QVERIFY(turn(-120) < 1e-6);
    QVERIFY(window.canvas()->camera().zoom > 0);
    QVERIFY(window.painted());
  }

  void keysDoAllThatTheMouseDoes() {
    TapeWindow window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(11);
    QVERIFY(window.shows(11));
    TapeCanvas& canvas = *window.canvas();
    canvas.setFocus();
    Camera before = canvas.camera();
    QTest::keyClick(&canvas, Qt::Key_Plus);
    QVERIFY(canvas.camera().zoom > before.zoom);
    QTest::keyClick(&canvas, Qt::Key_Minus);
    QVERIFY(std::abs(canvas.camera().zoom - before.zoom) < 1e-9);
    QTest::keyClick(&canvas, Qt::Key_Right, Qt::ShiftModifier);
    QVERIFY(canvas.camera().offset.x() < before.offset.x());
    QTest::keyClick(&canvas, Qt::Key_Down, Qt::ShiftModifier);
    QVERIFY(canvas.camera().offset.y() < before.offset.y());
    QTest::keyClick(&canvas, Qt::Key_0);
    for (std::size_t i = 0; i < canvas.laidOut()->graph.nodes.size(); ++i)
      QVERIFY(QRectF(canvas.rect()).contains(canvas.nodeRect(static_cast<int>(i))));
    const auto walked = [&] { return canvas.laidOut()->graph.nodes[canvas.walkedNode()].record; };
    // Along the edges from the VJP of matmul to that of add and back, then to the matmul in its row.
    QTest::keyClick(&canvas, Qt::Key_K);
    QVERIFY(canvas.walkedNode() >= 0);
    QCOMPARE(walked(), RecordNumber(10));
    QVERIFY(canvas.accessibleDescription().contains(QStringLiteral("VJP of add")));
    QTest::keyClick(&canvas, Qt::Key_J);
    QCOMPARE(walked(), RecordNumber(11));
    QTest::keyClick(&canvas, Qt::Key_Down);
    QCOMPARE(walked(), RecordNumber(10));
    QTest::keyClick(&canvas, Qt::Key_Up);
    QCOMPARE(walked(), RecordNumber(11));
    for (int i = 0; i < 3 && walked() != 1; ++i) QTest::keyClick(&canvas, Qt::Key_Left);
    QCOMPARE(walked(), RecordNumber(1));
    QCOMPARE(window.session.cursor(), RecordNumber(11));
    QTest::keyClick(&canvas, Qt::Key_Return);
    QCOMPARE(window.session.cursor(), RecordNumber(1));
    QVERIFY(window.shows(1));
    QTest::keyClick(&canvas, Qt::Key_G);
    QVERIFY(canvas.legendShown());
    QTest::keyClick(&canvas, Qt::Key_C);
    QVERIFY(!canvas.followsCursor());
  }

  void everyActionHasKeyAndTooltip() {
    TapeWindow window(regressionTape());
    QCOMPARE(window.view->menuActions().size(), qsizetype(18));
    for (const QAction* action : window.view->menuActions()) {
      QVERIFY(!action->shortcut().isEmpty());
      QVERIFY(action->toolTip().contains(action->shortcut().toString(QKeySequence::NativeText)));
    }
  }

  void followsTheCursorOutOfSight() {
    TapeWindow window(longTape(60), {500, 350});
    for (std::uint64_t at = 1; at <= 60; ++at) {
      window.runTo(at);
      QVERIFY(window.shows(at));
      const QRectF node = window.canvas()->nodeRect(window.nodeOf(at));
      QVERIFY2(QRectF(window.canvas()->rect()).contains(node), qPrintable(QString::number(at)));
      QVERIFY(window.canvas()->camera().zoom > 0.5);  // readable
    }
    QVERIFY(window.painted());
    QVERIFY(window.canvas()->drawnNodes().size() < 20);  // the rest is culled
    QTest::keyClick(window.canvas(), Qt::Key_C);
    const Camera before = window.canvas()->camera();
    window.session.setCursor(3);
    QVERIFY(waitFor([&] { return window.canvas()->laidOut()->graph.cursor == 3; }, tapedeck::patience));
    QCOMPARE(window.canvas()->camera().offset, before.offset);
  }

  void theTooltipTellsTheNodesDetails() {
    TapeWindow window(regressionTape());
    window.view->setCellName([](const protocol::Record&) { return QStringLiteral("cell 3"); });
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(11);
    QVERIFY(window.shows(11));
    QTest::mouseMove(window.canvas(), QPoint(5, 5));
    QVERIFY(window.painted());
    const QImage without = window.canvas()->grab().toImage();
    QTest::mouseMove(window.canvas(), window.centre(2));
    QTRY_COMPARE(window.canvas()->hoveredNode(), window.nodeOf(2));
    QVERIFY(window.painted());
    const QImage with = window.canvas()->grab().toImage();
    const QPoint inside = window.centre(2) + QPoint(40, 40);
    QCOMPARE(with.pixelColor(inside + QPoint(-19, -17)), window.canvas()->theme().panel);
    QVERIFY(with != without);
  }
};

TAPEDECK_TEST(TapeControlsTest)
#include "tst_tape_controls.moc"
