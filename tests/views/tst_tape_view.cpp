#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTest>
#include <QVBoxLayout>

#include "fake_source.h"
#include "fake_tape.h"
#include "inspector/graph/node_style.h"
#include "inspector/graph/tape_canvas.h"
#include "inspector/graph/tape_view.h"
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
  void screenshots_data() {
    QTest::addColumn<bool>("dark");
    QTest::addColumn<QSize>("size");
    QTest::newRow("light-large") << false << QSize(1200, 900);
    QTest::newRow("dark-large") << true << QSize(1200, 900);
    QTest::newRow("light-small") << false << QSize(500, 350);
    QTest::newRow("dark-small") << true << QSize(500, 350);
  }
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
  useCanvasFormat();
  QApplication app(argc, argv);
  TapeViewTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_tape_view.moc"
