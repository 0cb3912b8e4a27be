// Contents that once froze the window: opened from a file in a real one they come from another thread, within
// bounds that errors name.
#include <QAbstractTextDocumentLayout>
#include <QApplication>
#include <QLabel>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QThread>
#include <QToolButton>
#include <QtTest>

#include "app/notebook/output/text/text_output.h"
#include "app/notebook/output/text/text_preparer.h"
#include "tests/notebook/heavy_contents.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

QString writeCells(const QTemporaryDir& folder, const json& cells) {
  QFile file(folder.filePath("book.ipynb"));
  if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
  file.write(notebookOf(cells));
  return file.fileName();
}

/// The rich text of the first cell: its Markdown or its first output.
RichOutput* richText(const Window& window) {
  CellWidget* cell = window.cell();
  return cell->richText() != nullptr ? cell->richText() : window.output<RichOutput>();
}

QToolButton* button(const QWidget* in, const QString& name) {
  for (QToolButton* found : in->findChildren<QToolButton*>()) {
    if (found->text() == name) return found;
  }
  return nullptr;
}

}  // namespace

class TestOpening : public QObject {
  Q_OBJECT

 private slots:
  void whatOnceFrozeArrivesWithinItsBounds_data() {
    QTest::addColumn<int>("index");
    const auto contents = heavyContents();
    for (std::size_t i = 0; i < contents.size(); ++i) QTest::newRow(contents[i].name) << static_cast<int>(i);
  }
  void whatOnceFrozeArrivesWithinItsBounds() {
    QFETCH(int, index);
    const HeavyContent content = heavyContents()[static_cast<std::size_t>(index)];
    QTemporaryDir folder;
    Window window;
    window.open(writeCells(folder, content.cell));
    RichOutput* text = richText(window);
    QVERIFY(text != nullptr);
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), 60000);
    const QTextDocument* document = text->view()->document();
    QVERIFY2(document->toPlainText().contains(content.first), qPrintable(document->toPlainText().left(500)));
    QVERIFY2(text->told().contains(content.told), qPrintable(text->told()));
    QCOMPARE(text->told().isEmpty(), *content.told == 0);
    const TextBounds bounds;
    QVERIFY(document->characterCount() <= 2 * bounds.characters);
    QVERIFY(document->blockCount() <= 2 * bounds.cells);
    int longest = 0;
    for (QTextBlock block = document->begin(); block.isValid(); block = block.next())
      longest = std::max(longest, block.length());
    QVERIFY2(longest < 12'000, qPrintable(QString::number(longest)));
    // Laid out for the width that it has: showing it lays out nothing.
    QTRY_COMPARE(qRound(text->view()->document()->textWidth()), text->width());
    if (*content.told != 0) {
      bool shown = false;
      for (const QLabel* label : text->findChildren<QLabel*>())
        shown |= label->isVisible() && label->text().contains(content.told);
      QVERIFY(shown);
    }
  }

  void theBeginningStandsThereUntilTheTextIsReady() {
    RichOutput output(NotebookTheme::of(QPalette(), 0), nullptr);
    output.setMarkdown(QString("*some* words ").repeated(5000));
    QVERIFY(output.heightFor(600) > 0);
    // Without a turn of the event loop nothing can have come yet.
    QVERIFY(!output.ready());
    const QString waiting = output.view()->toPlainText();
    QVERIFY2(waiting.startsWith("Preparing 65.0 kB of text …"), qPrintable(waiting.left(80)));
    QVERIFY(waiting.contains("*some* words *some*"));
    QTRY_VERIFY_WITH_TIMEOUT(output.ready(), 60000);
    QVERIFY(output.view()->toPlainText().startsWith("some words some"));
    // For another width the same: until it is laid out, what is there stays.
    QVERIFY(output.heightFor(400) > 0);
    QVERIFY(!output.ready());
    QVERIFY(output.view()->toPlainText().startsWith("some words some"));
    QTRY_VERIFY_WITH_TIMEOUT(output.ready(), 60000);
  }

  void textsAreMadeReadyInAThreadOfTheirOwn() {
    const RichLook look = {NotebookTheme::of(QPalette(), 0), 600, QTextOption::WordWrap};
    QObject context;
    QThread* here = nullptr;
    QThread* home = nullptr;
    int turns = 0;
    const RichText text = {RichText::Kind::markdown, QString("word ").repeated(200'000), {}, {}};
    TextPreparer::prepare(text, look, {}, &context, [&](RichDocument made) {
      here = QThread::currentThread();
      home = made.document->thread();
    });
    while (here == nullptr) {
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 10);
      ++turns;
    }
    QCOMPARE(here, qApp->thread());
    QCOMPARE(home, qApp->thread());
    // There is no report once the caller is gone.
    auto* gone = new QObject;
    bool answered = false;
    TextPreparer::prepare(text, look, {}, gone, [&](RichDocument) { answered = true; });
    delete gone;
    bool later = false;
    TextPreparer::prepare(text, look, {}, &context, [&](RichDocument) { later = true; });
    QTRY_VERIFY_WITH_TIMEOUT(later, 60000);
    QVERIFY(!answered);
  }

  void moreIsShownOnRequestAndAllAsText() {
    QTemporaryDir folder;
    const std::string rows = numbered("| row", " | x |\n", 3000);
    Window window;
    window.open(writeCells(folder, markdownCell("m", "| a | b |\n|---|---|\n" + rows)));
    RichOutput* text = richText(window);
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), 60000);
    QVERIFY(text->view()->toPlainText().contains("row498"));
    QVERIFY(!text->view()->toPlainText().contains("row499"));
    const int before = text->height();
    QTest::mouseClick(button(text, "Show more"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), 60000);
    QVERIFY(text->view()->toPlainText().contains("row1998"));
    QCOMPARE(text->told(), "The first 2,000 of 3,001 table rows are shown.");
    QTRY_VERIFY(text->height() > 3 * before);
    QTest::mouseClick(button(text, "Open whole as text"), Qt::LeftButton);
    auto* whole = text->findChild<TextOutput*>();
    QVERIFY(whole != nullptr);
    QVERIFY(whole->text().find("row2999") != std::string::npos);
    QTRY_VERIFY(text->height() < 2000);
    QTest::mouseClick(button(text, "Back"), Qt::LeftButton);
    QTRY_VERIFY(text->view()->isVisible());
  }

  void aNewWidthIsLaidOutElsewhereToo() {
    QTemporaryDir folder;
    Window window;
    window.open(writeCells(folder, markdownCell("m", repeated("some words ", 3000) + "\n\nlast")));
    RichOutput* text = richText(window);
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), 60000);
    const QTextDocument* first = text->view()->document();
    const int before = text->height();
    window.view.resize(500, 700);
    QTRY_VERIFY_WITH_TIMEOUT(text->ready() && text->view()->document() != first, 60000);
    QTRY_VERIFY(text->height() > before);
    QCOMPARE(qRound(text->view()->document()->textWidth()), text->width());
    QVERIFY(text->view()->toPlainText().endsWith("last"));
  }

  void scriptsOfManyMegabytesLeaveThePlainText() {
    QTemporaryDir folder;
    Window window;
    const json bundle = {{"text/html", "<div></div><script>" + repeated("draw();", 300'000) + "</script>"},
                         {"text/plain", "Figure()"}};
    window.open(writeCells(folder, codeCell("c", "show()", json::array({display(bundle)}), 1)));
    RichOutput* text = richText(window);
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), 60000);
    QCOMPARE(text->view()->toPlainText().trimmed(), "Figure()");
  }

  void manyTextsWhilePaintingGoOn() {
    // Documents that one thread laid out are painted by the other while the next are laid out.
    json cells = json::array();
    for (int i = 0; i < 40; ++i) {
      const std::string id = "m" + std::to_string(i);
      cells.push_back(markdownCell(id, "# Title " + id + " é λ ∑ ☑ 🎉\n\n" +
                                           repeated("*some* `words` of **it** ", 200) +
                                           "\n\n| a | b |\n|---|---|\n| 1 | ⛔ |\n\n$$\\sum_i x_i^2$$\n"));
    }
    QTemporaryDir folder;
    Window window;
    window.open(writeCells(folder, cells));
    for (int i = 0; i < 40; ++i) {
      window.view.setCurrentCell(i, false);
      QVERIFY(!window.view.grab().isNull());
      QCoreApplication::processEvents();
    }
    for (int i = 0; i < 40; ++i) {
      QTRY_VERIFY_WITH_TIMEOUT(window.cell(i)->richText()->ready(), 60000);
      window.view.setCurrentCell(i, false);
      QVERIFY(!window.view.grab().isNull());
      QVERIFY(window.cell(i)->rendered()->toPlainText().contains("Title m" + QString::number(i)));
    }
  }

  void emojiAreDrawn() {
    // A box in their place has one colour; so has a missing font's nothing.
    Window window(json::array({markdownCell("m", "🎉 ⛔ 🚀")}));
    const QImage image = window.cell()->rendered()->grab().toImage();
    QSet<QRgb> hues;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        const QColor color = image.pixelColor(x, y);
        if (color.saturation() > 120) hues.insert(color.hue() / 30);
      }
    }
    QVERIFY2(hues.size() >= 3,
             qPrintable(QString("%1 hues; is fonts-noto-color-emoji there?").arg(hues.size())));
  }
};

TAPEDECK_TEST(TestOpening)
#include "tst_opening.moc"
