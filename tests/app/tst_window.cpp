// The window itself: it fits the screen, frame and all, and no message is lost.
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "app/shell/window/message_bar.h"
#include "app/shell/window/window_placement.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestWindow : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> start() {
    auto window = std::make_unique<MainWindow>();
    window->setAttribute(Qt::WA_DeleteOnClose, false);
    if (!showActive(window.get())) qWarning("the window is not active");
    return window;
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { QSettings().clear(); }

  void theThumbOfAScrollBarStandsOutAndFollowsTheMouse_data() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("light") << false;
    QTest::newRow("dark") << true;
  }
  void theThumbOfAScrollBarStandsOutAndFollowsTheMouse() {
    QFETCH(bool, dark);
    inspector::applyAppearance(dark ? inspector::Appearance::dark : inspector::Appearance::light);
    QScrollBar bar(Qt::Vertical);
    bar.setRange(0, 300);
    bar.setPageStep(100);
    bar.resize(bar.sizeHint().width(), 400);
    QVERIFY(showActive(&bar));
    const auto lightness = [&](int y) {  // relative luminance, as in WCAG 2
      const auto linear = [](double part) {
        return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
      };
      const QColor color = bar.grab().toImage().pixelColor(bar.width() / 2, y);
      return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
    };
    const auto contrast = [&](int y, int other) {
      const auto [less, more] = std::minmax({lightness(y), lightness(other)});
      return (more + 0.05) / (less + 0.05);
    };
    QVERIFY2(contrast(50, 300) >= 3, qPrintable(QString::number(contrast(50, 300))));
    QTest::mousePress(&bar, Qt::LeftButton, {}, {bar.width() / 2, 50});
    QTest::mouseMove(&bar, {bar.width() / 2, 350});
    QTest::mouseRelease(&bar, Qt::LeftButton, {}, {bar.width() / 2, 350});
    QCOMPARE(bar.value(), 300);
    QVERIFY(contrast(350, 100) >= 3);
    QTest::mouseClick(&bar, Qt::LeftButton, {}, {bar.width() / 2, 20});  // a page back
    QCOMPARE(bar.value(), 200);
    inspector::applyAppearance(inspector::Appearance::light);
  }

  void aWindowWithItsFrameLiesWithinTheScreen_data() {
    QTest::addColumn<QRect>("wanted");
    QTest::addColumn<QRect>("available");
    QTest::addColumn<QRect>("expected");
    const QRect small(0, 0, 1280, 800), below_bar(0, 28, 1280, 772);
    // With a frame of 1 left, right and below, and a title of 37.
    QTest::newRow("as large as the screen") << QRect(0, 0, 1280, 800) << small << QRect(1, 37, 1278, 762);
    QTest::newRow("below the desktop's bar")
        << QRect(0, 0, 1280, 800) << below_bar << QRect(1, 65, 1278, 734);
    QTest::newRow("small enough") << QRect(100, 100, 800, 600) << small << QRect(100, 100, 800, 600);
    QTest::newRow("too far right and down")
        << QRect(900, 500, 800, 600) << small << QRect(479, 199, 800, 600);
    QTest::newRow("from a screen that is gone")
        << QRect(-2500, -300, 800, 600) << small << QRect(1, 37, 800, 600);
  }
  void aWindowWithItsFrameLiesWithinTheScreen() {
    QFETCH(QRect, wanted);
    QFETCH(QRect, available);
    QFETCH(QRect, expected);
    QCOMPARE(fitted(wanted, {1, 37, 1, 1}, available), expected);
  }

  void aRestoredWindowLiesWithinTheScreen() {
    {
      QWidget huge;
      huge.setGeometry(700, 900, 5000, 3000);
      QSettings().setValue("window/geometry", huge.saveGeometry());
    }
    const auto window = start();
    const QRect screen = window->screen()->availableGeometry();
    QTRY_VERIFY2(screen.contains(window->frameGeometry()),
                 qPrintable(QString("%1×%2").arg(window->width()).arg(window->height())));
  }

  void anOfferStaysWhenSomethingElseHappens() {
    const auto window = start();
    MessageBar* bar = window->messages();
    int taken = 0;
    bar->show(MessageBar::Kind::warning, "Unsaved work was kept.", {{"Restore it", [&] { ++taken; }}});
    for (int i = 0; i < 12; ++i) bar->show(MessageBar::Kind::error, QString("Trouble %1.").arg(i));
    QVERIFY(bar->text().contains("Unsaved work was kept."));
    QVERIFY(bar->text().startsWith("Trouble 11."));
    QCOMPARE(bar->text().count('\n'), 7);  // eight messages
    bar->show(MessageBar::Kind::error, "Trouble 11.");
    QCOMPARE(bar->text().count("Trouble 11."), 1);
    // One is shown, the newest; the offer waits at the end.
    QPushButton* restore = nullptr;
    for (auto* button : bar->findChildren<QPushButton*>())
      if (button->text() == "Restore it") restore = button;
    QVERIFY(restore && !restore->isVisible());
    const auto* place = bar->findChild<QLabel*>("messagePlace");
    auto* older = bar->findChild<QToolButton*>("olderMessage");
    QCOMPARE(place->text(), QString("1 of 8"));
    for (int i = 0; i < 7; ++i) QTest::mouseClick(older, Qt::LeftButton);
    QCOMPARE(place->text(), QString("8 of 8"));
    QVERIFY(!older->isEnabled());
    QVERIFY(restore->isVisible());
    QTRY_VERIFY2(bar->height() < 2 * restore->height() + 12, qPrintable(QString::number(bar->height())));
    QTest::mouseClick(restore, Qt::LeftButton);
    QCOMPARE(taken, 1);
    QVERIFY(!bar->text().contains("Unsaved work was kept."));
  }

  void f8GoesFromMessageToMessage() {
    const auto window = start();
    MessageBar* bar = window->messages();
    QStringList taken;
    for (const char* name : {"first", "second"})
      bar->show(MessageBar::Kind::warning, QString("The %1.").arg(name),
                {{QString("Take the %1").arg(name), [&taken, name] { taken << name; }}});
    const auto* place = bar->findChild<QLabel*>("messagePlace");
    QTest::keyClick(window.get(), Qt::Key_F8);
    QCOMPARE(place->text(), QString("1 of 2"));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_F8);
    QCOMPARE(place->text(), QString("2 of 2"));
    // What comes now does not get the Enter that was meant for this one.
    bar->show(MessageBar::Kind::warning, "The third.", {{"Take the third", [&] { taken << "third"; }}});
    QCOMPARE(place->text(), QString("3 of 3"));
    screenshot(window.get(), "window-message-pages");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    QCOMPARE(taken, QStringList{"first"});
    QCOMPARE(place->text(), QString("2 of 2"));
    // Closing goes on with those that are left, to the last.
    QTest::keyClick(window.get(), Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(bar->text(), QString("The third."));
    QVERIFY(!place->isVisible());
    QTest::keyClick(window.get(), Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(!bar->isVisible());
  }

  void aMessageOfTheSameTopicTakesThePlaceOfTheOlder() {
    const auto window = start();
    MessageBar* bar = window->messages();
    bar->show(MessageBar::Kind::error, "The session ended: killed.", {{"Start a new session", [] {}}},
              "session");
    bar->show(MessageBar::Kind::error, "Other trouble.");
    bar->show(MessageBar::Kind::error, "The session ended: exit code 7.", {}, "session");
    QCOMPARE(bar->text(), QString("The session ended: exit code 7.\nOther trouble."));
    bar->dismiss("session");
    QCOMPARE(bar->text(), QString("Other trouble."));
  }

  void messagesAreReachedAndClosedByKey() {
    const auto window = start();
    MessageBar* bar = window->messages();
    int taken = 0;
    bar->show(MessageBar::Kind::information, "First.");
    bar->show(MessageBar::Kind::warning, "Second.", {{"Do it", [&] { ++taken; }}});
    QTest::keyClick(window.get(), Qt::Key_F8);
    QTRY_VERIFY(bar->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Space);
    QCOMPARE(taken, 1);
    QCOMPARE(bar->text(), QString("First."));
    QTest::keyClick(window.get(), Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(bar->text(), QString());
    QVERIFY(!bar->isVisible());
    bar->show(MessageBar::Kind::information, "Third.");
    QTest::keyClick(window.get(), Qt::Key_F8);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QCOMPARE(bar->text(), QString());
  }

  // Fonts without the signs for "stop" and "warning" showed empty boxes.
  void eachKindOfMessageHasItsPicture() {
    const auto window = start();
    MessageBar* bar = window->messages();
    QList<QImage> pictures;
    for (const auto kind :
         {MessageBar::Kind::error, MessageBar::Kind::warning, MessageBar::Kind::information}) {
      bar->show(kind, QString("Message %1.").arg(static_cast<int>(kind)));
      const auto labels = bar->findChildren<QLabel*>("messageSymbol");
      QImage picture;
      for (const QLabel* label : labels)
        if (label->parentWidget()->accessibleName().contains(QString::number(static_cast<int>(kind))))
          picture = label->pixmap().toImage();
      QVERIFY(!picture.isNull());
      int painted = 0;
      for (int y = 0; y < picture.height(); ++y)
        for (int x = 0; x < picture.width(); ++x) painted += qAlpha(picture.pixel(x, y)) > 128;
      QVERIFY2(painted > 40, qPrintable(QString::number(painted)));
      for (const QImage& other : pictures) QVERIFY(other != picture);
      pictures << picture;
    }
    QVERIFY(!bar->findChild<QToolButton*>("closeMessage")->icon().isNull());
    screenshot(window.get(), "window-messages");
  }
};

TAPEDECK_TEST(TestWindow)
#include "tst_window.moc"
