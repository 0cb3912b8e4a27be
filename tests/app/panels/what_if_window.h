// A window in which the past is changed with mouse and keys.
#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QTreeWidget>

#include "app/shell/panels/workspaces.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/branch_strip.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/what_if/change_form.h"
#include "inspector/panels/what_if/what_if_view.h"
#include "tests/app/sample_window.h"

namespace tapedeck::app {

/// For test classes to inherit from. What fails in it counts as the test's failure.
class WhatIfWindow : protected SampleWindow {
 protected:
  using RecordsModel = inspector::RecordsModel;
  QTemporaryDir folder_;

  /// Opens a file with these cells, and runs the first with visible panels.
  void run(const QStringList& cells) {
    openCells(folder_, cells);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("debug"));
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    QTRY_VERIFY_WITH_TIMEOUT(timeline(*window_)->isVisible() && tensor(*window_)->isVisible(), patience);
  }
  QString runCell(int cell) {
    click(cell);
    runByKey(cell);
    const bool printed = waitFor([&] { return !outputText(*window_, cell).isEmpty(); }, patience);
    if (!printed) return "nothing was printed";
    return outputText(*window_, cell).trimmed();
  }

  inspector::WhatIfView* whatIf() const { return window_->findChild<inspector::WhatIfView*>(); }
  QTableView* ops() const { return timeline(*window_)->table(); }
  int rowOf(const QString& op) const {
    int found = -1;
    const auto look = [&] {
      const RecordsModel* rows = timeline(*window_)->model();
      for (int row = rows->rowCount(); row-- > 0 && found < 0;)
        if (rows->index(row, RecordsModel::Op).data().toString().endsWith(' ' + op)) found = row;
      return found >= 0;
    };
    return waitFor(look, patience) ? found : -1;
  }
  QPoint placeOf(int row) const {
    return ops()->visualRect(ops()->model()->index(row, RecordsModel::Op)).center();
  }
  /// The op's row in Ops, and one of its tensors in Tensor.
  void show(const QString& op, int chip) {
    const int row = rowOf(op);
    QVERIFY2(row >= 0, qPrintable(op));
    ops()->scrollTo(ops()->model()->index(row, 0));
    QTest::mouseClick(ops()->viewport(), Qt::LeftButton, {}, placeOf(row));
    const auto number = timeline(*window_)->model()->recordAt(row);
    QTRY_COMPARE(window_->session()->cursor(), number);
    QTabBar* chips = tensor(*window_)->chips();
    const auto& list = tensor(*window_)->model()->chips();
    QTRY_VERIFY_WITH_TIMEOUT(chip < chips->count() && list[static_cast<std::size_t>(chip)].record == number,
                             patience);
    QTest::mouseClick(chips, Qt::LeftButton, {}, chips->tabRect(chip).center());
    QTRY_COMPARE(tensor(*window_)->model()->currentChip(), chip);
    QTRY_VERIFY_WITH_TIMEOUT(tensor(*window_)->model()->tile(), patience);
  }
  /// What Tensor shows, when it is there.
  std::vector<double> values() const {
    const inspector::TensorModel* model = tensor(*window_)->model();
    const bool there = waitFor([&] { return model->tile() && !model->loading(); }, patience);
    return there ? model->tile()->values : std::vector<double>();
  }
  template <class Field>
  Field* field(const char* name) const {
    return whatIf()->findChild<Field*>(name);
  }
  QString problemOf(inspector::ChangeField of) const {
    const auto* label = field<QLabel>(QString("changeProblem%1").arg(static_cast<int>(of)).toLatin1());
    return label->isVisible() ? label->text() : QString();
  }
  /// What is typed at the keyboard into the form, from the field that has the focus on.
  void typeInForm(const QString& text) {
    QTRY_VERIFY(whatIf()->form()->isAncestorOf(QApplication::focusWidget()));
    for (const QChar letter : text)
      if (letter == '\n')
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
      else if (letter == '\t')
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
      else
        QTest::keyClick(QApplication::focusWidget(), letter.toLatin1());
  }
  void choose(const QString& words) {
    auto* kinds = field<QComboBox>("changeKind");
    QTRY_VERIFY(kinds->isVisible());
    kinds->setFocus();
    QTest::keyClick(kinds, Qt::Key_Home);
    for (int i = 0; i < kinds->count() && !kinds->currentText().contains(words); ++i)
      QTest::keyClick(kinds, Qt::Key_Down);
    QVERIFY2(kinds->currentText().contains(words), qPrintable(words));
  }
  void openForm() {
    QTRY_VERIFY_WITH_TIMEOUT(entry("what_if.ask")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F4);
    QTRY_VERIFY(whatIf()->isVisible() && whatIf()->form()->isVisible());
    QTRY_VERIFY(whatIf()->form()->isAncestorOf(QApplication::focusWidget()));
  }
  void replay() {
    QTRY_VERIFY(entry("what_if.replay")->isEnabled());
    QTest::keyClick(window_.get(), Qt::Key_F4, Qt::ShiftModifier);
  }
  /// Esc, once the panel says that; no branch comes of it, and the one change stays.
  void cancelReplayAt(const QString& progress) {
    QTRY_VERIFY2_WITH_TIMEOUT(whatIf()->sentence()->text().contains(progress),
                              qPrintable(whatIf()->sentence()->text()), patience);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QTRY_VERIFY(!whatIf()->sentence()->text().contains("Replaying"));
    QVERIFY(strips().isEmpty());
    QVERIFY(moved().isEmpty());
    QCOMPARE(changes().size(), 1);
  }
  bool told(const QString& part) const {
    return waitFor([&] { return whatIf()->sentence()->text().contains(part); }, patience);
  }
  QStringList changes() const {
    QStringList texts;
    for (int i = 0; i < whatIf()->changes()->topLevelItemCount(); ++i)
      texts << whatIf()->changes()->topLevelItem(i)->text(0);
    return texts;
  }
  QStringList moved() const {
    QStringList texts;
    const QTreeWidget* list = whatIf()->moved();
    for (int i = 0; i < list->topLevelItemCount(); ++i)
      texts << list->topLevelItem(i)->text(0).section(' ', 0, 0) + ": " + list->topLevelItem(i)->text(2) +
                   ", " + list->topLevelItem(i)->text(3);
    return texts;
  }
  QAction* entry(const char* id) const {
    for (QAction* action : window_->menuBar()->actions())
      if (action->text() == "Wh&y")
        for (QAction* one : action->menu()->actions())
          if (one->objectName() == id) return one;
    return nullptr;
  }
  QStringList strips() const {
    QStringList texts;
    for (const inspector::BranchStrip* strip : window_->findChildren<inspector::BranchStrip*>())
      if (strip->isVisible()) texts << strip->text();
    return texts;
  }
};

}  // namespace tapedeck::app
