// The macros that a notebook's Markdown cells define: each holds in all cells below it.
#pragma once

#include <QHash>
#include <QObject>
#include <QStringList>
#include <QTimer>

namespace tapedeck::app {

class Document;

/// Follows the document: what holds in a cell is a matter of the cells above it and their order alone, not of
/// what was rendered when. JupyterLab numbers no equations, and neither does Tapedeck.
class NotebookMacros : public QObject {
  Q_OBJECT
 public:
  explicit NotebookMacros(Document* document, QObject* parent = nullptr);

  /// The formulas of the cells above that define macros, in their order.
  QStringList before(const QString& cellId) const;

 signals:
  /// Another answer for some cells; soon after the document changed, once for many changes.
  void changed();

 private:
  void readAll();
  void read(int index);
  void dropGone();

  Document* document_;
  QHash<QString, QStringList> defined_;  ///< by the cell's id; cells that define nothing are not in it
  QTimer timer_;
};

}  // namespace tapedeck::app
