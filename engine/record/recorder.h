// Keeps a record of every op, VJP, playback and custom gradient of the session, and the values that replay
// needs.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "engine/ops/observer.h"
#include "engine/record/gate.h"
#include "engine/record/handoffs.h"
#include "engine/record/series.h"
#include "engine/record/trace.h"
#include "engine/record/values.h"

namespace tapedeck {

struct RecorderOptions {
  KeepingOptions keeping;
  bool keep_values = true;               ///< false: records alone (measurements)
  std::uint64_t record_limit = 8 << 20;  ///< older records are forgotten: about 1 GB
};

class Recorder final : public Observer {
 public:
  explicit Recorder(const RecorderOptions& options = {});
  /// Stops recording. The caller sees to it that no op runs any longer that began while it recorded.
  ~Recorder() override;

  /// On: this is the engine's observer. Off: nobody is; ops cost nothing more, are not recorded, and do not
  /// stop at the gate.
  void set_recording(bool on);
  bool recording() const { return recording_.load(); }

  std::uint64_t begin(const Event& event) override;
  void end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) override;
  void leaf(const Tensor& tensor, std::string_view name) override;
  void assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                std::uint64_t since) override;
  void left(const Tensor& tensor) override;

  /// The cell that runs from now on. Where the gate breaks at cell starts, the cell's first op stops.
  void begin_cell(const std::string& cell);
  void end_cell();
  std::string running_cell() const;  ///< empty: none
  std::uint64_t cells_ended() const { return cells_ended_.load(); }

  void add_scalar(const std::string& series, double step, double value);

  Gate& gate() { return gate_; }
  Trace& trace() { return trace_; }
  Values& values() { return values_; }
  SeriesStore& series() { return series_; }
  const Gate& gate() const { return gate_; }
  const Trace& trace() const { return trace_; }
  const Values& values() const { return values_; }
  const Handoffs& handoffs() const { return handoffs_; }
  const SeriesStore& series() const { return series_; }

  std::int64_t started_unix_ms() const { return started_unix_ms_; }
  std::int64_t now_ns() const;  ///< since the recorder began

 private:
  struct Thread;
  struct Open;
  Thread& this_thread();
  std::int64_t now() const;  ///< ticks since the recorder began
  RecordHead head_of(const Event& event, const Open* parent, const Thread& thread) const;
  void note_inputs(std::span<const Tensor> inputs, Thread& thread);
  void keep_result(const Tensor& output, std::uint64_t replay_ns);
  void ask_gate(Thread& thread, const Event& event, std::uint32_t number, std::uint32_t enclosing,
                std::uint32_t location);

  const std::uint64_t serial_;  ///< which recorder, of all that there were
  const bool keep_values_;
  const std::int64_t origin_;  ///< ticks
  const std::int64_t started_unix_ms_;
  std::atomic<std::uint32_t> threads_{0};
  std::atomic<bool> recording_{false};
  Gate gate_;
  Trace trace_;
  Values values_;
  Handoffs handoffs_;
  SeriesStore series_;
  std::atomic<std::uint64_t> cells_ended_{0};
  mutable std::mutex cell_mutex_;
  std::string running_cell_;
};

}  // namespace tapedeck
