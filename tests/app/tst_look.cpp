// The window at the sizes and in the themes that people use: it fits, nothing is cut off, and there are
// pictures to look at. With TAPEDECK_README_SCREENSHOT=1 the README's picture and animation are written anew.
#include <QAbstractButton>
#include <QDockWidget>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>

#include "app/notebook/output/rich_output.h"
#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "inspector/panels/vjp/vjp_sheet.h"
#include "inspector/panels/vjp/vjp_view.h"
#include "tests/app/animated_png.h"
#include "tests/app/indexed_picture.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestLook : public QObject, SampleWindow {
  Q_OBJECT

  void step(MainWindow& window) {
    const auto before = window.session()->stop();
    QTest::keyClick(&window, Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(window) && window.session()->stop() != before, patience);
  }

  /// Labels and buttons that have less room than their text needs.
  static QStringList cutOff(const MainWindow& window) {
    QStringList names;
    const auto note = [&](const QWidget* widget, const QString& text) {
      if (!widget->isVisible() || text.isEmpty()) return;
      const QSize wanted = widget->minimumSizeHint();
      if (widget->width() < wanted.width() || widget->height() < wanted.height())
        names << QString("%1 '%2': %3×%4 of %5×%6")
                     .arg(widget->metaObject()->className(), text)
                     .arg(widget->width())
                     .arg(widget->height())
                     .arg(wanted.width())
                     .arg(wanted.height());
    };
    for (const auto* label : window.findChildren<QLabel*>())
      if (!label->wordWrap()) note(label, label->text());
    for (const auto* button : window.findChildren<QAbstractButton*>()) note(button, button->text());
    return names;
  }

 private slots:
  void initTestCase() { useOwnSettings(); }

  void anAnimationHasEachFrame() {
    QImage first(40, 20, QImage::Format_RGB32), second;
    first.fill(Qt::white);
    second = first.copy();
    second.setPixelColor(7, 3, Qt::red);
    const QByteArray file = test::animatedPng({{first, 100}, {second, 200}});
    QCOMPARE(QImage::fromData(file, "PNG").convertToFormat(QImage::Format_RGB32), first);
    QCOMPARE(file.count("fcTL"), 2);
    // The second frame is the one pixel that changed.
    const QByteArray part = file.mid(file.lastIndexOf("fcTL") + 8, 16);
    QCOMPARE(part.toHex(), QByteArray("00000001"
                                      "00000001"
                                      "00000007"
                                      "00000003"));
    QCOMPARE(test::animatedPng({{first, 100}, {first.copy(0, 0, 5, 5), 100}}), QByteArray());
    QCOMPARE(test::animatedPng({}), QByteArray());
  }

  void fitsAndShowsEverything_data() {
    QTest::addColumn<QSize>("size");
    QTest::addColumn<bool>("dark");
    for (const QSize size : {QSize(1280, 800), QSize(2560, 1440)})
      for (const bool dark : {false, true})
        QTest::addRow("%dx%d %s", size.width(), size.height(), dark ? "dark" : "light") << size << dark;
  }
  void fitsAndShowsEverything() {
    QFETCH(QSize, size);
    QFETCH(bool, dark);
    const QString name = QString("look-%1-%2").arg(size.width()).arg(dark ? "dark" : "light");
    inspector::applyAppearance(dark ? inspector::Appearance::dark : inspector::Appearance::light);
    MainWindow window;
    window.setAttribute(Qt::WA_DeleteOnClose, false);
    window.move(0, 0);
    window.resize(size);
    QVERIFY(showActive(&window));
    screenshot(&window, name + "-start");
    QCOMPARE(window.size(), size);

    window.openNotebook(sample("noisy_square.ipynb"));
    QCOMPARE(window.size(), size);
    window.findChild<QAction*>("view.reset_layout")->trigger();
    window.notebook()->setCurrentCell(1, false);
    const bool readme =
        size.width() == 1280 && !dark && qEnvironmentVariableIsSet("TAPEDECK_README_SCREENSHOT");
    QList<test::Frame> frames;
    const auto film = [&](int milliseconds) {
      if (!readme) return;
      waitForFrames(&window);
      frames << test::Frame{window.grab().toImage(), milliseconds};
    };
    const auto is_set = [&] {  // formulas, too
      const auto texts = window.findChildren<RichOutput*>();
      return std::all_of(texts.begin(), texts.end(), [](const RichOutput* text) { return text->ready(); });
    };
    QTRY_VERIFY(is_set());
    film(1200);
    step(window);
    screenshot(&window, name + "-first-stop");
    // To the first op inside of the custom gradient of the second step of the descent, so that there is a
    // curve.
    for (int i = 0; i < 40; ++i) {
      const auto* record =
          window.session()->cachedRecord(window.session()->status().stopped_before.value_or(0));
      if (record && record->op == "add" && record->backward && window.series()->series("noisy") &&
          window.series()->series("noisy")->values.size() >= 2)
        break;
      film(frames.size() < 4 ? 900 : 500);
      step(window);
      QTRY_VERIFY_WITH_TIMEOUT(
          window.session()->cachedRecord(window.session()->status().stopped_before.value_or(0)), patience);
    }
    QTRY_VERIFY_WITH_TIMEOUT(tensor(window)->model()->tile() && !tensor(window)->model()->loading(),
                             patience);
    screenshot(&window, name + "-custom-gradient");
    QCOMPARE(window.size(), size);
    QVERIFY2(cutOff(window).isEmpty(), qPrintable(cutOff(window).join("\n")));
    film(1500);

    QTest::keyClick(&window, Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(window.kernel()->state() == KernelState::idle, patience);
    film(2500);
    if (readme) {
      const QByteArray animation = test::animatedPng(frames);
      QVERIFY(animation.size() > 10'000 && animation.size() < 3'000'000);
      QFile file(TAPEDECK_SOURCE_DIR "/resources/stepping.png");
      QVERIFY(file.open(QIODevice::WriteOnly) && file.write(animation) == animation.size());
    }
    window.notebook()->setCurrentCell(3, false);
    window.notebook()->runCurrent();
    QTRY_VERIFY_WITH_TIMEOUT(!outputText(window, 3).isEmpty(), patience);
    screenshot(&window, name + "-finished");
    QVERIFY2(cutOff(window).isEmpty(), qPrintable(cutOff(window).join("\n")));
  }

  /// The README's picture: a network in the middle of its playback, with code, tape, VJP and curve.
  void aNetworkIsPausedInItsPlayback() {
    inspector::applyAppearance(inspector::Appearance::light);
    open("first_network.ipynb");
    stopInTheNetwork();
    window_->findChild<QAction*>("view.reset_layout")->trigger();
    const auto next = [&] { return session().cachedRecord(session().stoppedBefore()); };
    for (int i = 0; i < 40 && !(next() && next()->kind == protocol::RecordKind::vjp && next()->op == "tanh");
         ++i)
      step(*window_);
    auto* vjp = window_->findChild<inspector::VjpView*>();
    QTRY_VERIFY2(vjp->isVisible() && vjp->header()->text().startsWith("VJP of tanh"),
                 qPrintable(vjp->header()->text()));
    press(Qt::Key_G, Qt::AltModifier);
    const auto& sheet = vjp->sheet()->contents();
    const auto spoken = [&] {
      QStringList rows;
      for (const auto& row : sheet.rows) rows << row.spoken;
      return rows.join('\n');
    };
    QTRY_VERIFY2(spoken().contains("dz, cotangent · 4×3 · float32") &&
                     spoken().contains("dx, for input 0 · 4×3 · float32"),
                 qPrintable(spoken()));
    QTRY_VERIFY(std::all_of(sheet.formulas.begin(), sheet.formulas.end(),
                            [](const auto& formula) { return !formula.lines.empty(); }));
    QTRY_COMPARE(window_->series()->series("loss")->size(), std::size_t{40});
    QVERIFY(app::plots(*window_)->isVisible());
    QTRY_VERIFY(tape(*window_)->isVisible() && tape(*window_)->model()->graph().vjps >= 4);
    window_->resize(1440, 900);
    // As somebody drags the edge between the panels.
    window_->resizeDocks({window_->findChild<QDockWidget*>("panel.tape")}, {660}, Qt::Vertical);
    waitForFrames(window_.get());
    tape(*window_)->fit();
    for (int i = 0; i < 3; ++i) tape(*window_)->zoomIn();  // then its nodes have room for values
    tape(*window_)->canvas()->setFocus();
    press(Qt::Key_M);  // the map would hide some
    vjp->findChild<QScrollArea*>()->verticalScrollBar()->setValue(
        0);  // from what Alt+G revealed back to the formula
    waitForFrames(window_.get());
    screenshot(window_.get(), "look-readme");
    QVERIFY2(cutOff(*window_).isEmpty(), qPrintable(cutOff(*window_).join("\n")));
    if (qEnvironmentVariableIsSet("TAPEDECK_README_SCREENSHOT")) {
      const QImage picture = test::indexedPicture(window_->grab().toImage());
      QVERIFY(picture.save(TAPEDECK_SOURCE_DIR "/resources/screenshot.png", "PNG", 0));
    }
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(window_->kernel()->state() == KernelState::idle, patience);
    window_.reset();
  }
};

TAPEDECK_TEST(TestLook)
#include "tst_look.moc"
