// Keys: none is bound twice, all are listed, and those that were bound twice do what they say.
#include <QAbstractButton>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QShortcut>
#include <QTreeWidget>

#include "app/notebook/view/notebook_keys.h"
#include "app/shell/panels/panel_docks.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/ui/reserved_keys.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

/// One key with one meaning, and where it is in force.
struct Binding {
  QKeySequence key;
  const QWidget* scope = nullptr;
  enum class Reach { window, tree, widget } reach = Reach::window;
  QString what;
  const void* owner = nullptr;  ///< bindings of one owner are distinguished by its state
};

bool overlap(const Binding& a, const Binding& b) {
  using Reach = Binding::Reach;
  if (a.reach == Reach::window || b.reach == Reach::window) return true;
  const auto within = [](const QWidget* widget, const QWidget* tree) {
    return tree == widget || tree->isAncestorOf(widget);
  };
  if (a.reach == Reach::widget && b.reach == Reach::widget) return a.scope == b.scope;
  if (a.reach == Reach::widget) return within(a.scope, b.scope);
  if (b.reach == Reach::widget) return within(b.scope, a.scope);
  return within(a.scope, b.scope) || within(b.scope, a.scope);
}

Binding::Reach reachOf(Qt::ShortcutContext context) {
  return context == Qt::WidgetShortcut               ? Binding::Reach::widget
         : context == Qt::WidgetWithChildrenShortcut ? Binding::Reach::tree
                                                     : Binding::Reach::window;
}

void addActions(const QMainWindow& window, QList<Binding>* list) {
  for (const QAction* action : window.findChildren<QAction*>())
    for (const QKeySequence& key : action->shortcuts()) {
      const QString what = "action " + action->text() + " " + action->objectName();
      const auto reach = reachOf(action->shortcutContext());
      if (reach == Binding::Reach::window) {
        *list << Binding{key, &window, reach, what, action};
        continue;
      }
      for (const QObject* object : action->associatedObjects()) {
        const auto* widget = qobject_cast<const QWidget*>(object);
        if (widget && !qobject_cast<const QMenu*>(widget)) *list << Binding{key, widget, reach, what, action};
      }
    }
}

void addShortcuts(const QMainWindow& window, QList<Binding>* list) {
  for (const QShortcut* shortcut : window.findChildren<QShortcut*>())
    for (const QKeySequence& key : shortcut->keys())
      *list << Binding{key, qobject_cast<const QWidget*>(shortcut->parent()), reachOf(shortcut->context()),
                       "shortcut", shortcut};
  for (const QAbstractButton* button : window.findChildren<QAbstractButton*>())
    if (!button->shortcut().isEmpty())
      *list << Binding{button->shortcut(), &window, Binding::Reach::window, "button " + button->text(),
                       button};
  for (const QLabel* label : window.findChildren<QLabel*>())
    if (const QKeySequence key = QKeySequence::mnemonic(label->text()); label->buddy() && !key.isEmpty())
      *list << Binding{key, &window, Binding::Reach::window, "label " + label->text(), label};
  for (const QAction* action : window.menuBar()->actions())
    *list << Binding{QKeySequence::mnemonic(action->text()), &window, Binding::Reach::window,
                     "menu " + action->text(), action};
}

QList<QKeySequence> sequences(const QString& keys) {
  QList<QKeySequence> list;
  for (const QString& one : keys.split(" or "))
    list << QKeySequence::fromString(one, QKeySequence::NativeText);
  return list;
}

void addHandled(const MainWindow& window, QList<Binding>* list) {
  for (const inspector::Panel* panel : window.panels()->panels())
    for (const inspector::HandledKeys& handled : panel->handledKeys())
      for (const QKeySequence& key : handled.keys)
        *list << Binding{key, panel, Binding::Reach::tree, "handled: " + handled.text, panel};
  for (const QList<KeyHelp>& table : {commandModeKeys(), editorKeys()})
    for (const KeyHelp& help : table)
      for (const QKeySequence& key : sequences(help.keys))
        *list << Binding{key, window.notebook(), Binding::Reach::tree, "notebook: " + help.text,
                         window.notebook()};
}

/// Where menu and notebook do the same with the key.
bool sameMeaning(const Binding& a, const Binding& b) {
  static const QHash<QString, QString> same = {{"Ctrl+Return", "cell.run"},
                                               {"Shift+Return", "cell.run_advance"},
                                               {"Alt+Return", "cell.run_insert"},
                                               {"Ctrl+Shift+Up", "cell.move_up"},
                                               {"Ctrl+Shift+Down", "cell.move_down"}};
  const auto one_of = [&](const Binding& action, const Binding& notebook) {
    return action.what.endsWith(' ' + same.value(action.key.toString(), "-")) &&
           notebook.what.startsWith("notebook: ");
  };
  return one_of(a, b) || one_of(b, a);
}

