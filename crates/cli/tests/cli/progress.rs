//! What is said while the command works: nothing in pipes before a minute is over, a line that
//! changes on a terminal.

use crate::support::Folder;

#[test]
fn nothing_is_said_in_a_pipe_about_work_that_is_short() {
    let folder = Folder::new();
    let convert = folder.run(&["trace", "convert", "movie", "m.csv", "--to", "msr"]);
    assert!(convert.status == Some(0) && !convert.stderr.contains("left"), "{convert:?}");
    let info = folder.run(&["trace", "info", "m.csv"]);
    assert_eq!((info.status, info.stderr.as_str()), (Some(0), ""));
    let compare = ["compare", "movie", "--vary", "queue.depth=1,2"];
    let compared = folder.run(&compare);
    assert!(compared.status == Some(0) && !compared.stderr.contains("runs"), "{compared:?}");
}
