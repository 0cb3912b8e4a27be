// The functions that were traced, and below each its traces with why they were made.
#pragma once

#include <QTreeWidget>
#include <array>
#include <functional>

#include "inspector/model/functions/functions_model.h"

namespace tapedeck::inspector {

class FunctionList : public QTreeWidget {
  Q_OBJECT
 public:
  enum Column { Signature, Reason, Calls, Nodes, Made, ColumnCount };

  /// `placeText`: how a line is written, by its cell, file and number, and a record that ran there (0: none).
  using PlaceText = std::function<QString(const std::string& cell, const std::string& file,
                                          std::uint32_t line, RecordNumber record)>;
  FunctionList(FunctionsModel* model, PlaceText placeText, QWidget* parent = nullptr);

  /// The line of a trace's call, or of the function; line 0: the current row has none.
  struct Line {
    QString cell;
    int line = 0;
  };
  Line currentLine() const;

 public slots:
  void fill();

 signals:
  void lineWanted(const tapedeck::inspector::FunctionList::Line& line);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void addTraces(QTreeWidgetItem* above, const protocol::GraphFunctionInfo& function);
  void addGradients(QTreeWidgetItem* above, const protocol::GraphFunctionInfo& function,
                    const protocol::FunctionTrace& trace);
  void set(QTreeWidgetItem* item, int column, const QString& text, const QString& tip);
  /// What its header and its texts take; the texts of the first rows where there are many.
  int contentWidth(int column);
  void measure();
  void fit();

  FunctionsModel* model_;
  PlaceText placeText_;
  bool filling_ = false;
  std::array<int, ColumnCount> wanted_{};  ///< the columns' contentWidth()
};

}  // namespace tapedeck::inspector
