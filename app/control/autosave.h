// Saves a notebook to its own file from time to time, as JupyterLab does.
#pragma once

#include <QObject>
#include <QTimer>

#include "app/control/notebook_file.h"

namespace tapedeck::app {

/// Notebooks (.ipynb) that have a file; never Python programs, which other programs watch and import, and
/// never what was not saved by its user yet. Whether and how often is a setting of all windows.
class Autosave : public QObject {
  Q_OBJECT
 public:
  static constexpr int default_seconds = 120;
  static constexpr int least_seconds = 5, most_seconds = 3'600;

  Autosave(Document* document, NotebookFile* file, QObject* parent = nullptr);
  ~Autosave() override;

  static bool on();
  static void setOn(bool on);
  static int seconds();
  static void setSeconds(int seconds);
  /// Of this document alone, in milliseconds.
  void setInterval(int milliseconds);

 signals:
  void switched(bool on);

 private:
  void apply();
  void save();

  Document* document_;
  NotebookFile* file_;
  QTimer timer_;  ///< runs while there is something to save
};

}  // namespace tapedeck::app
