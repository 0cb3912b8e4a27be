#include "engine/cpu/kernels.h"
#include "engine/cpu/products/recurrent_steps.h"

namespace tapedeck::cpu {
namespace {

/// Steps back through the sequences, which gives the gradients of all gates; those of the weights are
/// products of these.
template <class T>
class Backward : public Sequences<T> {
 public:
  Backward(RecurrentCell cell, const RecurrentSize& size, const RecurrentInputs& in,
           const RecurrentResults& out, const RecurrentCotangents& cotangents,
           const RecurrentGradients& gradients)
      : Sequences<T>(cell, size, in, out),
        loops_(recurrent_loops<T>()),
        given_(cotangents),
        wanted_(gradients),
        gates_(this->form.gates * this->units()),
        width_(this->form.d_gates * this->units()),
        first_(cell == RecurrentCell::gru_before || cell == RecurrentCell::gru_after ? 2 * this->units()
                                                                                     : gates_),
        d_gates_(this->rows() * width_),
        state_(true, first_, this->units(), this->recurrent_kernel, gates_, this->in_tasks()),
        rest_(true, gates_ - first_, this->units(), this->recurrent_kernel + first_, gates_,
              this->in_tasks()) {}

  void run() const {
    const std::int64_t units = this->units();
    this->for_examples([&](std::int64_t first, std::int64_t count) {
      const Scratch<T> scratch(3 * count * units);
      T* const dh = scratch.data();
      T* const dc = dh + count * units;
      begin(given_.h, first, count, dh);
      begin(given_.c, first, count, dc);
      for (std::int64_t step = this->size.steps - 1; step >= 0; --step) {
        check_stop();
        take(step, first, count, dh, dc, dc + count * units);
      }
      if (wanted_.h) std::copy_n(dh, count * units, static_cast<T*>(wanted_.h) + first * units);
      if (wanted_.c) std::copy_n(dc, count * units, static_cast<T*>(wanted_.c) + first * units);
    });
    weights();
  }

 private:
  void begin(const void* given, std::int64_t first, std::int64_t count, T* to) const {
    if (given)
      std::copy_n(static_cast<const T*>(given) + first * this->units(), count * this->units(), to);
    else
      std::fill_n(to, count * this->units(), T(0));
  }

  T* d_gates_at(std::int64_t b, std::int64_t step) const {
    return d_gates_.data() + this->row(b, step) * width_;
  }

  void take(std::int64_t step, std::int64_t first, std::int64_t count, T* dh, T* dc, T* scratch) const {
    const std::int64_t units = this->units();
    for (std::int64_t b = first; b < first + count; ++b) {
      const std::int64_t row = this->row(b, step), at = (b - first) * units;
      if (given_.sequence) {
        const T* more = static_cast<const T*>(given_.sequence) + row * units;
        for (std::int64_t u = 0; u < units; ++u) dh[at + u] += more[u];
      }
      const T* d_kept =
          given_.kept ? static_cast<const T*>(given_.kept) + row * this->form.kept * units : nullptr;
      if (this->runs(row))
        take_row(step, b, d_kept, dh + at, dc + at);
      else
        pass_row(step, b, d_kept, dc + at);
    }
    const T* d_gates = d_gates_at(first, step);
    const std::int64_t d_row = this->between() * width_;
    if (this->cell == RecurrentCell::gru_before) {
      rest_.multiply(count, d_gates + first_, d_row, {scratch, units, false});
      for (std::int64_t b = first; b < first + count; ++b)
        reset_row(step, b, scratch + (b - first) * units, dh + (b - first) * units);
    }
    state_.multiply(count, d_gates, d_row, {dh, units, true});
    if (this->cell == RecurrentCell::gru_after)
      rest_.multiply(count, d_gates + 3 * units, d_row, {dh, units, true});
  }

  void take_row(std::int64_t step, std::int64_t b, const T* d_kept, T* dh, T* dc) const {
    const std::int64_t units = this->units();
    T* d_gates = d_gates_at(b, step);
    switch (this->cell) {
      case RecurrentCell::lstm:
        return loops_.lstm_gradient(units, this->kept_at(b, step), this->c_before(b, step), d_kept, dh, dc,
                                    d_gates);
      case RecurrentCell::gru_after:
        return loops_.gru_after_gradient(units, this->kept_at(b, step), this->h_before(b, step), d_kept, dh,
                                         d_gates);
      case RecurrentCell::gru_before:
        return loops_.gru_before_state_gradient(units, this->kept_at(b, step), this->h_before(b, step),
                                                d_kept, dh, d_gates);
      default:
        return loops_.simple_rnn_gradient(units, this->cell == RecurrentCell::rnn_relu, this->h_at(b, step),
                                          dh, d_gates);
    }
  }

