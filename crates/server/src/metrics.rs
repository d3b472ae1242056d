//! Counters for an operator: how many, and never how long, how large, or of what.

use crate::failure::Code;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::fmt;

type Labels = [(&'static str, &'static str); 1];

/// Counters, for Prometheus.
pub(crate) struct Metrics {
    registry: Registry,
    questions: Family<Labels, Counter>,
    logins: Family<Labels, Counter>,
    connections: Family<Labels, Gauge>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metrics(..)")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let (questions, logins, connections) = (Family::default(), Family::default(), Family::default());
        let mut registry = Registry::with_prefix("deniable");
        registry.register("questions", "Questions, by what came of them", questions.clone());
        registry.register("logins", "Attempts to sign in", logins.clone());
        registry.register("connections", "Connections that are open", connections.clone());
        Self {
            registry,
            questions,
            logins,
            connections,
        }
    }
}

impl Metrics {
    pub(crate) fn question(&self, failed: Option<Code>) {
        let outcome = failed.map_or("answered", Code::name);
        self.questions.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn login(&self, right: bool) {
        let outcome = if right { "right" } else { "wrong" };
        self.logins.get_or_create(&[("outcome", outcome)]).inc();
    }

    pub(crate) fn connected(&self, entrance: &'static str) {
        self.connections.get_or_create(&[("entrance", entrance)]).inc();
    }

    pub(crate) fn disconnected(&self, entrance: &'static str) {
        self.connections.get_or_create(&[("entrance", entrance)]).dec();
    }

    /// All of them as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
