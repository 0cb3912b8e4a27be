// Which run Time is about: the list that it is chosen from, and the sentence of where its time went.
#pragma once

#include <QLabel>

#include "inspector/model/runs/profile_model.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/panels/run_box.h"

namespace tapedeck::inspector {

/// The runs of the model, everything first. It chooses in the model, and shows what was chosen there.
class RunsBox : public RunBox {
  Q_OBJECT
 public:
  RunsBox(ProfileModel* model, CellNames* cells, QWidget* parent = nullptr);

 private:
  void look();

  ProfileModel* model_;
  CellNames* cells_;
};

/// What the model says of the run or the selection; why it says nothing, where it does not.
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
