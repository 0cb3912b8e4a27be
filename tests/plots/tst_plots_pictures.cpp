// Histograms and images in the plots panel: pages, ridges, read-outs, slider, zoom, files.
#include <QBuffer>
#include <QSignalSpy>
#include <QTest>
#include <QtWidgets>
#include <algorithm>
#include <cmath>
#include <random>

#include "engine/protocol/codec.h"
#include "plots/histogram_ridges.h"
#include "plots/image_grid.h"
#include "plots/image_steps.h"
#include "plots/picture_pages.h"
#include "plots/plot_style.h"
#include "tests/plots/plots_window.h"

using namespace tapedeck;
using plots::HistogramPlace;
using plots::PlotsPage;
using plots::PlotsView;

namespace {

protocol::Picture named(const char* name, int step) {
  protocol::Picture picture;
  picture.name = name;
  picture.step = step;
  picture.record = static_cast<std::uint64_t>(10 * (step + 1));
  return picture;
}

protocol::Picture bars(const char* name, int step, std::vector<double> limits, std::vector<double> counts) {
  protocol::Picture picture = named(name, step);
  picture.limits = std::move(limits);
  picture.counts = std::move(counts);
  return picture;
}

protocol::Picture bell(const char* name, int step) {
  protocol::Picture picture = named(name, step);
  const double centre = -1 + 0.1 * step;
  for (int i = 0; i <= 20; ++i) picture.limits.push_back(-3 + 0.3 * i);
  for (int i = 0; i < 20; ++i) {
    const double x = -2.85 + 0.3 * i - centre;
    picture.counts.push_back(std::round(100 * std::exp(-x * x)));
  }
  return picture;
}

protocol::Picture batch(const char* name, int step, std::vector<QColor> colors, QSize size = {8, 4}) {
  protocol::Picture picture = named(name, step);
  picture.width = size.width();
  picture.height = size.height();
  for (const QColor& color : colors) {
    QImage made(size, QImage::Format_RGB32);
    made.fill(color);
    QBuffer buffer;
    made.save(&buffer, "PNG");
    picture.pngs.push_back(buffer.data().toBase64().toStdString());
  }
  return picture;
}

protocol::Picture grey(const char* name, int step, QSize size = {8, 4}) {
  return batch(name, step, {QColor(10 * step, 10 * step, 10 * step)}, size);
}

struct Window : test::PlotsWindow {
  void put(std::vector<protocol::Picture> pictures) {
    for (protocol::Picture& picture : pictures) {
      const auto count = std::ranges::count(source.pictures, picture.name, &protocol::Picture::name);
      picture.number = static_cast<std::uint64_t>(count);
      source.pictures.push_back(picture);
    }
    source.status.pictures = source.pictures.size();
    source.sendStatus();
    QTest::qWait(80);
  }
  plots::HistogramRidges* ridges() const { return view.pictures()->ridges(); }
  std::size_t steps() const { return ridges()->drawing().shown().size(); }
  plots::ImageSteps* images() const { return view.pictures()->images(); }
  /// Of the image that is shown, once it is unpacked.
  QString caption() const {
    QTest::qWait(50);
    return images()->caption();
  }
  QImage image(std::size_t place = 0) const {
    const auto& all = images()->grid()->images().images;
    return place < all.size() ? all[place].levels.front() : QImage();
  }
  QAction* action(const QString& text) const {
    for (QAction* one : view.actions())
      if (one->text() == text) return one;
    return nullptr;
  }
};

std::vector<protocol::Picture> histograms(int count) {
  std::vector<protocol::Picture> all;
  for (int step = 0; step < count; ++step) all.push_back(bell("weights", step));
  return all;
}
std::vector<protocol::Picture> images(int count) {
  std::vector<protocol::Picture> all;
  for (int step = 0; step < count; ++step) all.push_back(grey("digits", step));
  return all;
}

QPalette darkPalette() {
  QPalette palette(QColor(0x2b, 0x2b, 0x2f));
  palette.setColor(QPalette::Base, QColor(0x1e, 0x1e, 0x22));
  palette.setColor(QPalette::Text, QColor(0xe6, 0xe6, 0xe6));
  palette.setColor(QPalette::WindowText, QColor(0xe6, 0xe6, 0xe6));
  palette.setColor(QPalette::ButtonText, QColor(0xe6, 0xe6, 0xe6));
  return palette;
}

}  // namespace

