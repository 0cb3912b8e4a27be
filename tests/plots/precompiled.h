// What the tests of this folder include most; compiled once for all of them.
#pragma once

#include <QtTest>
#include <QtWidgets>

#include "tests/plots/plots_window.h"
