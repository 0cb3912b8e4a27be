// Time, in a real window with a real session process: a notebook whose loop loses its time between two ops is
// opened and run, and the lines are found by keys and by mouse.
#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>
#include <QWheelEvent>

#include "app/shell/panels/workspaces.h"
#include "inspector/panels/time/flame_canvas.h"
#include "inspector/panels/time/profile_table.h"
#include "inspector/panels/time/roofline_canvas.h"
#include "inspector/panels/time/time_view.h"
#include "inspector/panels/time/track_canvas.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::FlameCanvas;
using inspector::ProfilePage;
using inspector::TimeView;
using inspector::TrackCanvas;

namespace {

const QString trainingCell =
    "import tapedeck as tf\n"
    "import time\n"
    "w = tf.Variable(tf.ones([128, 128]))\n"
    "optimizer = tf.keras.optimizers.Adam(0.01)\n"
    "for step in range(12):\n"
    "    with tf.GradientTape() as tape:\n"
    "        with tf.name_scope('encoder/dense'):\n"
    "            y = tf.matmul(w, w)\n"
    "        time.sleep(0.02)\n"
    "        loss = tf.reduce_mean(y)\n"
    "    gradient = tape.gradient(loss, w)\n"
    "    optimizer.apply_gradients([(gradient, w)])";

}  // namespace