QStringList ambiguous(const QList<Binding>& bindings) {
  QStringList found;
  for (qsizetype i = 0; i < bindings.size(); ++i)
    for (qsizetype j = i + 1; j < bindings.size(); ++j) {
      const Binding &a = bindings[i], &b = bindings[j];
      if (a.key.isEmpty() || a.key != b.key || a.owner == b.owner || !overlap(a, b) || sameMeaning(a, b))
        continue;
      found << QString("%1: %2 | %3").arg(a.key.toString(), a.what, b.what);
    }
  return found;
}

void leaves(const QMenu& menu, QList<QAction*>* list) {
  for (QAction* action : menu.actions())
    if (action->menu() && !action->shortcut().isEmpty())
      *list << action;  // its menu lists what there is at the time
    else if (action->menu())
      leaves(*action->menu(), list);
    else if (!action->isSeparator())
      *list << action;
}

}  // namespace

class TestKeys : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  std::unique_ptr<MainWindow> open(const QStringList& cells) {
    auto window = newWindow();
    window->openNotebook(writeNotebook(folder_, "keys.ipynb", cells));
    if (!waitFor([&] { return window->notebook()->isVisible(); }, tapedeck::patience))
      qWarning("no notebook");
    return window;
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { QSettings().clear(); }

  void noKeyMeansTwoThings() {
    const auto window = open({"1 + 1", "2 + 2"});
    window->notebook()->setCurrentCell(0, true);
    QList<Binding> bindings;
    addActions(*window, &bindings);
    addShortcuts(*window, &bindings);
    addHandled(*window, &bindings);
    QVERIFY(bindings.size() > 80);
    QVERIFY2(ambiguous(bindings).isEmpty(), qPrintable(ambiguous(bindings).join('\n')));
  }

  // Pressing it opens a terminal, or closes the window.
  void noKeyIsOneOfTheDesktops() {
    const auto window = open({"1"});
    QList<Binding> bindings;
    addActions(*window, &bindings);
    addShortcuts(*window, &bindings);
    addHandled(*window, &bindings);
    QStringList taken;
    for (const Binding& binding : bindings)
      if (const QString why = inspector::reservedFor(binding.key); !why.isEmpty())
        taken << QString("%1 (%2): %3").arg(binding.key.toString(), binding.what, why);
    QVERIFY2(taken.isEmpty(), qPrintable(taken.join('\n')));
  }

  void theKeysOfTheDesktopsAreKnown() {
    for (const char* keys : {"Ctrl+Alt+T", "Ctrl+Alt+D", "Ctrl+Alt+L", "Ctrl+Alt+F2", "Ctrl+Alt+Left",
                             "Alt+F4", "Alt+F9", "Alt+F10", "Ctrl+F1", "Ctrl+F7", "Ctrl+F8", "Ctrl+F9",
                             "Ctrl+F10", "Ctrl+F11", "Ctrl+F12", "Alt+Shift+F12", "Alt+Tab", "Meta+E"})
      QVERIFY2(!inspector::reservedFor(QKeySequence(keys)).isEmpty(), keys);
    for (const char* keys :
         {"F9", "Shift+F9", "Ctrl+Shift+F9", "Alt+Shift+F9", "Ctrl+Alt+1", "Ctrl+T", "Alt+5"})
      QVERIFY2(inspector::reservedFor(QKeySequence(keys)).isEmpty(), keys);
  }

  void theGuideNamesTheKeysThatTheMenusHave() {
    const auto window = open({"1"});
    QFile guide(QString(TAPEDECK_SOURCE_DIR) + "/resources/guide/keys.md");
    QVERIFY(guide.open(QIODevice::ReadOnly));
    static const QRegularExpression row("^\\| ([^|]+) \\| ([^|]+) \\|[^|]*\\|$",
                                        QRegularExpression::MultilineOption);
    const QString text = QString::fromUtf8(guide.readAll()).section("## Running and stepping", 1);
    int rows = 0;
    QStringList wrong;
    for (auto it = row.globalMatch(text); it.hasNext();) {
      const auto match = it.next();
      if (match.captured(1) == "key" || match.captured(1).startsWith("---")) continue;
      ++rows;
      bool found = false;
      for (const QAction* action : window->findChildren<QAction*>())
        found = found || (QString(action->text()).remove('&').remove("…") == match.captured(2) &&
                          action->shortcut() == QKeySequence(match.captured(1)));
      if (!found) wrong << match.captured(1) + ": " + match.captured(2);
    }
    QVERIFY(rows > 20);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
  }

