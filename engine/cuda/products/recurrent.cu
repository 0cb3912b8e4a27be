#include "engine/cuda/kernels.h"
#include "engine/cuda/products/recurrent_steps.h"

namespace tapedeck::cuda {
namespace {

namespace cells = cpu::TAPEDECK_ISA;

/// The mask is false: the state stays.
template <RecurrentCell cell, class T>
__device__ void pass_unit(const Step<T>& step, std::int64_t example, std::int64_t u, std::int64_t row) {
  constexpr std::int64_t parts = kernels::form_of(cell).kept;
  step.h_at(row)[u] = step.h_before.of(example)[u];
  for (std::int64_t part = 0; part < parts; ++part) step.kept_at(row)[part * step.units + u] = T(0);
  if constexpr (cell == RecurrentCell::lstm)
    step.kept_at(row)[4 * step.units + u] = step.c_before.of(example)[u];
}

/// A thread for each unit of each example. products: those of the state before with the recurrent kernel.
template <RecurrentCell cell, class T>
__global__ void recurrent_step(Step<T> step, const T* products, std::int64_t product_row) {
  for (std::int64_t i = thread_number(); i < step.batch * step.units; i += thread_count()) {
    const std::int64_t example = i / step.units, u = i % step.units, units = step.units;
    const std::int64_t row = step.row(example);
    if (!step.runs(row)) {
      pass_unit<cell>(step, example, u, row);
      continue;
    }
    const T* product = products + example * product_row;
    T* h = step.h_at(row);
    if constexpr (cell == RecurrentCell::lstm) {
      cells::lstm_state(u, units, product, step.bias, step.c_before.of(example), step.kept_at(row));
      cells::lstm_output(u, units, product, step.bias, step.kept_at(row), h);
    } else if constexpr (cell == RecurrentCell::gru_after) {
      cells::gru_after_gate(u, units, product, step.bias, step.kept_at(row));
      cells::gru_after_gate(units + u, units, product, step.bias, step.kept_at(row));
      cells::gru_after_state(u, units, product, step.bias, step.h_before.of(example), step.kept_at(row), h);
    } else if constexpr (cell == RecurrentCell::gru_before) {
      cells::gru_before_gate(u, product, step.bias, step.kept_at(row));
      cells::gru_before_gate(units + u, product, step.bias, step.kept_at(row));
      cells::gru_before_reset(u, units, step.h_before.of(example), step.kept_at(row));
    } else if constexpr (cell == RecurrentCell::rnn_relu) {
      cells::relu_unit(u, product, step.bias, h);
    } else {
      cells::tanh_unit(u, product, step.bias, h);
    }
  }
}

/// products: those of r·h.
template <class T>
__global__ void gru_before_step(Step<T> step, const T* products) {
  for (std::int64_t i = thread_number(); i < step.batch * step.units; i += thread_count()) {
    const std::int64_t example = i / step.units, u = i % step.units, row = step.row(example);
    if (step.runs(row))
      cells::gru_before_state(u, step.units, products + example * step.units, step.bias,
                              step.h_before.of(example), step.kept_at(row), step.h_at(row));
  }
}

template <class T>
__global__ void copy_state(std::int64_t batch, std::int64_t units, StateRows<T> from, T* to) {
  for (std::int64_t i = thread_number(); i < batch * units; i += thread_count())
    to[i] = from.of(i / units)[i % units];
}

template <class T>
class Forward : public Sequences<T> {
 public:
  using Sequences<T>::Sequences;

  void run() const {
    const auto& size = this->size;
    const std::int64_t units = size.units, gates = this->gates();
    // The inputs' part of all gates, where the gates will be.
    T* const to = this->kept ? this->kept : this->sequence;
    product<T>(this->rows(), gates, size.inputs, {this->x, size.inputs}, {this->kernel, gates}, false, to,
               (this->kept ? this->form.kept : 1) * units);
    const Scratch products(static_cast<std::size_t>(size.batch * gates) * sizeof(T));
    for (std::int64_t step = 0; step < size.steps; ++step) take(step, products.as<T>());
    const Grid grid = grid_for(size.batch * units);
    launch("recurrent", grid, copy_state<T>, size.batch, units, this->h_before(size.steps), this->h_last);
    if (this->cell == RecurrentCell::lstm)
      launch("recurrent", grid, copy_state<T>, size.batch, units, this->c_before(size.steps), this->c_last);
  }

 private:
  void take(std::int64_t step, T* products) const {
    const std::int64_t batch = this->size.batch, units = this->size.units, gates = this->gates();
    const bool reset_before = this->cell == RecurrentCell::gru_before;
    const std::int64_t columns =
        reset_before ? 2 * units : gates;  // that the state itself is multiplied with
    const Step<T> at = this->at(step);
    const Grid grid = grid_for(batch * units);
    product<T>(batch, columns, units, {at.h_before.first, at.h_before.row}, {this->recurrent_kernel, gates},
               false, products, columns);
    visit_cell(this->cell, [&]<RecurrentCell cell>() {
      launch("recurrent", grid, recurrent_step<cell, T>, at, static_cast<const T*>(products), columns);
    });
    if (!reset_before) return;
    const std::int64_t kept_row = this->form.kept * units;
    product<T>(batch, units, units, {this->kept + at.first_row * kept_row + 3 * units, at.between * kept_row},
               {this->recurrent_kernel + columns, gates}, false, products, units);
    launch("recurrent", grid, gru_before_step<T>, at, static_cast<const T*>(products));
  }
};

}  // namespace

void recurrent(RecurrentCell cell, DType dtype, const RecurrentSize& size, const RecurrentInputs& inputs,
               const RecurrentResults& results) {
  if (dtype == DType::float32)
    Forward<float>(cell, size, inputs, results).run();
  else if (dtype == DType::float64)
    Forward<double>(cell, size, inputs, results).run();
  else
    throw NoKernel("recurrent");
}

}  // namespace tapedeck::cuda
