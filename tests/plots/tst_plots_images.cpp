// Images in the plots panel: slider, zoom, pixels, what can't be shown.
#include "tests/plots/pictures_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::test;

class TestPlotsImages : public QObject {
  Q_OBJECT
 private slots:
  void whatIsNoPngOfItsSizeSaysSo() {
    PicturesWindow window;
    window.show();
    protocol::Picture lies = grey("lies", 0), damaged = grey("damaged", 0), large = grey("large", 0);
    lies.width = 4000;
    damaged.pngs = {"AAAA"};
    large.width = large.height = 16'384;
    window.put({lies, damaged, large});
    const char* const sentences[] = {
        "Image 0 is not a PNG of 4000×4 pixels.", "Image 0 is not a PNG of 8×4 pixels.",
        "1 of 16384×16384 pixels are more than the 32 million that can be shown."};
    for (int name = 0; name < 3; ++name) {
      window.view.pictures()->choice()->setCurrentIndex(name);
      QTRY_COMPARE(window.images()->grid()->images().problem, QString(sentences[name]));
      QVERIFY(window.image().isNull());
    }
  }

  void theSliderGoesThroughTheStepsAndTheNewestIsFollowed() {
    PicturesWindow window;
    window.show();
    window.put(images(4));
    QCOMPARE(window.caption(), QStringLiteral("step 3 · 8×4"));
    QCOMPARE(qGray(window.image().pixel(0, 0)), 30);
    window.put({grey("digits", 4)});
    QCOMPARE(window.images()->chosen(), 4);
    window.images()->setFocus();
    QTest::keyClick(window.images(), Qt::Key_Left);
    QTest::keyClick(window.images(), Qt::Key_Left);
    QCOMPARE(window.caption(), QStringLiteral("step 2 · 8×4"));
    QCOMPARE(window.session.cursor(), 30u);
    window.put({grey("digits", 5)});
    QCOMPARE(window.images()->chosen(), 2);
    QTest::keyClick(window.images(), Qt::Key_End);
    window.put({grey("digits", 6)});
    QCOMPARE(window.caption(), QStringLiteral("step 6 · 8×4 · made after the cursor’s op"));
    keep(&window.view, "images_light");
    window.view.setPalette(darkPalette());
    keep(&window.view, "images_dark");
  }

  void imagesOfAnotherRunAreNamedAndFollowed() {
    PicturesWindow window;
    window.show();
    window.put(images(4));
    window.images()->setFocus();
    QTest::keyClick(window.images(), Qt::Key_Left);
    QTest::keyClick(window.images(), Qt::Key_Left);
    QVERIFY(!window.session.following());
    protocol::Picture again = grey("digits", 0);
    again.execution = 7;
    again.number = 0;
    window.source.restarted = {"digits"};
    window.source.pictures.push_back(again);
    ++window.source.status.pictures;
    window.source.sendStatus();
    QTRY_COMPARE(window.images()->caption(), QStringLiteral("step 0 · cell [7] · 8×4"));
    QVERIFY(window.session.following());
  }

  void theImagesGoWhereTheSessionsCursorGoes() {
    PicturesWindow window;
    window.show();
    window.put(images(6));
    QCOMPARE(window.images()->chosen(), 5);
    window.session.setCursor(34);
    QCOMPARE(window.images()->chosen(), 2);
    QCOMPARE(window.session.cursor(), 34u);
    QCOMPARE(window.caption(), QStringLiteral("step 2 · 8×4"));
    window.session.setCursor(3);  // before the first
    QCOMPARE(window.images()->chosen(), 2);
    window.session.follow();
    QCOMPARE(window.images()->chosen(), 5);
    window.put({grey("digits", 6)});
    QCOMPARE(window.images()->chosen(), 6);
  }

  void severalOutputsStandSideBySidePixelsAreWholeAndTheMouseReadsThem() {
    PicturesWindow window;
    window.show();
    window.put({batch("samples", 3, {Qt::red, Qt::green, QColor(7, 8, 9)}, {4, 4})});
    QCOMPARE(window.caption(), QStringLiteral("step 3 · 4×4 · 3 images"));
    auto* grid = window.images()->grid();
    QCOMPARE(grid->scale() * grid->devicePixelRatioF(),
             std::floor(grid->scale() * grid->devicePixelRatioF()));
    for (std::size_t i = 0; i + 1 < 3; ++i) {
      QCOMPARE(grid->place(i).top(), grid->place(i + 1).top());
      QVERIFY(grid->place(i).right() < grid->place(i + 1).left());
    }
    const QImage image = grid->grab().toImage();
    const auto at = [&](QPointF place) {
      return image.pixelColor((place * image.devicePixelRatio()).toPoint());
    };
    QCOMPARE(at(grid->place(0).topLeft() + QPointF(1, 1)), QColor(Qt::red));
    QCOMPARE(at(grid->place(1).bottomRight() - QPointF(2, 2)), QColor(Qt::green));
    QTest::mouseMove(grid, (grid->place(2).topLeft() + QPointF(2.5, 0.5) * grid->scale()).toPoint());
    QTRY_COMPARE(window.images()->caption(), QString("step 3 · [2] row 0, column 2: 7, 8, 9"));
    keep(&window.view, "images_several");
  }

  void imagesFitAndAreZoomed() {
    PicturesWindow window;
    window.show();
    window.put({grey("digits", 1, {8, 4})});
    auto* grid = window.images()->grid();
    const double fits = grid->scale();
    QVERIFY(fits > 10);
    window.images()->setFocus();
    QTest::keyClick(window.images(), Qt::Key_Plus);
    QCOMPARE(grid->scale(), std::min(64., fits * 1.5));
    QTest::keyClick(window.images(), Qt::Key_Minus);
    QTest::keyClick(window.images(), Qt::Key_Minus);
    QVERIFY(grid->scale() < fits);
    QTest::keyClick(window.images(), Qt::Key_Home);
    QCOMPARE(grid->scale(), fits);
  }

  void aLargeImageIsMadeSmaller() {
    PicturesWindow window;
    window.show({400, 300});
    protocol::Picture large = named("large", 1);
    QImage made(3000, 2000, QImage::Format_Grayscale8);  // chequered: grey from afar
    for (int y = 0; y < made.height(); ++y)
      for (int x = 0; x < made.width(); ++x) made.scanLine(y)[x] = (x + y) % 2 ? 255 : 0;
    QBuffer buffer;
    made.save(&buffer, "PNG");
    large.width = made.width();
    large.height = made.height();
    large.pngs = {buffer.data().toBase64().toStdString()};
    window.put({large});
    QTRY_VERIFY(!window.image().isNull());
    auto* grid = window.images()->grid();
    QVERIFY(grid->rect().contains(grid->place(0).toRect()));
    const QColor middle = grid->grab().toImage().pixelColor(grid->place(0).center().toPoint());
    QVERIFY2(middle.red() > 100 && middle.red() < 155, qPrintable(middle.name()));
  }
};

TAPEDECK_TEST(TestPlotsImages)
#include "tst_plots_images.moc"
