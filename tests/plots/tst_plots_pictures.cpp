// Pages of the plots panel: which is shown, names, damaged messages, files.
#include <QSignalSpy>
#include <random>

#include "engine/protocol/codec.h"
#include "tests/plots/pictures_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::test;
using plots::PlotsPage;
using plots::PlotsView;

class TestPlotsPictures : public QObject {
  Q_OBJECT
 private slots:
  void theChoiceOfPagesIsThereWhereThereIsMoreThanCurves() {
    PicturesWindow window;
    window.show();
    window.add("loss", 5, falling);
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
    window.add("accuracy", 5, rising);
    QCOMPARE(window.view.page(), PlotsPage::histograms);  // what the user chose stays
    QTest::keyClick(window.ridges(), Qt::Key_I);
    QVERIFY(window.images()->isVisible() && window.images()->hasFocus());
    QVERIFY(!window.action("Overlay")->isVisible() && window.action("Fit")->isVisible());
    QTest::keyClick(window.images(), Qt::Key_C);
    QVERIFY(window.view.canvas()->isVisible());
  }

  void aSessionWithoutCurvesShowsWhatItHas() {
    PicturesWindow window;
    window.show();
    QVERIFY(window.view.isEmpty());
    QSignalSpy changed(&window.view, &inspector::Panel::emptyChanged);
    window.put(images(1));
    QCOMPARE(window.view.page(), PlotsPage::images);
    QVERIFY(!window.view.isEmpty());
    QCOMPARE(changed.size(), 1);
    window.put(histograms(1));
    window.add("loss", 5, falling);
    QCOMPARE(window.view.page(), PlotsPage::curves);  // the user chose none
  }

  void aNewSessionBeginsWithCurvesAgain() {
    PicturesWindow window;
    window.show();
    window.put(histograms(2));
    window.view.setPage(PlotsPage::histograms);
    FakeSource other;
    window.session.setSource(&other);
    QTRY_VERIFY(window.view.isEmpty());
    QCOMPARE(window.view.page(), PlotsPage::curves);
    QVERIFY(!window.action("Histograms")->isVisible());
  }

  void pageKeysGoToTheOtherNamesAndAnOpenListIsNotDisturbed() {
    PicturesWindow window;
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
    PicturesWindow window;
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
      if (!protocol::holds_alternative<protocol::Pictures>(reply)) continue;
      ++decoded;
      FakeSource source;
      inspector::Session session;
      inspector::PictureModel model(&session);
      connect(&model, &inspector::PictureModel::refused, this, [&] { ++refused; });
      source.pictures = protocol::get<protocol::Pictures>(reply).pictures;
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

  void aRestartedNameBeginsAnew() {
    PicturesWindow window;
    window.show();
    window.put(histograms(3));
    window.source.restarted = {"weights"};
    window.put({bell("weights", 9)});
    QTRY_COMPARE(window.steps(), std::size_t{1});
  }

  void whatIsShownIsWrittenIntoFiles() {
    QTemporaryDir folder;
    PicturesWindow window;
    window.show();
    QSignalSpy failed(&window.view, &PlotsView::failed);
    QSignalSpy done(&window.view, &PlotsView::done);
    window.put({bars("a, b", 7, {0, 0.5, 1}, {3, 4})});
    const auto write = [&](const char* name) {
      done.clear();
      window.view.exportTo(folder.filePath(name));
      if (!waitFor([&] { return !done.isEmpty() && done.last().at(0).toString().startsWith("Wrote"); },
                   tapedeck::patience))
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
    PicturesWindow window;
    window.show();
    QSignalSpy done(&window.view, &PlotsView::done);
    window.add("loss", 2, falling);
    window.add("hidden", 2, rising);
    window.view.setSeriesVisible("hidden", false);
    window.view.exportTo(folder.filePath("curves.csv"));
    QTRY_VERIFY(!done.isEmpty());
    QTRY_VERIFY(done.last().at(0).toString().startsWith("Wrote"));
    QFile file(folder.filePath("curves.csv"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("curve,step,value,record\r\nloss,0,2,10\r\nloss,1,1,20\r\n"));
  }

  void howManyHadToGoIsSaid() {
    PicturesWindow window;
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
    QTRY_COMPARE(window.images()->caption(), QStringLiteral("step 9 · 8×4 · 3 other steps were dropped"));
    window.view.setPage(PlotsPage::histograms);
    QCOMPARE(window.ridges()->drawing().summary(), QStringLiteral("7 steps · 3 others were dropped"));
  }

  void nothingIsCutOffWhereThereIsLittleRoom() {
    PicturesWindow window;
    window.show({220, 120});
    window.put(histograms(5));
    keep(&window.view, "histograms_least");
    QVERIFY(window.ridges()->height() >= 40);
    QVERIFY(window.view.pictures()->choice()->width() <= window.view.width());
    window.put(images(2));
    window.view.setPage(PlotsPage::images);
    window.rest();
    keep(&window.view, "images_least");
    QVERIFY(window.view.rect().contains(
        window.images()->mapTo(&window.view, window.images()->rect().bottomRight())));
  }
};

TAPEDECK_TEST(TestPlotsPictures)
#include "tst_plots_pictures.moc"
