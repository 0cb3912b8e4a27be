#include "engine/debug/tile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

#include "engine/backend/backend.h"
#include "engine/cpu/parallel.h"
#include "engine/record/values/device_values.h"
#include "engine/tensor/foreign_devices.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"

namespace tapedeck::debug {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream text;
  text << "get_tile: ";
  (text << ... << parts);
  throw BadRequest(text.str());
}

/// Rows and columns of a slice: extents, and strides in elements. A missing axis has extent 1.
struct Plane {
  std::int64_t offset = 0;
  std::array<std::int64_t, 2> extent{1, 1};
  std::array<std::int64_t, 2> stride{0, 0};
};

Shape wanted_shape(const Tensor& tensor, const std::optional<std::vector<std::int64_t>>& reshape) {
  if (!reshape) return tensor.shape();
  if (reshape->size() > max_rank) refuse("reshape has ", reshape->size(), " axes, the most is ", max_rank);
  const Shape shape{std::span<const std::int64_t>(*reshape)};
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && count > std::numeric_limits<std::int64_t>::max() / extent))
      refuse("reshape ", to_string(shape), " is not a shape");
    count *= extent;
  }
  if (count != tensor.count())
    refuse("reshape ", to_string(shape), " has ", count, " elements, the tensor ", to_string(tensor.shape()),
           " has ", tensor.count());
  return shape;
}

Tensor reshaped(const Tensor& tensor, const Shape& shape) {
  if (shape == tensor.shape()) return tensor;
  const Tensor row_major = tensor.make_contiguous();
  return Tensor::view(row_major.storage(), row_major.dtype(), shape, contiguous_strides(shape),
                      row_major.offset());
}

/// Without `slice`: the last two axes shown, 0 elsewhere.
std::vector<std::int64_t> full_slice(const Shape& shape,
                                     const std::optional<std::vector<std::int64_t>>& slice) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  if (!slice) {
    std::vector<std::int64_t> last_two(rank, 0);
    for (std::size_t i = rank > 2 ? rank - 2 : 0; i < rank; ++i) last_two[i] = -1;
    return last_two;
  }
  if (slice->size() != rank)
    refuse("slice has ", slice->size(), " entries, the shape ", to_string(shape), " has ", rank);
  return *slice;
}

Plane plane_of(const Tensor& tensor, const std::vector<std::int64_t>& slice) {
  Plane plane;
  std::vector<int> shown;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const std::int64_t index = slice[static_cast<std::size_t>(axis)];
    if (index == -1) {
      shown.push_back(axis);
    } else if (index < 0 || (index >= tensor.dim(axis) && tensor.count() > 0)) {
      refuse("slice: index ", index, " of axis ", axis, " is outside of the shape ",
             to_string(tensor.shape()));
    } else {
      plane.offset += index * tensor.strides()[axis];
    }
  }
  if (shown.size() > 2) refuse("slice: ", shown.size(), " axes are shown, the most is 2");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::size_t side = i + 2 - shown.size();
    plane.extent[side] = tensor.dim(shown[i]);
    plane.stride[side] = tensor.strides()[shown[i]];
  }
  if (tensor.count() == 0)
    for (int axis = 0; axis < tensor.rank(); ++axis)
      if (tensor.dim(axis) == 0 && slice[static_cast<std::size_t>(axis)] != -1) plane.extent = {0, 0};
  return plane;
}

/// First element, number of cells, and elements a cell, along one side.
struct TileSide {
  std::int64_t first = 0, cells = 0, step = 1, extent = 0;
};

TileSide side_of(const char* name, std::int64_t first, std::int64_t cells, std::int64_t step,
                 std::int64_t extent) {
  if (first < 0 || cells < 0) refuse(name, " ", first, " and number ", cells, " must not be negative");
  if (step < 1) refuse(name, "_step is ", step, ", it must be at least 1");
  step = std::min(step, std::max<std::int64_t>(extent, 1));
  TileSide side{std::min(first, extent), 0, step, extent};
  const std::int64_t left = extent - side.first;
  side.cells = std::min(cells, left / step + (left % step != 0));
  return side;
}

// How the values of a cell are joined: the first is what a cell without any would have.
struct Sum {
  static constexpr double first = 0;
  double operator()(double joined, double value) const { return joined + value; }
};
struct Extreme {
  static constexpr double first = 0;
  double operator()(double joined, double value) const {
    const double before = std::abs(joined), size = std::abs(value);
    return size > before || (size == before && value > joined) ? value : joined;
  }
};
struct Minimum {
  static constexpr double first = std::numeric_limits<double>::infinity();
  double operator()(double joined, double value) const { return value < joined ? value : joined; }
};
struct Maximum {
  static constexpr double first = -std::numeric_limits<double>::infinity();
  double operator()(double joined, double value) const { return value > joined ? value : joined; }
};

