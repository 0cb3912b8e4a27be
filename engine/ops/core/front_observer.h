// Observers in front of the recorder, for as long as somebody wants them: a lockstep, execution callbacks.
//
// run_op knows one observer. The fan-out is a chain: each one in front tells the next, the last one that of
// set_observer, where there is one. With none in front, run_op's observer is the recorder itself, and nothing
// costs more.
#pragma once

#include <vector>

#include "engine/ops/core/observer.h"

namespace tapedeck {

/// Sees each event and hands it on. It lives as long as the process: an op of another thread may still be in
/// it when it has been taken away.
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
  /// When those behind have been told. `record`: 0 where none of them keeps records. What it throws abandons
  /// the event: it does not end then.
  virtual void begun(const Event& event, std::uint64_t record) = 0;
  /// What it throws goes on to the event's caller, with the work done. After the ends of all that began
  /// inside.
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

/// It must not be there already. Thread-safe, as the next.
void add_front_observer(FrontObserver& front);
/// Does nothing where it is not there.
void remove_front_observer(FrontObserver& front);
/// In a forked child: nobody listens any more.
void forget_observers();

}  // namespace tapedeck
