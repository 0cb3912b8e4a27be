#include <QAction>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTest>
#include <QWheelEvent>
#include <cmath>

#include "fake_source.h"
#include "fake_tape.h"
#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tape/tape_view.h"
#include "view_test.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

struct Window {
  FakeSource source;
  Session session;
  std::unique_ptr<TapeView> view;

  explicit Window(std::vector<protocol::Record> records, QSize size = {1200, 900}) {
    source.records = std::move(records);
    view = std::make_unique<TapeView>(&session);
    view->resize(size);
    view->show();
    view->activateWindow();
    if (!QTest::qWaitForWindowActive(view.get())) qWarning("the window is not active");
    session.setSource(&source);
  }
  TapeCanvas* canvas() { return view->canvas(); }
  void runTo(std::uint64_t pending) { source.stopBefore(pending); }
  /// Waits until what is drawn shows the record as current.
  bool shows(RecordNumber record) {
    return QTest::qWaitFor([&] {
      const LaidOutGraph* laid = canvas()->laidOut();
      if (!laid) return false;
      const int node = laid->graph.nodeOf(record);
      return node >= 0 && laid->graph.nodes[node].current && !canvas()->drawnNodes().empty();
    });
  }
  int nodeOf(RecordNumber record) { return canvas()->laidOut()->graph.nodeOf(record); }
  QPoint centre(RecordNumber record) { return canvas()->nodeRect(nodeOf(record)).center().toPoint(); }
  bool painted() {
    const quint64 before = canvas()->framesPainted();
    canvas()->requestFrame();
    return QTest::qWaitFor([&] { return canvas()->framesPainted() > before; });
  }
};

}  // namespace

class TapeViewTest : public QObject {
  Q_OBJECT
 private slots:
  void init() { qApp->setPalette(lightPalette()); }

  void saysWhyThereIsNothing() {
    Window window({});
    QTest::qWait(20);
    QVERIFY2(window.canvas()->accessibleDescription().contains(QStringLiteral("No op has run yet")),
             qPrintable(window.canvas()->accessibleDescription()));
    QVERIFY(window.painted());
    const QImage image = window.canvas()->grab().toImage();
    int dark = 0;
    for (int x = 0; x < image.width(); ++x)
      for (int y = image.height() / 2 - 20; y < image.height() / 2 + 20; ++y)
        dark += image.pixelColor(x, y).lightness() < 160;
    QVERIFY(dark > 200);
    QSvgRenderer renderer;
    QVERIFY(renderer.load(window.view->svg()));
  }

  void growsByStepsAndNothingMoves() {
    Window window(noisySquareTape());
    std::map<quint64, QRectF> seen;
    std::size_t nodes = 0;
    for (std::uint64_t at = 1; at <= 10; ++at) {
      window.runTo(at);
      QVERIFY2(window.shows(at), qPrintable(QString::number(at)));
      const LaidOutGraph& laid = *window.canvas()->laidOut();
      QVERIFY(laid.graph.nodes.size() >= nodes);
      nodes = laid.graph.nodes.size();
      for (std::size_t i = 0; i < nodes; ++i) {
        const auto [known, added] = seen.try_emplace(nodeKey(laid.graph.nodes[i]), laid.layout.nodes[i]);
        QVERIFY2(known->second.center() == laid.layout.nodes[i].center(), qPrintable(laid.graph.nodes[i].op));
      }
      QVERIFY(QRectF(window.canvas()->rect()).contains(window.canvas()->nodeRect(window.nodeOf(at))));
      QCOMPARE(nodeText(laid.graph.nodes[window.nodeOf(at)]).badge.contains(QStringLiteral("next")), true);
    }
    QCOMPARE(nodes, std::size_t(13));  // ten records, the constants 3, 0.5 and 2
  }