class TestTimePanel : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  TimeView* view() const { return window_->findChild<TimeView*>(); }
  TrackCanvas* track() const { return view()->track(); }
  QString summary() const { return view()->summary()->text(); }
  std::string opAtCursor() {
    const protocol::Record* record = session().record(session().cursor());
    return record ? record->op : std::string();
  }
  std::uint32_t lineAtCursor() {
    const protocol::Record* record = session().record(session().cursor());
    return record ? record->line : 0;
  }

  /// Opens the file, runs its cells by key, and opens Time by key.
  void runAndOpen(const QStringList& cells) {
    openCells(folder_, cells);
    for (int cell = 0; cell < cells.size(); ++cell) {
      click(cell);
      runByKey(cell);
      QTRY_COMPARE_WITH_TIMEOUT(stateOf(cell), CellState::done, patience);
    }
    press(Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(view() && view()->isVisible(), patience);
    view()->setFocus();
    QTRY_VERIFY_WITH_TIMEOUT(view()->model()->overview() && view()->model()->indexed() == 1, patience);
  }
  void keyTo(QWidget* widget, Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(widget, key, modifiers);
    QCoreApplication::processEvents();
  }
  /// The box of a record that the track shows alone; waits for it.
  QRectF boxOf(quint64 record) {
    QRectF found;
    const auto look = [&] {
      for (const TrackCanvas::Shown& one : track()->shown())
        if (one.record == record && one.count == 1) found = one.rect;
      return !found.isNull();
    };
    return waitFor(look, patience) ? found : QRectF();
  }

 private slots:
  /// No roof crosses what is written, neither the roofs' own names nor those of ops, at any size: where the
  /// room is short, the word's ground covers the roof.
  void noLineCrossesTheWordsOfTheRoofline() {
    runAndOpen({trainingCell});
    press(Qt::Key_R);
    auto* roofline = view()->roofline();
    QTRY_VERIFY_WITH_TIMEOUT(roofline->isVisible() && roofline->roofs().size() == 4, patience);
    for (const QSize& size : {QSize(1280, 800), QSize(1700, 1000), QSize(2560, 1440)}) {
      window_->resize(size);
      waitForFrames(window_.get());
      screenshot(window_.get(), QString("roofline-%1").arg(size.width()));
      const QImage picture = roofline->grabFramebuffer();
      const QRgb line = roofline->theme().axis.rgb();
      QVERIFY(roofline->words().size() >= 5);
      int outside = 0;
      for (const QLineF& roof : roofline->roofs()) {
        std::vector<int> inside(roofline->words().size());
        for (double along = 0; along <= roof.length(); ++along) {
          const QPoint at = roof.pointAt(along / roof.length()).toPoint();
          if (!picture.rect().contains(at) || (picture.pixel(at) | 0xff000000) != line) continue;
          ++outside;
          for (std::size_t i = 0; i < inside.size(); ++i)
            inside[i] += roofline->words()[i].adjusted(1, 1, -1, -1).contains(at);
        }
        // An edge of a letter may happen to have that colour; a line would have it along the whole word.
        for (const int pixels : inside) QVERIFY2(pixels <= 4, qPrintable(QString::number(pixels)));
      }
      QVERIFY(outside > 100);  // it is the roofs' colour that is looked for
    }
  }

  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void theLineBetweenTheOpsIsFoundByKeys() {
    runAndOpen({trainingCell});
    QTRY_VERIFY2_WITH_TIMEOUT(summary().contains("most of it between lines 8 and 10"), qPrintable(summary()),
                              patience);
    QVERIFY2(summary().startsWith("Python took "), qPrintable(summary()));
    QCOMPARE(view()->summary()->textFormat(), Qt::PlainText);  // a trace's cells may be called anything
    const int share = summary().section("took ", 1).section(" %", 0, 0).toInt();
    QVERIFY2(share > 50 && share <= 100, qPrintable(summary()));
    QVERIFY2(summary().contains("12 steps"), qPrintable(summary()));
    // H goes to the op that the longest of them leads to.
    keyTo(track(), Qt::Key_H);
    QTRY_COMPARE_WITH_TIMEOUT(lineAtCursor(), 10u, patience);
    screenshot(window_.get(), "time-track-1280");
    // The table of Python's time says the same.
    keyTo(track(), Qt::Key_O);
    QTRY_VERIFY(view()->table()->isVisible());
    for (int i = 0; i < 4; ++i) keyTo(view()->table(), Qt::Key_G);
    auto* rows = qobject_cast<inspector::ProfileTable*>(view()->table()->model());
    QTRY_VERIFY_WITH_TIMEOUT(rows->gaps() && rows->rowCount() > 0, patience);
    QVERIFY2(rows->text(0).contains("between lines 8 and 10"), qPrintable(rows->text(0)));
    QVERIFY2(rows->text(0).contains("loss = tf.reduce_mean(y)"), qPrintable(rows->text(0)));
    screenshot(window_.get(), "time-python-1280");
    session().setCursor(1);
    view()->table()->selectRow(0);
    keyTo(view()->table(), Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(lineAtCursor(), 10u, patience);
    window_->resize(2560, 1440);
    keyTo(view()->table(), Qt::Key_T);
    QTRY_VERIFY(track()->isVisible());
    keyTo(track(), Qt::Key_F);
    screenshot(window_.get(), "time-track-2560");
  }

  void theTrackZoomsMovesAndSelects() {
    runAndOpen({trainingCell});
    QTRY_VERIFY_WITH_TIMEOUT(track()->shown().size() > 20, patience);
    const inspector::TimeSpan whole = view()->model()->view();
    keyTo(track(), Qt::Key_W);
    QVERIFY(view()->model()->view().length() < whole.length());
    keyTo(track(), Qt::Key_S);
    QVERIFY(std::abs(view()->model()->view().length() - whole.length()) < whole.length() / 100);
    const qint64 before = view()->model()->view().from;
    keyTo(track(), Qt::Key_D);
    QVERIFY(view()->model()->view().from > before);
    keyTo(track(), Qt::Key_0);
    QVERIFY(view()->model()->view() == view()->model()->whole());
    // The wheel zooms where the mouse is.
    const QPointF at(track()->width() * 0.25, 100);
    const double time = track()->timeAt(at.x());
    QWheelEvent wheel(at, track()->mapToGlobal(at), {}, {0, 1200}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(track(), &wheel);
    QVERIFY(std::abs(track()->timeAt(at.x()) - time) < static_cast<double>(whole.length()) / 1000);
    // A drag moves what is under the mouse along.
    QTest::mousePress(track(), Qt::LeftButton, {}, {200, 100});
    QTest::mouseMove(track(), {260, 100});
    QTest::mouseMove(track(), {300, 100});
    QTest::mouseRelease(track(), Qt::LeftButton, {}, {300, 100});
    QVERIFY(std::abs(track()->timeAt(at.x() + 100) - time) <
            static_cast<double>(view()->model()->view().length()) / 100);
    // Shift and a drag selects: the figures are of that part.
    keyTo(track(), Qt::Key_F);
    const std::uint64_t calls = view()->model()->overview()->calls;
    QTest::mousePress(track(), Qt::LeftButton, Qt::ShiftModifier, {track()->width() / 4, 60});
    QTest::mouseMove(track(), {track()->width() / 3, 60});
    QTest::mouseMove(track(), {track()->width() / 2, 60});
    QTest::mouseRelease(track(), Qt::LeftButton, Qt::ShiftModifier, {track()->width() / 2, 60});
    QVERIFY(view()->model()->selection());
    QTRY_VERIFY_WITH_TIMEOUT(summary().contains("the selection"), patience);
    QTRY_VERIFY_WITH_TIMEOUT(view()->model()->overview()->calls < calls, patience);
    QVERIFY(view()->model()->overview()->calls > 0);
    screenshot(window_.get(), "time-selection-1280");
    keyTo(track(), Qt::Key_X);
    QTRY_COMPARE_WITH_TIMEOUT(view()->model()->overview()->calls, calls, patience);
    // V selects what is shown.
    keyTo(track(), Qt::Key_W);
    keyTo(track(), Qt::Key_V);
    QVERIFY(view()->model()->selection() == view()->model()->view());
  }

  void aClickInTheTrackGoesToTheOp() {
    runAndOpen({trainingCell});
    quint64 wanted = 0;
    for (quint64 number = 1; number <= session().recordCount() && !wanted; ++number) {
      const protocol::Record* record = nullptr;
      QTRY_VERIFY_WITH_TIMEOUT((record = session().record(number)), patience);
      if (record->kind == protocol::RecordKind::playback) wanted = number;
    }
    QVERIFY(wanted);
    session().setCursor(wanted);
    keyTo(track(), Qt::Key_Home);
    for (int i = 0; i < 9; ++i) keyTo(track(), Qt::Key_W);
    const QRectF box = boxOf(wanted);
    QVERIFY(box.width() > 4);
    session().setCursor(1);
    QTest::mouseMove(track(), box.center().toPoint());
    QTRY_COMPARE(track()->hovered(), wanted);
    QTRY_VERIFY_WITH_TIMEOUT(view()->model()->cost(wanted), patience);
    screenshot(window_.get(), "time-hover-1280");
    QTest::mouseClick(track(), Qt::LeftButton, {}, box.center().toPoint());
    QTRY_COMPARE(session().cursor(), wanted);
    QCOMPARE(opAtCursor(), std::string("gradient"));
  }

  void theFlameLeadsToTheSlowestOfALayer() {
    runAndOpen({trainingCell});
    keyTo(track(), Qt::Key_L);
    FlameCanvas* flame = view()->flame();
    QTRY_VERIFY_WITH_TIMEOUT(flame->isVisible() && flame->boxes().size() > 4, patience);
    const auto boxNamed = [&](const QString& name) -> const FlameCanvas::Box* {
      for (const FlameCanvas::Box& box : flame->boxes())
        if (flame->label(box.node) == name) return &box;
      return nullptr;
    };
    QVERIFY(boxNamed("encoder"));
    QVERIFY(boxNamed("dense"));
    screenshot(window_.get(), "time-flame-1280");
    const double width = boxNamed("dense")->rect.width();
    QTest::mouseClick(flame, Qt::LeftButton, {}, boxNamed("dense")->rect.center().toPoint());
    QTRY_VERIFY(boxNamed("dense") && boxNamed("dense")->rect.width() > width);
    const QString zoomed = flame->label(flame->zoomed());
    QCOMPARE(zoomed, QString("dense"));
    session().setCursor(1);
    keyTo(flame, Qt::Key_Down);
    keyTo(flame, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(session().record(session().cursor()) &&
                                 session().record(session().cursor())->scope == "encoder/dense",
                             patience);
    keyTo(flame, Qt::Key_Backspace);
    QCOMPARE(flame->label(flame->zoomed()), QString("encoder"));
    // By line: rows show the code.
    keyTo(flame, Qt::Key_G);
    QTRY_VERIFY_WITH_TIMEOUT(boxNamed("line 8: y = tf.matmul(w, w)"), patience);
    window_->resize(2560, 1440);
    screenshot(window_.get(), "time-flame-2560");
  }

  // Deeper than the panel is high: the box walked to comes into sight, and what is out of it is scrolled to.
  void aDeepFlameScrolls() {
    runAndOpen(
        {"import contextlib\n"
         "import tapedeck as tf\n"
         "w = tf.constant([[1., 2.], [3., 4.]])\n"
         "with contextlib.ExitStack() as scopes:\n"
         "    for i in range(24):\n"
         "        scopes.enter_context(tf.name_scope(f'scope{i}'))\n"
         "    v = tf.matmul(w, w)"});
    keyTo(track(), Qt::Key_L);
    FlameCanvas* flame = view()->flame();
    const auto rectOf = [&](const QString& name) {
      for (const FlameCanvas::Box& box : flame->boxes())
        if (flame->label(box.node).contains(name)) return box.rect;
      return QRectF();
    };
    const auto seen = [&](const QString& name) {
      const QRectF rect = rectOf(name);
      return !rect.isEmpty() && QRectF(QPointF(), flame->canvasSize()).contains(rect);
    };
    QTRY_VERIFY_WITH_TIMEOUT(flame->isVisible() && seen("scope0"), patience);
    QVERIFY(flame->bar()->isVisible());
    QVERIFY(!seen("matmul"));
    for (int i = 0; i < 40 && !flame->label(flame->walked()).contains("matmul"); ++i)
      keyTo(flame, Qt::Key_Down);
    QCOMPARE(flame->label(flame->walked()).right(6), QString("matmul"));
    QTRY_VERIFY(seen("matmul"));
    QVERIFY(!seen("scope0"));
    screenshot(window_.get(), "time-flame-deep-1280");
    for (int i = 0; i < 20; ++i) {
      QWheelEvent wheel({200, 100}, flame->mapToGlobal(QPointF(200, 100)), {}, {0, 120}, Qt::NoButton,
                        Qt::NoModifier, Qt::NoScrollPhase, false);
      QApplication::sendEvent(flame, &wheel);
    }
    QTRY_VERIFY(seen("scope0") && !seen("matmul"));
    for (int i = 0; i < 6; ++i) keyTo(flame, Qt::Key_PageDown);
    QTRY_VERIFY(seen("matmul"));
    // What is clicked is what is seen there; zoomed out, all is at its place again.
    QTest::mouseClick(flame, Qt::LeftButton, {}, rectOf("scope23").center().toPoint());
    QTRY_COMPARE(flame->label(flame->zoomed()), QString("scope23"));
    QTRY_VERIFY(seen("scope23"));
    window_->resize(2560, 1440);
    QTRY_VERIFY(!flame->bar()->isVisible());
    QTRY_VERIFY(seen("scope0") && seen("matmul"));
  }

  void totalsAreSortedFilteredAndGrouped() {
    runAndOpen({trainingCell, "for i in range(300):\n    v = tf.exp(w)"});
    keyTo(track(), Qt::Key_E);  // everything
    keyTo(track(), Qt::Key_O);
    auto* rows = qobject_cast<inspector::ProfileTable*>(view()->table()->model());
    QTRY_VERIFY_WITH_TIMEOUT(rows->rowCount() > 6, patience);
    QTRY_VERIFY2_WITH_TIMEOUT(summary().contains("12 steps"), qPrintable(summary()), patience);
    const auto rowOf = [&](const QString& part) {
      for (int row = 0; row < rows->rowCount(); ++row)
        if (rows->text(row).contains(part)) return row;
      return -1;
    };
    QTRY_VERIFY_WITH_TIMEOUT(rowOf("exp") >= 0 && rowOf("adam") >= 0 && rowOf("matmul") >= 0, patience);
    QCOMPARE(rows->index(rowOf("exp"), inspector::ProfileTable::calls_column).data().toString(),
             QString("300"));
    // Rates and roofs stand there once the machine is measured.
    QTRY_VERIFY_WITH_TIMEOUT(
        rows->index(rowOf("exp"), inspector::ProfileTable::roof_column).data().toString().endsWith("%"),
        patience);
    screenshot(window_.get(), "time-totals-1280");
    view()->table()->sortByColumn(inspector::ProfileTable::calls_column, Qt::DescendingOrder);
    QTRY_COMPARE_WITH_TIMEOUT(rowOf("exp"), 0, patience);
    QTest::keyClick(view()->table(), Qt::Key_F, Qt::ControlModifier);
    QTRY_VERIFY(view()->filter()->hasFocus());
    QTest::keyClicks(view()->filter(), "adam");
    QTRY_COMPARE_WITH_TIMEOUT(rows->rowCount(), 1, patience);
    QTest::keyClick(view()->filter(), Qt::Key_Return);
    QTRY_VERIFY(view()->table()->hasFocus());
    keyTo(view()->table(), Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(lineAtCursor(), 12u, patience);
    QTest::keyClick(view()->table(), Qt::Key_F, Qt::ControlModifier);
    QTest::keyClick(view()->filter(), Qt::Key_Escape);
    keyTo(view()->table(), Qt::Key_G);
    QTRY_VERIFY_WITH_TIMEOUT(rowOf("line 2: v = tf.exp(w)") >= 0, patience);
    window_->resize(2560, 1440);
    screenshotIn(inspector::Appearance::dark, window_.get(), "time-totals-dark-2560");
    window_->resize(1280, 800);
    keyTo(view()->table(), Qt::Key_T);
    keyTo(track(), Qt::Key_P);
    keyTo(track(), Qt::Key_P);
    QTRY_VERIFY_WITH_TIMEOUT(summary().contains("12 steps"), patience);
    screenshotIn(inspector::Appearance::dark, window_.get(), "time-track-dark-1280");
    inspector::applyAppearance(inspector::Appearance::light);
  }

  void theRooflineShowsWhatTheMachineCanDo() {
    runAndOpen({trainingCell});
    keyTo(track(), Qt::Key_R);
    auto* roofline = view()->roofline();
    QTRY_VERIFY_WITH_TIMEOUT(view()->model()->peaks() && view()->model()->peaks()->known, patience);
    QTRY_VERIFY_WITH_TIMEOUT(roofline->isVisible() && roofline->points().size() > 3, patience);
    const protocol::Peaks& peaks = *view()->model()->peaks();
    QVERIFY(peaks.float32_gflops > 0.5 && peaks.memory_gbytes > 0.1);
    QVERIFY(peaks.float32_gflops >= peaks.float64_gflops * 0.8);
    // Beside the picture is a button that measures again.
    auto* again = view()->findChild<QToolButton*>("measureAgain");
    QVERIFY(again && again->isVisible() && again->toolTip().contains("again"));
    QSignalSpy measured(view()->model(), &inspector::ProfileModel::peaksChanged);
    QTest::mouseClick(again, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!measured.isEmpty(), patience);
    QVERIFY(view()->model()->peaks()->known);
    session().setCursor(1);
    keyTo(roofline, Qt::Key_Right);
    QCOMPARE(roofline->walked(), 0);
    screenshot(window_.get(), "time-roofline-1280");
    // Each word can be read: it overlaps no other, and no point.
    QVERIFY(roofline->words().size() > 4);
    for (const QRectF& word : roofline->words()) {
      for (const QRectF& other : roofline->words()) QVERIFY(&word == &other || !word.intersects(other));
      for (const auto& point : roofline->points()) {
        const QPointF corner(point.radius, point.radius);
        QVERIFY(!word.intersects(QRectF(point.at - corner, point.at + corner)));
      }
    }
    keyTo(roofline, Qt::Key_Return);
    QTRY_VERIFY(session().cursor() > 1);
    window_->resize(2560, 1440);
    screenshotIn(inspector::Appearance::dark, window_.get(), "time-roofline-dark-2560");
    inspector::applyAppearance(inspector::Appearance::light);
  }

  void aHiddenPanelAsksNothing() {
    runAndOpen({trainingCell});
    QVERIFY(view()->model()->active());
    press(Qt::Key_5, Qt::AltModifier);
    QTRY_VERIFY(!view()->isVisible());
    QVERIFY(!view()->model()->active());
    press(Qt::Key_5, Qt::AltModifier);
    QTRY_VERIFY(view()->isVisible());
    QVERIFY(view()->model()->active());
    press(Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);  // Debug has no Time
    QTRY_VERIFY(!view()->isVisible());
    QVERIFY(!view()->model()->active());
  }

  void theRunIsWrittenAsAChromeTrace() {
    runAndOpen({trainingCell});
    const QString path = folder_.filePath("trace.json");
    bool written = false;
    QString error;
    connect(view(), &TimeView::exported, this, [&](const QString&, const QString& problem) {
      written = true;
      error = problem;
    });
    view()->exportTrace(path);
    QTRY_VERIFY_WITH_TIMEOUT(written, patience);
    QCOMPARE(error, QString());
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonArray events = QJsonDocument::fromJson(file.readAll()).object()["traceEvents"].toArray();
    int products = 0;
    for (const QJsonValue& event : events)
      if (event["name"].toString() == "matmul" && event["cat"].toString() == "forward") ++products;
    QCOMPARE(products, 12);
    written = false;
    view()->exportTrace(folder_.filePath("no/such/folder/trace.json"));
    QTRY_VERIFY(written);
    QVERIFY2(error.startsWith("The trace was not written to "), qPrintable(error));
  }
};

TAPEDECK_TEST(TestTimePanel)
#include "tst_time_panel.moc"