  void aKeyThatIsBoundTwiceIsFound() {
    QWidget window;
    QWidget left(&window), right(&window), inner(&left);
    const auto at = [](const QWidget* scope, Binding::Reach reach) {
      static int owners[16];
      static int next = 0;
      return Binding{QKeySequence("Ctrl+E"), scope, reach, "x", &owners[next++]};
    };
    using Reach = Binding::Reach;
    QCOMPARE(ambiguous({at(&window, Reach::window), at(&inner, Reach::widget)}).size(), 1);
    QCOMPARE(ambiguous({at(&left, Reach::tree), at(&inner, Reach::tree)}).size(), 1);
    QCOMPARE(ambiguous({at(&left, Reach::tree), at(&right, Reach::tree)}).size(), 0);
    QCOMPARE(ambiguous({at(&left, Reach::widget), at(&inner, Reach::widget)}).size(), 0);
  }

  void everyActionHasMenuEntryKeyAndTooltip() {
    const auto window = open({"1"});
    QList<QAction*> inMenus;
    for (const QAction* action : window->menuBar()->actions()) leaves(*action->menu(), &inMenus);
    QStringList missing;
    for (const QAction* action : window->findChildren<QAction*>()) {
      if (action->shortcut().isEmpty() || action->text().isEmpty()) continue;
      const QString key = action->shortcut().toString(QKeySequence::NativeText);
      if (!action->toolTip().contains(key)) missing << action->text() + ": no tooltip with its key";
      if (!inMenus.contains(action)) missing << action->text() + ": in no menu";
    }
    for (const QAction* action : inMenus) {
      const bool names_a_file = !action->objectName().contains('.') && action->shortcut().isEmpty();
      if (!names_a_file && action->shortcut().isEmpty()) missing << action->text() + ": no key";
    }
    QVERIFY2(missing.isEmpty(), qPrintable(missing.join('\n')));
  }

  // The same keys moved the notebook's cells.
  void inTensorShiftedArrowsSelectNumbers() {
    const auto window = open({"import tapedeck as tf\ntf.reshape(tf.range(24.), [6, 4])", "'second'"});
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);  // Debug
    window->notebook()->setCurrentCell(0, false);
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
    auto* canvas = tensor(*window)->canvas();
    QTRY_VERIFY_WITH_TIMEOUT(canvas->isVisible() && canvas->sentence().isEmpty(), patience);
    QTest::mouseClick(canvas, Qt::LeftButton, {}, QPoint(100, 60));
    QTRY_VERIFY(canvas->hasFocus());
    const QString first = window->document()->cell(0).id;
    QTest::keyClick(canvas, Qt::Key_Down, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window->document()->cell(0).id, first);
    window->notebook()->setFocus();
    QTest::keyClick(window->notebook(), Qt::Key_Down, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(window->document()->cell(1).id, first);
  }

  void theListOfKeysFitsASmallScreenAndIsSearched() {
    const auto window = open({"1"});
    QTest::keyClick(window.get(), Qt::Key_F1, Qt::ShiftModifier);
    auto* keys = window->findChild<QDialog*>("keysWindow");
    QVERIFY(keys);
    QVERIFY(QTest::qWaitForWindowExposed(keys, tapedeck::patience));
    QVERIFY2(keys->width() <= 1200 && keys->height() <= 700,
             qPrintable(QString("%1×%2").arg(keys->width()).arg(keys->height())));
    screenshot(keys, "keys-window");
    // Nothing is cut: what is too long for its column has more lines.
    auto* list = keys->findChild<QTreeWidget*>("keysList");
    int lines = 0;
    for (int g = 0; g < list->topLevelItemCount(); ++g)
      for (int i = 0; i < list->topLevelItem(g)->childCount(); ++i, ++lines)
        for (int column = 0; column < 2; ++column) {
          const QTreeWidgetItem* item = list->topLevelItem(g)->child(i);
          const QRect cell = list->visualRect(list->indexFromItem(item, column));
          const QRect text = list->fontMetrics().boundingRect(QRect(0, 0, cell.width() - 6, 10'000),
                                                              Qt::TextWordWrap, item->text(column));
          QVERIFY2(text.height() <= cell.height() && text.width() <= cell.width(),
                   qPrintable(item->text(column)));
        }
    QVERIFY(lines > 60);
    auto* field = keys->findChild<QLineEdit*>("keysSearch");
    const auto shown = [&] {
      QStringList lines;
      for (QTreeWidgetItemIterator it(list, QTreeWidgetItemIterator::NotHidden); *it; ++it)
        if ((*it)->parent()) lines << (*it)->text(0) + " " + (*it)->text(1);
      return lines;
    };
    const qsizetype all = shown().size();
    QVERIFY(all > 70);
    QVERIFY(!shown().filter("D, D").isEmpty());  // the command mode is there
    QTest::keyClicks(field, "delete cell");
    QVERIFY(shown().size() < 8);
    QVERIFY(!shown().filter("D, D").isEmpty());
    QTest::keyClick(field, Qt::Key_Escape);
    QCOMPARE(shown().size(), all);
    QPointer<QDialog> open_window = keys;
    QTest::keyClick(field, Qt::Key_Escape);
    QTRY_VERIFY(!open_window);
  }
};

TAPEDECK_TEST(TestKeys)
#include "tst_keys.moc"