  void aClickMovesTheCursor() {
    Window window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(11);
    QVERIFY(window.shows(11));
    QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier, window.centre(3));
    QCOMPARE(window.session.cursor(), RecordNumber(3));
    QVERIFY(window.shows(3));
    // A leaf leads to what reads it first.
    window.session.setCursor(11);
    QVERIFY(window.shows(11));
    const TapeGraph& graph = window.canvas()->laidOut()->graph;
    int bias = -1;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].op == QLatin1String("b:0")) bias = static_cast<int>(i);
    QVERIFY(bias >= 0);
    QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier,
                      window.canvas()->nodeRect(bias).center().toPoint());
    QCOMPARE(window.session.cursor(), RecordNumber(2));
    QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier, QPoint(8, 8));
    QCOMPARE(window.session.cursor(), RecordNumber(2));
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
    Window window(regressionTape());
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
    Window window(regressionTape());
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
    Window window(regressionTape());
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
    QTest::keyClick(&canvas, Qt::Key_Right);
    QVERIFY(canvas.camera().offset.x() < before.offset.x());
    QTest::keyClick(&canvas, Qt::Key_Down);
    QVERIFY(canvas.camera().offset.y() < before.offset.y());
    QTest::keyClick(&canvas, Qt::Key_F);
    for (std::size_t i = 0; i < canvas.laidOut()->graph.nodes.size(); ++i)
      QVERIFY(QRectF(canvas.rect()).contains(canvas.nodeRect(static_cast<int>(i))));
    // From the VJP of matmul up to W, back down, and to the matmul beside.
    QTest::keyClick(&canvas, Qt::Key_K);
    QVERIFY(canvas.walkedNode() >= 0);
    QCOMPARE(canvas.laidOut()->graph.nodes[canvas.walkedNode()].record, RecordNumber(10));
    QVERIFY(canvas.accessibleDescription().contains(QStringLiteral("VJP of add")));
    QTest::keyClick(&canvas, Qt::Key_J);
    QCOMPARE(canvas.laidOut()->graph.nodes[canvas.walkedNode()].record, RecordNumber(11));
    QTest::keyClick(&canvas, Qt::Key_H);
    QCOMPARE(canvas.laidOut()->graph.nodes[canvas.walkedNode()].record, RecordNumber(1));
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
    Window window(regressionTape());
    QCOMPARE(window.view->menuActions().size(), qsizetype(6));
    for (const QAction* action : window.view->menuActions()) {
      QVERIFY(!action->shortcut().isEmpty());
      QVERIFY(action->toolTip().contains(action->shortcut().toString(QKeySequence::NativeText)));
    }
  }

  void followsTheCursorOutOfSight() {
    Window window(longTape(60), {500, 350});
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
    QVERIFY(QTest::qWaitFor([&] { return window.canvas()->laidOut()->graph.cursor == 3; }));
    QCOMPARE(window.canvas()->camera().offset, before.offset);
  }

  void theCursorsNodeIsFramedInTheAccentColour() {
    Window window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(4);
    QVERIFY(window.shows(4));
    QVERIFY(window.painted());
    const auto framed = [&](RecordNumber record) {
      const QRectF node = window.canvas()->nodeRect(window.nodeOf(record));
      const QImage image = window.canvas()->grab().toImage();
      int accent = 0;
      for (int x = static_cast<int>(node.left()) + 20; x < static_cast<int>(node.left()) + 50; ++x)
        for (int y = static_cast<int>(node.bottom()); y < static_cast<int>(node.bottom()) + 6; ++y)
          accent += image.pixelColor(x, y) == window.canvas()->theme().accent;
      return accent >= 30;
    };
    QVERIFY(framed(4));
    QVERIFY(!framed(3));
  }

  void theTooltipTellsTheNodesDetails() {
    Window window(regressionTape());
    window.view->setCellName([](const QString&) { return QStringLiteral("cell 3"); });
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

  void theSvgIsWhatIsShown() {
    Window window(noisySquareTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(10);
    QVERIFY(window.shows(10));
    const QByteArray svg = window.view->svg();
    for (const char* text :
         {">noisy_square<", ">∂ noisy_square<", ">custom ∂<", ">random_normal<", ">∂ 0.5<"})
      QVERIFY2(svg.contains(text), text);
    QSvgRenderer renderer;
    QVERIFY(renderer.load(svg));
  }

  void aNewSessionForgetsTheOld() {
    Window window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    QVERIFY(window.shows(window.session.cursor()));
    FakeSource other;
    other.records = noisySquareTape();
    window.session.setSource(&other);
    QTRY_VERIFY(!window.canvas()->laidOut());
    other.stopBefore(5);
    QVERIFY(window.shows(5));
    for (const GraphNode& node : window.canvas()->laidOut()->graph.nodes)
      QVERIFY(node.op != QLatin1String("matmul"));
    window.session.setSource(nullptr);
  }

  void screenshots_data() { addPictureSizes(); }
  void screenshots() {
    QFETCH(bool, dark);
    QFETCH(QSize, size);
    qApp->setPalette(dark ? darkPalette() : lightPalette());
    {
      Window window(regressionTape(), size);
      window.runTo(0);
      QTRY_VERIFY(window.session.cursor());
      window.session.setCursor(11);
      QVERIFY(window.shows(11));
      QVERIFY(window.painted());
      screenshot(*window.view, QStringLiteral("tape-regression-%1").arg(QTest::currentDataTag()));
    }
    {
      Window window(noisySquareTape(), size);
      for (std::uint64_t at = 1; at <= 10; ++at) {
        window.runTo(at);
        QVERIFY(window.shows(at));
      }
      QTest::mouseMove(window.canvas(), window.centre(5));
      QVERIFY(window.painted());
      QVERIFY(window.painted());
      screenshot(*window.view, QStringLiteral("tape-noisy-%1").arg(QTest::currentDataTag()));
      window.view->tidy();
      QTest::keyClick(window.canvas(), Qt::Key_G);
      QTest::keyClick(window.canvas(), Qt::Key_F);
      QTest::qWait(100);
      screenshot(*window.view, QStringLiteral("tape-noisy-tidy-%1").arg(QTest::currentDataTag()));
    }
  }
};

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  TapeViewTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_tape_view.moc"
