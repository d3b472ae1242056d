//! The receipt of an answer: what was charged, what is signed, and by which key.

use super::super::layout::{name, sentence};
use super::answer::attached;
use axum::response::Response;
use ledger::Receipt;
use maud::{Markup, html};
use sql::Cost;

pub(super) fn shown(cost: &Cost, entry: Option<&str>, receipt: Option<&Receipt>) -> Markup {
    html! {
        section class="receipt" {
            h2 { "Receipt" }
            dl {
                div { dt { "Promise" } dd { (sentence(&cost.guarantee.to_string())) } }
                div { dt { "Charge" } dd { "number " (cost.charge) " of the ledger" } }
                @if let Some(entry) = entry {
                    div { dt { "Entry" } dd class="hash" { (entry) } }
                }
                @if let Some(receipt) = receipt {
                    div { dt { "Signed by" } dd { span class="hash" { (receipt.key) } span class="quiet" { " (Ed25519)" } } }
                }
            }
            @match receipt {
                None => p class="quiet" { "It is not signed: there is no place for a key beside this ledger." },
                Some(receipt) => {
                    p class="links" { a href={ "/answers/" (cost.charge) "/receipt.json" } download { "The signed receipt, as a file" } }
                    (signed(receipt))
                }
            }
        }
    }
}

/// Every field that the signature is about.
fn signed(receipt: &Receipt) -> Markup {
    let charged = match (&receipt.epsilon, &receipt.rho) {
        (Some(epsilon), _) => format!("ε = {epsilon}, δ = {}", receipt.delta),
        (None, Some(rho)) => format!("ρ = {rho}"),
        (None, None) => "nothing".to_owned(),
    };
    html! {
        details {
            summary { "What is signed" }
            dl {
                div { dt { "Dataset" } dd { (name(&receipt.dataset)) } }
                div { dt { "Charged" } dd { (charged) ", for the privacy of one " (name(&receipt.unit.whose)) } }
                div { dt { "Ledger" } dd class="hash" { (receipt.ledger) } }
                div { dt { "Entry" } dd class="hash" { "number " (receipt.entry.number) ", " (receipt.entry.hash) } }
                div { dt { "Question" } dd class="hash" { (receipt.sql_sha256) } }
                div { dt { "Release" } dd class="hash" { (receipt.release_sha256) } }
                div { dt { "Table" } dd class="hash" { (receipt.table_sha256) } }
                div { dt { "Signature" } dd class="hash" { (receipt.signature) } }
            }
            p class="quiet" {
                "Question, release and table are SHA-256 digests; the ledger is named by the hash of its first entry. Compare the key with the one that the curator publishes ("
                code { "deniable receipt key" } "). " code { "deniable receipt verify" } " checks the signature of this file, and of the JSON file of the answer the table as well."
            }
        }
    }
}

/// The receipt as `deniable receipt verify` reads it.
pub(super) fn file(charge: u64, receipt: &Receipt) -> Response {
    let text = serde_json::to_string_pretty(receipt).expect("a receipt is plain data");
    attached(
        &format!("answer-{charge}-receipt.json"),
        "application/json",
        text.into_bytes(),
    )
}
