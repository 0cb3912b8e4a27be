// What others wrote into a notebook, or a session sends, in a real window: it can be saved and opened again,
// and links say where they lead.
#include <QAbstractButton>
#include <QLabel>
#include <QMessageBox>
#include <QStandardPaths>
#include <QStatusBar>
#include <QTextBlock>
#include <QTextDocument>
#include <QTimer>

#include "app/control/recovery.h"
#include "app/control/trace_document.h"
#include "app/notebook/document/nbformat.h"
#include "app/notebook/output/text/static_text.h"
#include "tests/app/sample_window.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

/// Displays lists inside of each other, 600 deep.
const char* const deep =
    "value = 1\n"
    "for _ in range(600): value = [value]\n"
    "display({'application/json': value, 'text/plain': 'nested'}, raw=True)\n"
    "print('and on')";

}  // namespace

class TestSafety : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aNotebookWithAnOutputThatIsNestedTooDeepCanBeOpenedAgain() {
    openCells(folder_, {deep});
    click(0);
    runByKey(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    const QString note =
        "[This output is left out: its lists and objects are nested 602 deep. Up to 496 levels can be shown "
        "and kept in a notebook.]";
    QTRY_VERIFY2(outputText(*window_, 0).contains(note), qPrintable(outputText(*window_, 0)));
    QVERIFY(outputText(*window_, 0).contains("and on"));
    // The recovery file of the unsaved work, what a trace has of it, and the saved file.
    QByteArray recovery;
    const auto recovered = [&] {
      if ((recovery = recoveryOf()).isEmpty()) return false;
      const auto cells = readNotebook(withoutHeader(recovery), "recovery").cells;
      return QString::fromStdString(cells[0]->cell.outputs.dump()).contains("nested 602 deep");
    };
    QTRY_VERIFY_WITH_TIMEOUT(recovered(), patience);
    const std::string trace = withCellIds(document().serialize(), {document().cell(0).id});
    QCOMPARE(int(readNotebook(QByteArray::fromStdString(trace), "trace").cells.size()),
             document().cellCount());
    press(Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!document().modified(), patience);
    const QString path = document().path();
    window_.reset();
    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_VERIFY2_WITH_TIMEOUT(outputText(*window_, 0).contains(note), qPrintable(window_->messages()->text()),
                              patience);
  }

  void theStatusBarSaysWhereALinkLeads() {
    QFile file(folder_.filePath("links.ipynb"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        "{\"cells\": [{\"cell_type\": \"markdown\", \"id\": \"m\", \"metadata\": {}, \"source\": "
        "\"[bank.test](https://evil.test/x)\"\n  }],\n \"metadata\": {}, \"nbformat\": 4, "
        "\"nbformat_minor\": 5}");
    file.close();
    window_ = newWindow();
    window_->openNotebook(file.fileName());
    CellWidget* cell = nullptr;
    QTRY_VERIFY_WITH_TIMEOUT((cell = window_->notebook()->findChild<CellWidget*>()) && cell->rendered(),
                             patience);
    StaticText* text = cell->rendered();
    QTextCursor link = text->document()->find("bank.test");
    link.setPosition(link.selectionStart() + 2);
    QTest::mouseMove(text->viewport(), text->cursorRect(link).center());
    QTRY_COMPARE(window_->statusBar()->currentMessage(), QString("https://evil.test/x"));
    QTest::mouseMove(text->viewport(), QPoint(text->width() - 3, 3));
    QTRY_COMPARE(window_->statusBar()->currentMessage(), QString());
  }

  void aFilesNameIsShownAsItIs() {
    const QString name = "<img src=\"x.png\">.ipynb";
    const QString path = writeNotebook(folder_, name, {"1"});
    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_COMPARE_WITH_TIMEOUT(document().path(), path, patience);
    window_->document()->setSource(0, "2");
    QString question;
    Qt::TextFormat format = Qt::AutoText;
    QTimer answer;
    connect(&answer, &QTimer::timeout, &answer, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box) return;
      question = box->text();
      format = box->textFormat();
      box->button(QMessageBox::Cancel)->click();
    });
    answer.start(20);
    QVERIFY(!window_->close());
    answer.stop();
    QVERIFY2(question.contains(name), qPrintable(question));
    QCOMPARE(format, Qt::PlainText);
    for (const QLabel* label : window_->findChildren<QLabel*>())
      if (label->text().contains("<img")) QCOMPARE(label->textFormat(), Qt::PlainText);
    const auto fresh = newWindow();
    const auto* card = fresh->findChild<QAbstractButton*>("open:" + name);
    QVERIFY(card);
    QTextDocument tip;
    tip.setHtml(card->toolTip());
    QCOMPARE(tip.toPlainText(), "Open " + path);
    window_->document()->setSource(0, "1");  // nothing is left to be recovered
  }

  void ofVeryManyBreakpointsInAFileTheWindowSaysHowManyAreSet() {
    QByteArray list;
    for (int i = 0; i < 1'200; ++i)
      list += (i == 0 ? "" : ", ") + QByteArray("{\"kind\": \"op\", \"target\": \"op") +
              QByteArray::number(i) + "\"}";
    QFile file(folder_.filePath("many.ipynb"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        "{\"cells\": [{\"cell_type\": \"code\", \"id\": \"c\", \"metadata\": {}, \"source\": \"1\", "
        "\"outputs\": [], "
        "\"execution_count\": null}], \"metadata\": {\"tapedeck\": {\"breakpoints\": [" +
        list + "]}}, \"nbformat\": 4, \"nbformat_minor\": 5}");
    file.close();
    window_ = newWindow();
    window_->openNotebook(file.fileName());
    QTRY_VERIFY2_WITH_TIMEOUT(window_->messages()->text().contains("The notebook has 1,200 breakpoints. The "
                                                                   "first 1,000 are set; the others stay in "
                                                                   "the file."),
                              qPrintable(window_->messages()->text()), patience);
    QCOMPARE(window_->breakpoints()->all().size(), std::size_t{1000});
    QVERIFY(!document().modified());
  }

 private:
  static QByteArray recoveryOf() {
    const QString root = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery";
    for (const QString& name : QDir(root).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
      for (const QString& file : QDir(root + "/" + name).entryList({"*.recovery"}, QDir::Files))
        return test::contents(root + "/" + name + "/" + file);
    return {};
  }
};

TAPEDECK_TEST(TestSafety)
#include "tst_safety.moc"
