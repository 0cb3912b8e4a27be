// Outputs in a real window: each type, long ones, and hostile ones.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QLoggingCategory>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QTextTable>
#include <QToolButton>
#include <QtTest>

#include "app/notebook/cell_widget.h"
#include "app/notebook/code_editor.h"
#include "app/notebook/image_output.h"
#include "app/notebook/notebook_view.h"
#include "app/notebook/output_area.h"
#include "app/notebook/rich_output.h"
#include "app/notebook/static_text.h"
#include "app/notebook/text_output.h"
#include "tests/notebook/sample_notebook.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

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

struct Window {
  explicit Window(const json& cells, QSize size = {900, 700}) : view(&document) {
    document.parse(notebookOf(cells), "test.ipynb");
    start(size);
  }
  explicit Window(const QString& path) : view(&document) {
    document.load(path);
    start({900, 700});
  }
  void start(QSize size) {
    view.resize(size);
    view.show();
    if (!QTest::qWaitForWindowExposed(&view)) qFatal("The window was not shown");
    activate(&view);
    QCoreApplication::processEvents();
  }
  CellWidget* cell(int index = 0) const {
    for (CellWidget* widget : view.findChildren<CellWidget*>()) {
      if (widget->id() == document.cell(index).id) return widget;
    }
    return nullptr;
  }
  template <class T>
  T* output(int row = 0, int index = 0) const {
    return qobject_cast<T*>(cell(index)->outputs()->row(row));
  }
  Document document;
  NotebookView view;
};

json withOutputs(const json& outputs) {
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

QPoint anchorPoint(QTextBrowser* browser, const QString& text) {
  const QTextCursor found = browser->document()->find(text);
  QTextCursor middle(browser->document());
  middle.setPosition(found.selectionStart() + 2);
  return browser->cursorRect(middle).center();
}

}  // namespace

class TestNotebookOutputs : public QObject {
  Q_OBJECT

