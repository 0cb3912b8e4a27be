// Temporary observers in front of the recorder: a lockstep, execution callbacks.
//
// run_op calls one observer. The fan-out is a chain: each front observer calls the next, the last one that of
// set_observer, if any. Without front observers run_op calls the recorder directly, without overhead.
#pragma once

#include <vector>

#include "engine/ops/core/observer.h"

namespace tapedeck {

/// Sees each event and forwards it. It must live as long as the process: an op of another thread may still be
/// in it after its removal.
class FrontObserver : public Observer {
 public:
  std::uint64_t begin(const Event& event) final;
  void end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) final;
  void refused(const Event& event, const char* error) final;
  void leaf(const Tensor& tensor, std::string_view name) final;
  void assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable, std::uint64_t since) final;
  bool attends_gradients() const final;
  void finished(const FinishedGradient& gradient) final;
  void left(const Tensor& tensor) final;
  void variable_gone(std::uint64_t variable) final;
  void taped(std::uint64_t record, std::uint64_t tape) final;
  void tape_used_up(std::uint64_t tape) final;
  void tape_emptied(std::uint64_t tape) final;

 protected:
  /// Called after the observers behind it. `record`: 0 if none of them keeps records. If it throws, the event
  /// is abandoned and does not end.
  virtual void begun(const Event& event, std::uint64_t record) = 0;
  /// What it throws propagates to the event's caller, with the work done. Called after the ends of all inner
  /// events.
  virtual void ended(const Event& event, std::uint64_t record, std::span<const Tensor> outputs,
                     const char* error) = 0;

 private:
  struct Open;
  static std::vector<Open>& open_here();
  Observer* behind() const;

  std::atomic<FrontObserver*> behind_{nullptr};
  friend void add_front_observer(FrontObserver& front);
  friend void remove_front_observer(FrontObserver& front);
};

/// It must not be in the chain. Thread-safe, as the next.
void add_front_observer(FrontObserver& front);
/// Does nothing if it is not in the chain.
void remove_front_observer(FrontObserver& front);
/// In a forked child: removes all observers.
void forget_observers();

}  // namespace tapedeck
