#include "app/shell/window/actions.h"

#include <QKeySequence>
#include <QWidget>
#include <string_view>

#include "inspector/ui/icons.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::app {
namespace {

struct Row {
  const char* id;  // MENU.ACTION
  const char* text;
  const char* key;
  const char* tip;
  const char* icon;
  bool checkable = false;
};

// The keys of stepping are those that debuggers share. Keys of the notebook's command mode (A, B, DD …)
// belong to it, and those of inspector/ui/reserved_keys.h to the desktop.
constexpr Row rows[] = {
    {"file.new", "&New notebook", "Ctrl+N", "Open a window with an empty notebook", "new"},
    {"file.open", "&Open…", "Ctrl+O", "Open a notebook, a program or a trace", "open"},
    {"file.save", "&Save", "Ctrl+S", "Save the notebook", "save"},
    {"file.save_as", "Save &as…", "Ctrl+Shift+S", "Save the notebook under another name", nullptr},
    {"file.autosave", "A&utosave", "Alt+Shift+S",
     "Save notebooks that have a file at intervals. Off: only when you save them", nullptr, true},
    {"file.autosave_interval", "Autosave &interval…", "Alt+Shift+I", "Seconds between two automatic saves",
     nullptr},
    {"file.save_trace", "Save &trace…", "Ctrl+Alt+E",
     "Save the records of this session, with their values and the notebook, as one file that can be opened "
     "again",
     nullptr},
    {"file.recovered", "Recovered &work…", "Ctrl+Alt+W",
     "Unsaved work that was kept when the program ended unexpectedly", nullptr},
    {"file.close", "&Close window", "Ctrl+W",
     "Close this notebook and end its session; asks if something is running or unsaved", nullptr},
    {"file.quit", "&Quit", "Ctrl+Q", "Close all notebooks and end the program", nullptr},

    {"edit.undo_cell", "&Undo cell operation", "Ctrl+Alt+Z",
     "Undo adding, deleting, moving or changing the type of cells, and the like", nullptr},
    {"edit.redo_cell", "&Redo cell operation", "Ctrl+Alt+Y", "Redo what Undo cell operation undid", nullptr},

    {"edit.cut_cells", "Cu&t cells", "Ctrl+Alt+Shift+X", "Cut the selected cells, for this or another window",
     nullptr},
    {"edit.copy_cells", "&Copy cells", "Ctrl+Alt+Shift+C", "Copy the selected cells, with their outputs",
     nullptr},
    {"edit.paste_cells", "&Paste cells", "Ctrl+Alt+Shift+V", "Paste cells, or text as a cell, below",
     nullptr},
    {"edit.select_all_cells", "Select &all cells", "Ctrl+Alt+Shift+A",
     "Select all cells, for commands to act on; Shift and the arrow keys select some", nullptr},
    {"edit.find", "&Find…", "Ctrl+F", "Find in the whole notebook", nullptr},
    {"edit.find_next", "Find &next", "F3", "Go to the next match of the search", nullptr},
    {"edit.find_previous", "Find pre&vious", "Shift+F3", "Go to the previous match of the search", nullptr},
    {"edit.replace", "R&eplace…", "Ctrl+H", "Find and replace in the whole notebook", nullptr},
    {"edit.wrap_code", "Wrap &long lines of code", "Alt+Z",
     "Wrap lines that are wider than their cell. Off: they scroll sideways", nullptr, true},
    {"edit.close_brackets", "Close &brackets and quotes", "Ctrl+Alt+Shift+B",
     "Typing an opening bracket or quote adds the closing one", nullptr, true},
    {"edit.complete_typing", "Complete &while typing", "Ctrl+Alt+Shift+W",
     "Suggest names while you type, not only on Tab", nullptr, true},

    {"cell.run", "&Run cell", "Ctrl+Return", "Run the current cell", nullptr},
    {"cell.run_advance", "Run cell and &advance", "Shift+Return", "Run the current cell and go to the next",
     "run"},
    {"cell.run_all", "Run a&ll cells", "Ctrl+Shift+Return", "Run all cells from the top", "run-all"},
    {"cell.run_selected", "Run &selected cells", "Alt+Shift+Return", "Run the cells that are selected",
     nullptr},
    {"cell.run_above", "Run all abo&ve", "Ctrl+Alt+PgUp", "Run all cells above the current one", nullptr},
    {"cell.run_to_here", "Run &to here", "Ctrl+Alt+Return",
     "Run all cells from the top up to and including the current one", nullptr},
    {"cell.run_from_here", "Run &from here", "Ctrl+Alt+PgDown", "Run the current cell and all below",
     nullptr},
    {"cell.run_marked", "Run &marked cells", "Ctrl+Alt+Shift+Return",
     "Run, in their order, the cells that are marked as edited since they ran, run in an earlier session, or "
     "possibly out of date",
     nullptr},
    {"cell.insert_above", "Insert cell &above", "Ctrl+Alt+A", "Add a code cell above the current one",
     nullptr},
    {"cell.insert_below", "Insert cell &below", "Ctrl+Alt+B", "Add a code cell below the current one", "add"},
    {"cell.delete", "&Delete cell", "Ctrl+Shift+D",
     "Delete the current cell (Undo cell operation brings it back)", nullptr},
    {"cell.move_up", "Move cell &up", "Ctrl+Shift+Up", "Move the current cell up", nullptr},
    {"cell.move_down", "Move cell dow&n", "Ctrl+Shift+Down", "Move the current cell down", nullptr},
    {"cell.split", "&Split cell", "Ctrl+Shift+-", "Split the cell in two at the text cursor", nullptr},
    {"cell.merge", "M&erge cells", "Ctrl+Shift+J", "Merge the selected cells, or this one and the next",
     nullptr},
    {"cell.to_code", "Make it &code", "Ctrl+Alt+C", "Turn the current cell into a code cell", nullptr},
    {"cell.to_markdown", "Make it &Markdown", "Ctrl+Alt+M", "Turn the current cell into a Markdown cell",
     nullptr},
    {"cell.clear_selected", "Clear outpu&ts", "Ctrl+Alt+O", "Remove the outputs of the selected cells",
     nullptr},
    {"cell.clear_outputs", "Clear all &outputs", "Ctrl+Alt+X",
     "Remove the outputs of all cells (Undo cell operation brings them back)", nullptr},
    {"cell.fold_output", "&Fold or unfold output", "Alt+Shift+U",
     "Show a long output of the current cell at a screenful, or at its full height", nullptr},
    {"cell.enter_output", "&Go to the output", "Alt+Shift+G",
     "Move the focus to the current cell's output, to scroll, find and copy in it", nullptr},
    {"cell.open_output", "Open output in an &editor", "Alt+Shift+E",
     "Write all of the current cell's longest text to a file that only you can read, and open it in your "
     "editor",
     nullptr},
    {"cell.output_limit", "Lim&it of stored output…", "Alt+Shift+L",
     "How many megabytes of a printed text a notebook's file stores", nullptr},

    {"session.interrupt", "&Interrupt", "Ctrl+I",
     "Interrupt the running cell with a KeyboardInterrupt; variables keep their values", "interrupt"},
    {"session.restart", "&Restart", "Ctrl+Shift+R",
     "End the session process and start a fresh one; the notebook stays. Asks if a cell is running",
     "restart"},
    {"session.restart_run_all", "Restart and run a&ll", "Ctrl+Alt+Shift+R",
     "End the session process, start a fresh one, and run all cells in it", nullptr},
    {"session.kept", "&Kept running", "Ctrl+Alt+Shift+K",
     "Notebooks that were closed while their session goes on; choosing one opens it again", nullptr},
    {"session.environment", "Python &environment…", "Ctrl+Alt+Shift+Y",
     "Choose the Python that cells run in: a virtual environment with torch, for example; says what is "
     "missing there",
     nullptr},
    {"session.recording", "Re&cording", "Ctrl+Alt+R",
     "Keep a record of every op. Off: ops run without one, and can't be stepped", "record", true},
    {"session.break_at_cell", "&Break at cell start", "Ctrl+Shift+B",
     "Pause before the first op of every cell that runs", nullptr, true},
    {"session.functions_eagerly", "Run &functions eagerly", "Ctrl+Alt+Shift+E",
     "Call functions of tf.function as they are, from their next call on. Off: trace them, and run their "
     "graphs",
     nullptr, true},
    {"session.attach", "&Attach to program…", "Ctrl+Shift+A",
     "Attach to a Python program that is running: pause it, step it, and detach again", nullptr},
    {"session.detach", "&Detach", "Ctrl+Shift+L",
     "Detach from the program, which keeps running; what was fetched stays", nullptr},
    {"session.budget", "&Memory for values…", "Ctrl+Shift+M",
     "How much memory the recorder may use for values", nullptr},
    {"session.replay_on_cpu", "Recompute on the CP&U", "Ctrl+Alt+U",
     "Use the CPU to recompute values that are no longer held. Off: the GPU, if their ops ran there", nullptr,
     true},

    {"step.continue", "&Continue", "F5", "Continue running; with nothing paused: run the current cell",
     "continue"},
    {"step.pause", "&Pause", "F6", "Pause before the next op", "pause"},
    {"step.op", "&Step op", "F10",
     "Run one op, one call of a graph function, or one VJP of a playback; with nothing running: start the "
     "current "
     "cell and pause before its first op",
     "step-op"},
    {"step.line", "Step &line", "F11",
     "Run to the next line of the cells, also into functions and calls of graph functions; in a program that "
     "is "
     "attached, to the next that runs an op",
     "step-line"},
    {"step.out", "Step &out", "Shift+F11",
     "Run to the end of the playback, custom gradient or call of a graph function", "step-out"},
    {"step.back", "Step &back", "Shift+F10", "Show the previous record: looks back, runs nothing",
     "step-back"},
    {"step.reverse", "Re&verse continue", "Shift+F5",
     "Go back over the recorded ops to where a breakpoint or condition last held: looks back, runs nothing",
     "reverse"},
    {"step.search_past", "Searc&h the past…", "Ctrl+Shift+F3",
     "Find when a condition on a curve, a variable or any op last held, or first, and go to that op",
     nullptr},
    {"step.run_to", "Run &to the cursor", "Ctrl+Shift+F10",
     "Run until the line with the text cursor is reached; with nothing paused: run the current cell until "
     "then",
     nullptr},
    {"step.run_to_record", "Run to the &record's line", "Alt+Shift+F10",
     "Run until the line of the record at the cursor is reached again; in a playback: until the VJP of that "
     "op",
     nullptr},
    {"step.breakpoint", "To&ggle breakpoint", "F9",
     "Set or remove a breakpoint before the first op of this line; a click in the margin does the same",
     nullptr},
    {"step.breakpoint_enabled", "S&witch breakpoint on or off", "Shift+F9",
     "Disable the breakpoint of this line without removing it, or enable it again", nullptr},
    {"step.breakpoint_cell", "Breakpo&int at the cell's start", "Alt+Shift+F9",
     "Set or remove a breakpoint before the first op that this cell runs", nullptr},
    {"step.stop_nan", "Stop at N&aN or infinity", "Ctrl+Shift+F9",
     "Stop after each op whose result has a NaN or an infinity", nullptr, true},
    {"step.stop_exceptions", "Stop at e&xceptions", "Ctrl+Shift+F8",
     "Stop at an op that fails, before its exception reaches the program", nullptr, true},
    {"step.remove_breakpoints", "Remove all brea&kpoints", "Alt+Shift+Delete", "Remove all breakpoints",
     nullptr},
    {"step.bookmark", "&Bookmark", "Ctrl+B",
     "Set a bookmark with a note on the op at the cursor, or remove the one that it has", nullptr},
    {"step.bookmark_note", "Bookmark's &note…", "Alt+Shift+B",
     "Edit the note of the bookmark on the op at the cursor", nullptr},
    {"step.previous_bookmark", "&Previous bookmark", "Ctrl+Shift+PgUp",
     "Go to the previous op that has a bookmark", nullptr},
    {"step.next_bookmark", "N&ext bookmark", "Ctrl+Shift+PgDown", "Go to the next op that has a bookmark",
     nullptr},
    {"step.bookmarks", "&All bookmarks…", "Ctrl+Shift+F2",
     "List the notebook's bookmarks, including those of runs that are gone", nullptr},
    {"step.first", "&First record", "Alt+Home", "Show the session's first record", "first"},
    {"step.previous", "Pre&vious record", "Alt+Left", "Show the previous record", "previous"},
    {"step.next", "&Next record", "Alt+Right", "Show the next record", "next"},
    {"step.last", "Newest recor&d", "Alt+End", "Show the newest record, and follow", "last"},

    {"view.scale_up", "&Larger", "Ctrl+=", "Larger text and icons, in all windows", nullptr},
    {"view.scale_down", "Smalle&r", "Ctrl+-", "Smaller text and icons, in all windows", nullptr},
    {"view.zoom_in", "Notebook lar&ger", "Ctrl+Alt+=", "Larger text in this notebook alone", nullptr},
    {"view.zoom_out", "Notebook sm&aller", "Ctrl+Alt+-", "Smaller text in this notebook alone", nullptr},
    {"view.usual_size", "Re&set size", "Ctrl+Shift+0",
     "Text and icons of all windows, and this notebook's text, at the desktop's size", nullptr},
    {"view.reset_layout", "Reset &layout", "Ctrl+Alt+0", "Put this workspace's panels back in their places",
     nullptr},
    {"view.save_workspace", "&Save workspace as…", "Ctrl+Alt+S",
     "Keep these panels and their places as a workspace of your own", nullptr},
    {"view.rename_workspace", "Re&name workspace…", "Ctrl+Alt+N", "Give your workspace another name",
     nullptr},
    {"view.delete_workspace", "&Delete workspace", "Ctrl+Alt+K", "Delete the workspace that you saved",
     nullptr},
    {"view.palette", "Command &palette…", "Ctrl+Shift+P", "Find any command by a few letters", nullptr},
    {"view.message", "Go to the &message", "F8",
     "Move the focus to the message's buttons; from there, to the previous message", nullptr},
    {"view.close_message", "&Close the message", "Ctrl+Shift+W", "Close the message that is shown", nullptr},

    {"help.start_page", "&Start page", "Ctrl+Shift+N",
     "Samples and recent notebooks, in a window of their own", nullptr},
    {"help.guide", "&Guide", "F1", "Open the guide, at the page of the panel that has the focus", nullptr},
    {"help.shortcuts", "&Keys", "Shift+F1", "Search all keyboard shortcuts", nullptr},
    {"help.about", "&About Tapedeck", "Ctrl+Shift+F1", "Version and licences", nullptr},
};

}  // namespace

