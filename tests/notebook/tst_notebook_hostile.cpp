// Outputs and texts that mean harm, in a real window: nothing is fetched, no file is read, nothing crashes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QApplication>
#include <QDesktopServices>
#include <QHelpEvent>
#include <QLoggingCategory>
#include <QStatusTipEvent>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QToolTip>
#include <QtTest>

#include "app/notebook/output/image_output.h"
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/output/text/text_output.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

/// Until another process has drawn it, or could not.
bool isDrawn(const ImageOutput& picture) {
  return tapedeck::waitFor([&] { return !picture.told().startsWith("Drawing"); }, tapedeck::patience);
}

/// What the status bar of a window around it would say.
class StatusTips : public QObject {
 public:
  explicit StatusTips(QWidget* window) { window->installEventFilter(this); }
  QString shown;

 protected:
  bool eventFilter(QObject* object, QEvent* event) override {
    if (event->type() == QEvent::StatusTip) shown = static_cast<QStatusTipEvent*>(event)->tip();
    return QObject::eventFilter(object, event);
  }
};

/// A server on this machine that notices when anybody connects.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ready_ = ::bind(socket_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
             ::listen(socket_, 16) == 0 &&
             ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(socket_); }
  bool ready() const { return ready_; }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  bool connected() const {
    const int peer = ::accept(socket_, nullptr, nullptr);
    if (peer >= 0) ::close(peer);
    return peer >= 0;
  }
  void connectOnce() const {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::close(client);
  }

 private:
  int socket_;
  bool ready_ = false;
  quint16 port_ = 0;
};

json cellThatGave(const json& outputs) {
  return codeCell("c", "run()", outputs, 3);
}

/// Takes the links that would go to a browser.
class LinkCatcher : public QObject {
  Q_OBJECT
 public:
  QList<QUrl> urls;
  LinkCatcher() {
    QDesktopServices::setUrlHandler("http", this, "open");
    QDesktopServices::setUrlHandler("https", this, "open");
  }
  ~LinkCatcher() override {
    QDesktopServices::unsetUrlHandler("http");
    QDesktopServices::unsetUrlHandler("https");
  }
 public slots:
  void open(const QUrl& url) { urls += url; }
};

}  // namespace

class TestNotebookHostile : public QObject {
  Q_OBJECT

 private slots:
  // ---- hostile ----

  void nothingIsFetched() {
    Listener listener;
    QVERIFY(listener.ready());
    listener.connectOnce();
    QVERIFY2(tapedeck::waitFor([&] { return listener.connected(); }, tapedeck::patience),
             "the listener must notice a connection");
    const std::string at = listener.address();
    const std::string html =
        "<img src='" + at + "/a.png'><link rel=stylesheet href='" + at + "/b.css'><style>@import url(" + at +
        "/c.css);</style><p style=\"background-image: url(" + at + "/d.png)\">text</p><body background='" +
        at + "/e.png'><iframe src='" + at + "'></iframe><script src='" + at +
        "/f.js'></script><object data='" + at + "'></object><table background='" + at +
        "/g.png'><tr><td>x</td></tr></table><video src='" + at + "'></video>";
    const std::string svg =
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='50' "
        "height='50'>"
        "<image width='9' height='9' xlink:href='" +
        at + "/h.png'/><style>@import url(" + at +
        "/i.css);</style>"
        "<use href='" +
        at + "/j.svg#x'/><rect width='9' height='9' fill='url(" + at + "/k#g)'/></svg>";
    const std::string markdown = "![remote](" + at + "/l.png)\n\n<img src='" + at + "/m.png'>\n\n[![x](" +
                                 at + "/n.png)](" + at + "/o)\n";
    Window window(json{markdownCell("m", markdown + html),
                       cellThatGave({display({{"text/html", html}}), display({{"image/svg+xml", svg}}),
                                     display({{"text/markdown", markdown}})})});
    window.view.grab();
    QVERIFY(isDrawn(*window.output<ImageOutput>(1, 1)));
    tapedeck::nothingMayHappenFor(300);
    window.view.grab();
    QVERIFY(!listener.connected());
    QVERIFY(window.output<RichOutput>(0, 1)->view()->toPlainText().contains(
        "[picture not loaded from 127.0.0.1]"));
    QVERIFY(!window.output<ImageOutput>(1, 1)->grab().isNull());
  }

