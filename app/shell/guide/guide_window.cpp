#include "app/shell/guide/guide_window.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QScreen>
#include <QScrollBar>
#include <QSplitter>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "app/shell/guide/guide_pages.h"
#include "app/shell/guide/guide_text.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::app {
namespace {

constexpr QSize wanted_size(1000, 760);
constexpr int list_width = 250;
/// What an entry of the list leads to.
constexpr int page_role = Qt::UserRole, anchor_role = Qt::UserRole + 1;
/// Of a paragraph that was found, in letters.
constexpr qsizetype longest_snippet = 90;

QToolButton* buttonFor(QAction* action) {
  auto* button = new QToolButton;
  button->setDefaultAction(action);
  button->setToolButtonStyle(Qt::ToolButtonTextOnly);
  return button;
}

/// The words around the first one that was sought.
QString snippet(const QString& text, const QString& words) {
  const QString first = words.split(' ', Qt::SkipEmptyParts).value(0);
  const qsizetype at = std::max<qsizetype>(0, text.indexOf(first, 0, Qt::CaseInsensitive));
  const qsizetype begin = at < longest_snippet / 2 ? 0 : text.indexOf(' ', at - longest_snippet / 2) + 1;
  const QString part = text.mid(begin, longest_snippet);
  return (begin > 0 ? "…" : "") + part + (begin + part.size() < text.size() ? "…" : "");
}

}  // namespace

GuideWindow::GuideWindow(QWidget* owner)
    : QDialog(nullptr, Qt::Window),
      owner_(owner),
      field_(new QLineEdit),
      list_(new QListWidget),
      text_(new GuideText) {
  setObjectName("guideWindow");
  setWindowTitle("Guide");
  setAttribute(Qt::WA_DeleteOnClose);
  setAttribute(Qt::WA_QuitOnClose, false);  // the program ends with the last window that has a notebook
  owner->installEventFilter(this);
  back_ = inspector::addKeyedAction(this, "◀ Back", {QKeySequence("Alt+Left")}, "Previous page");
  back_->setObjectName("guideBack");
  connect(back_, &QAction::triggered, this, [this] { go(-1); });
  forward_ = inspector::addKeyedAction(this, "Forward ▶", {QKeySequence("Alt+Right")}, "Next page");
  forward_->setObjectName("guideForward");
  connect(forward_, &QAction::triggered, this, [this] { go(1); });

  field_->setObjectName("guideSearch");
  field_->setPlaceholderText("Search the guide");
  field_->setToolTip(
      "Parts of the guide that contain every word (Ctrl+F; Enter shows the first, Esc clears)");
  field_->setAccessibleName("Search the guide");
  field_->setClearButtonEnabled(true);
  connect(field_, &QLineEdit::textChanged, this, &GuideWindow::search);
  connect(field_, &QLineEdit::returnPressed, this, [this] { choose(std::max(0, list_->currentRow())); });

  list_->setObjectName("guideList");
  list_->setAccessibleName("Pages of the guide");
  list_->setWordWrap(true);
  list_->setSpacing(2);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  connect(list_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { choose(list_->row(item)); });
  connect(list_, &QListWidget::itemClicked, this,
          [this](QListWidgetItem* item) { choose(list_->row(item)); });
  connect(text_, &GuideText::linkOpened, this, &GuideWindow::follow);

  auto* bar = new QHBoxLayout;
  bar->addWidget(buttonFor(back_));
  bar->addWidget(buttonFor(forward_));
  bar->addWidget(field_, 1);
  auto* parts = new QSplitter;
  parts->setChildrenCollapsible(false);
  parts->addWidget(list_);
  parts->addWidget(text_);
  parts->setStretchFactor(1, 1);
  parts->setSizes({list_width, wanted_size.width() - list_width});
  auto* column = new QVBoxLayout(this);
  column->addLayout(bar);
  column->addWidget(parts, 1);
  place();
  listPages();
  updateWay();
  list_->setFocus();
}

/// In the middle of its owner, as far as the screen has room.
void GuideWindow::place() {
  const QRect room = owner_->screen()->availableGeometry();
  QRect wanted(QPoint(), wanted_size.boundedTo(room.size() * 9 / 10));
  wanted.moveCenter(owner_->frameGeometry().center());
  wanted.moveRight(std::min(wanted.right(), room.right()));
  wanted.moveBottom(std::min(wanted.bottom(), room.bottom()));
  wanted.moveLeft(std::max(wanted.left(), room.left()));
  wanted.moveTop(std::max(wanted.top(), room.top()));
  resize(wanted.size());
  move(wanted.topLeft());
}

