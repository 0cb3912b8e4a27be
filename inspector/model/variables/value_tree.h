// Python values as a tree: rows that unfold into a value's items, fetched as they become visible.
#pragma once

#include <QAbstractItemModel>
#include <QHash>
#include <QList>
#include <QPersistentModelIndex>
#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inspector/model/variables/frames_model.h"

namespace tapedeck::inspector {

/// The rows of one stop stay while those of the next are on their way; a row of the same name stays the same
/// row, so that what is unfolded and selected stays so.
class ValueTree : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column { Name, Value, Type, Shape, Dtype, Device, Bytes, Histogram, ColumnCount };
  enum Role {
    HistogramRole = Qt::UserRole,  ///< QList<quint64>, asked for when it is not here; empty: none (yet)
    SortRole,                      ///< a number or text
    PositionRole,                  ///< among the items of its parent
    RowKindRole,                   ///< RowKind
    ExpressionRole,                ///< as Python writes it; empty for groups
    CanShowRole,                   ///< values that Tensor can show
    ErrorRole,                     ///< the text is of an error
    ChangedRole,                   ///< it differs from the value at the previous stop
    AsOfRole                       ///< the moment that the text of a value ends with; empty: with none
  };
  enum RowKind { Group, Plain, Code, More };

  /// `channel`: what this tree's requests are called.
  ValueTree(Session* session, FramesModel* frames, const QString& channel, QObject* parent = nullptr);
  ~ValueTree() override;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  bool hasChildren(const QModelIndex& parent = {}) const override;
  bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  /// A new value for a row, as Python text: assigned in the session. failed() reports errors.
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

  /// Only visible rows send requests to the session.
  void setActive(bool active);
  bool active() const { return active_; }
  /// For a row of the kind More: the next page of its parent's items.
  void loadMore(const QModelIndex& index);
  /// Has the session keep the row's tensor or array, and shows it in the panels.
  void show(const QModelIndex& index);
  /// Says why the row's value can't be edited, where that is because of the cursor's moment.
  void tellNotEdited(const QModelIndex& index);

 signals:
  void failed(const QString& sentence);
  void told(const QString& sentence);

 protected:
  struct Node;
  Node* root() const { return root_.get(); }
  Node* nodeOf(const QModelIndex& index) const;
  QModelIndex indexOf(const Node* node, int column = 0) const;
  Session* session() const { return session_; }
  FramesModel* frames() const { return frames_; }
  const QString& channel() const { return channel_; }

  /// Called when values may have changed, and the tree is visible.
  virtual void refresh() = 0;
  /// Puts a node below the root.
  Node* addRoot(const protocol::ValueInfo& info, RowKind kind, int row);
  void removeRoot(int row);
  /// The node shows this from now on; what is unfolded below it is asked for anew.
  void update(Node* node, const protocol::ValueInfo& info);
  void updateError(Node* node, const QString& sentence, const std::optional<std::string>& asOf = {});
  void fetch(Node* node, std::uint64_t first);
  virtual QString rootExpression(const Node& root) const;

 private:
  protocol::ValuePlace placeOf(const Node* node) const;
  QString expressionOf(const Node* node) const;
  QList<quint64> histogramOf(const Node& node) const;
  void askHistogram();
  /// `afterEdit`: what the user has just put there.
  void hold(const QModelIndex& index, bool afterEdit);
  void giveUp(Node* node);
  void takePage(Node* node, const protocol::Variables& page);
  void mergeRows(Node* node, const protocol::Variables& page);
  void removeStale(Node* node);
  void removeRows(Node* node, int first, int last);
  void setMore(Node* node);
  QString channelOf(const Node* node) const;

  Session* session_;
  FramesModel* frames_;
  QString channel_;
  bool active_ = false;
  bool stale_ = true;  ///< values changed while it was hidden
  std::unique_ptr<Node> root_;
  mutable QList<QPersistentModelIndex> wantedHistograms_;
  mutable QHash<quint64, QList<quint64>> histograms_;  ///< by tensor
};

struct ValueTree::Node {
  protocol::ValueInfo info;
  RowKind kind = Plain;
  protocol::ValueScope scope = protocol::ValueScope::globals;  ///< of a root
  std::string name;                                            ///< of a root, for its place
  Node* parent = nullptr;
  std::vector<std::unique_ptr<Node>> children;
  bool asked = false;    ///< for its items, at least once
  bool changed = false;  ///< since the last stop
  bool error = false;
  std::uint64_t total = 0;    ///< of items, as last reported
  std::uint64_t wanted = 0;   ///< how many items are to be fetched, page by page
  std::uint64_t round = 0;    ///< of fetching its items from the first on
  std::uint64_t reached = 0;  ///< how many this round has reported, from the first on
  std::uint64_t seen = 0;     ///< in which round of its parent
  QList<quint64> histogram;   ///< of an array: it has no id
  int row() const;
};

}  // namespace tapedeck::inspector