  void filesAreNotReadThroughOutputs() {
    QTemporaryDir folder;
    QImage secret(64, 64, QImage::Format_RGB32);
    secret.fill(QColor(255, 0, 255));
    const QString path = folder.filePath("secret.png");
    QVERIFY(secret.save(path));
    const std::string file = path.toStdString();
    const std::string markdown = "![a](" + file + ") ![b](file://" + file + ") <img src='" + file + "'>";
    const std::string svg =
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='64' "
        "height='64'>"
        "<image width='64' height='64' xlink:href='" +
        file + "'/></svg>";
    Window window(
        json{markdownCell("m", markdown),
             cellThatGave({display({{"text/html", "<img src='" + file + "'>text"}}),
                           display({{"image/svg+xml", svg}}), display({{"text/markdown", markdown}})})});
    QVERIFY(isDrawn(*window.output<ImageOutput>(1, 1)));
    const QImage shown = window.view.grab().toImage();
    for (int y = 0; y < shown.height(); y += 3) {
      for (int x = 0; x < shown.width(); x += 3) QVERIFY(shown.pixelColor(x, y) != QColor(255, 0, 255));
    }
  }

  void picturesBesideTheNotebookAreShownAndNoOthers() {
    QTemporaryDir folder;
    QImage image(40, 40, QImage::Format_RGB32);
    image.fill(QColor(255, 0, 255));
    QVERIFY(image.save(folder.filePath("in.png")));
    image.fill(QColor(0, 255, 255));
    QVERIFY(QDir(folder.path()).mkdir("sub"));
    QVERIFY(image.save(folder.filePath("out.png")));
    const QString path = folder.filePath("sub/book.ipynb");
    QVERIFY(QFile::copy(folder.filePath("in.png"), folder.filePath("sub/in.png")));
    QVERIFY(QFile::link(folder.filePath("out.png"), folder.filePath("sub/link.png")));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(notebookOf(markdownCell("m", "![a](in.png) ![b](../out.png) ![c](link.png)")));
    file.close();
    Window window;
    window.open(path);
    const QImage shown = window.cell()->grab().toImage();
    int inside = 0;
    int outside = 0;
    for (int y = 0; y < shown.height(); y += 2) {
      for (int x = 0; x < shown.width(); x += 2) {
        inside += shown.pixelColor(x, y) == QColor(255, 0, 255);
        outside += shown.pixelColor(x, y) == QColor(0, 255, 255);
      }
    }
    QVERIFY(inside > 100);
    QCOMPARE(outside, 0);
  }

  void attachmentsAreShown() {
    json cell = markdownCell("m", "![a](attachment:my%20pic.png)");
    cell["attachments"] = {{"my pic.png", {{"image/png", picture(120, 60, "PNG")}}}};
    Window window(cell);
    const QTextDocument* document = window.cell()->rendered()->document();
    QVERIFY(window.cell()->height() > 60);
    QVERIFY(!document->resource(QTextDocument::ImageResource, QUrl("attachment:my%20pic.png"))
                 .value<QImage>()
                 .isNull());
    QCOMPARE(document->resource(QTextDocument::ImageResource, QUrl("attachment:my%20pic.png"))
                 .value<QImage>()
                 .width(),
             120);
  }

  void linksOpenByAClickAlone() {
    LinkCatcher catcher;
    Window window(json::array(
        {markdownCell("m", "[web](https://example.org/a) [file](file:///etc/passwd) [script](javascript:x)"),
         cellThatGave(json::array({display({{"text/html", "<a href='http://example.org/b'>other</a>"}})}))}));
    QCOMPARE(catcher.urls.size(), 0);
    StaticText* text = window.cell()->rendered();
    for (const char* name : {"web", "file", "script"}) {
      QTest::mouseClick(text->viewport(), Qt::LeftButton, Qt::NoModifier, anchorPoint(text, name));
    }
    QCOMPARE(catcher.urls, QList<QUrl>{QUrl("https://example.org/a")});
    StaticText* html = window.output<RichOutput>(0, 1)->view();
    QTest::mouseClick(html->viewport(), Qt::LeftButton, Qt::NoModifier, anchorPoint(html, "other"));
    QCOMPARE(catcher.urls.size(), 2);
  }

