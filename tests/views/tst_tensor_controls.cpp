// The tensor panel's buttons: pins and their list, room for their texts, a theme that is switched live, and
// hints that stay whatever is shown.
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <QTabBar>
#include <QToolButton>
#include <QTreeWidget>

#include "inspector/model/tensor/pins_model.h"
#include "inspector/panels/tensor/pins_list.h"
#include "inspector/panels/tensor/slice_bar.h"
#include "tensor_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

class TensorControlsTest : public QObject {
  Q_OBJECT

  static QToolButton* button(const TensorWindow& window, const QString& text) {
    for (auto* found : window.view->findChildren<QToolButton*>())
      if (found->isVisible() && found->text().contains(text)) return found;
    qFatal("no button %s", qPrintable(text));
  }
  static void click(QWidget* widget) { QTest::mouseClick(widget, Qt::LeftButton); }
  static void clickTab(TensorWindow& window, int index) {
    QTest::mouseClick(window.view->chips(), Qt::LeftButton, {},
                      window.view->chips()->tabRect(index).center());
  }
  static void clickRow(PinsList* list, int row, int column) {
    QTreeWidgetItem* item = list->rows()->topLevelItem(row);
    const QRect all = list->rows()->visualItemRect(item);
    QTest::mouseClick(list->rows()->viewport(), Qt::LeftButton, {},
                      {list->rows()->columnViewportPosition(column) + 8, all.center().y()});
  }

 private slots:
  void init() { qApp->setPalette(lightPalette()); }

  void pinIsPressedForThePinnedTensorOnly() {
    TensorWindow window({{4, 4}, wave, {}});
    QVERIFY(window.settled());
    click(button(window, "Pin"));
    QVERIFY(button(window, "Pin")->isChecked());
    QTRY_COMPARE(window.source.pins_asked.size(), std::size_t(1));
    QCOMPARE(window.source.pins_asked[0].tensor, std::uint64_t(1));
    clickTab(window, 0);  // an input of the same op
    QTRY_COMPARE(window.model()->tensor()->id, std::uint64_t(2));
    QVERIFY(!button(window, "Pin")->isChecked());
    clickTab(window, 2);
    QTRY_VERIFY(button(window, "Pin")->isChecked());
    QTest::keyClick(window.canvas(), Qt::Key_P, Qt::AltModifier);
    QVERIFY(!button(window, "Pin")->isChecked());
    QTRY_COMPARE(window.source.pins_asked.size(), std::size_t(2));
    QVERIFY(!window.source.pins_asked[1].pinned);
  }

