#include "app/shell/window/bookmark_note.h"

#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {

QString placeText(const inspector::Bookmark& bookmark, const inspector::CellNames& cells) {
  QStringList parts;
  if (!bookmark.cell.isEmpty())
    parts << cells.nameOf(bookmark.cell, bookmark.execution);
  else if (!bookmark.file.isEmpty())
    parts << bookmark.file.section('/', -1);
  if (bookmark.line > 0) parts << QString("line %1").arg(bookmark.line);
  return parts.join(", ");
}

BookmarkNote::BookmarkNote(const inspector::Bookmark& bookmark, const QString& place, QWidget* parent)
    : QDialog(parent), field_(new QLineEdit(bookmark.note)) {
  setObjectName("bookmarkNote");
  setWindowTitle("Bookmark");
  setAttribute(Qt::WA_DeleteOnClose);
  setMinimumWidth(460);
  auto* rows = new QVBoxLayout(this);
  auto* about = inspector::plainLabel(QString("Op %1, %2%3")
                                          .arg(inspector::countText(bookmark.record), bookmark.op,
                                               place.isEmpty() ? QString() : ": " + place));
  about->setWordWrap(true);
  rows->addWidget(about);
  field_->setObjectName("bookmarkNoteText");
  field_->setPlaceholderText("A note, or none");
  field_->setAccessibleName("Note of the bookmark on op " + inspector::countText(bookmark.record));
  field_->setToolTip("Enter saves the bookmark with this note; Esc changes nothing");
  field_->setMaxLength(inspector::Bookmarks::longest_note);
  field_->setClearButtonEnabled(true);
  rows->addWidget(field_);
  auto* keep = new QPushButton("&Keep");
  keep->setObjectName("bookmarkKeep");
  keep->setToolTip("Save the bookmark with this note (Enter)");
  keep->setDefault(true);
  auto* cancel = new QPushButton("Cancel");
  cancel->setToolTip("Change nothing (Esc)");
  cancel->setAutoDefault(false);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(keep);
  buttons->addWidget(cancel);
  rows->addLayout(buttons);
  connect(keep, &QPushButton::clicked, this, &QDialog::accept);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(this, &QDialog::accepted, this,
          [this] { emit kept(inspector::Bookmarks::noteOf(field_->text())); });
}

void BookmarkNote::open() {
  QDialog::open();
  raise();
  activateWindow();
  field_->setFocus();
  field_->selectAll();
}

}  // namespace tapedeck::app