class TestPlotsPictures : public QObject {
  Q_OBJECT
 private slots:
  void theChoiceOfPagesIsThereWhereThereIsMoreThanCurves() {
    Window window;
    window.show();
    window.add("loss", 5, test::falling);
    QVERIFY(!window.action("Histograms")->isVisible());
    window.put(histograms(3));
    QVERIFY(window.action("Histograms")->isVisible() && window.action("Histograms")->isEnabled());
    QVERIFY(!window.action("Images")->isEnabled());
    QVERIFY(!window.action("Overlay")->isVisible() && window.action("Log")->isVisible());
    QCOMPARE(window.view.page(), PlotsPage::curves);
    QVERIFY(window.view.canvas()->isVisible());
    window.view.canvas()->setFocus();
    QTest::keyClick(window.view.canvas(), Qt::Key_H);
    QCOMPARE(window.view.page(), PlotsPage::histograms);
    QVERIFY(window.ridges()->isVisible() && window.ridges()->hasFocus());
    QVERIFY(window.action("Overlay")->isVisible() && !window.action("Log")->isVisible());
    window.put(images(2));
    window.add("accuracy", 5, test::rising);
    QCOMPARE(window.view.page(), PlotsPage::histograms);  // what the user chose stays
    QTest::keyClick(window.ridges(), Qt::Key_I);
    QVERIFY(window.images()->isVisible() && window.images()->hasFocus());
    QVERIFY(!window.action("Overlay")->isVisible() && window.action("Fit")->isVisible());
    QTest::keyClick(window.images(), Qt::Key_C);
    QVERIFY(window.view.canvas()->isVisible());
  }

  void aSessionWithoutCurvesShowsWhatItHas() {
    Window window;
    window.show();
    QVERIFY(window.view.isEmpty());
    QSignalSpy changed(&window.view, &inspector::Panel::emptyChanged);
    window.put(images(1));
    QCOMPARE(window.view.page(), PlotsPage::images);
    QVERIFY(!window.view.isEmpty());
    QCOMPARE(changed.size(), 1);
    window.put(histograms(1));
    window.add("loss", 5, test::falling);
    QCOMPARE(window.view.page(), PlotsPage::curves);  // nobody chose
  }

  void aNewSessionBeginsWithCurvesAgain() {
    Window window;
    window.show();
    window.put(histograms(2));
    window.view.setPage(PlotsPage::histograms);
    test::FakeSource other;
    window.session.setSource(&other);
    QTRY_VERIFY(window.view.isEmpty());
    QCOMPARE(window.view.page(), PlotsPage::curves);
    QVERIFY(!window.action("Histograms")->isVisible());
  }

  void ridgesStandWhereTheCountsAre() {
    Window window;
    window.show();
    window.put(histograms(30));
    QCOMPARE(window.steps(), std::size_t{30});
    test::keep(&window.view, "histograms_light");
    const QImage image = window.ridges()->grab().toImage();
    const QColor ink = plots::curveColor(inspector::Theme::light(), 0);
    const QPointF top = window.ridges()->drawing().positionOf({29, 16});  // the newest one's greatest
    const auto inked = [&](QPointF at) {
      const QColor pixel = image.pixelColor((at * image.devicePixelRatio()).toPoint());
      return pixel.blue() - pixel.red() > 25 || std::abs(pixel.red() - ink.red()) < 40;
    };
    QVERIFY(inked(top + QPointF(0, 4)));
    // In front of the others: its own fill, not theirs, just below its line.
    const QColor fill = inspector::mix(inspector::Theme::light().background, ink, 0.5);
    QCOMPARE(image.pixelColor(((top + QPointF(0, 12)) * image.devicePixelRatio()).toPoint()), fill);
    window.view.setPalette(darkPalette());
    QTest::qWait(50);
    test::keep(&window.view, "histograms_dark");
  }

