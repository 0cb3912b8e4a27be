// Pictures that would take the memory or the time of the program: what is decoded, what is offered, what is
// drawn where.
#include <QBuffer>
#include <QClipboard>
#include <QGuiApplication>
#include <QImageWriter>
#include <QRegularExpression>
#include <QSvgRenderer>
#include <QTextBlock>
#include <QToolButton>

#include "app/notebook/output/html/html_sanitizer.h"
#include "app/notebook/output/image_output.h"
#include "app/notebook/output/picture_source.h"
#include "app/notebook/output/svg_drawer.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

json cellWith(const json& outputs) {
  return json::array({codeCell("c", "draw()", outputs.is_array() ? outputs : json::array({outputs}), 1)});
}

/// Of one bit a pixel: a few kilobytes for tens of millions of them.
std::string largePicture(int width, int height, const char* format = "PNG") {
  QImage image(width, height, QImage::Format_Mono);
  image.fill(0);
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, format);
  return buffer.data().toBase64().toStdString();
}

/// A progressive JPEG whose last scan comes so many times.
QByteArray scannedJpeg(int side, int times) {
  QImage image(side, side, QImage::Format_RGB32);
  image.fill(Qt::darkGreen);
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QImageWriter writer(&buffer, "jpeg");
  writer.setProgressiveScanWrite(true);
  writer.write(image);
  const QByteArray bytes = buffer.data();
  const qsizetype scan = bytes.lastIndexOf("\xff\xda"), end = bytes.lastIndexOf("\xff\xd9");
  return bytes.left(scan) + bytes.mid(scan, end - scan).repeated(times) + bytes.mid(end);
}

/// 200 names for the one picture.
json manyNames(const std::string& picture, int names) {
  std::string text;
  json attachments = json::object();
  for (int i = 0; i < names; ++i) {
    const std::string name = "p" + std::to_string(i) + ".png";
    text += "![picture " + std::to_string(i) + "](attachment:" + name + ")\n\n";
    attachments[name] = {{"image/png", picture}};
  }
  json cell = markdownCell("m", text);
  cell["attachments"] = attachments;
  return json::array({cell});
}

qint64 shownPixels(const QTextDocument* document) {
  qint64 pixels = 0;
  for (QTextBlock block = document->begin(); block.isValid(); block = block.next())
    for (auto it = block.begin(); !it.atEnd(); ++it)
      if (const auto format = it.fragment().charFormat(); format.isImageFormat())
        pixels +=
            pixelsOf(document->resource(QTextDocument::ImageResource, QUrl(format.toImageFormat().name()))
                         .value<QImage>()
                         .size());
  return pixels;
}

/// XML's reader compares each attribute with all others: hours.
std::string slowSvg() {
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'";
  for (int i = 0; i < 200'000; ++i) svg += " a" + std::to_string(i) + "=''";
  return svg + "/>";
}

const char* const redSvg =
    "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='50'><rect width='100' height='50' "
    "fill='#ff0000'/></svg>";

}  // namespace

class TestPictureBounds : public QObject {
  Q_OBJECT

