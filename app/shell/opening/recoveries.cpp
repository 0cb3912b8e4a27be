#include "app/shell/opening/recoveries.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/shell/opening/file_control.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/confirm.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr qsizetype most_offers = 3;
constexpr char about_writing[] = "recovery.failed";
constexpr char about_other_work[] = "recovery.others";

QList<Recoveries*> all_recoveries;

QString topicOf(const RecoveryEntry& entry) {
  return "recovery:" + entry.file;
}

QString nameOf(const RecoveryEntry& entry) {
  if (!entry.path.isEmpty()) return QFileInfo(entry.path).fileName();
  return entry.name.isEmpty() ? QString("a notebook that was never saved") : entry.name;
}

QString timeOf(const RecoveryEntry& entry) {
  return QLocale().toString(entry.time.toLocalTime(), QLocale::ShortFormat);
}

}  // namespace

Recoveries::Recoveries(Document* document, MessageBar* messages, FileControl* files)
    : document_(document),
      messages_(messages),
      files_(files),
      writer_(document),
      first_(all_recoveries.isEmpty()) {
  all_recoveries << this;
  connect(&writer_, &RecoveryWriter::failed, this, [this](const QString& sentence) {
    // It is tried again all the time, and told once.
    if (std::exchange(failure_, sentence) == sentence) return;
    messages_->show(MessageBar::Kind::warning,
                    "Unsaved work would be lost if the program ended now: " + sentence, {}, about_writing);
  });
  connect(&writer_, &RecoveryWriter::written, this, [this] {
    failure_.clear();
    messages_->dismiss(about_writing);
  });
}

Recoveries::~Recoveries() {
  all_recoveries.removeAll(this);
}

void Recoveries::tell(const RecoveryEntry& entry, const QString& sentence) {
  messages_->show(MessageBar::Kind::warning, sentence,
                  {{"Restore it", [this, entry] { files_->restore(entry); }},
                   {"Discard",
                    [this, entry, sentence] {
                      if (!throwAway(entry)) tell(entry, sentence);
                    }}},
                  topicOf(entry));
}

void Recoveries::offer() {
  const QList<RecoveryEntry> entries = pendingRecoveries();
  for (const RecoveryEntry& entry : entries.mid(0, most_offers))
    tell(entry, QString("Tapedeck ended unexpectedly. Unsaved work on %1 from %2 was kept.")
                    .arg(nameOf(entry), timeOf(entry)));
  tellOthers(entries.size() - most_offers);
}

void Recoveries::tellOthers(qsizetype count) {
  if (count <= 0)
    messages_->dismiss(about_other_work);
  else
    messages_->show(MessageBar::Kind::information,
                    count == 1 ? QString("Unsaved work on another notebook was kept.")
                               : QString("Unsaved work on %1 other notebooks was kept.").arg(count),
                    {{"Show all…", [this] { showAll(); }}}, about_other_work);
}

void Recoveries::offerFor(const QString& path) {
  const QString file = QFileInfo(path).canonicalFilePath();
  QList<RecoveryEntry> own, others;
  messages_->dismiss(about_other_work);
  for (const RecoveryEntry& entry : pendingRecoveries()) {
    const bool here = !path.isEmpty() && !entry.path.isEmpty() &&
                      (entry.path == path || QFileInfo(entry.path).canonicalFilePath() == file);
    (here ? own : others) << entry;
  }
  // The notebook needs the room: one message may stay as it is, several become one.
  if (!first_ || others.size() != 1) {
    for (const RecoveryEntry& entry : others) messages_->dismiss(topicOf(entry));
    if (first_) tellOthers(others.size());
  }
  // Work on this notebook comes last: the newest message is the one shown.
  for (const RecoveryEntry& entry : own)
    tell(entry,
         QString("Unsaved work on this notebook from %1 was kept when Tapedeck ended unexpectedly. What "
                 "you see is the file.")
             .arg(timeOf(entry)));
}

void Recoveries::adopt(const RecoveryEntry& entry) {
  if (!writer_.adopt(entry)) writer_.writeNow();
  decided(entry);
}

bool Recoveries::throwAway(const RecoveryEntry& entry) {
  const QString question = QString("The unsaved work on %1 from %2 can't be restored afterwards. Discard it?")
                               .arg(nameOf(entry), timeOf(entry));
  if (!inspector::confirm(messages_->window(), "Discard unsaved work", question, "&Discard")) return false;
  discardRecovery(entry);
  decided(entry);
  return true;
}

void Recoveries::decided(const RecoveryEntry& entry) {
  const QList<RecoveryEntry> left = pendingRecoveries();
  for (Recoveries* recoveries : all_recoveries) {
    recoveries->messages_->dismiss(topicOf(entry));
    if (!recoveries->messages_->shows(about_other_work)) continue;
    const auto shown = std::count_if(left.begin(), left.end(), [recoveries](const RecoveryEntry& other) {
      return recoveries->messages_->shows(topicOf(other));
    });
    recoveries->tellOthers(left.size() - shown);
  }
}

void Recoveries::showAll() {
  auto* dialog = new QDialog(messages_->window());
  dialog->setObjectName("recoveredWork");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle("Recovered work");
  auto* column = new QVBoxLayout(dialog);
  const QList<RecoveryEntry> entries = pendingRecoveries();
  auto* said = inspector::plainLabel(
      entries.isEmpty() ? "There is no recovered work: every notebook was saved, or closed by its user."
                        : "Kept when Tapedeck ended unexpectedly, until it is restored or thrown away:");
  said->setWordWrap(true);
  column->addWidget(said);
  auto* list = new QListWidget;
  list->setAccessibleName("Recovered work");
  for (const RecoveryEntry& entry : entries) {
    const QString folder = entry.path.isEmpty() ? QString() : " in " + QFileInfo(entry.path).path();
    list->addItem(QString("%1, %2%3").arg(nameOf(entry), timeOf(entry), folder));
  }
  list->setVisible(!entries.isEmpty());
  list->setCurrentRow(0);
  column->addWidget(list);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
  QPushButton* restore = nullptr;
  if (!entries.isEmpty()) {
    const auto add = [&](const QString& text, const QString& tip, const auto& act) {
      QPushButton* button = buttons->addButton(text, QDialogButtonBox::ActionRole);
      button->setToolTip(inspector::plainTip(tip));
      connect(button, &QPushButton::clicked, this, [dialog, list, entries, act] {
        const RecoveryEntry entry = entries.value(list->currentRow());
        dialog->close();
        if (!entry.file.isEmpty()) act(entry);
      });
      return button;
    };
    restore = add("Restore it", "Open it as it was",
                  [this](const RecoveryEntry& entry) { files_->restore(entry); });
    add("Discard", "Remove it for good", [this](const RecoveryEntry& entry) { throwAway(entry); });
  }
  column->addWidget(buttons);
  if (restore) {
    restore->setDefault(true);  // Return in the list
    list->setFocus();
  }
  dialog->resize(560, entries.isEmpty() ? 100 : 300);
  dialog->open();
}

}  // namespace tapedeck::app
