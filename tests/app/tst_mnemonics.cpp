// The letters that choose an entry of an open menu: each once, in every menu of the window and in the menus
// that come up over it.
#include <QContextMenuEvent>
#include <QMenu>
#include <QMenuBar>
#include <QToolButton>

#include "tests/app/window_fixture.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

QString plain(QString text) {
  return text.remove('&').section('\t', 0, 0);
}

/// "Cell: R chooses Run cell and Run all"; menus inside of it, too. `menus` counts them.
QStringList repeated(const QString& name, const QList<QAction*>& actions, int& menus) {
  QStringList found;
  QHash<QString, QString> entries;
  ++menus;
  for (QAction* action : actions) {
    if (action->isSeparator()) continue;
    const QString key = QKeySequence::mnemonic(action->text()).toString();
    if (!key.isEmpty() && entries.contains(key))
      found << name + ": " + key + " chooses " + entries[key] + " and " + plain(action->text());
    entries.insert(key, plain(action->text()));
    if (QMenu* inner = action->menu()) {
      emit inner->aboutToShow();  // some are filled then
      found << repeated(name + " › " + plain(action->text()), inner->actions(), menus);
      emit inner->aboutToHide();
    }
  }
  return found;
}

}  // namespace

class TestMnemonics : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void theMenuBarHasEachLetterOncePerMenu() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "menus.ipynb", {"x = 1"}));
    QTRY_COMPARE(window_->document()->cellCount(), 1);
    int menus = 0;
    const QStringList found = repeated("the bar", window_->menuBar()->actions(), menus);
    QVERIFY2(found.isEmpty(), qPrintable(found.join('\n')));
    QVERIFY(menus > 20);
    // No menu is too long to be looked through.
    for (QAction* action : window_->menuBar()->actions()) {
      qsizetype entries = 0;
      for (QAction* entry : action->menu()->actions()) entries += entry->isSeparator() ? 0 : 1;
      QVERIFY2(entries <= 26,
               qPrintable(QString("%1 has %2 entries").arg(plain(action->text())).arg(entries)));
    }
    for (const char* const name : {"&Cell", "S&tep"})
      for (QAction* action : window_->menuBar()->actions())
        if (action->text() == name) QVERIFY(action->menu()->actions().size() <= 15);
  }

  /// Of tool buttons and of what opens a context menu.
  void menusOverTheWindowHaveEachLetterOnce() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "menus.ipynb", {"print('out')", "# text"}));
    QTRY_COMPARE(window_->document()->cellCount(), 2);
    window_->notebook()->setFocus();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window_, 0).contains("out"), patience);
    int menus = 0;
    QStringList found;
    for (QToolButton* button : window_->findChildren<QToolButton*>())
      if (button->menu() != nullptr) {
        emit button->menu()->aboutToShow();
        found << repeated(button->text(), button->menu()->actions(), menus);
      }
    for (QWidget* widget : window_->findChildren<QWidget*>()) {
      if (!widget->isVisible() || widget->contextMenuPolicy() == Qt::NoContextMenu) continue;
      // One that waits for its choice is looked at from inside, and closed.
      QTimer look;
      bool seen = false;
      const auto lookAt = [&] {
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        if (menu == nullptr) return;
        if (!seen) found << repeated(widget->metaObject()->className(), menu->actions(), menus);
        seen = true;
        menu->close();
      };
      connect(&look, &QTimer::timeout, &look, lookAt);
      look.start(0);
      QContextMenuEvent event(QContextMenuEvent::Mouse, widget->rect().center(),
                              widget->mapToGlobal(widget->rect().center()));
      QApplication::sendEvent(widget, &event);
      lookAt();
    }
    QVERIFY2(found.isEmpty(), qPrintable(found.join('\n')));
    QVERIFY(menus > 0);
  }
};

TAPEDECK_TEST(TestMnemonics)
#include "tst_mnemonics.moc"
