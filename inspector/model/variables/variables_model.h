// The variables of the current frame: a function's own, and the notebook's.
#pragma once

#include <QSortFilterProxyModel>

#include "inspector/model/variables/value_tree.h"

namespace tapedeck::inspector {

/// Two groups: the locals of the current frame, where it has any, and the globals.
class VariablesModel : public ValueTree {
  Q_OBJECT
 public:
  VariablesModel(Session* session, FramesModel* frames, QObject* parent = nullptr);

 protected:
  void refresh() override;

 private:
  void showGroups();
  Node* group(protocol::ValueScope scope) const;
  Node* addGroup(protocol::ValueScope scope, int row);
  void name(Node* group, const QString& title);
};

/// Sorts the rows below each group and each value, and leaves out variables that the filter does not name.
/// Groups keep their order; so do the items of a value where they are sorted by name.
class ValueFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit ValueFilter(ValueTree* tree, QObject* parent = nullptr);
  /// Every word must occur in the name, type, shape, dtype or value.
  void setText(const QString& text);
  void setShowsCode(bool shows);  ///< functions, classes and modules
  bool showsCode() const { return showsCode_; }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  QStringList words_;
  bool showsCode_ = false;
};

}  // namespace tapedeck::inspector
