// One product for the inputs of all steps, one for each step's state, and one for each gradient of a weight.
// Results do not depend on the number of threads; the calling thread checks for interrupts.
#include "engine/cpu/kernels.h"
#include "engine/cpu/products/recurrent_steps.h"

namespace tapedeck::cpu {
namespace {

/// A step of some examples. `scratch` has room for their products with the state.
template <class T>
class Forward : public Sequences<T> {
 public:
  Forward(RecurrentCell cell, const RecurrentSize& size, const RecurrentInputs& in,
          const RecurrentResults& out)
      : Sequences<T>(cell, size, in, out),
        loops_(recurrent_loops<T>()),
        gates_(this->form.gates * this->units()),
        first_(cell == RecurrentCell::gru_before ? 2 * this->units() : gates_),
        state_(false, this->units(), first_, this->recurrent_kernel, gates_, this->in_tasks()),
        reset_state_(false, this->units(), gates_ - first_, this->recurrent_kernel + first_, gates_,
                     this->in_tasks()) {}

  void run() const {
    // The inputs' part of all gates, where the gates will be.
    T* const to = this->kept ? this->kept : this->sequence;
    const std::int64_t to_row = (this->kept ? this->form.kept : 1) * this->units();
    gemm({this->rows(), gates_, this->size.inputs, false, false, std::max<std::int64_t>(1, this->size.inputs),
          std::max<std::int64_t>(1, gates_)},
         this->x, this->kernel, false, to, to_row);
    this->for_examples([&](std::int64_t first, std::int64_t count) {
      const Scratch<T> scratch(count * gates_);
      for (std::int64_t step = 0; step < this->size.steps; ++step) {
        check_stop();
        take(step, first, count, scratch.data());
      }
    });
    finish();
  }

 private:
  void take(std::int64_t step, std::int64_t first, std::int64_t count, T* scratch) const {
    state_.multiply(count, this->h_before(first, step), this->h_before_row(step), {scratch, first_, false});
    for (std::int64_t b = first; b < first + count; ++b)
      if (this->runs(this->row(b, step)))
        take_row(step, b, scratch + (b - first) * first_);
      else
        pass_row(step, b);
    if (this->cell != RecurrentCell::gru_before) return;
    const std::int64_t units = this->units();
    const T* reset = this->kept_at(first, step) + 3 * units;
    reset_state_.multiply(count, reset, this->between() * 4 * units, {scratch, units, false});
    for (std::int64_t b = first; b < first + count; ++b)
      if (this->runs(this->row(b, step)))
        loops_.gru_before_state(units, scratch + (b - first) * units, this->bias, this->h_before(b, step),
                                this->kept_at(b, step), this->h_at(b, step));
  }

  void take_row(std::int64_t step, std::int64_t b, const T* product) const {
    const std::int64_t units = this->units();
    T* h = this->h_at(b, step);
    switch (this->cell) {
      case RecurrentCell::lstm:
        return loops_.lstm(units, product, this->bias, this->c_before(b, step), this->kept_at(b, step), h);
      case RecurrentCell::gru_after:
        return loops_.gru_after(units, product, this->bias, this->h_before(b, step), this->kept_at(b, step),
                                h);
      case RecurrentCell::gru_before:
        return loops_.gru_before_gates(units, product, this->bias, this->h_before(b, step),
                                       this->kept_at(b, step));
      default:
        return loops_.simple_rnn(units, this->cell == RecurrentCell::rnn_relu, product, this->bias, h);
    }
  }

  /// The mask is false: the state stays.
  void pass_row(std::int64_t step, std::int64_t b) const {
    const std::int64_t units = this->units();
    std::copy_n(this->h_before(b, step), units, this->h_at(b, step));
    if (!this->kept) return;
    std::fill_n(this->kept_at(b, step), this->form.kept * units, T(0));
    if (this->cell == RecurrentCell::lstm)
      std::copy_n(this->c_before(b, step), units, this->kept_at(b, step) + 4 * units);
  }

  void finish() const {
    const std::int64_t units = this->units();
    for (std::int64_t b = 0; b < this->size.batch; ++b) {
      std::copy_n(this->h_before(b, this->size.steps), units, this->h_last + b * units);
      if (this->cell == RecurrentCell::lstm)
        std::copy_n(this->c_before(b, this->size.steps), units, this->c_last + b * units);
    }
  }

  const RecurrentLoops<T>& loops_;
  const std::int64_t gates_;  ///< columns of the kernels
  const std::int64_t first_;  ///< those that the state itself is multiplied with
  const PackedRight<T> state_, reset_state_;
};

}  // namespace

void recurrent(RecurrentCell cell, DType dtype, const RecurrentSize& size, const RecurrentInputs& inputs,
               const RecurrentResults& results) {
  if (dtype == DType::float32)
    Forward<float>(cell, size, inputs, results).run();
  else
    Forward<double>(cell, size, inputs, results).run();
}

}  // namespace tapedeck::cpu
