// Headings in the table of Ops: how they look, and what keys and the mouse do on them.
#pragma once

#include "inspector/model/ops/records_model.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/row_table.h"
#include "inspector/ui/theme.h"

class QAction;
class QComboBox;

namespace tapedeck::inspector {

/// Rows of records and headings. A heading can be the current row, but is never selected: the selection
/// stays on the cursor's op.
class OpsTable : public RowTable {
  Q_OBJECT
 public:
  OpsTable(RecordsModel* model, QWidget* parent);
  void setTheme(const Theme& theme) { theme_ = theme; }
  /// Scrolls to the current row, and keeps it in view until something else scrolls it out of view.
  void showCurrent();
  /// Scrolls to it again after rows came or went; not where it was scrolled out of view since showCurrent().
  void keepCurrent();
  /// Another current row; scrolls nothing.
  void setCurrentQuietly(const QModelIndex& index, QItemSelectionModel::SelectionFlags selection);

 public slots:
  void toggle(int heading_row);
  /// From a record or a heading to the heading around it; stays where there is none.
  void goToHeading();
  /// All headings of the kind of the current one, or of the one around the current row.
  void foldAll(bool fold);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  QItemSelectionModel::SelectionFlags selectionCommand(const QModelIndex& index,
                                                       const QEvent* event) const override;

 private:
  bool moveOnHeading(int key);
  bool moveOnRecord(const QKeyEvent& event);
  void goToRow(int row);
  bool currentIsWhole() const;
  void scrollToCurrent();
  void paintHeading(QPainter& painter, int row, const Heading& heading) const;
  int headingOfCurrent() const;  ///< row; -1: none

  RecordsModel* rows_;
  Theme theme_ = Theme::light();
  int pressed_ = -1;  ///< heading under the mouse button
  bool kept_ = true;  ///< the current row must stay in view
  bool own_scroll_ = false;
};

/// Shows the groups of the first visible row. A click goes to the innermost heading.
class HeadingTrail : public ElidingLabel {
  Q_OBJECT
 public:
  HeadingTrail(OpsTable* table, RecordsModel* model, QWidget* parent);

 protected:
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  void look();

  OpsTable* table_;
  RecordsModel* rows_;
  bool due_ = false;
};

/// Which headings there are; kept for the next start. Restores the model's.
class HeadingChoice : public QObject {
  Q_OBJECT
 public:
  HeadingChoice(RecordsModel* model, QWidget* parent);
  QComboBox* box() const { return box_; }
  /// The next level, after the last one none.
  void next();
  /// With the focus there Esc drops headings that are being laid out.
  void keepByEscape(QWidget* focused);

 private:
  RecordsModel* model_;
  QComboBox* box_;
};

/// With keys of the table. The choice's tooltip names its key.
QList<QAction*> headingActions(OpsTable* table, HeadingChoice* choice);

}  // namespace tapedeck::inspector