template <class Join, class T>
double joined(const T* values, const Plane& plane, const TileSide& rows, const TileSide& columns,
              std::int64_t i, std::int64_t j) {
  const std::int64_t top = rows.first + i * rows.step, left = columns.first + j * columns.step;
  const std::int64_t bottom = std::min(rows.extent, top + rows.step);
  const std::int64_t right = std::min(columns.extent, left + columns.step);
  double result = Join::first;
  bool nan = false;
  for (std::int64_t r = top; r < bottom; ++r)
    for (std::int64_t c = left; c < right; ++c) {
      const auto value =
          static_cast<double>(values[plane.offset + r * plane.stride[0] + c * plane.stride[1]]);
      nan |= value != value;
      result = Join()(result, value);
    }
  if (nan) return std::numeric_limits<double>::quiet_NaN();
  if constexpr (std::is_same_v<Join, Sum>) result /= static_cast<double>((bottom - top) * (right - left));
  return result;
}

template <class Join, class T>
void fill(const T* values, const Plane& plane, const TileSide& rows, const TileSide& columns,
          std::vector<double>& cells, const CancelFlag* cancel) {
  const std::int64_t work_of_row = std::max<std::int64_t>(1, columns.cells * columns.step * rows.step);
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 16) / work_of_row);
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    check_cancelled(cancel);
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < columns.cells; ++j)
        cells[static_cast<std::size_t>(i * columns.cells + j)] =
            joined<Join>(values, plane, rows, columns, i, j);
  };
  cpu::parallel_for(rows.cells, grain, body);
}

/// `f` with the way in which a cell's values are joined.
template <class F>
void with_join(protocol::CellValue cell, F&& f) {
  switch (cell) {
    case protocol::CellValue::mean:
      return f(Sum());
    case protocol::CellValue::extreme:
      return f(Extreme());
    case protocol::CellValue::minimum:
      return f(Minimum());
    case protocol::CellValue::maximum:
      return f(Maximum());
  }
}

/// int64 values that a double cannot hold.
void fill_exact(const std::int64_t* values, const Plane& plane, const TileSide& rows, const TileSide& columns,
                std::vector<std::string>& exact) {
  constexpr std::int64_t limit = std::int64_t{1} << 53;
  const auto each = [&](auto&& f) {
    for (std::int64_t i = 0; i < rows.cells; ++i)
      for (std::int64_t j = 0; j < columns.cells; ++j)
        f(values[plane.offset + (rows.first + i) * plane.stride[0] + (columns.first + j) * plane.stride[1]]);
  };
  bool needed = false;
  each([&](std::int64_t value) { needed = needed || value > limit || value < -limit; });
  if (needed) each([&](std::int64_t value) { exact.push_back(std::to_string(value)); });
}

/// What no double says: strings, complex numbers, uint64, as they are printed.
void fill_texts(const Tensor& elements, const Plane& plane, const TileSide& rows, const TileSide& columns,
                std::vector<std::string>& texts) {
  constexpr std::size_t most_bytes = 60;
  for (std::int64_t i = 0; i < rows.cells; ++i)
    for (std::int64_t j = 0; j < columns.cells; ++j) {
      const std::int64_t at =
          plane.offset + (rows.first + i) * plane.stride[0] + (columns.first + j) * plane.stride[1];
      const Tensor element =
          Tensor::view(elements.storage(), elements.dtype(), {}, {}, elements.offset() + at);
      texts.push_back(elements.dtype() == DType::string ? bytes_literal(string_of(element), most_bytes)
                                                        : format_values(element));
    }
}

/// Of a GPU's tensor the cells of the tile alone, and the side that goes along all of them.
Tensor part_of(const Tensor& tensor, const Plane& plane, const TileSide& rows, const TileSide& columns) {
  const std::int64_t first = plane.offset + rows.first * plane.stride[0] + columns.first * plane.stride[1];
  return part_on_host(tensor, {rows.cells, columns.cells}, {plane.stride[0], plane.stride[1]}, first);
}
TileSide of_all(const TileSide& side) {
  return {0, side.cells, 1, side.cells};
}

