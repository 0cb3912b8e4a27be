// A sample opened from the start page, and what a user does in it with keys and mouse.
#pragma once

#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "tests/app/window_fixture.h"

namespace tapedeck::app {

/// For test classes to inherit from. What fails in it counts as the test's failure.
class SampleWindow {
 protected:
  std::unique_ptr<MainWindow> window_;

  inspector::Session& session() const { return *window_->session(); }
  const Document& document() const { return *window_->document(); }

  /// A new window of 1280×800, and in it the sample, by a click on its card of the start page.
  void open(const QString& file);
  /// The same window with a notebook of these code cells, written into `folder`.
  void openCells(const QTemporaryDir& folder, const QStringList& cells);
  /// To whatever has the focus, as a keyboard does.
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier);
  /// As an input method does: brackets close by themselves under a keyboard.
  static void type(const QString& text);

  /// The code cell that begins so; -1: none.
  int cellThatBegins(const QString& code) const;
  CodeEditor* editorOf(int cell) const;
  CellState stateOf(int cell) const;
  /// Into the cell, by a click on its first line.
  void click(int cell);
  void runByKey(int cell);
  bool allDone() const;
  /// Types the filter into Ops, and clicks on the one row that it leaves: the cursor goes there.
  void goTo(const QString& filter);
  /// Waits until the window knows all ops of the cells that ran, and shows the Debug workspace.
  void showAllRecords();
  /// Runs all cells by key, and shows the Debug workspace.
  void runAll();
  /// Does what the text of the first network says: a breakpoint where the tape is played, with the condition
  /// that holds in step 40. The cell then runs, and stops there.
  void stopInTheNetwork();
};

}  // namespace tapedeck::app
