// Streams that grow piece by piece show what a stream shows that came at once.
#include <QApplication>
#include <QRandomGenerator>
#include <QTextDocument>
#include <QtTest>

#include "app/notebook/document/stream_text.h"
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/output/text/terminal_text.h"
#include "app/notebook/output/text/text_output.h"
#include "app/notebook/view/output_updates.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

NotebookTheme theme() {
  return NotebookTheme::of(QPalette(), 0);
}

QString shownAtOnce(const std::string& text) {
  TextOutput output(TextOutput::Kind::plain, theme(), nullptr);
  output.setText(text);
  return output.shownText();
}

}  // namespace

class TestOutputStreams : public QObject {
  Q_OBJECT

 private slots:
  void piecesShowWhatTheWholeShows() {
    const QStringList parts = {"word",   "\n",    " ",     "\x1b[31mred", "\x1b[0m",     "\r",  "\r\n",
                               "50 %\r", "\b\bx", "\x1b[", "é",           "longer text", "\n\n"};
    QRandomGenerator random(9);
    for (int round = 0; round < 100; ++round) {
      TextOutput output(TextOutput::Kind::plain, theme(), nullptr);
      std::string stream;
      for (int i = 0; i < 30; ++i) {
        // As the document does it: the end of the stream may be taken back.
        const std::string before = stream;
        appendStreamText(stream, parts[random.bounded(static_cast<int>(parts.size()))].toStdString());
        std::size_t keep = 0;
        while (keep < before.size() && keep < stream.size() && before[keep] == stream[keep]) ++keep;
        while (keep > 0 && keep < stream.size() && (static_cast<unsigned char>(stream[keep]) & 0xc0) == 0x80)
          --keep;
        output.replaceFrom(keep, std::string_view(stream).substr(keep));
        QCOMPARE(output.text(), stream);
        QCOMPARE(output.shownText(), shownAtOnce(stream));
      }
    }
  }

  void longStreamsAreThereAsAWhole() {
    TextOutput output(TextOutput::Kind::plain, theme(), nullptr);
    std::string whole;
    for (int i = 0; i < 3000; ++i) {
      const std::string line = "step " + std::to_string(i) + "\n";
      whole += line;
      output.append(line);
    }
    QVERIFY(output.folded());
    QVERIFY(output.text() == whole);
    QCOMPARE(output.scrolling()->text().lines(), std::size_t{3000});
    output.append("last: 1 %");
    output.replaceFrom(whole.size(), "last: 2 %");
    QVERIFY(output.text() == whole + "last: 2 %");
    output.replaceFrom(3, "x");
    QCOMPARE(output.shownText(), QString("stex"));
    QVERIFY(!output.folds());
  }

  void aPieceTouchesTheEndOfTheDocumentAlone() {
    // The work for a piece is bounded by the piece and the last line: nothing before it changes.
    QTextDocument document;
    TerminalText text(&document, theme(), 0);
    document.documentLayout();  // without one it announces no changes
    int earliest = -1;
    for (int i = 0; i < 500; ++i) text.append("a line of a log\n");
    connect(&document, &QTextDocument::contentsChange, this,
            [&](int from, int, int) { earliest = earliest < 0 ? from : std::min(earliest, from); });
    const int before = document.characterCount();
    text.append("half a line");
    QVERIFY2(earliest >= before - 2, qPrintable(QString("%1 of %2").arg(earliest).arg(before)));
    text.cutToMark();
    text.append("another\nend");
    QVERIFY2(earliest >= before - 2, qPrintable(QString("%1 of %2").arg(earliest).arg(before)));
    QVERIFY(document.toPlainText().endsWith("a line of a log\nanother\nend"));
  }

  void aPieceOfAStreamTouchesTheEndOfWhatIsShownAlone() {
    TextOutput output(TextOutput::Kind::plain, theme(), nullptr);
    std::string log;
    for (int i = 0; i < 500; ++i) log += "a line of a log\n";
    output.setText(log + "half ");
    output.toggleFold();
    QTextDocument* document = output.findChild<StaticText*>()->document();
    int earliest = -1;
    connect(document, &QTextDocument::contentsChange, this,
            [&](int from, int, int) { earliest = earliest < 0 ? from : std::min(earliest, from); });
    const int before = document->characterCount();
    output.append("a line");
    QVERIFY2(earliest >= before - 2, qPrintable(QString("%1 of %2").arg(earliest).arg(before)));
    output.replaceFrom(log.size(), "50 %\r");
    output.replaceFrom(log.size(), "100 %\n");
    QVERIFY2(earliest >= before - 8, qPrintable(QString("%1 of %2").arg(earliest).arg(before)));
    QCOMPARE(output.shownText(), QString::fromStdString(log + "100 %"));
  }

  void changesBetweenTwoPaintingsAreToldAsOne() {
    OutputUpdates updates(nullptr);
    QList<OutputNews> told;
    connect(&updates, &OutputUpdates::due, this,
            [&](const QString&, const OutputNews& news) { told += news; });
    using Kind = OutputChange::Kind;
    updates.add("a", {Kind::text, 0, 700});
    updates.add("a", {Kind::text, 0, 650});
    updates.add("a", {Kind::text, 0, 710});
    updates.add("a", {Kind::output, 2, 0});
    QTRY_COMPARE(told.size(), 1);
    // What stayed is known: nothing needs to be looked at but what came behind it.
    QVERIFY(!told[0].all);
    QCOMPARE(told[0].kept, (std::map<std::size_t, std::size_t>{{0, 650}, {2, 0}}));
  }

  /// What did not change is neither compared nor copied: looked at, it would be found to be another here.
  void onlyWhatChangedIsLookedAt() {
    const auto stream = [](const char* name, const char* text) {
      return nlohmann::ordered_json{{"output_type", "stream"}, {"name", name}, {"text", text}};
    };
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array(
        {stream("stdout", "line 1\n"), stream("stderr", "warning\n"), stream("stdout", "line 2\n")});
    OutputArea area(theme(), nullptr);
    area.setOutputs(outputs);
    outputs[0]["text"] = "LINE 1\nline 1.5\n";
    outputs[1]["text"] = "WARNING\n";
    OutputNews news;
    news.add({OutputChange::Kind::text, 0, 7});
    area.update(outputs, news);
    const auto text = [&](int row) {
      return QString::fromStdString(qobject_cast<TextOutput*>(area.row(row))->text());
    };
    QCOMPARE(text(0), "line 1\nline 1.5\n");
    QCOMPARE(text(1), "warning\n");
    QCOMPARE(text(2), "line 2\n");
  }
};

TAPEDECK_TEST(TestOutputStreams)
#include "tst_output_streams.moc"
