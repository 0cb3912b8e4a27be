// One finds one's way in a step of a deep network: the sample "What shortcuts are for" on pictures of
// noise, with the cell that its last lines ask the reader to run.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>

#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/tape_scene.h"
#include "inspector/ui/eliding_label.h"
#include "tests/app/panels/tape_of_sample.h"
#include "tests/test_program.h"
#include "tests/views/tape_geometry.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::GraphNode;
using inspector::NodeKind;

class TestTapeResnet : public QObject, TapeOfSample {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  /// Code cells of the sample that begin so.
  static QString cellOf(const QString& beginning) {
    QFile file(sample("small_resnet.ipynb"));
    if (!file.open(QIODevice::ReadOnly)) return {};
    for (const auto& cell : QJsonDocument::fromJson(file.readAll())["cells"].toArray()) {
      const QJsonValue source = cell.toObject()["source"];
      QString text = source.toString();
      for (const auto& line : source.toArray()) text += line.toString();
      if (cell.toObject()["cell_type"] == "code" && text.startsWith(beginning)) return text;
    }
    return {};
  }

  int titled(const QString& title) {
    for (std::size_t i = 0; i < graph().nodes.size(); ++i)
      if (inspector::nodeText(graph().nodes[i]).title == title) return static_cast<int>(i);
    return -1;
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void aStepFitsThePanelAndEveryOpIsFound() {
    const QString network = cellOf("layers = tf.keras.layers"),
                  step = cellOf("with tf.GradientTape() as tape:");
    QVERIFY(!network.isEmpty() && !step.isEmpty());
    openCells(folder_, {"import numpy as np\nimport tapedeck as tf\n"
                        "test_x = np.random.default_rng(1).random((2, 28, 28, 1), dtype=np.float32)\n"
                        "test_y = np.array([1, 2], np.int32)\n"
                        "loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
                        network, step});
    for (int cell = 0; cell < 3; ++cell) runByKey(cell);
    showAllRecords();
    const auto laid = [this]() -> const inspector::LaidOutGraph& { return *canvas().laidOut(); };
    QTRY_VERIFY_WITH_TIMEOUT(canvas().laidOut() && titled("block × 8") >= 0 && titled("∂ block × 7") >= 0,
                             patience);
    // 34 layers and their VJPs: some 30 nodes, whose names are read with all of them in the panel.
    QVERIFY(laid().whole.nodes.size() > 250);
    QVERIFY2(graph().nodes.size() < 40, qPrintable(QString::number(graph().nodes.size())));
    QCOMPARE(test::overlap(graph(), laid().layout), QString());
    QCOMPARE(test::misread(graph(), laid().layout), QString());
    for (const QSize& size : {QSize(1280, 800), QSize(2560, 1440)})
      for (const bool dark : {false, true}) {
        window_->resize(size);
        inspector::applyAppearance(dark ? inspector::Appearance::dark : inspector::Appearance::light);
        waitForFrames(window_.get());
        tape(*window_)->fit();
        waitForFrames(window_.get());
        QVERIFY(inspector::detailLevel(canvas().camera().zoom) != inspector::DetailLevel::boxes);
        screenshot(window_.get(),
                   QString("tape-resnet-%1-%2").arg(size.width()).arg(dark ? "dark" : "light"));
      }
    window_->resize(1280, 800);
    inspector::applyAppearance(inspector::Appearance::light);
    waitForFrames(window_.get());
    // The first convolution of the thirteenth block, by the search.
    canvas().setFocus();
    press(Qt::Key_F, Qt::ControlModifier);
    auto* const field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY(field && field->objectName() == "tapeSearch");
    QTest::keyClicks(field, "conv2d block_12/unit_26");
    press(Qt::Key_Return);  // the kernel
    QTRY_VERIFY(canvas().walkedNode() >= 0 &&
                graph().nodes[canvas().walkedNode()].kind == NodeKind::variable);
    press(Qt::Key_Return);
    QTRY_VERIFY(canvas().walkedNode() >= 0 && graph().nodes[canvas().walkedNode()].op == "conv2d");
    const GraphNode found = graph().nodes[canvas().walkedNode()];
    QVERIFY2(found.scope.startsWith("network/block_12/unit_26"), qPrintable(found.scope));
    QVERIFY(QRectF(canvas().rect()).contains(canvas().nodeRect(canvas().walkedNode())));
    waitForFrames(window_.get());
    screenshot(window_.get(), "tape-resnet-found");
    // Enter on it: all panels are there.
    canvas().setFocus();
    press(Qt::Key_Return);
    QTRY_COMPARE(session().cursor(), found.record);
    // Folded again: the tape as far as that op, and the cursor's node visible.
    press(Qt::Key_U, Qt::ShiftModifier);
    QTRY_VERIFY(graph().cursor == found.record && titled("block × 8") >= 0 && graph().nodes.size() < 40);
    QVERIFY(laid().current >= 0);
    QTRY_VERIFY(QRectF(canvas().rect()).intersects(canvas().nodeRect(laid().current)));
  }

  /// Each of 1,200 ops and as many VJPs and more, in groups that one can open, with nothing left out.
  void aStepOfThousandsOfOpsIsWhole() {
    openCells(folder_, {"import tapedeck as tf\n"
                        "x = tf.constant([[1., 2.]])\n"
                        "with tf.GradientTape() as tape:\n"
                        "    tape.watch(x)\n"
                        "    y = x\n"
                        "    for block in range(80):\n"
                        "        with tf.name_scope(f'block_{block}'):\n"
                        "            for unit in range(5):\n"
                        "                with tf.name_scope(f'unit_{unit}'):\n"
                        "                    y = tf.tanh(y * 1.01 + .1)\n"
                        "gradient = tape.gradient(y, x)"});
    runByKey(0);
    showAllRecords();
    QTRY_VERIFY_WITH_TIMEOUT(canvas().laidOut() && titled("block × 80") >= 0 && titled("∂ block × 80") >= 0 &&
                                 !tape(*window_)->model()->loading(),
                             patience);
    QCOMPARE(graph().ops, 1'200u);
    for (const GraphNode& node : canvas().laidOut()->whole.nodes) QVERIFY(node.kind != NodeKind::more);
    QVERIFY(canvas().laidOut()->whole.nodes.size() > 2'400);
    // What the whole of it is can be read beside the tools or below them.
    auto* summary = window_->findChild<inspector::ElidingLabel*>("tapeSummary");
    QVERIFY(summary);
    for (const QSize& size : {QSize(1280, 800), QSize(2560, 1440)})
      for (const bool dark : {false, true}) {
        window_->resize(size);
        inspector::applyAppearance(dark ? inspector::Appearance::dark : inspector::Appearance::light);
        waitForFrames(window_.get());
        QVERIFY2(summary->text().contains("1,200 ops"), qPrintable(summary->text()));
        QVERIFY(summary->fontMetrics().horizontalAdvance(summary->text()) <= summary->contentsRect().width());
        screenshot(window_.get(),
                   QString("tape-thousands-%1-%2").arg(size.width()).arg(dark ? "dark" : "light"));
      }
    window_->resize(1280, 800);
    inspector::applyAppearance(inspector::Appearance::light);
    // All of it open, the cursor at the end: visible, and not below the map.
    canvas().setFocus();
    press(Qt::Key_O, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(graph().nodes.size() > 2'400, patience);
    for (const quint64 record : {quint64(1), session().recordCount() / 2, session().recordCount()}) {
      session().setCursor(record);
      QVERIFY2(shows(record), qPrintable(QString::number(record)));
      QTRY_VERIFY(canvas().laidOut()->current >= 0);
      const auto node = [this] { return canvas().nodeRect(canvas().laidOut()->current); };
      QTRY_VERIFY(QRectF(QPointF(), canvas().canvasSize()).contains(node()));
      waitForFrames(window_.get());
      QVERIFY(!canvas().minimapRect().isNull());
      QVERIFY(!canvas().minimapRect().intersects(node()));
    }
    screenshot(window_.get(), "tape-thousands-open");
  }
};

TAPEDECK_TEST(TestTapeResnet)
#include "tst_tape_resnet.moc"
