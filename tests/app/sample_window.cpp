#include "tests/app/sample_window.h"

#include <QAbstractButton>
#include <QInputMethodEvent>
#include <QLineEdit>
#include <QTableView>

#include "inspector/model/ops/records_model.h"

namespace tapedeck::app {

void SampleWindow::open(const QString& file) {
  window_ = newWindow();
  auto* card = window_->findChild<QAbstractButton*>("open:" + file);
  QVERIFY(card);
  QTest::mouseClick(card, Qt::LeftButton);
  QTRY_VERIFY(window_->notebook()->isVisible() && document().cellCount() > 3);
  QCOMPARE(window_->kernel()->state(), KernelState::stopped);  // opening starts nothing
}

void SampleWindow::openCells(const QTemporaryDir& folder, const QStringList& cells) {
  window_ = newWindow();
  window_->openNotebook(writeNotebook(folder, "cells.ipynb", cells));
  QTRY_VERIFY_WITH_TIMEOUT(document().cellCount() == cells.size() && document().cell(0).source == cells[0],
                           patience);
}

void SampleWindow::press(Qt::Key key, Qt::KeyboardModifiers modifiers) {
  QWidget* focus = QApplication::focusWidget();
  QTest::keyClick(focus ? focus : window_.get(), key, modifiers);
}

void SampleWindow::type(const QString& text) {
  QVERIFY(QApplication::focusWidget());
  QInputMethodEvent event;
  event.setCommitString(text);
  QApplication::sendEvent(QApplication::focusWidget(), &event);
}

int SampleWindow::cellThatBegins(const QString& code) const {
  for (int i = 0; i < document().cellCount(); ++i)
    if (document().cell(i).type == CellType::code && document().cell(i).source.startsWith(code)) return i;
  return -1;
}

CodeEditor* SampleWindow::editorOf(int cell) const {
  for (auto* widget : window_->notebook()->findChildren<CellWidget*>())
    if (widget->id() == document().cell(cell).id) return widget->editor();
  return nullptr;
}

CellState SampleWindow::stateOf(int cell) const {
  return cellStateOf(*window_, cell);
}

void SampleWindow::click(int cell) {
  QVERIFY(cell >= 0);
  window_->notebook()->setCurrentCell(cell, false);  // visible, as by scrolling there
  QTRY_VERIFY(editorOf(cell) && editorOf(cell)->isVisible());
  QTest::mouseClick(editorOf(cell)->viewport(), Qt::LeftButton, {}, {60, 8});
  QTRY_COMPARE(window_->notebook()->currentCell(), cell);
}

void SampleWindow::runByKey(int cell) {
  press(Qt::Key_Return, Qt::ShiftModifier);
  QTRY_VERIFY2_WITH_TIMEOUT(stateOf(cell) == CellState::done, qPrintable(outputText(*window_, cell)),
                            patience);
}

void SampleWindow::goTo(const QString& filter) {
  using inspector::RecordsModel;
  auto* edit = timeline(*window_)->filterEdit();
  auto* table = timeline(*window_)->table();
  const RecordsModel* rows = timeline(*window_)->model();
  QTRY_VERIFY(edit->isVisible());
  QTest::mouseClick(edit, Qt::LeftButton);
  edit->selectAll();
  QTest::keyClicks(edit, filter);
  QTest::keyClick(edit, Qt::Key_Return);
  QTRY_VERIFY(rows->filterText() == filter && !rows->scanning());
  QTRY_COMPARE(rows->listedCount(), 1);
  const auto found = [&] { return rows->index(rows->rowOf(rows->listedRecord(0)), RecordsModel::Op); };
  QTRY_VERIFY(found().data(RecordsModel::HereRole).toBool());
  table->scrollTo(found().siblingAtColumn(0));
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(found()).center());
  QTRY_COMPARE(session().cursor(), rows->listedRecord(0));
}

bool SampleWindow::allDone() const {
  for (int i = 0; i < document().cellCount(); ++i)
    if (document().cell(i).type == CellType::code && stateOf(i) != CellState::done) return false;
  return true;
}

void SampleWindow::runAll() {
  QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
  QTRY_VERIFY_WITH_TIMEOUT(allDone(), 10 * patience);
  showAllRecords();
}

void SampleWindow::showAllRecords() {
  QVERIFY(knowsAllRecords(*window_) && session().recordCount() > 0);
  QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
  QTRY_VERIFY_WITH_TIMEOUT(session().cursor() && session().cursor() == session().recordCount(), patience);
}

void SampleWindow::stopInTheNetwork() {
  const int cell = cellThatBegins("import tapedeck");
  click(cell);
  CodeEditor* editor = editorOf(cell);
  const qsizetype at = editor->source().split('\n').indexOf("    gradients = tape.gradient(loss, weights)");
  const int line = static_cast<int>(at) + 1;
  QVERIFY(line > 0);
  QTest::mouseClick(editor->viewport(), Qt::LeftButton, {},
                    {editor->marginWidth(0) + editor->marginWidth(1) + 12,
                     editor->yOfLine(line) + editor->lineHeight() / 2});
  press(Qt::Key_F9);
  press(Qt::Key_0, Qt::ControlModifier);
  auto* condition = window_->findChild<QLineEdit*>("breakpointCondition");
  QTRY_VERIFY_WITH_TIMEOUT(condition && condition->isVisible(), patience);
  QTest::mouseClick(condition, Qt::LeftButton);
  QTest::keyClicks(condition, "step == 40");
  QTest::keyClick(condition, Qt::Key_Return);
  click(cell);
  press(Qt::Key_Return, Qt::ControlModifier);
  QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
  QCOMPARE(session().status().line, static_cast<std::uint32_t>(line));
  QTRY_COMPARE_WITH_TIMEOUT(editor->markedLine(), line, patience);
}

}  // namespace tapedeck::app
