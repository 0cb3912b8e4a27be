// Which groups records are in, as a tree: runs of cells, in them steps, in these calls of graph functions
// with their parts, in these and beside them scopes. From the session's lists, each of which says only where
// a group begins. No Qt objects, no requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// What Ops has headings for; each includes those before it. Calls of graph functions have headings like
/// steps.
enum class HeadingLevel { none, cell, step, scope };

class GroupTree {
 public:
  enum class Kind : std::uint8_t {
    plain,  ///< records beside groups, which have no heading
    run,
    step,
    after,  ///< records behind the last step that is known: of the next one, or of none
    scope,  ///< one part of its name: "dense" of "model/dense"
    call    ///< of a graph function, or a part of one
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Node {
    std::uint64_t first = 1;  ///< record; the same for a group that begins with a group
    std::uint32_t parent = none;
    std::uint32_t end = none;  ///< the first node after it and everything in it; none: there is nothing yet
    std::uint32_t source = none;  ///< run: in runs(); step, after: in steps(); scope: its name's number;
                                  ///< call: in calls()
    Kind kind = Kind::plain;
    std::uint8_t depth = 0;  ///< number of groups around it
    bool operator==(const Node&) const = default;
  };
  struct Step {
    std::uint64_t first = 0, last = 0, number = 0;
    bool operator==(const Step&) const = default;
  };

  struct Call {
    std::uint64_t record = 0;
    std::uint32_t around = none, part = none;  ///< in calls(); of its scope
    std::string name;
  };

  void clear();
  /// Another level groups the same lists differently.
  void set_level(HeadingLevel level);
  HeadingLevel level() const { return level_; }
  /// The same lists without nodes yet, for build().
  GroupTree with_level(HeadingLevel level) const;
  /// The next request to send to the session.
  protocol::GetRecordGroups next_request() const;
  /// Takes an answer to that in; `newest`: records above it are not known here yet. Returns the first record
  /// whose groups changed, or were not known; those of all earlier records are unchanged.
  std::uint64_t add(const protocol::RecordGroups& answer, std::uint64_t newest);
  /// The same, and leaves the nodes from there on to build().
  std::uint64_t take_in(const protocol::RecordGroups& answer, std::uint64_t newest);
  /// Goes on with the nodes, by at most so many stretches of records that are in the same groups. Returns how
  /// many it were; fewer where nothing is left.
  std::size_t build(std::size_t most);

  /// Records up to it are in the lists.
  std::uint64_t known() const { return known_; }
  /// Records up to it are in nodes.
  std::uint64_t covered() const { return covered_; }
  /// By record, and a group before what is in it.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// The innermost node that the record is in; none: it is not covered.
  std::uint32_t node_of(std::uint64_t record) const;
  /// The first record behind the node.
  std::uint64_t end_of(std::uint32_t node) const;

  const std::vector<protocol::RunGroup>& runs() const { return runs_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Call>& calls() const { return calls_; }
  /// How many calls and parts of them are among these records: they are no ops.
  std::uint64_t calls_in(std::uint64_t first, std::uint64_t end) const;
  /// The part of the scope's name that this node represents.
  const std::string& scope_part(std::uint32_t source) const { return parts_[source].name; }

 private:
  /// A part of a scope's name, with what is before it.
  struct Part {
    std::uint32_t before = none;
    std::string name;
  };
  struct Key {
    Kind kind = Kind::plain;
    std::uint32_t source = none;
    bool operator==(const Key&) const = default;
  };
  /// Where one is in the lists: how many entries begin at the record or before it.
  struct Walk {
    std::size_t runs = 0, steps = 0, scopes = 0;
  };
  std::uint64_t add_runs(const protocol::RecordGroups& answer);
  std::uint64_t add_steps(const protocol::RecordGroups& answer);
  void add_scopes(const protocol::RecordGroups& answer);
  void add_calls(const protocol::RecordGroups& answer, const std::vector<std::uint32_t>& parts);
  std::uint32_t call_of(std::uint64_t record) const;
  void push_scope(std::uint32_t part, std::uint32_t around, std::vector<Key>& keys) const;
  void push_call(std::uint32_t call, std::vector<Key>& keys) const;
  std::uint32_t part_of(const std::string& scope);
  void forget(std::uint64_t from);
  /// The groups of the record from the outside in; returns the first record that may be in others.
  std::uint64_t path(std::uint64_t record, Walk& walk, std::vector<Key>& keys) const;
  std::uint64_t run_of(std::uint64_t record, std::size_t after, std::vector<Key>& keys) const;
  std::uint64_t step_of(std::uint64_t record, std::size_t after, const protocol::RunGroup* run,
                        std::vector<Key>& keys) const;
  std::uint64_t scope_of(std::size_t after, std::vector<Key>& keys) const;
  void append(std::uint64_t record, const std::vector<Key>& keys);

  HeadingLevel level_ = HeadingLevel::none;
  std::uint64_t known_ = 0, covered_ = 0;
  std::vector<protocol::RunGroup> runs_;
  std::vector<Step> steps_;
  struct Stretch {
    std::uint64_t record = 0;
    std::uint32_t part = none, call = none;  ///< from that record on
  };
  std::vector<Stretch> scopes_;
  std::vector<Call> calls_;  ///< by record
  std::vector<Part> parts_;
  std::unordered_map<std::string, std::uint32_t> known_parts_;  ///< by the whole name up to the part
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> open_;  ///< nodes that the next record may be in, from the outside in
};

}  // namespace tapedeck::inspector