Actions::Actions(QWidget* window) : QObject(window) {
  for (const Row& row : rows) {
    auto* action = new QAction(QString::fromUtf8(row.text), window);
    action->setObjectName(row.id);
    inspector::setKey(action, {QKeySequence(QString::fromUtf8(row.key))}, QString::fromUtf8(row.tip));
    // With Shift the key has another name on most keyboards.
    if (row.id == std::string_view("view.scale_up") || row.id == std::string_view("view.zoom_in"))
      action->setShortcuts({action->shortcut(), QKeySequence(QString(row.key).replace('=', '+'))});
    if (row.id == std::string_view("cell.split"))
      action->setShortcuts({action->shortcut(), QKeySequence("Ctrl+Shift+_"), QKeySequence("Ctrl+_")});
    action->setCheckable(row.checkable);
    if (row.icon) action->setIcon(inspector::icon(row.icon));
    window->addAction(action);
    order_ << row.id;
    actions_.insert(row.id, action);
  }
}

QAction* Actions::operator[](const QString& id) const {
  QAction* action = actions_.value(id);
  Q_ASSERT_X(action, "Actions", qPrintable(id));
  return action;
}

void Actions::keepWithin(QWidget* widget, const QStringList& ids) {
  for (const QString& id : ids) {
    QAction* action = (*this)[id];
    static_cast<QWidget*>(parent())->removeAction(action);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    widget->addAction(action);
  }
}

}  // namespace tapedeck::app