  /// The guide's links, in a text of others: they are no links.
  void linksOfTheGuideAreNothingInANotebook() {
    const QString links =
        "[a](command:session.restart) [b](sample:noisy_square.ipynb) [c](why.md) [d](#there) "
        "[e](tapedeck-guide:command:session.restart)";
    const std::string html =
        "<a href='command:session.restart'>a</a> <a href='tapedeck-guide:command:session.restart'>e</a>";
    Window window(json::array({markdownCell("m", links.toStdString()),
                               cellThatGave(json::array({display({{"text/html", html}})}))}));
    for (StaticText* text : {window.cell()->rendered(), window.output<RichOutput>(0, 1)->view()}) {
      QVERIFY(text->toPlainText().contains("a ") || text->toPlainText().endsWith("e"));
      for (const QTextFormat& format : text->document()->allFormats())
        QCOMPARE(format.toCharFormat().anchorHref(), QString());
      text->setFocus(Qt::TabFocusReason);
      QTest::keyClick(text, Qt::Key_Tab);
      QCOMPARE(text->chosenLink(), QString());
    }
  }

  void linksTellWhereTheyLead_data() {
    QTest::addColumn<bool>("html");
    QTest::newRow("Markdown") << false;
    QTest::newRow("HTML") << true;
  }
  void linksTellWhereTheyLead() {
    QFETCH(bool, html);
    LinkCatcher catcher;
    const std::string markdown =
        "[example.org](https://evil.test/a?b=c \"<img src='/x'>\") and [other](http://\u0435xample.org/d)";
    const std::string same =
        "<a href='https://evil.test/a?b=c' title=\"<img src='/x'>\">example.org</a> and "
        "<a href='http://\u0435xample.org/d'>other</a>";
    Window window(html ? cellThatGave(json::array({display({{"text/html", same}})}))
                       : json::array({markdownCell("m", markdown)}));
    StaticText* text = html ? window.output<RichOutput>()->view() : window.cell()->rendered();
    StatusTips tips(&window.view);
    QTest::mouseMove(text->viewport(), anchorPoint(text, "example.org"));
    QTRY_COMPARE(tips.shown, QString("https://evil.test/a?b=c"));
    QHelpEvent help(QEvent::ToolTip, anchorPoint(text, "example.org"),
                    text->viewport()->mapToGlobal(anchorPoint(text, "example.org")));
    QApplication::sendEvent(text->viewport(), &help);
    QVERIFY2(QToolTip::text().contains("https://evil.test/a?b=c"), qPrintable(QToolTip::text()));
    QVERIFY2(!QToolTip::text().contains("<img"), qPrintable(QToolTip::text()));  // a title is text
    QTest::mouseMove(text->viewport(), anchorPoint(text, "and"));
    QTRY_COMPARE(tips.shown, QString());

    // By keys: Tab chooses a link and tells, Enter opens it. A letter of another alphabet shows.
    QVERIFY(text->focusPolicy() & Qt::TabFocus);
    text->setFocus(Qt::TabFocusReason);
    QTest::keyClick(text, Qt::Key_Tab);
    QCOMPARE(tips.shown, QString("https://evil.test/a?b=c"));
    QTest::keyClick(text, Qt::Key_Tab);
    QCOMPARE(tips.shown, QString("http://xn--xample-2of.org/d"));
    QVERIFY(QToolTip::text().contains(tips.shown.toHtmlEscaped()));
    QCOMPARE(catcher.urls.size(), 0);
    QTest::keyClick(text, Qt::Key_Backtab, Qt::ShiftModifier);
    QTest::keyClick(text, Qt::Key_Return);
    QCOMPARE(catcher.urls, QList<QUrl>{QUrl("https://evil.test/a?b=c")});
    QTest::keyClick(text, Qt::Key_Tab);
    QTest::keyClick(text, Qt::Key_Tab);
    QVERIFY(!text->hasFocus() && text->chosenLink().isEmpty());
    QCOMPARE(tips.shown, QString());
  }

