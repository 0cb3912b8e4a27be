// A check that an expression throws exactly one kind of error, and that its text contains the given words.
#pragma once

#include <QtTest>
#include <string>
#include <typeinfo>

#define EXPECT_ERROR(ErrorType, expression, words)                                           \
  do {                                                                                       \
    std::string expect_error_text;                                                           \
    try {                                                                                    \
      (void)(expression);                                                                    \
      QFAIL("nothing was thrown: " #expression);                                             \
    } catch (const ErrorType& error) {                                                       \
      QVERIFY2(typeid(error) == typeid(ErrorType), "an error of a class below " #ErrorType); \
      expect_error_text = error.what();                                                      \
    }                                                                                        \
    QVERIFY2(expect_error_text.find(words) != std::string::npos, expect_error_text.c_str()); \
  } while (false)
