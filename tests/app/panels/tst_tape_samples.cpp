// What the samples and the tape tell, in a real window with a real session: their hints about the Tape panel
// are true, no picture of a tape can be misread, and all of a long tape can be reached.
#include "tests/app/panels/tape_of_sample.h"
#include "tests/test_program.h"
#include "tests/views/tape_geometry.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::GraphNode;
using inspector::NodeKind;

class TestTapeSamples : public QObject, TapeOfSample {
  Q_OBJECT

 private:
  const GraphNode* more(bool below) {
    for (const GraphNode& node : graph().nodes)
      if (node.kind == NodeKind::more && node.below == below) return &node;
    return nullptr;
  }

  void step() {
    const auto before = session().stop();
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void noTapeOfASampleCanBeMisread_data() {
    QTest::addColumn<QString>("file");
    for (const char* name : {"first_gradient", "log1pexp", "noisy_square"})
      QTest::newRow(name) << QString("%1.ipynb").arg(name);
  }
  void noTapeOfASampleCanBeMisread() {
    QFETCH(QString, file);
    open(file);
    runAll();
    const quint64 count = session().recordCount();
    int tapes = 0;
    for (quint64 record = 1; record <= count; ++record) {
      if (record % 7 && record != 120) continue;
      session().setCursor(record);
      QVERIFY2(shows(record), qPrintable(QString("record %1 is not shown").arg(record)));
      const auto& layout = canvas().laidOut()->layout;
      for (const QString& wrong :
           {test::overlap(graph(), layout), test::misread(graph(), layout), test::unpaired(graph(), layout)})
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("record %1: %2").arg(record).arg(wrong)));
      tapes += graph().tape != 0;
      // Every function and op that reads or makes something has an edge.
      for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
        const bool found = std::any_of(graph().edges.begin(), graph().edges.end(), [&](const auto& edge) {
          return edge.from == static_cast<int>(i) || edge.to == static_cast<int>(i);
        });
        QVERIFY2(found || graph().nodes[i].inputs == 0, qPrintable(graph().nodes[i].op));
      }
    }
    QVERIFY(tapes > 20);
    if (file.startsWith("noisy")) {
      session().setCursor(120);
      QVERIFY(shows(120));
      screenshot(window_.get(), "tape-noisy-square-120");
    }
  }

  void aFirstGradientsHint() {
    open("first_gradient.ipynb");
    int cell = -1;
    const auto select = [&](const QString& text) {
      for (int i = window_->document()->cellCount(); i-- > 0;)
        if (window_->document()->cell(i).source.contains(text) &&
            window_->document()->cell(i).type == CellType::code)
          cell = i;  // the first of them
      window_->notebook()->setCurrentCell(cell, false);
    };
    select("square(3.)");
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    const QString first = window_->document()->cell(cell).id;
    QTRY_VERIFY_WITH_TIMEOUT(window_->notebook()->cellState(first) == CellState::done, patience);
    // Both inputs are the same x: one leaf.
    showAllRecords();
    QCOMPARE(session().recordCount(), 1u);
    QVERIFY(shows(1));
    QCOMPARE(std::count_if(graph().nodes.begin(), graph().nodes.end(),
                           [](const GraphNode& node) { return node.kind == NodeKind::constant; }),
             1);
    QCOMPARE(graph().edges.size(), std::size_t{2});
    // "Press F10 here and watch the Tape panel: first the multiplication appears, …"
    select("grad(3.)");
    step();
    const quint64 multiply = session().status().stopped_before.value_or(0);
    QVERIFY(shows(multiply));
    QCOMPARE(graph().nodes[graph().nodeOf(multiply)].op, QString("multiply"));
    QCOMPARE(graph().ops, 1u);
    // "… then the steps go backwards."
    bool back = false;
    for (int i = 0; i < 6 && !back; ++i) {
      step();
      const quint64 at = session().status().stopped_before.value_or(0);
      QVERIFY(shows(at));
      back = graph().nodes[graph().nodeOf(at)].kind == NodeKind::vjp;
    }
    QVERIFY(back);
    QTest::keyClick(window_.get(), Qt::Key_F5);
  }

  void allOfALongTapeCanBeReached() {
    const QTemporaryDir folder;
    const QString path = writeNotebook(folder, "long.ipynb",
                                       {"import tapedeck as tf\n"
                                        "x = tf.constant(1.)\n"
                                        "with tf.GradientTape() as tape:\n"
                                        "    tape.watch(x)\n"
                                        "    y = x\n"
                                        "    for _ in range(20000):\n"
                                        "        y = tf.tanh(y)\n"
                                        "gradient = tape.gradient(y, x)"});
    window_ = newWindow();
    window_->openNotebook(path);
    runAll();
    const quint64 end = session().recordCount();
    QVERIFY(shows(end));
    QTRY_COMPARE(graph().ops, 20'000u);
    QCOMPARE(graph().vjps, 20'000u);
    QVERIFY(graph().nodes.size() < 2'000);
    // By keys: down to "… more below", and into it.
    canvas().setFocus();
    QTRY_VERIFY(more(true));
    const quint64 page = more(true)->page;
    QTest::keyClick(&canvas(), Qt::Key_Home);
    for (int i = 0; i < 1'000 && (canvas().walkedNode() < 0 ||
                                  graph().nodes[canvas().walkedNode()].kind != NodeKind::more);
         ++i)
      QTest::keyClick(&canvas(), i < 3 ? Qt::Key_Left : Qt::Key_Down);
    QCOMPARE(graph().nodes[canvas().walkedNode()].kind, NodeKind::more);
    QTest::keyClick(&canvas(), Qt::Key_Return);
    QTRY_VERIFY(graph().nodeOf(page + 1) >= 0);
    QCOMPARE(session().cursor(), end);
    // By mouse, further down.
    for (int i = 0; i < 3; ++i) {
      QTRY_VERIFY(more(true));
      const quint64 last = more(true)->page;
      const int node = static_cast<int>(more(true) - graph().nodes.data());
      inspector::Camera camera = canvas().camera();
      camera.offset += QRectF(canvas().rect()).center() - canvas().nodeRect(node).center();
      canvas().setCamera(camera);
      QTest::mouseClick(&canvas(), Qt::LeftButton, {}, canvas().nodeRect(node).center().toPoint());
      QTRY_VERIFY(graph().nodeOf(last + 1) >= 0);
    }
    screenshot(window_.get(), "tape-long-part");
    // The cursor brings its neighbourhood.
    for (const quint64 record : {quint64(1), quint64(12'345), end / 2, end - 777}) {
      session().setCursor(record);
      QVERIFY2(shows(record), qPrintable(QString::number(record)));
      QVERIFY(QRectF(canvas().rect()).intersects(canvas().nodeRect(graph().nodeOf(nodeRecord(record)))));
      QCOMPARE(test::unpaired(graph(), canvas().laidOut()->layout), QString());
    }
  }
};

TAPEDECK_TEST(TestTapeSamples)
#include "tst_tape_samples.moc"
