// Which run Health is about: the list that it is chosen from.
#pragma once

#include "inspector/model/runs/health_model.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/panels/run_box.h"

namespace tapedeck::inspector {

/// "cell [2]", "cell [2], run 3" where it is not the cell's first; "program" without cells.
QString healthRunText(const protocol::HealthRun& run, const CellNames& cells);

/// The newest run of each cell first, then each run. Sets and shows the model's choice.
/// Hidden where there is nothing to choose.
class HealthRunsBox : public RunBox {
  Q_OBJECT
 public:
  HealthRunsBox(HealthModel* model, CellNames* cells, QWidget* parent = nullptr);

 private:
  void look();

  HealthModel* model_;
  CellNames* cells_;
};

}  // namespace tapedeck::inspector
