//! Reports a defect. A panic's own words may quote data, so they go where the engine's words go: to the
//! curator's directory of incidents, and nowhere else.

use std::panic::{Location, PanicHookInfo};

/// From now on a panic is reported by its place in the code alone.
pub(crate) fn tell_places_only() {
    std::panic::set_hook(Box::new(|info| {
        eprintln!("{}", reported(info.location(), &words(info)))
    }));
}

fn words(info: &PanicHookInfo<'_>) -> String {
    format!("{}\n{info}", info.payload_as_str().unwrap_or_default())
}

/// Where it happened, without the folders of the machine on which this was built.
fn reported(place: Option<&Location<'_>>, words: &str) -> String {
    let place = place.map_or("an unknown place".to_owned(), |place| {
        let file = place.file().replace('\\', "/");
        let parts: Vec<&str> = file.rsplit('/').take(3).collect();
        let file: Vec<&str> = parts.into_iter().rev().collect();
        format!("{}:{}", file.join("/"), place.line())
    });
    let incident = sql::sources::incident(format!("a defect at {place}"), words);
    let id = match &incident {
        sql::Error::Engine { id, .. } => id.as_str(),
        _ => "without a name",
    };
    format!(
        "the program stopped at {place} (incident {id}); what it said there may quote data, and is kept under this id when DENIABLE_INCIDENTS names a directory"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_without_its_words() {
        let reported = reported(Some(Location::caller()), "index out of bounds: 'Ada Lovelace'");
        assert!(reported.contains("src/failure.rs:"), "{reported}");
        assert!(!reported.contains("Lovelace"), "{reported}");
    }
}
