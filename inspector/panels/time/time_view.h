// The panel Time: where the time of a run went.
#pragma once

#include <memory>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/panels/panel.h"

class QLabel;
class QLineEdit;
class QTableView;

namespace tapedeck::inspector {

class FlameCanvas;
class RooflineCanvas;
class TrackCanvas;

/// A sentence, and below it one of four pages: T the track, L the flame, O the totals, R the roofline. N and
/// P choose the next and the previous run of a cell, E all of the recording; X clears the selection; H goes
/// to the longest time between two ops; Enter goes to the selected item. While it is hidden it sends no
/// requests.
class TimeView : public SessionPanel {
  Q_OBJECT
 public:
  TimeView(Session& session, CellNames& cells, QWidget* parent = nullptr);
  ~TimeView() override;

  ProfileModel* model() const;
  TrackCanvas* track() const;
  FlameCanvas* flame() const;
  RooflineCanvas* roofline() const;
  QTableView* table() const;
  QLineEdit* filter() const;
  QLabel* summary() const;
  QList<QAction*> exportActions() const override;
  QList<HandledKeys> handledKeys() const override;

  /// Writes the span as Chrome's trace events, piece by piece; `exported` reports the end.
  void exportTrace(const QString& path);

 signals:
  void exported(const QString& path, const QString& error);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
