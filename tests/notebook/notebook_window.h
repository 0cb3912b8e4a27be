// A notebook in a real window, for the tests.
#pragma once

#include <QApplication>
#include <QtTest>

#include "app/notebook/output/output_area.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/patience.h"

namespace tapedeck::app {

/// Where to click on `text`.
inline QPoint anchorPoint(StaticText* text_view, const QString& text) {
  const QTextCursor found = text_view->document()->find(text);
  QTextCursor middle(text_view->document());
  middle.setPosition(found.selectionStart() + 2);
  return text_view->cursorRect(middle).center();
}

/// A notebook in a window that has the focus.
struct Window {
  explicit Window(const nlohmann::json& cells, QSize size = {900, 700}) : view(&document) {
    document.parse(notebookOf(cells), "test.ipynb");
    start(size);
  }
  Window() : view(&document) {}
  void open(const QString& path) {
    document.load(path);
    start({900, 700});
  }
  void start(QSize size) {
    view.resize(size);
    view.show();
    if (!QTest::qWaitForWindowExposed(&view, tapedeck::patience)) qFatal("The window was not shown");
    activate(&view);
    QCoreApplication::processEvents();
  }
  template <class T>
  T* output(int row = 0, int index = 0) const {
    return qobject_cast<T*>(cell(index)->outputs()->row(row));
  }
  CellWidget* cell(int index = 0) const {
    for (CellWidget* widget : view.findChildren<CellWidget*>()) {
      if (widget->id() == document.cell(index).id && !widget->isHidden()) return widget;
    }
    return nullptr;
  }
  CodeEditor* editor(int index) const { return cell(index)->editor(); }
  static void key(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(QApplication::focusWidget(), static_cast<Qt::Key>(key), modifiers);
  }
  static void type(const QString& text) {
    for (const QChar c : text) {
      if (c == '\n') {
        key(Qt::Key_Return);
      } else {
        QTest::keyClick(QApplication::focusWidget(), c.toLatin1());
      }
    }
  }
  QStringList sources() const {
    QStringList list;
    for (int i = 0; i < document.cellCount(); ++i) list += document.cell(i).source;
    return list;
  }

  Document document;
  NotebookView view;
};

inline nlohmann::json threeCells() {
  return {codeCell("a", "a = 1"), markdownCell("m", "# Title"), codeCell("b", "b = 2")};
}

}  // namespace tapedeck::app
