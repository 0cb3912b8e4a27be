#include "inspector/panels/tensor/element_link.h"

#include "inspector/panels/tensor/tensor_canvas.h"

namespace tapedeck::inspector {

namespace {

using Index = std::vector<std::int64_t>;

std::int64_t placeOf(const Index& shape, const Index& index) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) place = place * shape[axis] + index[axis];
  return place;
}

Index indexOf(const Index& shape, std::int64_t place) {
  Index index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = shape[axis] ? place % shape[axis] : 0;
    place = shape[axis] ? place / shape[axis] : 0;
  }
  return index;
}

/// The shown axes: rows (-1: none), then columns.
std::pair<int, int> shownAxes(const Index& slice) {
  int rows = -1, columns = -1;
  for (int axis = 0; axis < static_cast<int>(slice.size()); ++axis)
    if (slice[static_cast<std::size_t>(axis)] == -1) {
      rows = columns;
      columns = axis;
    }
  return {rows, columns};
}

/// Shows the slice that has the element; where in it that is.
std::pair<std::int64_t, std::int64_t> showSliceOf(TensorModel& model, const Index& element) {
  const Index& own = model.tensor()->shape;
  const Index index = model.shape() == own ? element : indexOf(model.shape(), placeOf(own, element));
  const Index slice = model.slice();
  const auto [rows, columns] = shownAxes(slice);
  for (std::size_t axis = 0; axis < slice.size(); ++axis)
    if (slice[axis] != -1) model.setSliceIndex(static_cast<int>(axis), index[axis]);
  return {rows >= 0 ? index[static_cast<std::size_t>(rows)] : 0,
          columns >= 0 ? index[static_cast<std::size_t>(columns)] : 0};
}

}  // namespace

std::vector<std::int64_t> selectedElement(const TensorModel& model, TensorCanvas& canvas) {
  const protocol::TensorInfo* tensor = model.tensor();
  const auto range = canvas.numbers().selection();
  if (!tensor || model.images() || canvas.mode() != TensorMode::numbers || !range || range->rows() != 1 ||
      range->columns() != 1)
    return {};
  Index index = model.slice();
  const auto [rows, columns] = shownAxes(index);
  if (columns >= 0) index[static_cast<std::size_t>(columns)] = range->left;
  if (rows >= 0) index[static_cast<std::size_t>(rows)] = range->top;
  return model.shape() == tensor->shape ? index : indexOf(tensor->shape, placeOf(model.shape(), index));
}

void selectElement(TensorModel& model, TensorCanvas& canvas, const std::vector<std::int64_t>& element) {
  const protocol::TensorInfo* tensor = model.tensor();
  if (!tensor || element.size() != tensor->shape.size()) return;
  canvas.setMode(TensorMode::numbers);
  if (model.images()) return;  // what the user typed is not undone
  const auto [row, column] = showSliceOf(model, element);
  canvas.selectNumber(row, column);
}

void showElement(TensorModel& model, TensorCanvas& canvas, const std::vector<std::int64_t>& element) {
  const protocol::TensorInfo* tensor = model.tensor();
  if (!tensor || element.size() != tensor->shape.size()) return;
  if (canvas.mode() != TensorMode::heatMap) return selectElement(model, canvas, element);
  const std::optional<ImageGrid> images = model.images();
  if (!images) {
    const auto [row, column] = showSliceOf(model, element);
    return canvas.heatMap().showElement(row, column);
  }
  if (!images->shape.empty())
    return canvas.heatMap().showPixel(
        placeOf(*images, indexOf(images->shape, placeOf(tensor->shape, element))));
  if (element.size() != 2) return;
  const std::int64_t image = images->alongColumns ? element[1] : element[0],
                     pixel = images->alongColumns ? element[0] : element[1];
  canvas.heatMap().showPixel({image, pixel / images->columns, pixel % images->columns});
}

WhySubject whySubject(const TensorModel& model, TensorCanvas& canvas) {
  WhySubject subject;
  subject.record = model.session()->cursor();
  if (const TensorChip* chip = model.chip(); chip && chip->record) subject.record = chip->record;
  if (const protocol::TensorInfo* tensor = model.tensor()) subject.tensor = *tensor;
  subject.element = selectedElement(model, canvas);
  return subject;
}

}  // namespace tapedeck::inspector
