// The guide in the window: from F1 on the start page or in a panel, by keys and mouse; its links, and its
// search.
#include <QDockWidget>
#include <QLineEdit>
#include <QListWidget>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextDocument>
#include <QToolButton>

#include "app/notebook/output/text/static_text.h"
#include "app/shell/guide/guide_pages.h"
#include "app/shell/guide/guide_text.h"
#include "app/shell/guide/guide_window.h"
#include "app/shell/panels/panel_docks.h"
#include "app/shell/window/command_palette.h"
#include "app/shell/window/samples.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestGuide : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  GuideWindow* guide() const { return window_->guide(); }
  static int guides() {
    const QWidgetList windows = QApplication::topLevelWidgets();
    return static_cast<int>(std::count_if(windows.begin(), windows.end(), [](QWidget* window) {
      return qobject_cast<GuideWindow*>(window) != nullptr;
    }));
  }
  GuideText* text() const { return guide()->findChild<GuideText*>(); }
  StaticText* page() const { return text()->text()->view(); }
  QLineEdit* field() const { return guide()->findChild<QLineEdit*>("guideSearch"); }
  QListWidget* list() const { return guide()->findChild<QListWidget*>("guideList"); }

  /// To whatever has the focus, as a keyboard does.
  static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }
  /// F1 in the window, and the page is there.
  bool opens() {
    if (!window_->isActiveWindow()) window_->activateWindow();
    if (!QTest::qWaitForWindowActive(window_.get(), patience)) return false;
    QWidget* focus = window_->focusWidget();
    QTest::keyClick(focus ? focus : window_.get(), Qt::Key_F1);
    return guide() && QTest::qWaitForWindowActive(guide(), patience) && isSet();
  }
  bool isSet() const {
    return waitFor([&] { return text()->ready(); }, patience);
  }
  /// The heading is at the top, or as near to it as the page's end allows.
  bool isAt(const QString& heading) const {
    const QScrollBar* bar = text()->verticalScrollBar();
    for (QTextBlock block = page()->document()->begin(); block.isValid(); block = block.next()) {
      if (block.blockFormat().headingLevel() == 0 || block.text() != heading) continue;
      const int top = page()->cursorRect(QTextCursor(block)).top();
      return bar->value() == std::min(top, bar->maximum()) || (block.blockNumber() == 0 && bar->value() == 0);
    }
    return false;
  }
  bool openLink(const QString& address) {
    const auto focused = [&] {
      if (!guide()->isActiveWindow()) guide()->activateWindow();
      page()->setFocus(Qt::TabFocusReason);
      return page()->hasFocus();
    };
    if (!waitFor(focused, patience)) {
      qWarning() << "the keyboard is in" << QApplication::focusWidget() << QApplication::activeWindow();
      return false;
    }
    QStringList seen;
    do {
      QTest::keyClick(page(), Qt::Key_Tab);
      seen << page()->chosenLink();
    } while (seen.last() != "tapedeck-guide:" + address && !seen.last().isEmpty());
    if (seen.last().isEmpty()) {
      qWarning() << "no such link:" << seen;
      return false;
    }
    QTest::keyClick(page(), Qt::Key_Return);
    return true;
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void init() { window_ = newWindow(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void everyLinkLeadsSomewhere() {
    QVERIFY(guidePages().size() >= 13);
    static const QRegularExpression link(R"(\]\(([^)\s]+)\))"), heading("^#+ (.+)$");
    const auto anchors = [](const GuidePage& page) {
      QStringList list;
      for (const QString& line : page.source.split('\n'))
        if (const auto match = heading.match(line); match.hasMatch())
          list << anchorOf(QString(match.captured(1)).remove('*').remove('`'));
      return list;
    };
    QStringList addresses;
    for (const inspector::Panel* panel : window_->panels()->panels())
      for (const auto& descriptor : window_->panels()->descriptors())
        if (window_->panels()->panel(descriptor.id) == panel) addresses << guideOfPanel(descriptor.id);
    QVERIFY(addresses.size() >= 15 && addresses.count("index.md") == 0);
    for (const GuidePage& page : guidePages()) {
      QVERIFY2(page.title != page.file && page.source.size() > 200, qPrintable(page.file));
      for (auto found = link.globalMatch(page.source); found.hasNext();) {
        const QString address = found.next().captured(1);
        addresses << (address.startsWith('#') ? page.file + address : address);
      }
    }
    for (const QString& address : addresses) {
      if (address.startsWith("http")) continue;
      if (address.startsWith("command:")) {
        QVERIFY2(window_->findChild<QAction*>(address.mid(8)), qPrintable(address));
      } else if (address.startsWith("sample:")) {
        QVERIFY2(QFile::exists(sample(address.mid(7))), qPrintable(address));
      } else if (address.endsWith(".png")) {
        QVERIFY2(QFile::exists(":/guide/" + address), qPrintable(address));
      } else {
        const int number = guidePage(address.section('#', 0, 0));
        QVERIFY2(number >= 0, qPrintable(address));
        if (address.contains('#'))
          QVERIFY2(anchors(guidePages()[number]).contains(address.section('#', 1)), qPrintable(address));
      }
    }
    // Each sample is in the page for teachers.
    for (const Sample& one : samples())
      QVERIFY2(addresses.contains("sample:" + one.file), qPrintable(one.path));
  }

  void f1OnTheStartPageShowsTheGuideAndItIsSearched() {
    QVERIFY(opens());
    QCOMPARE(guide()->windowTitle(), QString("Guide"));
    QCOMPARE(list()->count(), static_cast<int>(guidePages().size()));
    shots(guide(), "guide-index");
    press(Qt::Key_F, Qt::ControlModifier);
    QTest::keyClicks(QApplication::focusWidget(), "reverse continue");
    QVERIFY(list()->count() > 0 && list()->count() < 12);
    press(Qt::Key_Return);
    QVERIFY(isSet());
    QCOMPARE(guide()->windowTitle(), QString("Guide: Stopping"));
    QVERIFY2(page()->textCursor().selectedText().compare("reverse", Qt::CaseInsensitive) == 0,
             qPrintable(page()->textCursor().selectedText()));
    screenshot(guide(), "guide-search");
    // What has no hit says so; Esc takes the search back, then closes.
    field()->selectAll();
    QTest::keyClicks(field(), "xyzzy");
    QCOMPARE(list()->count(), 1);
    QVERIFY(list()->item(0)->text().contains("xyzzy"));
    press(Qt::Key_Escape);
    QCOMPARE(list()->count(), static_cast<int>(guidePages().size()));
    // Back to where it began, and forward again.
    press(Qt::Key_Left, Qt::AltModifier);
    QVERIFY(isSet());
    QCOMPARE(guide()->windowTitle(), QString("Guide"));
    press(Qt::Key_Right, Qt::AltModifier);
    QVERIFY(isSet());
    QCOMPARE(guide()->windowTitle(), QString("Guide: Stopping"));
    press(Qt::Key_Escape);
    QTRY_VERIFY(!guide());
  }

  void f1InAPanelShowsItsPart() {
    window_->openNotebook(writeNotebook(folder_, "a.ipynb", {"1"}));
    QTRY_COMPARE(window_->document()->cellCount(), 1);
    const std::pair<const char*, const char*> parts[] = {
        {"why", "Why?"},
        {"health", "How does the training do? Health (Alt+7)"},
        {"breakpoints", "Breakpoints"},
        {"what_if", "What if?"}};
    for (const auto& [id, heading] : parts) {
      window_->activateWindow();  // there is no window manager that does
      QVERIFY(QTest::qWaitForWindowActive(window_.get(), patience));
      QTest::keySequence(window_.get(), window_->findChild<QAction*>(QString("panel.") + id)->shortcut());
      QTRY_COMPARE(window_->panels()->focused(), QString(id));
      QVERIFY(opens());
      QTRY_VERIFY2(isAt(heading), qPrintable(QString::number(text()->verticalScrollBar()->value())));
      QCOMPARE(guides(), 1);
      QTest::keyClick(guide(), Qt::Key_Escape);
      QTRY_VERIFY(!guide());
    }
  }

  void f1InTheNotebookShowsItsPart() {
    window_->openNotebook(writeNotebook(folder_, "c.ipynb", {"1"}));
    QTRY_VERIFY(window_->notebook()->isVisible());
    window_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window_.get(), patience));
    for (const bool editing : {false, true}) {
      window_->activateWindow();
      window_->notebook()->setCurrentCell(0, editing);
      if (!editing) window_->notebook()->setFocus();
      QVERIFY(opens());
      QCOMPARE(guide()->windowTitle(), QString("Guide: First steps"));
      QTRY_VERIFY2(isAt("The notebook"), qPrintable(QString::number(text()->verticalScrollBar()->value())));
      QTest::keyClick(guide(), Qt::Key_Escape);
      QTRY_VERIFY(!guide());
    }
  }

  void theGuideClosesWithItsWindow() {
    QVERIFY(opens());
    // A window manager would keep it above a parent.
    QVERIFY(guide()->isWindow() && !guide()->parentWidget());
    QVERIFY(window_->frameGeometry().intersects(guide()->frameGeometry()));
    QCOMPARE(guides(), 1);
    window_->close();
    QTRY_COMPARE(guides(), 0);
    window_ = newWindow();
    QVERIFY(opens());
    window_.reset();
    QCOMPARE(guides(), 0);
  }

  void theQuestionMarkOfAPanelShowsItsPart() {
    window_->openNotebook(writeNotebook(folder_, "b.ipynb", {"1"}));
    QTRY_COMPARE(window_->document()->cellCount(), 1);
    window_->findChild<QAction*>("panel.breakpoints")->trigger();
    auto* dock = window_->findChild<QDockWidget*>("panel.breakpoints");
    QTRY_VERIFY(dock->isVisible());
    auto* help = dock->findChild<QToolButton*>("panelHelp");
    auto* close = dock->findChild<QAbstractButton*>("qt_dockwidget_closebutton");
    auto* floating = dock->findChild<QAbstractButton*>("qt_dockwidget_floatbutton");
    QTRY_VERIFY(help->isVisible() && close->isVisible() && floating->isVisible());
    QVERIFY(!help->geometry().intersects(floating->geometry()));
    QVERIFY(!help->geometry().intersects(close->geometry()) && help->x() > 40 && help->y() >= 0);
    QVERIFY(!help->geometry().intersects(dock->widget()->geometry()));
    shots(window_.get(), "guide-question-mark");
    QTest::mouseClick(help, Qt::LeftButton);
    QVERIFY(guide() && isSet());
    QTRY_VERIFY2(isAt("Breakpoints"), qPrintable(QString::number(text()->verticalScrollBar()->value())));
  }

  void linksGoToPagesRunCommandsAndOpenSamples() {
    QVERIFY(opens());
    QVERIFY(openLink("keys.md"));
    QVERIFY(isSet());
    QCOMPARE(guide()->windowTitle(), QString("Guide: Keys"));
    QVERIFY(openLink("command:help.shortcuts"));
    QTRY_VERIFY(window_->findChild<QDialog*>("keysWindow"));
    delete window_->findChild<QDialog*>("keysWindow");
    // The palette takes the keyboard, in the window.
    guide()->activateWindow();
    guide()->open("first-steps.md");
    QVERIFY(isSet());
    QVERIFY(openLink("command:view.palette"));
    QTRY_VERIFY(window_->isActiveWindow() || !guide()->isActiveWindow());
    auto* palette = window_->findChild<CommandPalette*>();
    QTRY_VERIFY(palette && palette->isVisible() && palette->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QTRY_VERIFY(!palette->isVisible());
    guide()->activateWindow();
    guide()->open("teaching.md");
    QVERIFY(isSet());
    shots(guide(), "guide-teaching");
    QVERIFY(openLink("sample:first_gradient.ipynb"));
    QTRY_COMPARE_WITH_TIMEOUT(window_->document()->name(), copyName(sample("first_gradient.ipynb")),
                              patience);
    QVERIFY(window_->document()->cellCount() > 1);
  }

  void picturesAreShownAndDescribed() {
    static const QRegularExpression picture(R"(!\[([^\]]+)\]\(([^)]+)\))");
    QVERIFY(opens());
    int pictures = 0;
    for (const GuidePage& shown : guidePages()) {
      guide()->open(shown.file);
      QVERIFY(isSet());
      const QString spoken = page()->textForReaders();
      QVERIFY2(!spoken.contains("[picture not"), qPrintable(shown.file));
      for (auto found = picture.globalMatch(shown.source); found.hasNext(); ++pictures) {
        const auto match = found.next();
        QVERIFY2(spoken.contains("[picture: " + match.captured(1) + "]"), qPrintable(match.captured(2)));
        const QVariant image = page()->document()->resource(QTextDocument::ImageResource, match.captured(2));
        QVERIFY2(!image.value<QImage>().isNull(), qPrintable(match.captured(2)));
      }
      if (!shown.source.contains("![")) continue;
      for (QTextBlock block = page()->document()->begin(); block.isValid(); block = block.next())
        for (auto it = block.begin(); !it.atEnd(); ++it)
          if (const QTextCharFormat format = it.fragment().charFormat();
              format.isImageFormat() && block.length() == 2)
            QVERIFY2(block.layout()->boundingRect().height() < format.toImageFormat().height() + 12,
                     qPrintable(format.toImageFormat().name()));
      for (const auto look : {inspector::Appearance::dark, inspector::Appearance::light})
        screenshotIn(look, guide(),
                     QString("guide-%1-%2")
                         .arg(shown.file.section('.', 0, 0))
                         .arg(look == inspector::Appearance::dark ? "dark" : "light"));
    }
    QVERIFY(pictures >= 10);
  }

  void pagesFollowTheWindowsWidth() {
    QVERIFY(opens());
    guide()->open("whole-runs.md");
    QVERIFY(isSet());
    for (const int width : {520, 1500}) {
      guide()->resize(width, 700);
      QTRY_VERIFY(guide()->width() == width && isSet());
      QTRY_VERIFY(text()->text()->width() <= text()->viewport()->width());
      QVERIFY(page()->height() >= page()->document()->size().height());
    }
  }
};

TAPEDECK_TEST(TestGuide)
#include "tst_guide.moc"
