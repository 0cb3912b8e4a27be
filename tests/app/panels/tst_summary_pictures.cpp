// Histograms and images of tf.summary, from a notebook's cell into the panel Plots of a real window.
#include <signal.h>

#include <QComboBox>

#include "inspector/ui/appearance.h"
#include "plots/histogram_ridges.h"
#include "plots/image_grid.h"
#include "plots/image_steps.h"
#include "plots/page_choice.h"
#include "plots/picture_pages.h"
#include "plots/plot_canvas.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using tapedeck::plots::PlotsPage;

namespace {

const char training[] =
    "import numpy as np\n"
    "import tapedeck as tf\n"
    "random = np.random.RandomState(0)\n"
    "rows, columns = np.mgrid[0:28, 0:28] - 14.\n"
    "for step in range(24):\n"
    "    spread = tf.constant(random.randn(2000) * (1.5 - step / 24) + step / 12)\n"
    "    tf.summary.scalar('loss', 2. / (1 + step), step)\n"
    "    tf.summary.histogram('layer/weights', spread, step)\n"
    "    disc = (rows**2 + columns**2 < (step + 3)**2 / 4.).astype(np.float32)\n"
    "    shades = np.stack([disc, 1 - disc, disc * (rows + 14) / 28])[..., None]\n"
    "    tf.summary.image('digits', shades, step)";

/// The first TensorFlow's, into files too; it trains until the file `%1` is there.
const char untilTold[] =
    "import os, tempfile, time\n"
    "import numpy as np\n"
    "import tapedeck as tf\n"
    "from tapedeck.contrib import summary\n"
    "step = 0\n"
    "with summary.create_file_writer(tempfile.mkdtemp()).as_default(), summary.always_record_summaries():\n"
    "    while not os.path.exists('%1'):\n"
    "        summary.histogram('gradient', np.random.randn(100) * (step + 1), step=step)\n"
    "        summary.image('noise', np.random.rand(1, 8, 8, 3).astype(np.float32), step=step)\n"
    "        step += 1\n"
    "        time.sleep(0.02)";

const char fitted[] =
    "import numpy as np\n"
    "import tapedeck as tf\n"
    "tf.keras.utils.set_random_seed(1)\n"
    "model = tf.keras.Sequential([tf.keras.layers.Dense(1)], name='line')\n"
    "model.compile('sgd', 'mse', metrics=['mae'])\n"
    "x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]\n"
    "history = model.fit(x, 3 * x, batch_size=8, epochs=5, validation_split=0.25, verbose=0)";

}  // namespace

