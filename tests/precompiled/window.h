// What the tests of windows include most; compiled once for all of them.
#pragma once

#include <QtTest>
#include <QtWidgets>
#include <nlohmann/json.hpp>

#include "inspector/model/session/session.h"
#include "inspector/model/tensor/tensor_model.h"
#include "tests/patience.h"
#include "tests/test_program.h"
