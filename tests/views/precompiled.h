// What the tests of this folder include most; compiled once for all of them.
#pragma once

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QtTest>

#include "inspector/model/session/session.h"
#include "inspector/model/tensor/tensor_model.h"
#include "tests/views/view_test.h"
