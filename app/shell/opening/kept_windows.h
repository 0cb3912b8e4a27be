// Windows that were closed while their session goes on: hidden, with all that they had, until they are opened
// again or the program quits.
#pragma once

#include <QList>

class QMenu;

namespace tapedeck::app {

class MainWindow;

/// Hides it. Where no other window is visible, a start page opens: from there it is opened again.
void keepRunning(MainWindow* window);
/// In the order in which they were closed.
QList<MainWindow*> keptWindows();
/// It is visible again.
void removeKept(MainWindow* window);
void showKeptWindows();
/// A visible window other than `window`; nullptr: there is none.
MainWindow* otherWindow(const MainWindow* window);
/// An entry for each, made whenever the menu opens; choosing it opens the window again.
void listKeptWindows(QMenu* menu);

}  // namespace tapedeck::app