  void narrowOnesDoNotMakeTheOthersFlat() {
    Window window;
    window.show();
    // All values in one place, then spread over the whole width.
    std::vector<double> limits, counts(30, 10);
    for (int i = 0; i <= 30; ++i) limits.push_back(-1 + i / 15.0);
    window.put({bars("bias", 0, {0, 1e-9}, {300}), bars("bias", 1, limits, counts)});
    const auto& drawing = window.ridges()->drawing();
    const double spread = drawing.area().bottom() - drawing.positionOf({1, 15}).y();
    QVERIFY2(spread > 3, qPrintable(QString::number(spread)));
    QTest::mouseMove(window.ridges(), (drawing.positionOf({0, 0}) + QPointF(0, 20)).toPoint());
    QTRY_COMPARE(window.ridges()->readOut(), QString("step 0 · 0 to 1.000e-09 · 300 of 300 values"));
  }

  void moreRidgesThanThereIsRoomForAreThinnedAndTheNewestStays() {
    Window window;
    window.show({500, 260});
    window.put(histograms(400));
    QVERIFY(window.steps() > 20 && window.steps() < 80);
    QVERIFY2(window.ridges()->drawing().summary().startsWith("400 steps, one of "),
             qPrintable(window.ridges()->drawing().summary()));
    QCOMPARE(window.ridges()->drawing().shown().back().histogram->step, 399.0);
    test::keep(&window.view, "histograms_small");
  }

  void theMouseReadsABinAndAClickMovesTheCursor() {
    Window window;
    window.show();
    window.put(histograms(5));
    const HistogramPlace wanted{4, 8};
    const QPointF top = window.ridges()->drawing().positionOf(wanted);
    QTest::mouseMove(window.ridges(), (top + QPointF(0, 3)).toPoint());
    QTRY_COMPARE(window.ridges()->place(), wanted);
    QCOMPARE(window.ridges()->readOut(), QStringLiteral("step 4 · -0.6 to -0.3 · 98 of 592 values"));
    QTest::mouseClick(window.ridges(), Qt::LeftButton, {}, (top + QPointF(0, 3)).toPoint());
    QCOMPARE(window.session.cursor(), 50u);
  }

  void arrowKeysGoToTheStepsBehindAndInFrontAndToTheBinsBeside() {
    Window window;
    window.show();
    window.put(histograms(5));
    window.ridges()->setFocus();
    window.session.setCursor(50);
    QTest::keyClick(window.ridges(), Qt::Key_Right);
    QCOMPARE(window.ridges()->place(), (HistogramPlace{4, 9}));
    QTest::keyClick(window.ridges(), Qt::Key_Up);
    QTest::keyClick(window.ridges(), Qt::Key_Right);
    QCOMPARE(window.ridges()->place(), (HistogramPlace{3, 10}));
    QCOMPARE(window.session.cursor(), 40u);
    QCOMPARE(window.ridges()->accessibleDescription(), window.ridges()->readOut());
    QTest::keyClick(window.ridges(), Qt::Key_Down);
    QTest::keyClick(window.ridges(), Qt::Key_Down);
    QCOMPARE(window.ridges()->place().step, 4);
    window.put({bell("weights", 5)});  // what was chosen is chosen still
    QCOMPARE(window.ridges()->place(), (HistogramPlace{4, 10}));
  }

  void allStepsOnOneBaselineOrAsRows() {
    Window window;
    window.show();
    window.put(histograms(12));
    window.view.setPage(PlotsPage::histograms);
    window.ridges()->setFocus();
    QTest::keyClick(window.ridges(), Qt::Key_O);
    const auto& drawing = window.ridges()->drawing();
    QCOMPARE(drawing.form(), plots::HistogramForm::overlay);
    test::keep(&window.view, "histograms_overlay");
    QCOMPARE(drawing.placeAt(drawing.positionOf({2, 4})), (HistogramPlace{2, 4}));
    QTest::keyClick(window.ridges(), Qt::Key_M);
    QCOMPARE(drawing.form(), plots::HistogramForm::heat);
    test::keep(&window.view, "histograms_heat");
    QCOMPARE(drawing.placeAt(drawing.positionOf({2, 4})), (HistogramPlace{2, 4}));
    const QImage image = window.ridges()->grab().toImage();
    const auto light = [&](HistogramPlace place) {
      return image.pixelColor((drawing.positionOf(place) * image.devicePixelRatio()).toPoint()).lightness();
    };
    QVERIFY(light({2, 7}) + 60 < light({2, 12}));  // the middle of the bell is darker than its side
    const auto column = static_cast<int>(drawing.positionOf({2, 7}).x() * image.devicePixelRatio());
    for (int y = static_cast<int>(drawing.positionOf({0, 7}).y()); y < drawing.positionOf({9, 7}).y(); ++y)
      QVERIFY2(image.pixelColor(column, y).lightness() < 200, qPrintable(QString::number(y)));
    QTest::keyClick(window.ridges(), Qt::Key_M);
    QCOMPARE(drawing.form(), plots::HistogramForm::ridges);
  }

