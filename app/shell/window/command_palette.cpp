#include "app/shell/window/command_palette.h"

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <QSettings>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "app/shell/window/fuzzy_match.h"
#include "app/shell/window/menus.h"
#include "inspector/ui/theme.h"

namespace tapedeck::app {
namespace {

constexpr QSize largest(680, 460);
constexpr qsizetype most_remembered = 30;
constexpr char recent_setting[] = "palette/recent";
enum Role { path_role = Qt::UserRole, key_role, reason_role, places_role, index_role };

/// "&Save…\tCtrl+S" as plain text.
QString readable(const QString& text) {
  return text.section(u'\t', 0, 0).remove(u'&').remove(QStringLiteral("…"));
}

/// Text with the letters that were typed in bold, menu path and key; of what is disabled, why.
class CommandLines : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const int lines = index.data(reason_role).toString().isEmpty() ? 1 : 2;
    return {100, lines * option.fontMetrics.height() + 8};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const inspector::Theme theme = inspector::Theme::fromPalette(option.palette);
    const bool chosen = option.state.testFlag(QStyle::State_Selected);
    painter->save();
    if (chosen) painter->fillRect(option.rect, theme.selection);
    if (chosen) painter->fillRect(QRect(option.rect.topLeft(), QSize(3, option.rect.height())), theme.accent);
    const QString reason = index.data(reason_role).toString();
    const QRect room = option.rect.adjusted(10, 4, -8, -4);
    QRect line(room.topLeft(), QSize(room.width(), option.fontMetrics.height()));
    const QString key = index.data(key_role).toString();
    painter->setFont(option.font);
    painter->setPen(theme.faintText);
    painter->drawText(line, Qt::AlignRight | Qt::AlignVCenter, key);
    line.setRight(line.right() - option.fontMetrics.horizontalAdvance(key) - 16);
    const QColor color = reason.isEmpty() ? theme.text : theme.faintText;
    const int end = paintText(painter, option, index, line, color);
    painter->setFont(option.font);
    painter->setPen(theme.faintText);
    QRect rest = line;
    rest.setLeft(end + 12);
    const auto elided = [&](const QString& text, int width) {
      return option.fontMetrics.elidedText(text, Qt::ElideRight, std::max(0, width));
    };
    painter->drawText(rest, Qt::AlignVCenter, elided(index.data(path_role).toString(), rest.width()));
    if (!reason.isEmpty()) {
      QFont slanted = option.font;
      slanted.setItalic(true);
      painter->setFont(slanted);
      line.translate(0, option.fontMetrics.height());
      painter->drawText(line, Qt::AlignVCenter, elided(QStringLiteral("Not now: ") + reason, line.width()));
    }
    painter->restore();
  }

 private:
  /// Returns where it ends.
  static int paintText(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index,
                       const QRect& line, const QColor& color) {
    QFont bold = option.font;
    bold.setBold(true);
    const QString text = index.data(Qt::DisplayRole).toString();
    const QList<QVariant> places = index.data(places_role).toList();
    int x = line.left();
    painter->setPen(color);
    for (qsizetype at = 0; at < text.size();) {
      const bool typed = places.contains(static_cast<int>(at));
      qsizetype end = at;
      while (end < text.size() && places.contains(static_cast<int>(end)) == typed) ++end;
      const QString run = text.mid(at, end - at);
      painter->setFont(typed ? bold : option.font);
      painter->drawText(QRect(x, line.top(), line.right() - x, line.height()), Qt::AlignVCenter, run);
      x += QFontMetrics(painter->font()).horizontalAdvance(run);
      at = end;
    }
    return x;
  }
};

}  // namespace

CommandPalette::CommandPalette(QMainWindow* window, std::function<QString(const QAction*)> why)
    : QFrame(window),
      window_(window),
      why_(std::move(why)),
      field_(new QLineEdit(this)),
      list_(new QListWidget(this)) {
  setObjectName("commandPalette");
  setAccessibleName("Commands");
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  field_->setObjectName("paletteField");
  field_->setPlaceholderText("Type a few letters of a command");
  field_->setAccessibleName("Find a command");
  field_->setToolTip("Up and Down choose, Enter runs, Esc closes");
  list_->setObjectName("paletteList");
  list_->setAccessibleName("Commands");
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setItemDelegate(new CommandLines(list_));
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setFrameShape(QFrame::NoFrame);
  column->addWidget(field_);
  column->addWidget(list_, 1);
  field_->installEventFilter(this);
  window_->installEventFilter(this);
  connect(field_, &QLineEdit::textChanged, this, &CommandPalette::fill);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run);
  hide();
}

QString CommandPalette::reasonOf(const QAction* action) const {
  if (action->isEnabled()) return {};
  // Where a panel refuses it, its tooltip is the refusal.
  QString tip = action->toolTip();
  const QString key = QStringLiteral(" (%1)").arg(action->shortcut().toString(QKeySequence::NativeText));
  if (tip.endsWith(key)) tip.chop(key.size());
  const bool own = tip != action->statusTip() && tip != readable(action->text()) && !tip.contains(u'<');
  if (own && !action->statusTip().isEmpty()) return tip;
  const QString why = why_(action);
  return why.isEmpty() ? QStringLiteral("nothing to act on") : why;
}

