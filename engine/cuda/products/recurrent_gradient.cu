#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/channel_sums.h"
#include "engine/cuda/products/recurrent_steps.h"

namespace tapedeck::cuda {
namespace {

namespace cells = cpu::TAPEDECK_ISA;

/// d_sequence and d_kept may be nullptr; rows of d_gates are `width` values. dh and dc: those of the step's
/// state, and then those of the state before.
template <class T>
struct StepGradient {
  const T *d_sequence, *d_kept;
  T *dh, *dc, *d_gates;
  std::int64_t width;
};

template <class T>
__device__ const T* d_kept_of(const StepGradient<T>& of, const Step<T>& step, std::int64_t row) {
  return of.d_kept ? of.d_kept + row * step.kept_parts * step.units : nullptr;
}

/// The mask is false: gradients of the state pass as they are.
template <RecurrentCell cell, class T>
__device__ void pass_unit_gradient(std::int64_t u, std::int64_t units, const T* d_kept, T* dc, T* d_gates) {
  constexpr std::int64_t parts = kernels::form_of(cell).d_gates;
  for (std::int64_t part = 0; part < parts; ++part) d_gates[part * units + u] = T(0);
  if constexpr (cell == RecurrentCell::lstm)
    if (d_kept) dc[u] += d_kept[4 * units + u];
}

template <RecurrentCell cell, class T>
__global__ void recurrent_step_gradient(Step<T> step, StepGradient<T> of) {
  for (std::int64_t i = thread_number(); i < step.batch * step.units; i += thread_count()) {
    const std::int64_t example = i / step.units, u = i % step.units, units = step.units;
    const std::int64_t row = step.row(example);
    const T* d_kept = d_kept_of(of, step, row);
    T* dh = of.dh + example * units;
    T* dc = of.dc + example * units;
    T* d_gates = of.d_gates + row * of.width;
    if (of.d_sequence) dh[u] += of.d_sequence[row * units + u];
    if (!step.runs(row)) {
      pass_unit_gradient<cell>(u, units, d_kept, dc, d_gates);
      continue;
    }
    if constexpr (cell == RecurrentCell::lstm) {
      const T* kept = step.kept_at(row);
      if (d_kept) dc[u] += d_kept[4 * units + u];
      cells::lstm_unit_gradient(u, units, kept, step.c_before.of(example), dh, dc, d_gates);
      if (!d_kept) continue;
      cells::add_sigmoid_gate(u, kept, d_kept, d_gates);
      cells::add_sigmoid_gate(units + u, kept, d_kept, d_gates);
      cells::add_tanh_gate(2 * units + u, kept, d_kept, d_gates);
      cells::add_sigmoid_gate(3 * units + u, kept, d_kept, d_gates);
    } else if constexpr (cell == RecurrentCell::gru_after) {
      cells::gru_after_unit_gradient<T>(u, units, step.kept_at(row), step.h_before.of(example), d_kept, dh,
                                        d_gates);
    } else if constexpr (cell == RecurrentCell::gru_before) {
      cells::gru_before_unit_gradient<T>(u, units, step.kept_at(row), step.h_before.of(example), d_kept, dh,
                                         d_gates);
    } else {
      cells::simple_unit_gradient<T>(u, cell == RecurrentCell::rnn_relu, step.h_at(row), dh, d_gates);
    }
  }
}

/// d_reset: the gradients of r·h so far.
template <class T>
__global__ void gru_before_reset_step(Step<T> step, StepGradient<T> of, const T* d_reset) {
  for (std::int64_t i = thread_number(); i < step.batch * step.units; i += thread_count()) {
    const std::int64_t example = i / step.units, u = i % step.units, row = step.row(example);
    if (step.runs(row))
      cells::gru_before_reset_gradient<T>(u, step.units, step.kept_at(row), step.h_before.of(example),
                                          d_kept_of(of, step, row), d_reset + example * step.units,
                                          of.dh + example * step.units, of.d_gates + row * of.width);
  }
}

/// The state before each row.
template <class T>
__global__ void states_before(Step<T> step, T* to) {
  for (std::int64_t i = thread_number(); i < step.batch * step.units; i += thread_count()) {
    const std::int64_t example = i / step.units, u = i % step.units;
    to[step.row(example) * step.units + u] = step.h_before.of(example)[u];
  }
}

template <class T>
struct GateSums {
  const T* d_gates;
  __device__ void operator()(std::int64_t place, std::int64_t, std::int64_t, double* sums) const {
    sums[0] += static_cast<double>(d_gates[place]);
  }
};
/// The bias of the inputs, and where `after` that of the state behind it, whose candidate has the last part
/// of the sums.
template <class T>
struct StoreBias {
  T* to;
  std::int64_t units, gates;
  bool after;
  __device__ void operator()(std::int64_t column, const double* sums) const {
    const T sum = static_cast<T>(sums[0]);
    if (column < gates) to[column] = sum;
    if (after && column < 2 * units) to[gates + column] = sum;
    if (after && column >= gates) to[column + 2 * units] = sum;
  }
};

template <class T>
class Backward : public Sequences<T> {
 public:
  Backward(RecurrentCell of, const kernels::RecurrentSize& size, const kernels::RecurrentInputs& in,
           const kernels::RecurrentResults& out, const RecurrentCotangents& cotangents,
           const RecurrentGradients& gradients)
      : Sequences<T>(of, size, in, out),
        given_(cotangents),
        wanted_(gradients),
        width_(this->form.d_gates * size.units),
        first_(of == RecurrentCell::gru_before || of == RecurrentCell::gru_after ? 2 * size.units
                                                                                 : this->gates()),
        states_(size.batch * size.units),
        d_gates_(bytes(this->rows() * width_)),
        scratch_(bytes(3 * states_)) {}

