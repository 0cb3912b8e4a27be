// What the tests of this folder include most; compiled once for all of them.
#pragma once

#include <QRandomGenerator>
#include <QtTest>

#include "tests/model/fake_source.h"