  void whatIsNotFiniteIsSaid() {
    Window window;
    window.show();
    protocol::Picture some = bell("gradient", 0), none = bars("gradient", 1, {}, {});
    some.not_finite = 3;
    none.not_finite = 588;
    window.put({some, none});
    QCOMPARE(window.ridges()->drawing().summary(), QString("2 steps · not all values finite at 2"));
    window.ridges()->setFocus();
    QTest::keyClick(window.ridges(), Qt::Key_Down);
    QCOMPARE(window.ridges()->readOut(), QString("step 1 · no value is finite · 588 not finite"));
    QTest::keyClick(window.ridges(), Qt::Key_Up);
    QVERIFY(window.ridges()->readOut().endsWith(" values · 3 not finite"));
    test::keep(&window.view, "histograms_not_finite");
    for (const auto form : {plots::HistogramForm::overlay, plots::HistogramForm::heat}) {
      window.ridges()->setForm(form);
      QVERIFY(!window.ridges()->grab().isNull());
    }
  }

  void oneValueAndNoCountsAreDrawnToo() {
    Window window;
    window.show();
    window.put({bars("same", 0, {2, 2, 2}, {0, 7}), bars("none", 0, {0, 1}, {0})});
    QCOMPARE(window.view.pictures()->choice()->count(), 2);
    for (int name = 0; name < 2; ++name) {
      window.view.pictures()->choice()->setCurrentIndex(name);
      QVERIFY(!window.ridges()->grab().isNull());
      QCOMPARE(window.steps(), std::size_t{1});
    }
  }

  void pageKeysGoToTheOtherNamesAndAnOpenListIsNotDisturbed() {
    Window window;
    window.show();
    window.put({bell("a", 0), bell("b", 0), bell("b", 1)});
    window.ridges()->setFocus();
    QTest::keyClick(window.ridges(), Qt::Key_PageDown);
    QCOMPARE(window.view.pictures()->choice()->currentText(), QString("b"));
    QCOMPARE(window.steps(), std::size_t{2});
    QTest::keyClick(window.ridges(), Qt::Key_N, Qt::AltModifier);
    QVERIFY(window.view.pictures()->choice()->view()->isVisible());
    window.put({bell("c", 0)});
    QVERIFY(window.view.pictures()->choice()->view()->isVisible());
    QCOMPARE(window.view.pictures()->choice()->count(), 3);
    QCOMPARE(window.view.pictures()->choice()->currentText(), QString("b"));
    window.view.pictures()->choice()->hidePopup();
  }

  void damagedPicturesAreToldAndLeftOut() {
    Window window;
    window.show();
    QSignalSpy failed(&window.view, &PlotsView::failed);
    window.put({bars("falling", 0, {2, 1}, {3})});
    QCOMPARE(failed.size(), 1);
    QCOMPARE(failed[0][0].toString(),
             QString("The session sent a picture \"falling\" at step 0 that can't be shown: limit 1 is 1; "
                     "limits must rise, and be finite."));
    QVERIFY(!window.action("Histograms")->isVisible());
  }

