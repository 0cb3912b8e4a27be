// What most files of the Python module include; compiled once for all of them.
#pragma once

#include <pybind11/stl.h>

#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/python/errors.h"
#include "engine/python/python.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "resources/cmake/precompiled/engine.h"
