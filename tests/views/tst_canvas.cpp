#include <QSignalSpy>
#include <QTest>
#include <QVBoxLayout>

#include "inspector/ui/appearance.h"
#include "inspector/ui/canvas/canvas_painter.h"
#include "inspector/ui/canvas/canvas_widget.h"
#include "tests/test_program.h"
#include "view_test.h"

using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

/// Half of it in the accent colour, and a word.
class Sample : public CanvasWidget {
 public:
  using CanvasWidget::CanvasWidget;
  double word_width = 0, fallback_width = 0, elided_width = 0;
  QString elided_text;

 protected:
  void paintCanvas(CanvasPainter& painter) override {
    const QSizeF size = painter.size();
    painter.fill(QRectF(0, size.height() / 2, size.width(), size.height() / 2), QColor(10, 200, 30));
    painter.text({20, 20}, QStringLiteral("dB = Aᵀ·dC → Σ ∂ λ"), 16, painter.theme().text);
    word_width = painter.textWidth(QStringLiteral("ᵀ→Σ∂λ×↑↓"), 16);
    fallback_width = 8 * painter.textWidth(QString(QChar(0x4E2D)), 16);  // a glyph that is not in the atlas
    elided_text = painter.elided(QStringLiteral("a rather long name of an op"), 60, 12);
    elided_width = painter.textWidth(elided_text, 12);
  }
};

std::pair<Sample*, Sample*> twoSamplesIn(QWidget& window) {
  auto* layout = new QVBoxLayout(&window);
  auto* first = new Sample(&window);
  auto* second = new Sample(&window);
  layout->addWidget(first);
  layout->addWidget(second);
  window.resize(300, 300);
  window.show();
  return {first, second};
}

}  // namespace

class CanvasTest : public QObject {
  Q_OBJECT
 private slots:
  void drawsInTheColoursOfThePalette() {
    qApp->setPalette(lightPalette());
    Sample canvas;
    canvas.resize(300, 200);
    canvas.show();
    QVERIFY(QTest::qWaitForWindowExposed(&canvas, tapedeck::patience));
    QTRY_VERIFY(canvas.framesPainted() > 0);
    QCOMPARE(canvas.grab().toImage().pixelColor(290, 20), QColor(Qt::white));
    QCOMPARE(canvas.grab().toImage().pixelColor(150, 150), QColor(10, 200, 30));
    canvas.setPalette(darkPalette());
    QTRY_COMPARE(canvas.grab().toImage().pixelColor(290, 20), darkPalette().color(QPalette::Base));
    QVERIFY(canvas.theme().dark);
    qApp->setPalette(lightPalette());
  }

  void drawsText() {
    Sample canvas;
    canvas.resize(300, 200);
    canvas.show();
    QTRY_VERIFY(canvas.framesPainted() > 0);
    const QImage image = canvas.grab().toImage();
    int dark = 0;
    for (int y = 18; y < 44; ++y)
      for (int x = 18; x < 220; ++x) dark += image.pixelColor(x, y).lightness() < 110;
    QVERIFY2(dark > 150, qPrintable(QString::number(dark)));
    QVERIFY(std::abs(canvas.word_width - canvas.fallback_width) > 1);
    QVERIFY(canvas.elided_text.endsWith(QChar(0x2026)));
    QVERIFY(canvas.elided_width <= 60);
    QVERIFY(canvas.elided_width > 40);
  }

  void paintsOnlyWhenAsked() {
    Sample canvas;
    canvas.resize(200, 100);
    canvas.show();
    QTRY_VERIFY(canvas.framesPainted() > 0);
    const quint64 before = tapedeck::settled([&] { return canvas.framesPainted(); });
    tapedeck::nothingMayHappenFor(400);
    QCOMPARE(canvas.framesPainted(), before);
    for (int i = 0; i < 10; ++i) canvas.requestFrame();
    QTRY_VERIFY(canvas.framesPainted() > before);
    tapedeck::nothingMayHappenFor(100);
    QVERIFY(canvas.framesPainted() <= before + 2);
    QTest::mouseMove(&canvas, QPoint(50, 50));
    QTRY_VERIFY(canvas.framesPainted() > before + 1);
  }

  void severalLiveInOneWindowAndMoveToAnother() {
    QWidget window;
    const auto [first, second] = twoSamplesIn(window);
    QTRY_VERIFY(first->framesPainted() > 0 && second->framesPainted() > 0);
    QWidget other;
    other.resize(300, 200);
    auto* other_layout = new QVBoxLayout(&other);
    other.show();
    QVERIFY(QTest::qWaitForWindowExposed(&other, tapedeck::patience));
    const quint64 before = second->framesPainted();
    other_layout->addWidget(second);  // as a dock that floats
    QTRY_VERIFY(second->framesPainted() > before);
    const QImage image = second->grab().toImage();
    QCOMPARE(image.pixelColor(image.width() / 2, image.height() * 3 / 4), QColor(10, 200, 30));
    delete first;
    QTRY_VERIFY(second->framesPainted() > before);
  }

  void showsItsFocus() {
    QWidget window;
    const auto [first, second] = twoSamplesIn(window);
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window, tapedeck::patience));
    first->setFocus();
    QTRY_COMPARE(first->grab().toImage().pixelColor(1, 30), first->theme().accent);
    QTest::keyClick(first, Qt::Key_Tab);
    QVERIFY(second->hasFocus());
    QTRY_COMPARE(first->grab().toImage().pixelColor(1, 30), first->theme().background);
  }

  void contrastIsEnoughToRead() {
    const auto luminance = [](const QColor& color) {
      const auto linear = [](double c) {
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
      };
      return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
    };
    const auto contrast = [&](const QColor& a, const QColor& b) {
      const double x = luminance(a), y = luminance(b);
      return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
    };
    // What is chosen, also where it cannot be changed now.
    for (const QPalette& palette : {lightPalette(), darkPalette()})
      for (const auto group : {QPalette::Active, QPalette::Inactive, QPalette::Disabled})
        QVERIFY2(contrast(palette.color(group, QPalette::HighlightedText),
                          palette.color(group, QPalette::Highlight)) >= 3,
                 qPrintable(palette.color(group, QPalette::Highlight).name()));
    for (const Theme& theme : {Theme::light(), Theme::darkened()}) {
      QVERIFY(contrast(theme.text, theme.background) >= 7);
      QVERIFY(contrast(theme.faintText, theme.background) >= 4.5);
      for (const Tint& tint : {theme.forward, theme.backward, theme.variable, theme.constant, theme.custom,
                               theme.warning, theme.error}) {
        QVERIFY2(contrast(tint.stroke, theme.background) >= 4.5, qPrintable(tint.stroke.name()));
        QVERIFY2(contrast(tint.stroke, tint.fill) >= 3.9, qPrintable(tint.stroke.name()));
      }
    }
  }
};

TAPEDECK_TEST(CanvasTest)
#include "tst_canvas.moc"