  /// Bytes on their way to the window are changed: they are refused, or drawn.
  void mutatedMessagesDoTheWindowNoHarm() {
    std::mt19937 random(7);
    protocol::Pictures whole;
    whole.pictures = {bell("weights", 1), batch("samples", 1, {Qt::red, Qt::blue})};
    const protocol::Bytes bytes = protocol::encode(1, protocol::Reply(whole));
    int decoded = 0, histograms = 0, images = 0, refused = 0;
    for (int round = 0; round < 200; ++round) {
      protocol::Bytes mutated = bytes;
      for (unsigned k = 0; k <= random() % 4; ++k)
        mutated[random() % mutated.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
      protocol::Reply reply;
      try {
        reply = protocol::decode_reply(mutated).message;
      } catch (const protocol::DecodeError&) {
        continue;
      }
      if (!std::holds_alternative<protocol::Pictures>(reply)) continue;
      ++decoded;
      test::FakeSource source;
      inspector::Session session;
      inspector::PictureModel model(&session);
      connect(&model, &inspector::PictureModel::refused, this, [&] { ++refused; });
      source.pictures = std::get<protocol::Pictures>(reply).pictures;
      source.status.pictures = source.pictures.size();
      session.setSource(&source);
      plots::PicturePages pages(&model, &session);
      pages.resize(400, 300);
      source.sendStatus();
      QCoreApplication::processEvents();
      for (const auto form :
           {plots::HistogramForm::ridges, plots::HistogramForm::overlay, plots::HistogramForm::heat}) {
        pages.ridges()->setForm(form);
        QVERIFY(!pages.grab().isNull());
      }
      histograms += static_cast<int>(model.histogramNames().size());
      pages.showKind(plots::PicturePages::Kind::images);
      for (const QString& name : model.imageNames()) {
        ++images;
        plots::DecodedImages unpacked = plots::decodeImages(*model.images(name).front());
        QVERIFY(unpacked.images.empty() != unpacked.problem.isEmpty());
        pages.images()->grid()->setImages(std::move(unpacked));
        QVERIFY(!pages.grab().isNull());
      }
    }
    QVERIFY2(decoded > 50 && histograms > 25 && images > 25 && refused > 2,
             qPrintable(QString("%1 %2 %3 %4").arg(decoded).arg(histograms).arg(images).arg(refused)));
  }

  void whatIsNoPngOfItsSizeSaysSo() {
    Window window;
    window.show();
    protocol::Picture lies = grey("lies", 0), damaged = grey("damaged", 0), large = grey("large", 0);
    lies.width = 4000;
    damaged.pngs = {"AAAA"};
    large.width = large.height = 16'384;
    window.put({lies, damaged, large});
    const char* const sentences[] = {
        "Image 0 is no PNG of 4000×4 pixels.", "Image 0 is no PNG of 8×4 pixels.",
        "1 of 16384×16384 pixels are more than the 32 million that can be shown."};
    for (int name = 0; name < 3; ++name) {
      window.view.pictures()->choice()->setCurrentIndex(name);
      QTRY_COMPARE(window.images()->grid()->images().problem, QString(sentences[name]));
      QVERIFY(window.image().isNull());
    }
  }

  void theSliderGoesThroughTheStepsAndTheNewestIsFollowed() {
    Window window;
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
    QCOMPARE(window.caption(), QStringLiteral("step 6 · 8×4"));
    test::keep(&window.view, "images_light");
    window.view.setPalette(darkPalette());
    QTest::qWait(50);
    test::keep(&window.view, "images_dark");
  }

  void theImagesGoWhereTheSessionsCursorGoes() {
    Window window;
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
    Window window;
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
    test::keep(&window.view, "images_several");
  }

  void imagesFitAndAreZoomed() {
    Window window;
    window.show();
    window.put({grey("digits", 1, {8, 4})});
    QTest::qWait(50);
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
    Window window;
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

  void aRestartedNameBeginsAnew() {
    Window window;
    window.show();
    window.put(histograms(3));
    window.source.restarted = {"weights"};
    window.put({bell("weights", 9)});
    QTRY_COMPARE(window.steps(), std::size_t{1});
  }

  void whatIsShownIsWrittenIntoFiles() {
    QTemporaryDir folder;
    Window window;
    window.show();
    QSignalSpy failed(&window.view, &PlotsView::failed);
    QSignalSpy done(&window.view, &PlotsView::done);
    window.put({bars("a, b", 7, {0, 0.5, 1}, {3, 4})});
    const auto write = [&](const char* name) {
      done.clear();
      window.view.exportTo(folder.filePath(name));
      if (!QTest::qWaitFor(
              [&] { return !done.isEmpty() && done.last().at(0).toString().startsWith("Wrote"); }))
        return QByteArray();
      QFile file(folder.filePath(name));
      return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    const QByteArray svg = write("ridges.svg");
    QVERIFY(svg.contains("<polyline") && svg.contains(">a, b<") && svg.contains("sans-serif"));
    QCOMPARE(QImage::fromData(write("ridges.png")).size(), QSize(1920, 1200));
    QCOMPARE(write("ridges.csv"), QByteArray("histogram,step,from,to,count\r\n\"a, b\",7,0,0.5,3\r\n"
                                             "\"a, b\",7,0.5,1,4\r\n"));
    window.put({batch("digits", 1, {Qt::red, Qt::blue})});
    window.view.setPage(PlotsPage::images);
    QTRY_VERIFY(!window.image().isNull());
    const QImage both = QImage::fromData(write("image.png"));
    QVERIFY(both.size() == QSize(18, 4) || both.size() == QSize(8, 10));  // beside or below, by the room
    QCOMPARE(both.pixelColor(0, 0), QColor(Qt::red));
    QCOMPARE(both.pixelColor(both.width() - 1, both.height() - 1), QColor(Qt::blue));
    QVERIFY(write("image.svg").contains("<image style=\"image-rendering:pixelated\" "));
    QCOMPARE(failed.size(), 0);
    window.view.exportTo(folder.filePath("image.csv"));
    QCOMPARE(failed.size(), 1);
    QVERIFY(!QFile::exists(folder.filePath("image.csv")));
  }

  void curvesAreWrittenAsNumbersThoseThatAreHiddenApart() {
    QTemporaryDir folder;
    Window window;
    window.show();
    QSignalSpy done(&window.view, &PlotsView::done);
    window.add("loss", 2, test::falling);
    window.add("hidden", 2, test::rising);
    window.view.setSeriesVisible("hidden", false);
    window.view.exportTo(folder.filePath("curves.csv"));
    QTRY_VERIFY(!done.isEmpty());
    QTRY_VERIFY(done.last().at(0).toString().startsWith("Wrote"));
    QFile file(folder.filePath("curves.csv"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("curve,step,value,record\r\nloss,0,2,10\r\nloss,1,1,20\r\n"));
  }

  void ofManyStepsAsManyAreDrawnAsThereIsRoomFor() {
    Window window;
    window.show();
    std::vector<protocol::Picture> many;
    for (int step = 0; step < 20'000; ++step) many.push_back(bell("weights", step));
    window.put(many);
    QTRY_COMPARE(window.pictureModel.histograms("weights").size(), std::size_t{20'000});
    QCOMPARE(window.ridges()->drawing().summary().left(13), QString("20,000 steps,"));
    QVERIFY(window.steps() < 400);
  }

  void howManyHadToGoIsSaid() {
    Window window;
    window.show();
    window.put(images(6));
    window.put(histograms(6));
    window.view.setPage(PlotsPage::images);
    QCOMPARE(window.caption(), QStringLiteral("step 5 · 8×4"));
    protocol::Picture later = grey("digits", 9), bars = bell("weights", 9);
    later.number = bars.number = 9;  // those between were thinned out before they could be fetched
    window.source.pictures.insert(window.source.pictures.end(), {later, bars});
    window.source.status.pictures += 2;
    window.source.sendStatus();
    QTRY_COMPARE(window.images()->caption(), QStringLiteral("step 9 · 8×4 · 3 other steps had to go"));
    window.view.setPage(PlotsPage::histograms);
    QCOMPARE(window.ridges()->drawing().summary(), QStringLiteral("7 steps · 3 others had to go"));
  }

  void nothingIsCutOffWhereThereIsLittleRoom() {
    Window window;
    window.show({220, 120});
    window.put(histograms(5));
    test::keep(&window.view, "histograms_least");
    QVERIFY(window.ridges()->height() >= 40);
    QVERIFY(window.view.pictures()->choice()->width() <= window.view.width());
    window.put(images(2));
    window.view.setPage(PlotsPage::images);
    QTest::qWait(50);
    test::keep(&window.view, "images_least");
    QVERIFY(window.view.rect().contains(
        window.images()->mapTo(&window.view, window.images()->rect().bottomRight())));
  }
};

QTEST_MAIN(TestPlotsPictures)
#include "tst_plots_pictures.moc"
