// What the tests of the engine include most; compiled once for all of them.
#pragma once

#include <QtTest>
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "engine/debug/describe.h"
#include "engine/ops/core/core_ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/protocol/messages.h"
#include "engine/record/recorder.h"
#include "engine/tape/tape.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"
