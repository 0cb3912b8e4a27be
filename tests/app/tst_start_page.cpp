// The start page: samples in groups with a picture each, at every width.
#include <QAbstractButton>
#include <QMenu>
#include <QMenuBar>
#include <QScrollBar>
#include <QSet>

#include "app/shell/window/samples.h"
#include "app/shell/window/start_page.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestStartPage : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;

  StartPage* page() const { return window_->findChild<StartPage*>(); }
  QAbstractButton* card(const Sample& sample) const {
    return window_->findChild<QAbstractButton*>("open:" + QFileInfo(sample.path).fileName());
  }
  QRect placeOf(const QWidget* card) const {
    return {card->mapTo(page()->viewport(), QPoint()), card->size()};
  }
  /// The left sides that cards have.
  QSet<int> columns() const {
    QSet<int> sides;
    for (const Sample& sample : samples()) sides << placeOf(card(sample)).left();
    return sides;
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() { window_.reset(); }

  void samplesStandInGroupsAndPuzzlesAreInSight() {
    window_ = newWindow({1280, 800});
    QTRY_COMPARE(columns().size(), 3);
    QHash<SampleKind, QSet<int>> sides;
    QSet<QByteArray> pictures;
    int puzzles = 0, in_sight = 0;
    for (const Sample& sample : samples()) {
      QVERIFY2(card(sample), qPrintable(sample.path));
      sides[sample.kind] << placeOf(card(sample)).left();
      const QImage picture = card(sample)->icon().pixmap(128, 96).toImage();
      QVERIFY2(!picture.isNull(), qPrintable(sample.path));
      pictures << QByteArray(reinterpret_cast<const char*>(picture.constBits()), picture.sizeInBytes());
      if (sample.kind != SampleKind::puzzle) continue;
      ++puzzles;
      in_sight += page()->viewport()->rect().contains(placeOf(card(sample)));
    }
    QCOMPARE(sides.size(), 4);
    for (const QSet<int>& side : sides) QCOMPARE(side.size(), 1);
    QCOMPARE(pictures.size(), samples().size());  // each its own
    QCOMPARE(puzzles, 10);
    QVERIFY2(in_sight >= 7, qPrintable(QString::number(in_sight)));
    shots(window_.get(), "start-page");
  }

  void withLessRoomThereAreFewerColumns() {
    window_ = newWindow({1280, 800});
    for (const auto& [width, wanted] : {std::pair(820, 2), std::pair(520, 1), std::pair(1280, 3)}) {
      window_->resize(width, 800);
      QTRY_COMPARE(columns().size(), wanted);
      QTRY_COMPARE(page()->horizontalScrollBar()->maximum(), 0);
      QList<QRect> places;
      for (const Sample& sample : samples()) {
        const QRect place = placeOf(card(sample));
        for (const QRect& other : places) QVERIFY(!place.intersects(other));
        places << place;
      }
    }
  }

  void theMenuHasTheSameGroups() {
    window_ = newWindow();
    for (const QMenu* menu : window_->findChildren<QMenu*>()) {
      if (!menu->title().remove('&').startsWith("Open sample")) continue;
      QList<int> groups{0};
      for (const QAction* action : menu->actions()) action->isSeparator() ? groups << 0, 0 : ++groups.last();
      QCOMPARE(groups, (QList<int>{5, 10, 9, 4}));
      return;
    }
    QFAIL("there is no menu of samples");
  }
};

TAPEDECK_TEST(TestStartPage)
#include "tst_start_page.moc"