bool GuideWindow::eventFilter(QObject* watched, QEvent* event) {
  if (watched == owner_ && event->type() == QEvent::Hide && !event->spontaneous()) close();
  return QDialog::eventFilter(watched, event);
}

void GuideWindow::open(const QString& address) {
  const qsizetype sign = address.indexOf('#');
  const QString file = sign < 0 ? address : address.left(sign);
  Place place;
  place.page = file.isEmpty() && at_ >= 0 ? history_[at_].page : std::max(0, guidePage(file));
  place.anchor = sign < 0 ? QString() : address.mid(sign + 1);
  visit(place);
}

void GuideWindow::follow(const QString& address) {
  const QUrl url(address);
  if (url.scheme() == "command") return emit commandWanted(url.path());
  if (url.scheme() == "sample") return emit sampleWanted(url.path());
  open(address);
}

void GuideWindow::visit(const Place& place, const QString& words) {
  const bool same_page = at_ >= 0 && history_[at_].page == place.page;
  history_ = history_.mid(0, at_ + 1);
  history_ << place;
  at_ = static_cast<int>(history_.size()) - 1;
  if (same_page)
    text_->goTo(place.anchor, words);
  else
    text_->setPage(guidePages()[place.page].source, place.anchor, words);
  updateWay();
}

void GuideWindow::go(int by) {
  if (at_ + by < 0 || at_ + by >= history_.size()) return;
  const int before = history_[at_].page;
  at_ += by;
  const Place& place = history_[at_];
  if (place.page != before)
    text_->setPage(guidePages()[place.page].source, place.anchor);
  else
    text_->goTo(place.anchor);
  updateWay();
}

void GuideWindow::updateWay() {
  back_->setEnabled(at_ > 0);
  forward_->setEnabled(at_ + 1 < history_.size());
  if (at_ < 0) return;
  const GuidePage& page = guidePages()[history_[at_].page];
  setWindowTitle(page.file == "index.md" ? QString("Guide") : QString("Guide: %1").arg(page.title));
  text_->setAccessibleName(page.title);
  if (field_->text().isEmpty()) list_->setCurrentRow(history_[at_].page);
}

void GuideWindow::listPages() {
  list_->clear();
  for (int i = 0; i < guidePages().size(); ++i) {
    auto* item = new QListWidgetItem(guidePages()[i].title, list_);
    item->setData(page_role, i);
  }
  if (at_ >= 0) list_->setCurrentRow(history_[at_].page);
}

void GuideWindow::search(const QString& words) {
  if (words.trimmed().isEmpty()) return listPages();
  list_->clear();
  const QList<GuideHit> hits = searchGuide(words);
  for (const GuideHit& hit : hits) {
    const QString place = guidePages()[hit.page].title + (hit.heading.isEmpty() ? "" : " ▸ " + hit.heading);
    auto* item = new QListWidgetItem(place + '\n' + snippet(hit.text, words), list_);
    item->setToolTip(inspector::plainTip(hit.text));
    item->setData(page_role, hit.page);
    item->setData(anchor_role, hit.heading.isEmpty() ? QString() : anchorOf(hit.heading));
  }
  if (hits.isEmpty()) {
    auto* none = new QListWidgetItem(QString("No part of the guide has “%1”.").arg(words.trimmed()), list_);
    none->setFlags(Qt::ItemIsEnabled);
  } else {
    list_->setCurrentRow(0);
  }
}

void GuideWindow::choose(int row) {
  const QListWidgetItem* item = list_->item(row);
  if (!item || !item->data(page_role).isValid()) return;
  Place place;
  place.page = item->data(page_role).toInt();
  place.anchor = item->data(anchor_role).toString();
  visit(place, field_->text());
}

void GuideWindow::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Find)) {
    field_->selectAll();
    return field_->setFocus();
  }
  if (event->key() == Qt::Key_Escape && !field_->text().isEmpty()) return field_->clear();
  // From the search field: the hits by Up and Down, the page by Page Up and Page Down.
  QScrollBar* bar = text_->verticalScrollBar();
  switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down: {
      const int row = list_->currentRow() + (event->key() == Qt::Key_Up ? -1 : 1);
      if (row >= 0 && row < list_->count()) list_->setCurrentRow(row);
      return;
    }
    case Qt::Key_PageUp:
      return bar->setValue(bar->value() - bar->pageStep());
    case Qt::Key_PageDown:
      return bar->setValue(bar->value() + bar->pageStep());
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return;  // a dialog would press one of its buttons
    default:
      return QDialog::keyPressEvent(event);
  }
}

}  // namespace tapedeck::app