 private slots:
  void streamsKeepTheirColours() {
    Window window(withOutputs({stream("plain \x1b[1;31mred\x1b[0m end\n"), stream("warn\n", "stderr")}));
    QCOMPARE(window.output<TextOutput>()->shownText(), "plain red end");
    QCOMPARE(window.output<TextOutput>(1)->shownText(), "warn");
    auto* text = window.output<TextOutput>()->findChild<StaticText*>();
    const QTextCursor red = text->document()->find("red");
    QCOMPARE(red.charFormat().fontWeight(), static_cast<int>(QFont::Bold));
    QVERIFY(red.charFormat().foreground().color().red() > 150);
    QVERIFY(text->document()->find("plain").charFormat().foreground().color() !=
            red.charFormat().foreground().color());
    text->setFocus();
    QTest::keyClick(text, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(text, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(), "plain red end");
  }

  void streamsGrowInPlace() {
    Window window(withOutputs({display({{"image/png", picture(60, 30, "PNG")}}), stream("one\n")}));
    Block* image = window.output<ImageOutput>(0);
    Block* text = window.output<TextOutput>(1);
    for (int i = 0; i < 50; ++i)
      window.document.appendOutput("c", stream("more " + std::to_string(i) + "\n"));
    QTRY_VERIFY(window.output<TextOutput>(1)->shownText().endsWith("more 49"));
    QVERIFY(window.output<TextOutput>(1)->shownText().startsWith("one\nmore 0\n"));
    QCOMPARE(static_cast<Block*>(window.output<ImageOutput>(0)), image);
    QCOMPARE(static_cast<Block*>(window.output<TextOutput>(1)), text);
    auto* view = text->findChild<StaticText*>();
    QTRY_COMPARE(view->verticalScrollBar()->maximum(), 0);
    window.document.clearOutputs("c");
    QTRY_COMPARE(window.cell()->outputs()->count(), 0);
  }

  void longTextIsShortenedAndShownInFullOnDemand() {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i) + "\n";
    Window window(withOutputs(json::array({stream(text)})));
    auto* output = window.output<TextOutput>();
    QVERIFY(output->shortened());
    QVERIFY(output->shownText().startsWith("line 0\n"));
    QVERIFY(output->shownText().endsWith("line 49999"));
    QVERIFY(output->shownText().size() < 20'000);
    const auto button = [&](const QString& name) -> QToolButton* {
      for (QToolButton* found : output->findChildren<QToolButton*>()) {
        if (found->text() == name) return found;
      }
      return nullptr;
    };
    QTest::mouseClick(button("Copy all"), Qt::LeftButton);
    QCOMPARE(QGuiApplication::clipboard()->text(), QString::fromStdString(text));
    QTest::mouseClick(button("Show all"), Qt::LeftButton);
    QVERIFY(!output->complete());
    QTRY_VERIFY_WITH_TIMEOUT(output->complete(), 60000);
    QCOMPARE(output->shownText(), QString::fromStdString(text));
    QVERIFY(output->findChild<QPlainTextEdit*>()->verticalScrollBar()->maximum() > 0);
  }

  void oneEndlessLineIsShortened() {
    Window window(withOutputs(json::array({stream(std::string(5'000'000, 'x'))})));
    QVERIFY(window.output<TextOutput>()->shortened());
    QVERIFY(window.output<TextOutput>()->shownText().size() < 40'000);
    window.output<TextOutput>()->showAll();
    QTRY_VERIFY_WITH_TIMEOUT(window.output<TextOutput>()->complete(), 60000);
    QCOMPARE(window.output<TextOutput>()->shownText().remove('\n').size(), qsizetype(5'000'000));
  }

  void manyOutputsAreShownOnDemand() {
    json outputs = json::array();
    for (int i = 0; i < 150; ++i) outputs.push_back(display({{"text/plain", "value " + std::to_string(i)}}));
    Window window(withOutputs(outputs));
    QCOMPARE(window.cell()->outputs()->count(), 100);
    for (QToolButton* button : window.cell()->outputs()->findChildren<QToolButton*>()) {
      if (button->text() == "Show 50 more outputs") button->click();
    }
    QCOMPARE(window.cell()->outputs()->count(), 150);
  }

  void tracebacksLeadToTheirLine() {
    const json error = {{"output_type", "error"},
                        {"ename", "E"},
                        {"evalue", "v"},
                        {"traceback", {"\x1b[0;31mE\x1b[0m", "Cell \x1b[0;32mIn [3], line 2\x1b[0m, in f"}}};
    json cells = json::array({codeCell("c", "def f():\n    raise E", json::array({error}), 3),
                              codeCell("d", "x", json::array(), 4)});
    Window window(cells);
    window.view.setCurrentCell(1, false);
    auto* text = window.output<TextOutput>()->findChild<StaticText*>();
    QCOMPARE(text->accessibleName(), "Traceback");
    QTest::mouseClick(text->viewport(), Qt::LeftButton, Qt::NoModifier, anchorPoint(text, "In [3]"));
    QCOMPARE(window.view.currentCell(), 0);
    int line = -1;
    int column = -1;
    window.cell(0)->editor()->getCursorPosition(&line, &column);
    QCOMPARE(line, 1);
  }

  void picturesKeepTheirShape() {
    Window window(withOutputs({display({{"image/png", picture(400, 100, "PNG")}}),
                               display({{"image/jpeg", picture(3000, 1000, "JPG")}})}));
    QCOMPARE(window.output<ImageOutput>(0)->shownSize(), QSize(400, 100));
    const QSize shown = window.output<ImageOutput>(1)->shownSize();
    QVERIFY(shown.width() < 900 && shown.width() > 700);
    QVERIFY(std::abs(shown.width() / 3 - shown.height()) <= 1);
    QVERIFY(window.output<ImageOutput>(1)->height() >= shown.height());
    const QImage image = window.output<ImageOutput>(0)->grab().toImage();
    QVERIFY(image.pixelColor(300, 80).blue() > image.pixelColor(300, 80).red());
    window.view.resize(500, 700);
    QTRY_VERIFY(window.output<ImageOutput>(1)->shownSize().width() < 450);
  }

  void picturesTakeTheSizeOfTheirMetadata() {
    json output = display({{"image/png", picture(400, 200, "PNG")}});
    output["metadata"]["image/png"] = {{"width", 200}, {"height", 100}};
    Window window(withOutputs(json::array({output})));
    QCOMPARE(window.output<ImageOutput>()->shownSize(), QSize(200, 100));
  }

  void brokenPicturesSaySo() {
    Window window(
        withOutputs({display({{"image/png", "bm90IGEgcGljdHVyZQ=="}}),
                     display({{"image/svg+xml", "<svg><g>"}}), display({{"image/png", ""}}),
                     display({{"image/png", "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="}})}));
    QCOMPARE(window.output<ImageOutput>(0)->error(),
             "This picture can't be shown: unsupported image format.");
    QCOMPARE(window.output<ImageOutput>(1)->error(),
             "This SVG picture can't be shown: it is not correct XML, premature end of document (line 1).");
    QVERIFY(!window.output<ImageOutput>(2)->error().isEmpty());
    QVERIFY(!window.output<ImageOutput>(3)->error().isEmpty());
    QVERIFY(window.output<ImageOutput>(0)->height() > 10);
  }

  void svgIsDrawn() {
    Window window(withOutputs(
        json::array({display({{"image/svg+xml",
                               "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='50'><rect "
                               "width='100' height='50' fill='#ff0000'/></svg>"}})})));
    auto* image = window.output<ImageOutput>();
    QCOMPARE(image->shownSize(), QSize(100, 50));
    QCOMPARE(image->grab().toImage().pixelColor(50, 25), QColor(255, 0, 0));
  }

  void tablesAreShown() {
    Window window(withOutputs(json::array(
        {result(3, {{"text/html",
                     "<table border=1 "
                     "class=dataframe><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2.5</td></tr></table>"},
                    {"text/plain", "plain"}})})));
    auto* output = window.output<RichOutput>();
    QVERIFY(output != nullptr);
    QTextCursor cursor = output->view()->document()->find("2.5");
    QVERIFY(cursor.currentTable() != nullptr);
    QCOMPARE(cursor.currentTable()->columns(), 2);
  }

  void theRichestTypeThatCanBeShownIsShown() {
    Window window(withOutputs({result(1, {{"text/html", "<script>x()</script>"}, {"text/plain", "the text"}}),
                               display({{"text/html", "<script>x()</script>"}}),
                               display({{"application/x-thing", "?"}}),
                               display({{"application/json", {{"k", {1, 2.5}}}}}),
                               display(json::object()),
                               display({{"text/latex", "$\\alpha^2$"}}),
                               display({{"text/markdown", "**bold**"}}),
                               {{"output_type", "hologram"}}}));
    QCOMPARE(window.output<TextOutput>(0)->shownText(), "the text");
    QCOMPARE(window.output<RichOutput>(1)->view()->toPlainText(),
             "This output is drawn by a script; scripts are not run.");
    QCOMPARE(window.output<RichOutput>(2)->view()->toPlainText(),
             "This output can't be shown here. Its type is application/x-thing.");
    QCOMPARE(window.output<TextOutput>(3)->shownText(), "{\n \"k\": [\n  1,\n  2.5\n ]\n}");
    QCOMPARE(window.output<RichOutput>(4)->view()->toPlainText(), "This output is empty.");
    QCOMPARE(window.output<RichOutput>(5)->view()->toPlainText().trimmed(), "α2");
    QCOMPARE(window.output<RichOutput>(6)->view()->toPlainText(), "bold");
    QCOMPARE(window.output<RichOutput>(7)->view()->toPlainText(),
             "An output of the unknown kind “hologram” is kept in the file and not shown.");
  }

  void updatedDisplaysChangeInPlace() {
    Window window(withOutputs(json::array()));
    json bar = display({{"text/plain", "0 %"}});
    bar["transient"] = {{"display_id", "d"}};
    window.document.appendOutput("c", bar);
    QTRY_VERIFY(window.cell()->outputs() != nullptr);
    window.document.updateDisplay("d", {{"text/plain", "100 %"}}, json::object());
    QTRY_COMPARE(window.output<TextOutput>()->shownText(), "100 %");
  }

  // ---- hostile
  // ---------------------------------------------------------------------------------------------------------

  void nothingIsFetched() {
    Listener listener;
    QVERIFY(listener.ready());
    listener.connectOnce();
    QVERIFY2(QTest::qWaitFor([&] { return listener.connected(); }), "the listener must notice a connection");
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
                       withOutputs({display({{"text/html", html}}), display({{"image/svg+xml", svg}}),
                                    display({{"text/markdown", markdown}})})});
    window.view.grab();
    QTest::qWait(300);
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
             withOutputs({display({{"text/html", "<img src='" + file + "'>text"}}),
                          display({{"image/svg+xml", svg}}), display({{"text/markdown", markdown}})})});
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
    Window window(path);
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
         withOutputs(json::array({display({{"text/html", "<a href='http://example.org/b'>other</a>"}})}))}));
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
    Window window(withOutputs(odd));
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
      drawn.grab();
      ImageOutput bitmap(NotebookTheme::of(QPalette(), 0), nullptr);
      bitmap.setBitmap(png.toBase64(), {});
      bitmap.resize(300, std::min(2000, bitmap.heightFor(300)));
      bitmap.grab();
    }
  }
};

QTEST_MAIN(TestNotebookOutputs)
#include "tst_notebook_outputs.moc"