class TestSummaryPictures : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  tapedeck::plots::PicturePages* pages() const { return app::plots(*window_)->pictures(); }
  tapedeck::plots::HistogramRidges* ridges() const { return pages()->ridges(); }
  std::size_t steps() const { return ridges()->drawing().shown().size(); }
  static bool inSight(const QWidget* part) { return part->isVisible() && !part->visibleRegion().isEmpty(); }

  void open(const QString& name, const QString& cell) {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, name, {cell}));
    QTRY_VERIFY(window_->notebook()->isVisible());
  }
  void runTheCell() {
    window_->notebook()->setCurrentCell(0, false);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
  }
  CellState cellState() const { return cellStateOf(*window_, 0); }
  void runTheCellToItsEnd() {
    runTheCell();
    QVERIFY(cellState() == CellState::queued || cellState() == CellState::busy);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(), CellState::done, patience);
  }
  static void clickInto(QWidget* part) {
    QTRY_VERIFY_WITH_TIMEOUT(inSight(part), patience);
    QTest::mouseClick(part, Qt::LeftButton, {}, part->rect().center());
  }
  static void press(Qt::Key key) {
    QVERIFY(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), key);
  }
  /// At both sizes, light and dark.
  void lookAt(const QString& name) {
    for (const auto appearance : {inspector::Appearance::light, inspector::Appearance::dark})
      for (const QSize size : {QSize(1280, 800), QSize(2560, 1440)}) {
        inspector::applyAppearance(appearance);
        window_->resize(size);
        waitForFrames(window_.get());
        screenshot(window_.get(), QString("summary-%1-%2-%3")
                                      .arg(name)
                                      .arg(size.width())
                                      .arg(appearance == inspector::Appearance::dark ? "dark" : "light"));
      }
    inspector::applyAppearance(inspector::Appearance::light);
    window_->resize(1280, 800);
    waitForFrames(window_.get());
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();  // the next window begins in its own workspace
    inspector::applyAppearance(inspector::Appearance::light);
  }

  void aCellsHistogramsAndImagesAreInThePanelAndItsNextRunBeginsAnew() {
    open("pictures.ipynb", training);
    runTheCellToItsEnd();
    clickInto(app::plots(*window_)->canvas()->viewport());  // curves come first, and Plots by itself
    lookAt("curves");
    press(Qt::Key_H);
    QTRY_VERIFY(inSight(ridges()));
    QTRY_COMPARE(steps(), std::size_t{24});
    QCOMPARE(pages()->choice()->currentText(), QString("layer/weights"));
    lookAt("histograms");
    press(Qt::Key_Up);
    QVERIFY2(ridges()->readOut().startsWith("step ") && ridges()->readOut().endsWith("of 2,000 values"),
             qPrintable(ridges()->readOut()));
    press(Qt::Key_O);
    lookAt("histograms-overlay");
    press(Qt::Key_M);
    lookAt("histograms-heat");
    press(Qt::Key_M);

    press(Qt::Key_I);
    QTRY_VERIFY(inSight(pages()->images()));
    QCOMPARE(pages()->choice()->currentText(), QString("digits"));
    // The cursor went to an older histogram before; the newest images are shown, and say so.
    QTRY_COMPARE(pages()->images()->caption(),
                 QString("step 23 · cell [1] · 28×28 · 3 images · made after the cursor’s op"));
    const auto& images = pages()->images()->grid()->images().images;
    QCOMPARE(qGray(images.at(0).levels.front().pixel(14, 14)), 255);
    QCOMPARE(qGray(images.at(0).levels.front().pixel(0, 0)), 0);
    QCOMPARE(qGray(images.at(1).levels.front().pixel(14, 14)), 0);
    lookAt("images");
    for (int i = 0; i < 20; ++i) press(Qt::Key_Left);
    QTRY_COMPARE(pages()->images()->caption(), QString("step 3 · cell [1] · 28×28 · 3 images"));

    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);  // Debug: little room
    QTRY_VERIFY(inSight(pages()->images()));
    lookAt("images-in-debug");
    pages()->images()->setFocus();
    press(Qt::Key_H);
    lookAt("histograms-in-debug");
    QVERIFY(steps() < 24);  // every 2nd, and a line says so
    press(Qt::Key_I);

    const auto* const model = window_->findChild<inspector::PictureModel*>();
    const quint64 newest = model->images("digits").back()->record;
    runTheCellToItsEnd();
    QCOMPARE(app::plots(*window_)->page(), PlotsPage::images);
    QTRY_VERIFY_WITH_TIMEOUT(model->images("digits").front()->record > newest, patience);
    QTRY_COMPARE_WITH_TIMEOUT(model->images("digits").size(), std::size_t{24}, patience);
    QTest::keyClick(pages()->images(), Qt::Key_H);
    const auto summary = [&] { return ridges()->drawing().summary(); };
    QTRY_VERIFY2(summary().startsWith("24 steps, one of 2 drawn"), qPrintable(summary()));
  }

  void theyComeWhileTheCellRunsAndStayWhenItsSessionIsKilled() {
    open("live.ipynb", QString(untilTold).arg(folder_.filePath("told")));
    runTheCell();
    QTRY_VERIFY_WITH_TIMEOUT(inSight(ridges()), patience);  // no curves: the first page that has something
    QTRY_VERIFY_WITH_TIMEOUT(steps() > 3, patience);
    const std::size_t before = steps();
    QTRY_VERIFY_WITH_TIMEOUT(steps() > before, patience);
    QCOMPARE(cellState(), CellState::busy);
    clickInto(ridges());
    press(Qt::Key_I);
    QTRY_VERIFY(inSight(pages()->images()));
    QTRY_VERIFY(pages()->images()->caption().endsWith("8×8"));
    const int chosen = pages()->images()->chosen();
    QTRY_VERIFY_WITH_TIMEOUT(pages()->images()->chosen() > chosen, patience);
    screenshot(window_.get(), "summary-live");

    ::kill(static_cast<pid_t>(window_->kernel()->processId()), SIGKILL);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(), CellState::killed, patience);
    QTRY_VERIFY(!window_->session()->live());
    QVERIFY(inSight(pages()->images()));
    QVERIFY(!pages()->images()->grid()->images().images.empty());
    const QString shown = pages()->images()->caption();
    QTest::keyClick(pages()->images(), Qt::Key_Left);
    QTRY_VERIFY(pages()->images()->caption() != shown);
    QTest::keyClick(pages()->images(), Qt::Key_H);
    QTRY_VERIFY(steps() >= before);
    screenshot(window_.get(), "summary-killed");
  }

  void fitDrawsItsMetricsByItself() {
    open("fit.ipynb", fitted);
    runTheCellToItsEnd();
    QTRY_COMPARE(window_->series()->names().size(), 4);
    for (const char* name : {"line/loss", "line/mae", "line/val_loss", "line/val_mae"}) {
      // The cell's end may come before the last points do.
      const auto curve = [&] { return window_->series()->series(name); };
      QTRY_VERIFY_WITH_TIMEOUT(curve() && curve()->size() > 0 && curve()->steps.back() >= 30, patience);
      QCOMPARE(curve()->steps.back(), 30.0);
      QVERIFY(curve()->size() >= 5);  // the ends of the epochs at least, of 6 batches each
      QVERIFY(QString(name).contains("val_") || curve()->values.back() < curve()->values.front());
    }
    QTRY_VERIFY_WITH_TIMEOUT(inSight(app::plots(*window_)), patience);
    screenshot(window_.get(), "summary-fit");
  }

  void aCellThatGoesOnAddsToACurveAndOneThatStartsOverDrawsItAnew() {
    window_ = newWindow();
    window_->openNotebook(
        writeNotebook(folder_, "on.ipynb",
                      {"import tapedeck as tf\nstep = 0\nfor step in range(4):\n    "
                       "tf.summary.scalar('loss', 1. / (step + 1), step)",
                       "step += 1\ntf.square(3.)\ntf.summary.scalar('loss', 1. / (step + 1), step)"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    const auto steps = [this](int cell) {
      const QStringList names = window_->series()->names();
      const auto* curve = cell < names.size() ? window_->series()->series(names[cell]) : nullptr;
      return curve ? curve->steps : std::vector<double>();
    };
    const auto run = [&](int cell, std::vector<double> expected) {
      window_->notebook()->setCurrentCell(cell, false);
      QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
      QTRY_COMPARE_WITH_TIMEOUT(steps(cell), expected, patience);
      QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window_, cell), CellState::done, patience);
    };
    run(0, {0, 1, 2, 3});
    run(1, {4});
    // It is there, too, while the cell is stepped that will add to it.
    window_->notebook()->setCurrentCell(1, false);
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(steps(1), (std::vector<double>{4}));
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(steps(1), (std::vector<double>{4, 5}), patience);
    QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window_, 1), CellState::done, patience);
    run(0, {0, 1, 2, 3});
    QCOMPARE(steps(1), (std::vector<double>{4, 5}));  // another cell's
  }
};

TAPEDECK_TEST(TestSummaryPictures)
#include "tst_summary_pictures.moc"
