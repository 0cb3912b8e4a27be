// The panel of the VJP as users meet it: steps into a playback by the keys that the samples name, clicks on
// what it shows, and the slider back to a VJP of the past.
#include <QAbstractButton>
#include <QClipboard>
#include <QDockWidget>
#include <QGuiApplication>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>

#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "inspector/model/tape/vjp_model.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/vjp/vjp_sheet.h"
#include "inspector/panels/vjp/vjp_view.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::SheetRow;
using inspector::VjpView;

class TestVjpPanel : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  inspector::Session& session() { return *window_->session(); }
  VjpView* panel() { return window_->findChild<VjpView*>(); }

  void show(QSize size = {1280, 800}) { window_ = newWindow(size); }
  void openSample(const QString& file) {
    show();
    auto* card = window_->findChild<QAbstractButton*>("open:" + file);
    QVERIFY(card);
    QTest::mouseClick(card, Qt::LeftButton);
    QTRY_VERIFY(window_->notebook()->isVisible());
  }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : window_.get(), key, modifiers);
  }
  void clickInto(const QString& code) {
    const Document& document = *window_->document();
    for (int i = 0; i < document.cellCount(); ++i) {
      if (!document.cell(i).source.startsWith(code)) continue;
      window_->notebook()->setCurrentCell(i, false);  // visible, as by scrolling there
      for (auto* widget : window_->notebook()->findChildren<CellWidget*>())
        if (widget->id() == document.cell(i).id) {
          QTRY_VERIFY(widget->editor() && widget->editor()->isVisible());
          QTest::mouseClick(widget->editor()->viewport(), Qt::LeftButton, {}, {60, 8});
        }
      return;
    }
    QFAIL("no such cell");
  }
  /// F10, until the gate stops somewhere else.
  void step() {
    const auto before = session().stop();
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, patience);
    QTRY_VERIFY(session().cachedRecord(session().status().stopped_before.value_or(0)));
  }
  /// F10, until the gate stops before the VJP of `op`.
  void stepToVjp(const std::string& op) {
    for (int i = 0; i < 60; ++i) {
      step();
      const auto* record = session().cachedRecord(session().status().stopped_before.value_or(0));
      if (record->kind == protocol::RecordKind::vjp && record->op == op) return;
    }
    QFAIL("no such VJP");
  }

  QStringList rows() {
    QStringList list;
    for (const SheetRow& row : panel()->sheet()->contents().rows) list << row.spoken;
    return list;
  }
  QStringList formulas() {
    QStringList list;
    for (const auto& formula : panel()->sheet()->contents().formulas) list << formula.text;
    return list;
  }
  /// Where the formula of this text begins; all of it is set by KaTeX.
  const inspector::SheetFormula* setFormula(const QString& text) {
    for (const auto& formula : panel()->sheet()->contents().formulas)
      if (formula.text == text && !formula.lines.empty()) return &formula;
    return nullptr;
  }
  bool allAreSet() {
    const auto& formulas = panel()->sheet()->contents().formulas;
    return !formulas.empty() &&
           std::all_of(formulas.begin(), formulas.end(), [](const auto& one) { return !one.lines.empty(); });
  }
  bool saysInSheet(const QString& words) {
    const auto& texts = panel()->sheet()->contents().texts;
    return std::any_of(texts.begin(), texts.end(), [&](const auto& one) { return one.text.contains(words); });
  }
  /// By key, before the step.
  void showResults() {
    QTRY_VERIFY(panel()->model()->hidesResults());
    panel()->sheet()->setFocus();
    press(Qt::Key_G, Qt::AltModifier);
    QTRY_VERIFY(!panel()->model()->hidesResults());
    QTRY_VERIFY(resultsAreInSight());
  }
  /// What will come out, from its heading on, as far as there is room.
  bool resultsAreInSight() {
    const QRectF results = panel()->sheet()->contents().results;
    const QRectF seen = panel()->sheet()->visibleRegion().boundingRect();
    return !results.isEmpty() && seen.top() <= results.top() && results.top() < seen.bottom() &&
           (results.bottom() <= seen.bottom() + 1 || results.height() + 16 > seen.height());
  }
  const SheetRow* contribution(int place) {
    for (const SheetRow& row : panel()->sheet()->contents().rows)
      if (row.contribution == place) return &row;
    return nullptr;
  }
  void clickElement(int place, qint64 element) {
    QVERIFY(contribution(place) && contribution(place)->grid);
    auto* scroll = panel()->findChild<QScrollArea*>();
    const QPoint at = contribution(place)->grid->cell(element).center().toPoint();
    scroll->ensureVisible(at.x(), at.y());  // as by the wheel
    QTest::mouseClick(panel()->sheet(), Qt::LeftButton, {}, at);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
    inspector::applyAppearance(inspector::Appearance::light);
  }

  void aStopInThePlaybackShowsTheVjpWithItsNumbers() {
    openSample("first_gradient.ipynb");
    press(Qt::Key_Return, Qt::ShiftModifier);
    press(Qt::Key_Return, Qt::ShiftModifier);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window_, 2), CellState::done, patience);
    clickInto("grad = ");
    step();
    QVERIFY(panel() && !panel()->isVisible());  // nothing to show in the forward pass
    stepToVjp("multiply");
    QTRY_VERIFY(panel()->isVisible());
    QTRY_VERIFY2(panel()->header()->text().startsWith("VJP of multiply · op "),
                 qPrintable(panel()->header()->text()));
    QVERIFY2(panel()->header()->toolTip().contains("line 5\n"), qPrintable(panel()->header()->toolTip()));
    QTRY_COMPARE(formulas().value(0), QString("dx = dz·y, dy = dz·x"));
    // What the step will show is not shown before it, unless the user asks.
    QStringList expected = {"dz, cotangent · scalar · float32, 1", "x, input 0 · scalar · float32, 3",
                            "y, input 1 · scalar · float32, 3", "Show the values before the step (Alt+G)"};
    QTRY_COMPARE(rows(), expected);
    const SheetRow& reveal = panel()->sheet()->contents().rows.back();
    screenshot(window_.get(), "vjp-hidden");
    QTest::mouseClick(panel()->sheet(), Qt::LeftButton, {}, reveal.rect.center().toPoint());
    // Both inputs are x: the two parts add up to 6.
    expected = {"dz, cotangent · scalar · float32, 1",       "x, input 0 · scalar · float32, 3",
                "y, input 1 · scalar · float32, 3",          "dx, for input 0 · scalar · float32, 3",
                "dy, for input 1 · scalar · float32, 3",     "sum before, sum before · scalar · float32, 3",
                "sum after, sum after · scalar · float32, 6"};
    QTRY_COMPARE(rows(), expected);
    screenshot(window_.get(), "vjp-first-gradient");
    clickElement(0, 0);
    QTRY_VERIFY(formulas().contains("dx = dz·y = 3"));
    QVERIFY2(formulas().contains("dz·y = 1·3 = 3"), qPrintable(formulas().join('\n')));
    // The header leads to the forward op.
    QTest::mouseClick(panel()->header(), Qt::LeftButton);
    QCOMPARE(session().cursor(), panel()->model()->parts().forward.value().number);
    QCOMPARE(session().cachedRecord(session().cursor())->kind, protocol::RecordKind::op);
  }

  /// Of an op without a VJP, whether one may come.
  void anOpThatNoTapeRecordedWaitsForNoPlayback() {
    show();
    window_->openNotebook(writeNotebook(
        folder_, "tapes.ipynb",
        {"import tapedeck as tf\nx = tf.Variable(3.)\nwith tf.GradientTape() as tape:\n    y = x * x\n"
         "g = tape.gradient(y, x)\nz = tf.sqrt(y)\nwith tf.GradientTape() as other:\n    w = tf.exp(x)"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    clickInto("import");
    stepToVjp("multiply");
    QTRY_VERIFY(panel()->isVisible());
    showResults();
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    auto* slider = window_->findChild<QSlider*>("cursorSlider");
    QVERIFY(slider);
    QVERIFY(knowsAllRecords(*window_));
    slider->setFocus();
    press(Qt::Key_End);
    QTRY_COMPARE(session().cursor(), session().recordCount());
    const auto goBackTo = [&](const std::string& op) {
      const auto isThere = [&] {
        const auto* record = session().cachedRecord(session().cursor());
        return record && record->op == op;
      };
      for (int i = 0; i < 20 && !isThere(); ++i) {
        press(Qt::Key_Left);
        QTRY_VERIFY(session().cachedRecord(session().cursor()));
      }
      QVERIFY(isThere());
    };
    QTRY_VERIFY(session().cachedRecord(session().cursor()));
    goBackTo("exp");
    QTRY_VERIFY(saysInSheet("No playback has reached this op yet"));
    goBackTo("sqrt");
    QTRY_VERIFY(saysInSheet("No tape recorded this op, so no playback will reach it."));
    QVERIFY(!saysInSheet("No playback has reached this op yet"));
  }

  void aCallOfAGraphFunctionLeadsToTheOpsInside() {
    show();
    window_->openNotebook(
        writeNotebook(folder_, "calls.ipynb",
                      {"import tapedeck as tf\ntf.config.run_functions_eagerly(False)\nx = tf.Variable(3.)\n"
                       "with tf.GradientTape() as tape:\n    y = x * x\ng = tape.gradient(y, x)\n"
                       "@tf.function\ndef grow(a):\n    while a < 10.:\n        a = a * a\n    return a\n"
                       "z = grow(tf.constant(2.))"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    clickInto("import");
    stepToVjp("multiply");
    QTRY_VERIFY(panel()->isVisible());
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    auto* slider = window_->findChild<QSlider*>("cursorSlider");
    QVERIFY(slider);
    QVERIFY(knowsAllRecords(*window_));
    slider->setFocus();
    press(Qt::Key_End);
    QTRY_COMPARE(session().cursor(), session().recordCount());
    const auto goBackTo = [&](const std::string& op, const QString& words) {
      const auto isThere = [&] {
        const auto* record = session().cachedRecord(session().cursor());
        return record && record->op.starts_with(op);
      };
      for (int i = 0; i < 200 && !isThere(); ++i) {
        press(Qt::Key_Left);
        QTRY_VERIFY(session().cachedRecord(session().cursor()));
      }
      QVERIFY(isThere());
      const QString title = QString::fromStdString("No VJP of its own: " + op);
      QTRY_VERIFY2(panel()->header()->accessibleName().startsWith(title),
                   qPrintable(panel()->header()->accessibleName()));
      QTRY_VERIFY(saysInSheet(words));
      QVERIFY(!saysInSheet("has no gradient"));
      QVERIFY(!saysInSheet("No tape recorded"));
    };
    QTRY_VERIFY(session().cachedRecord(session().cursor()));
    goBackTo("iteration 1",
             "This is a part of a call of a graph function and has no VJP of its own: the ops");
    goBackTo("grow(",
             "This is a call of a graph function and has no VJP of its own: the ops inside have theirs");
  }

  void formulasAreSetChosenAndCopiedAsTex() {
    show();
    window_->openNotebook(writeNotebook(
        folder_, "norm.ipynb",
        {"import tapedeck as tf\nx = tf.constant([1., 2., 3.])\nwith tf.GradientTape() as tape:\n"
         "    tape.watch(x)\n    y = tf.atan(x) / tf.sqrt(x)\ng = tape.gradient(y, x)"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    clickInto("import");
    stepToVjp("sqrt");
    const QString square = QString::fromUtf8("dx = dz·½ / √x");
    QTRY_VERIFY2(setFormula(square), qPrintable(formulas().join('\n')));
    QTRY_VERIFY(allAreSet());
    QVERIFY(!saysInSheet(square));
    screenshot(window_.get(), "vjp-set-light");
    // A click chooses a formula, Ctrl+C copies it as TeX, and a screen reader reads its text.
    QGuiApplication::clipboard()->clear();
    QTest::mouseClick(panel()->sheet(), Qt::LeftButton, {}, setFormula(square)->rect.center().toPoint());
    QCOMPARE(panel()->sheet()->chosenFormula(), 0);
    QCOMPARE(panel()->sheet()->accessibleDescription(), square);
    screenshot(window_.get(), "vjp-chosen");
    press(Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(),
             "\\mathrm{d}x=\\dfrac{\\mathrm{d}z\\cdot \\tfrac{1}{2}}{\\sqrt{x}}");
    press(Qt::Key_Down, Qt::ShiftModifier);
    QCOMPARE(panel()->sheet()->accessibleDescription(), "dz");
    press(Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(), "\\mathrm{d}z");
    press(Qt::Key_Down);  // a row instead of a formula
    QCOMPARE(panel()->sheet()->chosenFormula(), -1);
    QCOMPARE(panel()->sheet()->currentRow(), 0);
    // In a larger font formulas are larger, in a narrow panel they have more lines.
    const double em = setFormula(square)->lines[0].em;
    QFont large = panel()->sheet()->font();
    large.setPointSizeF(1.5 * large.pointSizeF());
    panel()->sheet()->setFont(large);
    QTRY_VERIFY(setFormula(square) && setFormula(square)->lines[0].em > 1.4 * em);
    panel()->sheet()->setFont({});
    stepToVjp("atan");
    panel()->sheet()->setFocus();
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

  void aLongFormulaHasAsManyLinesAsTheDockNeeds() {
    show();
    window_->openNotebook(writeNotebook(
        folder_, "labels.ipynb",
        {"import tapedeck as tf\nx = tf.constant([[1., 2., 3.]])\nwith tf.GradientTape() as tape:\n"
         "    tape.watch(x)\n    y = tf.nn.softmax_cross_entropy_with_logits([[0., 1., 0.]], x)\n"
         "g = tape.gradient(y, x)"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    clickInto("import");
    stepToVjp("softmax_cross_entropy_with_logits");
    QTRY_VERIFY(allAreSet());
    const auto fits = [&] {
      const auto& formulas = panel()->sheet()->contents().formulas;
      return allAreSet() && std::all_of(formulas.begin(), formulas.end(), [&](const auto& one) {
               return one.rect.right() <= panel()->sheet()->width();
             });
    };
    QVERIFY(fits());
    const auto lines = [&] {
      std::size_t count = 0;
      for (const auto& formula : panel()->sheet()->contents().formulas) count += formula.lines.size();
      return count;
    };
    const std::size_t before = lines();
    const int width = panel()->width();
    QWidget* dock = panel();
    while (dock && !qobject_cast<QDockWidget*>(dock)) dock = dock->parentWidget();
    QVERIFY(dock);
    window_->resizeDocks({static_cast<QDockWidget*>(dock)}, {240}, Qt::Horizontal);
    QTRY_VERIFY2(panel()->width() < width - 40, qPrintable(QString::number(panel()->width())));
    QTRY_VERIFY(fits() && lines() > before);
    screenshot(window_.get(), "vjp-narrow");
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

  void withoutKatexFormulasAreReadableText() {
    qputenv("TAPEDECK_KATEX", "/nowhere");
    const auto restore = qScopeGuard([] { qunsetenv("TAPEDECK_KATEX"); });
    openSample("first_gradient.ipynb");
    for (int i = 0; i < 3; ++i) press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window_, 2), CellState::done, patience);
    clickInto("grad = ");
    stepToVjp("multiply");
    QTRY_VERIFY(panel()->isVisible());
    const QString product = QString::fromUtf8("dx = dz·y, dy = dz·x");
    QTRY_VERIFY(saysInSheet(product));
    QVERIFY(saysInSheet("until you install the Debian packages libjs-katex and fonts-katex."));
    QVERIFY(!setFormula(product));
    QTRY_VERIFY(rows().contains(QString::fromUtf8("dz, cotangent · scalar · float32, 1")));
    QVERIFY(saysInSheet("dz"));
    screenshot(window_.get(), "vjp-without-katex");
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

  void anElementOfAMatrixProductIsMadeOfItsLargestTerms() {
    show();
    window_->openNotebook(writeNotebook(
        folder_, "product.ipynb",
        {"import tapedeck as tf\nA = tf.constant([[1., 2., 3.], [4., 5., 6.]])\n"
         "B = tf.constant([[1., 0.5], [-1., 2.], [4., 3.]])\nbig = tf.ones([2, 300])\n"
         "with tf.GradientTape() as tape:\n    tape.watch([A, B])\n    C = tf.matmul(A, B)\n"
         "    y = tf.reduce_sum(C * [[1., -2.], [3., 4.]]) + tf.reduce_sum(tf.sigmoid(A) * 2.) + "
         "tf.reduce_mean(tf.matmul(B, big))\n"
         "g = tape.gradient(y, [A, B])"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    clickInto("import");
    stepToVjp("matmul");  // of big: the mean comes first
    stepToVjp("sigmoid");
    QTRY_VERIFY(formulas().contains("dx = dz·z·(1 − z)"));
    QVERIFY(panel()->model()->hidesResults());
    stepToVjp("matmul");
    showResults();
    QTRY_VERIFY(contribution(0) && contribution(0)->grid && contribution(1) && contribution(1)->grid);
    QVERIFY2(formulas().contains("dA = dC·Bᵀ, dB = Aᵀ·dC"), qPrintable(formulas().join('\n')));
    clickElement(0, 4);
    QTRY_VERIFY2(formulas().contains("dA[1,1] = Σₖ dC[1,k]·B[1,k] = 5"), qPrintable(formulas().join('\n')));
    QVERIFY(formulas().contains("dC[1,1]·B[1,1] = 4·2 = 8"));
    QVERIFY(formulas().contains("dC[1,0]·B[1,0] = 3·(−1) = −3"));
    screenshot(window_.get(), "vjp-element");
    // By keys: the next element, then another contribution by its place.
    panel()->sheet()->setFocus();
    press(Qt::Key_Right);
    QTRY_VERIFY2(formulas().contains("dA[1,2] = Σₖ dC[1,k]·B[2,k] = 24"), qPrintable(formulas().join('\n')));
    press(Qt::Key_Escape);
    QTRY_VERIFY(!panel()->model()->element());
    while (panel()->sheet()->contents().rows.at(panel()->sheet()->currentRow()).contribution != 1)
      press(Qt::Key_Down);
    press(Qt::Key_N, Qt::AltModifier);
    QTRY_VERIFY(panel()->elementBox()->hasFocus());
    QTest::keyClicks(panel()->elementBox(), "2, 1");
    press(Qt::Key_Return);
    QTRY_VERIFY2(formulas().contains("dB[2,1] = Σₖ dC[k,1]·A[k,2] = 18"), qPrintable(formulas().join('\n')));
    // Return shows the chosen value in Tensor.
    panel()->sheet()->setFocus();
    const auto shown = contribution(1)->info.id;
    press(Qt::Key_Return);
    QTRY_VERIFY(tensor(*window_)->model()->tensor() && tensor(*window_)->model()->tensor()->id == shown);
    QCOMPARE(tensor(*window_)->model()->chip()->label, QString("dB"));
    for (const bool dark : {false, true}) {
      const auto look = dark ? inspector::Appearance::dark : inspector::Appearance::light;
      window_->resize(2400, 1300);
      screenshotIn(look, window_.get(), dark ? "vjp-large-dark" : "vjp-large");
      window_->resize(1280, 800);
      screenshotIn(look, window_.get(), dark ? "vjp-dark" : "vjp-light");
    }
  }

  // dx = dz alone would be false: x has fewer elements than z.
  void aBroadcastInputsGradientIsSaidToBeASum() {
    show();
    window_->openNotebook(writeNotebook(folder_, "broadcast.ipynb",
                                        {"import tapedeck as tf\n"
                                         "guess = tf.Variable([[1.], [2.], [3.]])\n"
                                         "label = tf.constant([1., 2., 3.])\n"
                                         "with tf.GradientTape() as tape:\n"
                                         "    loss = tf.reduce_mean(tf.square(guess - label))\n"
                                         "g = tape.gradient(loss, guess)"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    clickInto("import");
    stepToVjp("square");
    showResults();
    QTRY_VERIFY(contribution(0) && contribution(0)->grid);
    const auto says = [this](const QString& words) {
      const auto& texts = panel()->sheet()->contents().texts;
      return std::any_of(texts.begin(), texts.end(),
                         [&](const auto& one) { return one.text.contains(words); });
    };
    QVERIFY(!says("summed over"));
    stepToVjp("subtract");
    showResults();
    QTRY_VERIFY_WITH_TIMEOUT(says("summed over axis 1, along which x was repeated (broadcast)"), patience);
    QVERIFY(!says("axis 0"));
    screenshot(window_.get(), "vjp-broadcast");
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

  void aCustomGradientShowsItsLinesAndOps() {
    openSample("noisy_square.ipynb");
    window_->notebook()->setCurrentCell(1, false);
    stepToVjp("noisy_square");
    QTRY_VERIFY(panel()->isVisible());
    QTRY_VERIFY2(panel()->header()->accessibleName().startsWith("Custom gradient of noisy_square"),
                 qPrintable(panel()->header()->accessibleName()));
    step();  // into it
    step();
    step();
    QTRY_COMPARE(panel()->model()->parts().inside.size(), std::size_t{3});
    QTRY_VERIFY(rows().filter("multiply").size() >= 2);
    QVERIFY2(rows().filter("line 9").size() == 2, qPrintable(rows().join('\n')));  // true_grad = 2 * b * x
    QVERIFY2(rows().filter("line 10 · next").size() == 1, qPrintable(rows().join('\n')));
    const auto& texts = panel()->sheet()->contents().texts;
    QVERIFY(std::any_of(texts.begin(), texts.end(),
                        [](const auto& one) { return one.text == "9   true_grad = 2 * b * x"; }));
    screenshot(window_.get(), "vjp-custom");
    // A click goes to the op.
    for (const SheetRow& row : panel()->sheet()->contents().rows)
      if (row.spoken.contains("line 9")) {
        const auto record = row.record;
        QTest::mouseClick(panel()->sheet(), Qt::LeftButton, {}, row.rect.center().toPoint());
        QTRY_COMPARE(session().cursor(), record);
        break;
      }
    // After the cell has ended its contribution is there.
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

  void theSliderGoesBackToAPastVjp() {
    openSample("first_gradient.ipynb");
    press(Qt::Key_Return, Qt::ShiftModifier);
    press(Qt::Key_Return, Qt::ShiftModifier);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window_, 2), CellState::done, patience);
    clickInto("grad = ");
    stepToVjp("multiply");
    QTRY_VERIFY(panel()->isVisible());
    const auto vjp = session().status().stopped_before.value_or(0);
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    clickInto("gradgrad = ");
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && session().recordCount() > vjp + 8, patience);
    auto* slider = window_->findChild<QSlider*>("cursorSlider");
    QVERIFY(slider);
    slider->setFocus();
    while (session().cursor() > vjp) press(Qt::Key_Left);
    QTRY_VERIFY(panel()->model()->parts().vjp && panel()->model()->parts().vjp->number == vjp);
    QTRY_VERIFY2(rows().contains("sum after, sum after · scalar · float32, 6"),
                 qPrintable(rows().join('\n')));
    QTRY_COMPARE(panel()->model()->parts().vjp.value().state, protocol::RecordState::done);
    // Once all numbers are there, nothing moves under the mouse any more.
    QTRY_VERIFY2(rows().size() == rows().filter(QRegularExpression("float32, [0-9]")).size(),
                 qPrintable(rows().join('\n')));
    clickElement(1, 0);
    QTRY_VERIFY2(formulas().contains("dy = dz·x = 3"),
                 qPrintable(formulas().join('\n') + panel()->model()->termsProblem()));
  }
};

TAPEDECK_TEST(TestVjpPanel)
#include "tst_vjp_panel.moc"
