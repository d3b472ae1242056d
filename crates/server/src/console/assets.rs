//! The style sheet and the script: ours, part of the binary, named by their hash so that a browser may keep
//! them for good.

use crate::secrets::fingerprint;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::LazyLock;

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");
/// A bar behind a curtain of noise.
const ICON: &str = include_str!("assets/icon.svg");

/// A file that pages use.
struct Asset {
    /// Its name, with a part of its SHA-256.
    name: String,
    kind: &'static str,
    text: String,
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    let asset = |stem: &str, ending: &str, kind, text: String| Asset {
        name: format!("{stem}-{}.{ending}", &fingerprint(&text)[..16]),
        kind,
        text,
    };
    let style = format!("{STYLE}\n{}\n{}\n", report::figure_style(), card::Card::style());
    [
        asset("style", "css", "text/css; charset=utf-8", style),
        asset(
            "script",
            "js",
            "text/javascript; charset=utf-8",
            SCRIPT.to_owned(),
        ),
        asset("icon", "svg", "image/svg+xml", ICON.to_owned()),
    ]
});

pub(super) fn style() -> String {
    format!("/console/{}", ASSETS[0].name)
}

pub(super) fn script() -> String {
    format!("/console/{}", ASSETS[1].name)
}

pub(super) fn icon() -> String {
    format!("/console/{}", ASSETS[2].name)
}

/// One of them. They are the same for everybody, so nobody signs in for them.
pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => {
            let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
            let kind = HeaderValue::from_static(asset.kind);
            let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept)];
            (headers, asset.text.as_str()).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_our_own_and_refer_to_nothing_else() {
        for asset in ASSETS.iter() {
            for outside in ["http://", "https://", "@import", "url(", "eval(", "innerHTML"] {
                let text = asset.text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(outside), "{} has {outside}", asset.name);
            }
        }
        // What a page sends to a browser is read by people too: no library, and no more than one sitting.
        assert!(SCRIPT.lines().count() <= 300);
    }

    #[test]
    fn names_follow_from_what_is_in_them() {
        let [style, script, _] = &*ASSETS;
        assert!(style.name.contains(&fingerprint(&style.text)[..16]));
        assert_ne!(style.name, script.name);
    }
}
