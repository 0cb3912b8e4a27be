// What the tests of models, kernels and control include most; compiled once for all of them.
#pragma once

#include <QDir>
#include <QFile>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTimer>
#include <QtTest>
#include <nlohmann/json.hpp>

#include "inspector/model/session/session.h"
#include "tests/patience.h"
#include "tests/test_program.h"
