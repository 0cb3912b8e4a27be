// The tensor panel as a user meets it: a file is opened, a cell is stepped, a value is pinned and found
// again.
#include <QDockWidget>
#include <QTabBar>
#include <QToolButton>
#include <QTreeWidget>

#include "inspector/model/tensor/pins_model.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tensor/pins_list.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestTensorPanel : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  QToolButton* button(const QString& text) const {
    for (auto* found : tensor(*window_)->findChildren<QToolButton*>())
      if (found->isVisible() && found->text().contains(text)) return found;
    qFatal("no button %s", qPrintable(text));
  }
  void step() {
    const auto before = window_->session()->stop();
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && window_->session()->stop() != before, patience);
  }
  /// Waits for the op at the gate, and for what the panel shows of it.
  bool waitsBefore(const char* op) const {
    return waitFor(
        [&] {
          const auto* record =
              window_->session()->cachedRecord(window_->session()->status().stopped_before.value_or(0));
          return record && record->op == op && tensor(*window_)->model()->tile() &&
                 !tensor(*window_)->model()->loading();
        },
        patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void init() {
    window_ = newWindow();
    window_->openNotebook(
        writeNotebook(folder_, "pins.ipynb",
                      {"import tapedeck as tf\nw = tf.Variable([[1., 2.], [3., 4.]], name='weights')\n"
                       "y = tf.matmul(w, w)\nz = tf.sigmoid(y)\ntf.reduce_sum(z)"}));
    QTRY_VERIFY_WITH_TIMEOUT(window_->notebook() && window_->notebook()->isVisible(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    for (int i = 0; i < 6; ++i) {
      QTRY_VERIFY_WITH_TIMEOUT(
          window_->session()->cachedRecord(window_->session()->status().stopped_before.value_or(0)),
          patience);
      if (window_->session()->cachedRecord(window_->session()->status().stopped_before.value_or(0))->op ==
          "matmul")
        break;
      step();
    }
    QVERIFY(waitsBefore("matmul"));
    // The default layout shows it, or its key does.
    if (!tensor(*window_)->isVisible()) QTest::keyClick(window_.get(), Qt::Key_3, Qt::ControlModifier);
    QTRY_VERIFY(tensor(*window_)->isVisible());
  }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aPinnedValueIsFoundAgain() {
    // The first input is the variable, and is named as the user named it.
    QTabBar* strip = tensor(*window_)->chips();
    int first = 0;
    while (first < strip->count() && !strip->tabText(first).startsWith("in 0")) ++first;
    QVERIFY(first < strip->count());
    QTest::mouseClick(strip, Qt::LeftButton, {}, strip->tabRect(first).center());
    QTRY_VERIFY2(tensor(*window_)->title().startsWith("weights"), qPrintable(tensor(*window_)->title()));
    QTest::mouseClick(button("Pin"), Qt::LeftButton);
    QVERIFY(button("Pin")->isChecked());
    step();
    QVERIFY(waitsBefore("sigmoid"));
    QTRY_VERIFY(!tensor(*window_)->title().startsWith("weights"));
    QVERIFY(!button("Pin")->isChecked());
    QVERIFY(button("pinned")->text().startsWith("1 pinned"));
    tensor(*window_)->canvas()->setFocus();
    QTest::keyClick(tensor(*window_)->canvas(), Qt::Key_P, Qt::AltModifier | Qt::ShiftModifier);
    inspector::PinsList* list = tensor(*window_)->pinsList();
    QTRY_VERIFY(list->isVisible());
    QVERIFY2(list->rows()->topLevelItem(0)->text(0).startsWith("weights"),
             qPrintable(list->rows()->topLevelItem(0)->text(0)));
    screenshot(list, "pins-list-window");
    QTest::keyClick(list->rows(), Qt::Key_Return);
    QTRY_VERIFY(tensor(*window_)->title().startsWith("weights"));
    QTRY_VERIFY_WITH_TIMEOUT(tensor(*window_)->model()->tile() && tensor(*window_)->model()->tile()->values ==
                                                                      (std::vector<double>{1, 2, 3, 4}),
                             patience);
    screenshot(window_.get(), "pins-window");
    step();  // it stays while the user goes on
    QVERIFY(waitsBefore("reduce_sum"));
    QVERIFY(tensor(*window_)->title().startsWith("weights"));
    QTest::mouseClick(button("Pin"), Qt::LeftButton);
    QVERIFY(tensor(*window_)->pins()->pins().empty());
  }

  void theWayToLookIsChosenWhileTheNotebookHasTheKeyboard() {
    QTest::mouseClick(window_->notebook()->viewport(), Qt::LeftButton, {}, QPoint(4, 4));
    QVERIFY(!tensor(*window_)->isAncestorOf(QApplication::focusWidget()));
    const inspector::TensorCanvas* canvas = tensor(*window_)->canvas();
    for (const auto& [key, mode] : {std::pair(Qt::Key_2, inspector::TensorMode::heatMap),
                                    std::pair(Qt::Key_3, inspector::TensorMode::histogram),
                                    std::pair(Qt::Key_1, inspector::TensorMode::numbers)}) {
      QTest::keyClick(QApplication::focusWidget(), key, Qt::AltModifier);
      QTRY_COMPARE(canvas->mode(), mode);
    }
  }

  void anotherWayToLookAtATensorMovesNoPanel() {
    const auto places = [this] {
      QList<QRect> result;
      for (const auto* dock : window_->findChildren<QDockWidget*>())
        if (dock->isVisible()) result << dock->geometry();
      return result;
    };
    const QList<QRect> before = places();
    for (const char* mode : {"Heat map", "Histogram", "Numbers"}) {
      QTest::mouseClick(button(mode), Qt::LeftButton);
      nothingMayHappenFor(100);
      QCOMPARE(places(), before);
    }
  }

  void theThemeReachesThePanelsWhileTheyAreOpen() {
    const auto dark = [this](QWidget* widget) {
      const QImage image = widget->grab().toImage();
      return image.pixelColor(3, image.height() / 2).lightness() < 128;
    };
    for (const inspector::Appearance theme :
         {inspector::Appearance::dark, inspector::Appearance::light, inspector::Appearance::dark}) {
      inspector::applyAppearance(theme);
      for (const char* text : {"Heat map", "pinned"})
        QTRY_COMPARE(dark(button(text)), theme == inspector::Appearance::dark);
      screenshotIn(theme, window_.get(),
                   theme == inspector::Appearance::dark ? "panels-live-dark" : "panels-live-light");
    }
    inspector::applyAppearance(inspector::Appearance::light);
  }
};

TAPEDECK_TEST(TestTensorPanel)
#include "tst_tensor_panel.moc"
