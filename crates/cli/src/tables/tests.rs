//! What the command takes.

use super::{Arguments, Command};
use crate::delivery::parsed;

#[test]
fn what_is_asked_is_understood() {
    let arguments: Arguments = parsed("show census --by region,sex --json").unwrap();
    assert!(
        matches!(arguments.command, Command::Show { by: Some(by), json: true, .. } if by == "region,sex")
    );
    let arguments: Arguments = parsed("explain --error 2% --cell-size 500").unwrap();
    assert!(
        matches!(arguments.command, Command::Explain(explain) if explain.error.is_some() && explain.cell_size == 500)
    );
    for wrong in [
        "explain --error 2% --epsilon 1",
        "export census",
        "explain --error much",
        "",
    ] {
        assert!(parsed::<Arguments>(wrong).is_err(), "{wrong}");
    }
}
