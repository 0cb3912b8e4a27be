// Finding one's way on a long tape, by mouse and keys: groups, search, ancestors and descendants, the map.
#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>

#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/tape_scene.h"
#include "tape_geometry.h"
#include "tape_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

/// `blocks` blocks of a network, each of four ops with a shortcut around them, with scopes as layers open
/// them, played back. Record 1 is the stem; block b has the records 2 + 4·b to 5 + 4·b.
std::vector<protocol::Record> residualNetwork(std::uint64_t blocks, std::uint64_t odd = 0) {
  using protocol::RecordKind;
  FakeTape t;
  const auto value = [&](std::uint64_t id, const std::string& name = {}) {
    return t.tensor(id, {8, 14, 14, 16}, id == odd && odd ? "nan" : "", name);
  };
  const auto op = [&](const char* name, std::vector<protocol::TensorInfo> in, std::uint64_t out,
                      const std::string& scope, std::uint32_t line) {
    t.add(RecordKind::op, name, std::move(in), {value(out)});
    t.records.back().scope = scope;
    t.records.back().line = line;
  };
  op("conv2d", {value(1), value(2, "stem:0")}, 1000, "network/stem", 1);
  std::uint64_t at = 1000;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::string scope = "network/block_" + std::to_string(block), number = std::to_string(block);
    const std::uint64_t first = 1001 + 4 * block;
    op("conv2d", {value(at), value(100 + block, "kernel_" + number + ":0")}, first,
       scope + "/unit_" + number + "/conv2d_" + number, 11);
    op("batch_norm", {value(first), value(300 + block, "gamma_" + number + ":0")}, first + 1,
       scope + "/unit_" + number + "/norm_" + number, 12);
    op("add", {value(first + 1), value(at)}, first + 2, scope, 23);
    op("relu", {value(first + 2)}, first + 3, scope, 24);
    at = first + 3;
  }
  op("reduce_mean", {value(at)}, 900, {}, 30);
  const std::uint64_t forward = t.records.size();
  t.add(RecordKind::playback, "gradient", {value(900)}, {});
  const std::uint64_t playback = t.records.size();
  std::map<std::uint64_t, protocol::TensorInfo> gradient{{900, value(5000)}};
  std::uint64_t next = 5001;
  for (std::uint64_t number = forward; number > 0; --number) {
    const protocol::Record made = t.records[number - 1];
    std::vector<protocol::TensorInfo> out;
    for (const protocol::TensorInfo& read : made.inputs) {
      out.push_back(value(next++));
      gradient[read.id] = out.back();
    }
    t.add(RecordKind::vjp, made.op, {gradient[made.outputs[0].id]}, out, playback).forward = number;
    t.records.back().scope = made.scope;
  }
  return t.records;
}

}  // namespace

class TapeGroupsTest : public QObject {
  Q_OBJECT

  std::unique_ptr<TapeWindow> window_;

  TapeCanvas& canvas() { return *window_->canvas(); }
  const LaidOutGraph& laid() { return *canvas().laidOut(); }
  const GraphNode& node(int index) { return laid().graph.nodes.at(static_cast<std::size_t>(index)); }
  const GraphNode& walked() { return node(canvas().walkedNode()); }

