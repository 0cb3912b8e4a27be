// What was alive when, and by whom it was held: made from records and the memory log on request; each request
// continues where the last one ended.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/debug/training_steps.h"

namespace tapedeck::debug {

/// One storage. It was there while records [born, gone) ran.
struct StorageLife {
  std::uint64_t root = 0, bytes = 0;
  std::uint32_t born = 0;
  std::uint32_t gone = 0;  ///< 0: it is still there
  /// A write into another storage's memory made it: while that op ran, it is that other one.
  bool written = false;
  std::uint32_t counts_from() const { return written ? born + 1 : born; }
};

/// A variable's value.
struct VariableValue {
  std::uint64_t root = 0, tensor = 0, variable = 0;
  std::uint32_t from = 0, to = 0;  ///< records [from, to); to 0: it still is
};

/// An op that a tape keeps.
struct TapeNode {
  std::uint32_t record = 0;
  std::uint32_t released = 0;  ///< from this record on it is not kept; 0: it still is
};

struct TapeLife {
  std::uint64_t id = 0;
  std::uint32_t first = 0;  ///< its first op
  std::uint32_t ended = 0;  ///< from this record on it keeps nothing; 0: it may still
  bool used_up = false;
  std::vector<TapeNode> nodes;  ///< in the order of their records
};

/// Bytes while a record ran, by holder; NumPy's memory left out.
struct MemoryMoment {
  std::uint64_t variables = 0, tapes = 0, program = 0;
  std::uint64_t sum() const { return variables + tapes + program; }
};

/// One thread at a time.
class MemoryIndex {
 public:
  explicit MemoryIndex(const Recorder& recorder) : recorder_(&recorder), training_(recorder) {}
  /// Up to the newest record that is done. Throws Cancelled: what was done stays.
  void catch_up(const CancelFlag* cancel = nullptr);

  std::uint32_t first() const { return first_; }
  /// The newest record that it knows of.
  std::uint32_t last() const { return next_ - 1; }
  const MemoryMoment& at(std::uint32_t record) const { return moments_[record - first_]; }
  std::uint32_t peak() const { return peak_; }  ///< the record; 0: none

  const std::vector<StorageLife>& lives() const { return lives_; }
  /// When that life ended, also where it did since catch_up; 0: it has not.
  std::uint32_t gone(const StorageLife& life) const {
    return life.gone ? life.gone : recorder_->trace().tensors().life(life.root).gone;
  }
  const std::vector<VariableValue>& values() const { return values_; }
  const std::vector<TapeLife>& tapes() const { return tapes_; }

  /// Where a turn of the program's loop ended: records.
  const std::vector<std::uint32_t>& steps() const { return steps_; }  ///< of training: the last updates
  const std::vector<std::uint32_t>& gradients() const { return gradients_; }  ///< playbacks
  const std::vector<std::uint32_t>& cells() const { return cells_; }

  /// The tensors that the tape keeps for that op; nothing where the record was forgotten.
  void kept_of(std::uint32_t record, std::vector<std::uint64_t>& ids) const;

 private:
  struct Slot {
    std::uint64_t bytes = 0;
    std::uint32_t life = 0;
    std::uint32_t tapes = 0, variables = 0;  ///< how many hold it
    bool borrowed = false;
  };
  struct Seen;
  struct OpenRecord {
    std::uint32_t number = 0, forward = 0;
    std::uint16_t depth = 0;
    bool playback = false;
    std::uint64_t tape = 0;
  };

  void clear(std::uint32_t oldest);
  std::uint32_t read(std::uint32_t first, std::uint32_t last, std::vector<Seen>& seen);
  void process(const Seen& record);
  bool advance_to(std::uint32_t target, const CancelFlag* cancel);
  void look_at_late();
  void schedule(std::uint32_t target);
  void take_events(std::uint32_t before);
  void take(const MemoryEvent& event);
  void close_ended(const Seen& record);
  void close_done();
  void close(const OpenRecord& over, std::uint32_t record);
  void add_storage(std::uint64_t root, std::uint32_t born, std::uint32_t now, bool written = false);
  void add_outputs(const Seen& record, std::uint32_t now);
  void end_storage(std::uint64_t root, std::uint32_t record);
  void pass_on_written();
  void assign(const MemoryEvent& event);
  void end_value(std::uint64_t variable, std::uint32_t record);
  TapeLife& tape(std::uint64_t id, std::uint32_t first);
  void put_on_tape(std::uint64_t tape, std::uint32_t record, std::span<const std::uint64_t> kept);
  void release(TapeNode& node, std::uint32_t record);
  void release_all(TapeLife& tape, std::uint32_t record);
  void note_steps(const CancelFlag* cancel);
  std::uint64_t& sum_of(const Slot& slot);
  template <class Change>
  void change(std::uint64_t root, Change&& change);

  const Recorder* recorder_;
  std::uint32_t first_ = 1, next_ = 1;
  std::vector<MemoryMoment> moments_;
  MemoryMoment now_;
  std::uint32_t peak_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::vector<StorageLife> lives_;
  std::unordered_map<std::uint64_t, Slot> alive_;  ///< by root
  std::vector<std::uint64_t> unscheduled_;         ///< roots whose end is not known
  std::vector<std::vector<std::uint64_t>> due_;    ///< roots, by the record of their end less due_first_
  std::uint32_t due_first_ = 0;
  std::uint64_t log_position_ = 0;
  std::vector<MemoryEvent> events_;  ///< read, not taken yet
  std::size_t next_event_ = 0;
  std::vector<VariableValue> values_;
  std::unordered_map<std::uint64_t, std::size_t> value_of_;  ///< variable → its present value
  std::vector<TapeLife> tapes_;
  std::unordered_map<std::uint64_t, std::size_t> tape_places_;
  std::unordered_map<std::uint16_t, std::vector<OpenRecord>> open_;  ///< by thread
  /// Roots of memory that was written in place: that before, that after. By the newest record.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> written_;
  std::uint32_t written_by_ = 0;
  std::vector<std::uint32_t> late_;  ///< ops that ran when they were passed
  TrainingSteps training_;
  std::vector<std::uint32_t> steps_, gradients_, cells_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace tapedeck::debug
