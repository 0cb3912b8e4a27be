#include "app/shell/opening/closing_question.h"

#include <QMessageBox>
#include <QPushButton>

#include "app/control/cell_names.h"
#include "app/control/cell_runner.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/confirm.h"

namespace tapedeck::app {
namespace {

QPushButton* addButton(QMessageBox& box, const char* name, const QString& text, QMessageBox::ButtonRole role,
                       const QString& tip) {
  QPushButton* button = box.addButton(text, role);
  button->setObjectName(name);
  button->setToolTip(inspector::plainTip(tip));
  return button;
}

QString capital(QString sentence) {
  if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
  return sentence;
}

}  // namespace

QString runningSentence(const CellRunner& runner, const Kernel& kernel) {
  if (kernel.runs() != Runs::cells) return {};
  const int waiting = runner.waitingCells();
  const QString cell = cellName(*runner.document(), runner.runningCell());
  QString sentence;
  if (!runner.busy())
    sentence = kernel.state() == KernelState::busy ? "its session runs a cell of another program" : "";
  else if (cell.isEmpty())
    sentence = waiting == 1 ? QString("a cell waits to run") : QString("%1 cells wait to run").arg(waiting);
  else
    sentence = cell + " is running";
  if (!cell.isEmpty() && waiting > 0)
    sentence += waiting == 1 ? QString(", and a cell waits behind it")
                             : QString(", and %1 cells wait behind it").arg(waiting);
  return sentence;
}

ClosingAnswer askClosing(QWidget* window, const ClosingFacts& facts) {
  QMessageBox box(window);
  box.setIcon(QMessageBox::Question);
  box.setWindowTitle(facts.quitting ? "Quit while a cell runs" : "Close while a cell runs");
  QString details = QString("%1 ends its session.%2")
                        .arg(facts.quitting ? "Quitting" : "Closing",
                             facts.modified ? " The notebook has unsaved changes." : "");
  QPushButton* keep = nullptr;
  if (!facts.quitting) {
    details +=
        "\n\nKept running, it goes on without a window until Tapedeck quits. Open the file again, or choose "
        "it in Session › Kept running, to see what it printed meanwhile.";
    keep = addButton(box, "keepRunning", "&Keep it running", QMessageBox::AcceptRole,
                     "Close the window; the session goes on");
  }
  inspector::setWords(box, QString("In %1 %2.").arg(facts.name, facts.running), details);
  QPushButton* save = nullptr;
  if (facts.modified)
    save = addButton(box, "saveAndEnd", "&Save and end it", QMessageBox::YesRole,
                     "End the session, save the notebook, and close");
  QPushButton* end = addButton(box, "endSession", facts.modified ? "&End it without saving" : "&End it",
                               QMessageBox::DestructiveRole, "End the session, and close");
  QPushButton* cancel = box.addButton(QMessageBox::Cancel);
  cancel->setText("&Cancel");
  box.setDefaultButton(keep ? keep : cancel);  // neither ends anything
  box.setEscapeButton(cancel);
  box.exec();
  const QAbstractButton* clicked = box.clickedButton();
  if (!clicked || clicked == cancel) return ClosingAnswer::stay;
  return clicked == keep   ? ClosingAnswer::keepRunning
         : clicked == save ? ClosingAnswer::save
         : clicked == end  ? ClosingAnswer::end
                           : ClosingAnswer::stay;
}

bool askRestart(QWidget* window, const QString& running) {
  if (running.isEmpty()) return true;
  QMessageBox box(window);
  box.setIcon(QMessageBox::Question);
  box.setWindowTitle("Restart while a cell runs");
  inspector::setWords(
      box, capital(running) + ".",
      "A restart ends it, and what the session computed is lost. The notebook and its outputs stay.");
  QPushButton* restart = addButton(box, "restartSession", "&Restart", QMessageBox::DestructiveRole,
                                   "End what is running, and start a fresh session");
  QPushButton* cancel = box.addButton(QMessageBox::Cancel);
  cancel->setText("&Cancel");
  inspector::makeSafe(box, cancel);
  box.exec();
  return box.clickedButton() == restart;
}

}  // namespace tapedeck::app
