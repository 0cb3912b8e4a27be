// Which run Time is about: the list that it is chosen from, and the sentence of where its time went.
#pragma once

#include <QLabel>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/panels/run_box.h"

namespace tapedeck::inspector {

/// The runs of the model, everything first. Sets and shows the model's choice.
class RunsBox : public RunBox {
  Q_OBJECT
 public:
  RunsBox(ProfileModel* model, CellNames* cells, QWidget* parent = nullptr);

 private:
  void look();

  ProfileModel* model_;
  CellNames* cells_;
};

/// The model's summary of the run or the selection, or why there is none.
class RunSentence : public QLabel {
  Q_OBJECT
 public:
  RunSentence(ProfileModel* model, CellNames* cells, QWidget* parent = nullptr);

 private:
  void look();
  QString wholeText() const;

  ProfileModel* model_;
  CellNames* cells_;
};

}  // namespace tapedeck::inspector
