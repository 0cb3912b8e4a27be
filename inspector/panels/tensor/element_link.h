// The element that is selected in the tensor panel, as the rest of the window names it: one index per axis of
// the tensor itself, however it is shown.
#pragma once

#include <vector>

#include "inspector/model/what_if/why.h"

namespace tapedeck::inspector {

class TensorCanvas;
class TensorModel;

/// Empty where no single element is selected.
std::vector<std::int64_t> selectedElement(const TensorModel& model, TensorCanvas& canvas);

/// Shows the element among the numbers, and selects it.
void selectElement(TensorModel& model, TensorCanvas& canvas, const std::vector<std::int64_t>& element);

/// Where the user looks at the heat map, shows the element there, else among the numbers.
void showElement(TensorModel& model, TensorCanvas& canvas, const std::vector<std::int64_t>& element);

/// The shown tensor and element, as the subject of a question.
WhySubject whySubject(const TensorModel& model, TensorCanvas& canvas);

}  // namespace tapedeck::inspector
