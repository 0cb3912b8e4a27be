// Long printed text, with a real session process behind the window: all of it arrives, is shown and saved.
#include <QInputDialog>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>

#include "app/notebook/document/output_limit.h"
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/text_bar.h"
#include "app/notebook/output/text/text_output.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

QString savedText(const QString& path) {
  Document read;
  read.load(path);
  return QString::fromStdString(read.cell(0).outputs[0]["text"].get<std::string>());
}

}  // namespace

class TestLongOutputs : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  TextOutput* printed() const {
    for (CellWidget* cell : window_->notebook()->findChildren<CellWidget*>())
      if (cell->id() == document().cell(0).id && cell->outputs() != nullptr && cell->outputs()->count() > 0)
        return qobject_cast<TextOutput*>(cell->outputs()->row(0));
    return nullptr;
  }

  void runFirst() {
    click(0);
    runByKey(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    QTRY_VERIFY_WITH_TIMEOUT(printed() != nullptr, patience);
  }

  void save() {
    press(Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!document().modified(), patience);
  }

 private slots:
  void initTestCase() {
    useOwnSettings();
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
  }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void thirtyThousandLinesAreThereAndInTheFile() {
    openCells(folder_, {"for i in range(30000): print(i, 'x'*60)"});
    runFirst();
    QString expected;
    for (int i = 0; i < 30'000; ++i) expected += QString("%1 %2\n").arg(i).arg(QString("x").repeated(60));
    QTRY_COMPARE_WITH_TIMEOUT(printed()->size(), std::size_t(expected.size()), patience);
    QVERIFY(QString::fromStdString(printed()->text()) == expected);
    QVERIFY2(printed()->bar()->amount().startsWith("30,000 lines, 2.0 MB"),
             qPrintable(printed()->bar()->amount()));
    QCOMPARE(printed()->bar()->note(), QString());
    save();
    QVERIFY(savedText(document().path()) == expected);
    shots(window_.get(), "long-output");
  }

  void whatAFileStoresIsASettingAndStated() {
    openCells(folder_, {"for i in range(30000): print(i, 'x'*60)"});
    runFirst();
    // By its key, in the dialog.
    QTimer::singleShot(0, this, [this] {
      auto* dialog = window_->findChild<QInputDialog*>();
      QVERIFY(dialog != nullptr);
      auto* number = dialog->findChild<QSpinBox*>();
      QCOMPARE(number->value(), 10);
      number->setFocus();
      number->selectAll();
      QTest::keyClicks(number, "1");
      QTest::keyClick(dialog, Qt::Key_Return);
    });
    press(Qt::Key_L, Qt::AltModifier | Qt::ShiftModifier);
    QCOMPARE(storedOutputLimit(), std::size_t{1'000'000});
    QTRY_VERIFY(
        printed()->bar()->note().contains("file stores 1.0 MB of its 2.0 MB, the beginning and the end"));
    shots(window_.get(), "long-output-limit");
    save();
    const QString text = savedText(document().path());
    QVERIFY(text.size() < 1'000'400);
    QVERIFY(text.startsWith("0 xxx"));
    QVERIFY(text.endsWith("\n29999 " + QString("x").repeated(60) + "\n"));
    QVERIFY(text.contains(" of this output are not stored here: up to 1.0 MB of an output are …]"));
    // In the window it is whole until the notebook is closed.
    QCOMPARE(printed()->scrolling()->text().lines(), std::size_t{30'000});
  }

  void aTracebackAfterAFloodIsBelowIt() {
    openCells(folder_,
              {"for i in range(200_000): print(i, 'words of a log line')\nraise ValueError('the end')"});
    click(0);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::failed, patience);
    QTRY_VERIFY_WITH_TIMEOUT(printed() != nullptr && printed()->scrolling() != nullptr &&
                                 printed()->scrolling()->text().lines() == 200'000,
                             patience);
    QVERIFY(printed()->shownText().endsWith("199999 words of a log line"));
    QVERIFY(outputText(*window_, 0).contains("ValueError: the end"));
    QCOMPARE(document().cell(0).outputs.size(), std::size_t{2});
  }
};

TAPEDECK_TEST(TestLongOutputs)
#include "tst_long_outputs.moc"
