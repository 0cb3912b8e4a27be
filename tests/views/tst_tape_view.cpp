// What the tape view draws: growing graphs, marks, values at every zoom, and the same as SVG; and how it
// ends.
#include <unistd.h>

#include <QLabel>
#include <QScopeGuard>
#include <QSemaphore>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QThreadPool>
#include <atomic>

#include "inspector/model/format.h"
#include "inspector/panels/tape/node_style.h"
#include "tape_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

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
    TapeWindow window({});
    QTRY_VERIFY2(window.canvas()->accessibleDescription().contains(QStringLiteral("No op has run yet")),
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
    TapeWindow window(noisySquareTape());
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

  void theCursorsNodeIsFramedInTheAccentColour() {
    TapeWindow window(regressionTape());
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

  void theSvgIsWhatIsShown() {
    TapeWindow window(noisySquareTape());
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
    // Where it can't be written the view says so, and the window works on without it.
    window.view->exportSvg(folder.filePath(QStringLiteral("missing/tape.svg")));
    QTRY_COMPARE(ended.size(), 1);
    QVERIFY(!ended[0][1].toString().isEmpty());
    window.view->exportSvg(path);
    window.view.reset();
    nothingMayHappenFor(50);
  }

  void closingWaitsForNoLayout() {
    // One thread, which is taken: the layout can't end before it is free.
    QThreadPool& pool = *QThreadPool::globalInstance();
    pool.waitForDone();
    const int threads = pool.maxThreadCount();
    pool.setMaxThreadCount(1);
    QSemaphore go;
    std::atomic<bool> waited = false;
    pool.start([&] { waited = !go.tryAcquire(1, 20'000); });
    TapeWindow window(longTape(1000));  // a longer one's graph is made by that thread, too
    window.runTo(0);
    QTRY_VERIFY(!window.view->model()->graph().empty());
    window.view.reset();
    go.release();
    pool.waitForDone();  // what was under way ends by itself
    pool.setMaxThreadCount(threads);
    QVERIFY(!waited);
  }

  // The thread that lays out is busy with something else.
  void aLongLayoutIsAnnouncedAndNothingWaitsForIt() {
    QThreadPool& pool = *QThreadPool::globalInstance();
    pool.waitForDone();
    const int threads = pool.maxThreadCount();
    pool.setMaxThreadCount(1);
    QSemaphore go;
    pool.start([&] { go.acquire(); });
    const auto release = qScopeGuard([&] {
      go.release();
      pool.waitForDone();
      pool.setMaxThreadCount(threads);
    });
    TapeWindow window(longTape(1000));  // a longer one's graph is made by that thread, too
    const auto* summary = window.view->findChild<QLabel*>(QStringLiteral("tapeSummary"));
    QVERIFY(summary);
    window.runTo(0);
    QTRY_VERIFY(!window.view->model()->graph().empty());
    const auto announced = [&] {
      return QStringLiteral("laying out %1 nodes …")
          .arg(countText(static_cast<quint64>(window.view->model()->graph().nodes.size())));
    };
    QTRY_VERIFY2(summary->text().contains(announced()), qPrintable(summary->text()));
    QVERIFY(window.view->model()->graph().nodes.size() > 500);
    QVERIFY(!window.canvas()->laidOut());
    // Meanwhile it is painted, and keys arrive.
    QVERIFY(window.painted());
    QTest::keyClick(window.canvas(), Qt::Key_G);
    QVERIFY(window.canvas()->legendShown());
    QVERIFY(!window.canvas()->laidOut());
    go.release();
    QTRY_VERIFY_WITH_TIMEOUT(window.canvas()->laidOut(), tapedeck::patience);
    QTRY_VERIFY2(!summary->text().contains(QStringLiteral("laying out")), qPrintable(summary->text()));
    QCOMPARE(window.canvas()->laidOut()->whole.nodes.size(), window.view->model()->graph().nodes.size());
  }

  void bookmarksHaveAFlagAndTheirNotes() {
    TapeWindow window(noisySquareTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    window.session.setCursor(5);
    QVERIFY(window.shows(5));
    QVERIFY(window.painted());
    const QImage before = window.canvas()->grabFramebuffer();
    window.canvas()->setBookmarks({{5, QStringLiteral("halves it")}, {3, QString()}});
    QCOMPARE(window.canvas()->bookmarkText(window.nodeOf(5)), QStringLiteral("bookmark: halves it"));
    QCOMPARE(window.canvas()->bookmarkText(window.nodeOf(3)), QStringLiteral("bookmark"));
    QCOMPARE(window.canvas()->bookmarkText(window.nodeOf(4)), QString());
    QVERIFY(window.canvas()->accessibleDescription().endsWith(QStringLiteral(", bookmark: halves it")));
    QVERIFY(window.canvas()->accessiblePart(window.nodeOf(3)).name.endsWith(QStringLiteral(", bookmark")));
    QVERIFY(window.painted());
    const QImage after = window.canvas()->grabFramebuffer();
    const auto differs = [&](RecordNumber record) {
      const QRectF node = window.canvas()->nodeRect(window.nodeOf(record));
      const double ratio = window.canvas()->devicePixelRatio();
      const QRect corner(QPointF((node.right() - 16) * ratio, (node.top() - 14) * ratio).toPoint(),
                         QSize(18, 22) * ratio);
      return before.copy(corner) != after.copy(corner);
    };
    QVERIFY(differs(5) && differs(3) && !differs(4));
    // A search takes no flag away.
    window.canvas()->setMarks({});
    QVERIFY(window.canvas()->marks().at(static_cast<std::size_t>(window.nodeOf(3))) & bookmark_mark);
    window.canvas()->setBookmarks({});
    QVERIFY(window.canvas()->marks().empty());
    QVERIFY(!window.canvas()->accessibleDescription().contains(QStringLiteral("bookmark")));
  }

  void whatIsOnNoTapeIsDrawnDashed() {
    FakeTape t;
    t.records = regressionTape();
    t.tape = 0;
    const std::uint64_t after = t.records.size() + 1;
    t.add(protocol::RecordKind::op, "multiply", {t.tensor(25, {784, 10}), t.tensor(90, {}, "0.1")},
          {t.tensor(91, {784, 10})});
    TapeWindow window(t.records);
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
    TapeWindow window(minusTape());
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
        // The last line of the node, which has its value.
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
    TapeWindow window(regressionTape());
    window.runTo(0);
    QTRY_VERIFY(window.session.cursor());
    QVERIFY(window.shows(window.session.cursor()));
    FakeSession other;
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
      TapeWindow window(regressionTape(), size);
      window.runTo(0);
      QTRY_VERIFY(window.session.cursor());
      window.session.setCursor(11);
      QVERIFY(window.shows(11));
      QVERIFY(window.painted());
      screenshot(*window.view, QStringLiteral("tape-regression-%1").arg(QTest::currentDataTag()));
    }
    {
      TapeWindow window(noisySquareTape(), size);
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
      QVERIFY(window.painted());
      screenshot(*window.view, QStringLiteral("tape-noisy-legend-%1").arg(QTest::currentDataTag()));
    }
  }
};

TAPEDECK_TEST(TapeViewTest)
#include "tst_tape_view.moc"
