//! Settings of a connection. Ours decide what queries cost. Those of drivers are accepted and change nothing.
//! Settings that could be used as a clock are refused.

use crate::failure::{Code, Failure};
use crate::service::Question;
use accounting::{Delta, Epsilon};

/// Settings that drivers and tools set or ask for, and what they are here.
const OF_DRIVERS: [(&str, &str); 33] = [
    ("application_name", ""),
    ("bytea_output", "hex"),
    ("check_function_bodies", "on"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("constraint_exclusion", "partition"),
    ("datestyle", "ISO, MDY"),
    ("default_table_access_method", "heap"),
    ("default_tablespace", ""),
    ("default_transaction_deferrable", "off"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "off"),
    ("enable_seqscan", "on"),
    ("extra_float_digits", "1"),
    ("geqo", "on"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("intervalstyle", "postgres"),
    ("is_superuser", "off"),
    ("jit", "off"),
    ("lc_collate", "C"),
    ("lc_monetary", "C"),
    ("max_identifier_length", "63"),
    ("row_security", "on"),
    ("search_path", "public"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("server_version_num", "150000"),
    ("standard_conforming_strings", "on"),
    ("synchronize_seqscans", "on"),
    ("timezone", "UTC"),
    ("transaction_isolation", "read committed"),
    ("transaction_read_only", "off"),
];

/// The settings of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    epsilon: Option<String>,
    delta: Option<String>,
    /// Whether each noisy column is followed by the ends of its interval.
    pub(super) intervals: bool,
}

impl Settings {
    /// The question that a query is under these settings.
    pub(super) fn question(&self, sql: &str) -> Question {
        Question {
            epsilon: self.epsilon.clone(),
            delta: self.delta.clone(),
            ..Question::new(sql)
        }
    }

    /// Changes a setting; without a value it gets its default.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), Failure> {
        let no_number = |what: &str, example: &str| {
            Failure::new(
                Code::BadRequest,
                format!("{name} is {what}"),
                format!("write SET {name} = {example}"),
            )
        };
        match name {
            "deniable.epsilon" => {
                let checked = value.map(Epsilon::parse).transpose();
                checked.map_err(|_| no_number("a decimal above 0", "0.1"))?;
                self.epsilon = value.map(str::to_owned);
            }
            "deniable.delta" => {
                let checked = value.map(Delta::parse).transpose();
                checked.map_err(|_| no_number("a decimal from 0 to 1", "1e-7"))?;
                self.delta = value.map(str::to_owned);
            }
            "deniable.intervals" => {
                self.intervals = match value.unwrap_or("off").to_lowercase().as_str() {
                    "on" | "true" | "yes" | "1" => true,
                    "off" | "false" | "no" | "0" => false,
                    _ => return Err(no_number("on or off", "on")),
                };
            }
            "client_encoding" => {
                let utf8 = |value: &str| {
                    matches!(value.to_lowercase().replace('-', "").as_str(), "utf8" | "unicode")
                };
                if !value.is_none_or(utf8) {
                    return Err(Failure::new(
                        Code::Refused,
                        "texts are in UTF-8 here",
                        "SET client_encoding = 'UTF8'",
                    ));
                }
            }
            name if OF_DRIVERS.iter().any(|(known, _)| *known == name) => {}
            name => {
                return Err(Failure::new(
                    Code::Refused,
                    format!("{name:?} cannot be set here"),
                    "settings of Deniable are deniable.epsilon, deniable.delta and deniable.intervals; time-outs are not set here, since how long a question runs depends on the data",
                ));
            }
        }
        Ok(())
    }

    /// What a setting is.
    pub(super) fn show(&self, name: &str) -> Result<String, Failure> {
        let of_drivers = || OF_DRIVERS.iter().find(|(known, _)| *known == name);
        match name {
            "deniable.epsilon" => Ok(self.epsilon.clone().unwrap_or_default()),
            "deniable.delta" => Ok(self.delta.clone().unwrap_or_default()),
            "deniable.intervals" => Ok(if self.intervals { "on" } else { "off" }.to_owned()),
            _ => of_drivers().map(|(_, value)| (*value).to_owned()).ok_or_else(|| {
                Failure::new(
                    Code::NotFound,
                    "there is no such setting",
                    "settings of Deniable are deniable.epsilon, deniable.delta and deniable.intervals",
                )
            }),
        }
    }

    /// Those that a client names when it connects, as `options='-c deniable.epsilon=0.1'` or on their own.
    /// What is not understood there is left out.
    pub(super) fn from_startup<'a>(parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut settings = Self::default();
        for (name, value) in parameters {
            if name == "options" {
                let words: Vec<&str> = value.split_whitespace().collect();
                for word in words {
                    let word = word
                        .strip_prefix("-c")
                        .or(word.strip_prefix("--"))
                        .unwrap_or(word);
                    if let Some((name, value)) = word.split_once('=') {
                        let _ = settings.set(&name.to_lowercase(), Some(value));
                    }
                }
            } else {
                let _ = settings.set(&name.to_lowercase(), Some(value));
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_cannot_be_set() {
        let mut settings = Settings::default();
        for name in [
            "statement_timeout",
            "lock_timeout",
            "idle_in_transaction_session_timeout",
            "log_duration",
        ] {
            assert_eq!(
                settings.set(name, Some("1")).unwrap_err().code,
                Code::Refused,
                "{name}"
            );
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn what_is_no_epsilon_is_refused_and_changes_nothing() {
        let mut settings = Settings::default();
        settings.set("deniable.epsilon", Some("0.1")).unwrap();
        for wrong in ["", "x", "-1", "0.1; DROP"] {
            assert!(settings.set("deniable.epsilon", Some(wrong)).is_err(), "{wrong}");
        }
        assert_eq!(settings.show("deniable.epsilon").unwrap(), "0.1");
        settings.set("deniable.epsilon", None).unwrap();
        assert_eq!(settings.question("x").epsilon, None);
    }

    #[test]
    fn a_client_may_set_them_when_it_connects() {
        let settings = Settings::from_startup(
            [
                ("user", "ann"),
                (
                    "options",
                    "-c deniable.epsilon=0.2 -cstatement_timeout=5 --deniable.intervals=on",
                ),
            ]
            .into_iter(),
        );
        assert_eq!(settings.question("x").epsilon.as_deref(), Some("0.2"));
        assert!(settings.intervals);
    }
}
