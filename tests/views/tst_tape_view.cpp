#include <unistd.h>

#include <QAction>
#include <QSemaphore>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>
#include <QWheelEvent>
#include <atomic>
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
    if (!QTest::qWaitForWindowActive(view.get(), tapedeck::patience)) qWarning("the window is not active");
    session.setSource(&source);
  }
  TapeCanvas* canvas() { return view->canvas(); }
  void runTo(std::uint64_t pending) { source.stopBefore(pending); }
  /// Waits until what is drawn shows the record as current.
  bool shows(RecordNumber record) {
    return QTest::qWaitFor(
        [&] {
          const LaidOutGraph* laid = canvas()->laidOut();
          if (!laid) return false;
          const int node = laid->graph.nodeOf(record);
          return node >= 0 && laid->graph.nodes[node].current && !canvas()->drawnNodes().empty();
        },
        tapedeck::patience);
  }
  int nodeOf(RecordNumber record) { return canvas()->laidOut()->graph.nodeOf(record); }
  int leaf(const QString& name) {
    const TapeGraph& graph = canvas()->laidOut()->graph;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].op == name) return static_cast<int>(i);
    return -1;
  }
  QPoint centre(RecordNumber record) { return canvas()->nodeRect(nodeOf(record)).center().toPoint(); }
  bool painted() {
    const quint64 before = canvas()->framesPainted();
    canvas()->requestFrame();
    return QTest::qWaitFor([&] { return canvas()->framesPainted() > before; }, tapedeck::patience);
  }
};

