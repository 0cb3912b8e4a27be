// What the tests of this folder include most; compiled once for all of them.
#pragma once

#include <QApplication>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QToolButton>

#include "tests/notebook/notebook_window.h"
