// A notebook with the bar for find and replace, for the tests.
#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/notebook/find/find_bar.h"
#include "tests/notebook/notebook_window.h"

namespace tapedeck::app {

/// A notebook with its bar in a window.
struct FindWindow {
  explicit FindWindow(const nlohmann::json& cells) {
    document.parse(notebookOf(cells), "test.ipynb");
    view = new NotebookView(&document);
    bar = new FindBar(&document, view);
    auto* column = new QVBoxLayout(&window);
    column->addWidget(bar);
    column->addWidget(view, 1);
    window.resize(1000, 700);
    window.show();
    if (!QTest::qWaitForWindowExposed(&window, tapedeck::patience)) qFatal("The window was not shown");
    activate(&window);
    view->setFocus();
  }
  ~FindWindow() { delete bar; }  // before the view that it marks hits in

  template <class T>
  T* part(const char* name) {
    return bar->findChild<T*>(name);
  }
  QLineEdit* field() { return part<QLineEdit>("findField"); }
  QLineEdit* by() { return part<QLineEdit>("replaceField"); }
  QString summary() { return part<QLabel>("findSummary")->text(); }
  static void key(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(QApplication::focusWidget(), static_cast<Qt::Key>(key), modifiers);
  }
  void find(const QString& text, bool replace = false) {
    bar->open(replace);
    QTest::keyClicks(field(), text);
  }
  CellWidget* cell(int index) {
    for (CellWidget* widget : view->findChildren<CellWidget*>())
      if (widget->id() == document.cell(index).id && !widget->isHidden()) return widget;
    return nullptr;
  }
  /// Bytes of a cell's text that are marked as hits, or as the current one.
  int marked(int index, int indicator) {
    CodeEditor* editor = cell(index)->editor();
    int count = 0;
    for (int i = 0; i < editor->length(); ++i)
      count += (editor->SendScintilla(QsciScintillaBase::SCI_INDICATORALLONFOR, i) >> indicator & 1) != 0;
    return count;
  }
  QStringList sources() {
    QStringList list;
    for (int i = 0; i < document.cellCount(); ++i) list << document.cell(i).source;
    return list;
  }

  Document document;
  QWidget window;
  NotebookView* view;
  FindBar* bar;
};

}  // namespace tapedeck::app
