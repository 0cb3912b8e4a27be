// The timeline: every record of the session in a table, with a filter, moved by and moving the one cursor.
#pragma once

#include <QHash>
#include <memory>

#include "inspector/model/ops/records_model.h"
#include "inspector/model/session/session.h"
#include "inspector/panels/panel.h"

class QLineEdit;
class QTableView;

namespace tapedeck::inspector {

class WhyActions;

class TimelineView : public SessionPanel {
  Q_OBJECT
 public:
  explicit TimelineView(Session& session, QWidget* parent = nullptr);
  ~TimelineView() override;

  RecordsModel* model() const;
  QTableView* table() const;
  QLineEdit* filterEdit() const;
  /// Cell ids to what the notebook writes beside its cells: "[3]".
  void setCellLabels(const QHash<QString, QString>& labels);
  /// Rows show them.
  void setBookmarks(const Bookmarks& bookmarks);
  /// They are in the context menu, too.
  void setRecordActions(const QList<QAction*>& actions);
  /// The questions are in the context menu, about the row's record.
  void setWhy(WhyActions& why);
  /// The selected row as text, columns separated by tabs; empty where none is.
  QString selectedText() const;
  QList<QAction*> menuActions() const override;
  QList<HandledKeys> handledKeys() const override;

 public slots:
  void focusFilter();
  void setDirection(tapedeck::inspector::Direction direction);
  void copySelected();
  /// The call as the program wrote it, with its line breaks; nothing where it is not known.
  void copyCall();
  /// To the op whose VJP the current record is.
  void goToForward();
  void filterByCurrentOp();
  /// The cursor goes to the match after it, or before; without a filter to the filter's field.
  void goToNextMatch();
  void goToPreviousMatch();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
