// The canvas of the tape: camera, mouse and keys over a laid-out graph.
#pragma once

#include <functional>
#include <memory>

#include "inspector/panels/tape/layout_worker.h"
#include "inspector/panels/tape/minimap.h"
#include "inspector/panels/tape/tape_marks.h"
#include "inspector/ui/accessible_parts.h"
#include "inspector/ui/canvas/camera.h"
#include "inspector/ui/canvas/canvas_widget.h"

namespace tapedeck::inspector {

class TapeCanvas : public CanvasWidget, public AccessibleParts {
  Q_OBJECT
 public:
  explicit TapeCanvas(QWidget* parent = nullptr);

  /// nullptr: nothing; then the sentence is in the middle.
  void showGraph(std::shared_ptr<const LaidOutGraph> laid);
  void setEmptySentence(const QString& sentence);
  /// The tooltip of a node: a title, then lines, "key\tvalue" or plain.
  void setDetails(std::function<QStringList(const GraphNode&)> details) { details_ = std::move(details); }

  const LaidOutGraph* laidOut() const { return laid_.get(); }
  const Camera& camera() const { return camera_; }
  void setCamera(const Camera& camera);
  /// Where a node is now, on the canvas; null where it is not in the graph.
  QRectF nodeRect(int node) const;
  /// The nodes that the last frame drew.
  const std::vector<int>& drawnNodes() const { return drawn_; }
  /// The nodes that show these records are marked as the way of an answer.
  void setPath(const std::vector<RecordNumber>& records);
  std::vector<int> pathNodes() const;
  /// The nodes that a search or a question about ancestors and descendants highlights.
  void setMarks(const TapeMarks& marks);
  /// Notes of bookmarks by record: those ops have a flag.
  void setBookmarks(const QHash<RecordNumber, QString>& notes);
  /// What is said of the node's bookmarks; empty: it has none.
  QString bookmarkText(int node) const { return bookmark_texts_.value(node); }
  /// By node; empty: none.
  const std::vector<quint8>& marks() const { return node_marks_; }
  /// Walks and scrolls to the node that shows this one of the whole graph; of the next graph, where `later`.
  void walkToKey(quint64 key, bool later);
  /// What the keys act on: the node that they walked to, else the cursor's; -1: none.
  int actedNode() const { return walked_ >= 0 ? walked_ : currentNode(); }
  bool minimapShown() const { return map_shown_; }
  QRectF minimapRect() const;                 ///< null: it is not there
  int walkedNode() const { return walked_; }  ///< that the keys walked to; -1: none
  int hoveredNode() const { return hovered_; }
  bool followsCursor() const { return follow_; }
  bool legendShown() const { return legend_; }

  QSize sizeHint() const override { return {640, 480}; }

  /// The nodes, then the lanes of the scopes.
  int accessiblePartCount() const override;
  AccessiblePart accessiblePart(int index) const override;
  int currentAccessiblePart() const override { return laid_ ? walked_ : -1; }

 public slots:
  void fit();
  void zoomIn();
  void zoomOut();
  void setFollowsCursor(bool follow);
  void setLegendShown(bool shown);
  void setMinimapShown(bool shown);
  void centreOnCursor();

 signals:
  /// A click, or Enter, on a node: the record to move the cursor to; of a leaf, the tensor to show.
  void recordPicked(quint64 record);
  void tensorPicked(const tapedeck::protocol::TensorInfo& tensor);
  /// On "… more": show the part of the tape around that record.
  void morePicked(quint64 record);
  /// A group is to be opened, or folded.
  void foldAsked(const QString& group, bool open);
  /// A menu is wanted for a node.
  void menuAsked(const tapedeck::inspector::GraphNode& node, QPoint globalPosition);
  void walkedTo();
  void cameraChanged();

 protected:
  void paintCanvas(CanvasPainter& painter) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  int currentNode() const { return laid_ ? laid_->current : -1; }
  int shownNode(quint64 key) const;
  QString groupAt(QPointF world) const;
  void jumpByMap(QPointF at);
  /// The part of the canvas that the graph has.
  QSizeF room() const;
  void keepCursorInSight(bool first);
  void pan(QPointF by);
  void zoom(double factor, QPointF at);
  void panBy(int key);
  void walk(int key);
  void walkTo(int node);
  int neighbour(int node, bool downstream) const;
  int towards(int node, int key) const;
  void holdStill(const LaidOutGraph& before);
  void pick(int node);
  void hover(QPointF at);
  void markNodes();
  QString spoken(int node) const;
  void describe();

  std::shared_ptr<const LaidOutGraph> laid_;
  QString empty_sentence_;
  std::function<QStringList(const GraphNode&)> details_;
  Camera camera_;
  bool fitted_ = false;  ///< the camera still shows all, as fit() left it
  bool follow_ = true;
  bool legend_ = false;
  int hovered_ = -1;
  int walked_ = -1;
  std::vector<int> drawn_;
  std::vector<RecordNumber> path_;
  TapeMarks marks_;
  QHash<RecordNumber, QString> bookmarks_;
  QHash<int, QString> bookmark_texts_;  ///< by shown node
  std::vector<quint8> node_marks_;
  quint64 walk_later_ = 0;
  TapeMinimap map_;
  bool map_shown_ = true;
  bool map_dragged_ = false;
  QPointF pressed_at_, last_at_;
  Qt::MouseButton pressed_ = Qt::NoButton;
  bool dragging_ = false;
  bool space_ = false;
};

}  // namespace tapedeck::inspector