/// Larger cells, by the device.
void fill_there(const Tensor& tensor, const std::vector<std::int64_t>& slice, const TileSide& rows,
                const TileSide& columns, protocol::CellValue cell, std::vector<double>& cells) {
  const Tensor values = in_kernel_dtype_there(tensor);
  const Plane plane = plane_of(values, slice);
  const auto end = [](const TileSide& side) {
    return std::min(side.extent, side.first + side.cells * side.step);
  };
  const kernels::Cells of{{end(rows) - rows.first, end(columns) - columns.first},
                          {rows.step, columns.step},
                          {plane.stride[0], plane.stride[1]}};
  const std::int64_t first = plane.offset + rows.first * plane.stride[0] + columns.first * plane.stride[1];
  if (is_foreign(values.device())) {
    const Tensor part = Tensor::view(values.storage(), values.dtype(), {of.extent[0], of.extent[1]},
                                     {of.stride[0], of.stride[1]}, values.offset() + first);
    cells = foreign_devices().cells(part, rows.step, columns.step, static_cast<int>(cell));
    return;
  }
  const auto size = static_cast<std::int64_t>(item_size(values.dtype()));
  backend(values.device())
      .cell_values(values.device().index, values.dtype(), values.raw() + first * size, of,
                   static_cast<kernels::CellValue>(cell), cells.data());
}

void fill_on_host(const Tensor& elements, const std::vector<std::int64_t>& slice, const TileSide& rows,
                  const TileSide& columns, protocol::CellValue cell, protocol::Tile& tile,
                  const CancelFlag* cancel) {
  const Tensor shaped = in_numbers(elements);
  const Plane plane = plane_of(shaped, slice);
  visit_dtype(shaped.dtype(), [&]<class T>(TypeTag<T>) {
    with_join(cell, [&]<class Join>(Join) {
      fill<Join>(shaped.data<T>(), plane, rows, columns, tile.values, cancel);
    });
  });
  if (rows.step != 1 || columns.step != 1) return;
  if (has_partial_support(elements.dtype()))
    fill_texts(elements.make_contiguous(), plane_of(elements.make_contiguous(), slice), rows, columns,
               tile.exact);
  else if (shaped.dtype() == DType::int64)
    fill_exact(shaped.data<std::int64_t>(), plane, rows, columns, tile.exact);
}

}  // namespace

Tensor in_numbers(const Tensor& tensor) {
  if (tensor.dtype() == DType::string) {
    std::vector<std::int64_t> sizes;
    for (const std::string_view text : strings_of(tensor)) sizes.push_back(std::ssize(text));
    return Tensor::from_values<std::int64_t>(sizes, tensor.shape());
  }
  if (has_partial_support(tensor.dtype()))
    return Tensor::from_values<double>(tensor.to_vector(), tensor.shape());
  return widened(tensor);
}

protocol::Tile make_tile(const Tensor& tensor, const protocol::GetTile& request, const CancelFlag* cancel) {
  // Of any dtype, single elements are taken out of a framework's device.
  const bool stays = is_inspected_there(tensor) ||
                     (is_foreign(tensor.device()) && request.row_step == 1 && request.column_step == 1);
  const Tensor elements = reshaped(stays ? tensor : tensor.on_host(), wanted_shape(tensor, request.reshape));
  const bool is_there = !elements.on_cpu();
  const std::vector<std::int64_t> slice = full_slice(elements.shape(), request.slice);
  const Plane plane = plane_of(elements, slice);
  const TileSide rows = side_of("row", request.row, request.rows, request.row_step, plane.extent[0]);
  const TileSide columns =
      side_of("column", request.column, request.columns, request.column_step, plane.extent[1]);
  if (columns.cells > 0 && rows.cells > most_cells / columns.cells)
    refuse(rows.cells, " × ", columns.cells, " cells are more than the ", most_cells, " of one answer");

  protocol::Tile tile;
  tile.tensor = request.tensor;
  tile.shape.assign(elements.shape().begin(), elements.shape().end());
  tile.total_rows = plane.extent[0];
  tile.total_columns = plane.extent[1];
  tile.row = rows.first;
  tile.column = columns.first;
  tile.rows = rows.cells;
  tile.columns = columns.cells;
  tile.row_step = rows.step;
  tile.column_step = columns.step;
  tile.dtype = dtype_name(tensor.dtype());
  tile.values.resize(static_cast<std::size_t>(rows.cells * columns.cells));
  if (tile.values.empty()) return tile;
  if (!is_there)
    fill_on_host(elements, slice, rows, columns, request.cell, tile, cancel);
  else if (rows.step != 1 || columns.step != 1)
    fill_there(elements, slice, rows, columns, request.cell, tile.values);
  else
    fill_on_host(part_of(elements, plane, rows, columns), {-1, -1}, of_all(rows), of_all(columns),
                 request.cell, tile, cancel);
  return tile;
}

}  // namespace tapedeck::debug