/// Two ops whose values differ by a sign.
std::vector<protocol::Record> minusTape() {
  FakeTape t;
  const auto op = protocol::RecordKind::op;
  t.add(op, "negative", {t.tensor(1, {}, "1")}, {t.tensor(2, {}, "-1")});
  t.add(op, "abs", {t.tensor(2, {}, "-1")}, {t.tensor(3, {}, "1")});
  return t.records;
}

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
      QCOMPARE(nodeText(laid.graph.nodes[window.nodeOf(at)]).state, QStringLiteral("next"));
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
    QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier, QPoint(8, 8));
    QCOMPARE(window.session.cursor(), RecordNumber(3));
  }

  void aClickOnALeafAsksForItsTensorAndLeavesTheGraph() {
    Window window(regressionTape());
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
    QVERIFY(
        QTest::qWaitFor([&] { return window.canvas()->laidOut()->graph.cursor == 3; }, tapedeck::patience));
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
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("tape.svg"));
    QSignalSpy ended(window.view.get(), &TapeView::exported);
    window.view->exportSvg(path);
    QVERIFY(ended.isEmpty());  // it is written beside this thread
    QTRY_COMPARE(ended.size(), 1);
    QCOMPARE(ended[0][1].toString(), QString());
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray svg = file.readAll();
    for (const char* text :
         {">noisy_square<", ">∂ noisy_square<", ">custom ∂<", ">random_normal<", ">∂ 0.5<"})
      QVERIFY2(svg.contains(text), text);
    QVERIFY(svg.contains("sans-serif\""));
    QSvgRenderer renderer;
    QVERIFY(renderer.load(svg));
    // A file that is there is replaced, never written over: its other name keeps what it had.
    const QString other = folder.filePath(QStringLiteral("other.svg"));
    QCOMPARE(::link(qPrintable(path), qPrintable(other)), 0);
    window.session.setCursor(5);
    QVERIFY(window.shows(5));
    window.view->exportSvg(path);
    QTRY_COMPARE(ended.size(), 2);
    QFile kept(other), now(path);
    QVERIFY(kept.open(QIODevice::ReadOnly) && now.open(QIODevice::ReadOnly));
    QCOMPARE(kept.readAll(), svg);
    QVERIFY(now.readAll() != svg);
    ended.clear();
    // Where it can not be written the view says so, and the window lives on without it.
    window.view->exportSvg(folder.filePath(QStringLiteral("missing/tape.svg")));
    QTRY_COMPARE(ended.size(), 1);
    QVERIFY(!ended[0][1].toString().isEmpty());
    window.view->exportSvg(path);
    window.view.reset();
    QTest::qWait(50);
  }

  void closingWaitsForNoLayout() {
    // One thread, which somebody else has: the layout can not end before that one lets it go.
    QThreadPool& pool = *QThreadPool::globalInstance();
    pool.waitForDone();
    const int threads = pool.maxThreadCount();
    pool.setMaxThreadCount(1);
    QSemaphore go;
    std::atomic<bool> waited = false;
    pool.start([&] { waited = !go.tryAcquire(1, 20'000); });
    Window window(longTape(2500));
    window.runTo(0);
    QTRY_VERIFY(!window.view->model()->graph().empty());
    window.view.reset();
    go.release();
    pool.waitForDone();  // what was under way ends by itself
    pool.setMaxThreadCount(threads);
    QVERIFY(!waited);
  }

  void whatIsOnNoTapeIsDrawnDashed() {
    FakeTape t;
    t.records = regressionTape();
    t.tape = 0;
    const std::uint64_t after = t.records.size() + 1;
    t.add(protocol::RecordKind::op, "multiply", {t.tensor(25, {784, 10}), t.tensor(90, {}, "0.1")},
          {t.tensor(91, {784, 10})});
    Window window(t.records);
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    QVERIFY(window.shows(after));
    QTest::keyClick(window.canvas(), Qt::Key_C);
    window.session.setCursor(4);  // no thick frame around what is looked at
    window.session.setCursor(after - 1);
    QVERIFY(window.shows(after - 1));
    window.session.setCursor(after);
    QVERIFY(window.shows(after));
    Camera camera;
    const auto breaks = [&](RecordNumber record) {
      const QRectF node = window.canvas()->laidOut()->layout.nodes[window.nodeOf(record)];
      camera.offset = QPointF(500, 400) - node.center();
      window.canvas()->setCamera(camera);
      const QRectF rect = camera.toWidget(node);
      const QImage image = window.canvas()->grabFramebuffer();
      int most = 0;
      for (int x = qRound(rect.left()) - 1; x <= qRound(rect.left()) + 1; ++x) {
        int changes = 0;
        for (int y = qRound(rect.top()) + 8; y < qRound(rect.bottom()) - 8; ++y)
          changes += std::abs(qGray(image.pixel(x, y)) - qGray(image.pixel(x, y - 1))) > 12;
        most = std::max(most, changes);
      }
      return most;
    };
    QVERIFY2(breaks(after) >= 10, qPrintable(QString::number(breaks(after))));
    QVERIFY2(breaks(2) <= 4, qPrintable(QString::number(breaks(2))));
  }

  void aMinusSignIsReadAtEveryZoom() {
    Window window(minusTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    QVERIFY(window.shows(window.session.cursor()));
    QTest::keyClick(window.canvas(), Qt::Key_C);
    int looked = 0;
    for (int step = 0; step < 50; ++step) {
      Camera camera;
      camera.zoom = 0.61 + 0.045 * step;
      // Half a pixel aside as often as not, as a fit leaves it.
      const QRectF with = window.canvas()->laidOut()->layout.nodes[window.nodeOf(1)];
      const QRectF without = window.canvas()->laidOut()->layout.nodes[window.nodeOf(2)];
      const auto ink = [&](const QRectF& node) {
        camera.offset = QPointF(400.31, 300.57) - node.center() * camera.zoom;
        window.canvas()->setCamera(camera);
        const QRectF rect = camera.toWidget(node);
        // The last line of the node, where its value stands.
        const QRectF line(rect.left() + 10 * camera.zoom, rect.center().y() + 9 * camera.zoom,
                          rect.width() - 20 * camera.zoom, 13 * camera.zoom);
        const QImage image = window.canvas()->grabFramebuffer().copy(line.toAlignedRect());
        const int ground = qGray(image.pixel(0, image.height() / 2));
        int count = 0;
        for (int y = 0; y < image.height(); ++y)
          for (int x = 0; x < image.width(); ++x) count += ground - qGray(image.pixel(x, y));
        return count;
      };
      const int minus = ink(with), plain = ink(without);
      // Half of the digit's height wide, in full colour.
      QVERIFY2(minus * 10 > plain * 11,
               qPrintable(QStringLiteral("zoom %1: %2 and %3").arg(camera.zoom).arg(minus).arg(plain)));
      looked += plain > 0;
    }
    QCOMPARE(looked, 50);
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
      QTest::keyClick(window.canvas(), Qt::Key_G);
      QTest::keyClick(window.canvas(), Qt::Key_F);
      QTest::qWait(100);
      screenshot(*window.view, QStringLiteral("tape-noisy-legend-%1").arg(QTest::currentDataTag()));
    }
  }
};

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  TapeViewTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_tape_view.moc"