  void run() const {
    T* const dh = scratch_.as<T>();
    T* const dc = dh + states_;
    begin(given_.h, dh);
    begin(given_.c, dc);
    for (std::int64_t step = this->size.steps - 1; step >= 0; --step) take(step, dh, dc, dc + states_);
    end(dh, wanted_.h);
    end(dc, wanted_.c);
    weights();
  }

 private:
  static std::size_t bytes(std::int64_t values) { return static_cast<std::size_t>(values) * sizeof(T); }

  void begin(const void* given, T* to) const {
    if (states_ == 0) return;
    check(given ? cudaMemcpyAsync(to, given, bytes(states_), cudaMemcpyDeviceToDevice, stream())
                : cudaMemsetAsync(to, 0, bytes(states_), stream()),
          "recurrent_gradient");
  }
  void end(const T* from, void* to) const {
    if (to && states_ > 0)
      check(cudaMemcpyAsync(to, from, bytes(states_), cudaMemcpyDeviceToDevice, stream()),
            "recurrent_gradient");
  }

  void take(std::int64_t step, T* dh, T* dc, T* d_reset) const {
    const std::int64_t batch = this->size.batch, units = this->size.units, gates = this->gates();
    const Step<T> at = this->at(step);
    T* const d_gates = d_gates_.as<T>();
    const StepGradient<T> of{
        static_cast<const T*>(given_.sequence), static_cast<const T*>(given_.kept), dh, dc, d_gates, width_};
    const Grid grid = grid_for(batch * units);
    visit_cell(this->cell, [&]<RecurrentCell cell>() {
      launch("recurrent_gradient", grid, recurrent_step_gradient<cell, T>, at, of);
    });
    const T* const own = d_gates + at.first_row * width_;
    const std::int64_t row = at.between * width_;
    if (this->cell == RecurrentCell::gru_before) {
      product<T>(batch, units, gates - first_, {own + first_, row},
                 {this->recurrent_kernel + first_, gates, true}, false, d_reset, units);
      launch("recurrent_gradient", grid, gru_before_reset_step<T>, at, of, static_cast<const T*>(d_reset));
    }
    product<T>(batch, units, first_, {own, row}, {this->recurrent_kernel, gates, true}, true, dh, units);
    if (this->cell == RecurrentCell::gru_after)
      product<T>(batch, units, gates - first_, {own + 3 * units, row},
                 {this->recurrent_kernel + first_, gates, true}, true, dh, units);
  }

  void weights() const {
    const std::int64_t inputs = this->size.inputs, gates = this->gates(), rows = this->rows();
    const T* const d_gates = d_gates_.as<T>();
    if (wanted_.x)
      product<T>(rows, inputs, gates, {d_gates, width_}, {this->kernel, gates, true}, false,
                 static_cast<T*>(wanted_.x), inputs);
    if (wanted_.kernel)
      product<T>(inputs, gates, rows, {this->x, inputs, true}, {d_gates, width_}, false,
                 static_cast<T*>(wanted_.kernel), gates);
    if (wanted_.recurrent_kernel) recurrent_kernel_gradient(static_cast<T*>(wanted_.recurrent_kernel));
    if (wanted_.bias)
      sum_channels<1>("recurrent_gradient", ChannelParts({rows, width_, 1}), GateSums<T>{d_gates},
                      StoreBias<T>{static_cast<T*>(wanted_.bias), this->size.units, gates,
                                   this->cell == RecurrentCell::gru_after});
  }

  void recurrent_kernel_gradient(T* to) const {
    const std::int64_t units = this->size.units, gates = this->gates(), rows = this->rows();
    const T* const d_gates = d_gates_.as<T>();
    const Scratch before(bytes(rows * units));
    for (std::int64_t step = 0; step < this->size.steps; ++step)
      launch("recurrent_gradient", grid_for(states_), states_before<T>, this->at(step), before.as<T>());
    const Matrix<T> states{before.as<T>(), units, true};
    product<T>(units, first_, rows, states, {d_gates, width_}, false, to, gates);
    if (this->cell == RecurrentCell::gru_after)
      product<T>(units, units, rows, states, {d_gates + 3 * units, width_}, false, to + first_, gates);
    if (this->cell == RecurrentCell::gru_before)
      product<T>(units, units, rows, {this->kept + 3 * units, 4 * units, true}, {d_gates + first_, width_},
                 false, to + first_, gates);
  }

  const RecurrentCotangents given_;
  const RecurrentGradients wanted_;
  const std::int64_t width_;   ///< of a step's gradients
  const std::int64_t first_;   ///< columns of the recurrent kernel that the state itself is multiplied with
  const std::int64_t states_;  ///< values of a step's states
  const Scratch d_gates_, scratch_;
};

}  // namespace

void recurrent_gradient(RecurrentCell cell, DType dtype, const RecurrentSize& size,
                        const RecurrentInputs& inputs, const RecurrentResults& results,
                        const RecurrentCotangents& cotangents, const RecurrentGradients& gradients) {
  if (dtype == DType::float32)
    Backward<float>(cell, size, inputs, results, cotangents, gradients).run();
  else if (dtype == DType::float64)
    Backward<double>(cell, size, inputs, results, cotangents, gradients).run();
  else
    throw NoKernel("recurrent_gradient");
}

}  // namespace tapedeck::cuda
