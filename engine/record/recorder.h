// Keeps a record of every op, VJP, playback and custom gradient of the session, and the values that replay
// needs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops/core/observer.h"
#include "engine/record/breakpoints/breakpoints.h"
#include "engine/record/breakpoints/gate.h"
#include "engine/record/breakpoints/gate_waits.h"
#include "engine/record/health/health_sampler.h"
#include "engine/record/trace/cell_runs.h"
#include "engine/record/trace/data_flow_log.h"
#include "engine/record/trace/pictures.h"
#include "engine/record/trace/series.h"
#include "engine/record/trace/trace.h"
#include "engine/record/trace/trace_source.h"
#include "engine/record/values/lives.h"
#include "engine/record/values/values.h"

namespace tapedeck {

struct RecorderOptions {
  KeepingOptions keeping;
  bool keep_values = true;               ///< false: only records (measurements)
  std::uint64_t record_limit = 8 << 20;  ///< older records are forgotten: about 1 GB
  std::uint32_t first_record = 1;        ///< its number
};

class Recorder final : public Observer {
 public:
  explicit Recorder(const RecorderOptions& options = {});
  /// A recorder with the records of a file: it records nothing, and its gate never stops.
  Recorder(const RecorderOptions& options, std::unique_ptr<TraceSource> file);
  /// Stops recording. The caller ensures that no op that began while it recorded is still running, and that
  /// no other thread releases tensors meanwhile.
  ~Recorder() override;

  /// On: this is the engine's observer. It turns itself off when the trace is full, i.e. record numbers are
  /// used up. Off: there is no observer; ops have no overhead, are not recorded, and do not stop at the gate.
  void set_recording(bool on);
  bool recording() const { return recording_.load(); }
  /// The intervals [from, to) when it was off, in nanoseconds since it began, in order; without the first
  /// `known`, and without an interval that still lasts.
  std::vector<std::pair<std::int64_t, std::int64_t>> unrecorded(std::size_t known) const;
  /// While it is off: releases every value that it holds. Tensors that a later recording sees again become
  /// leaves.
  void release_values();