  void theListShowsAPinWhereverTheCursorIsAndUnpinsIt() {
    TensorWindow window({{4, 4}, wave, {}});
    QVERIFY(window.settled());
    click(button(window, "Pin"));
    clickTab(window, 0);
    click(button(window, "Pin"));
    QVERIFY(button(window, "pinned")->text().startsWith("2 pinned"));
    // An op later nothing of it is at the cursor.
    FakeTape tape;
    tape.add(RecordKind::op, "matmul", {}, {});
    protocol::Record next = window.source.records.back();
    next.number = 2;
    next.op = "relu";
    next.inputs.clear();
    next.outputs.resize(1);
    next.outputs[0].id = 3;
    next.outputs[0].name.clear();
    window.source.records.push_back(next);
    window.source.stopBefore(0);
    QTRY_COMPARE(window.session.cursor(), std::uint64_t(2));
    QTRY_COMPARE(window.model()->tensor()->id, std::uint64_t(3));
    QVERIFY(!button(window, "Pin")->isChecked());

    click(button(window, "pinned"));
    PinsList* list = window.view->pinsList();
    QTRY_VERIFY(list->isVisible());
    screenshot(*list, "pins-list");
    QCOMPARE(list->rows()->topLevelItemCount(), 2);
    QCOMPARE(list->rows()->topLevelItem(0)->text(0), QStringLiteral("W:0 · matmul · 4×4 · op 1"));
    QCOMPARE(list->rows()->topLevelItem(1)->text(0), QStringLiteral("matmul, input 0 · 3×3 · op 1"));
    clickRow(list, 0, 0);
    QTRY_COMPARE(window.model()->tensor()->id, std::uint64_t(1));
    QVERIFY(!list->isVisible());
    QCOMPARE(window.session.cursor(), std::uint64_t(2));  // the cursor stays
    QVERIFY(button(window, "Pin")->isChecked());
    QVERIFY(window.settled());
    QCOMPARE(window.view->title(), QStringLiteral("W:0 · matmul · op 1 · 4×4 · float32 · /cpu:0"));
    screenshot(*window.view, "pins-shown");
    // A record that the user chooses is shown; the pin's tab stays beside it.
    window.session.setCursor(1);
    window.session.setCursor(2);
    QTRY_COMPARE(window.model()->tensor()->id, std::uint64_t(3));
    QCOMPARE(window.model()->chips().back().info.id, std::uint64_t(1));

    QTest::keyClick(window.canvas(), Qt::Key_P, Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(list->isVisible());
    QTest::keyClick(list->rows(), Qt::Key_Down);
    QTest::keyClick(list->rows(), Qt::Key_Return);
    QTRY_COMPARE(window.model()->tensor()->id, std::uint64_t(2));
    QTest::keyClick(window.canvas(), Qt::Key_P, Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(list->isVisible());
    QTest::keyClick(list->rows(), Qt::Key_Delete);
    QCOMPARE(list->rows()->topLevelItemCount(), 1);
    QVERIFY(!button(window, "Pin")->isChecked());
    clickRow(list, 0, 1);
    QCOMPARE(list->rows()->topLevelItemCount(), 0);
    QTRY_COMPARE(window.source.pins_asked.size(), std::size_t(4));
    QTest::keyClick(list, Qt::Key_Escape);
    QTRY_VERIFY(!list->isVisible());
    // Another tensor of the strip takes over again; the tab of the one before stays beside it.
    clickTab(window, 0);
    QTRY_COMPARE(window.model()->tensor()->id, std::uint64_t(3));
    QCOMPARE(window.view->chips()->count(), 2);
    QCOMPARE(window.model()->chips().back().info.id, std::uint64_t(2));
  }

  void aValueThatCannotBeKeptIsNotShownAsPinned() {
    TensorWindow window({{4, 4}, wave, {}});
    QVERIFY(window.settled());
    window.source.pin_refused = "It does not fit the budget of 2 GB.";
    click(button(window, "Pin"));
    QTRY_VERIFY(!button(window, "Pin")->isChecked());
    QVERIFY(window.view->pins()->pins().empty());
    QVERIFY(says(window, "Not pinned: It does not fit the budget of 2 GB."));
  }

  void pinsGoWithTheirSession() {
    TensorWindow window({{4, 4}, wave, {}});
    QVERIFY(window.settled());
    click(button(window, "Pin"));
    FakeSession other;
    window.session.setSource(&other);
    QTRY_VERIFY(window.view->pins()->pins().empty());
    QVERIFY(button(window, "pinned")->text().startsWith("0 pinned"));
    window.session.setSource(nullptr);
  }

  void aSessionThatEndedSaysWhatItDidNotCount() {
    TensorWindow window({{4, 4}, wave, {}});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_3, Qt::AltModifier);
    clickTab(window, 0);
    QCoreApplication::sendPostedEvents();
    window.session.setSource(nullptr);
    QTRY_VERIFY2(window.canvas()->sentence().contains("before the session ended") ||
                     window.canvas()->sentence().contains("session has ended"),
                 qPrintable(window.canvas()->sentence()));
    click(button(window, "Pin"));
    QVERIFY(!button(window, "Pin")->isChecked());
    QVERIFY(says(window, "Not pinned: The session has ended: it can't keep any more values."));
  }

  void nothingIsCut_data() {
    QTest::addColumn<int>("width");
    for (const int width : {380, 420, 640, 1000}) QTest::addRow("%d", width) << width;
  }
  void nothingIsCut() {
    QFETCH(int, width);
    TensorWindow window({{784, 196}, wave, {}}, {width, 380});
    QVERIFY(window.settled());
    for (const auto key : {Qt::Key_1, Qt::Key_2, Qt::Key_3}) {
      QTest::keyClick(window.canvas(), key, Qt::AltModifier);
      QVERIFY(window.settled());
      for (const auto* control : window.view->findChildren<QWidget*>()) {
        const bool text =
            qobject_cast<const QToolButton*>(control) || qobject_cast<const QComboBox*>(control);
        if (!text || !control->isVisible() || control->parentWidget() == window.view->chips()) continue;
        const QString told = QString("%1 %2 of %3")
                                 .arg(control->accessibleName())
                                 .arg(control->width())
                                 .arg(control->sizeHint().width());
        QVERIFY2(control->width() >= control->minimumSizeHint().width(), qPrintable(told));
        QVERIFY2(window.view->rect().contains(
                     QRect(control->mapTo(window.view.get(), QPoint(0, 0)), control->size())),
                 qPrintable(told));
      }
      screenshot(*window.view, QString("tensor-%1-%2").arg(width).arg(key - Qt::Key_0));
    }
    const QLineEdit* box = window.view->reshapeBox();
    QVERIFY(box->width() >= box->fontMetrics().horizontalAdvance(box->placeholderText()) + 20);
    QTest::keyClicks(window.view->reshapeBox(), "28x28x196");
    QVERIFY(box->width() >=
            box->fontMetrics().horizontalAdvance(box->text()) + 36);  // and the cross beside it
    QVERIFY(window.view->rect().contains(QRect(box->mapTo(window.view.get(), QPoint(0, 0)), box->size())));
  }

  void theHintsStayWhateverIsShown() {
    TensorWindow window({{2, 3, 4, 5}, wave, {}}, {480, 420});
    QVERIFY(window.settled());
    const QSize least = window.view->minimumSizeHint(), wanted = window.view->sizeHint();
    const int top = window.canvas()->mapTo(window.view.get(), QPoint(0, 0)).y();
    for (const auto key : {Qt::Key_2, Qt::Key_3, Qt::Key_1}) {
      QTest::keyClick(window.canvas(), key, Qt::AltModifier);
      QVERIFY(window.settled());
      QCOMPARE(window.view->minimumSizeHint(), least);
      QCOMPARE(window.view->sizeHint(), wanted);
      QCOMPARE(window.canvas()->mapTo(window.view.get(), QPoint(0, 0)).y(), top);
    }
    QTest::keyClicks(window.view->reshapeBox(), "nonsense");
    QVERIFY(!window.view->reshapeError().isEmpty());
    QCOMPARE(window.view->minimumSizeHint(), least);
    window.view->reshapeBox()->selectAll();
    QTest::keyClicks(window.view->reshapeBox(), "6x20");
    QTRY_VERIFY(!window.view->slices()->isVisible());
    QCOMPARE(window.view->minimumSizeHint(), least);
    QCOMPARE(window.view->sizeHint(), wanted);
  }

  void aThemeThatIsSwitchedLiveReachesEveryWidget() {
    TensorWindow window({{2, 3, 4, 5}, wave, {}}, {900, 500});
    QVERIFY(window.settled());
    QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
    const QImage light = picture(window);
    for (int round = 0; round < 2; ++round) {
      qApp->setPalette(darkPalette());
      const QImage live = picture(window);
      screenshot(*window.view, "tensor-live-dark");
      TensorWindow fresh({{2, 3, 4, 5}, wave, {}}, {900, 500});
      QVERIFY(fresh.settled());
      QTest::keyClick(fresh.canvas(), Qt::Key_2, Qt::AltModifier);
      compare(live, picture(fresh), window);
      qApp->setPalette(lightPalette());
      compare(picture(window), light, window);
      if (QTest::currentTestFailed()) return;
    }
  }

 private:
  static bool says(TensorWindow& window, const QString& sentence) {
    return waitFor(
        [&] {
          for (const auto* label : window.view->findChildren<QLabel*>())
            if (label->isVisible() && label->text() == sentence) return true;
          return false;
        },
        tapedeck::patience);
  }
  /// Without focus or hover, which are not the same in two windows.
  static QImage picture(TensorWindow& window) {
    window.painted();
    return settled([&] { return window.view->grab().toImage().convertToFormat(QImage::Format_RGB32); }, 4);
  }
  /// Light and dark differ in every pixel of every widget: none may look as in the other theme.
  static void compare(const QImage& seen, const QImage& wanted, const TensorWindow& window) {
    QCOMPARE(seen.size(), wanted.size());
    for (const auto* widget : window.view->findChildren<QWidget*>()) {
      if (!widget->isVisible() || !widget->findChildren<QWidget*>().isEmpty()) continue;
      const QRect place = QRect(widget->mapTo(window.view.get(), QPoint(0, 0)), widget->size()) & seen.rect();
      qint64 difference = 0, pixels = 0;
      for (int y = place.top(); y <= place.bottom(); ++y)
        for (int x = place.left(); x <= place.right(); ++x, ++pixels)
          difference += std::abs(seen.pixelColor(x, y).lightness() - wanted.pixelColor(x, y).lightness());
      QVERIFY2(difference <= 12 * std::max<qint64>(pixels, 1),
               qPrintable(QString("%1 '%2' differs by %3")
                              .arg(widget->metaObject()->className(), widget->accessibleName())
                              .arg(difference / std::max<qint64>(pixels, 1))));
    }
  }
};

TAPEDECK_TEST(TensorControlsTest)
#include "tst_tensor_controls.moc"