  void open(std::vector<protocol::Record> records, RecordNumber cursor, QSize size = {1200, 900}) {
    window_ = std::make_unique<TapeWindow>(std::move(records), size);
    window_->runTo(0);
    QTRY_VERIFY(window_->session.cursor());
    window_->session.setCursor(cursor);
    QVERIFY(window_->shows(cursor));
    canvas().setFocus();
  }
  int find(const QString& title) {
    for (std::size_t i = 0; i < laid().graph.nodes.size(); ++i)
      if (nodeText(laid().graph.nodes[i]).title == title) return static_cast<int>(i);
    return -1;
  }
  QPoint place(const QString& title) { return canvas().nodeRect(find(title)).center().toPoint(); }
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(QApplication::focusWidget(), static_cast<Qt::Key>(key), modifiers);
  }
  QString count() { return window_->view->findChild<QLabel*>(QStringLiteral("tapeSearchCount"))->text(); }

 private slots:
  void init() { qApp->setPalette(lightPalette()); }
  void cleanup() { window_.reset(); }

  void aLongTapeComesFoldedAndFits() {
    open(residualNetwork(16), 132);
    QVERIFY2(laid().graph.nodes.size() < 20, qPrintable(QString::number(laid().graph.nodes.size())));
    QVERIFY(find(QStringLiteral("block × 16")) >= 0);
    QVERIFY(find(QStringLiteral("∂ block × 16")) >= 0);
    QCOMPARE(overlap(laid().graph, laid().layout), QString());
    QCOMPARE(misread(laid().graph, laid().layout), QString());
    QVERIFY(spokenNode(node(find(QStringLiteral("block × 16")))).contains(QStringLiteral("64 ops")));
    // The stem and the loss are where they would be without groups: values down, gradients up.
    const auto middle = [&](const char* title) { return place(QString::fromUtf8(title)); };
    QVERIFY(middle("conv2d").y() < middle("block × 16").y());
    QCOMPARE(middle("block × 16").y(), middle("∂ block × 16").y());
  }

  void aDoubleClickOpensAndTheBandFolds() {
    open(residualNetwork(16), 132);
    QTest::mouseDClick(&canvas(), Qt::LeftButton, Qt::NoModifier, place(QStringLiteral("block × 16")));
    QTRY_VERIFY(find(QStringLiteral("block_3")) >= 0);
    QCOMPARE(window_->session.cursor(), RecordNumber(132));
    press(Qt::Key_F);
    QTest::mouseDClick(&canvas(), Qt::LeftButton, Qt::NoModifier, place(QStringLiteral("block_3")));
    QTRY_VERIFY(find(QStringLiteral("unit_3")) >= 0);
    press(Qt::Key_F);
    const auto lane =
        std::find_if(laid().layout.lanes.begin(), laid().layout.lanes.end(),
                     [](const auto& each) { return each.scope == QLatin1String("network/block_3"); });
    QVERIFY(lane != laid().layout.lanes.end());
    const QPointF inside(lane->rect.left() + 4, lane->rect.center().y());
    QTest::mouseDClick(&canvas(), Qt::LeftButton, Qt::NoModifier,
                       canvas().camera().toWidget(inside).toPoint());
    QTRY_VERIFY(find(QStringLiteral("unit_3")) < 0);
    QVERIFY(find(QStringLiteral("block_3")) >= 0);
  }

  void aClickOnAGroupMovesNoCursor() {
    open(residualNetwork(16), 132);
    QTest::mouseClick(&canvas(), Qt::LeftButton, Qt::NoModifier, place(QStringLiteral("block × 16")));
    QCOMPARE(walked().op, QStringLiteral("block × 16"));
    QCOMPARE(window_->session.cursor(), RecordNumber(132));
  }

  void keysOpenAndFold() {
    open(residualNetwork(16), 132);
    QTest::mouseClick(&canvas(), Qt::LeftButton, Qt::NoModifier, place(QStringLiteral("block × 16")));
    press(Qt::Key_Return);
    QTRY_VERIFY(find(QStringLiteral("block_0")) >= 0);
    QCOMPARE(walked().op, QStringLiteral("block_0"));  // where the group was
    press(Qt::Key_O);
    QTRY_VERIFY(find(QStringLiteral("unit_0")) >= 0);
    QCOMPARE(walked().op, QStringLiteral("unit_0"));
    press(Qt::Key_U);
    QTRY_VERIFY(find(QStringLiteral("unit_0")) < 0);
    QCOMPARE(walked().op, QStringLiteral("block_0"));
    press(Qt::Key_U);
    QTRY_VERIFY(find(QStringLiteral("block_0")) < 0);
    QCOMPARE(walked().op, QStringLiteral("block × 16"));
    press(Qt::Key_O, Qt::ShiftModifier);
    QTRY_COMPARE(laid().graph.nodes.size(), laid().whole.nodes.size());
    press(Qt::Key_U, Qt::ShiftModifier);
    QTRY_VERIFY(laid().graph.nodes.size() < 20);
  }

  void theCursorIsFollowedThroughGroups() {
    open(residualNetwork(16), 1, {500, 350});
    for (RecordNumber at : {20, 40, 66, 80, 120}) {
      window_->session.setCursor(at);
      QVERIFY(window_->shows(at));  // its group has the frame
      QVERIFY(QRectF(canvas().rect()).contains(canvas().nodeRect(laid().current)));
    }
    const GraphNode& group = node(laid().current);
    QVERIFY(!group.fold.isEmpty());
    QVERIFY2(nodeText(group).lines.join(QLatin1Char(' ')).contains(QStringLiteral("cursor at ∂")),
             qPrintable(nodeText(group).lines.join(QLatin1Char(' '))));
    press(Qt::Key_Home);
    QTRY_COMPARE(node(laid().current).record, RecordNumber(120));
    QVERIFY(node(laid().current).fold.isEmpty());
    QTRY_VERIFY(QRectF(canvas().rect()).contains(canvas().nodeRect(laid().current)));
  }

  void searchOpensWhatFoldsTheHit() {
    open(residualNetwork(16), 132);
    press(Qt::Key_F, Qt::ControlModifier);
    auto* const field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY(field);
    QTest::keyClicks(field, QStringLiteral("batch_norm block_7/"));
    QCOMPARE(count(), QStringLiteral("2 matches"));  // the op and its VJP
    QVERIFY(!canvas().marks().empty());
    QVERIFY(canvas().marks().at(static_cast<std::size_t>(find(QStringLiteral("block × 16")))) & hit_mark);
    press(Qt::Key_Return);
    QTRY_COMPARE(count(), QStringLiteral("1 of 2"));
    QTRY_VERIFY(canvas().walkedNode() >= 0 && walked().op == QLatin1String("batch_norm"));
    QCOMPARE(walked().record, RecordNumber(31));
    QVERIFY(QRectF(canvas().rect()).contains(canvas().nodeRect(canvas().walkedNode())));
    press(Qt::Key_Return);
    QTRY_COMPARE(count(), QStringLiteral("2 of 2"));
    QTRY_VERIFY(canvas().walkedNode() >= 0 && walked().kind == NodeKind::vjp);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE(walked().record, RecordNumber(31));
    QCOMPARE(window_->session.cursor(), RecordNumber(132));
    QTest::keyClicks(field, QStringLiteral(" nowhere"));
    QCOMPARE(count(), QStringLiteral("no match"));
    press(Qt::Key_Escape);
    QVERIFY(!field->isVisible());
    QVERIFY(canvas().hasFocus());
    QVERIFY(canvas().marks().empty());
  }

  void ancestorsAndDescendantsArePointedOut() {
    open(residualNetwork(3), 8);  // add of block 1: 14 ops, shown whole
    const auto marked = [&](RecordNumber record) {
      return canvas().marks().empty() ? 0
                                      : canvas().marks()[static_cast<std::size_t>(window_->nodeOf(record))];
    };
    press(Qt::Key_A);
    QCOMPARE(marked(6), quint8(ancestor_mark));
    QCOMPARE(marked(1), quint8(ancestor_mark));
    press(Qt::Key_A);
    QVERIFY(canvas().marks().empty());
    window_->session.setCursor(28);
    QVERIFY(window_->shows(28));
    QTest::mouseClick(&canvas(), Qt::LeftButton, Qt::NoModifier, window_->centre(8));
    QVERIFY(window_->shows(8));
    window_->session.setCursor(28);
    QVERIFY(window_->shows(28));
    press(Qt::Key_D);
    QVERIFY(marked(9) & descendant_mark);
    QVERIFY(marked(6) & dim_mark);
    press(Qt::Key_A);
    QCOMPARE(marked(6), quint8(ancestor_mark));
    const std::size_t all = laid().graph.nodes.size();
    press(Qt::Key_A);
    press(Qt::Key_I);
    QTRY_VERIFY(laid().graph.nodes.size() < all);
    QCOMPARE(laid().graph.nodeOf(6), -1);
    QVERIFY(laid().graph.nodeOf(9) >= 0);
    QVERIFY(laid().left_out > 0);
    press(Qt::Key_D);
    QTRY_COMPARE(laid().graph.nodes.size(), all);
    QVERIFY(canvas().marks().empty());
  }

  void theMapMovesTheView() {
    open(residualNetwork(16), 132);
    press(Qt::Key_F);
    QVERIFY(canvas().minimapRect().isNull());  // all is visible
    press(Qt::Key_O, Qt::ShiftModifier);
    QTRY_COMPARE(laid().graph.nodes.size(), laid().whole.nodes.size());
    Camera near;
    near.zoom = 1;
    canvas().setCamera(near);
    const QRectF map = canvas().minimapRect();
    QVERIFY(!map.isNull());
    QVERIFY(QRectF(canvas().rect()).contains(map));
    const auto middle = [&] { return canvas().camera().toWorld(QRectF(canvas().rect()).center()); };
    const QRectF bounds = laid().layout.bounds;
    QTest::mousePress(&canvas(), Qt::LeftButton, Qt::NoModifier, map.center().toPoint());
    QVERIFY(std::abs(middle().y() - bounds.center().y()) < bounds.height() / 20);
    QTest::mouseMove(&canvas(), QPointF(map.center().x(), map.bottom() - 5).toPoint());
    QTest::mouseRelease(&canvas(), Qt::LeftButton, Qt::NoModifier,
                        QPointF(map.center().x(), map.bottom() - 5).toPoint());
    QVERIFY(middle().y() > bounds.bottom() - bounds.height() / 10);
    QCOMPARE(window_->session.cursor(), RecordNumber(132));
    press(Qt::Key_M);
    QVERIFY(canvas().minimapRect().isNull());
  }

  void namesAndNanAreReadAtFit() {
    open(residualNetwork(16, 1042), 132, {320, 240});
    press(Qt::Key_F);
    QVERIFY(canvas().camera().zoom < 0.5);
    QVERIFY(detailLevel(canvas().camera().zoom) != DetailLevel::boxes);
    const int group = find(QStringLiteral("block × 16"));
    QVERIFY(node(group).odd);
    QCOMPARE(nodeText(node(group)).state, QStringLiteral("NaN/inf"));
    QVERIFY(window_->painted());
    const QImage image = canvas().grabFramebuffer();
    const QRectF rect = canvas().nodeRect(group);
    const QColor red = canvas().theme().error.stroke;
    const auto reds = [&](const QRectF& area) {
      int count = 0;
      for (int x = qRound(area.left()); x < qRound(area.right()); ++x)
        for (int y = qRound(area.top()); y < qRound(area.bottom()); ++y)
          if (image.rect().contains(x, y)) count += image.pixelColor(x, y) == red;
      return count;
    };
    QVERIFY(reds(rect.adjusted(-4, -4, 8, 8)) > 40);
    const int stem = find(QStringLiteral("conv2d"));
    QVERIFY(!node(stem).odd);
    QCOMPARE(reds(canvas().nodeRect(stem)), 0);
  }

  void aCheckFindsNanInLargeValues() {
    open(residualNetwork(16), 132);
    // 1042: batch_norm of block 10. Of values that are gone the check says so.
    window_->source.tensors[1042] = {
        {8, 14, 14, 16},
        [](std::int64_t index) { return index == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0; },
        {}};
    window_->source.tensors[1043] = {{8, 14, 14, 16}, [](std::int64_t) { return 1.0; }, {}};
    auto* const summary = window_->view->findChild<QLabel*>(QStringLiteral("tapeSummary"));
    QVERIFY(!node(find(QStringLiteral("block × 16"))).odd);
    press(Qt::Key_X);
    QTRY_VERIFY2(summary->text().contains(QStringLiteral("NaN or infinity in 1 of ")),
                 qPrintable(summary->text()));
    QVERIFY2(summary->text().contains(QStringLiteral("could not be computed")), qPrintable(summary->text()));
    QTRY_VERIFY(node(find(QStringLiteral("block × 16"))).odd);
    QVERIFY(!node(find(QStringLiteral("∂ block × 16"))).odd);
    // The search finds it.
    press(Qt::Key_F, Qt::ControlModifier);
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("nan inf"));
    QCOMPARE(count(), QStringLiteral("1 match"));
    press(Qt::Key_Return);
    QTRY_VERIFY(canvas().walkedNode() >= 0 && walked().record == RecordNumber(43));
    // Pressed while it runs, it stops.
    canvas().setFocus();
    press(Qt::Key_X);
    press(Qt::Key_X);
    QTRY_VERIFY2(summary->text().contains(QStringLiteral("was stopped")), qPrintable(summary->text()));
  }

  void screenshots_data() { addPictureSizes(); }
  void screenshots() {
    QFETCH(bool, dark);
    QFETCH(QSize, size);
    qApp->setPalette(dark ? darkPalette() : lightPalette());
    open(residualNetwork(16, 1042), 132, size);
    press(Qt::Key_F);
    QVERIFY(window_->painted());
    screenshot(*window_->view, QStringLiteral("tape-groups-%1").arg(QTest::currentDataTag()));
    press(Qt::Key_F, Qt::ControlModifier);
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("relu block_7"));
    press(Qt::Key_Return);
    QTRY_COMPARE(count(), QStringLiteral("1 of 2"));
    QTRY_VERIFY(canvas().walkedNode() >= 0 && walked().op == QLatin1String("relu"));
    QVERIFY(window_->painted());
    screenshot(*window_->view, QStringLiteral("tape-groups-found-%1").arg(QTest::currentDataTag()));
    canvas().setFocus();
    press(Qt::Key_A);
    press(Qt::Key_O, Qt::ShiftModifier);
    QTRY_COMPARE(laid().graph.nodes.size(), laid().whole.nodes.size());
    QVERIFY(window_->painted());
    screenshot(*window_->view, QStringLiteral("tape-groups-open-%1").arg(QTest::currentDataTag()));
  }
};

TAPEDECK_TEST(TapeGroupsTest)
#include "tst_tape_groups.moc"