  void linksToOneLongAddressStayBounded() {
    // Each of them names the address again: 40 GB of them, without a limit.
    const auto links = [](qsizetype length, int count) {
      return "[abc]: http://x/" + std::string(static_cast<std::size_t>(length), 'A') + "\n\n" +
             QString("[abc] ").repeated(count).toStdString();
    };
    Window window(json::array({markdownCell("m", links(2'000, 20'000))}));
    RichOutput* text = window.cell()->richText();
    QTRY_VERIFY_WITH_TIMEOUT(text->ready(), tapedeck::patience);
    QVERIFY(text->view()->toPlainText().startsWith("abc abc"));
    QVERIFY(!text->view()->anchorAt(anchorPoint(text->view(), "abc")).isEmpty());
    QVERIFY(text->view()->document()->toHtml().size() < 10'000'000);
    QVERIFY2(text->told().contains("Further links"), qPrintable(text->told()));
    // One that is too long leads nowhere.
    Window longer(json::array({markdownCell("m", links(3'000, 20))}));
    QTRY_VERIFY_WITH_TIMEOUT(longer.cell()->richText()->ready(), tapedeck::patience);
    QVERIFY(longer.cell()->rendered()->toPlainText().startsWith("abc abc"));
    QVERIFY(longer.cell()->rendered()->anchorAt(anchorPoint(longer.cell()->rendered(), "abc")).isEmpty());
  }

  void paragraphsAndTablesOfAnySizeDoNotHoldUpTheOtherTexts() {
    const std::string brackets = QString("[x]\n").repeated(50'000).toStdString();
    const std::string table = "|" + QString("a|").repeated(20'000).toStdString() + "\n|" +
                              QString("-|").repeated(20'000).toStdString() + "\n" +
                              QString("|\n").repeated(20'000).toStdString();
    const std::string address = "[abc]: http://x/" + std::string(1'000'000, 'A') + "\n\n" +
                                QString("[abc] ").repeated(20'000).toStdString();
    for (const std::string& source : {brackets, table, address}) {
      Window window(json::array({markdownCell("m", source)}));
      RichOutput* text = window.cell()->richText();
      QTRY_VERIFY_WITH_TIMEOUT(text->ready(), tapedeck::patience);
      QVERIFY2(text->view()->toPlainText().startsWith("This text is shown unformatted"),
               qPrintable(text->view()->toPlainText().left(80)));
    }
  }

  void damagedOutputsAreShownOrNoted() {
    // What a damaged file or another kernel may hold: no crash, and a row for each.
    const json odd = {
        {{"output_type", "stream"}, {"name", 3}, {"text", "t"}},
        {{"output_type", "display_data"}, {"data", {{"text/plain", {1, 2}}}}},
        {{"output_type", "display_data"}},
        {{"output_type", "execute_result"}, {"data", {{"image/png", {{"a", 1}}}}}, {"execution_count", "x"}},
        {{"output_type", "error"}},
        {{"output_type", "error"}, {"ename", 3}, {"traceback", json::array()}},
        {{"output_type", "stream"}},
        {{"output_type", "display_data"}, {"data", {{"text/html", ""}}}, {"metadata", 4}}};
    Window window(cellThatGave(odd));
    QCOMPARE(window.cell()->outputs()->count(), 8);
    window.view.grab();
  }

  void mutatedOutputsNeverCrash() {
    QLoggingCategory::setFilterRules("qt.gui.imageio*=false\nqt.svg*=false");
    QRandomGenerator random(42);
    const QList<QByteArray> svgs = {
        "<svg xmlns='http://www.w3.org/2000/svg' width='80' height='40' viewBox='0 0 80 "
        "40'><defs><linearGradient id='g'>"
        "<stop offset='0' stop-color='red'/></linearGradient></defs><path d='M0 0 C 1 2 3 4 5 6 A 3 3 0 1 1 "
        "9 9 Z' fill='url(#g)' "
        "stroke-dasharray='3 1' transform='rotate(20) scale(2)'/><text x='3' y='9' "
        "font-size='8'>t</text><use href='#g'/></svg>"};
    for (int round = 0; round < 400; ++round) {
      QByteArray svg = svgs[0];
      QByteArray png = QByteArray::fromBase64(QByteArray::fromStdString(picture(16, 16, "PNG")));
      for (int i = 0; i < 4; ++i) {
        svg[random.bounded(static_cast<int>(svg.size()))] = "0123456789<>'-. eM"[random.bounded(18)];
        png[random.bounded(static_cast<int>(png.size()))] = static_cast<char>(random.bounded(256));
      }
      ImageOutput drawn(NotebookTheme::of(QPalette(), 0), nullptr);
      drawn.setSvg(svg);
      drawn.resize(300, drawn.heightFor(300));
      QVERIFY(isDrawn(drawn));
      QVERIFY2(!drawn.error().contains("has ended"), svg.constData());
      drawn.grab();
      ImageOutput bitmap(NotebookTheme::of(QPalette(), 0), nullptr);
      bitmap.setBitmap(png.toBase64());
      bitmap.resize(300, std::min(2000, bitmap.heightFor(300)));
      bitmap.grab();
    }
  }
};

TAPEDECK_TEST(TestNotebookHostile)
#include "tst_notebook_hostile.moc"
