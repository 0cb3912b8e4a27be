// What the tests of this folder include most; compiled once for all of them.
#pragma once

#include <QAbstractButton>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QTreeWidget>
#include <QtTest>

#include "inspector/model/tensor/tensor_model.h"
#include "tests/app/window_fixture.h"