  /// The mask is false: gradients of the state pass unchanged.
  void pass_row(std::int64_t step, std::int64_t b, const T* d_kept, T* dc) const {
    std::fill_n(d_gates_at(b, step), width_, T(0));
    if (this->cell == RecurrentCell::lstm && d_kept)
      for (std::int64_t u = 0; u < this->units(); ++u) dc[u] += d_kept[4 * this->units() + u];
  }

  void reset_row(std::int64_t step, std::int64_t b, const T* d_reset, T* dh) const {
    const std::int64_t row = this->row(b, step);
    if (!this->runs(row)) return;
    const T* d_kept =
        given_.kept ? static_cast<const T*>(given_.kept) + row * this->form.kept * this->units() : nullptr;
    loops_.gru_before_gates_gradient(this->units(), this->kept_at(b, step), this->h_before(b, step), d_kept,
                                     d_reset, dh, d_gates_at(b, step));
  }

  void weights() const {
    const std::int64_t inputs = std::max<std::int64_t>(1, this->size.inputs);
    if (wanted_.x)
      gemm({this->rows(), this->size.inputs, gates_, false, true, width_, gates_}, d_gates_.data(),
           this->kernel, false, static_cast<T*>(wanted_.x), inputs);
    if (wanted_.kernel)
      gemm({this->size.inputs, gates_, this->rows(), true, false, inputs, width_}, this->x, d_gates_.data(),
           false, static_cast<T*>(wanted_.kernel), gates_);
    if (wanted_.recurrent_kernel) recurrent_kernel_gradient();
    if (wanted_.bias) bias_gradient();
  }

  void recurrent_kernel_gradient() const {
    const std::int64_t units = this->units();
    const Scratch<T> before(this->rows() * units);
    for_blocks(this->size.batch, std::max<std::int64_t>(1, grain_for(0.05) / (this->size.steps * units + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t b = begin; b < end; ++b)
                   for (std::int64_t step = 0; step < this->size.steps; ++step)
                     std::copy_n(this->h_before(b, step), units, before.data() + this->row(b, step) * units);
               });
    T* const to = static_cast<T*>(wanted_.recurrent_kernel);
    gemm({units, first_, this->rows(), true, false, units, width_}, before.data(), d_gates_.data(), false, to,
         gates_);
    if (this->cell == RecurrentCell::gru_after)
      gemm({units, units, this->rows(), true, false, units, width_}, before.data(),
           d_gates_.data() + 3 * units, false, to + first_, gates_);
    if (this->cell == RecurrentCell::gru_before)
      gemm({units, units, this->rows(), true, false, 4 * units, width_}, this->kept + 3 * units,
           d_gates_.data() + first_, false, to + first_, gates_);
  }

  void bias_gradient() const {
    const std::int64_t units = this->units();
    const Scratch<T> sums(width_);
    reduce(Reduction::sum, dtype_of<T>(), d_gates_.data(), 1, this->rows(), width_, sums.data());
    T* const to = static_cast<T*>(wanted_.bias);
    std::copy_n(sums.data(), gates_, to);
    if (this->cell != RecurrentCell::gru_after) return;
    std::copy_n(sums.data(), first_, to + gates_);
    std::copy_n(sums.data() + gates_, units, to + gates_ + first_);
  }

  const RecurrentLoops<T>& loops_;
  const RecurrentCotangents given_;
  const RecurrentGradients wanted_;
  const std::int64_t gates_;  ///< columns of the kernels
  const std::int64_t width_;  ///< of a step's gradients
  const std::int64_t first_;  ///< columns of the recurrent kernel that the state itself is multiplied with
  const Scratch<T> d_gates_;
  const PackedRight<T> state_, rest_;
};

}  // namespace

void recurrent_gradient(RecurrentCell cell, DType dtype, const RecurrentSize& size,
                        const RecurrentInputs& inputs, const RecurrentResults& results,
                        const RecurrentCotangents& cotangents, const RecurrentGradients& gradients) {
  if (dtype == DType::float32)
    Backward<float>(cell, size, inputs, results, cotangents, gradients).run();
  else
    Backward<double>(cell, size, inputs, results, cotangents, gradients).run();
}

}  // namespace tapedeck::cpu