  std::uint64_t begin(const Event& event) override;
  void end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) override;
  /// The host's program is about to run a line, on this thread: stops where a breakpoint waits for it. What
  /// it returns is to be given to left_line(), unless it is empty. Throws Interrupted.
  LineRun at_line(std::uint32_t location);
  /// This thread has run the line: what a breakpoint writes of its ops is written without one where it ran
  /// none. `suspended`: the line goes on later, behind a `yield`.
  void left_line(const LineRun& run, bool suspended);
  /// If a breakpoint stops at failures: adds a failed record, and stops there.
  void refused(const Event& event, const char* error) override;
  void leaf(const Tensor& tensor, std::string_view name) override;
  void assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                std::uint64_t since) override;
  bool attends_gradients() const override { return gate_.armed(); }
  void finished(const FinishedGradient& gradient) override;
  void left(const Tensor& tensor) override;
  bool gives_up(std::span<const std::uint64_t> variables) override;
  void variable_gone(std::uint64_t variable) override;
  void taped(std::uint64_t record, std::uint64_t tape) override;
  void tape_used_up(std::uint64_t tape) override;
  void tape_emptied(std::uint64_t tape) override;
  /// As leaf() and assigned(), but without breakpoints: the debugger would wait for itself.
  void assigned_by_debugger(const Tensor& now, std::string_view name, const Tensor& value,
                            std::uint64_t variable);

  /// Collects the times that GPUs have reported so far into the records, without waiting. To be called before
  /// records are shown.
  void collect_device_times() const;

  /// Sets the running cell, and Jupyter's number of the run (0: unknown). If the gate breaks at cell starts,
  /// the cell's first op stops.
  void begin_cell(const std::string& cell, std::uint32_t execution = 0);
  /// `failed`: it raised an exception, or was interrupted.
  void end_cell(bool failed = false);
  std::string running_cell() const;  ///< empty: none
  std::uint64_t cells_ended() const { return cells_ended_.load(); }

  /// `x`: what the steps are, as in protocol::CurveInfo.
  void add_scalar(const std::string& name, double step, double value, std::string_view x = "step");
  /// Adds a histogram or images of a summary at the newest record. False: too large to keep.
  bool add_picture(protocol::Picture picture);

  /// The file that is read; nullptr for a live session.
  const TraceSource* file() const { return file_.get(); }
  /// For a file, when it is opened.
  void restore(std::int64_t started_unix_ms, std::uint64_t cells_ended) {
    started_unix_ms_ = started_unix_ms;
    cells_ended_ = cells_ended;
  }
  /// A quantity that an optimiser publishes: "L-BFGS/step length" is the quantity "step length" of the group
  /// "L-BFGS". False if the name is not of that form.
  bool add_health(const std::string& name, double value);

  Gate& gate() { return gate_; }
  Breakpoints& breakpoints() { return breakpoints_; }
  const Breakpoints& breakpoints() const { return breakpoints_; }
  Trace& trace() { return trace_; }
  Values& values() { return values_; }
  SeriesStore& series() { return series_; }
  PictureStore& pictures() { return pictures_; }
  CellRuns& cell_runs() { return cell_runs_; }
  GateWaits& gate_waits() { return gate_waits_; }
  HealthStore& health() { return health_; }
  HealthSampler& health_sampler() { return health_sampler_; }
  const Gate& gate() const { return gate_; }
  const Trace& trace() const { return trace_; }
  const Values& values() const { return values_; }
  DataFlowLog& data_flow() { return data_flow_; }
  const DataFlowLog& data_flow() const { return data_flow_; }
  MemoryLog& memory() { return memory_; }
  const MemoryLog& memory() const { return memory_; }
  const SeriesStore& series() const { return series_; }
  const PictureStore& pictures() const { return pictures_; }
  const CellRuns& cell_runs() const { return cell_runs_; }
  /// Records of calls of graph functions and of their parts so far, which are no ops.
  std::uint64_t calls_recorded() const { return calls_recorded_.load(std::memory_order_relaxed); }
  const GateWaits& gate_waits() const { return gate_waits_; }
  const HealthStore& health() const { return health_; }

  /// The budget for values, records and their bookkeeping: records take at most half of it (at least 64 MB).
  void set_budget(std::uint64_t bytes);
  /// The size of records, copies of small values, names, curves and breakpoints, without the held values.
  std::uint64_t bookkeeping_bytes() const;
  /// The part of the budget in use: held values, including those that the program also holds, and
  /// bookkeeping. Values recomputed for a view do not count.
  std::uint64_t bytes() const;
  /// Changes whenever values of kept records may have been lost: leaves were dropped over the budget, or
  /// records or assignments needed for them were forgotten. 0: all values are available.
  std::uint64_t values_lost() const;

  /// Recomputes values on the CPU instead of the device where their ops ran. Releases the values recomputed
  /// before.
  void set_replay_on_cpu(bool on);
  bool replays_on_cpu() const { return replay_on_cpu_.load(); }

  std::int64_t started_unix_ms() const { return started_unix_ms_; }
  std::int64_t now_ns() const;  ///< since the recorder began

  /// The callback for the first event after await_news(): called once per call of that, on any thread that
  /// runs ops. It must neither wait nor throw. A replaced callback may still be called for a moment.
  void set_news_listener(std::function<void()> listener);
  /// An event at the same moment may go unnoticed: check again a little later.
  void await_news() { awaited_.store(true); }

 private:
  struct Thread;
  struct Open;
  Thread& this_thread();
  std::int64_t now() const;  ///< ticks since the recorder began
  RecordHead head_of(const Event& event, const Open* parent, const Thread& thread) const;
  void note_inputs(std::span<const Tensor> inputs, Thread& thread);
  void count_bookkeeping(std::uint32_t number);
  RecorderSample sample(std::uint32_t number) const;  ///< of bytes(), which is cheap
  void make_version(const Tensor& tensor, const Tensor& value, std::uint64_t variable);
  void keep_result(const Tensor& output, std::uint64_t replay_ns);
  void add_leaf(const Tensor& tensor, std::uint32_t name);
  void sample_before(Thread& thread, const Event& event, const RecordHead& head);
  void sample_after(Thread& thread, std::uint32_t number, std::span<const Tensor> outputs, bool playback);
  std::uint32_t finisher_of(const FinishedGradient& gradient, std::uint32_t playback) const;
  void ask_gate(Thread& thread, const Event& event, const GatePoint& point, const BreakStop* stop);
  /// Checks the breakpoints, then the gate.
  void come_to_stop(Thread& thread, const Event& event, const GatePoint& point,
                    std::optional<BreakEvent>& seen, bool stands);
  void stop_after(Thread& thread, std::uint32_t number, std::span<const Tensor> outputs, const char* error);
  void note_wait(const Thread& thread, std::uint32_t number, std::int64_t from, std::int64_t to);
  /// "f ran, 12 ops"; empty for what is not a call of a graph function.
  std::string said_of_call(std::uint32_t number, std::uint64_t ops, bool failed) const;
  void wait_after(Thread& thread, const BreakEvent& event, const BreakStop& stop);
  /// The user may have changed which lines the host must report.
  static void went_on();
  /// One relaxed load if nothing is awaited.
  void note_news() {
    if (awaited_.load(std::memory_order_relaxed)) [[unlikely]]
      tell_news();
  }
  void tell_news();
  void begin_device_work(Thread& thread, std::uint32_t number, Device device);
  void end_device_work(Thread& thread, std::uint32_t number);

  const std::unique_ptr<TraceSource> file_;
  const std::uint64_t serial_;  ///< unique among all recorders of the process
  const bool keep_values_;
  const std::int64_t origin_;  ///< ticks
  const std::uint32_t first_record_;
  std::int64_t started_unix_ms_;
  std::atomic<std::uint32_t> threads_{0};
  std::atomic<std::uint32_t> next_count_{0};
  /// The names of tensors of earlier records are forgotten.
  std::atomic<std::uint32_t> forgotten_to_{0};
  /// The bookkeeping without the trace, as last counted.
  mutable std::atomic<std::uint64_t> beside_records_{0};
  std::atomic<std::uint64_t> old_versions_{0};  ///< versions with lower ids are held as leaves when used
  std::atomic<bool> recording_{false};
  std::atomic<bool> replay_on_cpu_{false};
  mutable std::mutex unrecorded_mutex_;  ///< guards what follows
  std::int64_t stopped_at_ = 0;          ///< nanoseconds
  std::vector<std::pair<std::int64_t, std::int64_t>> unrecorded_;
  Gate gate_;
  Trace trace_;
  MemoryLog memory_;
  Lives lives_{trace_, memory_};
  Values values_;
  DataFlowLog data_flow_;
  SeriesStore series_;
  PictureStore pictures_;
  CellRuns cell_runs_;
  GateWaits gate_waits_;
  HealthStore health_;
  HealthSampler health_sampler_;
  std::atomic<std::uint64_t> cells_ended_{0};
  std::atomic<std::uint64_t> calls_recorded_{0};
  Breakpoints breakpoints_;
  mutable std::mutex cell_mutex_;
  std::string running_cell_;
  std::atomic<bool> awaited_{false};
  std::mutex listener_mutex_;
  std::function<void()> news_listener_;
};

}  // namespace tapedeck