 private slots:
  void manyNamesForOneLargePictureAreOfferedOneByOne() {
    Window window(manyNames(largePicture(8000, 8000), 200));
    RichOutput* text = window.cell()->richText();
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), tapedeck::patience);
    QCOMPARE(shownPixels(text->view()->document()), qint64(0));
    const QString offer = "[Show this picture of 8,000 × 8,000 pixels: picture 0]";
    QVERIFY2(text->view()->toPlainText().startsWith(offer),
             qPrintable(text->view()->toPlainText().left(200)));
    QCOMPARE(text->view()->toPlainText().count("[Show this picture"), 200);
    QTest::mouseClick(text->view()->viewport(), Qt::LeftButton, Qt::NoModifier,
                      anchorPoint(text->view(), offer));
    QTRY_VERIFY_WITH_TIMEOUT(shownPixels(text->view()->document()) > 0, tapedeck::patience);
    QVERIFY(shownPixels(text->view()->document()) <= most_decoded_pixels);
    QCOMPARE(text->view()->toPlainText().count("[Show this picture"), 199);
  }

  void aNarrowPictureIsDecodedWithinTheBound() {
    // Two pixels wide, 16,384,001 high: half of the bound's root times two is two again.
    const QByteArray bytes = QByteArray::fromHex(
        "424d0000000000000000360000002800000002000000"
        "0100fa00010020000000000000000000000000000000000000000000000000005555555555555555");
    QCOMPARE(bitmapSize(bytes), QSize(2, 0xfa0001));
    const QImage image = decodePicture(bytes);
    QVERIFY(!image.isNull());
    QVERIFY2(pixelsOf(image.size()) <= most_decoded_pixels, qPrintable(QString::number(image.height())));
  }

  void anAnswerThatLiesAboutItsSizeIsRefused() {
    SvgAnswer drawn{{3, 2}, QImage(3, 2, QImage::Format_ARGB32_Premultiplied), {}}, read;
    drawn.image.fill(Qt::red);
    const QByteArray good = framed(drawn);
    QByteArray bytes = good;
    bool ok = false;
    QVERIFY(takeFramed(bytes, read, ok) && ok);
    QCOMPARE(read.image, drawn.image);
    bytes = good;
    // Behind the length, the natural size (8) and no problem (4): the width.
    bytes[16] = 0x7f;
    QVERIFY(takeFramed(bytes, read, ok) && !ok);
  }

  void picturesAreShownUpToTheBound() {
    Window window(manyNames(largePicture(1000, 1000), 60));
    RichOutput* text = window.cell()->richText();
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), tapedeck::patience);
    QCOMPARE(shownPixels(text->view()->document()), TextBounds().pixels);
    QCOMPARE(text->view()->toPlainText().count("[Show this picture of 1,000 × 1,000"), 10);
  }

  void picturesThatAreNoneAreLookedAtSoOften() {
    json cells = manyNames("bm8gcGljdHVyZQ==", 300);
    Window window(cells);
    RichOutput* text = window.cell()->richText();
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), tapedeck::patience);
    QCOMPARE(text->view()->toPlainText().count("[picture not loaded"), 200);
    QCOMPARE(text->view()->toPlainText().count("[picture not shown"), 100);
  }

  void aJpegOfManyScansIsRefused() {
    QString error;
    QCOMPARE(bitmapSize(scannedJpeg(1000, 1), &error), QSize(1000, 1000));
    QVERIFY(!decodePicture(scannedJpeg(1000, 1)).isNull());
    QVERIFY(!decodePicture(scannedJpeg(100, 1000)).isNull());
    QVERIFY(bitmapSize(scannedJpeg(1000, 1000), &error).isEmpty());
    QVERIFY2(QRegularExpression("^its JPEG data has 1,?00\\d scans$").match(error).hasMatch(),
             qPrintable(error));
    QVERIFY(decodePicture(scannedJpeg(1000, 1000)).isNull());
    ImageOutput picture(NotebookTheme::of(QPalette(), 0), nullptr);
    picture.setBitmap(scannedJpeg(1000, 1000).toBase64());
    QVERIFY2(picture.error().contains("scans"), qPrintable(picture.error()));
  }

  void noTextAsksForItsPicturesItself() {
    QCOMPARE(wantedPicture(QUrl("tapedeck-picture:7")), 7);
    QCOMPARE(wantedPicture(QUrl("tapedeck-picture:x")), -1);
    QCOMPARE(wantedPicture(QUrl("https://example.org/7")), -1);
    QVERIFY(!sanitizeHtml("<a href='tapedeck-picture:0'>x</a>").html.contains("tapedeck-picture"));
  }

  void aLargePictureIsShownWhenItsButtonIsPressed_data() {
    QTest::addColumn<bool>("byKey");
    QTest::newRow("mouse") << false;
    QTest::newRow("key") << true;
  }
  void aLargePictureIsShownWhenItsButtonIsPressed() {
    QFETCH(bool, byKey);
    Window window(cellWith({display({{"image/png", largePicture(8000, 8000)}})}));
    auto* image = window.output<ImageOutput>();
    QCOMPARE(image->told(), "This picture has 8,000 by 8,000 pixels: too many to show automatically.");
    QVERIFY(!image->held());
    QToolButton* button = image->showButton();
    QVERIFY(button && button->isVisible() && image->rect().contains(button->geometry()));
    if (byKey) {
      button->setFocus(Qt::TabFocusReason);
      QTest::keyClick(button, Qt::Key_Space);
    } else {
      QTest::mouseClick(button, Qt::LeftButton);
    }
    QTRY_VERIFY(image->told().isEmpty() && !image->showButton());
    QTRY_COMPARE(image->height(), image->shownSize().height() + 8);
    QTRY_COMPARE(image->grab().toImage().pixelColor(20, 20), QColor(Qt::black));
  }

  void aPictureDecodedElsewhereIsCopiedWholeAndPaintedAgainAfterAResize() {
    Window window(cellWith({display({{"image/png", largePicture(3000, 2000)}})}));
    auto* image = window.output<ImageOutput>();
    const auto black = [&] { return image->grab().toImage().pixelColor(20, 20) == QColor(Qt::black); };
    QTRY_VERIFY(black());
    QVERIFY(image->held());
    const int before = image->shownSize().width();
    window.view.resize(window.view.width() - 200, window.view.height());
    QTRY_VERIFY(image->shownSize().width() < before);
    QTRY_VERIFY(black());
    QTest::mouseClick(image, Qt::LeftButton, Qt::NoModifier, QPoint(10, 10));
    image->setFocus();
    QGuiApplication::clipboard()->clear();
    QTest::keyClick(image, Qt::Key_C, Qt::ControlModifier);
    QTRY_COMPARE(QGuiApplication::clipboard()->image().size(), QSize(3000, 2000));
  }

  void aNarrowPictureIsNotMadeLongerThanPicturesMayBe() {
    const std::string tall = largePicture(2, 16384), wide = largePicture(16384, 2);
    const auto natural = [](const std::string& picture, const char* side) {
      json output = display({{"image/png", picture}});
      output["metadata"] = {{"image/png", {{side, 16384}}}};
      Window window(cellWith({output}));
      return window.output<ImageOutput>()->naturalSize();
    };
    QCOMPARE(natural(tall, "width"), QSize(16384, 16384));
    QCOMPARE(natural(wide, "height"), QSize(16384, 16384));
    QCOMPARE(natural(tall, "height"), QSize(2, 16384));
  }

  void outputsTogetherHoldNoMoreThanTheBound() {
    json outputs = json::array();
    for (int i = 0; i < 90; ++i) outputs.push_back(display({{"image/png", largePicture(1000, 1000)}}));
    Window window(cellWith(outputs));
    int held = 0;
    for (int i = 0; i < 90; ++i) {
      auto* output = window.output<ImageOutput>(i);
      QTRY_COMPARE(output->grab().toImage().pixelColor(20, 20), QColor(Qt::black));
      held += output->held();
    }
    QCOMPARE(held, int(ImageOutput::most_held_pixels / 1'000'000));
    // What is not held is decoded when it is painted.
    auto* last = window.output<ImageOutput>(89);
    QVERIFY(!last->held() && last->told().isEmpty());
    QTRY_COMPARE(last->grab().toImage().pixelColor(20, 20), QColor(Qt::black));
    QVERIFY(!last->held());
  }

  void damageThatOnlyDecodingFindsIsTold() {
    json outputs = json::array();
    for (int i = 0; i < 64; ++i) outputs.push_back(display({{"image/png", largePicture(1000, 1000)}}));
    QByteArray cut = QByteArray::fromBase64(QByteArray::fromStdString(picture(900, 900, "PNG")));
    cut.truncate(cut.size() / 2);
    outputs.push_back(display({{"image/png", cut.toBase64().toStdString()}}));
    Window window(cellWith(outputs));
    auto* last = window.output<ImageOutput>(64);
    last->grab();
    QTRY_VERIFY2(last->error().startsWith("This picture can't be shown"), qPrintable(last->error()));
  }

  void onlyFourFormatsAreDecoded_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<bool>("shown");
    for (const char* format : {"PNG", "JPG", "BMP"})
      QTest::newRow(format) << QByteArray::fromBase64(QByteArray::fromStdString(picture(40, 30, format)))
                            << true;
    QTest::newRow("GIF") << QByteArray::fromBase64("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
                         << true;
    for (const char* format : {"PPM", "XBM", "XPM"}) {
      const QByteArray bytes = QByteArray::fromBase64(QByteArray::fromStdString(picture(40, 30, format)));
      QVERIFY2(!bytes.isEmpty() && !QImage::fromData(bytes).isNull(), format);  // Qt would
      QTest::newRow(format) << bytes << false;
    }
    QTest::newRow("SVG") << QByteArray(redSvg) << false;
  }
  void onlyFourFormatsAreDecoded() {
    QFETCH(QByteArray, bytes);
    QFETCH(bool, shown);
    const std::string base64 = bytes.toBase64().toStdString();
    QString error;
    QCOMPARE(!decodePicture(bytes, &error).isNull(), shown);
    if (!shown) QCOMPARE(error, "it is not a PNG, JPEG, GIF or BMP");
    const std::string data = "<img src='data:image/png;base64," + base64 + "'>text";
    json attached = markdownCell("m", "![a](attachment:a.png)");
    attached["attachments"] = {{"a.png", {{"image/png", base64}}}};
    Window window(json{
        attached, codeCell("c", "x", {display({{"image/png", base64}}), display({{"text/html", data}})})});
    QCOMPARE(window.output<ImageOutput>(0, 1)->error().isEmpty(), shown);
    QTRY_VERIFY_WITH_TIMEOUT(window.output<RichOutput>(1, 1)->ready(), tapedeck::patience);
    QCOMPARE(shownPixels(window.output<RichOutput>(1, 1)->view()->document()) > 0, shown);
    QCOMPARE(shownPixels(window.cell(0)->rendered()->document()) > 0, shown);
  }

  void otherFormatsAreNamed() {
    Window window(cellWith({display({{"image/webp", "UklGRg=="}})}));
    QCOMPARE(window.output<RichOutput>()->view()->toPlainText(),
             "This output can't be shown here. Its type is image/webp.");
  }

  void bitmapsInSvgCountToo() {
    const std::string image =
        "<image width='9' height='9' xlink:href='data:image/png;base64," + largePicture(4000, 4000) + "'/>";
    Window window(cellWith({display({{"image/svg+xml",
                                      "<svg xmlns='http://www.w3.org/2000/svg' "
                                      "xmlns:xlink='http://www.w3.org/1999/xlink' width='9' height='9'>" +
                                          image + image + image + "</svg>"}})}));
    QTRY_VERIFY_WITH_TIMEOUT(!window.output<ImageOutput>()->error().isEmpty(), tapedeck::patience);
    QCOMPARE(window.output<ImageOutput>()->error(),
             "This SVG picture can't be shown: the bitmaps in it have more than 32 million pixels.");
  }

  /// Another process draws; the window goes on, and so does what comes behind.
  void svgThatTakesTooLongIsLeftOut() {
    Window window(cellWith({display({{"image/svg+xml", slowSvg()}}), display({{"image/svg+xml", redSvg}})}));
    auto* slow = window.output<ImageOutput>(0);
    auto* red = window.output<ImageOutput>(1);
    QCOMPARE(slow->told(), "Drawing the picture …");
    int turns = 0;
    QTRY_VERIFY_WITH_TIMEOUT(++turns && !slow->error().isEmpty(), SvgDrawer::deadline + tapedeck::patience);
    QCOMPARE(slow->error(), "This SVG picture can't be shown: it takes more than 5 seconds to draw.");
    QVERIFY(turns > 10);
    QTRY_VERIFY_WITH_TIMEOUT(red->told().isEmpty(), tapedeck::patience);
    QCOMPARE(red->grab().toImage().pixelColor(50, 25), QColor(255, 0, 0));
  }

  void svgIsDrawnAnewForAnotherWidth() {
    const std::string wide =
        "<svg xmlns='http://www.w3.org/2000/svg' width='2000' height='1000'><rect width='2000' height='1000' "
        "fill='#00ff00'/></svg>";
    Window window(cellWith({display({{"image/svg+xml", wide}})}));
    auto* image = window.output<ImageOutput>();
    QTRY_VERIFY_WITH_TIMEOUT(image->told().isEmpty(), tapedeck::patience);
    window.view.resize(500, 700);
    QTRY_VERIFY_WITH_TIMEOUT(image->shownSize().width() < 450, tapedeck::patience);
    QTRY_COMPARE(image->height(), image->shownSize().height() + 8);
    QCOMPARE(image->grab().toImage().pixelColor(100, 100), QColor(0, 255, 0));
  }
};

TAPEDECK_TEST(TestPictureBounds)
#include "tst_picture_bounds.moc"
