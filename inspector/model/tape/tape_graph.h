// The tape at the cursor as plain data: ops forward, VJPs backward, leaves, and the tensors that flow between
// them.
#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

enum class NodeKind {
  op,        ///< forward op, or an op that runs backward outside of any VJP (sums of gradients)
  custom,    ///< a function with a custom gradient; its ops are nodes whose `group` it is
  playback,  ///< where the tape turns round: targets go in, their gradients (ones) come out
  vjp,       ///< one VJP; attached to the forward op `forward`
  variable,  ///< leaf with a name
  constant,  ///< leaf without one
  more       ///< represents ops of the tape that are not shown; first or last of the nodes
};

struct GraphNode {
  NodeKind kind = NodeKind::op;
  RecordNumber record = 0;  ///< 0 for leaves
  TensorId tensor = 0;      ///< leaf: the tensor; else the first output, 0 where not made yet
  QString op;               ///< "matmul"; leaf: its name, or "constant"
  QString name;             ///< name of the output, where it has one
  QString shape;            ///< of the first output, as shapeText writes it
  QString dtype;
  QString device;                                             ///< of the first output; empty: the CPU
  bool copies = false;                                        ///< op: it brings a tensor to another device
  QString preview;                                            ///< the value where it is small and at hand
  protocol::RecordState state = protocol::RecordState::done;  ///< as seen from the cursor
  bool current = false;                                       ///< holds the cursor
  bool backward = false;                                      ///< in a playback that the graph shows
  bool offTape = false;         ///< ran outside of every tape, in a graph that shows one
  bool customGradient = false;  ///< vjp or custom: the user wrote the gradient
  bool expanded = false;        ///< other nodes have this one as their group
  int group = -1;               ///< index of the custom or vjp node that it runs inside of
  int forward = -1;             ///< vjp: index of the node whose VJP it is; -1 where that is not shown
  int goal = -1;                ///< sum of gradients: index of the node whose gradient it is; -1: not known
  QString formula;              ///< op, vjp: the VJP's formula
  QString scope;                ///< "model/dense": where it ran; empty: in none
  QString cell;                 ///< id of the cell whose line ran; outside of a notebook the file
  std::uint32_t line = 0;       ///< 0: not known
  QString error;
  int inputs = 0, outputs = 0;  ///< number of slots
  protocol::TensorInfo leaf;    ///< variable, constant: the tensor
  bool below = false;           ///< more: its ops come after the ones shown
  RecordNumber page = 0;        ///< more: around which record to show the tape, to see them
  /// Not empty: the node is a folded group with this key (see foldTape). Its record is the first inside.
  QString fold;
  int folded = 0;         ///< how many ops, or VJPs, are in it
  QString here;           ///< the op inside of it that holds the cursor
  bool complete = false;  ///< the program is stopped as the gradient of what it made, or is, is complete
  bool odd = false;       ///< NaN or infinity in what it made, or in it (see `oddText`)
};

struct GraphEdge {
  int from = -1, to = -1;  ///< indices of nodes
  int fromSlot = 0;        ///< output of `from`; of a group whose op reads what came in: the input
  int toSlot = 0;          ///< input of `to`; -1: a gradient that rests at a node (see `arrives`)
  bool backward = false;   ///< carries a gradient
  /// The gradient reached what `to` made (or the leaf `to`), and no VJP shown has taken it up.
  bool arrives = false;
  TensorId tensor = 0;
  QString label;  ///< the value where it is small and at hand, else the shape
};

struct TapeGraph {
  quint64 tape = 0;  ///< 0: no tape; the nodes are the ops around the cursor
  RecordNumber cursor = 0;
  quint64 dropped = 0;  ///< older records that were left out
  // Counts of the whole tape up to the cursor, shown or not. A custom gradient is one op.
  quint64 ops = 0, vjps = 0;
  quint64 offTape = 0;  ///< ops shown that ran outside of every tape
  std::vector<GraphNode>
      nodes;  ///< records in order of number; each leaf before the first node that reads it
  std::vector<GraphEdge> edges;
  bool empty() const { return nodes.empty(); }
  /// Index of the node that shows the record: itself, or for an op inside a built-in VJP that VJP; -1: none.
  int nodeOf(RecordNumber record) const;
  std::map<RecordNumber, int> shownAs;
};

/// The value in words has a NaN or an infinity.
bool saysOdd(const QString& preview);

/// What of the tape `records` leave out.
struct TapeExtent {
  quint64 before = 0, after = 0;  ///< ops
  quint64 ops = 0, vjps = 0;      ///< of the whole tape up to the cursor; 0: of `records`
};

/// The moment that a picture of the tape shows.
enum class Moment : std::uint8_t {
  cursorBegan,  ///< what finished after the cursor's record began counts as running
  now           ///< the cursor is at the newest record: everything is as it is by now
};

/// `records` in order of number; those after `cursor` are left out. Ops inside a built-in VJP are hidden
/// behind it, and the ones that a playback starts with behind that; those inside custom gradients are shown.
TapeGraph buildTapeGraph(std::span<const protocol::Record> records, RecordNumber cursor,
                         const TapeExtent& extent = {}, Moment moment = Moment::cursorBegan);

/// Follows the session's cursor. Shows the tape of the cursor's record, else the newest tape before it with
/// the ops since then, else the ops around the cursor. Of a long tape it shows a part around the cursor, with
/// a node "more" for what comes before and after.
class TapeGraphModel : public QObject {
  Q_OBJECT
 public:
  explicit TapeGraphModel(Session* session, QObject* parent = nullptr);
  ~TapeGraphModel() override;
  const TapeGraph& graph() const;
  Session* session() const;
  bool loading() const;     ///< the graph at the cursor is being fetched
  QString problem() const;  ///< a sentence where the session had no answer; else empty
  /// Of a long tape: the part around that record, until the cursor moves.
  void showAround(RecordNumber record);

 signals:
  void graphChanged();

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
