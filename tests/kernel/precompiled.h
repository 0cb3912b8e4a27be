// What the tests of this folder include most; compiled once for all of them.
#pragma once

#include <QRandomGenerator>
#include <QTemporaryDir>

#include "tests/kernel/session_probe.h"
