#include "app/shell/opening/attach_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/kernel/process/short_path.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr int refreshMs = 1000;
constexpr int processRole = Qt::UserRole;

QString sinceText(const QDateTime& started) {
  const bool today = started.date() == QDate::currentDate();
  return started.toString(today ? "hh:mm:ss" : "yyyy-MM-dd hh:mm");
}

}  // namespace

AttachDialog::AttachDialog(QWidget* parent) : QDialog(parent) {
  setObjectName("attachDialog");
  setWindowTitle("Attach to a running program");
  resize(760, 360);
  auto* rows = new QVBoxLayout(this);
  auto* what = inspector::plainLabel(
      "The program keeps running while its ops are shown here; you can pause and step it. Detaching leaves "
      "it running.");
  what->setWordWrap(true);
  rows->addWidget(what);
  pages_ = new QStackedWidget;
  rows->addWidget(pages_, 1);
  list_ = new QTreeWidget;
  list_->setHeaderLabels({"Program", "PID", "Running since", "Folder"});
  list_->setAccessibleName("Running programs");
  list_->setRootIsDecorated(false);
  list_->setAllColumnsShowFocus(true);
  list_->setUniformRowHeights(true);
  list_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  pages_->addWidget(list_);
  none_ =
      inspector::plainLabel("No running program can be attached to.\n\nStart one with\n\n    " +
                            howToStartProgram() + "\n\nand it appears here as soon as it imports tapedeck.");
  none_->setObjectName("noPrograms");
  none_->setAlignment(Qt::AlignCenter);
  none_->setWordWrap(true);
  none_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  pages_->addWidget(none_);
  buttons_ = new QDialogButtonBox(QDialogButtonBox::Cancel);
  buttons_->button(QDialogButtonBox::Cancel)
      ->setAutoDefault(false);  // also while there is nothing to attach to
  attach_ = buttons_->addButton("&Attach", QDialogButtonBox::AcceptRole);
  attach_->setObjectName("attach");
  attach_->setToolTip("Attach to the chosen program (Enter)");
  attach_->setDefault(true);
  rows->addWidget(buttons_);
  connect(buttons_, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(list_, &QTreeWidget::itemActivated, this, &QDialog::accept);
  connect(list_, &QTreeWidget::currentItemChanged, this, &AttachDialog::enableAttach);
  connect(&again_, &QTimer::timeout, this, &AttachDialog::refresh);
  again_.start(refreshMs);
  refresh();
  list_->setFocus();
}

void AttachDialog::refresh() {
  const QList<Program> now = runningPrograms();
  pages_->setCurrentWidget(now.isEmpty() ? static_cast<QWidget*>(none_) : list_);
  const auto same = [](const Program& a, const Program& b) { return a.sameAs(b) && a.name() == b.name(); };
  if (now.size() == programs_.size() && std::equal(now.begin(), now.end(), programs_.begin(), same) &&
      list_->topLevelItemCount() == now.size())
    return enableAttach();
  const qint64 before = chosen() ? chosen()->process : 0;
  programs_ = now;
  list_->clear();
  for (const Program& program : programs_) {
    auto* item = new QTreeWidgetItem(list_, {program.name(), QString::number(program.process),
                                             sinceText(program.started), shortPath(program.folder)});
    item->setData(0, processRole, program.process);
    item->setToolTip(0, inspector::plainTip(program.arguments.join(' ')));
    item->setToolTip(3, inspector::plainTip(program.folder));
    if (program.process == before) list_->setCurrentItem(item);
  }
  if (!list_->currentItem() && list_->topLevelItemCount() > 0) list_->setCurrentItem(list_->topLevelItem(0));
  enableAttach();
}

void AttachDialog::enableAttach() {
  attach_->setEnabled(chosen().has_value());
}

std::optional<Program> AttachDialog::chosen() const {
  const QTreeWidgetItem* item = list_->currentItem();
  if (!item) return std::nullopt;
  for (const Program& program : programs_)
    if (program.process == item->data(0, processRole).toLongLong()) return program;
  return std::nullopt;
}

}  // namespace tapedeck::app