void CommandPalette::addMenu(const QList<QAction*>& actions, const QString& path,
                             QList<Command>* list) const {
  for (QAction* action : actions) {
    if (action->isSeparator() || action->text().isEmpty() || !action->isVisible()) continue;
    if (action->objectName() == QLatin1String(placeholder_action)) continue;
    const QString text = readable(action->text());
    if (QMenu* menu = action->menu()) {
      emit menu->aboutToShow();  // some are filled then
      addMenu(menu->actions(), path.isEmpty() ? text : path + QStringLiteral(" › ") + text, list);
      continue;
    }
    if (action->objectName() == QLatin1String("view.palette")) continue;
    const QString name = action->objectName().isEmpty() ? path + u'/' + text : action->objectName();
    list->append(
        {action, text, path, action->shortcut().toString(QKeySequence::NativeText), reasonOf(action), name});
  }
}

QList<CommandPalette::Command> CommandPalette::commands() const {
  QList<Command> list;
  addMenu(window_->menuBar()->actions(), {}, &list);
  return list;
}

void CommandPalette::open() {
  if (isVisible()) return close();
  focus_ = QApplication::focusWidget();
  commands_ = commands();
  field_->clear();
  fill();
  place();
  show();
  raise();
  field_->setFocus(Qt::ShortcutFocusReason);
}

void CommandPalette::close() {
  if (!isVisible()) return;
  const bool inside = isAncestorOf(QApplication::focusWidget());
  // The focus moves first: hiding the widget that has it would pass it to the next one.
  if (inside && focus_ != nullptr && focus_->isVisible()) focus_->setFocus(Qt::OtherFocusReason);
  hide();
  commands_.clear();
}

void CommandPalette::place() {
  QSize size = largest.boundedTo(window_->size() - QSize(40, 80));
  // As high as its lines are.
  int lines = field_->sizeHint().height() + 3 * 6 + 4;
  for (int row = 0; row < list_->count() && lines < size.height(); ++row) lines += list_->sizeHintForRow(row);
  size.setHeight(std::min(size.height(), lines));
  resize(size);
  move((window_->width() - size.width()) / 2, window_->menuBar()->geometry().bottom() + 8);
}

void CommandPalette::fill() {
  const QString typed = field_->text();
  const QStringList recent = QSettings().value(recent_setting).toStringList();
  struct Line {
    const Command* command;
    FuzzyMatch match;
    qsizetype used;
  };
  QList<Line> lines;
  for (const Command& command : std::as_const(commands_)) {
    if (command.action == nullptr) continue;
    FuzzyMatch match = fuzzyMatch(command.text, typed);
    // By the words of its menu, too, where its own do not do.
    if (match.score == 0) match.score = fuzzyMatch(command.path + u' ' + command.text, typed).score / 2;
    if (match.score == 0 && !typed.trimmed().isEmpty()) continue;
    const qsizetype at = recent.indexOf(command.name);
    lines.append({&command, match, at < 0 ? most_remembered : at});
  }
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    if (a.match.score != b.match.score) return a.match.score > b.match.score;
    return a.used < b.used;
  });
  list_->clear();
  for (const Line& line : std::as_const(lines)) {
    const Command& command = *line.command;
    auto* item = new QListWidgetItem(command.text, list_);
    item->setData(path_role, command.path);
    item->setData(key_role, command.key);
    item->setData(reason_role, command.reason);
    item->setData(index_role, static_cast<int>(line.command - commands_.constData()));
    QList<QVariant> places;
    for (const int place : line.match.places) places << place;
    item->setData(places_role, places);
    QString spoken = command.text + ", " + command.path;
    if (!command.key.isEmpty()) spoken += ", " + command.key;
    if (!command.reason.isEmpty()) spoken += ", not now: " + command.reason;
    item->setData(Qt::AccessibleTextRole, spoken);
  }
  list_->setCurrentRow(0);
  place();
}

void CommandPalette::run() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  const Command command = commands_.value(item->data(index_role).toInt());
  // A disabled one stays in the list, with its reason.
  if (command.action == nullptr || !command.action->isEnabled()) return;
  QSettings settings;
  QStringList recent = settings.value(recent_setting).toStringList();
  recent.removeAll(command.name);
  recent.prepend(command.name);
  settings.setValue(recent_setting, recent.mid(0, most_remembered));
  close();
  command.action->trigger();
}

bool CommandPalette::fieldKey(int key, Qt::KeyboardModifiers modifiers) {
  if ((modifiers & ~Qt::KeypadModifier) != Qt::NoModifier) return false;
  const int rows = list_->count();
  const int page = std::max(1, list_->height() / std::max(1, list_->sizeHintForRow(0)) - 1);
  const int row = list_->currentRow();
  switch (key) {
    case Qt::Key_Escape:
      close();
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      run();
      return true;
    case Qt::Key_Up:
      if (rows > 0) list_->setCurrentRow((row + rows - 1) % rows);
      return true;
    case Qt::Key_Down:
      if (rows > 0) list_->setCurrentRow((row + 1) % rows);
      return true;
    case Qt::Key_PageUp:
      list_->setCurrentRow(std::max(0, row - page));
      return true;
    case Qt::Key_PageDown:
      list_->setCurrentRow(std::min(rows - 1, row + page));
      return true;
    default:
      return false;
  }
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
  if (object == window_) {
    if (event->type() == QEvent::Resize && isVisible()) place();
    return false;
  }
  // A click elsewhere, or another window, closes it.
  if (event->type() == QEvent::FocusOut && static_cast<QFocusEvent*>(event)->reason() != Qt::PopupFocusReason)
    QMetaObject::invokeMethod(
        this,
        [this] {
          if (!isAncestorOf(QApplication::focusWidget())) close();
        },
        Qt::QueuedConnection);
  if (event->type() != QEvent::KeyPress) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  return fieldKey(key->key(), key->modifiers());
}

// Tab stays here.
bool CommandPalette::focusNextPrevChild(bool) {
  return true;
}

}  // namespace tapedeck::app
